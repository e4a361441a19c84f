//! Recordings as text in, replies as text out.

use shipmate_protocol::native::Window;

use super::super::rendered::{REQUEST, says};
use super::*;
use crate::message::CallResult;

/// One rule a line, but for what stands below it.
const RECORDING: &str = r#"
{"on": ["task 1"], "as": "You are ana", "replies": [
    {"text": "I begin.", "calls": [
        {"tool": "bash", "arguments": {"command": "ls"}}, {"tool": "TaskList"}]},
    {"text": "It is done."}]}
{"on": ["task 1"], "replies": [{"text": "Not mine."}]}
{"on": ["hello", "again"], "replies": [{"text": "Hello again.", "wait_ms": 1}]}
"#;

struct Unwatched;

impl Watch for Unwatched {
    fn busy(&mut self, bytes: u64) {
        assert!(bytes > 0);
    }

    fn waits(&mut self, why: &str, _left: Duration) {
        panic!("a recording never waits for others: {why}");
    }

    fn windows(&mut self, _: Vec<Window>) {}

    fn broke_off(&mut self, _: Tokens) {}
}

async fn ask(system: &str, messages: &[Message]) -> Reply {
    let recording = Recording::parse(&RECORDING.replace("\n    ", "")).unwrap();
    recording.ask(&Request { system, messages, ..REQUEST }, &mut Unwatched).await
}

fn text(reply: &Reply) -> String {
    Message::assistant(reply.blocks.clone()).text()
}

fn results() -> Message {
    let (id, tool, text) = (String::new(), String::new(), "task 1 hello again".to_owned());
    let result = CallResult { id, tool, text, is_error: false };
    Message { role: Role::User, blocks: vec![Block::Result(result)] }
}

#[tokio::test]
async fn the_reply_follows_from_the_conversation() {
    let mut messages = vec![Message::user("Please do task 1.")];
    let first = ask("You are ana.", &messages).await;
    assert_eq!((text(&first).as_str(), first.stop), ("I begin.", Stop::Calls));
    assert_eq!(first, ask("You are ana.", &messages).await, "the same again");
    assert_eq!(text(&ask("You are bo.", &messages).await), "Not mine.");

    messages.push(Message::assistant(first.blocks.clone()));
    messages.push(results());
    let second = ask("You are ana.", &messages).await;
    assert_eq!((text(&second).as_str(), second.stop), ("It is done.", Stop::Ended));

    messages.push(says("It is done."));
    assert_eq!(text(&ask("You are ana.", &messages).await), "Done.");
}

#[tokio::test]
async fn the_newest_text_that_a_rule_is_about_decides() {
    let mut messages =
        vec![Message::user("task 1"), says("I begin."), Message::user("hello, and again hello")];
    assert_eq!(text(&ask("You are ana.", &messages).await), "Hello again.");
    messages.push(says("Hello again."));
    messages.push(Message::user("nobody knows this"));
    assert_eq!(text(&ask("You are ana.", &messages).await), "Done.");
    let unknown = [Message::user("hello")];
    assert_eq!(text(&ask("", &unknown).await), "Done.");
    assert_eq!(text(&ask("", &[]).await), "Done.");
}

#[tokio::test]
async fn calls_have_ids_that_differ_and_replies_have_counts() {
    let mut messages = vec![Message::user("task 1")];
    let first = ask("You are ana.", &messages).await;
    messages.insert(0, Message::user("before"));
    let later = ask("You are ana.", &messages).await;
    let ids = |reply: &Reply| -> Vec<String> {
        Message::assistant(reply.blocks.clone()).calls().map(|call| call.id.clone()).collect()
    };
    let mut all = [ids(&first), ids(&later)].concat();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4, "{all:?}");
    assert!(first.tokens.input > 0 && first.tokens.output > 0);
    let [_, Block::Call(bash), Block::Call(list)] = &first.blocks[..] else { panic!("{first:?}") };
    assert_eq!(bash.arguments, Arguments::Json(json!({"command": "ls"})));
    assert_eq!(list.arguments, Arguments::Json(json!({})));
}

#[test]
fn a_wrong_line_is_named() {
    let wrong = |text: &str| Recording::parse(text).unwrap_err();
    assert_eq!(wrong("\n{\"on\": []}").0, 2);
    assert!(
        wrong("{\"on\": [], \"replies\": [{\"say\": \"a\"}]}").1.contains("unknown field `say`")
    );
    assert!(wrong("no").1.contains("expected"));
    let missing = Recording::open(Path::new("/nowhere/model.jsonl")).unwrap_err().to_string();
    assert!(missing.starts_with("the recorded model /nowhere/model.jsonl cannot be read"));
}
