//! After a run: what must hold, looked up where it cannot lie.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;
use shipmate_protocol::client::TokenSource;
use shipmate_protocol::verbs;
use shipmate_testkit::processes;

use crate::fleet::{Fleet, GATE, HOSTS, Host, START_UNLESS_CLOSED};
use crate::hands::Acknowledged;
use crate::{EACH, LIMIT};

/// No task ever has two holders, and whatever is said for a task is said by its holder: judged by tokens,
/// each of which is the number of the record that gave it out. How many claims there were.
pub(crate) fn one_holder_at_a_time(log: &[Value]) -> usize {
    let story = |task: u64| -> String {
        let of_task = log.iter().filter(|record| {
            let event = record["event"].as_object().unwrap().values().next().unwrap();
            event["task"].as_u64() == Some(task)
        });
        of_task.map(|record| format!("\n{record}")).collect()
    };
    let mut held: BTreeMap<u64, u64> = BTreeMap::new();
    // What came back from its gate is still its holder's, and nobody else takes it.
    let mut returned: BTreeMap<u64, String> = BTreeMap::new();
    let address = |record: &Value| {
        let by = record["by"].as_str().unwrap_or_default();
        by.split('@').next().unwrap_or_default().to_owned()
    };
    let mut holders: BTreeMap<u64, String> = BTreeMap::new();
    let mut over: BTreeSet<u64> = BTreeSet::new();
    let mut claims = 0;
    for record in log {
        let n = record["n"].as_u64().unwrap();
        let (name, event) = record["event"].as_object().unwrap().iter().next().unwrap();
        let Some(task) = event["task"].as_u64() else { continue };
        let token = event["token"].as_u64();
        match name.as_str() {
            "task.claimed" => {
                claims += 1;
                assert!(
                    !over.contains(&task),
                    "{n}: task {task} is claimed after its completion{}",
                    story(task)
                );
                let by = address(record);
                let is_theirs = returned.remove(&task).is_some_and(|holder| holder == by);
                let before = held.insert(task, n);
                assert!(
                    before.is_none() || is_theirs,
                    "{n}: task {task} has two holders{}",
                    story(task)
                );
                holders.insert(task, by);
            }
            "task.submitted" | "task.renewed" => {
                assert_eq!(token, held.get(&task).copied(), "{n}: {name} of task {task}");
            }
            "task.returned" => {
                assert_eq!(token, held.get(&task).copied(), "{n}: {name} of task {task}");
                returned.insert(task, holders[&task].clone());
            }
            "task.released" | "task.failed" | "task.completed" => {
                returned.remove(&task);
                assert_eq!(token, held.remove(&task), "{n}: {name} of task {task}");
                if name == "task.completed" {
                    assert!(over.insert(task), "{n}: task {task} is completed twice");
                }
            }
            "task.work_set_aside" => {
                assert_ne!(token, held.get(&task).copied(), "{n}: {name} of task {task}");
            }
            _ => {}
        }
    }
    claims
}

/// The log to its end: numbers follow each other, and every machine has the same records.
pub(crate) fn same_everywhere(fleet: &Fleet, team: &'static str) -> Vec<Value> {
    let mut person = fleet.home().client(team, TokenSource::Person);
    let end = fleet.home().insist(&mut person, verbs::Status).unwrap().position;
    let mut logs = fleet.hosts.iter().map(|host| whole(fleet, host, team, end));
    let first = logs.next().unwrap();
    for (n, record) in first.iter().enumerate() {
        assert_eq!(record["n"].as_u64(), Some(n as u64 + 1), "{team}: a record is missing");
    }
    for (log, host) in logs.zip(&fleet.hosts[1..]) {
        assert!(log == first, "{team}: the log of {} is another", host.name);
    }
    first
}

fn whole(fleet: &Fleet, host: &Host, team: &'static str, end: u64) -> Vec<Value> {
    let mut story = fleet.follow(host, team);
    while story.log.last().is_none_or(|record| record["n"].as_u64().unwrap() < end) {
        let record = story.news.recv_timeout(LIMIT).expect("the log has all that it had before");
        story.log.push(record);
    }
    story.log.truncate(end as usize);
    story.log
}

fn events<'a>(log: &'a [Value], name: &'a str) -> impl Iterator<Item = &'a Value> {
    log.iter().filter_map(move |record| record["event"].get(name))
}

pub(crate) fn count(log: &[Value], name: &str) -> usize {
    events(log, name).count()
}

/// Every task that somebody was told of is there, and every one that somebody wanted is there once.
pub(crate) fn are_created(log: &[Value], told: &[u32]) {
    let ids: BTreeSet<u64> =
        events(log, "task.created").map(|event| event["task"].as_u64().unwrap()).collect();
    for id in told {
        assert!(ids.contains(&u64::from(*id)), "task {id} was acknowledged, and there is none");
    }
}

/// Whatever a client was told is done is in the log, where it was told.
pub(crate) fn nothing_acknowledged_is_lost(log: &[Value], done: &[Acknowledged]) {
    for told in done {
        let Acknowledged { task, event, token, at } = *told;
        let record = log.get(at as usize - 1);
        let record = record.unwrap_or_else(|| panic!("{told:?}: there is no such record"));
        let found = &record["event"][event];
        assert_eq!(found["task"], task, "{told:?}: {record}");
        if event != "task.claimed" {
            assert_eq!(found["token"], token, "{told:?}: {record}");
        }
    }
}

/// Every change is on the branch exactly once, and the gate is green at its tip.
pub(crate) fn landed_once(fleet: &Fleet, log: &[Value]) {
    let home = fleet.home();
    let wanted = HOSTS.iter().flat_map(|host| (0..EACH).map(move |n| format!("{host}-{n}")));
    let subjects: BTreeSet<String> = wanted.collect();
    let by_id: BTreeMap<String, String> = events(log, "task.created")
        .map(|event| {
            let subject = event["spec"]["subject"].as_str().unwrap();
            (event["task"].to_string(), subject.to_owned())
        })
        .collect();
    assert_eq!(by_id.values().cloned().collect::<BTreeSet<_>>(), subjects);
    assert_eq!(by_id.len(), subjects.len(), "a task was created twice");
    let range = format!("{}..shipmate/alpha", fleet.base);
    let said = home.git(&["log", "--format=%(trailers:key=Shipmate-Task,valueonly)", &range]);
    let mut merged: Vec<&str> = said.lines().filter(|line| !line.is_empty()).collect();
    merged.sort_unstable();
    let mut expected: Vec<&str> = by_id.keys().map(String::as_str).collect();
    expected.sort_unstable();
    let graph = ["log", "--graph", "--format=%h %s %(trailers:key=Shipmate-Token)", &range];
    assert_eq!(merged, expected, "merges of tasks\n{}", home.git(&graph));
    let at = fleet.root.join("gated");
    let to = at.to_str().unwrap();
    home.git(&["clone", "--quiet", "--branch", "shipmate/alpha", ".", to]);
    for subject in &subjects {
        let text = std::fs::read_to_string(at.join("out").join(subject)).unwrap();
        assert_eq!(text, format!("{subject}\n"));
    }
    let files = std::fs::read_dir(at.join("out")).unwrap().count();
    assert_eq!(files, subjects.len());
    let gate = Command::new("sh").args(["-c", GATE]).current_dir(&at).status().unwrap();
    assert!(gate.success(), "the gate is red at the tip");
}

/// Everybody stops, coordinators at a word, and no process is left on any machine.
pub(crate) fn nothing_left(fleet: &Fleet) {
    // Nobody may run any more, which it says then.
    drop(fleet.home().shipmate(&["--team", "alpha", "shutdown", "--wait"]));
    for host in &fleet.hosts {
        for kind in ["supervisor", "agent", "gate", "hook", "tool"] {
            for one in host.processes(kind) {
                assert!(processes::ends(one.pid, LIMIT), "left on {}: {one:?}", host.name);
            }
        }
    }
    fleet.close();
    for host in &fleet.hosts {
        host.ok(&["coordinator", "stop"]);
        let left = host.node.processes().into_iter().filter(|pid| !is_of_client(*pid));
        for pid in left {
            let words = processes::words(pid);
            assert!(processes::ends(pid, LIMIT), "left on {}: {words}", host.name);
        }
    }
    for server in &fleet.servers {
        assert_eq!(server.node.processes(), vec![server.pid()]);
    }
}

/// A client of the test asks for a coordinator to be started, and finds that nobody may any more.
fn is_of_client(pid: u32) -> bool {
    let words = processes::words(pid);
    words.contains(START_UNLESS_CLOSED) || words == processes::words(std::process::id())
}
