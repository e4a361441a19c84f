//! Agents that speak ACP, good and bad: what they do to their team, and what is left of them.
//!
//! The agent is `acp_agent` of the testkit, which has no model and runs a task's subject as a
//! shell line; it is found in PATH under a known program's name.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use shipmate_protocol::verbs::Setup;
use shipmate_protocol::{Answer, Ask, verbs};

use crate::processes;
use crate::stage::{SHIPMATE, Stage};

/// A team of one, whose agent has these faults.
fn stage(faults: &str) -> Stage {
    let stage = Stage::new("[agents]\nstop-grace-seconds = 1\n");
    with_agent(stage, faults)
}

fn with_agent(stage: Stage, faults: &str) -> Stage {
    with_program(stage, "goose", faults)
}

fn with_program(mut stage: Stage, program: &str, faults: &str) -> Stage {
    let agent = Path::new(SHIPMATE).with_file_name("acp_agent");
    let built = "build it with `cargo build -p shipmate-testkit --bin acp_agent`";
    assert!(agent.exists(), "{} is not there: {built}", agent.display());
    let (root, bin) = (stage.root(), stage.root().join("bin"));
    std::fs::create_dir_all(&bin).unwrap();
    let path = bin.join(program);
    // What is ignored stays so in the program that is started.
    let trap = if faults.contains("ignores-end") { "trap '' TERM\n" } else { "" };
    let script = format!(
        "#!/bin/sh\n{trap}export ACP_AGENT='{faults}' S='{}'\nexec '{}' \"$@\"\n",
        root.display(),
        agent.display()
    );
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    stage.team(Setup::default(), &[]);
    stage.add("a", |mut add| {
        (add.command, add.agent) = (String::new(), program.to_owned());
        add
    });
    stage
}

/// Takes a task off the board while somebody works on it, who cannot claim it again meanwhile.
fn take_away(stage: &mut Stage, task: u32) {
    let (name, reason) = ("a".to_owned(), "the task goes".to_owned());
    stage.ask(Ask::TeammatePause(verbs::TeammatePause {
        name: name.clone(),
        reason: reason.clone(),
        spent: false,
    }));
    stage.ask(Ask::TaskRelease(verbs::TaskRelease { task: task.to_string(), token: None, reason }));
    stage.ask(Ask::TaskDelete(verbs::TaskDelete { task: task.to_string() }));
    stage.ask(Ask::TeammateContinue(verbs::TeammateContinue { name }));
}

fn said(stage: &Stage, epoch: u32) -> String {
    std::fs::read_to_string(stage.life("a", epoch).join("output.log")).unwrap_or_default()
}

/// With a model that it knows no price of, it tells tokens and that they cost nothing.
#[test]
fn an_opencode_that_tells_no_cost_stops_under_a_budget_in_money() {
    let mut stage = with_program(Stage::new(""), "opencode", "");
    let cost_micros_max = Some(5_000_000);
    let budget = verbs::Budget { cost_micros_max, ..verbs::Budget::default() };
    stage.ask(Ask::TeamBudget(verbs::TeamBudget { budget }));
    let tasks = stage.tasks(&["put f1 x", "put f2 x"]);
    let paused = stage.event("teammate.paused");
    let reason = paused["reason"].as_str().unwrap();
    assert!(
        reason.contains("opencode tells its tokens, and nothing of what its model"),
        "{reason}"
    );
    assert!(reason.contains("--tokens N"), "{reason}");
    stage.finished(1);
    assert_eq!(stage.landed(), tasks[..1], "it went on after its first turn");
    let budget = verbs::Budget { tokens_max: Some(1_000_000), ..verbs::Budget::default() };
    stage.ask(Ask::TeamBudget(verbs::TeamBudget { budget }));
    stage.finished(2);
}

#[test]
fn an_agent_over_acp_does_its_tasks_in_one_process_and_says_what_it_does() {
    let mut stage = stage("");
    let tasks = stage.tasks(&["here; put f1 x", "here; put f2 x"]);
    stage.arrivals(2);
    stage.finished(2);
    assert_eq!(stage.task(1).result.unwrap(), "done by hand");
    let said = said(&stage, 1);
    for line in ["I will run it.", "$ here; put f1 x", "→ TaskUpdate"] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let raw = std::fs::read_to_string(stage.life("a", 1).join("transcript.jsonl")).unwrap();
    assert_eq!(raw.matches("\"session/new\"").count(), 1, "{raw}");
    stage.all_once(&tasks);
}

#[test]
fn a_slow_handshake_is_waited_for_and_messages_wait_with_it() {
    let stage = Stage::new("");
    let mut stage = with_agent(stage, "waits-at-hello");
    stage.door("hello");
    let tasks = stage.tasks(&["put f1 x"]);
    stage.event("task.claimed");
    let (to, body) = ("a".to_owned(), "mind the gap".to_owned());
    stage.ask(Ask::Send(verbs::Send { to, body, kind: None, reply_to: None }));
    stage.open("hello", 1);
    stage.finished(1);
    let raw = std::fs::read_to_string(stage.life("a", 1).join("transcript.jsonl")).unwrap();
    assert!(raw.contains("mind the gap"), "{raw}");
    stage.all_once(&tasks);
}

#[test]
fn an_agent_that_exits_in_the_handshake_says_last_why() {
    let mut stage = stage("dies-at-hello");
    stage.tasks(&["put f1 x"]);
    let gone = stage.event("teammate.disappeared")["reason"].to_string();
    assert!(gone.contains("needs a licence") && gone.contains("handshake"), "{gone}");
}

#[test]
fn an_agent_that_is_not_logged_in_says_how_to() {
    let mut stage = stage("auth");
    stage.tasks(&["put f1 x"]);
    let gone = stage.event("teammate.disappeared")["reason"].to_string();
    for words in ["not logged in", "API key is missing", "set FAKE_KEY"] {
        assert!(gone.contains(words), "{words}: {gone}");
    }
}

#[test]
fn an_agent_of_another_version_of_the_protocol_is_not_driven() {
    let mut stage = stage("old");
    stage.tasks(&["put f1 x"]);
    let gone = stage.event("teammate.disappeared")["reason"].to_string();
    assert!(gone.contains("speaks version 0 of ACP"), "{gone}");
}

#[test]
fn garbage_and_unknown_requests_disturb_nothing() {
    let mut stage = stage("garbage");
    let tasks = stage.tasks(&["put f1 x"]);
    stage.finished(1);
    let said = said(&stage, 1);
    assert_eq!(said.matches("what is no message").count(), 1, "{said}");
    stage.all_once(&tasks);
}

#[test]
fn a_flood_of_updates_is_read_to_its_end_and_kept_small() {
    let stage = Stage::new("[agents]\noutput-bytes = 1000000\n");
    let mut stage = with_agent(stage, "floods");
    let tasks = stage.tasks(&["put f1 x"]);
    stage.finished(1);
    let files = std::fs::read_dir(stage.life("a", 1)).unwrap().flatten();
    let bytes: u64 = files.map(|file| file.metadata().unwrap().len()).sum();
    assert!(bytes < 8_000_000, "{bytes} bytes were kept");
    let said = said(&stage, 1);
    assert!(said.contains("99999 the end"), "the last of it is there");
    stage.all_once(&tasks);
}

#[test]
fn a_program_that_dies_in_its_turn_is_started_again_and_goes_on() {
    let mut stage = stage("dies-in-turn");
    let tasks = stage.tasks(&["here; put f1 x"]);
    stage.arrivals(2);
    stage.finished(1);
    let said = said(&stage, 1);
    assert!(said.contains("out of memory"), "{said}");
    assert!(said.contains("goes on with its earlier conversation"), "{said}");
    assert!(!said.contains("history"), "{said}");
    assert_eq!(stage.events("teammate.disappeared").len(), 0);
    stage.all_once(&tasks);
}

#[test]
fn one_that_forgets_its_sessions_is_told_its_task_anew() {
    let mut stage = stage("dies-in-turn forgets");
    let tasks = stage.tasks(&["here; put f1 x"]);
    stage.arrivals(2);
    stage.finished(1);
    let said = said(&stage, 1);
    assert!(said.contains("begins anew"), "{said}");
    stage.all_once(&tasks);
}

#[test]
fn permission_is_given_once_whatever_the_order_of_options() {
    let mut stage = stage("asks");
    let tasks = stage.tasks(&["put f1 x"]);
    stage.finished(1);
    let said = said(&stage, 1);
    assert!(said.contains("told \"selected\" \"y\""), "{said}");
    stage.all_once(&tasks);
}

#[test]
fn what_lies_outside_the_tree_is_asked_of_a_person_and_either_answer_reaches_the_agent() {
    for (answer, told) in [("allow", "y"), ("not that one", "n")] {
        let mut stage = stage("asks-outside");
        let tasks = stage.tasks(&["put f1 x"]);
        stage.event("question.asked");
        let Answer::Questions(open) = stage.ask(Ask::Questions(verbs::Questions { all: false }))
        else {
            panic!()
        };
        let question = open[0].id;
        stage.ask(Ask::Answer(verbs::QuestionAnswer { question, answer: answer.to_owned() }));
        stage.finished(1);
        let said = said(&stage, 1);
        assert!(said.contains(&format!("told \"selected\" \"{told}\"")), "{answer}: {said}");
        stage.all_once(&tasks);
    }
}

#[test]
fn a_permission_that_nobody_answers_is_refused_in_time_and_the_question_withdrawn() {
    let config = "[agents]\nstop-grace-seconds = 1\npatience-seconds = 1\n";
    let mut stage = with_agent(Stage::new(config), "asks-outside");
    let tasks = stage.tasks(&["put f1 x"]);
    stage.event("question.withdrawn");
    stage.finished(1);
    let said = said(&stage, 1);
    assert!(said.contains("told \"selected\" \"n\""), "{said}");
    stage.all_once(&tasks);
}

#[test]
fn a_task_that_is_taken_away_cancels_the_turn_and_the_program_goes_on() {
    // It has all the time it needs for its answer.
    let mut stage = with_agent(Stage::new("[agents]\nstop-grace-seconds = 600\n"), "");
    stage.door("go");
    stage.tasks(&["here; pass go", "here; put f2 x"]);
    let first = stage.arrival();
    take_away(&mut stage, first.task);
    stage.arrival();
    stage.finished(1);
    let raw = std::fs::read_to_string(stage.life("a", 1).join("transcript.jsonl")).unwrap();
    assert!(raw.contains("session/cancel"), "{raw}");
    assert_eq!(raw.matches("\"session/new\"").count(), 1, "{raw}");
    assert_eq!(stage.landed(), [2]);
    stage.nothing_left();
}

#[test]
fn one_that_ignores_cancel_end_of_input_and_signals_dies_with_its_children() {
    let mut stage = stage("ignores-cancel ignores-end");
    stage.door("go");
    stage.tasks(&["daemon; here; pass go", "put f2 x"]);
    let (first, daemon) = stage.with_daemon();
    take_away(&mut stage, first.task);
    stage.finished(1);
    assert!(!processes::is_alive(daemon.pid));
    assert_eq!(stage.landed(), [2]);
    stage.nothing_left();
}

#[test]
fn a_killed_supervisor_leaves_nothing_and_the_next_life_goes_on_with_the_session() {
    let mut stage = stage("ignores-end");
    stage.door("go");
    let tasks = stage.tasks(&["here; pass go; put f1 x"]);
    stage.arrival();
    let agents = stage.processes("agent");
    processes::kill(stage.supervisor("a"));
    stage.arrival();
    assert!(agents.iter().all(|one| !processes::is_alive(one.pid)), "{agents:?}");
    stage.open("go", 1);
    stage.finished(1);
    let said = said(&stage, 2);
    assert!(said.contains("goes on with its earlier conversation"), "{said}");
    stage.all_once(&tasks);
}
