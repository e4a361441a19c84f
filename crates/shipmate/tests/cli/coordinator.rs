//! The coordinator seen from the command line: found, started, stopped, out of reach.

use crate::transcript::{Workspace, exists};

#[test]
fn the_coordinator_starts_when_it_is_needed_and_stops_when_asked() {
    let workspace = Workspace::new();
    workspace.check(
        r#"
        $ shipmate coordinator status
        not running; the next command starts it

        $ shipmate coordinator stop
        not running

        $ shipmate team create alpha
        created team alpha

        $ shipmate coordinator status
        running: process [..], release [..], protocol 1

        $ shipmate coordinator stop
        stopped the coordinator, process [..]

        $ shipmate coordinator status --json
        {"running":false}

        $ shipmate team list --json
        [{"name":"alpha",[..]}]
        "#,
    );
    assert!(exists(&workspace.path.join(".shipmate/state/.gitignore")));
}

#[test]
fn a_second_coordinator_leaves_the_workspace_to_the_first() {
    let workspace = Workspace::with_team(&[]);
    let first = workspace.succeed("shipmate coordinator status");
    workspace.check(
        r#"
        $ shipmate coordinator run
        ready
        "#,
    );
    assert_eq!(workspace.succeed("shipmate coordinator status"), first);
}

#[test]
fn a_killed_coordinator_costs_nothing_that_was_acknowledged() {
    let workspace = Workspace::with_team(&["ana"]);
    for n in 1..=5 {
        workspace.succeed(&format!("shipmate task create task-{n}"));
        let status = workspace.succeed("shipmate coordinator status --json");
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        let pid = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        let list = workspace.succeed("shipmate task list --json");
        let list: Vec<serde_json::Value> = serde_json::from_str(&list).unwrap();
        assert_eq!(list.len(), n);
    }
}

#[test]
fn a_socket_path_that_is_too_long_is_named_and_can_be_moved() {
    let mut workspace = Workspace::named(&"long".repeat(30));
    workspace.check(
        r#"
        $ shipmate team create alpha
        error: the socket path $W/.shipmate/state/coordinator.sock is [..] bytes and the system takes 107
          set SHIPMATE_RUNTIME_DIR to a short folder of yours[..]
        => 6

        $ shipmate doctor
        ...
        problem  socket       the socket path [..] is [..] bytes and the system takes 107
                              set SHIPMATE_RUNTIME_DIR to a short folder of yours[..]
        ...
        => 1
        "#,
    );
    let short = workspace.beside("run").display().to_string();
    workspace.set("SHIPMATE_RUNTIME_DIR", &short);
    workspace.check(
        r#"
        $ shipmate team create alpha
        created team alpha
        "#,
    );
}

#[test]
fn a_workspace_that_is_no_folder_is_an_error_of_usage() {
    let workspace = Workspace::new();
    workspace.write("file", "");
    workspace.check(
        r#"
        $ shipmate --workspace $W/nowhere team list
        error: $W/nowhere is not a folder
          name an existing folder with --workspace
        => 2

        $ shipmate --workspace $W/file team list
        error: $W/file is not a folder
          name an existing folder with --workspace
        => 2
        "#,
    );
}
