//! The coordinator as a process: one per workspace, killed at will, lied to, left idle.
//!
//! Everything here runs the real binary. A workspace ends its coordinator when it is
//! dropped, whatever happened to the test.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "coordinator/floods.rs"]
mod floods;
#[path = "../../shipmate-log/tests/support/nats.rs"]
mod nats;
#[path = "coordinator/owners.rs"]
mod owners;
#[path = "coordinator/paths.rs"]
mod paths;
#[path = "../../shipmate-log/tests/support/temp.rs"]
mod temp;
#[path = "coordinator/vanishing.rs"]
mod vanishing;
#[path = "coordinator/watch.rs"]
mod watch;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use shipmate_protocol::client::{Launch, TokenSource};
use shipmate_protocol::socket::Patience;
use shipmate_protocol::verbs::{Supervision, TaskNew, TeamCreate, TeammateAdd};
use shipmate_protocol::{Answer, Ask, Client, ClientFailure, Place, Refused, answers, verbs};
use temp::TempDir;

const SHIPMATE: &str = env!("CARGO_BIN_EXE_shipmate");

struct Workspace {
    folder: TempDir,
}

impl Workspace {
    fn new(config: &str) -> Workspace {
        let workspace = Workspace { folder: TempDir::new() };
        std::fs::create_dir_all(workspace.place().project()).unwrap();
        std::fs::write(workspace.place().config(), config).unwrap();
        workspace
    }

    fn place(&self) -> Place {
        Place { workspace: self.path() }
    }

    fn path(&self) -> PathBuf {
        self.folder.join("").canonicalize().unwrap()
    }

    fn client(&self, token: TokenSource) -> Client {
        let args = ["--workspace".into(), self.path().into(), "coordinator".into(), "run".into()];
        let launch = Launch::Program { program: SHIPMATE.into(), args: args.to_vec() };
        let mut client = Client::new(self.place(), launch, token);
        // Only a test that fails waits so long.
        let give_up_after = Duration::from_secs(600);
        client.patience = Patience { give_up_after, ..Patience::default() };
        client
    }

    fn person(&self) -> Client {
        self.client(TokenSource::Person)
    }

    /// A running team `alpha` and its teammates, each with its token.
    fn team(&self, names: &[&str]) -> (Client, Vec<String>) {
        let mut person = self.person();
        let create = TeamCreate { name: "alpha".to_owned(), ..TeamCreate::default() };
        ask(&mut person, Ask::TeamCreate(create)).unwrap();
        let tokens = names.iter().map(|name| {
            let add = TeammateAdd { name: (*name).to_owned(), ..TeammateAdd::default() };
            ask(&mut person, Ask::TeammateAdd(add)).unwrap();
            start(&mut person, name)
        });
        let tokens = tokens.collect();
        (person, tokens)
    }

    fn pid(&self) -> Option<u32> {
        std::fs::read_to_string(self.place().lock()).ok()?.trim().parse().ok()
    }

    fn kill(&self) {
        let pid = Pid::from_raw(self.pid().unwrap() as i32).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
    }

    fn connect(&self) -> Raw {
        Raw(BufReader::new(UnixStream::connect(self.place().socket()).unwrap()))
    }

    fn person_token(&self) -> String {
        std::fs::read_to_string(self.place().person_token()).unwrap()
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let stop = ["coordinator", "stop"];
        let _ =
            Command::new(SHIPMATE).arg("--workspace").arg(self.folder.join("")).args(stop).output();
    }
}

/// A connection without the client's manners.
struct Raw(BufReader<UnixStream>);

impl Raw {
    fn say(&mut self, line: &Value) {
        self.0.get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or(Value::Null)
    }

    fn hello(&mut self, client: &str, token: &str) -> Value {
        let protocol = shipmate_protocol::PROTOCOL;
        let hello = json!({"protocol": protocol, "version": "0", "client": client, "token": token});
        self.say(&hello);
        self.hear()
    }
}

/// Asks again while the log does not answer: a server that stands still does so later.
fn ask(client: &mut Client, ask: Ask) -> Result<Answer, ClientFailure> {
    loop {
        match client.ask(ask.clone()) {
            Err(ClientFailure::Refused(refused)) if refused.code.as_str() == "LogUnavailable" => {}
            answer => return answer,
        }
    }
}

fn start(person: &mut Client, name: &str) -> String {
    let start = Ask::TeammateStart(verbs::TeammateStart {
        name: name.to_owned(),
        supervision: Supervision::None,
    });
    match ask(person, start).unwrap() {
        Answer::Started(answers::Started { token, .. }) => token,
        other => panic!("{other:?}"),
    }
}

fn create(person: &mut Client, count: usize) {
    let task = |n| TaskNew { subject: format!("task {n}"), ..TaskNew::default() };
    ask(person, Ask::TaskCreate(verbs::TaskCreate { tasks: (0..count).map(task).collect() }))
        .unwrap();
}

fn next(client: &mut Client) -> Result<Answer, ClientFailure> {
    ask(client, Ask::TaskNext(verbs::TaskNext { lease_ms: None, wait: false }))
}

fn refusal(failure: Result<Answer, ClientFailure>) -> Refused {
    match failure {
        Err(ClientFailure::Refused(refused)) => refused,
        other => panic!("expected a refusal: {other:?}"),
    }
}

fn records(person: &mut Client) -> Vec<Value> {
    match ask(person, Ask::Log(verbs::Log { after: 0, max: 10_000 })).unwrap() {
        Answer::Log(lines) => {
            lines.iter().map(|line| serde_json::from_str(line.get()).unwrap()).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn count(records: &[Value], event: &str) -> usize {
    records.iter().filter(|record| record["event"].get(event).is_some()).count()
}

#[test]
fn of_many_that_start_at_once_one_coordinator_serves_all() {
    let workspace = Arc::new(Workspace::new(""));
    let barrier = Arc::new(Barrier::new(8));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (workspace, barrier) = (Arc::clone(&workspace), Arc::clone(&barrier));
            std::thread::spawn(move || {
                barrier.wait();
                workspace.person().welcome().unwrap().pid
            })
        })
        .collect();
    let mut pids: Vec<u32> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    pids.dedup();
    assert_eq!(pids, [workspace.pid().unwrap()]);
}

#[test]
fn tasks_that_many_processes_create_at_once_have_a_number_each() {
    let workspace = Workspace::new("");
    let (mut person, _) = workspace.team(&[]);
    let processes: Vec<_> = (0..8)
        .map(|n| {
            let mut command = Command::new(SHIPMATE);
            command.arg("--workspace").arg(workspace.path());
            command.args(["task", "create", &format!("task {n}")]);
            command.stdout(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    let Answer::Tasks(tasks) =
        person.ask(Ask::Tasks(verbs::Tasks { filter: Default::default() })).unwrap()
    else {
        panic!()
    };
    let mut ids: Vec<u32> = tasks.iter().map(|task| task.id).collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=8).collect::<Vec<u32>>());
    let mut subjects: Vec<&str> = tasks.iter().map(|task| task.subject.as_str()).collect();
    subjects.sort_unstable();
    subjects.dedup();
    assert_eq!(subjects.len(), 8, "none has taken the place of another");
}

#[test]
fn a_killed_coordinator_is_replaced_and_nothing_acknowledged_is_missing() {
    let workspace = Workspace::new("");
    let (mut person, tokens) = workspace.team(&["ana"]);
    create(&mut person, 30);
    let mut ana = workspace.client(TokenSource::Given(tokens[0].clone()));
    for expected in 1..=30 {
        let Answer::Claimed(answers::Claimed { task, token }) = next(&mut ana).unwrap() else {
            panic!()
        };
        assert_eq!(task.row.id, expected);
        if expected % 3 == 0 {
            workspace.kill();
        }
        let (task, token) = (expected.to_string(), Some(token));
        ana.ask(Ask::TaskComplete(verbs::TaskComplete {
            task,
            token,
            commit: None,
            result: String::new(),
        }))
        .unwrap();
    }
    let log = records(&mut person);
    assert_eq!(count(&log, "task.claimed"), 30);
    assert_eq!(count(&log, "task.completed"), 30);
}

#[test]
fn a_request_whose_answer_was_lost_is_carried_out_once() {
    let workspace = Workspace::new("");
    let (mut person, _) = workspace.team(&[]);
    let token = workspace.person_token();
    let ask = json!({"id": 1, "ask": {"task_create": {"tasks": [{"subject": "once"}]}}});
    let mut lossy = workspace.connect();
    lossy.hello("lossy", &token);
    lossy.say(&ask);
    let first = lossy.hear();
    workspace.kill();
    drop(lossy);
    // Whoever asks next starts the successor; then the same request comes again.
    person.ask(Ask::Status).unwrap();
    let mut again = workspace.connect();
    again.hello("lossy", &token);
    again.say(&ask);
    assert_eq!(again.hear(), first);
    assert_eq!(count(&records(&mut person), "task.created"), 1);
    again.say(&json!({"id": 0, "ask": {"task_create": {"tasks": [{"subject": "older"}]}}}));
    assert_eq!(again.hear()["refused"]["refused"]["code"], "StaleRequest");
}

#[test]
fn a_teammate_acts_only_as_itself_and_only_in_its_present_life() {
    let workspace = Workspace::new("");
    let (mut person, tokens) = workspace.team(&["ana", "bo"]);
    create(&mut person, 2);
    let mut ana = workspace.client(TokenSource::Given(tokens[0].clone()));
    assert_eq!(ana.welcome().unwrap().actor, "alpha/ana@1");
    let Answer::Claimed(answers::Claimed { token, .. }) = next(&mut ana).unwrap() else { panic!() };

    let mut bo = workspace.client(TokenSource::Given(tokens[1].clone()));
    let stolen = Ask::TaskComplete(verbs::TaskComplete {
        task: "1".to_owned(),
        token: Some(token),
        commit: None,
        result: String::new(),
    });
    assert_eq!(refusal(bo.ask(stolen.clone())).code.as_str(), "AlreadyClaimed");
    let teammate = TeammateAdd { name: "cy".to_owned(), ..TeammateAdd::default() };
    assert_eq!(refusal(bo.ask(Ask::TeammateAdd(teammate))).code.as_str(), "NotAllowed");

    let forged = tokens[0].replace("ana", "bo");
    let mut forger = workspace.client(TokenSource::Given(forged));
    assert_eq!(refusal(forger.ask(Ask::Status)).code.as_str(), "BadToken");

    let shutdown = Ask::Shutdown(verbs::Shutdown {
        name: Some("ana".to_owned()),
        reason: "".to_owned(),
        deadline_ms: 1,
    });
    person.ask(shutdown).unwrap();
    // The deadline passes, the life ends, the next begins.
    person.ask(Ask::InboxRead(verbs::InboxRead { max: 10, wait: false })).unwrap();
    let life_ends = |record: &str| record.contains("teammate.stopped");
    let flow = |record: &str| match life_ends(record) {
        true => std::ops::ControlFlow::Break(()),
        false => std::ops::ControlFlow::Continue(()),
    };
    person.follow(0, flow).unwrap();
    start(&mut person, "ana");
    let refused = refusal(ana.ask(stolen));
    assert!(["StaleTeammate", "StaleClaim"].contains(&refused.code.as_str()), "{refused:?}");
    let mut old = workspace.client(TokenSource::Given(tokens[0].clone()));
    assert_eq!(refusal(old.ask(Ask::Status)).code.as_str(), "StaleTeammate");
}

#[test]
fn a_waiting_reader_hears_of_mail_and_a_waiting_claimer_of_work() {
    let workspace = Workspace::new("");
    let (mut person, tokens) = workspace.team(&["ana", "bo"]);
    let mut ana = workspace.client(TokenSource::Given(tokens[0].clone()));
    let mut bo = workspace.client(TokenSource::Given(tokens[1].clone()));
    let claimer = std::thread::spawn(move || {
        ana.ask(Ask::TaskNext(verbs::TaskNext { lease_ms: None, wait: true }))
    });
    let reader = std::thread::spawn(move || {
        bo.ask(Ask::InboxRead(verbs::InboxRead { max: 10, wait: true }))
    });
    create(&mut person, 1);
    let (to, body) = ("bo".to_owned(), "hello".to_owned());
    person.ask(Ask::Send(verbs::Send { to, body, kind: None, reply_to: None })).unwrap();
    let Answer::Claimed(claimed) = claimer.join().unwrap().unwrap() else { panic!("a claim") };
    assert_eq!(claimed.task.row.id, 1);
    assert!(
        matches!(reader.join().unwrap().unwrap(), Answer::Messages(mail) if mail[0].body == "hello")
    );
}

#[test]
fn what_is_not_a_request_is_refused_and_changes_nothing() {
    let workspace = Workspace::new("");
    let (mut person, _) = workspace.team(&[]);
    let before = records(&mut person).len();
    let token = workspace.person_token();

    let mut other = workspace.connect();
    other.say(&json!({"protocol": 99, "version": "9.9.9", "client": "x", "token": token}));
    let refused = &other.hear()["refused"]["refused"];
    assert_eq!(refused["code"], "Version");
    assert!(refused["message"].as_str().unwrap().contains("9.9.9"), "{refused}");

    let mut half = workspace.connect();
    half.hello("half", &token);
    half.0.get_mut().write_all(b"{\"id\":1,\"ask\":{\"task_create\":").unwrap();
    drop(half);

    let mut wrong = workspace.connect();
    wrong.hello("wrong", &token);
    wrong.say(&json!({"id": 1, "ask": {"fly": {}}}));
    assert_eq!(wrong.hear()["refused"]["refused"]["code"], "BadRequest");

    // A gigabyte of garbage, offered; the coordinator hangs up long before.
    for greeting in [false, true] {
        let mut flood = workspace.connect();
        if greeting {
            flood.hello("flood", &token);
        }
        let garbage = vec![b'x'; 1 << 20];
        let sent = (0..1024).take_while(|_| flood.0.get_mut().write_all(&garbage).is_ok()).count();
        assert!(sent < 64, "{sent} MiB were taken");
        let mut rest = Vec::new();
        let _ = flood.0.read_to_end(&mut rest);
    }
    assert_eq!(records(&mut person).len(), before);
}

#[test]
fn the_state_is_its_owners_alone() {
    let workspace = Workspace::new("");
    workspace.team(&["ana"]);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&workspace.place().state()), 0o700);
    assert_eq!(mode(&workspace.place().socket()), 0o600);
    assert_eq!(mode(&workspace.place().person_token()), 0o600);
    let log = std::fs::read(workspace.place().teams().join("alpha/log.db")).unwrap();
    let wal = std::fs::read(workspace.place().teams().join("alpha/log.db-wal")).unwrap();
    let secret = workspace.person_token();
    for file in [log, wal] {
        assert!(!file.windows(secret.len()).any(|at| at == secret.as_bytes()));
    }
}

#[test]
fn an_idle_coordinator_ends_and_leaves_no_socket() {
    let workspace = Workspace::new("idle-exit-seconds = 1\n");
    let pid = workspace.person().welcome().unwrap().pid;
    // The lock is free when the process has ended; waiting for it needs no clock.
    let lock = std::fs::File::open(workspace.place().lock()).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    drop(lock);
    assert!(!workspace.place().socket().exists());
    assert_ne!(workspace.person().welcome().unwrap().pid, pid);
}

#[test]
fn a_follower_misses_and_repeats_nothing_across_a_restart() {
    let workspace = Workspace::new("");
    let (mut person, _) = workspace.team(&[]);
    let mut follower = workspace.person();
    let (tell, told) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let mut seen = Vec::new();
        follower
            .follow(0, |record| {
                let record: Value = serde_json::from_str(record).unwrap();
                seen.push(record["n"].as_u64().unwrap());
                tell.send(()).unwrap();
                if seen.len() == 11 {
                    std::ops::ControlFlow::Break(())
                } else {
                    std::ops::ControlFlow::Continue(())
                }
            })
            .unwrap();
        seen
    });
    for n in 0..10 {
        told.recv().unwrap();
        if n % 4 == 3 {
            workspace.kill();
        }
        create(&mut person, 1);
    }
    assert_eq!(thread.join().unwrap(), (1..=11).collect::<Vec<u64>>());
}

#[test]
fn a_refused_team_leaves_nothing_and_a_deleted_one_its_log() {
    let workspace = Workspace::new("");
    let mut person = workspace.person();
    let bad = TeamCreate {
        name: "beta".to_owned(),
        lead: Some("person".to_owned()),
        ..TeamCreate::default()
    };
    assert_eq!(refusal(person.ask(Ask::TeamCreate(bad))).code.as_str(), "BadName");
    assert_eq!(refusal(person.ask(Ask::Status)).code.as_str(), "NoTeam");
    workspace.team(&["ana"]);
    person
        .ask(Ask::TeamDelete(verbs::TeamDelete {
            team: None,
            reason: "done".to_owned(),
            deadline_ms: 0,
            now: true,
        }))
        .unwrap();
    person.team = Some("alpha".to_owned());
    person.ask(Ask::TeamEnd).unwrap();
    person.team = None;
    assert_eq!(refusal(person.ask(Ask::Status)).code.as_str(), "NoTeam");
    assert!(workspace.place().state().join("deleted/alpha-1/log.db").exists());
    workspace.team(&["ana"]);
}

/// Two workspaces stand for two machines: each has its own coordinator, one log.
#[test]
fn two_coordinators_share_a_team_on_a_nats_server() {
    let server = nats::Server::start();
    let config = format!("log = \"nats\"\n[nats]\nurl = \"{}\"\n", server.url());
    let (here, there) = (Workspace::new(&config), Workspace::new(&config));
    let (mut person, tokens) = here.team(&["ana", "bo"]);
    let mut far = there.person();
    far.team = Some("alpha".to_owned());
    // Both number tasks at the same time.
    let creating = std::thread::spawn(move || {
        (0..30).for_each(|_| create(&mut far, 1));
        far
    });
    (0..30).for_each(|_| create(&mut person, 1));
    let (mut tell, mut far) = (Vec::new(), creating.join().unwrap());
    let tasks = ask(&mut far, Ask::Tasks(verbs::Tasks { filter: Default::default() })).unwrap();
    let Answer::Tasks(tasks) = tasks else { panic!() };
    assert_eq!(tasks.len(), 60);
    for (workspace, token) in [(&here, &tokens[0]), (&there, &tokens[1])] {
        let mut worker = workspace.client(TokenSource::Given(token.clone()));
        tell.push(std::thread::spawn(move || {
            let mut done = Vec::new();
            while let Ok(Answer::Claimed(answers::Claimed { task, token })) = next(&mut worker) {
                let (id, token) = (task.row.id, Some(token));
                let result = String::new();
                let task = id.to_string();
                let complete =
                    Ask::TaskComplete(verbs::TaskComplete { task, token, commit: None, result });
                ask(&mut worker, complete).unwrap();
                done.push(id);
            }
            done
        }));
    }
    let mut done: Vec<u32> = tell.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    done.sort_unstable();
    assert_eq!(done, (1..=60).collect::<Vec<u32>>());
    let log = records(&mut person);
    assert_eq!(count(&log, "task.claimed"), 60);
    assert_eq!(count(&log, "task.completed"), 60);
}
