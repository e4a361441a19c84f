//! Sessions that come without a token: enrolled, kept, left.

use std::ops::ControlFlow;

use serde_json::{Value, json};
use shipmate_protocol::view::TeammateView;
use shipmate_protocol::{Answer, Ask};

use crate::http::Serving;
use crate::pipe::{Pipe, text_of};
use crate::stage::{SHIPMATE, Stage};

fn teammates(stage: &Stage) -> Vec<(String, String)> {
    let Answer::Teammates(mates) = stage.person().ask(Ask::Teammates).unwrap() else { panic!() };
    mates.into_iter().map(|mate: TeammateView| (mate.name, mate.state.to_string())).collect()
}

/// Waits for the record that says that this teammate has stopped.
pub(crate) fn stopped(stage: &Stage, name: &str) {
    let who = format!("alpha/{name}@");
    let mut client = stage.person();
    let heard = client.follow(0, |record| {
        let record: Value = serde_json::from_str(record).unwrap();
        let is = |kind: &str| {
            record["event"][kind]["who"].as_str().is_some_and(|of| of.starts_with(&who))
        };
        match is("teammate.stopped") || is("teammate.disappeared") {
            true => std::ops::ControlFlow::Break(()),
            false => std::ops::ControlFlow::Continue(()),
        }
    });
    heard.unwrap();
}

#[test]
fn a_session_that_creates_a_team_leads_it_and_gets_other_tools() {
    let stage = Stage::new();
    std::fs::write(stage.repo().join("draft"), "not committed\n").unwrap();
    let mut lead = stage.session().ready();
    assert_eq!(lead.tools(), ["TeamCreate", "ListAgents", "TaskList"]);
    let refused = lead.refusal("TaskCreate", json!({ "subject": "x", "description": "d" }));
    assert!(refused.contains("no tool TaskCreate for somebody in no team"), "{refused}");
    let made =
        lead.call("TeamCreate", json!({ "team_name": "alpha", "description": "the parser" }));
    assert!(made.contains("You lead team alpha as claude"), "{made}");
    assert!(made.contains("Uncommitted, so not seen by teammates: draft"), "{made}");
    lead.notice("notifications/tools/list_changed");
    let tools = lead.tools();
    for tool in ["TeamDelete", "Agent", "TaskCreate", "TaskStop", "AnswerQuestion"] {
        assert!(tools.contains(&tool.to_owned()), "{tools:?}");
    }
    lead.call("TaskCreate", json!({ "subject": "Parse", "description": "d" }));
    // It works in the repository, as a run does.
    let shown = stage.shipmate(&["--json", "team", "show"]);
    assert!(shown.contains("\"branch\":\"shipmate/alpha\""), "{shown}");
    assert!(lead.end().success());
    assert_eq!(teammates(&stage), [("claude".to_owned(), "stopped".to_owned())]);
    // Its next session has the lead's tools from its first request.
    let mut again = stage.session().ready();
    assert_eq!(again.tools(), tools);
    let mut beside = stage.session().ready();
    again.call("TaskList", json!({}));
    assert!(!beside.tools().contains(&"TeamDelete".to_owned()), "the seat is taken");
}

#[test]
fn a_client_that_lists_tools_once_sees_from_the_beginning_what_a_lead_has() {
    let stage = Stage::new();
    let mut session = stage.session();
    session.initialize("2025-06-18", "codex-mcp-client");
    assert!(session.tools().contains(&"TaskCreate".to_owned()));
    let early = session.refusal("TaskCreate", json!({ "subject": "x", "description": "d" }));
    assert!(early.contains("the tools are TeamCreate"), "{early}");
    session.call("TeamCreate", json!({ "team_name": "alpha" }));
    session.call("TaskCreate", json!({ "subject": "x", "description": "d" }));
}

#[test]
fn a_session_is_enrolled_at_its_first_call_under_its_programs_name() {
    let stage = Stage::new();
    stage.team(&[]);
    let mut session = stage.session();
    session.initialize("2025-06-18", "codex-mcp-client");
    assert!(session.tools().contains(&"TaskUpdate".to_owned()));
    assert_eq!(teammates(&stage), []);
    session.call("TaskList", json!({}));
    assert_eq!(teammates(&stage), [("codex".to_owned(), "idle".to_owned())]);
    let mut second = stage.session();
    second.initialize("2025-06-18", "codex-mcp-client");
    second.call("TaskList", json!({}));
    assert_eq!(teammates(&stage)[1].0, "codex-2");
    let mut named = Pipe::open(stage.command(SHIPMATE).arg("mcp").env("SHIPMATE_SEAT", "ana"));
    named.initialize("2025-06-18", "codex-mcp-client");
    named.call("TaskList", json!({}));
    assert!(teammates(&stage).contains(&("ana".to_owned(), "idle".to_owned())));
}

#[test]
fn the_leads_seat_goes_to_whoever_asks_first_and_the_second_looks_on() {
    let stage = Stage::new();
    stage.team(&[]);
    let lead = || {
        let mut command = stage.command(SHIPMATE);
        Pipe::open(command.arg("mcp").env("SHIPMATE_SEAT_LEAD", "1")).ready()
    };
    let mut first = lead();
    first.call("TaskCreate", json!({ "subject": "Parse", "description": "d" }));
    assert!(first.tools().contains(&"TeamDelete".to_owned()));
    let mut second = lead();
    assert!(second.tools().contains(&"TeamDelete".to_owned()), "it may become the lead");
    second.call("TaskList", json!({}));
    let tools = second.tools();
    assert!(!tools.contains(&"TeamDelete".to_owned()), "{tools:?}");
    assert!(!tools.contains(&"TaskUpdate".to_owned()), "{tools:?}");
    second.notice("notifications/tools/list_changed");
}

#[test]
fn what_a_killed_session_held_is_free_again() {
    let stage = Stage::new();
    stage.team(&["ana"]);
    stage.shipmate(&["task", "create", "Parse"]);
    let mut session = stage.session().ready();
    session.call("TaskUpdate", json!({ "taskId": "1", "status": "in_progress" }));
    drop(session);
    stopped(&stage, "claude");
    let mut ana = stage.session_of("ana").ready();
    ana.call("TaskUpdate", json!({ "taskId": "1", "status": "in_progress" }));
}

#[test]
fn an_enrolled_session_outlives_its_coordinator_and_keeps_its_claim() {
    let stage = Stage::new();
    stage.team(&["ana"]);
    stage.shipmate(&["task", "create", "Parse"]);
    let mut session = stage.session().ready();
    session.call("TaskUpdate", json!({ "taskId": "1", "status": "in_progress" }));
    stage.kill_coordinator();
    let shown = session.call("TaskGet", json!({ "taskId": "1" }));
    assert!(shown.contains("Owner: claude"), "{shown}");
    stage.kill_coordinator();
    let mut ana = stage.session_of("ana").ready();
    let sent = json!({ "to": "claude", "message": "still there?", "summary": "s" });
    ana.call("SendMessage", sent);
    let heard = session.call("TaskList", json!({}));
    assert!(heard.contains("still there?"), "{heard}");
    assert!(session.end().success());
    stopped(&stage, "claude");
}

#[test]
fn a_session_whose_seat_was_taken_away_is_enrolled_again() {
    let stage = Stage::new();
    stage.team(&[]);
    let mut session = stage.session().ready();
    session.call("TaskList", json!({}));
    let seat = std::fs::read_dir(stage.place().state().join("seats")).unwrap().next().unwrap();
    let text = std::fs::read(seat.unwrap().path()).unwrap();
    let note: Value = serde_json::from_slice(&text).unwrap();
    // Somebody else with its token gives the seat back.
    let token =
        shipmate_protocol::client::TokenSource::Given(note["token"].as_str().unwrap().into());
    let launch = shipmate_protocol::client::Launch::Never;
    let mut other = shipmate_protocol::Client::new(stage.place(), launch, token);
    other.ask(Ask::Leave).unwrap();
    session.call("TaskList", json!({}));
    assert_eq!(teammates(&stage), [("claude".to_owned(), "idle".to_owned())]);
}

#[test]
fn the_seat_file_is_its_owners_alone_and_goes_with_the_session() {
    use std::os::unix::fs::PermissionsExt;
    let stage = Stage::new();
    stage.team(&[]);
    let mut session = stage.session().ready();
    session.call("TaskList", json!({}));
    let path = stage.place().state().join("seats").join(format!("{}.json", std::process::id()));
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(session.terminate().success());
    assert!(!path.exists());
    assert_eq!(teammates(&stage), [("claude".to_owned(), "stopped".to_owned())]);
}

#[test]
fn a_deleted_team_leaves_its_session_a_visitor_that_may_begin_anew() {
    let stage = Stage::new();
    let mut lead = stage.session().ready();
    lead.call("TeamCreate", json!({ "team_name": "alpha" }));
    lead.call("TeamDelete", json!({ "now": true }));
    assert_eq!(lead.tools(), ["TeamCreate", "ListAgents", "TaskList"]);
    let made = lead.call("TeamCreate", json!({ "team_name": "beta" }));
    assert!(made.contains("You lead team beta as claude"), "{made}");
}

#[test]
fn over_http_each_session_is_a_member_for_as_long_as_it_lasts() {
    let stage = Stage::new();
    stage.team(&[]);
    stage.shipmate(&["task", "create", "Parse"]);
    let serving = Serving::start(&stage);
    let person = std::fs::read_to_string(stage.place().person_token()).unwrap();
    let mut sessions = [&serving.token, &serving.token, &person].map(|token| {
        let mut session = serving.session(token);
        let listed = session.call("TaskList", json!({}));
        assert_ne!(listed["isError"], true, "{}", text_of(&listed));
        session
    });
    let idle = |names: &[&str]| -> Vec<(String, String)> {
        names.iter().map(|name| (name.to_string(), "idle".to_owned())).collect()
    };
    assert_eq!(teammates(&stage), idle(&["probe", "probe-2", "probe-3"]));
    sessions[1].call("TaskUpdate", json!({ "taskId": "1", "status": "in_progress" }));
    let [one, two, three] = sessions;
    two.delete();
    stopped(&stage, "probe-2");
    assert_eq!(teammates(&stage), idle(&["probe", "probe-3"]));
    let task = stage.shipmate(&["task", "show", "1"]);
    assert!(task.contains("pending"), "what it held is free: {task}");
    assert!(serving.terminate().success());
    assert_eq!(teammates(&stage), []);
    // A server that is killed says nothing of its sessions, and they are gone as well.
    let serving = Serving::start(&stage);
    serving.session(&serving.token).call("TaskList", json!({}));
    assert_eq!(teammates(&stage), idle(&["probe"]));
    drop(serving);
    removed(&stage, "probe", 2);
    assert_eq!(teammates(&stage), []);
    drop((one, three));
}

/// Waits until this teammate was removed so often.
fn removed(stage: &Stage, name: &str, times: usize) {
    let who = format!("alpha/{name}");
    let mut seen = 0;
    let heard = stage.person().follow(0, |record| {
        let record: Value = serde_json::from_str(record).unwrap();
        seen += usize::from(record["event"]["teammate.removed"]["who"] == who);
        if seen < times { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    heard.unwrap();
}

#[test]
fn over_http_a_member_keeps_its_seat_while_something_waits_there() {
    let stage = Stage::new();
    stage.team(&[]);
    stage.shipmate(&["task", "create", "Parse"]);
    let serving = Serving::start(&stage);
    let mut first = serving.session(&serving.token);
    first.call("TaskList", json!({}));
    let mut second = serving.session(&serving.token);
    second.call("TaskList", json!({}));
    stage.shipmate(&["send", "probe", "are you there?"]);
    stage.shipmate(&["task", "assign", "1", "probe-2"]);
    first.delete();
    stopped(&stage, "probe");
    second.delete();
    stopped(&stage, "probe-2");
    let stopped = |name: &str| (name.to_owned(), "stopped".to_owned());
    assert_eq!(teammates(&stage), [stopped("probe"), stopped("probe-2")]);
    let mut back = serving.session(&serving.token);
    let heard = back.call("TaskList", json!({})).to_string();
    assert!(heard.contains("are you there?"), "{heard}");
    assert_eq!(teammates(&stage)[0].1, "idle", "it has its seat again");
}
