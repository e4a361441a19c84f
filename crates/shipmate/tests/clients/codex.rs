//! Codex: a program for each teammate, and what is left of them when something is killed.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;
use shipmate_protocol::verbs::{Setup, TaskNew, TeammateAdd};
use shipmate_protocol::view::TaskStatus;
use shipmate_protocol::{Answer, Ask, verbs};
use shipmate_testkit::model::Server;
use shipmate_testkit::programs::{Program, Surroundings, strays};

use crate::processes::{Marked, gone, kill, watch};
use crate::stage::Stage;

/// A team of codex teammates on a model that follows this script.
fn stage(script: &str, names: &[&str]) -> (Stage, Server) {
    let server = Server::start(script);
    let mut stage = Stage::new("");
    let home = stage.root().join("home");
    let exports = Surroundings::exports(Surroundings::codex(&home, &server));
    let mut lines = format!("#!/bin/sh\n{exports}");
    lines.push_str(&format!("exec '{}' \"$@\"\n", Program::Codex.path().display()));
    install(&stage, &lines);
    team(&mut stage, names);
    (stage, server)
}

/// Has everybody find this script as `codex`.
fn install(stage: &Stage, lines: &str) {
    let bin = stage.root().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(bin.join("codex"), lines).unwrap();
    std::fs::set_permissions(bin.join("codex"), PermissionsExt::from_mode(0o755)).unwrap();
}

fn team(stage: &mut Stage, names: &[&str]) {
    stage.team(Setup { gate: vec!["true".to_owned()], ..Setup::default() }, &[]);
    for name in names {
        stage.add(name, |mut add| {
            add.command = String::new();
            add.agent = "codex".to_owned();
            add
        });
    }
}

/// A task that only this teammate may take.
fn task(stage: &mut Stage, subject: &str, assignee: &str) -> u32 {
    let (subject, assignee) = (subject.to_owned(), Some(assignee.to_owned()));
    stage.create(vec![TaskNew { subject, assignee, ..TaskNew::default() }])[0]
}

/// The program of a teammate; there is one. What it forks looks like it for a moment, but is not
/// the supervisor's child.
#[track_caller]
pub(crate) fn program(stage: &mut Stage, name: &str) -> Marked {
    let supervisor = stage.supervisor(name);
    let all = stage.processes("agent").into_iter();
    let mut children: Vec<Marked> = all.filter(|one| parent(one.pid) == Some(supervisor)).collect();
    assert_eq!(children.len(), 1, "{children:?}");
    assert!(children[0].words.ends_with(" app-server "), "{children:?}");
    children.remove(0)
}

fn parent(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
}

fn lines(path: PathBuf) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn output(stage: &Stage, name: &str, epoch: u32) -> String {
    std::fs::read_to_string(stage.life(name, epoch).join("output.log")).unwrap()
}

const ONE: &str = r#"
as ana
on "write one"
  say I will write the file.
  shell echo one > one.txt
  tool TaskUpdate {"taskId":"1","status":"completed","result":"one is there"}
  say All done.
"#;

#[test]
fn codex_does_a_task_and_its_work_is_merged() {
    let (mut stage, server) = stage(ONE, &["ana"]);
    let one = task(&mut stage, "write one", "ana");
    stage.finished(1);
    assert_eq!(stage.task(one).result.unwrap(), "one is there");
    assert_eq!(stage.file("one.txt"), "one\n");
    let told = output(&stage, "ana", 1);
    for words in ["I will write the file.", "echo one > one.txt", "→ TaskUpdate", "All done."] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(told.contains("tokens in"), "{told}");
    stage.all_once(&[one]);
    assert_eq!(strays(&server).len(), 0);
}

#[test]
fn who_may_only_read_writes_nothing() {
    let (mut stage, _server) = stage(
        r#"
        as eve
        on "look around"
          shell echo no > no.txt; ls
          say I looked.
        "#,
        &[],
    );
    stage.add("eve", |mut add| {
        add.command = String::new();
        add.agent = "codex".to_owned();
        add.mode = Some("read_only".to_owned());
        add
    });
    let one = task(&mut stage, "look around", "eve");
    stage.finished(1);
    let told = output(&stage, "eve", 1);
    assert!(told.contains("echo no > no.txt") && told.contains("I looked."), "{told}");
    assert_eq!(stage.task(one).row.status, TaskStatus::Completed);
    assert!(!stage.tree("eve").join("no.txt").exists());
    stage.nothing_left();
}

#[test]
fn an_error_of_the_model_fails_the_task_in_the_program_s_words() {
    let script = "as ana\non \"write one\"\n  error always 400 out of order\n  say Never.\n";
    let (mut stage, _server) = stage(script, &["ana"]);
    let (subject, assignee) = ("write one".to_owned(), Some("ana".to_owned()));
    let retries_max = Some(0);
    stage.create(vec![TaskNew { subject, assignee, retries_max, ..TaskNew::default() }]);
    stage.finished(1);
    let failed = stage.events("task.failed");
    let reason = failed[0]["reason"].as_str().unwrap();
    assert!(reason.contains("the model failed") && reason.contains("out of order"), "{reason}");
    assert_eq!(stage.teammate("ana").epoch, 1, "its life goes on");
}

/// Both are in the middle of a turn until they are let go.
const BOTH: &str = r#"
as ana
on "write a"
  shell echo begun > a.txt
  hold ana
  shell echo a > a.txt
  tool TaskUpdate {"taskId":"1","status":"completed","result":"a is there"}
  say Done.
as bo
on "write b"
  shell echo begun > b.txt
  hold bo
  shell echo b > b.txt
  tool TaskUpdate {"taskId":"2","status":"completed","result":"b is there"}
  say Done.
"#;

/// Ana and bo, each held in the second step of its task.
fn both_at_work() -> (Stage, Server, [u32; 2]) {
    let (mut stage, server) = stage(BOTH, &["ana", "bo"]);
    let tasks = [task(&mut stage, "write a", "ana"), task(&mut stage, "write b", "bo")];
    held(&server, "ana", "begun > a.txt");
    held(&server, "bo", "begun > b.txt");
    (stage, server, tasks)
}

/// Waits until the model is asked by this teammate after this was done.
fn held(server: &Server, actor: &str, done: &str) {
    server.wait_for(|request| request.actor.as_deref() == Some(actor) && request.contains(done));
}

/// Waits until the model is asked by this teammate to go on after an interruption.
fn goes_on(server: &Server, actor: &str) {
    server.wait_for(|request| {
        request.actor.as_deref() == Some(actor) && request.contains("You were interrupted")
    });
}

fn let_go(server: &Server) {
    server.release("ana");
    server.release("bo");
}

fn no_leftovers(stage: &mut Stage) {
    let Answer::Leftovers(left) =
        stage.ask(Ask::Leftovers(verbs::Leftovers { remove: false, force: vec![] }))
    else {
        panic!()
    };
    let left: Vec<_> = left.iter().filter(|left| left.kind == "process").collect();
    assert!(left.is_empty(), "{left:?}");
}

/// What a life told the program, by method.
fn told(stage: &Stage, name: &str, epoch: u32) -> Vec<Value> {
    let lines = lines(stage.life(name, epoch).join("transcript.jsonl"));
    let told = lines.into_iter().map(|line| line["to"].clone());
    told.filter(|message| message["method"].is_string()).collect()
}

fn count(told: &[Value], method: &str) -> usize {
    told.iter().filter(|message| message["method"] == method).count()
}

fn thread(stage: &Stage, name: &str, epoch: u32) -> String {
    std::fs::read_to_string(stage.life(name, epoch).join("hand/session")).unwrap()
}

#[test]
fn two_teammates_have_a_program_each_and_hear_only_their_own_thread() {
    let (mut stage, server, tasks) = both_at_work();
    assert_ne!(program(&mut stage, "ana").pid, program(&mut stage, "bo").pid);
    no_leftovers(&mut stage);
    let threads = [thread(&stage, "ana", 1), thread(&stage, "bo", 1)];
    assert_ne!(threads[0], threads[1]);
    let (to, body) = ("bo".to_owned(), "use tabs in b".to_owned());
    stage.ask(Ask::Send(verbs::Send { to, body, kind: None, reply_to: None }));
    stage.event("message.injected");
    let_go(&server);
    stage.finished(2);
    // It was read in the running turn: there was no other.
    held(&server, "bo", "use tabs in b");
    assert_eq!(count(&told(&stage, "bo", 1), "turn/start"), 1);
    assert_eq!(count(&told(&stage, "bo", 1), "turn/steer"), 1);
    for (name, others) in [("ana", &threads[1]), ("bo", &threads[0])] {
        let text = std::fs::read_to_string(stage.life(name, 1).join("transcript.jsonl")).unwrap();
        assert!(!text.contains(others.as_str()), "{name} hears the other's thread");
    }
    stage.all_once(&tasks);
}

#[test]
fn a_program_that_is_killed_in_mid_turn_is_started_again_and_both_go_on() {
    let (mut stage, server, tasks) = both_at_work();
    let before = ["ana", "bo"].map(|name| program(&mut stage, name).pid);
    before.into_iter().for_each(kill);
    goes_on(&server, "ana");
    goes_on(&server, "bo");
    let after = ["ana", "bo"].map(|name| program(&mut stage, name).pid);
    assert!(before[0] != after[0] && before[1] != after[1], "{before:?} {after:?}");
    let_go(&server);
    stage.finished(2);
    for name in ["ana", "bo"] {
        assert_eq!(stage.teammate(name).epoch, 1, "its supervisor went on");
        let told = told(&stage, name, 1);
        assert_eq!((count(&told, "thread/start"), count(&told, "thread/resume")), (1, 1));
    }
    // Four calls of the model each were answered, of 110 tokens; two were cut off by the kill, and what
    // those took is an estimate and marked so.
    stage.catch_up();
    let used = stage.events("usage.recorded");
    let sum =
        |name: &str| -> u64 { used.iter().filter_map(|used| used["usage"][name].as_u64()).sum() };
    let estimated = sum("tokens_estimated");
    assert!(estimated > 0, "{}", stage.story());
    assert_eq!(sum("tokens_in") + sum("tokens_out") - estimated, 2 * 440, "{}", stage.story());
    let shown: u64 = ["ana", "bo"].map(|name| stage.teammate(name).tokens_estimated).iter().sum();
    assert_eq!(shown, estimated);
    stage.all_once(&tasks);
}

#[test]
fn a_supervisor_that_is_killed_has_its_turn_ended_and_the_next_life_resumes_it() {
    let (mut stage, server) = stage(BOTH, &["ana", "bo"]);
    let here = stage.root().join("here");
    // A command that goes on by itself when its turn is interrupted.
    let runs = format!("echo 1 ana 1 $$ runs > {}; exec sleep 600", here.display());
    server.replace_script(
        &BOTH.replace("hold ana\n  shell echo a > a.txt", &format!("shell {runs}")),
    );
    let tasks = [task(&mut stage, "write a", "ana"), task(&mut stage, "write b", "bo")];
    held(&server, "bo", "begun > b.txt");
    let command = watch(stage.arrival().pid).unwrap();
    let others = program(&mut stage, "bo").pid;
    let first = thread(&stage, "ana", 1);
    server.replace_script(BOTH);
    kill(stage.supervisor("ana"));
    gone(&command);
    server.release("ana");
    stage.finished(1);
    assert_eq!(stage.teammate("ana").epoch, 2);
    assert_eq!(thread(&stage, "ana", 2), first, "it is the same conversation");
    let told_next = told(&stage, "ana", 2);
    assert_eq!((count(&told_next, "thread/start"), count(&told_next, "thread/resume")), (0, 1));
    assert_eq!(program(&mut stage, "bo").pid, others, "the other's program went on");
    server.release("bo");
    stage.finished(2);
    let told_bo = told(&stage, "bo", 1);
    assert_eq!((stage.teammate("bo").epoch, count(&told_bo, "turn/start")), (1, 1));
    stage.all_once(&tasks);
}

#[test]
fn a_task_that_is_taken_away_ends_its_turn_and_the_thread_is_resumed() {
    let (mut stage, server, tasks) = both_at_work();
    let others = program(&mut stage, "bo").pid;
    let reason = "not now".to_owned();
    stage.ask(Ask::TaskRelease(verbs::TaskRelease {
        task: tasks[0].to_string(),
        token: None,
        reason,
    }));
    server.release("ana");
    stage.finished(1);
    assert_eq!(program(&mut stage, "bo").pid, others);
    let told_ana = told(&stage, "ana", 1);
    assert_eq!((count(&told_ana, "thread/start"), count(&told_ana, "thread/resume")), (1, 1));
    server.release("bo");
    stage.finished(2);
    stage.all_once(&tasks);
}

/// A program that answers each request with the lines of its method.
fn fake(answers: &[(&str, &str)]) -> String {
    let config = reply("{}");
    let more = [("config/read", config.as_str()), ("thread/inject_items", config.as_str())];
    let answers = [answers, &more].concat();
    let mut script = "#!/bin/sh\nwhile read -r line; do\n\
                      id=${line#*\\\"id\\\":}; id=${id%%,*}\n\
                      case $line in\n"
        .to_owned();
    for (method, lines) in answers {
        script.push_str(&format!("*'\"{method}\"'*) {lines} ;;\n"));
    }
    script.push_str("esac\ndone\n");
    script
}

fn reply(result: &str) -> String {
    format!("echo '{{\"id\":'$id',\"result\":{result}}}'")
}

/// Why the first life of ana came to its end.
fn ends_by(lines: &str) -> (Stage, String) {
    let mut stage = Stage::new("");
    install(&stage, lines);
    team(&mut stage, &["ana"]);
    task(&mut stage, "write a", "ana");
    let ended = stage.event("teammate.disappeared");
    let reason = ended["reason"].as_str().unwrap().to_owned();
    (stage, reason)
}

#[test]
fn a_program_that_exits_in_the_handshake_is_said_to_and_in_its_own_words() {
    let (_stage, reason) =
        ends_by("#!/bin/sh\necho \"error: no command app-server\" >&2\nexit 2\n");
    assert!(reason.contains("no command app-server"), "{reason}");
    assert!(reason.contains("exit code 2"), "{reason}");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &[]);
    let add = TeammateAdd {
        name: "ana".to_owned(),
        agent: "codex".to_owned(),
        when_needed: true,
        ..TeammateAdd::default()
    };
    let refused = stage.refusal(Ask::TeammateAdd(add));
    assert_eq!(refused.message, "codex is not installed: no codex in PATH");
}

#[test]
fn a_program_that_does_not_know_a_request_is_called_too_old() {
    let unknown =
        "echo '{\"id\":'$id',\"error\":{\"code\":-32600,\"message\":\"unknown variant\"}}'";
    let account = reply("{\"account\":null}");
    let (_stage, reason) = ends_by(&fake(&[
        ("initialize", &reply("{}")),
        ("account/read", &account),
        ("thread/start", unknown),
    ]));
    assert!(reason.contains("unknown variant") && reason.contains("too old"), "{reason}");
}

#[test]
fn a_program_without_an_account_is_said_to_be_logged_out() {
    let account = reply("{\"account\":null,\"requiresOpenaiAuth\":true}");
    let (_stage, reason) =
        ends_by(&fake(&[("initialize", &reply("{}")), ("account/read", &account)]));
    assert!(reason.contains("codex login"), "{reason}");
}

/// What a turn of the loud program begins with and ends with.
const LOUD: &str = r#"echo '{"id":'$id',"result":{"turn":{"id":"u'$id'"}}}'
yes 'this is no message' | head -n 20000
yes '{"method":"item/agentMessage/delta","params":{"threadId":"t","delta":"x"}}' | head -n 20000
yes '{"method":"item/started","params":{"threadId":"other","item":{}}}' | head -n 20000
echo '{"id":"q","method":"no/such","params":{"threadId":"t"}}'
printf '{"method":"turn/completed","params":{"threadId":"t",'
echo '"turn":{"id":"u'$id'","status":"completed"}}}'"#;

#[test]
fn garbage_and_a_flood_are_passed_over_and_the_task_is_done() {
    let mut stage = Stage::new("[agents]\noutput-bytes = 1000000\n");
    let thread = reply("{\"thread\":{\"id\":\"t\"}}");
    let lines = fake(&[
        ("initialize", &reply("{}")),
        ("account/read", &reply("{\"account\":null}")),
        ("thread/start", &thread),
        ("turn/start", LOUD),
    ]);
    install(&stage, &lines);
    team(&mut stage, &["ana"]);
    let (subject, assignee) = ("look at a".to_owned(), Some("ana".to_owned()));
    let look = TaskNew { subject, assignee, no_change: true, ..TaskNew::default() };
    let one = stage.create(vec![look])[0];
    stage.finished(1);
    let told = output(&stage, "ana", 1);
    assert_eq!(told.matches("what is no message").count(), 1, "{told}");
    assert_eq!(stage.events("task.completed").len(), 1, "{}", stage.story());
    assert_eq!(stage.task(one).row.status, TaskStatus::Completed);
    stage.nothing_left();
}

/// It starts a turn, and from then on hears nothing: no request, no end of input, no signal.
const DEAF: &str = r#"echo '{"id":'$id',"result":{"turn":{"id":"u1"}}}'
trap '' TERM INT HUP
echo "1 ana 1 $$ deaf" > HERE
while :; do sleep 600; done"#;

#[test]
fn a_program_that_ignores_everything_is_ended_all_the_same() {
    let mut stage = Stage::new("[agents]\nstop-grace-seconds = 1\n");
    let here = stage.root().join("here").display().to_string();
    let thread = reply("{\"thread\":{\"id\":\"t\"}}");
    let lines = fake(&[
        ("initialize", &reply("{}")),
        ("account/read", &reply("{\"account\":null}")),
        ("thread/start", &thread),
        ("turn/start", &DEAF.replace("HERE", &here)),
    ]);
    install(&stage, &lines);
    team(&mut stage, &["ana"]);
    task(&mut stage, "write a", "ana");
    let deaf = watch(stage.arrival().pid).unwrap();
    let (name, reason) = (Some("ana".to_owned()), "enough".to_owned());
    stage.ask(Ask::Shutdown(verbs::Shutdown { name, reason, deadline_ms: 100 }));
    gone(&deaf);
    stage.nothing_left();
}
