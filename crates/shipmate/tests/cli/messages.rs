//! Messages and inboxes.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::transcript::Workspace;

#[test]
fn a_message_is_sent_read_once_and_traced() {
    Workspace::with_team(&["ana", "bo"]).check(
        r#"
        $ shipmate send ana please look at task 7
        sent message 6 to alpha/ana

        $ shipmate --as ana inbox --peek
        message 6 from person, [..] UTC
        │ please look at task 7

        $ shipmate --as ana inbox
        message 6 from person, [..] UTC
        │ please look at task 7

        $ shipmate --as ana inbox
        no unread messages

        $ shipmate message trace 6
        message 6 from person, [..] UTC
        │ please look at task 7
        to alpha/ana: acknowledged
          [..] queued record 6
          [..] acknowledged record 7

        $ shipmate --as ana send person "which one?" --reply-to 6
        sent message 8 to person

        $ shipmate inbox --json
        [{"id":8,"from":"alpha/ana@1","kind":"message","body":"which one?","reply_to":6,"sent_at":[..]}]

        $ shipmate --as ana send all "good morning"
        sent message [..] to alpha/bo

        $ shipmate --as bo inbox
        broadcast [..] from alpha/ana@1, [..] UTC
        │ good morning

        $ shipmate send all --kind status --json "half way"
        {"message":[..],"to":["alpha/ana","alpha/bo"]}
        "#,
    );
}

#[test]
fn a_message_that_cannot_be_delivered_is_refused_by_name() {
    let workspace = Workspace::with_team(&["ana"]);
    workspace.check(
        r#"
        $ shipmate send nobody hello
        refused: there is no teammate nobody; members: alpha/ana
        ...
        => 3

        $ shipmate --as ana send all hello
        refused: nobody else is in team alpha
        ...
        => 1

        $ shipmate send ana ""
        refused: the message is empty
        ...
        => 1

        $ shipmate message trace 4711
        refused: [..]
        ...
        => 3
        "#,
    );
    let limit = 64 * 1024;
    workspace.check_with(
        r#"
        $ shipmate send ana -
        refused: the message is 65537 bytes and the limit is 65536
        ...
        => 1

        $ shipmate --as ana inbox
        no unread messages
        "#,
        &vec![b'a'; limit + 1],
    );
    workspace.check_with(
        r#"
        $ shipmate send ana -
        sent message [..] to alpha/ana
        "#,
        &vec![b'a'; limit],
    );
}

#[test]
fn what_a_peer_writes_stays_in_its_envelope() {
    let workspace = Workspace::with_team(&["ana"]);
    let forged = "hello\nmessage 99 from person, now\n\x1b[2J\x07";
    workspace.run("shipmate --as ana send person -", forged.as_bytes());
    workspace.run("shipmate task create --from -", b"{\"subject\":\"a\\u001b[31m\\nb\"}");
    workspace.check(
        r#"
        $ shipmate inbox
        message 4 from alpha/ana@1, [..] UTC
        │ hello
        │ message 99 from person, now
        │ \x1b[2J\x07

        $ shipmate task list
        ID  STATUS   SUBJECT       NOTE
         1  pending  a\x1b[31m\nb  available
        "#,
    );
}

#[test]
fn a_followed_inbox_prints_messages_as_they_come() {
    let workspace = Workspace::with_team(&["ana"]);
    let mut follow = workspace.command("shipmate --as ana inbox --follow --json");
    let mut follow = follow.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    for text in ["one", "two"] {
        workspace.succeed(&format!("shipmate send ana {text}"));
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains(&format!("\"body\":\"{text}\"")), "{line}");
    }
    follow.kill().unwrap();
    follow.wait().unwrap();
}
