//! The ground goes from under a team at work: its state or the whole repository is removed. Everybody
//! ends, and nothing of it comes back by itself.

use std::fs;

use shipmate_protocol::verbs::Setup;

use crate::processes;
use crate::stage::Stage;

/// A team at work, and everybody who has to end.
fn at_work(stage: &mut Stage) -> Vec<rustix::fd::OwnedFd> {
    stage.door("never");
    stage.team(Setup::default(), &["a", "b"]);
    stage.tasks(&["daemon; here; pass never", "here; pass never"]);
    let found = stage.arrivals(3);
    let supervisors = stage.processes("supervisor");
    let pids = found.iter().map(|one| one.pid).chain(supervisors.iter().map(|one| one.pid));
    let pids = pids.chain([stage.coordinator()]);
    pids.filter_map(processes::watch).collect()
}

const CONFIG: &str = "[agents]\nstop-grace-seconds = 0.3\n";

#[test]
fn when_its_state_is_removed_a_team_ends_and_nothing_is_made_anew() {
    let mut stage = Stage::new(CONFIG);
    let watched = at_work(&mut stage);
    let project = stage.place().project();
    fs::rename(&project, stage.root().join("bin-of-state")).unwrap();
    watched.iter().for_each(processes::gone);
    assert!(!project.exists());
    assert_eq!(processes::marked(&stage.place().digest()), []);
}

#[test]
fn when_the_repository_is_removed_a_team_ends_and_nothing_is_made_anew() {
    let mut stage = Stage::new(CONFIG);
    let watched = at_work(&mut stage);
    let workspace = stage.place().workspace;
    // Somebody may write while it is being removed; they stop soon.
    while fs::remove_dir_all(&workspace).is_err() {}
    watched.iter().for_each(processes::gone);
    // A client that met half of it may have begun a coordinator once more: that ends as well.
    for other in processes::marked(&stage.place().digest()) {
        processes::watch(other.pid).iter().for_each(processes::gone);
    }
    assert!(!workspace.exists());
    assert_eq!(processes::marked(&stage.place().digest()), []);
}

#[test]
fn without_a_coordinator_supervisors_notice_it_themselves() {
    let mut stage = Stage::new(CONFIG);
    let watched = at_work(&mut stage);
    let project = stage.place().project();
    let coordinator = stage.coordinator();
    // Stopped, it cannot notice; killed, it is missed.
    processes::signal(coordinator, rustix::process::Signal::STOP);
    fs::rename(&project, stage.root().join("bin-of-state")).unwrap();
    processes::kill(coordinator);
    watched.iter().for_each(processes::gone);
    assert!(!project.exists());
    assert_eq!(processes::marked(&stage.place().digest()), []);
}
