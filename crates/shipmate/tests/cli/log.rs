//! The log: what happened, and the board as it was.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::transcript::Workspace;

#[test]
fn the_log_tells_what_happened_record_by_record() {
    Workspace::with_team(&["ana"]).check(
        r#"
        $ shipmate task create "Write the parser"
        created task 1: Write the parser

        $ shipmate --as ana task next --lease 10m
        claimed task 1: Write the parser
          token 5
          lease [..]

        $ shipmate send ana hello
        sent message 6 to alpha/ana

        $ shipmate log
            1 [..] person team.created alpha
            2 [..] person teammate.added ana
            3 [..] person teammate.started ana@1
            4 [..] person task.created 1, Write the parser
            5 [..] ana@1 task.claimed 1, lease 10m
            6 [..] person message.sent to ana: hello

        $ shipmate log --limit 1
            6 [..] person message.sent to ana: hello

        $ shipmate log --after 3 --limit 1
            4 [..] person task.created 1, Write the parser

        $ shipmate log --after 5 --json
        {"n":6,"at":[..],"by":"person",[..]"event":{"message.sent":{[..]}}}

        $ shipmate log --at 4
        as of record 4

        TEAM   PHASE   RUNNING  PENDING  IN PROGRESS  COMPLETED  FAILED
        alpha  active   1 of 1        1            0          0       0

        TEAMMATE  STATE  WHY           UNREAD
        ana@1     idle   just started       0

        available tasks  1 (#1)
        open plans       0
        open questions   0
        unread by you    0
        log              4 records in sqlite

        ID  STATUS   SUBJECT           NOTE
         1  pending  Write the parser  available

        $ shipmate log --at 99
        refused: the log has records 1 to 6
        ...
        => 3
        "#,
    );
}

#[test]
fn a_followed_log_survives_the_coordinator() {
    let workspace = Workspace::with_team(&[]);
    let mut follow = workspace.command("shipmate log --after 0 --follow --json");
    let mut follow = follow.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("team.created"));
    workspace.succeed("shipmate task create one");
    assert!(lines.next().unwrap().unwrap().contains("\"n\":2"));
    workspace.succeed("shipmate coordinator stop");
    workspace.succeed("shipmate task create two");
    assert!(lines.next().unwrap().unwrap().contains("\"n\":3"));
    follow.kill().unwrap();
    follow.wait().unwrap();
}

#[test]
fn a_log_that_is_not_shown_from_its_beginning_says_so() {
    let workspace = Workspace::with_team(&[]);
    let tasks: String = (1..=120).map(|n| format!("{{\"subject\":\"t{n}\"}}\n")).collect();
    workspace.write("tasks.jsonl", &tasks);
    workspace.succeed("shipmate task create --from tasks.jsonl");
    let text = workspace.succeed("shipmate log");
    let all = text.lines().last().unwrap().split_whitespace().next().unwrap();
    let first = format!("the last 100 of {all} records; all: `shipmate log --after 0`");
    assert_eq!(text.lines().next(), Some(first.as_str()));
    assert_eq!(text.lines().count(), 101);
    assert!(!workspace.succeed("shipmate log --after 0").contains("the last"));
    workspace.check(
        r#"
        $ shipmate status
        ...
        available tasks  20 or more (#1, #2, #3, #4, #5, #6, #7, #8, #9, #10, …)
        ...
        "#,
    );
}
