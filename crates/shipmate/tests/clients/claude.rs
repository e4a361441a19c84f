//! Claude Code, driven over its own stream.
//!
//! Where a test must be at a certain point of a turn, either the model's reply is held or a
//! command of the agent waits at a door.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;
use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::{Setup, Supervision, TaskNew, TeammateAdd};
use shipmate_testkit::model::{Request, Server};
use shipmate_testkit::programs::{Program, Surroundings, strays};

use crate::processes::{self, Marked};
use crate::stage::Stage;

/// Puts a program of this name before the machine's own.
fn install(stage: &Stage, script: &str) {
    let bin = stage.root().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let path = bin.join("claude");
    std::fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn join(stage: &mut Stage, change: impl FnOnce(TeammateAdd) -> TeammateAdd) {
    let gate = vec!["test -e README".to_owned()];
    stage.team(Setup { gate, ..Setup::default() }, &[]);
    stage.add("ana", |mut add| {
        add.command = String::new();
        add.agent = "claude".to_owned();
        change(add)
    });
}

/// A team of one Claude Code on this model.
fn stage(server: &Server) -> Stage {
    stage_with(server, |add| add)
}

fn stage_with(server: &Server, change: impl FnOnce(TeammateAdd) -> TeammateAdd) -> Stage {
    set_up(Stage::new(""), server, change)
}

fn set_up(
    mut stage: Stage,
    server: &Server,
    change: impl FnOnce(TeammateAdd) -> TeammateAdd,
) -> Stage {
    let home = stage.root().join("home");
    let mut script = Surroundings::exports(Surroundings::claude(&home, server));
    script.push_str(&format!("exec '{}' \"$@\"\n", Program::Claude.path().display()));
    install(&stage, &script);
    stage.door("go");
    join(&mut stage, change);
    stage
}

/// A command that says that it runs and waits until the test opens the door.
fn wait_at_door(root: &std::path::Path) -> String {
    let root = root.display();
    format!("echo 1 ana 0 $$ > {root}/here && read -r _ < {root}/go.door; echo one > one.txt")
}

fn task(stage: &mut Stage, subject: &str) -> Vec<u32> {
    let subject = subject.to_owned();
    stage.create(vec![TaskNew { subject, ..TaskNew::default() }])
}

fn send(stage: &mut Stage, body: &str) {
    let (to, body) = ("ana".to_owned(), body.to_owned());
    stage.ask(Ask::Send(verbs::Send { to, body, kind: None, reply_to: None }));
}

/// The lines that Claude Code sent in a life.
fn heard(stage: &Stage, epoch: u32) -> Vec<Value> {
    let text = std::fs::read_to_string(stage.life("ana", epoch).join("transcript.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| line.get("from").cloned()).collect()
}

fn turns(stage: &Stage, epoch: u32) -> usize {
    heard(stage, epoch).iter().filter(|line| line["type"] == "result").count()
}

fn words(stage: &Stage, epoch: u32) -> String {
    std::fs::read_to_string(stage.life("ana", epoch).join("output.log")).unwrap()
}

fn session(request: &Request) -> String {
    request.header("x-claude-code-session-id").unwrap().to_owned()
}

fn program(stage: &Stage) -> Marked {
    let found = stage.processes("agent");
    let is_it = |one: &Marked| one.words.contains("--permission-prompt-tool");
    found.into_iter().find(is_it).expect("claude runs")
}

const DOES_IT: &str = r#"
    as ana
    on "write one"
      say I will write the file.
      shell echo one > one.txt
      tool TaskUpdate {"taskId":"1","status":"completed","result":"one is there"}
      say All done.
"#;

#[test]
fn claude_does_a_task_and_it_is_merged() {
    let server = Server::start(DOES_IT);
    let mut stage = stage(&server);
    let tasks = task(&mut stage, "write one");
    stage.finished(1);
    assert_eq!(stage.task(1).result.unwrap(), "one is there");
    assert_eq!(stage.file("one.txt"), "one\n");
    let first = &server.wait_for(|request| request.contains("write one"));
    let tools = first.body["tools"].as_array().unwrap().iter();
    let tools: Vec<&str> = tools.filter_map(|tool| tool["name"].as_str()).collect();
    let named = |name: &str| tools.iter().filter(|tool| tool.ends_with(name)).count();
    for name in ["SendMessage", "TaskUpdate", "TaskList", "ListAgents", "AskUserQuestion"] {
        assert_eq!(named(name), 1, "{name} in {tools:?}");
    }
    let words = words(&stage, 1);
    for said in ["I will write the file.", "$ echo one > one.txt", "→ TaskUpdate", "tokens in"] {
        assert!(words.contains(said), "{said} in {words}");
    }
    assert_eq!(strays(&server).len(), 0);
    stage.all_once(&tasks);
}

#[test]
fn a_message_reaches_claude_in_the_turn_that_runs() {
    let server = Server::start("as nobody\non *\n  say x\n");
    let mut stage = stage(&server);
    let door = wait_at_door(&stage.root());
    // It writes its history a moment later than it acts: killed before that it has none.
    let history = "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/projects/*/*.jsonl";
    server.replace_script(&format!(
        r#"
        as ana
        on "write one"
          shell until grep -q "write one" {history}; do :; done; {door}
          tool TaskUpdate {{"taskId":"1","status":"completed"}}
          say Done.
        "#
    ));
    let tasks = task(&mut stage, "write one");
    stage.arrival();
    send(&mut stage, "the parser moved");
    stage.event("message.injected");
    stage.open("go", 1);
    let with = server.wait_for(|request| request.contains("the parser moved"));
    assert!(with.contains("<teammate-message from="), "in its envelope");
    assert!(with.contains("tool_result"), "after the tool, in the same turn");
    stage.finished(1);
    assert_eq!(turns(&stage, 1), 1);
    stage.all_once(&tasks);
}

#[test]
fn work_is_not_over_before_a_message_that_came_too_late_for_the_turn_was_heard() {
    let server = Server::start(
        r#"
        as ana
        on "write one"
          shell echo one > one.txt
          hold last
          say I wait.
        on "late news"
          tool TaskUpdate {"taskId":"1","status":"completed","result":"with the news"}
          say Done.
        "#,
    );
    let mut stage = stage(&server);
    let tasks = task(&mut stage, "write one");
    server.wait_for(|request| request.contains("tool_result"));
    send(&mut stage, "late news");
    stage.event("message.injected");
    server.release("last");
    stage.finished(1);
    assert_eq!(stage.task(1).result.unwrap(), "with the news");
    assert_eq!(turns(&stage, 1), 2);
    let nudged = server.requests().iter().any(|r| r.contains("ended without a word"));
    assert!(!nudged, "the supervisor thought that the work was over");
    stage.all_once(&tasks);
}

#[test]
fn a_message_wakes_claude_when_it_is_idle() {
    let script = format!("{DOES_IT}\n    on \"good morning\"\n      say Good morning to you.\n");
    let server = Server::start(&script);
    let mut stage = stage_with(&server, |mut add| {
        add.when_needed = false;
        add
    });
    let (name, supervision) = ("ana".to_owned(), Supervision::Supervised);
    stage.ask(Ask::TeammateStart(verbs::TeammateStart { name, supervision }));
    let tasks = task(&mut stage, "write one");
    stage.finished(1);
    let before = program(&stage).pid;
    send(&mut stage, "good morning");
    let with = server.wait_for(|request| request.contains("good morning"));
    assert!(with.contains("All done."), "in the conversation it had");
    stage.event("message.acknowledged");
    assert_eq!(program(&stage).pid, before, "in the program that ran");
    let (name, reason) = (Some("ana".to_owned()), "enough".to_owned());
    stage.ask(Ask::Shutdown(verbs::Shutdown { name, reason, deadline_ms: 30_000 }));
    stage.all_once(&tasks);
}

/// Both lives of a task whose first is cut short at the door.
fn cut_short(server: &Server, stage: &mut Stage) -> (Vec<u32>, Vec<Marked>) {
    let door = wait_at_door(&stage.root());
    // It writes its history a moment later than it acts: killed before that it has none.
    let history = "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/projects/*/*.jsonl";
    server.replace_script(&format!(
        r#"
        as ana
        on "write one"
          shell echo half > half.txt; until grep -q "write one" {history}; do :; done; {door}
          say Never said.
        on "were interrupted"
          shell echo two > two.txt
          tool TaskUpdate {{"taskId":"1","status":"completed"}}
          say Done.
        "#
    ));
    let tasks = task(stage, "write one");
    stage.arrival();
    let processes = stage.processes("agent");
    assert!(processes.len() > 1, "claude and its shell: {processes:?}");
    (tasks, processes)
}

#[test]
fn a_claude_that_is_killed_in_mid_turn_goes_on_with_its_conversation() {
    let server = Server::start("as nobody\non *\n  say x\n");
    let mut stage = stage(&server);
    let (tasks, processes) = cut_short(&server, &mut stage);
    processes::kill(program(&stage).pid);
    stage.finished(1);
    for one in processes {
        assert!(!processes::is_alive(one.pid), "{one:?} is an orphan");
    }
    let first = server.wait_for(|request| request.contains("write one"));
    let resumed = server.wait_for(|request| request.contains("You were interrupted"));
    assert_eq!(session(&first), session(&resumed));
    assert!(resumed.contains("write one"), "with all that was said before");
    assert_eq!(stage.file("two.txt"), "two\n");
    stage.all_once(&tasks);
}

#[test]
fn a_supervisor_that_is_killed_in_mid_turn_leaves_its_conversation_to_the_next() {
    let server = Server::start("as nobody\non *\n  say x\n");
    let mut stage = stage(&server);
    let (tasks, processes) = cut_short(&server, &mut stage);
    server.replace_script(DOES_IT);
    processes::kill(stage.supervisor("ana"));
    stage.finished(1);
    for one in processes {
        assert!(!processes::is_alive(one.pid), "{one:?} is an orphan");
    }
    let requests = server.requests();
    let asked: Vec<&Request> =
        requests.iter().filter(|request| request.contains("write one")).collect();
    let (first, last) = (asked[0], asked[asked.len() - 1]);
    assert_eq!(session(first), session(last));
    assert!(last.contains("What was done for it before is still in this tree"));
    assert_eq!(stage.teammate("ana").epoch, 2);
    stage.all_once(&tasks);
}

#[test]
fn a_task_that_is_taken_away_breaks_the_turn_off_and_the_program_stays() {
    let server = Server::start("as nobody\non *\n  say x\n");
    // It has all the time it needs for its answer.
    let stage = Stage::new("[agents]\nstop-grace-seconds = 600\n");
    let mut stage = set_up(stage, &server, |add| add);
    let (_, processes) = cut_short(&server, &mut stage);
    let before = program(&stage).pid;
    let (task, reason) = ("1".to_owned(), "not now".to_owned());
    server.replace_script(DOES_IT);
    stage.ask(Ask::TaskRelease(verbs::TaskRelease { task, token: None, reason }));
    stage.finished(1);
    let shell = processes.iter().find(|one| one.pid != before).unwrap();
    assert!(!processes::is_alive(shell.pid), "{shell:?} goes with the turn");
    assert_eq!(program(&stage).pid, before);
    assert_eq!(
        stage.teammate("ana").tokens_estimated,
        0,
        "its tools ran, and no request broke off"
    );
    stage.all_once(&[1]);
}

#[test]
fn what_claude_may_not_write_by_itself_is_refused_or_granted_by_who_is_asked() {
    let server = Server::start(
        r#"
        as ana
        on "write one"
          write other.txt mine
          write other.txt granted
          tool TaskUpdate {"taskId":"1","status":"completed"}
          say Done.
        "#,
    );
    let mut stage = stage_with(&server, |mut add| {
        add.scope = vec!["src/**".to_owned()];
        add
    });
    task(&mut stage, "write one");
    for answer in ["that file is bo's", "allow"] {
        let asked = stage.hear(|event| event.get("question.asked").is_some());
        let (question, answer) = (asked["n"].as_u64().unwrap(), answer.to_owned());
        stage.ask(Ask::Answer(verbs::QuestionAnswer { question, answer }));
    }
    let told = server.wait_for(|request| request.contains("that file is bo's"));
    assert!(told.contains("tool_result"), "the model reads why");
    let written = stage.event("task.submitted");
    let commit = written["commit"].as_str().unwrap();
    assert_eq!(stage.git(&["show", &format!("{commit}:other.txt")]), "granted\n");
    assert!(words(&stage, 1).contains("that file is bo's"));
}

#[test]
fn a_program_that_ends_in_the_handshake_is_quoted() {
    let mut stage = Stage::new("");
    install(&stage, "echo 'this claude is broken' >&2; exit 3\n");
    join(&mut stage, |add| add);
    task(&mut stage, "write one");
    let gone = stage.event("teammate.disappeared");
    let words = supervisor_words(&stage, 1);
    assert!(words.contains("this claude is broken"), "{words} {gone}");
}

fn supervisor_words(stage: &Stage, epoch: u32) -> String {
    let path: PathBuf = stage.life("ana", epoch).join("supervisor.log");
    std::fs::read_to_string(path).unwrap_or_default()
}
