//! The folder of a machine is removed: all that runs for it ends, also what outlives a coordinator.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::bad_input::plain;
use crate::machines::Machines;
use crate::processes;
use crate::sshd::Sshd;

/// Removes it, and waits until everybody who belongs to it has ended.
fn remove(at: &Machines, name: &str, expected: &[&str]) {
    let all = at.processes(name, "");
    let kinds: BTreeSet<&str> = all.iter().map(|one| one.kind.as_str()).collect();
    assert!(expected.iter().all(|kind| kinds.contains(kind)), "{name}: {kinds:?}");
    let watched: Vec<_> = all.iter().filter_map(|one| processes::watch(one.pid)).collect();
    let workspace = at.workspace(name);
    // Somebody may write while it is being removed; they stop soon.
    while workspace.exists() {
        drop(fs::remove_dir_all(&workspace));
    }
    watched.iter().for_each(processes::gone);
    // What one of them began on its way out, a git say, ends as well.
    for other in at.processes(name, "") {
        processes::watch(other.pid).iter().for_each(processes::gone);
    }
    assert_eq!(at.processes(name, ""), vec![]);
    let left: Vec<_> = below(&workspace);
    assert!(!workspace.exists(), "made again: {left:?}");
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.flat_map(|entry| [below(&entry.path()), vec![entry.path()]].concat()).collect()
}

#[test]
fn when_the_folder_of_a_machine_is_removed_its_server_its_lines_and_its_coordinator_end() {
    let mut at = Machines::new(1);
    let sshd = Sshd::start(&at.root());
    at.expect("far");
    let there = format!("far:{}", at.workspace("far").display());
    at.ok("home", &["host", "add", &there, "--slots", "1"]);
    at.add(&["ana", "bo"]);
    at.door("never");
    for _ in 0..2 {
        at.task("here; pass never");
    }
    for _ in 0..2 {
        at.arrival();
    }
    at.close();
    remove(&at, "home", &["coordinator", "supervisor", "agent", "server", "line"]);
    // Its server is gone, and so is the way to it.
    remove(&at, "far", &["coordinator", "supervisor", "agent"]);
    drop(sshd);
}

#[test]
fn a_server_whose_folder_was_removed_while_no_coordinator_ran_ends_when_another_begins() {
    let mut at = Machines::new(1);
    at.close();
    at.ok("home", &["coordinator", "stop"]);
    let server = at.processes("home", "server").pop().unwrap();
    let watched = processes::watch(server.pid).unwrap();
    fs::remove_dir_all(at.workspace("home")).unwrap();
    assert!(processes::is_alive(server.pid));
    at.expect("plain");
    plain(&at, "plain");
    at.ok("plain", &["team", "create", "beta"]);
    processes::gone(&watched);
}
