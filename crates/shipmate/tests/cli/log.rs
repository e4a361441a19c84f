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

        available tasks  1
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
