//! The doctor: what it finds, and what it says to do.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::transcript::Workspace;

#[test]
fn a_sound_workspace_is_found_sound() {
    let workspace = Workspace::with_team(&["ana"]);
    workspace.check(
        r#"
        $ shipmate doctor
        ok       workspace    $W is writable
        ok       git          git version [..]
        ok       config       read; set are idle-exit-seconds
        ok       socket       $W/.shipmate/state/coordinator.sock ([..] of 107 bytes)
        ok       coordinator  running: process [..], release [..]
        ok       log          alpha: 3 records, all sound
        ok       permissions  [..] folders and files are yours alone
        ok       gitignore    the workspace is no git repository
        warning  fence        no fence is in use: an agent that runs as the same user could \
          read the person's token and act as the person
                              run agents you do not trust as another user or in a container
        "#,
    );
}

#[test]
fn what_others_can_read_is_a_problem_with_its_remedy() {
    let workspace = Workspace::with_team(&["ana"]);
    let git = Command::new("git").args(["init", "--quiet"]).current_dir(&workspace.path).status();
    assert!(git.unwrap().success());
    let token = workspace.path.join(".shipmate/state/tokens/alpha.ana");
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::write(workspace.path.join(".shipmate/.gitignore"), "").unwrap();
    workspace.check(
        r#"
        $ shipmate doctor
        ...
        problem  permissions  $W/.shipmate/state/tokens/alpha.ana is open to others (mode 644)
                              chmod go-rwx $W/.shipmate/state/tokens/alpha.ana
        problem  gitignore    git would commit .shipmate/state, which holds tokens
                              write `state/` into .shipmate/.gitignore
        warning  fence        [..]
                              [..]
        => 1
        "#,
    );
}

#[test]
fn a_file_in_place_of_the_folder_is_a_problem() {
    let workspace = Workspace::new();
    workspace.write(".shipmate", "in the way");
    workspace.check(
        r#"
        $ shipmate doctor
        problem  workspace    $W/.shipmate is not a folder
                              move that file away, or name another workspace with --workspace
        ...
        => 1

        $ shipmate team create alpha
        error: the coordinator could not be started: $W/.shipmate[..]
          the workspace must be writable by you
        => 6

        $ shipmate config init
        error: $W/.shipmate cannot be written: [..]
          the workspace must be writable by you
        => 7
        "#,
    );
}

#[test]
fn a_damaged_log_is_found_and_nothing_is_built_on_it() {
    let workspace = Workspace::with_team(&["ana"]);
    workspace.succeed("shipmate coordinator stop");
    let log = workspace.path.join(".shipmate/state/teams/alpha/log.db");
    let mut bytes = std::fs::read(&log).unwrap();
    let end = bytes.len();
    bytes[end / 2..].fill(0x5a);
    std::fs::write(&log, &bytes).unwrap();
    workspace.check(
        r#"
        $ shipmate task create "On sand"
        refused: [..]
        ...
        => 7

        $ shipmate doctor
        ...
        problem  [..]
        ...
        => 1
        "#,
    );
    assert_eq!(std::fs::read(&log).unwrap(), bytes, "the damaged file was written to");
}
