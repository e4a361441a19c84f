//! Agents that shipmate runs: from a task to a merge, paused, resumed, and told about.

use crate::transcript::Workspace;

/// What an agent does that writes one file for its task.
const WRITES: &str = "'echo writing $SHIPMATE_SUBJECT; echo $SHIPMATE_TASK > $SHIPMATE_TASK.txt'";

#[test]
fn what_agents_did_passes_the_gate_and_is_merged() {
    let workspace = Workspace::with_repository();
    workspace.succeed("shipmate team create alpha --trees own --check 'test -e README'");
    workspace.succeed(&format!("shipmate teammate add ana --command {WRITES}"));
    workspace.check(
        r#"
        $ shipmate merge
        refused: no task of team alpha is completed yet
          `shipmate status` shows how far they are
        => 1
        "#,
    );
    workspace.succeed("shipmate task create one");
    workspace.until("task.completed 1");
    workspace.succeed("shipmate task create two");
    workspace.until("task.completed 2");
    workspace.check(
        r#"
        $ shipmate log --after 0
        ...
        [..] runtime gate.ran task 1 passed in [..] s
        ...
        [..] runtime gate.ran task 2 passed in [..] s
        ...

        $ shipmate status
        TEAM   PHASE  RUNNING  PENDING  IN PROGRESS  COMPLETED  FAILED
        alpha  done    [..] of 1        0            0          2       0
        ...
        branch           shipmate/alpha, from [..], 2 commits are not merged  (shipmate merge)
        log              [..]

        $ shipmate team show
        team alpha, done
          lead         none
          completes    after its gate
          branch       shipmate/alpha
          base         [..]
        ...

        $ shipmate merge --branches
        shipmate/alpha: tasks 1, 2
          made branch shipmate/alpha.task-1
          made branch shipmate/alpha.task-2
          each can be a pull request of its own, such as:
          git push origin shipmate/alpha.task-1 && gh pr create --head shipmate/alpha.task-1

        $ shipmate merge
        shipmate/alpha: tasks 1, 2
          merged into main
          commit [..]
          as it was before: git reset --keep [..]~1

        $ shipmate merge --json
        {"branch":"shipmate/alpha","commit":null,"tasks":[1,2],"branches":[],\
            "notes":["main has all of it already"]}
        "#,
    );
    assert_eq!(std::fs::read_to_string(workspace.path.join("2.txt")).unwrap(), "2\n");
}

#[test]
fn a_merge_that_conflicts_changes_nothing() {
    let workspace = Workspace::with_repository();
    workspace.succeed("shipmate team create alpha --trees own");
    workspace.succeed("shipmate teammate add ana --command 'echo theirs > README'");
    workspace.succeed("shipmate task create one");
    workspace.until("task.completed 1");
    workspace.write("README", "mine\n");
    workspace.git("commit --quiet --all --message mine");
    workspace.check(
        r#"
        $ shipmate merge
        refused: shipmate/alpha conflicts with main in README; nothing was changed
          resolve it by hand: `git merge shipmate/alpha`; then `shipmate --team alpha team update` [..]
        => 1
        "#,
    );
    assert_eq!(workspace.git("status --porcelain"), "");
    Workspace::with_team(&[]).check(
        r#"
        $ shipmate merge
        refused: team alpha works without a repository
        ...
        => 1
        "#,
    );
}

#[test]
fn the_gate_of_the_configuration_is_that_of_a_new_team() {
    let workspace = Workspace::with_repository();
    workspace.write(
        ".shipmate/config.toml",
        "shutdown-deadline-seconds = 7\n[team]\nprotected = [\"ci\"]\n\
         [gate]\ncommands = [\"echo red; false\"]\n",
    );
    workspace.succeed("shipmate team create alpha --trees own");
    let created = workspace.succeed("shipmate log --after 0 --json");
    for recorded in ["\"gate\":[\"echo red; false\"]", "\"protected\":[\"ci\"]", "7000"] {
        assert!(created.contains(recorded), "{recorded} is not in {created}");
    }
}

#[test]
fn a_paused_team_hands_out_nothing_until_it_is_continued() {
    let workspace = Workspace::with_team(&["ana"]);
    workspace.check(
        r#"
        $ shipmate task create one
        created task 1: one

        $ shipmate pause --reason "wait for the review"
        the team is paused: nobody starts or claims; `shipmate continue` lets it go on

        $ shipmate pause
        nothing to change: it is so already

        $ shipmate --as ana task next
        refused: [..]wait for the review[..]
        ...
        => 1

        $ shipmate status
        TEAM   PHASE   RUNNING  PENDING  IN PROGRESS  COMPLETED  FAILED
        alpha  paused   1 of 1        1            0          0       0
        ...
        paused           alpha: wait for the review  (shipmate resume)
        log              [..]

        $ shipmate team show
        team alpha, paused
          lead         none
          completes    by the holder's word
          paused       wait for the review
        ...

        $ shipmate continue
        TEAMMATE   BECAME   WHY
        alpha/ana  resumed  whoever has its token acts as it

        nothing is in flight

        $ shipmate --as ana task next
        claimed task 1: one
        ...

        $ shipmate pause ana --reason lunch
        ana is paused; `shipmate continue ana` lets it go on

        $ shipmate teammate list
        TEAMMATE  STATE   WHY    UNREAD
        ana@1     paused  lunch       0

        $ shipmate continue ana --json
        {"first":[..],"last":[..]}

        $ shipmate pause nobody
        refused: there is no teammate [..]
        ...
        => 3
        "#,
    );
}

#[test]
fn a_team_whose_processes_all_ended_waits_until_it_is_resumed() {
    let workspace = Workspace::with_repository();
    let go = workspace.pipe("go");
    workspace.succeed("shipmate team create alpha --trees own");
    let agent = format!("'echo begins; cat {} >> $SHIPMATE_TASK.txt'", go.display());
    workspace.succeed(&format!("shipmate teammate add ana --command {agent}"));
    workspace.succeed("shipmate teammate add bo --no-start");
    workspace.succeed("shipmate task create one --assignee ana");
    workspace.until("task.claimed 1");
    let shown = workspace.succeed("shipmate teammate show ana --json");
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let pid = shown["pid"].as_u64().unwrap().to_string();
    // As a machine does that loses power: nobody sees the others end.
    let lock = workspace.path.join(".shipmate/state/coordinator.lock");
    let coordinator = std::fs::read_to_string(lock).unwrap();
    for (signal, who) in [("-STOP", &coordinator), ("-9", &pid), ("-9", &coordinator)] {
        assert!(std::process::Command::new("kill").args([signal, who]).status().unwrap().success());
    }
    workspace.until("team.paused alpha, everything had ended");
    workspace.until("task.released 1");
    workspace.check(
        r#"
        $ shipmate resume
        TEAMMATE   BECAME     WHY
        alpha/ana  restarted  as epoch 2, in its old tree
        alpha/bo   waits      it is not started yet; `shipmate --team alpha teammate start bo` starts it

        ...
        "#,
    );
    workspace.until("teammate.started ana@2");
    workspace.until("task.claimed 1");
    let claimed = |line: &str| line.contains("ana@2 task.claimed 1");
    assert!(claimed(&workspace.until("ana@2 task.claimed 1")));
    workspace.check(
        r#"
        $ shipmate resume
        TEAMMATE   BECAME   WHY
        alpha/ana  resumed  it runs
        alpha/bo   waits    it is not started yet; `shipmate --team alpha teammate start bo` starts it

        IN FLIGHT  STAGE    BY           SUBJECT
                1  claimed  alpha/ana@2  one

        $ shipmate resume --json
        {"in_flight":[{[..]"id":1,[..]}],"queue":null,"teammates":[{[..]"name":"alpha/ana",[..]},[..]]}
        "#,
    );
    std::fs::write(&go, "").unwrap();
    workspace.until("task.completed 1");
}
