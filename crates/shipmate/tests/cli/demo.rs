//! The demo comes through a red gate and a killed teammate, and leaves everything to look at.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::transcript::{Workspace, exists};

#[test]
fn the_demo_comes_through_and_leaves_everything_to_look_at() {
    let workspace = Workspace::new();
    let played = workspace.succeed("shipmate demo --keep $W/demo");
    for line in [
        "disappeared: its supervisor's process ended",
        "starts again, life 2",
        "the gate is red on task 4",
        "failing: tests/mul.sh",
        "done: 12 of 12 tasks",
        "12 commits on shipmate/demo",
        "the repository's own tests on it: 11 passed",
    ] {
        assert!(played.contains(line), "{line} is not in\n{played}");
    }
    workspace.check(
        r#"
        $ shipmate --workspace $W/demo/calc coordinator status
        not running; the next command starts it

        $ shipmate --workspace $W/demo/calc task list --status pending,in_progress,failed
        no tasks

        $ shipmate --workspace $W/demo/calc coordinator stop
        stopped the coordinator, process [..]
        "#,
    );
}

#[test]
fn a_demo_that_is_left_merges_nothing() {
    let workspace = Workspace::new();
    let mut child = workspace
        .command("shipmate demo --keep $W/demo")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    lines.find(|line| line.contains(" takes task ")).unwrap();
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let rest: Vec<String> = lines.collect();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{rest:?}");
    let calc = workspace.path.join("demo/calc");
    let [.., left, word, command] = rest.as_slice() else { panic!("{rest:?}") };
    assert!(left.starts_with("left at work: "), "{left}");
    assert!(word.starts_with("nothing was merged; "), "{word}");
    assert_eq!(*command, format!("  shipmate --workspace {} shutdown", calc.display()));
    assert_eq!(workspace.git("-C demo/calc rev-list --count main"), "1\n");
    workspace.succeed("shipmate --workspace $W/demo/calc pause");
    workspace.run("shipmate --workspace $W/demo/calc shutdown --now --wait", b"");
    workspace.succeed("shipmate --workspace $W/demo/calc coordinator stop");
}

#[test]
fn the_demo_plays_only_where_nothing_else_is() {
    let workspace = Workspace::new();
    workspace.write("file", "mine");
    workspace.check(
        r#"
        $ shipmate demo --keep $W
        error: $W cannot be played in: it is not empty
          name a new or empty folder with --keep DIR
        => 2
        "#,
    );
    assert!(exists(&workspace.path.join("file")));
    assert!(!exists(&workspace.path.join("calc")));
}
