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
        running: process [..], release [..], protocol 2

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
        signal(pid(&workspace), rustix::process::Signal::KILL);
        let list = workspace.succeed("shipmate task list --json");
        let list: Vec<serde_json::Value> = serde_json::from_str(&list).unwrap();
        assert_eq!(list.len(), n);
    }
}

/// The number of the coordinator's process.
fn pid(workspace: &Workspace) -> rustix::process::Pid {
    let status = workspace.succeed("shipmate coordinator status --json");
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let pid = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
    rustix::process::Pid::from_raw(pid).unwrap()
}

fn signal(pid: rustix::process::Pid, signal: rustix::process::Signal) {
    rustix::process::kill_process(pid, signal).unwrap();
}

#[test]
fn a_workspace_may_lie_deeper_than_a_socket_path_is_long() {
    let workspace = Workspace::repository_named(&"long".repeat(30));
    workspace.write(
        "../plan.toml",
        "team = \"alpha\"\n[[tasks]]\nid = \"one\"\nsubject = \"one\"\nfiles = [\"one\"]\n",
    );
    workspace.check(
        r#"
        $ shipmate run $W/../plan.toml --agent 'echo 1 > one'
        ...
        done: 1 of 1 [..]
        ...

        $ shipmate coordinator status
        running: process [..]

        $ shipmate coordinator stop
        stopped the coordinator, process [..]

        $ shipmate task list --json
        [{[..]"status":"completed"[..]}]
        "#,
    );
}

#[test]
fn a_folder_for_the_socket_that_others_can_write_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let mut workspace = Workspace::new();
    let open = workspace.beside("run");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
    workspace.set("SHIPMATE_RUNTIME_DIR", &open.display().to_string());
    workspace.check(
        r#"
        $ shipmate team create alpha
        error: the coordinator could not be started: [..]/run: others can write there[..]
        ...
        => 6
        "#,
    );
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o700)).unwrap();
    workspace.succeed("shipmate team create alpha");
}

/// Only root can give a folder away: elsewhere there is nothing to try.
#[test]
fn a_folder_for_the_socket_that_is_somebody_elses_is_refused_by_all_sides() {
    let mut workspace = Workspace::new();
    let theirs = workspace.beside("run");
    std::fs::create_dir(&theirs).unwrap();
    if std::os::unix::fs::chown(&theirs, Some(65534), None).is_err() {
        return;
    }
    workspace.set("SHIPMATE_RUNTIME_DIR", &theirs.display().to_string());
    workspace.check(
        r#"
        $ shipmate team create alpha
        error: [..]/run: it belongs to user 65534: name a folder of yours with SHIPMATE_RUNTIME_DIR
        ...
        => 6

        $ shipmate coordinator run
        [..]/run: it belongs to user 65534: name a folder of yours with SHIPMATE_RUNTIME_DIR
        ...
        => 1
        "#,
    );
    std::os::unix::fs::chown(&theirs, Some(0), None).unwrap();
    workspace.succeed("shipmate team create alpha");
}

#[test]
fn a_coordinator_that_answers_nobody_is_told_of_and_given_up() {
    let workspace = Workspace::with_team(&["ana"]);
    let pid = pid(&workspace);
    let waiting = workspace.start("shipmate --as ana task next --wait");
    signal(pid, rustix::process::Signal::STOP);
    let commands = ["status", "inbox", "coordinator status", "task create x", "status --json"];
    let started = commands.map(|command| {
        let mut command = workspace.command(&format!("shipmate {command}"));
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    });
    for (command, child) in commands.iter().zip(started) {
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        let pid = pid.as_raw_nonzero();
        let fact = format!("the coordinator, process {pid}, does not answer");
        if command.ends_with("--json") {
            let waiting = format!("{{\"waiting\":{{\"message\":\"{fact}\",\"pid\":{pid}}}}}\n");
            assert!(told.starts_with(&waiting), "{command}: {told}");
            assert!(told.contains("\"code\":\"Unreachable\""), "{command}: {told}");
        } else {
            let remedy = "  end it with `shipmate coordinator stop`";
            let begin = format!("{fact}; waiting for it\nerror: {fact}\n{remedy}");
            assert!(told.starts_with(&begin), "{command}: {told}");
        }
        assert_eq!(output.status.code(), Some(6), "{command}");
    }
    workspace.check(
        r#"
        $ shipmate coordinator stop
        stopped the coordinator, process [..]

        $ shipmate team list --json
        [{"name":"alpha",[..]}]
        "#,
    );
    waiting.end();
}

#[test]
fn a_stopped_coordinator_that_has_lost_its_socket_is_stopped_all_the_same() {
    let workspace = Workspace::with_team(&[]);
    signal(pid(&workspace), rustix::process::Signal::STOP);
    std::fs::remove_file(workspace.path.join(".shipmate/state/coordinator.sock")).unwrap();
    workspace.check(
        r#"
        $ shipmate coordinator stop
        stopped the coordinator, process [..]

        $ shipmate coordinator stop
        not running
        "#,
    );
}

#[test]
fn a_coordinator_whose_socket_is_gone_is_named_and_nobody_waits_for_it_for_ever() {
    let workspace = Workspace::with_team(&[]);
    let pid = pid(&workspace);
    // Stopped, so that it does not end by itself meanwhile.
    signal(pid, rustix::process::Signal::STOP);
    std::fs::remove_file(workspace.path.join(".shipmate/state/coordinator.sock")).unwrap();
    let output = workspace.command("shipmate status").output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    let pid = pid.as_raw_nonzero();
    let fact =
        format!("the coordinator, process {pid}, has the workspace's lock and does not listen");
    let remedy = "  end it with `shipmate coordinator stop`";
    let begin = format!("{fact}; waiting for it\nerror: {fact}\n{remedy}");
    assert!(told.starts_with(&begin), "{told}");
    assert_eq!(output.status.code(), Some(6), "{told}");
    assert_eq!(coordinators(&workspace), [pid.get()], "the one that was started waits on");
    workspace.check(
        r#"
        $ shipmate coordinator stop
        stopped the coordinator, process [..]

        $ shipmate team list --json
        [{"name":"alpha",[..]}]
        "#,
    );
}

/// Processes that run, or would run, this workspace's coordinator.
fn coordinators(workspace: &Workspace) -> Vec<i32> {
    let place = workspace.path.canonicalize().unwrap().display().to_string();
    let is_one = |pid: &i32| {
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&str> = line.split('\0').collect();
        words.contains(&place.as_str()) && words.contains(&"coordinator")
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(is_one).collect()
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
