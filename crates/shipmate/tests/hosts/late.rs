//! Work that was finished while its machine was cut off: brought in there, and never handed in.

use rustix::process::Signal;
use serde_json::Value;

use crate::machines::Machines;
use crate::processes;

/// `bo` on `box` has brought in what it did while its coordinator stood still, and the task was done by
/// `ana` at home meanwhile. The task.
fn finished_late(at: &mut Machines) -> u64 {
    at.join("box", 1);
    at.add(&["ana", "bo"]);
    at.door("ana");
    at.door("bo");
    for _ in 0..2 {
        at.task("here; pass $SHIPMATE_TEAMMATE; put whole-$SHIPMATE_TASK $SHIPMATE_TEAMMATE");
    }
    let two = [at.arrival(), at.arrival()];
    let task = u64::from(two.iter().find(|one| one.name == "bo").unwrap().task);
    // The last word of its supervisor before the agent ends: nothing else waits for the coordinator.
    at.hear(|event| event["teammate.session"]["who"] == "alpha/bo@1");
    at.ok("box", &["task", "list"]);
    assert_eq!(at.host_of("alpha/bo"), "box");
    coordinators(at, Signal::STOP);
    at.open("bo", 1);
    at.until("it is brought in", |at| !brought_in(at, task).is_empty());
    assert_eq!(at.event("host.lost")["host"], "box");
    at.open("ana", 2);
    assert_eq!(at.arrival().name, "ana");
    at.completed(2);
    task
}

fn coordinators(at: &Machines, signal: Signal) {
    at.processes("box", "coordinator").iter().for_each(|one| processes::signal(one.pid, signal));
}

fn brought_in(at: &Machines, task: u64) -> String {
    at.git("box", &["for-each-ref", &format!("refs/shipmate/alpha/work/{task}-*")])
}

/// It is told, by name, and can be looked at and merged at the home.
fn is_told(at: &mut Machines, task: u64) {
    let aside = at.event("task.work_set_aside");
    assert_eq!((&aside["task"], &aside["host"]), (&task.into(), &"box".into()), "{aside}");
    let work = aside["work"].as_str().unwrap().to_owned();
    let shown = format!("{work}:whole-{task}");
    assert_eq!(at.git("box", &["show", &shown]), "bo\n");
    at.until("it comes to the home", |at| {
        at.git("home", &["for-each-ref", &work]).contains(aside["commit"].as_str().unwrap())
    });
    assert_eq!(at.git("home", &["show", &shown]), "bo\n");
    let task = at.ok("home", &["task", "show", &task.to_string()]);
    assert!(task.contains(&format!("{work} on host box")), "{task}");
}

/// Once: whoever comes next has nothing to tell.
fn is_told_once(at: &mut Machines) {
    at.processes("box", "coordinator").iter().for_each(|one| processes::kill(one.pid));
    at.answers("box");
    at.task("put last last");
    at.completed(3);
    assert_eq!(at.events("task.work_set_aside").len(), 1, "{}", at.story());
}

#[test]
fn work_that_was_finished_during_a_cut_is_told_and_comes_to_the_home() {
    let mut at = Machines::new(1);
    let task = finished_late(&mut at);
    coordinators(&at, Signal::CONT);
    is_told(&mut at, task);
    is_told_once(&mut at);
    assert_eq!(at.landed("home", &format!("whole-{task}")), "ana\n");
}

#[test]
fn it_is_told_though_its_supervisor_was_killed_before_it_could_hand_it_in() {
    let mut at = Machines::new(1);
    let task = finished_late(&mut at);
    at.processes("box", "supervisor").iter().for_each(|one| processes::kill(one.pid));
    coordinators(&at, Signal::CONT);
    is_told(&mut at, task);
    is_told_once(&mut at);
}

#[test]
fn it_is_told_by_a_machine_that_was_switched_off_meanwhile() {
    let mut at = Machines::new(1);
    let task = finished_late(&mut at);
    for kind in ["supervisor", "coordinator"] {
        at.processes("box", kind).iter().for_each(|one| processes::kill(one.pid));
    }
    at.answers("box");
    is_told(&mut at, task);
    is_told_once(&mut at);
}

/// As a coordinator leaves it that was killed after it had set the work aside.
#[test]
fn it_is_told_by_the_next_coordinator_though_it_is_set_aside_already() {
    let mut at = Machines::new(1);
    let task = finished_late(&mut at);
    for kind in ["supervisor", "coordinator"] {
        at.processes("box", kind).iter().for_each(|one| processes::kill(one.pid));
    }
    let found = brought_in(&at, task);
    let (commit, name) =
        (found.split(' ').next().unwrap(), found.trim().rsplit('/').next().unwrap());
    at.git("box", &["update-ref", &format!("refs/shipmate/alpha/aside/{name}"), commit]);
    let life = at.place("box").life("alpha", "alpha.bo@1");
    for mark in ["over", "late"] {
        std::fs::write(life.join(mark), "").unwrap();
    }
    at.answers("box");
    is_told(&mut at, task);
    is_told_once(&mut at);
    assert!(!life.join("late").exists());
}

/// Though nothing on the machine says any more that it was handed in.
#[test]
fn work_that_has_landed_is_not_told_when_its_machine_is_lost() {
    let mut at = Machines::new(1);
    at.join("box", 1);
    at.add_on("box", "bo");
    at.task("put one one");
    at.completed(1);
    let tenant = at.place("box").team("alpha").join("trees/alpha.bo.task");
    let told = std::fs::read_to_string(&tenant).unwrap();
    std::fs::write(&tenant, told.replace("\"handed_in\":true", "\"handed_in\":false")).unwrap();
    at.freeze("box", true);
    assert_eq!(at.event("host.lost")["host"], "box");
    at.freeze("box", false);
    at.hear(|event| event["host.joined"]["host"] == "box");
    at.task("put two two");
    at.completed(2);
    assert_eq!(at.events("task.work_set_aside"), Vec::<Value>::new(), "{}", at.story());
}

#[test]
fn work_that_was_handed_in_is_not_told_when_its_machine_is_lost() {
    let mut at = Machines::new(1);
    at.join("box", 1);
    at.add_on("box", "bo");
    at.door("go");
    at.task("put one one");
    at.completed(1);
    at.task("here; pass go; put two two");
    at.arrival();
    at.freeze("box", true);
    assert_eq!(at.event("host.lost")["host"], "box");
    at.freeze("box", false);
    let is_back = |event: &Value| event["host.joined"]["host"] == "box";
    at.hear(is_back);
    at.arrival();
    at.open("go", 1);
    at.completed(2);
    let told: Vec<Value> = at.events("task.work_set_aside");
    assert!(told.iter().all(|one| one["task"] != 1), "{told:?}");
}
