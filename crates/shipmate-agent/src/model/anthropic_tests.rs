//! Streams as text in, replies as text out; conversations in, requests out.

use serde_json::{Value, json};
use shipmate_protocol::native::Offered;

use super::super::incoming::Protocol;
use super::super::rendered::{REQUEST, plain, says, streamed};
use super::*;
use crate::message::{Arguments, Call, CallResult};

fn read(events: &str) -> String {
    streamed(Protocol::Anthropic, events)
}

fn sent(request: &Request<'_>) -> Value {
    body("big-1", request, &Quirks::default())
}

fn calls(id: &str) -> Block {
    let arguments = Arguments::Json(json!({"path": id}));
    Block::Call(Call { id: id.to_owned(), tool: "read_file".to_owned(), arguments })
}

fn result(id: &str, text: &str, is_error: bool) -> Block {
    let (id, text) = (id.to_owned(), text.to_owned());
    Block::Result(CallResult { id, tool: "read_file".to_owned(), text, is_error })
}

fn thinks(text: &str, signature: &str) -> Block {
    Block::Thinking { text: text.to_owned(), signature: signature.to_owned() }
}

#[test]
fn a_stream_with_everything_in_it_is_one_reply() {
    let read = read(
        r#"
        {"type":"message_start","message":{"model":"big-1-2026",
            "usage":{"input_tokens":25,"cache_creation_input_tokens":7,
            "cache_read_input_tokens":1000,"output_tokens":1}}}
        {"type":"content_block_start","index":0,
            "content_block":{"type":"thinking","thinking":"","signature":""}}
        {"type":"ping"}
        {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Two fi"}}
        {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"les."}}
        {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}
        {"type":"content_block_stop","index":0}
        {"type":"content_block_start","index":1,
            "content_block":{"type":"redacted_thinking","data":"c2VhbA=="}}
        {"type":"content_block_stop","index":1}
        {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}
        {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I read bo"}}
        {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"th: é."}}
        {"type":"content_block_stop","index":2}
        {"type":"content_block_start","index":3,
            "content_block":{"type":"tool_use","id":"toolu_1","name":"read_file","input":{}}}
        {"type":"content_block_start","index":4,
            "content_block":{"type":"tool_use","id":"toolu_2","name":"bash","input":{}}}
        {"type":"content_block_delta","index":4,
            "delta":{"type":"input_json_delta","partial_json":"{\"comm"}}
        {"type":"content_block_delta","index":3,
            "delta":{"type":"input_json_delta","partial_json":"{\"path\":\"a\"}"}}
        {"type":"content_block_delta","index":4,
            "delta":{"type":"input_json_delta","partial_json":"and\":\"ls\"}"}}
        {"type":"content_block_stop","index":3}
        {"type":"content_block_stop","index":4}
        {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":89}}
        {"type":"message_stop"}
        "#,
    );
    let expected = [
        "thinks Two files. [EqQB]",
        "sealed c2VhbA==",
        "says I read both: é.",
        r#"calls read_file {"path":"a"}"#,
        r#"calls bash {"command":"ls"}"#,
        "Calls: 25 in, 89 out, 1000 read, 7 written, by big-1-2026",
    ];
    assert_eq!(read, expected.join("\n"));
}

/// The reply to one call whose arguments come in these pieces.
fn one_call(pieces: &[&str], stop: &str) -> String {
    let mut events = vec![
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "tool_use", "name": "bash", "input": {}}}),
    ];
    events.extend(pieces.iter().map(|piece| {
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": piece}})
    }));
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop}}));
    events.push(json!({"type": "message_stop"}));
    let events: Vec<String> = events.iter().map(Value::to_string).collect();
    read(&events.join("\n")).lines().next().unwrap().to_owned()
}

#[test]
fn arguments_that_are_no_object_are_broken_in_an_otherwise_whole_reply() {
    let cut = "the answer was cut here: it was longer than it may be";
    assert_eq!(one_call(&[], "tool_use"), "calls bash {}");
    assert_eq!(one_call(&["", ""], "tool_use"), "calls bash {}");
    let wrong = r#"calls bash broken "{\"a\":": EOF while parsing a value at line 1 column 5"#;
    assert_eq!(one_call(&["{\"a", "\":"], "tool_use"), wrong);
    assert_eq!(
        one_call(&["[", "]"], "tool_use"),
        r#"calls bash broken "[]": this is no JSON object"#
    );
    assert_eq!(one_call(&["{\"a"], "max_tokens"), format!(r#"calls bash broken "{{\"a": {cut}"#));
    assert_eq!(one_call(&[], "max_tokens"), format!(r#"calls bash broken "": {cut}"#));
}

#[test]
fn a_reply_stops_for_a_reason() {
    let table = [
        ("end_turn", "Ended"),
        ("stop_sequence", "Ended"),
        ("tool_use", "Calls"),
        ("max_tokens", "Length"),
        ("model_context_window_exceeded", "Length"),
        ("refusal", "Refused"),
        ("something_new", "Ended"),
    ];
    for (reason, expected) in table {
        let delta = json!({"type": "message_delta", "delta": {"stop_reason": reason}});
        let read = read(&format!("{delta}\n{{\"type\":\"message_stop\"}}"));
        assert_eq!(read, format!("{expected}: 0 in, 0 out, 0 read, 0 written"));
    }
}

#[test]
fn what_breaks_off_or_fails_in_its_midst_is_no_reply() {
    let begun =
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}"#;
    assert_eq!(read(begun), "Cut");
    let overloaded =
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let failed = read(&format!("{begun}\n{overloaded}"));
    assert!(failed.starts_with("Told(Told { status: 529, "), "{failed}");
    let stray =
        r#"{"type":"content_block_delta","index":5,"delta":{"type":"text_delta","text":"a"}}"#;
    assert_eq!(read(stray), r#"Malformed("a part goes on that never began")"#);
}

#[test]
fn kinds_that_nobody_asked_for_are_passed_over() {
    let read = read(
        r#"
        {"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","name":"x"}}
        {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}}
        {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}
        {"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{}}}
        {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a"}}
        {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}
        {"type":"news"}
        {"type":"message_delta","delta":{"stop_reason":"end_turn"}}
        "#,
    );
    assert_eq!(read, "says a\nEnded: 0 in, 0 out, 0 read, 0 written");
}

#[test]
fn an_answer_that_was_not_streamed_is_the_same_reply() {
    let answer = r#"{"type":"message","content":[{"type":"thinking","thinking":"t","signature":"s"},
        {"type":"text","text":"a"},{"type":"tool_use","id":"x","name":"bash","input":{"command":"ls"}}],
        "stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}"#;
    let expected = "thinks t [s]\nsays a\ncalls bash {\"command\":\"ls\"}\n\
                    Calls: 3 in, 4 out, 0 read, 0 written";
    assert_eq!(plain(Protocol::Anthropic, answer), expected);
}

#[test]
fn results_come_first_in_one_message_and_sides_take_turns() {
    let messages = [
        Message::user("begin"),
        Message::assistant(vec![
            thinks("hm", "c2ln"),
            thinks("unsealed", ""),
            Block::Sealed("c2VhbA==".to_owned()),
            Block::Sealed("{\"extra_content\":1}".to_owned()),
            Block::Text(" \n".to_owned()),
            calls("a"),
            calls("b"),
        ]),
        Message { role: Role::User, blocks: vec![result("a", "one", false)] },
        Message::user("a message"),
        Message { role: Role::User, blocks: vec![result("b", "", true)] },
        says(""),
        says("done"),
        says("really"),
        Message::user("go on"),
    ];
    let sent = sent(&Request { messages: &messages, ..REQUEST });
    let mark = json!({"type": "ephemeral"});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "read_file", "input": {"path": id}});
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "begin"}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "c2VhbA=="},
            call("a"), call("b"),
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "one"},
            {"type": "tool_result", "tool_use_id": "b", "content": "(no output)", "is_error": true},
            {"type": "text", "text": "a message", "cache_control": mark},
        ]},
        {"role": "assistant", "content": [
            {"type": "text", "text": "done"}, {"type": "text", "text": "really"},
        ]},
        {"role": "user", "content": [{"type": "text", "text": "go on", "cache_control": mark}]},
    ]);
    assert_eq!(sent["messages"], expected);
}

#[test]
fn what_stays_alike_is_marked_for_the_cache_at_most_four_times() {
    let offered = |name: &str| Offered {
        name: name.to_owned(),
        description: "does".to_owned(),
        input_schema: json!({"type": "object"}),
    };
    let tools = [offered("a"), offered("b")];
    let turns = (0..5).flat_map(|turn| [Message::user(format!("u{turn}")), says("a")]);
    let messages: Vec<Message> = turns.chain([Message::user("last")]).collect();
    let request = Request { tools: &tools, system: "Who.", messages: &messages, ..REQUEST };
    let body = sent(&request);
    let mark = json!({"type": "ephemeral"});
    assert_eq!(body["system"], json!([{"type": "text", "text": "Who.", "cache_control": mark}]));
    assert_eq!(body["tools"][0].get("cache_control"), None);
    assert_eq!(body["tools"][1]["cache_control"], mark);
    assert_eq!(body["messages"][10]["content"][0]["cache_control"], mark);
    assert_eq!(body.to_string().matches("cache_control").count(), 4);
    let bare = sent(&Request { messages: &messages, ..REQUEST });
    assert_eq!((bare.get("system"), bare.get("tools")), (None, None));
}

#[test]
fn thinking_leaves_room_for_the_answer() {
    let messages = [Message::user("go")];
    let table = [
        (0, 8_000, None),
        (4_000, 8_000, Some(4_000)),
        (100, 8_000, Some(1_024)),
        (32_000, 8_000, Some(6_976)),
        (4_000, 2_000, None),
    ];
    for (thinking_tokens, output_tokens_max, budget) in table {
        let request =
            Request { messages: &messages, thinking_tokens, output_tokens_max, ..REQUEST };
        let body = sent(&request);
        let expected = budget.map(|budget| json!({"type": "enabled", "budget_tokens": budget}));
        assert_eq!(body.get("thinking"), expected.as_ref(), "of {thinking_tokens}");
        assert_eq!(body["max_tokens"], output_tokens_max);
    }
}

#[test]
fn a_turn_that_began_without_thinking_ends_without_it() {
    let thinking = |blocks: Vec<Block>| {
        let results = Message { role: Role::User, blocks: vec![result("a", "one", false)] };
        let messages = [Message::user("go"), Message::assistant(blocks), results];
        let request = Request { messages: &messages, thinking_tokens: 2_000, ..REQUEST };
        sent(&request).get("thinking").is_some()
    };
    assert!(!thinking(vec![calls("a")]));
    assert!(!thinking(vec![thinks("of another model", ""), calls("a")]));
    assert!(thinking(vec![thinks("hm", "c2ln"), calls("a")]));
    assert!(thinking(vec![Block::Sealed("c2VhbA==".to_owned()), calls("a")]));
    assert!(thinking(vec![Block::Text("done".to_owned())]));
    let adaptive = Quirks { adaptive_thinking: true, ..Quirks::default() };
    let messages = [Message::user("go")];
    let request = Request { messages: &messages, thinking_tokens: 2_000, ..REQUEST };
    assert_eq!(body("m", &request, &adaptive)["thinking"], json!({"type": "adaptive"}));
}
