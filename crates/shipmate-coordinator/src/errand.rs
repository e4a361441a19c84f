//! Requests that take more than the board: processes, hooks and git.
//!
//! They run beside the board, so nobody waits for them who did not ask. What changes the
//! team still goes through it.

mod diff;
mod elsewhere;
mod founding;
mod leftovers;
mod merge;
mod planned;
mod resume;
mod survey;

use shipmate_protocol::answers::{Attached, Changed};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use shipmate_model::{Act, Actor, Address, Name, TeammateRef};
use shipmate_process::hidden;
use shipmate_protocol::view::HookTry;
use shipmate_protocol::{Answer, Ask, Code, Refused, verbs};

use crate::attendance::Attendance;
use crate::board::Job;
use crate::crew::code::{self, NotThere};
use crate::crew::hooked::{IDLE_REJECTIONS_MAX, NoGround};
use crate::crew::{Comes, copies, hooked};
use crate::hooks::{HookEvent, How, Payload};
use crate::host::Printed;
use crate::phases::{artifact, final_files};
use crate::scene;
use crate::settings::Settings;
use crate::staffing::money;
use crate::staffing::staffed::{self, Line, staffed};
use crate::verbs::{Errand, OfWorkspace, Sign, Way, answer_to, way};
pub(crate) use elsewhere::elsewhere;
pub(crate) use founding::begin;
pub(crate) use leftovers::{Cleaning, left_of, left_of_department, leftovers};
pub(crate) use merge::settle_at_start;
use merge::{merge, update};
use resume::resume;
use shipmate_playbook::catalog;
use shipmate_programs::fence;
use shipmate_programs::programs;
use shipmate_programs::tenancy::LateWork;
use shipmate_protocol::refused;
use shipmate_workspace::{Commit, WorkKey};
use survey::survey;

fn failed(code: Code, text: impl ToString) -> Refused {
    refused(code, text.to_string(), "")
}

/// Takes a request that the board alone cannot answer; gives back one that it can.
pub(crate) fn take(crew: &Rc<Attendance>, job: Job) -> Option<Job> {
    let mut job = job;
    if let Some(to) = elsewhere(crew, &job) {
        beside(crew, job, |crew, job| elsewhere::forward(crew, job, to));
        return None;
    }
    match prepare(crew, &mut job) {
        Ok(lines) if lines.is_empty() => route(crew, job),
        Ok(lines) => {
            beside(crew, job, |crew, job| after_look(crew, job, lines));
            None
        }
        Err(refused) => {
            job.connection.took_request();
            job.reply(Err(refused));
            None
        }
    }
}

/// Fills in who stands behind the teammates that a request is about. Gives back the commands that
/// have to be looked at before the board hears of it.
fn prepare(crew: &Attendance, job: &mut Job) -> Result<Vec<Line>, Refused> {
    let team = job.about(&crew.board.root);
    match &mut job.ask {
        Ask::TeamBudget(verbs::TeamBudget { budget }) => {
            money::limits(crew, &team, None, budget).map(|()| Vec::new())
        }
        Ask::TeammateBudget(verbs::TeammateBudget { name, budget }) => {
            money::limits(crew, &team, Some(name), budget).map(|()| Vec::new())
        }
        Ask::UsageReserve(_) => money::is_counted(crew, &job.actor).map(|()| Vec::new()),
        Ask::TeammateMove(verbs::TeammateMove { place, .. }) => {
            staffed::require_known_host(crew, place).map(|()| Vec::new())
        }
        Ask::TeammateAdd(add) => {
            staffed(crew, &job.actor, &team, add).map(|line| line.into_iter().collect())
        }
        // A lead says what those who join work with, and changes nobody.
        Ask::TeamSet(set) if matches!(job.actor, Actor::Teammate(_)) => {
            set.agents.clear();
            Ok(Vec::new())
        }
        Ask::TeamSet(set) => staffed::set(crew, &team, set),
        Ask::PlanSubmit(verbs::PlanSubmit { work: Some(work), .. }) => {
            Ok(planned::staff(crew, &job.actor, work))
        }
        _ => Ok(Vec::new()),
    }
}

/// What the commands of a request are is looked at beside the board, which goes on meanwhile.
async fn after_look(crew: Rc<Attendance>, mut job: Job, lines: Vec<Line>) {
    if let Err(refused) = staffed::require_runnable(&crew, lines).await {
        match &mut job.ask {
            // A problem of the plan like any other, told with the rest.
            Ask::PlanSubmit(verbs::PlanSubmit { work: Some(work), .. }) => {
                work.problems.push(refused.one_line())
            }
            _ => return job.reply(Err(refused)),
        }
    }
    let connection = Rc::clone(&job.connection);
    if let Some(job) = route(&crew, job) {
        crew.board.push(job);
    }
    // Only now: in between it would count as answered.
    connection.settled_request();
}

/// Begins what the board alone cannot do; gives back what it can.
fn route(crew: &Rc<Attendance>, job: Job) -> Option<Job> {
    let answer = match way(&job.ask) {
        Way::Sign(verb) => sign(crew, &job, &verb),
        Way::Errand(_) if job.actor != Actor::Person => Err(for_a_person(&job.actor)),
        Way::Errand(Errand::Signs) => {
            crew.show_signs(&job.connection);
            answer_to::<verbs::Signs>(Ok(Changed::Unchanged))
        }
        Way::Errand(_) => {
            beside(crew, job, run);
            return None;
        }
        Way::Decide(verb) if verb.hook().is_some_and(|event| asks_hook(crew, &job, event)) => {
            beside(crew, job, after_hooks);
            return None;
        }
        Way::Decide(verb) if verb.lacks_commit() && crew.has_tree(&job.actor) => {
            let text = "work in a tree is handed in by its commit".to_owned();
            let remedy = "commit it and name the commit, or end with exit code 0: your supervisor \
                          commits and hands in what is there. Where no change is needed, write why \
                          into the file that SHIPMATE_RESULT names first";
            Err(refused(Code::CommitNeeded, text, remedy))
        }
        Way::Decide(verb)
            if (verb.hands_in().is_some() || verb.sets_aside().is_some())
                && crew.has_other_hosts() =>
        {
            beside(crew, job, after_sending);
            return None;
        }
        Way::Fetch => {
            beside(crew, job, fetch);
            return None;
        }
        Way::Decide(verb) => {
            if verb.wakes_phases() {
                crew.phases.nudge();
                crew.board.look();
            }
            return Some(job);
        }
        Way::Look(_) | Way::Log(_) | Way::Workspace(_) | Way::Itself(_) | Way::Left(_) => {
            return Some(job);
        }
    };
    job.connection.took_request();
    job.reply(answer);
    None
}

/// Stores the work where the home can get it; the board hears only of what is stored.
async fn after_sending(crew: Rc<Attendance>, job: Job) {
    if let Err(refused) = send(&crew, &job).await {
        return job.reply(Err(refused));
    }
    let connection = Rc::clone(&job.connection);
    crew.board.push(job);
    connection.settled_request();
}

async fn send(crew: &Attendance, job: &Job) -> Result<(), Refused> {
    let (Some(here), Way::Decide(verb)) = (&crew.here, way(&job.ask)) else { return Ok(()) };
    let (team, actor) = (job.about(&crew.board.root), &job.actor);
    if let Some((task, token, work, commit)) = verb.sets_aside() {
        let task = crew.board.with_state(|state| scene::task_id(state, actor, &team, task))?;
        let (work, commit) = (work.to_owned(), commit.to_owned());
        crew.crew().send_late(&team, &LateWork { task, token, work, commit }).await;
        return Ok(());
    }
    let Some((task, token, commit)) = verb.hands_in() else { return Ok(()) };
    let task = crew.board.with_state(|state| scene::task_id(state, actor, &team, task))?;
    // What is no commit the board refuses.
    let Some(commit) = Commit::parse(commit) else { return Ok(()) };
    let life = match actor {
        Actor::Teammate(who) => crew.order_of(who),
        _ => None,
    };
    let key = WorkKey { team: team.to_string(), task, token };
    code::send(crew.crew(), here, key, commit, life).await.map_err(not_there)
}

fn not_there(why: NotThere) -> Refused {
    match why {
        NotThere::Absent(text) | NotThere::Later(text) => {
            refused(Code::LogUnavailable, text, "try again later")
        }
        NotThere::Never(text) => {
            refused(Code::CodeUnavailable, text, "`shipmate doctor` looks at the repository")
        }
    }
}

/// Brings the branch of the asker's team here, and knows what is secret of the files that trees get now.
async fn fetch(crew: Rc<Attendance>, job: Job) {
    let team = job.about(&crew.board.root);
    let fetched = match &crew.here {
        Some(here) if !crew.is_home(&team) => {
            copies::fetch(crew.crew(), here, &team).await;
            code::fetch(crew.crew(), here, &team).await
        }
        _ => Ok(()),
    };
    crew.crew().hide_secrets(team).await;
    let fetched = fetched.map(|()| Changed::Unchanged).map_err(not_there);
    job.reply(answer_to::<verbs::TreeFetch>(fetched));
}

pub(crate) fn for_a_person(by: &Actor) -> Refused {
    let text = format!("{by} may not do that: it is for a person");
    refused(Code::NotAllowed, text, "ask the person")
}

/// Hooks are those of the home: a request that asks one of them has gone there.
fn asks_hook(crew: &Attendance, job: &Job, event: HookEvent) -> bool {
    let is_home = crew.here.is_none() || crew.is_home(&crew.board.root);
    is_home && crew.has_hooks(event) && is_of_hook(crew, job, event)
}

/// Whether the hook of an event is asked for a request, where there is one.
fn is_of_hook(crew: &Attendance, job: &Job, event: HookEvent) -> bool {
    // Who does one task and ends is not idle.
    !(event == HookEvent::TeammateIdle && crew.is_one_shot(&job.actor))
}

fn beside<F>(crew: &Rc<Attendance>, job: Job, errand: impl FnOnce(Rc<Attendance>, Job) -> F)
where
    F: Future<Output = ()> + 'static,
{
    job.connection.took_request();
    crew.beside(errand(Rc::clone(crew), job));
}

/// A supervisor's sign of life or progress; of these only a set-up is recorded.
fn sign(crew: &Rc<Attendance>, job: &Job, verb: &Sign<'_>) -> Result<Answer, Refused> {
    let Actor::Teammate(who) = &job.actor else {
        return Err(failed(Code::NotTheirs, "only a teammate's supervisor attends"));
    };
    match verb {
        Sign::Attend => {
            crew.attend(who, &job.connection);
            crew.tell_moved(who, None);
        }
        Sign::Alive(verbs::Alive { asked }) => crew.alive(who, *asked),
        Sign::Progress(verbs::Progress { bytes, last_words, context, waits_until }) => {
            // From here it goes to status, screens, the page and other machines.
            let last_words = hidden::shown(last_words).into_owned();
            let (bytes, context) = (*bytes, *context);
            let printed = Printed { bytes, last_words, context };
            crew.progress(who, &printed, *waits_until);
            crew.tell_moved(who, Some(printed));
        }
        Sign::TreeSetUp(verbs::TreeSetUp { took_ms }) => {
            let Address { team, name } = &who.address;
            crew.tell_set_up(team, name.as_str(), Duration::from_millis(*took_ms));
        }
        Sign::Stay => crew.stay(who, &job.connection, Comes::Back),
        Sign::StayOnce => crew.stay(who, &job.connection, Comes::Once),
        Sign::Leave => crew.leave(who),
    }
    Ok(Answer::Unchanged)
}

/// Where a teammate's output lies; of one on another machine, a copy.
async fn attach(
    crew: &Rc<Attendance>,
    job: &Job,
    verb: &verbs::Attach,
) -> Result<Attached, Refused> {
    let team = job.about(&crew.board.root);
    let (team, name) = match verb.name.split_once('/') {
        Some((team, name)) => (scene::name(team)?, scene::name(name)?),
        None => (team, scene::name(&verb.name)?),
    };
    let address = shipmate_model::Address { team, name };
    let epoch = crew.board.with_state(|state| state.member(&address).map(|mate| mate.epoch));
    let Some(epoch) = epoch else {
        let text = format!("there is no teammate {address}");
        return Err(refused(Code::UnknownTeammate, text, "`shipmate teammate list` names them"));
    };
    let who = TeammateRef { address, epoch };
    if !verb.once {
        crew.attach(&who, &job.connection);
    }
    if let (Some(here), Some(on)) = (&crew.here, elsewhere::of_life(crew, &who)) {
        let copied = crew.copy(here, &on.id, &who).await;
        // What is here is shown in any case.
        if let (Err(unheard), false) = (&copied, crew.output(&who).exists()) {
            return Err(elsewhere::silent(crew, &on.name, unheard));
        }
    }
    Ok(Attached { output: crew.output(&who).display().to_string(), who: who.to_string() })
}

async fn run(crew: Rc<Attendance>, job: Job) {
    let Way::Errand(errand) = way(&job.ask) else { unreachable!("only errands are run") };
    let team = job.about(&crew.board.root);
    let answer = match errand {
        Errand::Resume => answer_to::<verbs::Resume>(resume(&crew, &job.actor, &team).await),
        Errand::Merge(verbs::Merge { branches, no_gate }) => {
            answer_to::<verbs::Merge>(merge(&crew, &job, &team, *branches, *no_gate).await)
        }
        Errand::TeamUpdate => answer_to::<verbs::TeamUpdate>(update(&crew, &job, &team).await),
        Errand::TaskDiff(verbs::TaskDiff { task }) => {
            answer_to::<verbs::TaskDiff>(diff::find(&crew, &job, task).await)
        }
        Errand::PhasesClose => {
            final_files::close(&crew.phases).await;
            answer_to::<verbs::PhasesClose>(Ok(Changed::Unchanged))
        }
        Errand::Attach(verb) => answer_to::<verbs::Attach>(attach(&crew, &job, verb).await),
        Errand::Signs => unreachable!("this is answered at once"),
    };
    job.reply(answer);
}

/// Requests about the workspace, which need no team at all.
pub(crate) async fn of_workspace(
    settings: &Settings,
    by: &Actor,
    verb: OfWorkspace<'_>,
) -> Result<Answer, Refused> {
    let place = &settings.place;
    match verb {
        OfWorkspace::TryHooks | OfWorkspace::Survey if *by != Actor::Person => {
            Err(for_a_person(by))
        }
        OfWorkspace::Agents => {
            answer_to::<verbs::Agents>(Ok(programs::here(place, &settings.agents).await))
        }
        OfWorkspace::Playbooks => answer_to::<verbs::Playbooks>(catalog::playbooks(place).await),
        OfWorkspace::PlaybookShow(file) => {
            answer_to::<verbs::PlaybookFile>(catalog::playbook(place, by, file.clone()).await)
        }
        OfWorkspace::PlaybookCheck(verbs::PlaybookCheck { files }) => {
            answer_to::<verbs::PlaybookCheck>(catalog::checked(place, by, files.clone()).await)
        }
        OfWorkspace::TryHooks => answer_to::<verbs::TryHooks>(try_hooks(settings).await),
        OfWorkspace::Survey => answer_to::<verbs::Survey>(survey(settings).await),
    }
}

async fn try_hooks(settings: &Settings) -> Result<Vec<HookTry>, Refused> {
    let tried = try_each_hook(settings).await;
    drop(std::fs::remove_dir_all(fence::passing()));
    tried
}

async fn try_each_hook(settings: &Settings) -> Result<Vec<HookTry>, Refused> {
    let cwd = settings.place.workspace.clone();
    let hooks = hooked::live(settings).map_err(|text| failed(Code::BadHooks, text))?;
    let mut tried = Vec::new();
    for event in HookEvent::ALL {
        let sample = Payload::sample(event, &cwd.display().to_string());
        let fired = hooked::fire_all(settings, "", &hooks, &sample, (&cwd, &BTreeMap::new())).await;
        let fired = fired.map_err(|text| failed(Code::BadHooks, text))?;
        tried.extend(fired.runs.into_iter().map(|run| {
            let (result, detail) = match run.how {
                How::Accepted => ("accepts", String::new()),
                How::Rejected => ("rejects", run.stderr),
                How::TimedOut => ("hangs", run.stderr),
                How::NotStarted(reason) => ("missing", reason),
                How::Failed(exit) => ("fails", format!("{exit}: {}", run.stderr)),
            };
            HookTry {
                event: event.to_string(),
                hook: run.hook.command.to_string(),
                result: result.to_owned(),
                detail,
                took_ms: run.took.as_millis() as u64,
            }
        }));
    }
    for stranger in hooks.strangers() {
        tried.push(HookTry {
            hook: stranger.display().to_string(),
            result: "unknown".to_owned(),
            detail: "no event has this name".to_owned(),
            ..HookTry::default()
        });
    }
    Ok(tried)
}

/// Asks the hooks first; the board only hears of what they accept.
async fn after_hooks(crew: Rc<Attendance>, job: Job) {
    let mut job = job;
    let team = job.about(&crew.board.root);
    let idle = match (&job.actor, &job.ask) {
        (Actor::Teammate(who), Ask::TeammateIdle(_)) => Some(who.clone()),
        _ => None,
    };
    let enough = idle.as_ref().is_some_and(|who| crew.sent_back_often(who));
    if enough && let Ask::TeammateIdle(verbs::TeammateIdle { reason }) = &mut job.ask {
        reason.push_str(&format!("; the idle hook rejected that {IDLE_REJECTIONS_MAX} times"));
    }
    // Who is overruled asks no hook, and waits for none.
    let asks_idle = idle.is_some() && !enough;
    let _one_at_a_time = match asks_idle {
        true => Some(crew.idle_hook.lock().await),
        false => None,
    };
    let cwd = match asks_idle {
        true => match artifact::settle(&crew.phases, &team).await {
            Ok(()) => crew.idle_ground(&team).await,
            Err(reason) => Err(NoGround::Failed(reason)),
        },
        false => Ok((crew.settings.place.workspace.clone(), BTreeMap::new())),
    };
    let (cwd, own) = match cwd {
        Ok(ground) => ground,
        // A person has to mend that: sending the teammate back would mend nothing.
        Err(NoGround::SetUp(reason)) => {
            let reason = format!(
                "{reason}\nthe idle hook cannot run there; mend it, then `shipmate resume`"
            );
            crew.board.tell(Act::PauseTeam { team, reason });
            let connection = Rc::clone(&job.connection);
            crew.board.push(job);
            return connection.settled_request();
        }
        Err(NoGround::Failed(reason)) => {
            idle.iter().for_each(|who| crew.send_back(who));
            let reason = format!("the idle hook cannot run: {reason}");
            let remedy = "it runs on a clone of the team's branch: `shipmate doctor` looks at the repository";
            return job.reply(Err(refused(Code::HookRejected, reason, remedy)));
        }
    };
    let payloads = if enough { Vec::new() } else { payloads(&crew, &job, &team, &cwd) };
    for payload in payloads {
        if let Err(reason) = crew.fire(&team, &payload, (&cwd, &own)).await {
            if let Some(who) = &idle {
                crew.send_back(who);
            }
            return job.reply(Err(refused(Code::HookRejected, reason, "")));
        }
    }
    let connection = Rc::clone(&job.connection);
    crew.board.push(job);
    connection.settled_request();
}

/// What the hook of a request is told, once for each of these.
fn payloads(crew: &Attendance, job: &Job, team: &Name, cwd: &Path) -> Vec<Payload> {
    let Way::Decide(verb) = way(&job.ask) else { return Vec::new() };
    let Some(event) = verb.hook() else { return Vec::new() };
    let by = match &job.actor {
        Actor::Teammate(who) => Some(who),
        _ => None,
    };
    let of = Payload {
        teammate_name: by.map(|who| who.address.name.to_string()),
        agent_id: by.map(ToString::to_string),
        agent_type: by.map(|who| who.address.name.to_string()),
        ..crew.payload(event, team, cwd)
    };
    crew.board.with_state(|state| verb.payloads(state, of))
}
