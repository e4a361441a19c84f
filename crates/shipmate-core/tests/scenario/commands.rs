//! Lines to commands. What a line leaves out is filled in as a person would: who acts
//! (a person for the team's affairs, the runtime for what it observes), the token
//! that the actor last got, the plan or question that was asked last.

use std::collections::BTreeSet;

use shipmate_model::account::{Caps, Window};
use shipmate_model::command::{
    Act, CreateTeam, NewTask, StartTeammate, To, Urgency, Verdict, Whom,
};
use shipmate_model::definition::Definition;
use shipmate_model::event::{
    AgentChoice, Budget, Dependency, Event, MessageKind, Mode, Profile, QuestionKind, RoleChange,
    Seat, ShutdownAnswer, Supervision, TaskChanges, TaskSpec, TeamChanges, Usage, Verification,
};
use shipmate_model::files::{FileSet, Pattern};
use shipmate_model::host::{HostSpec, Place};
use shipmate_model::profile::StartRule;
use shipmate_model::setup::{Preparation, Setup, TreeMode, Trees};
use shipmate_model::{Actor, Address, CommandRun, Handoff, Name, Refusal, TaskId};

use crate::drafts;
use crate::observations;
use crate::play::World;
use crate::playbooks;
use crate::words::Words;

/// Who acts, and what is asked. Names and patterns are checked here, as at the edge.
pub(crate) fn read(world: &World, words: &Words) -> Result<(Actor, Act), Refusal> {
    let (default, act) = team_act(world, words)
        .or_else(|| task_act(world, words))
        .or_else(|| talk_act(world, words))
        .or_else(|| observations::read(world, words))
        .or_else(|| playbooks::read(world, words))
        .unwrap_or_else(|| panic!("`{}` is no verb of a scenario", words.verb))?;
    let by = match words.get("by") {
        None => default,
        Some("person") => Actor::Person,
        Some("runtime") => Actor::Runtime,
        Some("outside") => Actor::Outside,
        Some(name) => Actor::Teammate(world.life(name)),
    };
    Ok((by, act))
}

pub(crate) type Read = Option<Result<(Actor, Act), Refusal>>;

pub(crate) fn person(act: Act) -> Result<(Actor, Act), Refusal> {
    Ok((Actor::Person, act))
}

fn window(words: &Words, at: u64) -> Window {
    Window {
        name: words.text("window", "5 hours"),
        used: Some(words.plain(0).parse().expect("a window is used so much")),
        resets_at: words.duration_ms("resets").map(|ms| at + ms),
        pace: words.has("pace"),
    }
}

fn account(words: &Words) -> Result<Option<Name>, Refusal> {
    Ok(words.get("account").map(str::parse).transpose()?)
}

/// `soft,hard,lead` in thousandths; `plain` without escrow, `stays` without going on by itself.
fn caps(words: &Words) -> Caps {
    let said = words.list("caps");
    let number = |at: usize| said[at].parse().expect("a cap is thousandths");
    match said.is_empty() {
        true => Caps::default(),
        false => Caps {
            soft: number(0),
            hard: number(1),
            lead: number(2),
            escrow: !said.contains(&"plain".to_owned()),
            resumes: !said.contains(&"stays".to_owned()),
        },
    }
}

pub(crate) fn runtime(act: Act) -> Result<(Actor, Act), Refusal> {
    Ok((Actor::Runtime, act))
}

fn team_act(world: &World, words: &Words) -> Read {
    let who = || world.address(words.plain(0));
    let reason = || words.text("reason", "the work is done");
    Some((|| match &*words.verb {
        "team" => {
            let name = |keyword: &str| words.get(keyword).map(str::parse).transpose();
            let gate = if words.has("gate") { Verification::Gate } else { Verification::None };
            person(Act::CreateTeam(CreateTeam {
                team: words.plain(0).parse()?,
                parent: name("under")?,
                description: words.text("description", ""),
                verification: gate,
                lead: name("lead")?,
                setup: Box::new(setup(words)?),
            }))
        }
        "delete-team" => {
            let urgency = if words.has("now") {
                Urgency::Now
            } else {
                Urgency::Deadline { ms: words.duration_ms("within").unwrap_or(30_000) }
            };
            let team = words.plain(0).parse()?;
            person(Act::DeleteTeam { team, reason: reason(), urgency })
        }
        "pause-team" => person(Act::PauseTeam { team: words.plain(0).parse()?, reason: reason() }),
        "continue-team" => person(Act::ContinueTeam { team: words.plain(0).parse()? }),
        "change-team" => {
            let texts = |keyword: &str| words.get(keyword).map(str::to_owned);
            let team: Name = words.plain(0).parse()?;
            let gate = words.get("gates").map(|_| words.list("gates"));
            let (agent, model, base) = (texts("agent"), texts("model"), texts("base"));
            let changes = TeamChanges { gate, agent: agent.clone(), model: model.clone(), base };
            let choice = AgentChoice {
                agent: agent.unwrap_or_default(),
                command: words.text("command", ""),
                model: model.unwrap_or_default(),
                hears: words.has("hears"),
            };
            let about = words.list("about");
            let about = about.iter().map(|who| Ok((world.address(who)?, choice.clone())));
            let agents = about.collect::<Result<Vec<_>, Refusal>>()?;
            person(Act::ChangeTeam { team, changes, agents })
        }
        "team-budget" => {
            person(Act::SetTeamBudget { team: words.plain(0).parse()?, budget: budget(words) })
        }
        "budget" => person(Act::SetTeammateBudget { who: who()?, budget: budget(words) }),
        "add" => person(Act::AddTeammate { who: who()?, profile: profile(words)? }),
        "start" => person(Act::StartTeammate(StartTeammate {
            who: who()?,
            token_hash: words.text("token", "hash"),
            supervision: match () {
                () if words.has("supervised") => Supervision::Supervised,
                () if words.has("one-shot") => Supervision::OneShot,
                () => Supervision::None,
            },
            at: words.get("at").map(str::parse).transpose()?,
        })),
        "host" => {
            let spec = HostSpec {
                boot: words.text("boot", "boot-1"),
                place: words.text("place", words.plain(0)),
                slots: words.number("slots").unwrap_or(2) as u32,
                labels: names(words, "labels")?,
                programs: words.list("programs").into_iter().collect(),
                hooks: words.list("hooks").into_iter().collect(),
                lacks: words.list("lacks").into_iter().collect(),
                release: words.text("release", "1"),
                invitation: words.text("invitation", ""),
            };
            runtime(Act::JoinHost { host: words.plain(0).parse()?, spec })
        }
        "drain" => {
            let (host, draining) = (words.plain(0).parse()?, !words.has("undo"));
            person(Act::DrainHost { host, draining })
        }
        "leave" => {
            let (host, now) = (words.plain(0).parse()?, words.has("now"));
            person(Act::LeaveHost { host, now })
        }
        "fall-over" => runtime(Act::FallOver { who: who()? }),
        "account" => {
            let (account, subscription) = (words.plain(1).parse()?, words.has("subscription"));
            runtime(Act::SetAccount { who: who()?, account, subscription })
        }
        "windows" => {
            let (account, at) = (account(words)?, world.wall_ms());
            person(Act::ReportWindows { account, windows: vec![window(words, at)], at })
        }
        "limit" => {
            let until = words.duration_ms("until").map(|ms| world.wall_ms() + ms);
            let (reason, at) = (words.text("reason", "limit"), world.wall_ms());
            person(Act::ParkAccount { account: account(words)?, until, reason, at })
        }
        "go-on" => {
            let parked = words.get("on").map(|label| world.label(label));
            person(Act::ResumeAccount { account: words.plain(0).parse()?, parked })
        }
        "branch" => {
            let (branch, from) = (words.plain(0).parse()?, words.get("from").map(str::to_owned));
            runtime(Act::ReportBranch { branch, commit: words.text("at", "1111111"), from })
        }
        "home" => person(Act::MoveHome { host: words.plain(0).parse()? }),
        "lost-host" => {
            let boot = words.text("boot", "boot-1");
            let silent_ms = words.duration_ms("for");
            runtime(Act::ReportHostLost { host: words.plain(0).parse()?, boot, silent_ms })
        }
        "remove" => person(Act::RemoveTeammate { who: who()? }),
        "pause" => {
            let (who, reason, spent) = (who()?, reason(), words.has("spent"));
            person(Act::PauseTeammate { who, reason, spent })
        }
        "continue" => person(Act::ContinueTeammate { who: who()? }),
        "place" => person(Act::PlaceTeammate { who: who()?, place: place(words)? }),
        "mode" => person(Act::SetTeammateMode { who: who()?, mode: mode(words.plain(1)) }),
        "shutdown" => {
            let whom = match words.plain(0).strip_prefix("team:") {
                Some(team) => Whom::Team(team.parse()?),
                None => Whom::Teammate(world.life(words.plain(0))),
            };
            let deadline_ms = words.duration_ms("within").unwrap_or(30_000);
            person(Act::RequestShutdown { whom, reason: reason(), deadline_ms })
        }
        _ => Err(Refusal::Empty { what: "not a verb about teams" }),
    })())
    .filter(|read| !not_a_verb(read))
}

/// Each reader answers for its verbs and leaves the others to the next.
pub(crate) fn not_a_verb(read: &Result<(Actor, Act), Refusal>) -> bool {
    matches!(read, Err(Refusal::Empty { what }) if what.starts_with("not a verb"))
}

fn budget(words: &Words) -> Budget {
    Budget {
        tokens_max: words.number("tokens"),
        cost_micros_max: words.number("cost"),
        window_max: words.number("window").map(|share| share as u32),
    }
}

pub(crate) fn profile(words: &Words) -> Result<Profile, Refusal> {
    Ok(Profile {
        seat: if words.get("seat") == Some("lead") { Seat::Lead } else { Seat::Member },
        role: words.get("role").map(str::parse).transpose()?,
        agent: words.text("agent", ""),
        model: words.text("model", ""),
        scope: files(words, "scope")?,
        mode: mode(words.get("mode").unwrap_or("normal")),
        tasks_max: words.number("holds").unwrap_or(1) as u32,
        command: words.text("command", ""),
        start: match () {
            () if words.has("when-needed") => StartRule::WhenNeeded,
            () if words.has("session") => StartRule::Session,
            () => StartRule::ByHand,
        },
        hears: words.has("hears"),
        one_shot: words.has("one-task"),
        place: place(words)?,
        definition: words
            .get("from")
            .map(|name| Box::new(Definition { name: name.to_owned(), ..Definition::default() })),
        fallback: words.get("fallback").map(|agent| {
            let (agent, command) = match agent.strip_prefix("sh:") {
                Some(command) => (String::new(), command.to_owned()),
                None => (agent.to_owned(), String::new()),
            };
            Box::new(AgentChoice { agent, command, ..AgentChoice::default() })
        }),
    })
}

fn place(words: &Words) -> Result<Place, Refusal> {
    let host = words.get("host").map(str::parse).transpose()?;
    Ok(Place { host, labels: names(words, "labels")? })
}

fn names(words: &Words, keyword: &str) -> Result<BTreeSet<Name>, Refusal> {
    Ok(words.list(keyword).iter().map(|name| name.parse()).collect::<Result<_, _>>()?)
}

/// How a team works; what a line leaves out is as it is by default.
fn setup(words: &Words) -> Result<Setup, Refusal> {
    let default = Setup::default();
    let mode = |text: &str| match text {
        "own" => TreeMode::Own,
        "shared" => TreeMode::Shared,
        _ => panic!("{text:?} is no kind of tree"),
    };
    let base = || words.text("base", "0000000");
    let ms = |keyword: &str, or: u64| words.duration_ms(keyword).unwrap_or(or);
    Ok(Setup {
        home: words.text("host", ""),
        caps: caps(words),
        one_shot: words.has("task-mode"),
        trees: words.get("trees").map(|text| Trees {
            mode: mode(text),
            base: base(),
            branch: None,
            preparation: Preparation {
                copy: words.list("copies"),
                setup: words.list("prepares"),
                ..Preparation::default()
            },
        }),
        gate: words.list("gates"),
        gate_timeout_ms: ms("gate-time", default.gate_timeout_ms),
        red_base: words.has("red-base"),
        hooks_digest: words.text("hooks", ""),
        protected: files(words, "protects")?,
        stall_ms: ms("stall", default.stall_ms),
        answer_ms: ms("answers", default.answer_ms),
        shutdown_ms: ms("stops", default.shutdown_ms),
        timeout_ms: words.duration_ms("timeout"),
        agent: words.text("agent", ""),
        model: words.text("model", ""),
        cap: words.number("max").map(|cap| cap as u32),
        playbook: playbooks::playbook(words),
    })
}

pub(crate) fn mode(text: &str) -> Mode {
    match text {
        "normal" => Mode::Normal,
        "plan" => Mode::Plan,
        "delegate" => Mode::Delegate,
        "read-only" => Mode::ReadOnly,
        _ => panic!("{text:?} is no mode"),
    }
}

pub(crate) fn files(words: &Words, keyword: &str) -> Result<FileSet, Refusal> {
    let patterns: Result<Vec<Pattern>, _> =
        words.list(keyword).iter().map(|pattern| pattern.parse()).collect();
    Ok(FileSet::new(patterns?))
}

fn task_act(world: &World, words: &Words) -> Read {
    let id = || task(world, words.plain(0));
    let reason = || words.text("reason", "it did not work");
    let lease_ms = words.duration_ms("for");
    let token = || token(world, words);
    let commit = words.get("commit").map(str::to_owned);
    let result = || words.text("result", "");
    Some((|| match &*words.verb {
        "create" => {
            let (team, new) = new_task(world, words)?;
            person(Act::CreateTasks { team, tasks: vec![new] })
        }
        "create-all" => {
            let mut tasks = Vec::new();
            let mut team = None;
            let line = (0..).map_while(|at| Some(words.plain_or(at, "|")).filter(|w| *w != "|"));
            for text in line {
                let (of, new) = new_task(world, &Words::read(&format!("create {text}")))?;
                team = Some(of);
                tasks.push(new);
            }
            let team = team.or_else(|| world.state().root.clone()).expect("a team");
            person(Act::CreateTasks { team, tasks })
        }
        "create-many" => {
            let count: usize = words.plain(0).parse().expect("a number of tasks");
            let (team, new) = new_task(world, &Words::read("create many"))?;
            person(Act::CreateTasks { team, tasks: vec![new; count] })
        }
        "update" => person(Act::UpdateTask { task: id(), changes: changes(world, words)? }),
        "claim" => person(Act::ClaimTask { task: id(), lease_ms }),
        "next" => person(Act::ClaimNext { lease_ms }),
        "renew" => person(Act::RenewClaim { task: id(), token: token() }),
        "expire" => {
            let claim = world.state().task(id()).and_then(|task| task.claim());
            let renewal = claim.map_or(0, |claim| claim.renewal);
            let renewal = words.number("renewal").map_or(renewal, |given| given as u32);
            runtime(Act::ExpireClaim { task: id(), token: token(), renewal })
        }
        "submit" => {
            let (task, token) = (id(), token());
            let handoff = words.get("handoff").map(|words| Box::new(handoff(words)));
            person(Act::SubmitTask { task, token, commit, result: result(), handoff })
        }
        "note" => {
            let task = words.number("on").map(|task| task as TaskId);
            let root = world.state().root.clone().expect("a scenario has a team");
            let team = words.get("in").map(str::parse).transpose()?.unwrap_or(root);
            person(Act::AddNote { team, text: words.plain(0).to_owned(), task })
        }
        "remove-note" => {
            person(Act::RemoveNote { note: words.plain(0).parse().expect("the number of a note") })
        }
        "complete" => {
            let teammate = !matches!(words.get("by"), None | Some("person"));
            let token = (teammate || words.get("token").is_some()).then(token);
            person(Act::CompleteTask { task: id(), token, commit, result: result() })
        }
        "return" => runtime(Act::ReturnTask { task: id(), token: token(), reason: reason() }),
        "unchanged" => runtime(Act::ReturnUnchanged { task: id(), token: token() }),
        "fail" => person(Act::FailTask { task: id(), token: token(), reason: reason() }),
        "release" => {
            let teammate = !matches!(words.get("by"), None | Some("person"));
            let token = (teammate || words.get("token").is_some()).then(token);
            person(Act::ReleaseTask { task: id(), token, reason: reason() })
        }
        "assign" => {
            let to = words.get("to").filter(|to| *to != "anybody");
            person(Act::AssignTask { task: id(), to: to.map(str::parse).transpose()? })
        }
        "retry" => person(Act::RetryTask { task: id() }),
        "revert" => {
            let commit = commit.unwrap_or_default();
            runtime(Act::RevertTask { task: id(), commit, reason: reason() })
        }
        "delete" => person(Act::DeleteTask { task: id() }),
        "set-aside" => {
            let (task, token, work) = (id(), token(), words.plain(1).to_owned());
            let host = words.get("on").map(str::parse).transpose()?;
            person(Act::SetAsideWork { task, token, work, commit, host })
        }
        _ => Err(Refusal::Empty { what: "not a verb about tasks" }),
    })())
    .filter(|read| !not_a_verb(read))
}

pub(crate) fn task(world: &World, text: &str) -> TaskId {
    let by_alias = || world.state().by_alias(&text.parse().expect("an id or an alias"));
    text.parse().ok().or_else(by_alias).unwrap_or_else(|| panic!("no task is called {text}"))
}

/// The token the actor last got for the task; for others the one that stands.
pub(crate) fn token(world: &World, words: &Words) -> u64 {
    let id = task(world, words.plain(0));
    if let Some(given) = words.get("token") {
        return world.label(given);
    }
    let own = words.get("by").filter(|by| !matches!(*by, "person" | "runtime"));
    let own = own.and_then(|by| world.tokens.get(&(id, world.life(by))));
    let standing = world.state().task(id).and_then(|task| task.claim()).map(|claim| claim.token);
    own.copied().or(standing).unwrap_or(999)
}

/// One with something in every part; what begins with `!` is the fault of one that cannot be read,
/// with `~` plain text.
fn handoff(words: &str) -> Handoff {
    if let Some(fault) = words.strip_prefix('!') {
        return Handoff { fault: fault.to_owned(), ..Handoff::default() };
    }
    if let Some(summary) = words.strip_prefix('~') {
        return Handoff { summary: summary.to_owned(), ..Handoff::default() };
    }
    let one = |text: &str| vec![text.to_owned()];
    let command =
        CommandRun { command: "make".to_owned(), exit: Some(1), result: "red".to_owned() };
    Handoff {
        summary: String::new(),
        done: one(words),
        left: one("the rest"),
        commands: vec![command],
        surprises: one("it is slow"),
        interfaces: one("parse() takes text"),
        fault: String::new(),
    }
}

pub(crate) fn new_task(world: &World, words: &Words) -> Result<(Name, NewTask), Refusal> {
    let name = |keyword: &str| words.get(keyword).map(str::parse::<Name>).transpose();
    let mut blocked_by = Vec::new();
    let mut blocked_by_new = Vec::new();
    for on in words.list("after") {
        match on.strip_prefix('+') {
            Some(index) => blocked_by_new.push(index.parse::<usize>().expect("an index") - 1),
            None => blocked_by.push(dependency(world, &on)?),
        }
    }
    let spec = TaskSpec {
        subject: words.plain(0).to_owned(),
        description: words.text("description", ""),
        active_form: words.text("active", ""),
        alias: words.get("alias").map(str::parse).transpose()?,
        group: name("group")?,
        blocked_by,
        files: files(words, "files")?,
        role: name("role")?,
        assignee: name("assignee")?,
        priority: words.number("priority").map_or(100, |priority| priority as i32),
        duration_ms: words.duration_ms("duration"),
        retries_max: words.number("retries").map_or(3, |retries| retries as u32),
        metadata: metadata(words),
        gate: name("own-gate")?,
        no_change: words.has("no-change"),
    };
    let root = world.state().root.clone().expect("a scenario has a team");
    let team = name("in")?.unwrap_or(root);
    Ok((team, NewTask { spec, blocked_by_new }))
}

fn metadata(words: &Words) -> std::collections::BTreeMap<String, String> {
    let pairs = words.list("meta").into_iter().map(|pair| {
        let (key, value) = pair.split_once('=').expect("metadata is key=value");
        (key.to_owned(), value.to_owned())
    });
    let mut metadata: std::collections::BTreeMap<_, _> = pairs.collect();
    if let Some(count) = metadata.remove("entries") {
        let count: u32 = count.parse().expect("a number of entries");
        metadata.extend((0..count).map(|at| (format!("k{at}"), "v".to_owned())));
    }
    metadata
}

fn dependency(world: &World, text: &str) -> Result<Dependency, Refusal> {
    match text.strip_prefix("group:") {
        Some(group) => Ok(Dependency::Group(group.parse()?)),
        None => Ok(Dependency::Task(task(world, text))),
    }
}

fn changes(world: &World, words: &Words) -> Result<TaskChanges, Refusal> {
    let text = |keyword: &str| words.get(keyword).map(str::to_owned);
    let role = match words.get("role") {
        None => None,
        Some("any") => Some(RoleChange::Any),
        Some(role) => Some(RoleChange::Only(role.parse()?)),
    };
    let depends = |keyword: &str| -> Result<Vec<Dependency>, Refusal> {
        words.list(keyword).iter().map(|on| dependency(world, on)).collect()
    };
    Ok(TaskChanges {
        subject: text("subject"),
        description: text("description"),
        active_form: text("active"),
        priority: words.number("priority").map(|priority| priority as i32),
        duration_ms: words.duration_ms("duration"),
        role,
        files: words.get("files").map(|_| files(words, "files")).transpose()?,
        add_blocked_by: depends("after")?,
        remove_blocked_by: depends("without")?,
        metadata: metadata(words),
    })
}

fn talk_act(world: &World, words: &Words) -> Read {
    let actor = || words.get("by").unwrap_or("person");
    let messages = || match words.get("messages") {
        Some(_) => words.list("messages").iter().map(|label| world.label(label)).collect(),
        None => world.inbox(actor()),
    };
    Some((|| match &*words.verb {
        "send" => {
            let (body, reply_to) = (words.plain(0).to_owned(), words.get("reply"));
            let reply_to = reply_to.map(|label| world.label(label));
            person(Act::SendMessage { to: to(words)?, kind: kind(words)?, body, reply_to })
        }
        "drop" => {
            let To::Name(name) = to(words)? else { panic!("mail is dropped for a name") };
            let to = Address { team: "alpha".parse().unwrap(), name };
            let (body, line_end) = (words.plain(0).to_owned(), words.number("end").unwrap_or(1));
            person(Act::TakeIn { to, body, line_end })
        }
        "read" => {
            person(Act::ReadInbox { max: words.number("max").map_or(100, |max| max as usize) })
        }
        "take" => {
            person(Act::TakeInbox { max: words.number("max").map_or(100, |max| max as usize) })
        }
        "session" => person(Act::ReportSession {
            session: words.plain(0).to_owned(),
            fence: words.get("fence").unwrap_or_default().to_owned(),
            model: words.get("model").unwrap_or_default().to_owned(),
        }),
        "inject" => {
            let turn = words.number("turn").unwrap_or(1);
            person(Act::InjectMessages { messages: messages(), turn })
        }
        "acknowledge" => person(Act::AcknowledgeMessages { messages: messages() }),
        "submit-plan" => {
            let task = words.get("about").map(|text| task(world, text));
            let (body, work) = (words.plain(0).to_owned(), drafts::draft(words));
            person(Act::SubmitPlan { task, body, work })
        }
        "approve" | "reject" => {
            let plan = words.get("on").map(|label| world.label(label));
            let last = || world.last(|event| matches!(event, Event::PlanSubmitted { .. }));
            let verdict = match &*words.verb {
                "approve" => Verdict::Approve,
                _ => Verdict::Reject { feedback: words.plain(0).to_owned(), unworkable: false },
            };
            person(Act::DecidePlan { plan: plan.unwrap_or_else(last), verdict })
        }
        "ask" => {
            let kind = match words.get("kind").unwrap_or("question") {
                "question" => QuestionKind::Question,
                "permission" => QuestionKind::Permission,
                "scope" => QuestionKind::Scope,
                kind => panic!("{kind:?} is no kind of question"),
            };
            let (text, options) = (words.plain(0).to_owned(), words.list("options"));
            person(Act::Ask { kind, text, options })
        }
        "answer" => {
            let question = words.get("on").map(|label| world.label(label));
            let last = || world.last(|event| matches!(event, Event::QuestionAsked { .. }));
            let question = question.unwrap_or_else(last);
            person(Act::Answer { question, answer: words.plain(0).to_owned() })
        }
        "withdraw" => {
            let question = words.get("on").map(|label| world.label(label));
            let last = || world.last(|event| matches!(event, Event::QuestionAsked { .. }));
            let question = question.unwrap_or_else(last);
            let reason = words.text("reason", "nobody answered");
            person(Act::WithdrawQuestion { question, reason })
        }
        "answer-shutdown" => {
            let shutdown = words.get("on").map(|label| world.label(label));
            let answer = shutdown_answer(words);
            let shutdown = shutdown.unwrap_or_else(|| last_shutdown(world, actor()));
            person(Act::AnswerShutdown { shutdown, answer })
        }
        "idle" => person(Act::ReportIdle { reason: words.plain(0).to_owned() }),
        "reserve" => person(Act::ReserveUsage { usage: usage(words) }),
        "spend" => {
            let task = words.get("about").map(|text| task(world, text));
            let reservation = words.get("reservation").map(|label| world.label(label));
            person(Act::ReportUsage { usage: usage(words), task, reservation })
        }
        _ => Err(Refusal::Empty { what: "not a verb about talk" }),
    })())
    .filter(|read| !not_a_verb(read))
}

fn to(words: &Words) -> Result<To, Refusal> {
    Ok(match words.get("to").expect("`send` says to whom") {
        "person" => To::Person,
        "all" => To::All { team: None },
        text if text.starts_with("all:") => To::All { team: Some(text[4..].parse()?) },
        text if text.contains('/') => To::Address(text.parse()?),
        text => To::Name(text.parse()?),
    })
}

fn kind(words: &Words) -> Result<MessageKind, Refusal> {
    Ok(match words.get("kind").unwrap_or("message") {
        "message" => MessageKind::Message,
        "shutdown_request" => MessageKind::ShutdownRequest,
        "plan_approval_response" => MessageKind::PlanApprovalResponse,
        text => MessageKind::Handoff(text.parse()?),
    })
}

fn shutdown_answer(words: &Words) -> ShutdownAnswer {
    let reason = || words.plain_or(1, "no reason").to_owned();
    match words.plain(0) {
        "clean" => ShutdownAnswer::Clean,
        "in_progress" => ShutdownAnswer::InProgress { pending: vec![reason()] },
        "error" => ShutdownAnswer::Error { reason: reason() },
        "rejected" => ShutdownAnswer::Rejected { reason: reason() },
        other => panic!("{other:?} is no answer to a shutdown request"),
    }
}

fn usage(words: &Words) -> Usage {
    let tokens_in = words.number("tokens").unwrap_or(0);
    let tokens_estimated = words.number("estimated").unwrap_or(0);
    let cost_micros = words.number("cost").unwrap_or(0);
    let tokens_out = words.number("out").unwrap_or(0);
    Usage { tokens_in, tokens_out, cost_micros, tokens_estimated, ..Usage::default() }
}

/// The request made last to this teammate, in whatever life.
pub(crate) fn last_shutdown(world: &World, who: &str) -> u64 {
    let who = world.life(who).address;
    world.last(
        |event| matches!(event, Event::ShutdownRequested { who: to, .. } if to.address == who),
    )
}
