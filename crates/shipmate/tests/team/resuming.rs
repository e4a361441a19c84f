//! Everything is killed at once, as by a power cut, and the team goes on where it was.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use shipmate_protocol::verbs::{Setup, Supervision, TaskNew};
use shipmate_protocol::view::Resumed;
use shipmate_protocol::{Answer, Ask, verbs};

use crate::processes;
use crate::stage::{Stage, TEAM};

/// Everybody at the same moment: the coordinator is stopped first, so that it sees nobody die.
fn kill_everything(stage: &mut Stage) {
    let coordinator = stage.coordinator();
    processes::signal(coordinator, Signal::STOP);
    for kind in ["supervisor", "agent"] {
        stage.processes(kind).iter().for_each(|one| processes::kill(one.pid));
    }
    processes::kill(coordinator);
}

fn resume(stage: &mut Stage) -> Vec<Resumed> {
    match stage.ask(Ask::Resume) {
        Answer::Resumed(found) => found,
        other => panic!("{other:?}"),
    }
}

fn files(below: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(below).unwrap().flatten() {
        let path = entry.path();
        if entry.file_name() == ".git" {
            continue;
        }
        match entry.file_type().unwrap().is_dir() {
            true => files(&path, found),
            false => drop(found.insert(path.clone(), std::fs::read(&path).unwrap())),
        }
    }
}

/// Leaves all kinds of files, then waits in the middle of its work.
const WORK: &str = "here $SHIPMATE_ATTEMPT $SHIPMATE_SESSION; [ -e half ] || { echo s-$SHIPMATE_TEAMMATE > \
                    $SHIPMATE_SESSION_FILE; put half $SHIPMATE_TASK; head -c 5000 /dev/urandom > bin; put \
                    made.log x; put sub/dir/x x; rm README; here half; }; pass go; mv half \
                    f$SHIPMATE_TASK; rm bin; put README begin";

#[test]
fn after_a_power_cut_the_team_waits_and_goes_on_where_it_was() {
    let mut stage = Stage::new("");
    stage.write(".gitignore", "*.log\n");
    stage.commit();
    stage.door("go");
    stage.team(Setup::default(), &["a", "b", "c"]);
    stage.add("hand", |add| shipmate_protocol::verbs::TeammateAdd {
        agent: "inline".to_owned(),
        command: String::new(),
        when_needed: false,
        ..add
    });
    let supervision = Supervision::Supervised;
    stage.ask(Ask::TeammateStart(verbs::TeammateStart { name: "hand".to_owned(), supervision }));
    let task = |subject: &str, assignee: &str| TaskNew {
        subject: subject.to_owned(),
        assignee: Some(assignee.to_owned()),
        alias: Some(assignee.to_owned()),
        retries_max: Some(0),
        ..TaskNew::default()
    };
    let mut last = task("put f3 x", "c");
    last.blocked_by = vec!["a".to_owned(), "b".to_owned()];
    let tasks = stage.create(vec![task(WORK, "a"), task(WORK, "b"), last]);
    stage.arrivals(4);
    let (to, body) = ("c".to_owned(), "keep this".to_owned());
    stage.ask(Ask::Send(verbs::Send { to, body, kind: None, reply_to: None }));
    let Answer::Tasks(board) = stage.ask(Ask::Tasks(verbs::Tasks { filter: Default::default() }))
    else {
        panic!()
    };
    assert_eq!(board.len(), 3);

    kill_everything(&mut stage);
    let mut before = BTreeMap::new();
    ["a", "b"].iter().for_each(|name| files(&stage.tree(name), &mut before));
    assert_eq!(before.len(), 12, "{:?}", before.keys());
    let paused = stage.event("team.paused");
    assert_eq!(paused["reason"], "everything had ended");
    stage.event("task.released");
    let released = stage.event("task.released");
    assert_eq!(released["cause"], "host_gone");
    assert_eq!(stage.processes("supervisor"), [], "a paused team starts nobody");

    let found = resume(&mut stage);
    let how: BTreeMap<_, _> =
        found.iter().map(|one| (one.name.rsplit('/').next().unwrap(), one.how.as_str())).collect();
    let expected = [("a", "restarted"), ("b", "restarted"), ("c", "waits"), ("hand", "lost")];
    assert_eq!(how, BTreeMap::from(expected), "{found:?}");
    for one in stage.arrivals(2) {
        assert_eq!(one.epoch, 2);
        // The first attempt still, and the conversation it had.
        assert_eq!(one.words, format!("1 s-{}", one.name));
    }
    let mut after = BTreeMap::new();
    ["a", "b"].iter().for_each(|name| files(&stage.tree(name), &mut after));
    assert_eq!(before, after);
    let trace = stage.teammate("c");
    assert_eq!(trace.unread, 1, "mail outlives its readers");
    stage.open("go", 2);
    stage.finished(3);
    assert_eq!(stage.events("task.claimed").len(), 5);
    assert!(matches!(stage.ask(Ask::Verify), Answer::Verified(_)));
    stage.all_once(&tasks);
}

#[test]
fn who_went_on_without_the_coordinator_is_resumed() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(Setup::default(), &["a"]);
    let tasks = stage.tasks(&["here; pass go; put f1 x"]);
    stage.arrival();
    processes::kill(stage.coordinator());
    let found = resume(&mut stage);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].name.as_str(), found[0].how.as_str()), ("alpha/a", "resumed"));
    stage.open("go", 1);
    stage.finished(1);
    assert!(stage.events("team.paused").is_empty());
    stage.all_once(&tasks);
}

#[test]
fn a_power_cut_in_a_gate_costs_nothing() {
    let mut stage = Stage::new("");
    stage.door("gate");
    let root = stage.root();
    let root = root.display();
    let line = format!("echo '0 gate 0 '$$ > {root}/here; read -r _ < {root}/gate.door");
    stage.team(Setup { gate: vec![line], red_base: true, ..Setup::default() }, &["a"]);
    let tasks = stage.tasks(&["put f1 x"]);
    stage.arrival();
    let gates = stage.processes("gate");
    kill_everything(&mut stage);
    stage.event("team.paused");
    resume(&mut stage);
    stage.arrival();
    for one in gates {
        assert!(!processes::is_alive(one.pid), "{one:?}");
    }
    stage.open("gate", 2);
    stage.finished(1);
    assert_eq!(stage.events("task.claimed").len(), 1);
    assert_eq!(stage.task(1).retries, 0);
    stage.all_once(&tasks);
}

#[test]
fn a_plan_outlives_everything() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(Setup::default(), &["a"]);
    let tasks =
        stage.tasks(&["[ -e p ] || as plan submit --task 1 'first this'; put p x; here; pass go"]);
    stage.arrival();
    kill_everything(&mut stage);
    stage.event("team.paused");
    let Answer::Plans(plans) = stage.ask(Ask::Plans(verbs::Plans { all: true })) else { panic!() };
    assert_eq!(plans.len(), 1);
    assert_eq!((plans[0].body.as_str(), plans[0].task), ("first this", Some(1)));
    resume(&mut stage);
    stage.arrival();
    stage.open("go", 1);
    stage.finished(1);
    let life = stage.place().life(TEAM, &format!("{TEAM}.a@2"));
    assert!(life.exists());
    stage.all_once(&tasks);
}

#[test]
fn who_was_asked_to_end_and_did_is_no_power_cut() {
    let mut stage = Stage::new("");
    stage.door("never");
    stage.team(Setup::default(), &["a"]);
    let tasks = stage.tasks(&["here; [ $SHIPMATE_TEAMMATE = b ] || pass never; put f1 x"]);
    stage.arrival();
    let supervisor = stage.supervisor("a");
    processes::signal(supervisor, Signal::STOP);
    let (name, reason) = (Some("a".to_owned()), "enough".to_owned());
    stage.ask(Ask::Shutdown(verbs::Shutdown { name, reason, deadline_ms: 1 }));
    stage.event("shutdown.timed_out");
    stage.without_coordinator(|_| processes::kill(supervisor));
    stage.add("b", |add| add);
    stage.finished(1);
    assert!(stage.events("team.paused").is_empty());
    stage.all_once(&tasks);
}
