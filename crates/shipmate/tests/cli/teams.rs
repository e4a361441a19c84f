//! Teams and teammates: made, shown, paused, ended.

use crate::transcript::{Workspace, exists};

#[test]
fn a_team_is_created_shown_and_deleted() {
    Workspace::new().check(
        r#"
        $ shipmate team list
        no teams yet; `shipmate team create NAME` makes one

        $ shipmate status
        refused: there is no team in this workspace
        ...
        => 3

        $ shipmate team create alpha --lead lou --description "The parser"
        created team alpha

        $ shipmate team create alpha
        refused: team alpha exists already
        ...
        => 1

        $ shipmate team create backend --parent alpha --gate
        created team backend below alpha

        $ shipmate team list
        TEAM     PARENT  LEAD  PHASE   RUNNING  PENDING  IN PROGRESS  COMPLETED  FAILED  DESCRIPTION
        alpha            lou   active   0 of 1        0            0          0       0  The parser
        backend  alpha         active   0 of 0        0            0          0       0

        $ shipmate team show backend
        team backend, active
          parent       alpha
          lead         none
          completes    after its gate
          teammates    0, 0 running
          tasks        0 pending, 0 in progress, 0 completed, 0 failed, 0 deleted
          tokens       0
          cost         $0.00

        $ shipmate team show alpah
        refused: there is no team alpah; did you mean alpha?
        ...
        => 3

        $ shipmate team delete alpha
        team alpha is deleted

        $ shipmate team list
        no teams yet; `shipmate team create NAME` makes one

        $ shipmate team create alpha
        created team alpha
        "#,
    );
}

#[test]
fn a_command_says_which_team_where_there_are_several() {
    Workspace::new().check(
        r#"
        $ shipmate team create alpha
        created team alpha

        $ shipmate team create beta
        created team beta

        $ shipmate task list
        refused: there are several teams here: alpha, beta
        ...
        => 1

        $ shipmate --team beta task create "In beta"
        created task 1: In beta

        $ SHIPMATE_TEAM=beta shipmate task list
        ID  STATUS   SUBJECT  NOTE
         1  pending  In beta  available

        $ shipmate --team alpha task list
        no tasks

        $ shipmate --team alpha teammate add ana
        added alpha/ana@1
          act as it: shipmate --as ana task next

        $ shipmate --team beta teammate add ana
        added beta/ana@1
          act as it: shipmate --as beta/ana task next

        $ shipmate --as ana task next
        error: ana is ambiguous: alpha/ana, beta/ana
          write it as --as team/name
        => 2

        $ shipmate --as beta/ana task next
        claimed task 1: In beta
          token [..]
          lease [..]
        "#,
    );
}

#[test]
fn a_teammate_has_lives_and_a_stale_one_is_refused() {
    let workspace = Workspace::with_team(&[]);
    workspace.check(
        r#"
        $ shipmate teammate list
        no teammates yet; `shipmate teammate add NAME` adds one

        $ shipmate teammate add ana --role tester --scope tests,docs --mode plan
        added alpha/ana@1
          act as it: shipmate --as ana task next

        $ shipmate teammate add ana
        refused: alpha/ana is a member already
        ...
        => 1

        $ shipmate teammate add bo --no-start
        added bo; it has no life yet

        $ shipmate --as anna task next
        error: there is no token file for anna in this workspace; did you mean ana?
        ...
        => 2

        $ shipmate --as bo task next
        error: there is no token file for bo in this workspace
          there is one for alpha/ana
          `shipmate teammate start bo` begins a life of a teammate by hand, and makes one
        => 2

        $ shipmate teammate list
        TEAMMATE  ROLE    STATE  WHY           MODE  UNREAD
        ana@1     tester  idle   just started  plan       0
        bo@0              added  not started              0

        $ shipmate teammate show ana
        alpha/ana@1
          state      idle[..]
          seat       member
          role       tester
          mode       plan
          scope      docs, tests
          may hold   1 at once
          unread     0
          tokens     0

        $ shipmate teammate start ana
        refused: alpha/ana is running as epoch 1
        ...
        => 1

        $ shipmate teammate pause ana --reason "lunch"
        ana is paused

        $ shipmate --as ana task next
        refused: alpha/ana is paused: lunch
        ...
        => 1

        $ shipmate teammate continue ana
        ana goes on

        $ shipmate teammate mode ana normal
        the mode of ana is normal

        $ shipmate teammate remove nobody
        refused: there is no teammate nobody
        ...
        => 3
        "#,
    );
    let old = std::fs::read_to_string(workspace.path.join(".shipmate/state/tokens/alpha.ana"));
    let old = old.unwrap();
    let shutdown = workspace.succeed("shipmate shutdown ana --deadline 60s --json");
    let id: serde_json::Value = serde_json::from_str(&shutdown).unwrap();
    workspace.check(&format!(
        r#"
        $ shipmate --as ana shutdown --answer {id}
        answered shutdown request {id}

        $ shipmate teammate start ana
        started alpha/ana@2
          act as it: shipmate --as ana task next

        $ SHIPMATE_TOKEN={old} shipmate task next
        refused: alpha/ana@1 is no longer current: the epoch of alpha/ana is now 2
        ...
        => 5

        $ SHIPMATE_TOKEN=nonsense shipmate task next
        refused: this token belongs to nobody here
        ...
        => 1
        "#,
        id = id["id"]
    ));
}

#[test]
fn a_removed_teammate_leaves_no_token_behind() {
    let workspace = Workspace::with_team(&["ana"]);
    let token = workspace.path.join(".shipmate/state/tokens/alpha.ana");
    assert!(exists(&token));
    let shutdown = workspace.succeed("shipmate shutdown ana --deadline 60s --json");
    let id: serde_json::Value = serde_json::from_str(&shutdown).unwrap();
    workspace.succeed(&format!("shipmate --as ana shutdown --answer {}", id["id"]));
    workspace.check(
        r#"
        $ shipmate teammate remove ana
        removed ana

        $ shipmate teammate list
        no teammates yet; `shipmate teammate add NAME` adds one
        "#,
    );
    assert!(!exists(&token));
}

#[test]
fn a_token_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let workspace = Workspace::with_team(&["ana"]);
    let state = workspace.path.join(".shipmate/state");
    let mode = |name: &str| {
        let path = if name.is_empty() { state.clone() } else { state.join(name) };
        path.metadata().unwrap().permissions().mode() & 0o777
    };
    let files = ["", "tokens", "tokens/alpha.ana", "person.token", "coordinator.sock"];
    let modes = files.map(mode);
    assert_eq!(modes, [0o700, 0o700, 0o600, 0o600, 0o600], "{files:?}");
    let printed = workspace.succeed("shipmate teammate add bo --print-token");
    assert!(printed.starts_with("alpha.alpha.bo.1."), "{printed}");
    assert!(!exists(&state.join("tokens/alpha.bo")));
}

/// What a coordinator leaves that was killed before it had recorded anything.
#[test]
fn a_team_with_an_empty_log_is_deleted_at_once() {
    let workspace = Workspace::with_team(&[]);
    let ghost = workspace.path.join(".shipmate/state/teams/ghost");
    std::fs::create_dir_all(ghost.join("trees")).unwrap();
    std::fs::write(ghost.join("log.db"), "").unwrap();
    workspace.succeed("shipmate team delete ghost");
}

#[test]
fn a_host_that_never_joined_is_refused() {
    Workspace::with_team(&[]).check(
        r#"
        $ shipmate teammate add ana --host box --command true
        refused: there is no host box: no other machine has joined
          `shipmate host add me@box` adds one, or leave the host out
        => 3
    "#,
    );
}
