//! What one of a vendor's programs hands over with its work is in the next one's request.

use shipmate_protocol::verbs::TaskNew;
use shipmate_testkit::model::Server;

use crate::cast::{CLAUDE, CODEX, Kind, stage, team};

const HANDOFF: &str = r#"{"done":["one.txt"],"surprises":["the separator is a semicolon"],
    "commands":[{"command":"make check","exit":2,"result":"no rule"}]}"#;

const SCRIPT: &str = r#"
as ana
on "find the format"
  shell echo format > one.txt
  tool TaskUpdate {"taskId":"1","status":"completed","result":"found","handoff":HANDOFF}
  say All done.
as bo
on "use the format" "separator is a semicolon"
  shell echo 'a;b' > two.txt
  tool TaskUpdate {"taskId":"2","status":"completed","result":"used"}
  say All done.
"#;

fn hands_over(kind: &Kind) {
    let server = Server::start(&SCRIPT.replace("HANDOFF", &HANDOFF.replace('\n', " ")));
    let mut stage = stage(kind, &server);
    team(&mut stage, kind, |_| {});
    stage.add("bo", |mut add| {
        (add.command, add.agent) = (String::new(), kind.agent.to_owned());
        add
    });
    let new = |subject: &str, assignee: &str| TaskNew {
        subject: subject.to_owned(),
        assignee: Some(assignee.to_owned()),
        ..TaskNew::default()
    };
    stage.create(vec![new("find the format", "ana")]);
    let after = vec!["1".to_owned()];
    stage.create(vec![TaskNew { blocked_by: after, ..new("use the format", "bo") }]);
    stage.finished(2);
    let request = server.wait_for(|request| request.contains("use the format"));
    let text = request.body.to_string();
    let handoff = "Task 1 (find the format):\\ndone: one.txt\\ncommands: `make check` exit 2, no rule\\n\
        surprises: the separator is a semicolon";
    assert!(text.contains(handoff), "{}: {text}", kind.agent);
    assert!(text.contains("kind=\\\"handoff\\\""), "{}: {text}", kind.agent);
    assert_eq!(stage.file("two.txt"), "a;b\n");
    stage.nothing_left();
}

#[test]
fn claude_reads_what_another_claude_handed_over() {
    hands_over(&CLAUDE);
}

#[test]
fn codex_reads_what_another_codex_handed_over() {
    hands_over(&CODEX);
}
