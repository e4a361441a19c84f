//! Attaching: what is shown, what is sent, and how it ends.

use crate::transcript::Workspace;

/// A team whose agent says what it does and waits at a pipe in between.
fn workspace() -> (Workspace, std::path::PathBuf) {
    let workspace = Workspace::with_repository();
    let go = workspace.pipe("go");
    workspace.succeed("shipmate team create alpha --trees own");
    let agent = format!("'echo begins $SHIPMATE_SUBJECT; cat {}'", go.display());
    workspace.succeed(&format!("shipmate teammate add ana --command {agent}"));
    (workspace, go)
}

#[test]
fn a_teammate_is_shown_from_its_start_to_its_end_and_can_be_talked_to() {
    let (workspace, go) = workspace();
    let mut attached = workspace.start("shipmate attach ana");
    attached.expect("alpha/ana has not started yet: it starts when there is a task for it");
    attached.type_line("use tabs");
    attached.expect("alpha/ana gets your message with its next task: [..]");
    attached.type_line("/quit");
    workspace.succeed("shipmate task create one --no-change");
    attached.expect("alpha/ana@1 starts");
    attached.expect("│ begins one");
    workspace.check(
        r#"
        $ shipmate teammate list
        TEAMMATE  STATE   WHY     UNREAD[..]PID  SILENT[..]
        ana@1     active  task 1  [..]

        $ shipmate teammate show ana
        alpha/ana@1
          state      active: task 1
        ...
          watched    by a supervisor, for as long as there is work
          pid        [..]
        ...
          silent for [..]
        "#,
    );
    std::fs::write(&go, "\x1b[2Jcannot hide\nalpha/ana@1 stopped: clean\n").unwrap();
    attached.expect("│ \\x1b[2Jcannot hide");
    attached.expect("│ alpha/ana@1 stopped: clean");
    attached.expect("alpha/ana@1 stopped: clean");
    assert_eq!(attached.exit_code(), 0);
    let mail = workspace.succeed("shipmate log --after 0");
    assert!(mail.contains("person message.sent to ana: use tabs"), "{mail}");
    workspace.check(
        r#"
        $ shipmate attach ana
        │ begins one
        │ \x1b[2Jcannot hide
        │ alpha/ana@1 stopped: clean
        alpha/ana@1 has stopped: clean

        $ shipmate attach ana --json
        {"text":"begins one\n\u001b[2Jcannot hide\n[..]","who":"alpha/ana@1"}
        {"detail":"clean","event":"has stopped","who":"alpha/ana@1"}
        "#,
    );
}

#[test]
fn the_next_life_is_shown_when_a_teammate_is_started_again() {
    let (workspace, go) = workspace();
    workspace.succeed("shipmate task create one --no-change");
    workspace.until("task.claimed 1");
    let mut attached = workspace.start("shipmate attach ana --from-start");
    attached.expect("│ begins one");
    let shown = workspace.succeed("shipmate teammate show ana --json");
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let pid = shown["pid"].as_u64().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    attached.expect("alpha/ana@1 disappeared: [..]");
    attached.expect("alpha/ana@2 starts");
    attached.expect("│ begins one");
    std::fs::write(&go, "done\n").unwrap();
    attached.expect("│ done");
    attached.expect("alpha/ana@2 stopped: clean");
    assert_eq!(attached.exit_code(), 0);
}

#[test]
fn attaching_goes_on_when_the_coordinator_is_replaced() {
    let (workspace, go) = workspace();
    workspace.succeed("shipmate task create one --no-change");
    workspace.until("task.claimed 1");
    let mut attached = workspace.start("shipmate attach ana --from-start");
    attached.expect("│ begins one");
    workspace.succeed("shipmate coordinator stop");
    std::fs::write(&go, "done\n").unwrap();
    attached.expect("│ done");
    attached.expect("alpha/ana@1 stopped: clean");
    assert_eq!(attached.exit_code(), 0);
}

#[test]
fn only_what_shipmate_runs_can_be_shown() {
    Workspace::with_team(&["ana"]).check(
        r#"
        $ shipmate attach ana
        refused: ana was started by hand: nobody here sees its output
          `shipmate log --follow` shows what it does, `shipmate send` talks to it
        => 1

        $ shipmate attach bo
        refused: there is no teammate [..]
        ...
        => 3
        "#,
    );
}
