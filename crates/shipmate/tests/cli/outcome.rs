//! How a run ends, and what `status` says about a team then.

use crate::run::{TWO, with_plan};

const SHIPMATE: &str = env!("CARGO_BIN_EXE_shipmate");

/// Two tasks that do not wait for each other, the second of which is tried once.
const BESIDE: &str = r#"
[[tasks]]
id = "one"
subject = "One"
[[tasks]]
id = "two"
subject = "Two"
retries = 0
"#;

#[test]
fn a_question_whose_asker_has_stopped_does_not_keep_a_run_waiting() {
    let workspace = with_plan(BESIDE);
    let agent = format!(
        "test $SHIPMATE_SUBJECT = One && {SHIPMATE} ask Which? --option JWT && echo 1 > one.txt"
    );
    let ran = workspace.run(
        &format!("shipmate run $W/../two.toml --wait 10m --teammates 1 --agent '{agent}'"),
        b"",
    );
    assert_eq!(ran.status.code(), Some(8), "{ran:?}");
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(text.contains("needs no answer: whoever asked stopped"), "{text}");
    assert!(text.contains("not all done: 1 of 2 tasks"), "{text}");
    workspace.check(
        r#"
        $ shipmate questions
        no open questions
        "#,
    );
}

#[test]
fn a_run_that_waits_for_an_answer_ends_with_its_own_code_and_goes_on_after_it() {
    let workspace = with_plan(TWO);
    let go = workspace.pipe("go");
    let agent = format!(
        "test $SHIPMATE_SUBJECT = Two || {{ {SHIPMATE} ask Which? --kind permission --option JWT \
         && cat {}; }} && echo x > $SHIPMATE_SUBJECT.txt",
        go.display()
    );
    let ran = workspace.run(&format!("shipmate run $W/../two.toml --agent '{agent}'"), b"");
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(ran.status.code(), Some(9), "{text}");
    assert!(text.contains("\nwaits for you: 0 of 2 tasks in "), "{text}");
    let (_, next) = text.split_once("next       ").unwrap();
    let answer = next.lines().next().unwrap().trim();
    assert!(answer.starts_with("shipmate --team two answer "), "{next}");
    assert!(answer.ends_with(" JWT"), "{next}");
    assert!(next.contains("shipmate resume "), "{next}");
    workspace.check(
        r#"
        $ shipmate status
        TEAM  PHASE   RUNNING  PENDING  IN PROGRESS  COMPLETED  FAILED  DESCRIPTION
        two   paused  [..]
        ...
        open questions   1  (shipmate questions)
        ...
        paused           two: the run ended: it waits for an answer  (shipmate resume)
        ...
        "#,
    );
    workspace.succeed(answer);
    std::fs::write(&go, "").unwrap();
    workspace.succeed("shipmate resume");
    workspace.until("task.completed 2");
}

#[test]
fn a_pause_ends_a_run_that_nobody_watches_and_leaves_the_team_paused() {
    let workspace = with_plan(TWO);
    let go = workspace.pipe("go");
    let agent = format!("'cat {} && echo x > $SHIPMATE_SUBJECT.txt'", go.display());
    let mut run = workspace.start(&format!("shipmate run $W/../two.toml --agent {agent}"));
    while !run.line().unwrap().ends_with("takes task 1 (One)") {}
    workspace.succeed("shipmate pause --reason lunch");
    std::fs::write(&go, "").unwrap();
    while !run.line().unwrap().starts_with("waits for you: 1 of 2 tasks") {}
    run.expect("not done");
    while run.line().is_some() {}
    assert_eq!(run.exit_code(), 9);
    workspace.succeed("shipmate resume");
    workspace.until("task.claimed 2");
    std::fs::write(&go, "").unwrap();
    workspace.until("task.completed 2");
}

#[test]
fn a_team_that_is_done_says_so_and_what_is_not_merged() {
    let workspace = with_plan(TWO);
    workspace.succeed("shipmate run $W/../two.toml --agent 'echo 1 > $SHIPMATE_SUBJECT.txt'");
    workspace.check(
        r#"
        $ shipmate status
        TEAM  PHASE  RUNNING  PENDING  IN PROGRESS  COMPLETED  FAILED  DESCRIPTION
        two   done    [..]
        ...
        available tasks  0
        ...
        branch           shipmate/two, from [..], 2 commits are not merged  (shipmate merge)
        log              [..] records in sqlite

        $ shipmate merge
        ...

        $ shipmate status
        ...
        branch           shipmate/two, from [..], all of it is merged
        ...
        "#,
    );
    workspace
        .succeed("shipmate --team other run $W/../two.toml --agent 'echo 2 > $SHIPMATE_SUBJECT.x'");
    workspace.check(
        r#"
        $ shipmate status
        ...
        branch           shipmate/other, [..] 2 commits are not merged  (shipmate --team other merge)
        ...
        branch           shipmate/two, from [..], all of it is merged
        ...
        "#,
    );
}

#[test]
fn overlapping_files_of_a_plan_are_told_as_notes() {
    let workspace = with_plan(
        r#"
        [[tasks]]
        id = "one"
        subject = "One"
        files = ["docs/a.md"]
        [[tasks]]
        id = "two"
        subject = "Two"
        files = ["docs"]
        "#,
    );
    workspace.check(
        r#"
        $ shipmate run $W/../two.toml --agent 'mkdir -p docs; echo $SHIPMATE_TASK >> docs/a.md'
        note: [..]docs/a.md[..]
        ...
        "#,
    );
}
