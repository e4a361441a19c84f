//! Both protocols on the scripted model: what it asks for comes back in the next request.

use serde_json::{Value, json};
use shipmate_agent::message::{Arguments, Block, CallResult, Message, Role};
use shipmate_agent::model::{Failure, Reply, Stop, Tokens};
use shipmate_testkit::model::Server;

use crate::{Folder, Seen, ask, model, text};

const SCRIPT: &str = r#"
on "go"
  think Two things at once.
  usage 120 30
  say I look.
  tool bash {"command":"ls"}
  & tool read_file {"path":"a"}
  say Done.
"#;

/// A question, the calls of the answer carried out, and what was said then.
async fn conversation(protocol: &str, server: &Server) -> (Vec<Message>, Reply, Reply) {
    let pools = Folder::new();
    let model = model(protocol, &base(protocol, server), &pools);
    let mut messages = vec![Message::user("go")];
    let mut seen = Seen::default();
    let first = ask(&model, &messages, &mut seen).await.unwrap();
    assert!(seen.bytes > 0, "bytes are seen as they come");
    messages.push(Message::assistant(first.blocks.clone()));
    let results = messages[1].calls().map(|call| {
        let (id, tool) = (call.id.clone(), call.tool.clone());
        let is_error = tool == "read_file";
        Block::Result(CallResult { text: format!("{tool} ran"), id, tool, is_error })
    });
    let blocks = results.collect();
    messages.push(Message { role: Role::User, blocks });
    let second = ask(&model, &messages, &mut seen).await.unwrap();
    assert_eq!(seen.waits, [""; 0], "nothing was waited for");
    (messages, first, second)
}

fn base(protocol: &str, server: &Server) -> String {
    match protocol {
        "openai" => format!("{}/v1", server.url()),
        _ => server.url(),
    }
}

fn calls(reply: &Reply) -> Vec<(String, Value)> {
    let message = Message::assistant(reply.blocks.clone());
    let calls = message.calls().map(|call| match &call.arguments {
        Arguments::Json(value) => (call.tool.clone(), value.clone()),
        broken => panic!("{broken:?}"),
    });
    calls.collect()
}

fn check(first: &Reply, second: &Reply) {
    assert_eq!((text(first).as_str(), text(second).as_str()), ("I look.", "Done."));
    let expected =
        [("bash".into(), json!({"command": "ls"})), ("read_file".into(), json!({"path": "a"}))];
    assert_eq!(calls(first), expected);
    assert_eq!((first.stop, second.stop), (Stop::Calls, Stop::Ended));
    assert_eq!(first.tokens, Tokens { input: 120, output: 30, ..Tokens::default() });
    assert_eq!(second.tokens, Tokens { input: 100, output: 10, ..Tokens::default() });
}

#[tokio::test]
async fn anthropic_thinks_calls_tools_at_once_and_hears_of_both() {
    let server = Server::start(SCRIPT);
    let (messages, first, second) = conversation("anthropic", &server).await;
    check(&first, &second);
    let thinking = Block::Thinking {
        text: "Two things at once.".to_owned(),
        signature: "c2NyaXB0".to_owned(),
    };
    assert_eq!(first.blocks[0], thinking);

    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].path, "/v1/messages");
    assert_eq!(requests[0].header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(requests[0].body["thinking"], json!({"type": "enabled", "budget_tokens": 2_000}));
    let ids: Vec<&str> = messages[1].calls().map(|call| call.id.as_str()).collect();
    let expected = json!([
        {"role": "user", "content": [
            {"type": "text", "text": "go", "cache_control": {"type": "ephemeral"}},
        ]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Two things at once.", "signature": "c2NyaXB0"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": ids[0], "name": "bash", "input": {"command": "ls"}},
            {"type": "tool_use", "id": ids[1], "name": "read_file", "input": {"path": "a"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": ids[0], "content": "bash ran"},
            {"type": "tool_result", "tool_use_id": ids[1], "content": "read_file ran",
                "is_error": true, "cache_control": {"type": "ephemeral"}},
        ]},
    ]);
    assert_eq!(requests[1].body["messages"], expected);
}

#[tokio::test]
async fn chat_thinks_calls_tools_at_once_and_hears_of_both() {
    let server = Server::start(SCRIPT);
    let (messages, first, second) = conversation("openai", &server).await;
    check(&first, &second);
    let thinking =
        Block::Thinking { text: "Two things at once.".to_owned(), signature: String::new() };
    assert_eq!(first.blocks[0], thinking);

    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].path, "/v1/chat/completions");
    let ids: Vec<&str> = messages[1].calls().map(|call| call.id.as_str()).collect();
    let function = |id: &str, name: &str, arguments: &str| {
        let function = json!({"name": name, "arguments": arguments});
        json!({"id": id, "type": "function", "function": function})
    };
    let expected = json!([
        {"role": "system", "content": "You are ana."},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "I look.", "tool_calls": [
            function(ids[0], "bash", r#"{"command":"ls"}"#),
            function(ids[1], "read_file", r#"{"path":"a"}"#),
        ]},
        {"role": "tool", "tool_call_id": ids[0], "content": "bash ran"},
        {"role": "tool", "tool_call_id": ids[1], "content": "Error: read_file ran"},
    ]);
    assert_eq!(requests[1].body["messages"], expected);
}

#[tokio::test]
async fn what_passes_by_itself_is_asked_again_until_it_has_passed() {
    let script = r#"
on "go"
  error 529 Overloaded
  error 500 Broken
  error 429 retry-after 0 Slow down
  cut
  say Here I am, after all of that.
"#;
    for protocol in ["anthropic", "openai"] {
        let server = Server::start(script);
        let pools = Folder::new();
        let model = model(protocol, &base(protocol, &server), &pools);
        let mut seen = Seen::default();
        let reply = ask(&model, &[Message::user("go")], &mut seen).await.unwrap();
        assert_eq!(text(&reply), "Here I am, after all of that.");
        assert_eq!(server.requests().len(), 5, "of {protocol}");
        let expected = [
            "acme is overloaded (529): Overloaded: again in 0 ms, attempt 2 of 8",
            "acme failed (500): Broken: again in 0 ms, attempt 3 of 8",
            "acme has had too many requests with this key (429): Slow down: again in 0 ms, \
             attempt 4 of 8",
        ];
        assert_eq!(seen.waits[..3], expected, "of {protocol}");
        assert!(seen.waits[3].starts_with("the answer of acme broke off: "), "{:?}", seen.waits);
        assert_eq!(seen.waits.len(), 4);
    }
}

#[tokio::test]
async fn what_does_not_pass_is_told_with_the_number_of_attempts() {
    for protocol in ["anthropic", "openai"] {
        let server = Server::start("on \"go\"\n  error always 503 Down\n  say no");
        let pools = Folder::new();
        let model = model(protocol, &base(protocol, &server), &pools);
        let failure = ask(&model, &[Message::user("go")], &mut Seen::default()).await.unwrap_err();
        let Failure::Later { text, .. } = failure else { panic!("{failure:?}") };
        assert_eq!(text, "acme is overloaded (503): Down (8 attempts)");
        assert_eq!(server.requests().len(), 8);
    }
}
