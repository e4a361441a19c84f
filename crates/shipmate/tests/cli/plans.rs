//! Plans, questions and shutdown: what is asked and answered.

use crate::transcript::Workspace;

#[test]
fn a_plan_is_submitted_rejected_and_approved() {
    let workspace = Workspace::with_team(&[]);
    workspace.succeed("shipmate teammate add ana --mode plan");
    workspace.check(
        r#"
        $ shipmate plan list
        no open plans

        $ shipmate task create "Write the parser"
        created task 1: Write the parser

        $ shipmate --as ana task next
        claimed task 1: Write the parser
          token [..]
          lease [..]

        $ shipmate --as ana task submit 1
        refused: alpha/ana must have its plan approved before it hands in work
        ...
        => 1

        $ shipmate --as ana plan submit --task 1 split it, then test it
        submitted plan 6; the answer comes as a message

        $ shipmate plan list
        plan 6 by alpha/ana@1 for task 1, open, [..] UTC
        │ split it, then test it

        $ shipmate plan reject 6 keep the interface
        rejected plan 6

        $ shipmate plan approve 6
        refused: plan 6 was decided already
        ...
        => 1

        $ shipmate --as ana inbox
        plan_approval_response [..] from person[..]
        │ [..]keep the interface[..]

        $ shipmate plan list --all
        plan 6 by alpha/ana@1 for task 1, rejected, [..] UTC
        │ split it, then test it
          feedback: keep the interface

        $ shipmate --as ana plan submit --json test it first
        {"id":[..]}

        $ shipmate plan approve 77
        refused: there is no plan 77
        ...
        => 3
        "#,
    );
    let plans = workspace.succeed("shipmate plan list --json");
    let plans: serde_json::Value = serde_json::from_str(&plans).unwrap();
    workspace.succeed(&format!("shipmate plan approve {}", plans[0]["id"]));
    workspace.succeed("shipmate --as ana task submit 1");
}

#[test]
fn a_question_is_asked_and_answered() {
    Workspace::with_team(&["ana"]).check(
        r#"
        $ shipmate questions
        no open questions

        $ shipmate --as ana ask "Which parser?" --option nom --option winnow
        asked question 4; the answer comes as a message

        $ shipmate questions
        question 4 by alpha/ana@1, open, [..] UTC
        │ Which parser?
          options: nom, winnow

        $ shipmate answer 4 yacc
        refused: "yacc" is not one of the options: nom, winnow
        ...
        => 1

        $ shipmate answer 4 winnow
        answered question 4

        $ shipmate answer 4 nom
        refused: question 4 was answered already
        ...
        => 1

        $ shipmate answer 99 nom
        refused: there is no question 99
        ...
        => 3

        $ shipmate --as ana inbox
        answer [..] from person[..]
        │ [..]winnow[..]

        $ shipmate questions --all
        question 4 by alpha/ana@1, answered, [..] UTC
        │ Which parser?
          options: nom, winnow
          answer: winnow

        $ shipmate --as ana ask --kind permission "May I migrate?" --json
        {"id":[..]}

        $ shipmate ask "May I?"
        refused: person may not [..]
        ...
        => 1
        "#,
    );
}

#[test]
fn what_was_decided_is_listed_with_who_decided_it() {
    let workspace = Workspace::with_team(&[]);
    workspace.succeed("shipmate teammate add lou --lead");
    workspace.succeed("shipmate teammate add ana --mode plan");
    workspace.check(
        r#"
        $ shipmate decisions --all
        no decisions

        $ shipmate --as ana ask "Which parser?" --option nom --option winnow
        asked question 6; the answer comes as a message

        $ shipmate --as ana plan submit split it
        submitted plan 8; the answer comes as a message

        $ shipmate decisions
        question 6 of alpha/ana@1, asked [..] UTC
        │ Which parser?
          shipmate answer 6 with one of: nom, winnow
        plan 8 of alpha/ana@1, asked [..] UTC
        │ split it
          shipmate plan approve 8, or: plan reject 8 "what to change"

        $ shipmate --as lou answer 6 nom
        answered question 6

        $ shipmate plan reject 8 keep the interface
        rejected plan 8

        $ shipmate decisions
        no open decisions

        $ shipmate decisions --all
        [..] UTC person decided plan 8 of alpha/ana@1
          rejected: keep the interface
        │ split it
        [..] UTC alpha/lou@1 decided question 6 of alpha/ana@1
          nom
        │ Which parser?
        "#,
    );
    let all = workspace.succeed("shipmate decisions --all --json");
    let all: serde_json::Value = serde_json::from_str(&all).unwrap();
    let said = |at: usize, key: &str| all[at][key].as_str().unwrap().to_owned();
    assert_eq!([said(0, "state"), said(0, "by")], ["decided", "person"]);
    assert_eq!([said(1, "answer"), said(1, "by")], ["nom", "alpha/lou@1"]);
    assert!(all[0]["decided_at"].as_u64().unwrap() >= all[0]["asked_at"].as_u64().unwrap());
}

#[test]
fn what_a_lead_writes_is_told_as_its_words() {
    let workspace = Workspace::with_team(&["ana"]);
    workspace.succeed("shipmate teammate add lou --lead");
    workspace.check(
        r#"
        $ shipmate --as lou pause --reason "approval: phase deploy begins when you say so"
        the team is paused: nobody starts or claims; `shipmate continue` lets it go on

        $ shipmate status
        TEAM   LEAD  PHASE   RUNNING  PENDING  IN PROGRESS  COMPLETED  FAILED
        ...
        paused           alpha, by lou: approval: phase deploy begins when you say so  (shipmate resume)
        log              [..]

        $ shipmate team show
        team alpha, paused
        ...
          paused       lou says: approval: phase deploy begins when you say so
        ...

        $ shipmate decisions
        no open decisions
        "#,
    );
    let team = workspace.succeed("shipmate team show --json");
    let team: serde_json::Value = serde_json::from_str(&team).unwrap();
    assert_eq!([&team["pause"]["kind"], &team["pause"]["by"]], ["asked", "alpha/lou@1"]);
}

#[test]
fn a_shutdown_is_asked_for_and_answered_or_runs_out() {
    let workspace = Workspace::with_team(&["ana", "bo"]);
    let asked = workspace.succeed("shipmate shutdown ana --reason done --deadline 60s --json");
    let id: serde_json::Value = serde_json::from_str(&asked).unwrap();
    workspace.check(&format!(
        r#"
        $ shipmate --as ana shutdown --answer {id} --reject "two minutes more"
        answered shutdown request {id}

        $ shipmate --as ana shutdown --answer {id}
        refused: there is no open shutdown request {id}
        ...
        => 3

        $ shipmate shutdown nobody
        refused: there is no teammate [..]nobody; members: alpha/ana, alpha/bo
        ...
        => 3

        $ shipmate shutdown --deadline 1ms
        asked everybody to shut down within 1ms
        "#,
        id = id["id"]
    ));
    let mut log = workspace.command("shipmate log --after 0 --follow");
    let mut log = log.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(log.stdout.take().unwrap()));
    let stopped = lines.map_while(Result::ok).filter(|line| line.contains("teammate.stopped"));
    assert_eq!(stopped.take(2).count(), 2);
    log.kill().unwrap();
    log.wait().unwrap();
    workspace.check(
        r#"
        $ shipmate shutdown
        refused: nobody in team alpha is running
        ...
        => 1
        "#,
    );
}
