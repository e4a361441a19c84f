//! The demo drains its board, and what it leaves can be looked at.

use crate::transcript::{Workspace, exists};

#[test]
fn the_demo_drains_its_board_and_leaves_it_to_look_at() {
    let workspace = Workspace::new();
    let played = workspace.succeed("shipmate demo --keep $W");
    for line in [
        "killed with SIGKILL in the middle of it",
        "is refused: the claim ",
        "it is tried again",
        "24 of 24 completed",
        "doubles   0 ",
        "all read back and sound",
        "shipmate --workspace $W task graph",
    ] {
        assert!(played.contains(line), "{line} is not in\n{played}");
    }
    // It has stopped its own coordinator.
    workspace.check(
        r#"
        $ shipmate coordinator status
        not running; the next command starts it

        $ shipmate task list --status pending,in_progress,failed
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
}

#[test]
fn for_programs_the_demo_prints_only_its_summary() {
    let workspace = Workspace::new();
    let printed = workspace.succeed("shipmate demo --json");
    let summary: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(summary["completed"], 24);
    assert_eq!(summary["doubles"], 0);
    assert_eq!(summary["refused_late"], 1);
    assert_eq!(summary["workspace"], serde_json::Value::Null);
}
