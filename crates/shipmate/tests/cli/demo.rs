//! The demo comes through a red gate and a killed teammate, and leaves everything to look at.

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
        "#,
    );
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
