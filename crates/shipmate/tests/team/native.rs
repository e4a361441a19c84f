//! The native agent as a teammate: real processes, the scripted model over both protocols.

use serde_json::Value;
use shipmate_protocol::verbs::{Budget, Setup, TaskNew};
use shipmate_protocol::view::TeammateState;
use shipmate_protocol::{Answer, Ask, verbs};
use shipmate_testkit::model::Server;

mod servers;

use crate::processes;
use crate::stage::{Stage, TEAM};

/// A team with these native teammates, whose model is the server.
pub(crate) fn stage(server: &Server, protocol: &str, more: &str, names: &[&str]) -> Stage {
    let mut stage = configured(server, protocol, more);
    stage.team(Setup::default(), &[]);
    for name in names {
        native(&mut stage, name, "normal");
    }
    stage
}

/// The same, before there is a team.
pub(crate) fn configured(server: &Server, protocol: &str, more: &str) -> Stage {
    let config = format!(
        "[agents]\nstop-grace-seconds = 1\n[models]\ndefault = \"test/scripted\"\n[models.test]\n\
         protocol = \"{protocol}\"\nbase-url = \"{}\"\nkey-variable = \"\"\n{more}\n",
        server.url()
    );
    Stage::new(&config)
}

pub(crate) fn native(stage: &mut Stage, name: &str, mode: &str) {
    stage.add(name, |mut add| {
        (add.command, add.agent) = (String::new(), "native".to_owned());
        add.mode = Some(mode.to_owned());
        add
    });
}

fn said(stage: &Stage, name: &str, epoch: u32) -> String {
    std::fs::read_to_string(stage.life(name, epoch).join("output.log")).unwrap_or_default()
}

/// The process of the only native agent there is.
fn agent(stage: &Stage) -> u32 {
    agents(stage).pop().expect("it runs")
}

pub(crate) fn agents(stage: &Stage) -> Vec<u32> {
    let agents = stage.processes("agent").into_iter();
    agents.filter(|one| one.words.contains("native-agent")).map(|one| one.pid).collect()
}

/// Waits until a model was asked that has used a tool.
fn after_a_tool(server: &Server) {
    server.wait_for(|request| request.body.to_string().contains("echo one"));
}

fn used(stage: &Stage) -> u64 {
    let usage = stage.events("usage.recorded");
    usage.iter().map(|one| one["usage"]["tokens_in"].as_u64().unwrap_or_default()).sum()
}

#[test]
fn a_native_teammate_does_its_tasks_over_either_protocol() {
    for protocol in ["anthropic", "openai"] {
        let server = Server::start(
            r#"
as a
on "Task 1:"
  say I write it.
  tool write_file {"path":"src/one.txt","content":"one\n"}
  & tool bash {"command":"echo two > two.txt && cat two.txt"}
  tool edit_file {"path":"src/one.txt","old_string":"one","new_string":"1"}
  tool TaskUpdate {"taskId":"1","status":"completed","result":"both are there"}
  say Done.
on "Task 2:"
  tool read_file {"path":"src/one.txt"}
  & tool grep {"pattern":"tw."}
  tool TaskUpdate {"taskId":"2","status":"completed","result":"{{last 400}}"}
  say Done.
"#,
        );
        let mut stage = stage(&server, protocol, "", &["a"]);
        let after = TaskNew {
            subject: "read".to_owned(),
            blocked_by: vec!["1".to_owned()],
            ..TaskNew::default()
        };
        let tasks = [stage.tasks(&["write"]), stage.create(vec![after])].concat();
        stage.finished(2);
        assert_eq!(stage.task(1).result.unwrap(), "both are there");
        let found = stage.task(2).result.unwrap();
        assert!(found.contains("two.txt") && found.contains("two"), "{found}");
        assert_eq!(stage.file("src/one.txt"), "1\n");
        assert_eq!(stage.file("two.txt"), "two\n");
        let said = said(&stage, "a", 1);
        for line in ["I write it.", "→ bash echo two", "→ write_file src/one.txt", "Done."] {
            assert!(said.contains(line), "{line}: {said}");
        }
        let path = if protocol == "openai" { "/chat/completions" } else { "/messages" };
        let asked: Vec<String> = server.requests().into_iter().map(|one| one.path).collect();
        assert!(asked.iter().all(|one| one.ends_with(path)), "{protocol}: {asked:?}");
        stage.catch_up();
        assert_eq!(used(&stage), 100 * server.requests().len() as u64, "{}", stage.story());
        assert_eq!(stage.landed(), [1], "nothing was changed for the second of {tasks:?}");
        stage.nothing_left();
    }
}

#[test]
fn the_model_that_answers_is_told_and_that_it_is_another_than_the_one_asked() {
    for protocol in ["anthropic", "openai"] {
        let script =
            "named cheaper\nas a\non \"Task 1:\"\n  shell echo one > one.txt\n  say Done.\n";
        let server = Server::start(script);
        let mut stage = configured(&server, protocol, "");
        stage.team(Setup::default(), &[]);
        stage.add("a", |mut add| {
            (add.command, add.agent) = (String::new(), "native".to_owned());
            add.model = "test/scripted".to_owned();
            add
        });
        stage.tasks(&["write"]);
        stage.finished(1);
        let mate = stage.teammate("a");
        assert_eq!((mate.model_used.as_str(), mate.other_model), ("cheaper", true), "{protocol}");
        let warned = "alpha/a asks model cheaper, and was to ask test/scripted";
        let inbox = stage.inbox();
        assert_eq!(inbox.iter().filter(|body| *body == warned).count(), 1, "{inbox:?}");
    }
}

#[test]
fn a_native_teammate_is_what_its_definition_and_the_repository_say() {
    let server = Server::start("as a\non \"Task 1:\"\n  say Looked.\n");
    let config = format!(
        "[models]\ndefault = \"test/scripted\"\n[models.test]\nprotocol = \"anthropic\"\nbase-url = \
         \"{}\"\nkey-variable = \"\"\n",
        server.url()
    );
    let mut stage = Stage::new(&config);
    stage.write("AGENTS.md", "Everything here is written in verse.\n");
    let text = "---\ndescription: d\ntools:\n  bash: false\n  write: false\n---\nYou only count the rhymes.\n";
    stage.write(".opencode/agent/counter.md", text);
    stage.commit();
    stage.team(Setup::default(), &[]);
    stage.add("a", |mut add| {
        (add.command, add.agent) = (String::new(), "native".to_owned());
        add.from = "counter".to_owned();
        add
    });
    stage.tasks(&["count"]);
    stage.finished(1);
    let request = server.wait_for(|request| request.contains("Task 1:"));
    for words in
        ["You only count the rhymes.", "(AGENTS.md):\\nEverything here is written in verse."]
    {
        assert!(request.body.to_string().contains(words), "{words}: {}", request.body);
    }
    let tools = request.body["tools"].as_array().unwrap().iter();
    let tools: Vec<&str> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(tools.contains(&"read_file") && !tools.contains(&"bash"), "{tools:?}");

    // A name that nobody has defined is refused with those that there are.
    let add = verbs::TeammateAdd {
        name: "b".to_owned(),
        agent: "native".to_owned(),
        from: "reviewer".to_owned(),
        when_needed: true,
        ..verbs::TeammateAdd::default()
    };
    let refused = stage.refusal(Ask::TeammateAdd(add));
    let remedy = refused.remedy.unwrap();
    assert!(remedy.contains("there are counter"), "{}: {remedy}", refused.message);
}

#[test]
fn a_message_reaches_a_native_teammate_between_its_tools_and_cancels_nothing() {
    let server = Server::start(
        r#"
as a
on "Task 1:"
  tool bash {"command":"echo one > one.txt"}
  hold middle
  tool bash {"command":"echo two > two.txt"}
  tool TaskUpdate {"taskId":"1","status":"completed","result":"ok"}
  say Done.
on "look at this"
  tool SendMessage {"to":"person","message":"I have seen it"}
"#,
    );
    let mut stage = stage(&server, "anthropic", "", &["a"]);
    let tasks = stage.tasks(&["write"]);
    after_a_tool(&server);
    let (to, body) = ("a".to_owned(), "look at this".to_owned());
    stage.ask(Ask::Send(verbs::Send { to, body, kind: None, reply_to: None }));
    stage.event("message.injected");
    server.release("middle");
    stage.finished(1);
    assert!(stage.inbox().iter().any(|body| body == "I have seen it"));
    assert_eq!(stage.file("two.txt"), "two\n");
    stage.all_once(&tasks);
}

#[test]
fn who_is_asked_to_stop_while_the_model_answers_finishes_its_task_and_stops_cleanly() {
    let server = Server::start(
        r#"
as a
on "Task 1:"
  tool bash {"command":"echo one > one.txt"}
  hold middle
  tool TaskUpdate {"taskId":"1","status":"completed","result":"ok"}
  say Done.
"#,
    );
    let mut stage = stage(&server, "anthropic", "", &["a"]);
    let tasks = stage.tasks(&["write"]);
    after_a_tool(&server);
    let (name, reason) = (Some("a".to_owned()), "enough".to_owned());
    stage.ask(Ask::Shutdown(verbs::Shutdown { name, reason, deadline_ms: 600_000 }));
    stage.event("shutdown.requested");
    server.release("middle");
    stage.event("shutdown.answered");
    assert_eq!(stage.event("teammate.stopped")["outcome"], "clean");
    stage.finished(1);
    stage.all_once(&tasks);
}

#[test]
fn a_killed_agent_takes_its_conversation_up_again() {
    let server = Server::start(
        r#"
as a
on "Task 1:"
  tool bash {"command":"echo one >> one.txt"}
  hold middle
  tool TaskUpdate {"taskId":"1","status":"completed","result":"ok"}
  say Done.
on "You were interrupted"
  tool TaskUpdate {"taskId":"1","status":"completed","result":"after the interruption"}
  say Done.
"#,
    );
    let mut stage = stage(&server, "anthropic", "", &["a"]);
    let tasks = stage.tasks(&["write"]);
    after_a_tool(&server);
    processes::kill(agent(&stage));
    stage.finished(1);
    server.release("middle");
    assert_eq!(stage.task(1).result.unwrap(), "after the interruption");
    assert_eq!(stage.file("one.txt"), "one\n", "nothing was done twice");
    let last = server.requests().pop().unwrap().body.to_string();
    assert!(last.contains("echo one >> one.txt"), "the history is there: {last}");
    assert!(said(&stage, "a", 1).contains("taken up again"));
    stage.all_once(&tasks);
}

#[test]
fn a_killed_supervisor_costs_a_native_teammate_nothing_it_knew() {
    let server = Server::start(
        r#"
as a
on "Task 1:"
  tool bash {"command":"echo one > one.txt"}
  hold middle
  say never
"#,
    );
    let mut stage = stage(&server, "openai", "", &["a"]);
    let tasks = stage.tasks(&["write"]);
    after_a_tool(&server);
    let pid = agent(&stage);
    processes::kill(stage.supervisor("a"));
    stage.event("teammate.disappeared");
    server.replace_script(
        r#"
as a
on "Task 1:"
  tool TaskUpdate {"taskId":"1","status":"completed","result":"ok"}
  say Done.
"#,
    );
    stage.finished(1);
    assert!(!processes::is_alive(pid), "its agent has ended with it");
    assert!(said(&stage, "a", 2).contains("taken up again"));
    stage.all_once(&tasks);
}

#[test]
fn who_must_plan_first_cannot_write_until_the_plan_is_approved() {
    let server = Server::start(
        r#"
as a
on "Task 1:"
  tool ExitPlanMode {"plan":"I will write late.txt"}
  say I wait.
on "Your plan is approved"
  tool write_file {"path":"late.txt","content":"late\n"}
  tool TaskUpdate {"taskId":"1","status":"completed","result":"ok"}
  say Done.
"#,
    );
    let mut stage = stage(&server, "anthropic", "", &[]);
    native(&mut stage, "a", "plan");
    let tasks = stage.tasks(&["write"]);
    stage.event("plan.submitted");
    let Answer::Plans(plans) = stage.ask(Ask::Plans(verbs::Plans { all: false })) else { panic!() };
    let early = stage.tree("a").join("early.txt");
    assert!(!early.exists());
    let first = server.requests()[0].body.to_string();
    assert!(first.contains("read_file") && !first.contains("write_file"), "{first}");
    stage.ask(Ask::PlanApprove(verbs::PlanApprove { plan: plans[0].id }));
    stage.finished(1);
    assert_eq!(stage.file("late.txt"), "late\n");
    assert!(!stage.has_file("early.txt"));
    stage.all_once(&tasks);
}

#[test]
fn a_budget_stops_a_native_teammate_before_it_is_passed() {
    let server = Server::start(
        r#"
as a
on "Task 1:"
  usage 1000 100
  tool bash {"command":"true"}
  usage 1000 100
  tool bash {"command":"true"}
  usage 1000 100
  tool bash {"command":"true"}
  usage 1000 100
  tool TaskUpdate {"taskId":"1","status":"completed","result":"ok"}
  say Done.
"#,
    );
    let more = "output-tokens = 1000\n";
    let mut stage = stage(&server, "anthropic", more, &["a"]);
    let budget = Budget { tokens_max: Some(6_000), ..Budget::default() };
    stage.ask(Ask::TeammateBudget(verbs::TeammateBudget { name: "a".to_owned(), budget }));
    stage.tasks(&["write"]);
    let released = stage.event("task.released");
    let reason = released["reason"].as_str().unwrap();
    assert!(reason.contains("budget"), "{reason}");
    stage.catch_up();
    let spent: u64 = stage
        .events("usage.recorded")
        .iter()
        .map(|one| {
            let of = |key: &str| one["usage"][key].as_u64().unwrap_or_default();
            of("tokens_in") + of("tokens_out")
        })
        .sum();
    assert!((1_100..=6_000).contains(&spent), "{spent}");
    assert!(server.requests().len() < 4, "it did not come to the end");
}

/// Its first reply does the task and calls it done; the request that would close the turn is refused.
fn is_refused_its_last_request(refusal: &str, budget: Option<u64>, told: &str) {
    let server = Server::start(&format!(
        r#"
as a
on "Task 1:"
  usage 5500 100
  shell echo found > one.txt
  & tool TaskUpdate {{"taskId":"1","status":"completed","result":"ok","handoff":{{"left":["two.txt"]}}}}
  {refusal}
  say Done.
"#
    ));
    let mut stage = stage(&server, "anthropic", "output-tokens = 1000\n", &["a"]);
    let budget = Budget { tokens_max: budget, ..Budget::default() };
    stage.ask(Ask::TeammateBudget(verbs::TeammateBudget { name: "a".to_owned(), budget }));
    stage.tasks(&["write"]);
    stage.event(told);
    stage.finished(1);
    assert_eq!(stage.file("one.txt"), "found\n");
    let task = stage.task(1);
    assert_eq!((task.result.as_deref(), task.handoff.is_some()), (Some("ok"), true));
    assert_eq!(stage.events("task.released"), Vec::<Value>::new(), "{}", stage.story());
}

#[test]
fn work_that_was_called_done_is_handed_in_though_its_account_is_refused_the_next_request() {
    is_refused_its_last_request("error always 429 retry-after 3600", None, "account.parked");
}

#[test]
fn work_that_was_called_done_is_handed_in_though_there_is_no_budget_for_the_next_request() {
    is_refused_its_last_request("", Some(6_000), "teammate.paused");
}

#[test]
fn a_model_that_cannot_be_reached_is_told_in_words_that_help() {
    let server = Server::start("on *\n  error always 401 no such key\n  say x\n");
    let mut stage = stage(&server, "anthropic", "", &["a"]);
    stage.tasks(&["write"]);
    let gone = stage.event("teammate.disappeared");
    let reason = gone["reason"].as_str().unwrap_or_default().to_owned();
    assert!(reason.contains("test") && reason.contains("401"), "{gone}");
}

#[test]
fn a_native_teammate_has_the_tools_of_its_seat_and_no_others() {
    let server = Server::start(
        r#"
as a
on "Task 1:"
  say Hello.
  tool TaskUpdate {"taskId":"1","status":"completed","result":"ok"}
  say Done.
"#,
    );
    let mut stage = stage(&server, "anthropic", "", &["a"]);
    let task = TaskNew {
        subject: "write".to_owned(),
        files: vec!["one.txt".to_owned()],
        ..TaskNew::default()
    };
    stage.create(vec![task]);
    stage.finished(1);
    let first = &server.requests()[0].body;
    let tools = first["tools"].as_array().unwrap();
    let mut names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "AskUserQuestion",
            "ListAgents",
            "Note",
            "SendMessage",
            "TaskCreate",
            "TaskList",
            "TaskUpdate",
            "bash",
            "bash_output",
            "edit_file",
            "glob",
            "grep",
            "read_file",
            "write_file"
        ]
    );
    let bytes = |value: &Value| value.to_string().len();
    let size = (bytes(&first["system"]) + bytes(&first["tools"]) + bytes(&first["messages"])) / 4;
    assert!(size < 3_000, "the first request has about {size} tokens");
    assert!(first["system"].to_string().contains(&format!("in the team {TEAM}")));
}

#[test]
fn idling_acknowledgements_heartbeats_and_status_ask_no_model() {
    let server = Server::start(
        r#"
as lead
on "begin"
  say I lead.
as a
on "Task 1:"
  tool TaskUpdate {"taskId":"1","status":"completed","result":"ok"}
  say Done.
"#,
    );
    // Signs of life are asked for, and stalls looked for, many times in this test.
    let mut stage = stage(&server, "anthropic", "", &[]);
    stage.add("lead", |mut add| {
        (add.command, add.agent, add.lead) = (String::new(), "native".to_owned(), true);
        add.mode = Some("delegate".to_owned());
        add
    });
    native(&mut stage, "a", "normal");
    stage.add("b", |mut add| {
        add.role = Some("other".to_owned());
        add
    });
    // Something is always left to do, so that nobody is asked to stop.
    let of = |subject: &str, role: Option<&str>, after: &[&str]| TaskNew {
        subject: subject.to_owned(),
        role: role.map(str::to_owned),
        blocked_by: after.iter().map(|id| (*id).to_owned()).collect(),
        assignee: (role.is_none()).then(|| "a".to_owned()),
        no_change: true,
        ..TaskNew::default()
    };
    stage.door("last");
    let (to, body) = ("lead".to_owned(), "begin".to_owned());
    stage.ask(Ask::Send(verbs::Send { to, body, kind: None, reply_to: None }));
    stage.create(vec![of("mine", None, &[]), of("here; pass last", Some("other"), &[])]);
    stage.create(vec![of("never", None, &["2"])]);
    stage.arrival();
    stage.finished(1);
    while stage.events("message.acknowledged").is_empty() {
        stage.hear(|event| event.get("message.acknowledged").is_some());
    }
    let asked = server.requests().len();
    // An hour: somebody looks once a second, and every minute somebody else works, is paused,
    // goes on and gets mail that it reads.
    for minute in 0..60 {
        for _ in 0..60 {
            stage.ask(Ask::Status);
        }
        stage.ask(Ask::Teammates);
        stage.ask(Ask::TeammatePause(verbs::TeammatePause {
            name: "b".to_owned(),
            reason: format!("minute {minute}"),
            spent: false,
        }));
        stage.ask(Ask::TeammateContinue(verbs::TeammateContinue { name: "b".to_owned() }));
        let (to, body) = ("b".to_owned(), format!("minute {minute}"));
        stage.ask(Ask::Send(verbs::Send { to, body, kind: None, reply_to: None }));
        stage.ask(Ask::InboxRead(verbs::InboxRead { max: 10, wait: false }));
    }
    let lead = stage.teammate("lead");
    assert_eq!(lead.state, TeammateState::Idle, "{lead:?}");
    assert_eq!(stage.teammate("a").state, TeammateState::Idle);
    assert_eq!(server.requests().len(), asked, "an hour of idling asked a model");
    stage.open("last", 1);
    stage.hear(|event| event["task.claimed"]["task"] == 3);
}

#[test]
fn who_has_no_budget_left_stops_once_and_goes_on_with_the_next_one() {
    let server = Server::start(
        r#"
as a
on "Task 1:"
  tool TaskUpdate {"taskId":"1","status":"completed","result":"ok"}
  say Done.
on "budget was set anew"
  say I go on.
"#,
    );
    let mut stage = stage(&server, "anthropic", "output-tokens = 1000\n", &["a"]);
    let of = |tokens| Budget { tokens_max: Some(tokens), ..Budget::default() };
    stage.ask(Ask::TeamBudget(verbs::TeamBudget { budget: of(500) }));
    let tasks = stage.tasks(&["write"]);
    let paused = stage.event("teammate.paused");
    assert!(paused["reason"].as_str().unwrap().starts_with("its budget is spent"), "{paused}");
    stage.event("task.released");
    // Whatever else it would do, it would do it before these are answered.
    for _ in 0..50 {
        stage.ask(Ask::Status);
    }
    stage.catch_up();
    assert_eq!(stage.events("task.claimed").len(), 1, "{}", stage.story());
    assert!(server.requests().is_empty(), "no model was asked");
    stage.ask(Ask::TeamBudget(verbs::TeamBudget { budget: of(1_000_000) }));
    stage.finished(1);
    assert_eq!(stage.task(1).result.unwrap(), "ok");
    assert_eq!(tasks, [1]);
    stage.nothing_left();
}

#[test]
fn nothing_goes_on_behind_a_turn_that_has_ended() {
    let server = Server::start(
        r#"
as a
on "Task 1:"
  tool bash {"command":"while :; do echo x >> own.txt; sleep 0.01; done","background":true}
  tool TaskUpdate {"taskId":"1","status":"completed","result":"ok"}
  say Done.
on "Still running in the background"
  say Never mind.
"#,
    );
    let mut stage = stage(&server, "openai", "", &["a"]);
    let tasks = stage.tasks(&["write"]);
    stage.finished(1);
    let requests = server.requests();
    assert!(
        requests.last().unwrap().body.to_string().contains("Still running"),
        "it was told once"
    );
    assert_eq!(requests.len(), 4);
    stage.all_once(&tasks);
}

#[test]
fn mail_after_the_work_is_done_is_heard_once_and_starts_nobody_again() {
    let server = Server::start(
        r#"
as a
on "Task 1:"
  tool TaskUpdate {"taskId":"1","status":"completed","result":"ok"}
  say Done.
on "please explain"
  tool SendMessage {"to":"person","message":"it is as it is"}
  say Explained.
"#,
    );
    let mut stage = stage(&server, "anthropic", "", &["a"]);
    stage.tasks(&["write"]);
    stage.finished(1);
    stage.event("teammate.stopped");
    let (to, body) = ("a".to_owned(), "please explain".to_owned());
    stage.ask(Ask::Send(verbs::Send { to, body, kind: None, reply_to: None }));
    stage.hear(|event| event["message.sent"]["body"] == "it is as it is");
    stage.event("teammate.stopped");
    stage.catch_up();
    assert_eq!(stage.events("teammate.started").len(), 2, "{}", stage.story());
    stage.nothing_left();
}
