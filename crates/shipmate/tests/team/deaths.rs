//! Every process of a team is killed in turn, and the work is done once all the same.

use rustix::process::Signal;
use shipmate_protocol::verbs::Setup;
use shipmate_protocol::{Answer, Ask};

use crate::processes::{self, is_alive};
use crate::stage::{Stage, task_of};

/// Prints, tells where it is, waits, prints again and hands in a file of its own.
const SLOW: &str =
    "echo one; here; pass go; echo two; put f$SHIPMATE_TASK $SHIPMATE_TASK; echo three";

#[test]
fn agents_work_through_the_death_of_the_coordinator_and_lose_no_byte() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(Setup::default(), &["a", "b", "c", "d"]);
    let tasks = stage.tasks(&[SLOW; 4]);
    let before = stage.arrivals(4);
    processes::kill(stage.coordinator());
    let pids: Vec<u32> = before.iter().map(|one| one.pid).collect();
    assert!(pids.iter().all(|pid| is_alive(*pid)), "{before:?}");
    stage.open("go", 4);
    stage.finished(4);
    assert_eq!(stage.events("task.claimed").len(), 4);
    assert_eq!(stage.events("teammate.started").len(), 4);
    for one in &before {
        let output = std::fs::read_to_string(stage.life(&one.name, 1).join("output.log")).unwrap();
        assert_eq!(output, "one\ntwo\nthree\n", "{}", one.name);
    }
    stage.all_once(&tasks);
}

#[test]
fn the_death_of_an_agent_costs_one_attempt() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(Setup::default(), &["a"]);
    let tasks = stage.tasks(&[SLOW]);
    let first = stage.arrival();
    processes::kill(first.pid);
    let released = stage.event("task.released");
    assert_eq!(released["cause"], "failed");
    assert!(released["reason"].as_str().unwrap().contains("signal 9"), "{released}");
    let second = stage.arrival();
    assert_eq!((second.task, second.epoch), (first.task, 1), "the supervisor goes on");
    stage.open("go", 1);
    stage.finished(1);
    stage.all_once(&tasks);
}

#[test]
fn with_a_supervisor_goes_everything_its_agent_started() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(Setup::default(), &["a"]);
    let tasks = stage.tasks(&["daemon; here; pass go; put f$SHIPMATE_TASK x"]);
    let (first, daemon) = stage.with_daemon();
    let agents = stage.processes("agent");
    assert!(agents.iter().any(|one| one.pid == daemon.pid), "{agents:?}");
    processes::kill(stage.supervisor("a"));
    stage.event("teammate.disappeared");
    for one in agents {
        assert!(!is_alive(one.pid), "{one:?} outlived its supervisor");
    }
    let (second, _) = stage.with_daemon();
    assert_eq!((second.task, second.epoch), (first.task, 2));
    stage.open("go", 1);
    stage.finished(1);
    assert_eq!(stage.task(1).retries, 1);
    stage.all_once(&tasks);
}

const FILE: &str = "put f$SHIPMATE_TASK x";

/// A gate that says where it is and waits, once; later runs go through.
fn gate_at_a_door(stage: &Stage) -> Setup {
    let root = stage.root();
    let root = root.display();
    let line = format!(
        "if mkdir {root}/notes/gated 2>/dev/null; then sleep 601 & echo '0 gate 0 '$$ > {root}/here; \
         read -r _ < {root}/gate.door; fi; true"
    );
    Setup { gate: vec![line], red_base: true, ..Setup::default() }
}

#[test]
fn a_gate_that_is_killed_is_run_again() {
    let mut stage = Stage::new("");
    stage.door("gate");
    let setup = gate_at_a_door(&stage);
    stage.team(setup, &["a"]);
    let tasks = stage.tasks(&[FILE]);
    let gate = stage.arrival();
    processes::kill(gate.pid);
    let noted = stage.event("hook.noted");
    assert!(noted["note"].as_str().unwrap().contains("signal 9"), "{noted}");
    stage.finished(1);
    assert_eq!(stage.events("task.returned").len(), 0);
    stage.all_once(&tasks);
}

#[test]
fn a_coordinator_that_dies_in_a_gate_leaves_no_gate_and_lands_the_work_once() {
    let mut stage = Stage::new("");
    stage.door("gate");
    let setup = gate_at_a_door(&stage);
    stage.team(setup, &["a", "b"]);
    let tasks = stage.tasks(&[FILE, FILE]);
    stage.arrival();
    let gates = stage.processes("gate");
    assert!(gates.len() > 1, "the gate has a child: {gates:?}");
    processes::kill(stage.coordinator());
    stage.finished(2);
    for one in gates {
        assert!(!is_alive(one.pid), "{one:?} outlived its coordinator");
    }
    stage.all_once(&tasks);
}

#[test]
fn a_coordinator_that_dies_after_the_branch_moved_does_not_land_the_work_again() {
    let mut stage = Stage::new("");
    // A git that moves the branch and then takes its caller with it, once.
    let once = stage.root().join("once");
    let lock = stage.place().lock();
    stage.replace_git(&format!(
        "git \"$@\" || exit $?; case \"$*\" in *update-ref*'work landed'*) mkdir {} 2>/dev/null && kill \
         -9 $(cat {});; esac; exit 0",
        once.display(),
        lock.display()
    ));
    stage.team(Setup::default(), &["a", "b"]);
    let tasks = stage.tasks(&[FILE, FILE, FILE]);
    stage.finished(3);
    assert!(once.exists(), "the coordinator was killed");
    let completed = stage.events("task.completed");
    let named = completed.iter().all(|event| event["commit"].is_string());
    assert!(named, "each names its merge: {completed:?}\n{}", stage.story());
    stage.all_once(&tasks);
}

#[test]
fn a_teammate_that_is_killed_again_and_again_gives_way_to_one_shots() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(Setup::default(), &["a", "b"]);
    let tasks = stage.tasks(&[SLOW, SLOW]);
    stage.arrivals(2);
    processes::kill(stage.supervisor("a"));
    processes::kill(stage.supervisor("b"));
    stage.event("breaker.opened");
    let again = stage.arrivals(2);
    assert!(again.iter().all(|one| one.epoch == 2), "{again:?}");
    // Whoever is noticed first may be back before the breaker opens.
    let lives = ["a", "b"].map(|name| stage.teammate(name).supervision);
    assert!(lives.contains(&shipmate_protocol::verbs::Supervision::OneShot), "{lives:?}");
    stage.open("go", 2);
    stage.finished(2);
    stage.all_once(&tasks);
}

#[test]
fn a_frozen_coordinator_holds_nobody_up_for_good() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(Setup::default(), &["a", "b"]);
    let tasks = stage.tasks(&[SLOW, SLOW]);
    stage.arrivals(2);
    let coordinator = stage.coordinator();
    processes::signal(coordinator, Signal::STOP);
    stage.open("go", 2);
    processes::signal(coordinator, Signal::CONT);
    stage.finished(2);
    let done: Vec<u32> = stage.events("task.completed").iter().map(task_of).collect();
    assert_eq!(done.len(), 2);
    assert!(matches!(stage.ask(Ask::Verify), Answer::Verified(_)));
    stage.all_once(&tasks);
}

#[test]
fn a_lock_that_a_dead_git_left_in_a_tree_stops_nobody() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(Setup::default(), &["a"]);
    // Of a git that went with its supervisor, and of one that the agent itself left.
    let line = "case $SHIPMATE_EPOCH$SHIPMATE_ATTEMPT in 11) touch .git/index.lock; here; pass go;; 22) \
                touch .git/index.lock; here;; esac; put f1 x";
    let tasks = stage.tasks(&[line]);
    stage.arrival();
    processes::kill(stage.supervisor("a"));
    stage.arrival();
    stage.finished(1);
    assert_eq!(stage.events("task.claimed").len(), 3);
    stage.all_once(&tasks);
}

#[test]
fn a_supervisor_that_dies_between_two_tasks_does_not_mix_them() {
    let mut stage = Stage::new("");
    stage.door("gate");
    let root = stage.root();
    let root = root.display();
    // It stands behind a fence, so it only waits to be told.
    let told = stage.root().join("told");
    assert!(std::process::Command::new("mkfifo").arg(&told).status().unwrap().success());
    stage.replace_git(&format!(
        "case \"$*\" in *read-tree*--reset*) [ ! -d {root}/notes/armed ] || read -r _ < {root}/told;; esac; exec \
         git \"$@\""
    ));
    let gate = vec![format!("read -r _ < {root}/gate.door")];
    stage.team(Setup { gate, red_base: true, ..Setup::default() }, &["a"]);
    let tasks = stage.tasks(&["put f1 x; mkdir $S/notes/armed", FILE]);
    // Opened when it waits.
    let git = std::fs::File::options().write(true).open(&told).unwrap();
    std::fs::remove_dir(stage.root().join("notes/armed")).unwrap();
    processes::kill(stage.supervisor("a"));
    drop(git);
    let second = stage.hear(|event| event["task.submitted"]["task"] == 2);
    let commit = second["event"]["task.submitted"]["commit"].as_str().unwrap();
    let changed = stage.git(&["diff", "--name-only", &stage.base, commit]);
    assert_eq!(changed, "f2\n");
    assert_eq!(stage.events("teammate.disappeared").len(), 1);
    stage.open("gate", 9);
    stage.finished(2);
    stage.all_once(&tasks);
}
