//! Ending: asked, asked in the middle of work, not listening, and the whole team at once.

use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::Setup;
use shipmate_protocol::view::TaskStatus;

use crate::processes::{self, gone};
use crate::stage::Stage;

fn shut_down(stage: &mut Stage, name: &str, deadline_ms: u64) {
    let (name, reason) = (Some(name.to_owned()), "enough".to_owned());
    stage.ask(Ask::Shutdown(verbs::Shutdown { name, reason, deadline_ms }));
}

#[test]
fn who_is_idle_stops_at_once_and_cleanly() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(Setup::default(), &["a", "b"]);
    let tasks = stage.tasks(&["here; pass go; put f1 x", "put f2 x"]);
    let idle = if stage.arrival().name == "a" { "b" } else { "a" };
    stage.event("task.completed");
    shut_down(&mut stage, idle, 600_000);
    stage.event("shutdown.answered");
    assert_eq!(stage.event("teammate.stopped")["outcome"], "clean");
    stage.open("go", 1);
    stage.finished(2);
    stage.all_once(&tasks);
}

#[test]
fn who_is_asked_in_the_middle_of_a_task_finishes_it_first() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(Setup::default(), &["a"]);
    let tasks = stage.tasks(&["here; pass go; put f1 x"]);
    stage.arrival();
    shut_down(&mut stage, "a", 600_000);
    stage.event("shutdown.requested");
    stage.open("go", 1);
    stage.event("task.submitted");
    stage.event("shutdown.answered");
    assert_eq!(stage.event("teammate.stopped")["outcome"], "clean");
    stage.finished(1);
    stage.all_once(&tasks);
}

/// Ignores what it is told, and has a daemon that does so too.
const DEAF: &str = "trap '' TERM; daemon; here; pass never; put f1 x";

#[test]
fn who_does_not_listen_is_ended_with_everything_it_started() {
    let mut stage = Stage::new("[agents]\nstop-grace-seconds = 0.3\n");
    stage.door("never");
    stage.team(Setup::default(), &["a"]);
    stage.tasks(&[DEAF]);
    let (agent, daemon) = stage.with_daemon();
    let watched = [agent.pid, daemon.pid].map(|pid| processes::watch(pid).unwrap());
    shut_down(&mut stage, "a", 200);
    stage.event("shutdown.timed_out");
    assert_eq!(stage.event("teammate.stopped")["outcome"], "timed_out");
    watched.iter().for_each(gone);
    assert_eq!(stage.task(1).row.status, TaskStatus::Pending);
    stage.all_once(&[]);
}

fn delete(now: bool, deadline_ms: u64) {
    let mut stage = Stage::new("[agents]\nstop-grace-seconds = 0.3\n");
    stage.door("never");
    stage.team(Setup::default(), &["a", "b"]);
    stage.tasks(&[DEAF, "here; pass never"]);
    let found = stage.arrivals(3);
    let supervisors = stage.processes("supervisor");
    let pids = found.iter().map(|one| one.pid).chain(supervisors.iter().map(|one| one.pid));
    let watched: Vec<_> = pids.map(|pid| processes::watch(pid).unwrap()).collect();
    let reason = "over".to_owned();
    stage.ask(Ask::TeamDelete(verbs::TeamDelete { team: None, reason, deadline_ms, now }));
    watched.iter().for_each(gone);
    let deleted = stage.event("team.deleted");
    assert_eq!(deleted["team"], "alpha");
    assert_eq!(stage.processes("agent"), []);
    assert_eq!(stage.processes("supervisor"), []);
}

#[test]
fn a_team_that_is_deleted_at_work_ends_at_its_deadline() {
    delete(false, 300);
}

#[test]
fn a_team_that_is_deleted_now_ends_now() {
    delete(true, 60_000);
}

#[test]
fn the_coordinator_may_die_in_the_middle_of_a_shutdown() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(Setup::default(), &["a"]);
    let tasks = stage.tasks(&["here; pass go; put f1 x"]);
    stage.arrival();
    shut_down(&mut stage, "a", 600_000);
    stage.event("shutdown.requested");
    processes::kill(stage.coordinator());
    stage.open("go", 1);
    assert_eq!(stage.event("teammate.stopped")["outcome"], "clean");
    stage.finished(1);
    stage.all_once(&tasks);
}
