//! Clients that send without end or do not read: the coordinator stays small and answers others.

use std::io::{ErrorKind, Read, Write};
use std::ops::ControlFlow;

use serde_json::{Value, json};
use shipmate_protocol::client::TokenSource;
use shipmate_protocol::verbs::{TaskFilter, TaskNew};
use shipmate_protocol::{Answer, Ask, Client, answers, verbs};

use super::{Raw, Workspace, refusal};

/// What the coordinator may take at most, in kB: 100 MB, and a fifth more for a build with debug
/// assertions on a machine that is slow to give memory back.
const MEMORY_MAX: u64 = 120 * 1024;
/// Connections of one flood.
const MANY: usize = 60;

impl Workspace {
    /// The most that the coordinator has ever taken, in kB.
    fn most_memory(&self) -> u64 {
        let status = format!("/proc/{}/status", self.pid().unwrap());
        let status = std::fs::read_to_string(status).unwrap();
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        most.trim().strip_suffix(" kB").unwrap().parse().unwrap()
    }

    /// Connections of whoever has this token, each a client of its own.
    fn connections(&self, count: usize, token: &str) -> Vec<Raw> {
        let one = |n| {
            let mut raw = self.connect();
            raw.hello(&format!("flood-{n}"), token);
            raw
        };
        (0..count).map(one).collect()
    }

    /// Everybody else is answered, and the coordinator has stayed small.
    #[track_caller]
    fn is_well(&self, bystander: &str) {
        let bystander = TokenSource::Given(bystander.to_owned());
        for mut client in [self.client(bystander), self.person()] {
            assert!(matches!(client.ask(Ask::Status).unwrap(), Answer::Status(_)));
            let filter = TaskFilter::default();
            assert!(matches!(
                client.ask(Ask::Tasks(verbs::Tasks { filter })).unwrap(),
                Answer::Tasks(_)
            ));
        }
        let most = self.most_memory();
        assert!(most < MEMORY_MAX, "the coordinator has taken {most} kB");
    }
}

impl Raw {
    /// Writes as much as is taken.
    fn push(&mut self, bytes: &[u8]) {
        drop(self.0.get_mut().write_all(bytes));
    }

    /// The last line it was sent, if it was hung up on.
    fn end(&mut self) -> Option<Value> {
        self.0.get_ref().set_nonblocking(true).unwrap();
        let mut text = Vec::new();
        match self.0.read_to_end(&mut text) {
            Err(e) if e.kind() == ErrorKind::WouldBlock => None,
            _ => {
                let last = text.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty());
                Some(serde_json::from_slice(last.unwrap_or(b"null")).unwrap_or_default())
            }
        }
    }
}

/// Tasks with long descriptions, so that there is a lot to read.
fn fill(person: &mut Client, count: usize) {
    let description = "x".repeat(2000);
    for n in (0..count).step_by(500) {
        let task = |n| TaskNew {
            subject: format!("task {n} {}", "y".repeat(480)),
            description: description.clone(),
            ..TaskNew::default()
        };
        person
            .ask(Ask::TaskCreate(verbs::TaskCreate { tasks: (n..n + 500).map(task).collect() }))
            .unwrap();
    }
}

#[test]
fn lines_that_never_end_take_no_memory() {
    let workspace = Workspace::new("");
    let (_, tokens) = workspace.team(&["ana", "bo"]);
    let half = vec![b' '; 3 << 20];
    let mut ana = workspace.connections(MANY, &tokens[0]);
    ana.iter_mut().for_each(|raw| raw.push(&half));
    let longer = vec![b' '; 15 << 20];
    let mut person = workspace.connections(MANY, &workspace.person_token());
    person.iter_mut().for_each(|raw| raw.push(&longer));
    workspace.is_well(&tokens[1]);
    for flood in [&mut ana, &mut person] {
        let ends: Vec<Value> = flood.iter_mut().filter_map(Raw::end).collect();
        assert!((MANY - 5..MANY).contains(&ends.len()), "{} were cut off", ends.len());
        let told = ends.iter().filter(|end| end["refused"]["refused"]["code"] == "TooMuchKept");
        assert_eq!(told.count(), ends.len(), "each was told why: {ends:?}");
    }
}

#[test]
fn a_line_of_nothing_but_braces_takes_no_memory() {
    let workspace = Workspace::new("");
    let (_, tokens) = workspace.team(&["ana", "bo"]);
    let tasks = vec!["{\"subject\":\"\"}"; 200_000].join(",");
    let line = format!("{{\"id\":1,\"ask\":{{\"task_create\":{{\"tasks\":[{tasks}]}}}}}}\n");
    for token in [&tokens[0], &workspace.person_token()] {
        let mut raw = workspace.connections(1, token).remove(0);
        raw.push(line.as_bytes());
        assert_eq!(raw.hear()["refused"]["refused"]["code"], "TooLong");
    }
    workspace.is_well(&tokens[1]);
}

/// What is bounded is what nobody needs: the largest plan goes through in one request.
#[test]
fn a_large_request_and_a_large_answer_are_not_too_much() {
    let workspace = Workspace::new("durability = \"process\"\n");
    let (mut person, tokens) = workspace.team(&["ana"]);
    let task = |n| TaskNew {
        subject: format!("task {n}"),
        description: "x".repeat(1200),
        ..TaskNew::default()
    };
    let tasks = (0..10_000).map(task).collect();
    let Answer::Created(answers::Created { tasks }) =
        person.ask(Ask::TaskCreate(verbs::TaskCreate { tasks })).unwrap()
    else {
        panic!()
    };
    assert_eq!(tasks.len(), 10_000);
    let mut ana = workspace.client(TokenSource::Given(tokens[0].clone()));
    let tasks = ana.ask(Ask::Tasks(verbs::Tasks { filter: TaskFilter::default() })).unwrap();
    assert!(matches!(tasks, Answer::Tasks(rows) if rows.len() == 10_000));
}

#[test]
fn a_line_that_is_too_long_is_refused_to_a_client_that_is_still_writing_it() {
    let workspace = Workspace::new("");
    let (mut person, tokens) = workspace.team(&["ana"]);
    let mut ana = workspace.client(TokenSource::Given(tokens[0].clone()));
    for (client, mib) in [(&mut ana, 5), (&mut person, 17)] {
        let (to, body) = ("person".to_owned(), "x".repeat(mib << 20));
        let refused =
            refusal(client.ask(Ask::Send(verbs::Send { to, body, kind: None, reply_to: None })));
        assert_eq!(refused.code.as_str(), "TooLong");
        assert!(matches!(client.ask(Ask::Status).unwrap(), Answer::Status(_)), "it goes on");
    }
}

#[test]
fn answers_that_nobody_reads_take_no_memory() {
    let workspace = Workspace::new("durability = \"process\"\n");
    let (mut person, tokens) = workspace.team(&["ana", "bo"]);
    fill(&mut person, 1000);
    let mut floods = Vec::new();
    for token in [&tokens[0], &workspace.person_token()] {
        let mut flood = workspace.connections(MANY, token);
        for raw in &mut flood {
            let tasks = json!({ "tasks": { "filter": {} } });
            for (n, ask) in [tasks.clone(), json!({ "follow": { "after": 0 } }), tasks]
                .into_iter()
                .cycle()
                .take(12)
                .enumerate()
            {
                raw.push(format!("{}\n", json!({ "id": n + 1, "ask": ask })).as_bytes());
            }
        }
        floods.push(flood);
        workspace.is_well(&tokens[1]);
    }
}

#[test]
fn a_follower_that_does_not_read_holds_nothing_and_misses_nothing_when_it_does() {
    let workspace = Workspace::new("durability = \"process\"\n");
    let (mut person, tokens) = workspace.team(&["ana", "bo"]);
    let mut ana = workspace.connections(MANY, &tokens[0]);
    for raw in &mut ana {
        raw.say(&json!({ "id": 1, "ask": { "follow": { "after": 0 } } }));
    }
    let mut last = workspace.client(TokenSource::Given(tokens[0].clone()));
    let (begun, begins) = std::sync::mpsc::channel();
    let (go, goes) = std::sync::mpsc::channel();
    let end = 1500;
    let reading = std::thread::spawn(move || {
        let mut seen = 0;
        let each = |record: &str| {
            let record: Value = serde_json::from_str(record).unwrap();
            seen += 1;
            assert_eq!(record["n"], seen);
            if seen == 1 {
                begun.send(()).unwrap();
                goes.recv().unwrap();
            }
            if seen < end { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        last.follow(0, each).unwrap();
    });
    begins.recv().unwrap();
    fill(&mut person, 1500);
    workspace.is_well(&tokens[1]);
    go.send(()).unwrap();
    reading.join().unwrap();
    // Nobody was cut off for being slow: each is sent the next page when it has read this one.
    for raw in &mut ana[..3] {
        let heard = std::iter::from_fn(|| Some(raw.hear()));
        let records =
            heard.map(|line| line["notice"]["records"]["records"].as_array().map_or(0, Vec::len));
        let mut seen = 0;
        let whole = records.take(1000).find(|more| {
            seen += more;
            seen >= end
        });
        assert!(whole.is_some(), "{seen} records");
    }
}

#[test]
fn who_does_not_say_hello_gives_way_to_who_does() {
    let workspace = Workspace::new("");
    let (_, tokens) = workspace.team(&["bo"]);
    let mut silent: Vec<Raw> = (0..300).map(|_| workspace.connect()).collect();
    workspace.is_well(&tokens[0]);
    let gone = silent.iter_mut().filter_map(Raw::end).count();
    assert!((44..100).contains(&gone), "{gone} gave way");
    assert!(silent[0].end().is_some() && silent[299].end().is_none(), "the oldest first");
}

#[test]
fn a_teammate_has_so_many_connections_and_each_waits_for_so_much() {
    let workspace = Workspace::new("");
    let (_, tokens) = workspace.team(&["ana", "bo"]);
    let mut ana = workspace.connections(1, &tokens[0]).remove(0);
    for id in 1..=65 {
        ana.say(&json!({ "id": id, "ask": { "inbox_read": { "max": 1, "wait": true } } }));
    }
    let heard = ana.hear();
    assert_eq!(heard["refused"]["refused"]["code"], "TooManyWait");
    assert_eq!(heard["refused"]["id"], 65);
    let held = workspace.connections(639, &tokens[0]);
    let refused = workspace.connect().hello("one-more", &tokens[0]);
    assert_eq!(refused["refused"]["refused"]["code"], "TooManyConnections");
    workspace.is_well(&tokens[1]);
    drop(held);
}
