//! What one of a vendor's programs hands over with its work is in the next one's request.

use shipmate_protocol::verbs::{Setup, TaskNew};
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

/// The second needs what the first found out. A handoff or none: how often it was tried, and what models were
/// asked for it.
struct Taken {
    attempts: u32,
    requests: usize,
    tokens: usize,
}

/// Whoever does not know the separator guesses, is refused by the gate, and finds it out by himself.
const GUESSES: &str = r#"
as ana
on "find the format"
  shell for n in $(seq 200); do echo "sample $n: a;b"; done > samples.txt
  shell cat samples.txt
  tool TaskUpdate {"taskId":"1","status":"completed","result":"found"HANDOFF}
  say All done.
as bo
on "use the format" "separator is a semicolon"
  shell echo 'a;b' > two.txt
  tool TaskUpdate {"taskId":"2","status":"completed","result":"used"}
  say All done.
on "came back"
  shell cat samples.txt
  shell echo 'a;b' > two.txt
  tool TaskUpdate {"taskId":"2","status":"completed","result":"used"}
  say All done.
on "use the format"
  shell echo 'a,b' > two.txt
  tool TaskUpdate {"taskId":"2","status":"completed","result":"used"}
  say All done.
"#;

fn taken(kind: &Kind, hands_over: bool) -> Taken {
    let handoff = match hands_over {
        true => {
            r#","handoff":{"done":["samples.txt"],"surprises":["the separator is a semicolon"]}"#
        }
        false => "",
    };
    let server = Server::start(&GUESSES.replace("HANDOFF", handoff));
    let mut stage = stage(kind, &server);
    let gate = vec!["test ! -e two.txt || grep -q ';' two.txt".to_owned()];
    stage.team(Setup { gate, ..Setup::default() }, &[]);
    for name in ["ana", "bo"] {
        stage.add(name, |mut add| {
            (add.command, add.agent) = (String::new(), kind.agent.to_owned());
            add
        });
    }
    let new = |subject: &str, assignee: &str| TaskNew {
        subject: subject.to_owned(),
        assignee: Some(assignee.to_owned()),
        ..TaskNew::default()
    };
    stage.create(vec![new("find the format", "ana")]);
    let after = vec!["1".to_owned()];
    stage.create(vec![TaskNew { blocked_by: after, ..new("use the format", "bo") }]);
    stage.finished(2);
    assert_eq!(stage.file("two.txt"), "a;b\n");
    let requests = server.requests();
    let of_bo = requests.iter().filter(|request| request.actor.as_deref() == Some("bo"));
    let bytes: Vec<usize> = of_bo.map(|request| request.body.to_string().len()).collect();
    let tokens = bytes.iter().sum::<usize>() / 4;
    Taken { attempts: stage.task(2).retries + 1, requests: bytes.len(), tokens }
}

fn saves(kind: &Kind) {
    let [with, without] = [true, false].map(|hands_over| taken(kind, hands_over));
    for (how, taken) in [("with", &with), ("without", &without)] {
        println!(
            "{}, {how} a handoff: attempts {}, requests {}, tokens in {}",
            kind.agent, taken.attempts, taken.requests, taken.tokens
        );
    }
    assert_eq!((with.attempts, without.attempts), (1, 2));
    assert!(with.requests < without.requests && with.tokens < without.tokens);
}

#[test]
fn a_handoff_saves_the_next_claude_an_attempt() {
    saves(&CLAUDE);
}

#[test]
fn a_handoff_saves_the_next_codex_an_attempt() {
    saves(&CODEX);
}
