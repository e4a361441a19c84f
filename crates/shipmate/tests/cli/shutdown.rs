//! Shutting down and waiting for what becomes of it.

use crate::transcript::Workspace;

/// The number of the request that a teammate got.
fn request(workspace: &Workspace, who: &str) -> String {
    let asked = workspace.until(&format!("shutdown.requested {who}@1"));
    asked.split_whitespace().next().unwrap().to_owned()
}

#[test]
fn each_outcome_is_told_as_it_becomes_known() {
    let workspace = Workspace::with_team(&["ana", "bo", "cy"]);
    let mut waiting =
        workspace.start("shipmate shutdown --deadline 10m --wait --reason \"the work is done\"");
    let id = request(&workspace, "bo");
    workspace.succeed(&format!("shipmate --as bo shutdown --answer {id} --left \"half a parser\""));
    waiting.expect("alpha/bo@1: in progress, left: half a parser");
    let id = request(&workspace, "ana");
    workspace.succeed(&format!("shipmate --as ana shutdown --answer {id}"));
    waiting.expect("alpha/ana@1: clean");
    let id = request(&workspace, "cy");
    workspace.succeed(&format!("shipmate --as cy shutdown --answer {id} --reject \"not yet\""));
    waiting.expect("alpha/cy@1: rejected: not yet");
    waiting.expect("nothing is left over");
    assert_eq!(waiting.exit_code(), 8);
    workspace.check(
        r#"
        $ shipmate shutdown cy --deadline 50ms --wait
        alpha/cy@1: timed out
        => 8

        $ shipmate shutdown --wait
        refused: nobody in team alpha is running
        => 1
        "#,
    );
}

#[test]
fn one_by_one_each_is_asked_when_the_one_before_has_stopped() {
    let workspace = Workspace::with_team(&[]);
    workspace.succeed("shipmate teammate add ana --lead");
    workspace.succeed("shipmate teammate add bo");
    let mut waiting = workspace.start("shipmate shutdown --one-by-one --deadline 10m");
    let id = request(&workspace, "bo");
    let log = workspace.succeed("shipmate log");
    assert!(!log.contains("shutdown.requested ana"), "the lead was not the last: {log}");
    workspace.succeed(&format!("shipmate --as bo shutdown --answer {id}"));
    waiting.expect("alpha/bo@1: clean");
    let id = request(&workspace, "ana");
    workspace.succeed(&format!("shipmate --as ana shutdown --answer {id}"));
    waiting.expect("alpha/ana@1: clean");
    waiting.expect("nothing is left over");
    assert_eq!(waiting.exit_code(), 0);
}

#[test]
fn one_by_one_a_refusal_keeps_the_rest_from_being_asked_until_it_is_settled() {
    let workspace = Workspace::with_team(&["bo", "cy"]);
    workspace.succeed("shipmate teammate add ana --lead");
    let mut waiting = workspace.start("shipmate shutdown --one-by-one --deadline 10m");
    let id = request(&workspace, "bo");
    let refuse = format!("shipmate --as bo shutdown --answer {id} --reject \"a test is red\"");
    workspace.succeed(&refuse);
    waiting.expect("alpha/bo@1: rejected: a test is red");
    waiting.expect("not asked yet: alpha/cy, alpha/ana; settle first what alpha/bo says[..]");
    waiting.expect("nothing is left over");
    assert_eq!(waiting.exit_code(), 8);
    let log = workspace.succeed("shipmate log");
    for other in ["cy", "ana"] {
        assert!(!log.contains(&format!("shutdown.requested {other}")), "{other}: {log}");
    }
    // Once it is settled, all of them are asked.
    let mut again =
        workspace.start("shipmate shutdown --one-by-one --deadline 10m --reason settled");
    for who in ["bo", "cy", "ana"] {
        let asked = workspace.until(&format!("shutdown.requested {who}@1, settled"));
        let id = asked.split_whitespace().next().unwrap();
        workspace.succeed(&format!("shipmate --as {who} shutdown --answer {id}"));
        again.expect(&format!("alpha/{who}@1: clean"));
    }
    again.expect("nothing is left over");
    assert_eq!(again.exit_code(), 0);
}

#[test]
fn now_asks_nobody_and_leaves_no_process() {
    let workspace = Workspace::with_repository();
    let go = workspace.pipe("go");
    workspace.succeed("shipmate team create alpha --trees own");
    let agent = format!("'cat {}'", go.display());
    workspace.succeed(&format!("shipmate teammate add ana --command {agent}"));
    workspace.succeed("shipmate task create one --no-change");
    workspace.until("task.claimed 1");
    workspace.check(
        r#"
        $ shipmate shutdown --now --json
        {"outcome":"forced","who":"alpha/ana@1"}
        {"left_over":[]}
        "#,
    );
    // Whether it has its task again by then is up to the machine.
    let resumed = workspace.succeed("shipmate resume");
    assert!(resumed.contains("alpha/ana  restarted  as epoch 2, in its old tree"), "{resumed}");
    std::fs::write(&go, "").unwrap();
    workspace.until("task.completed 1");
}

#[test]
fn without_waiting_it_only_asks() {
    Workspace::with_team(&["ana"]).check(
        r#"
        $ shipmate shutdown --deadline 1m
        asked everybody to shut down within 1m

        $ shipmate shutdown ana --no-wait
        refused: [..]
        ...
        => 1

        $ shipmate shutdown --one-by-one --no-wait
        error: [..]
        ...
        => 2
        "#,
    );
}
