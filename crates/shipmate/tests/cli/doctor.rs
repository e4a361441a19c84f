//! The doctor: what it finds, and what it says to do.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::transcript::{Workspace, with_longer_limits};

#[test]
fn a_sound_workspace_is_found_sound() {
    let workspace = Workspace::with_team(&["ana"]);
    workspace.check(
        r#"
        $ shipmate doctor
        ok       workspace    $W is writable
        ok       git          git version [..]
        ok       shell        bash, which notices a failure inside a pipe
        ok       config       read; set are idle-exit-seconds
        ok       socket       $W/.shipmate/state/coordinator.sock
        ok       coordinator  running: process [..], release [..]
        ok       log          alpha: 3 records, all sound
        ok       repository   none that a team could work in, only the board works: [..]
        ok       hooks        none are configured
        ok       left over    nothing
        [..]  agents       [..]
        ok       permissions  [..] folders and files are yours alone
        ok       gitignore    the workspace is no git repository
        [..]  fence        [..]agents, gates and hooks stand behind [..]
        ...
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
    std::fs::write(workspace.path.join(".shipmate/state/.gitignore"), "").unwrap();
    workspace.check(
        r#"
        $ shipmate doctor
        ...
        problem  permissions  $W/.shipmate/state/tokens/alpha.ana is open to others (mode 644)
                              chmod go-rwx $W/.shipmate/state/tokens/alpha.ana
        problem  gitignore    git would commit .shipmate/state, which holds tokens
                              write `*` into .shipmate/state/.gitignore
        [..]  fence        [..]
        ...
        => 1
        "#,
    );
}

#[test]
fn what_a_set_up_and_a_gate_want_is_looked_for() {
    let workspace = Workspace::with_repository();
    let config = |setup: &str| {
        let text = format!(
            "[trees]\ncopy = [\".env\"]\nsetup = [\"{setup}\"]\n[gate]\ncommands = [\"true\"]\n"
        );
        workspace.write(".shipmate/config.toml", &text);
    };
    config("no-such-tool sync");
    workspace.check(
        r#"
        $ shipmate doctor
        ...
        problem  trees        there is no .env in $W; put it there, [..]; no-such-tool is not in your PATH: [..]
                              mend it, or [trees] and [gate] in .shipmate/config.toml
        ...
        => 1
        "#,
    );
    workspace.write(".gitignore", ".env\n");
    workspace.write(".env", "A=b\n");
    config("true");
    workspace.check(
        r#"
        $ shipmate doctor
        ...
        ok       trees        copies: .env; set-up: true; gate: true
        ...
        "#,
    );
}

#[test]
fn without_a_team_the_same_is_looked_at() {
    let workspace = Workspace::with_repository();
    workspace.write(".shipmate/config.toml", "[hooks]\nTaskCreated = [\"true\"]\n");
    // No team has made it, whatever it is called.
    workspace.git("update-ref refs/heads/shipmate/mine HEAD");
    workspace.check(
        r#"
        $ shipmate doctor
        ...
        ok       coordinator  was not running, and starts when it is needed
        ok       repository   a team begins at [..], on main
        ok       hooks        TaskCreated: true accepts a sample ([..] ms)
        ok       left over    nothing
        [..]  agents       [..]
        ok       permissions  [..]
        ok       gitignore    nothing is kept yet; .shipmate/state will ignore itself
        ...

        $ shipmate doctor --clean
        ...
        ok       left over    nothing
        ...
        "#,
    );
    assert!(workspace.git("branch --all").contains("mine"));
}

#[test]
fn the_repository_is_seen_as_a_team_would_find_it() {
    let workspace = Workspace::with_repository();
    workspace.succeed("shipmate team create alpha");
    workspace.write("new", "");
    workspace.git("checkout --quiet --detach");
    workspace.check(
        r#"
        $ shipmate doctor
        ...
        ok       repository   a team begins at [..], on a detached HEAD
        warning  repository   1 uncommitted, which teammates do not see: new
                              commit or stash them before a team begins
        warning  repository   HEAD is detached: `shipmate merge` will need a branch
        ok       hooks        none are configured
        ...
        "#,
    );
}

#[test]
fn every_hook_is_tried_and_a_broken_one_is_a_problem() {
    let transcript = r#"
        $ shipmate doctor
        ...
        ok       hooks        TaskCreated: grep -q hook_event_name accepts a sample ([..] ms)
        ok       hooks        TaskCreated: echo no >&2; exit 2 rejects a sample: no ([..] ms)
        problem  hooks        TeammateIdle: no-such-program fails on a sample: [..]
                              a hook ends with 0 to accept and 2 to reject; [..]
        problem  hooks        PlanSubmitted: $W/.shipmate/hooks/PlanSubmitted.sh [..]
                              [..]
        problem  hooks        TeamShutdown: tail -f /dev/null does not end in time ([..] ms)
                              make it faster, or give it longer: timeout-seconds under [hooks]
        warning  hooks        $W/.shipmate/hooks/TaskComplete is never run: no event has this name
                              name it after an event; docs/hooks.md has them
        ok       left over    nothing
        ...
        => 1
        "#;
    // One of them has to be over its time, and the others not.
    with_longer_limits(&["1", "20", "100"], |seconds| {
        let workspace = Workspace::new();
        let config = format!(
            "[hooks]\nTaskCreated = [\"grep -q hook_event_name\", \"echo no >&2; exit 2\"]\n\
             TeammateIdle = [\"no-such-program\"]\nTeamShutdown = [\"tail -f /dev/null\"]\n\
             timeout-seconds = {seconds}\n"
        );
        workspace.write(".shipmate/config.toml", &config);
        workspace.write(".shipmate/hooks/TaskComplete", "a typing error");
        workspace.write(".shipmate/hooks/PlanSubmitted.sh", "not executable");
        workspace.succeed("shipmate team create alpha");
        workspace.differences(transcript, b"")
    });
}

#[test]
fn what_is_left_over_is_named_and_removed_when_asked() {
    let workspace = Workspace::with_repository();
    workspace.succeed("shipmate team create alpha");
    workspace.succeed("shipmate team create gone --trees own");
    workspace.succeed("shipmate team delete gone");
    let rescued = workspace.git("commit-tree HEAD^{tree} -p HEAD -m rescued");
    workspace.git(&format!("update-ref refs/shipmate/gone/aside/1-2 {}", rescued.trim()));
    workspace.git("update-ref refs/shipmate/gone/work/3-4 HEAD");
    let digest = digest(&workspace);
    // What an agent of a life that is over left running.
    let mut orphan = Command::new("tail")
        .args(["-f", "/dev/null"])
        .env("SHIPMATE_LIFE", format!("{digest}:agent:alpha.ana@1:0123456789abcdef"))
        .spawn()
        .unwrap();
    workspace.check(
        r#"
        $ shipmate doctor
        ...
        warning  left over    process [..]: agent alpha.ana@1 has nobody any more
                              `shipmate doctor --clean` ends it
        warning  left over    aside refs/shipmate/gone/aside/1-2: NOT merged, 1 commit: [..] rescued
                              look at it: `git log -p HEAD..refs/shipmate/gone/aside/1-2`; have it: \
        `git merge refs/shipmate/gone/aside/1-2`
                              be rid of it: `shipmate doctor --clean --force refs/shipmate/gone/aside/1-2`
        ok       left over    1 merged ref of deleted teams: nothing is lost with them
                              `shipmate doctor --clean` removes them
        ...

        $ shipmate doctor --clean
        ...
        ok       left over    removed process [..]: agent alpha.ana@1 has nobody any more
        warning  left over    aside refs/shipmate/gone/aside/1-2: NOT merged, 1 commit: [..] rescued
                              [..]
                              [..]
        ok       left over    removed 1 merged ref of deleted teams
        ...

        $ shipmate doctor --clean --force refs/shipmate/gone/aside/1
        ...
        problem  left over    nothing that is left over is called refs/shipmate/gone/aside/1
                              `shipmate doctor` names what is
        ...
        => 1

        $ shipmate doctor --clean --force refs/shipmate/gone/aside/1-2
        ...
        ok       left over    removed aside refs/shipmate/gone/aside/1-2: NOT merged, 1 commit: [..] rescued
        ok       left over    removed 1 log of deleted teams
        ...

        $ shipmate doctor
        ...
        ok       left over    nothing
        ...
        "#,
    );
    assert_eq!(orphan.wait().unwrap().code(), None, "it was not ended by a signal");
    assert!(!workspace.git("for-each-ref").contains("gone"));
}

#[test]
fn cleaning_up_after_one_team_touches_nothing_of_another() {
    let mut workspace = Workspace::with_repository();
    workspace.set("SHIPMATE_TEAM", "beta");
    let go = workspace.pipe("go");
    workspace.succeed("shipmate team create alpha");
    workspace.succeed("shipmate team create beta --trees own");
    workspace.succeed("shipmate team create below --parent beta --trees own");
    for team in ["beta", "below"] {
        let agent = format!("'echo begins; cat {}'", go.display());
        workspace.succeed(&format!("shipmate --team {team} teammate add ana --command {agent}"));
        workspace.succeed(&format!("shipmate --team {team} task create one"));
        let mut attached = workspace.start(&format!("shipmate attach {team}/ana --from-start"));
        while attached.line().unwrap() != "│ begins" {}
        attached.end();
    }
    workspace.check(
        r#"
        $ shipmate doctor --clean
        ...
        ok       left over    nothing
        ...

        $ shipmate shutdown --now --wait
        beta/ana@1: forced
        nothing is left over

        $ shipmate --team below shutdown --now --wait
        below/ana@1: forced
        nothing is left over
        "#,
    );
}

/// The workspace in the markers of its processes: FNV-1a of its path.
fn digest(workspace: &Workspace) -> String {
    let path = workspace.path.canonicalize().unwrap();
    let hash = path.as_os_str().as_encoded_bytes().iter().fold(0xcbf2_9ce4_8422_2325, |hash, b| {
        (hash ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
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
