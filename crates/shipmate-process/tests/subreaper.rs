//! What only a subreaper can do: find processes that shed their marker. Apart from the other
//! tests, because the setting is the whole process's, and one at a time, because an unmarked
//! orphan belongs to the last tree alive.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/shell.rs"]
mod shell;
#[path = "support/stage.rs"]
mod stage;

use std::process::Command;

use shell::sh;
use shipmate_process::{Distrust, Exit, Spec, Watched, become_subreaper};
use stage::{PATIENCE, Talking, lives};
use tokio::sync::{Mutex, MutexGuard};

async fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::const_new(());
    become_subreaper().unwrap();
    ALONE.lock().await
}

/// A daemon with no marker, no ancestor of its tree and no group of its tree.
const UNMARKED: &str = "(env -i setsid sh -c 'echo $$; exec sleep 1000' &)";

/// What `/proc` says of each child of this process.
fn children() -> String {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let of = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("children"));
    let pids: String = tasks.filter_map(|task| of(task).ok()).collect();
    let stat = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    pids.split_whitespace().filter_map(stat).collect()
}

#[tokio::test]
async fn an_orphan_with_an_emptied_environment_ends_with_its_tree() {
    let _alone = alone().await;
    let mut talking = Talking::start(sh(&format!("{UNMARKED}; exit 0")));
    let daemon = talking.process().await;
    assert_eq!(talking.tree.exited().await, Exit::Code(0));
    let ended = talking.tree.clean().await;
    assert_eq!((ended.left_behind, ended.remaining), (1, vec![]));
    assert!(!lives(&daemon));
    assert_eq!(children(), "", "nothing is left, not even a zombie");
}

#[tokio::test]
async fn an_orphan_with_an_emptied_environment_ends_when_its_tree_is_stopped() {
    let _alone = alone().await;
    let mut talking = Talking::start(sh(&format!("{UNMARKED}; exec sleep 1000")));
    let daemon = talking.process().await;
    assert_eq!(talking.tree.stop(PATIENCE).await.remaining, vec![]);
    assert!(!lives(&daemon));
    assert_eq!(children(), "");
}

#[tokio::test]
async fn an_unmarked_orphan_waits_for_the_last_tree() {
    let _alone = alone().await;
    let mut older = Talking::start(sh(&format!("{UNMARKED}; exec sleep 1000")));
    let daemon = older.process().await;
    let younger = Talking::start(sh("exit 0"));
    assert_eq!(younger.tree.clean().await.left_behind, 0);
    assert!(lives(&daemon), "it may be the other tree's");
    assert_eq!(older.tree.clean().await.left_behind, 1);
    assert!(!lives(&daemon));
}

#[tokio::test]
async fn a_forged_marker_helps_nobody_where_markers_are_distrusted() {
    let _alone = alone().await;
    let line = "(SHIPMATE_LIFE=d:k:l:n setsid sh -c 'echo $$; exec sleep 1000' &); \
                SHIPMATE_LIFE=d:k:l:n sleep 1000 & echo $!; wait";
    let start = |line: &str| Talking::start(Spec { distrusts: Distrust::Everybody, ..sh(line) });
    let mut talking = start(line);
    let forged = [talking.process().await, talking.process().await];
    let other = start("exit 0");
    assert_eq!(other.tree.clean().await.left_behind, 0, "they may be the other tree's");
    assert!(forged.iter().all(lives));
    assert_eq!(talking.tree.clean().await.left_behind, 2);
    assert!(!forged.iter().any(lives));
    assert_eq!(children(), "");
}

#[tokio::test]
async fn a_child_started_by_other_means_is_spared_and_keeps_its_status() {
    let _alone = alone().await;
    let mut quick = Command::new("sh").args(["-c", "exit 5"]).spawn().unwrap();
    let mut slow = Command::new("sleep").arg("1000").spawn().unwrap();
    let own = |child: &std::process::Child| {
        Watched::open(shipmate_process::Pid::from_raw(child.id() as i32).unwrap()).unwrap()
    };
    own(&quick).gone().await;
    let tree = Talking::start(sh("exit 0")).tree;
    assert_eq!(tree.clean().await.left_behind, 0);
    assert!(lives(&own(&slow)));
    assert_eq!(quick.wait().unwrap().code(), Some(5));
    slow.kill().unwrap();
    slow.wait().unwrap();
}

#[tokio::test]
async fn a_tree_that_keeps_running_away_is_caught() {
    let _alone = alone().await;
    // Each process starts the next in a new session, and ends.
    let line = "run='echo; echo \"$run\" >/dev/null; setsid sh -c \"$run\" & exit'
        export run; echo ready; eval \"$run\"";
    let mut talking = Talking::start(sh(line));
    assert_eq!(talking.line().await, "ready");
    for _ in 0..20 {
        talking.line().await;
    }
    assert_eq!(talking.tree.clean().await.remaining, vec![]);
    assert_eq!(children(), "");
}
