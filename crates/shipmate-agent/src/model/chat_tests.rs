//! Streams as text in, replies as text out; conversations in, requests out.

use serde_json::{Value, json};
use shipmate_protocol::native::Offered;

use super::super::incoming::Protocol;
use super::super::rendered::{REQUEST, plain, says, streamed};
use super::*;
use crate::message::{Arguments, Call, CallResult};

fn read(events: &str) -> String {
    streamed(Protocol::Chat, events)
}

/// The blocks of a reply whose chunks carry these deltas.
fn deltas(deltas: &[Value]) -> String {
    let chunks = deltas.iter().map(|delta| json!({"choices": [{"index": 0, "delta": delta}]}));
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let chunks = chunks.chain([end]).map(|chunk| chunk.to_string());
    let read = read(&chunks.chain([DONE.to_owned()]).collect::<Vec<_>>().join("\n"));
    let (blocks, _) = read.rsplit_once('\n').unwrap_or_default();
    blocks.to_owned()
}

fn pieces(pieces: &[Value]) -> String {
    deltas(&pieces.iter().map(|piece| json!({"tool_calls": [piece]})).collect::<Vec<_>>())
}

#[test]
fn a_stream_with_everything_in_it_is_one_reply() {
    let read = read(
        r#"
        {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}
        {"choices":[{"index":0,"delta":{"reasoning_content":"Two "}}]}
        {"choices":[{"index":0,"delta":{"reasoning_content":"files."}}]}
        {"choices":[{"index":0,"delta":{"content":"I read bo"}}]}
        {"choices":[{"index":0,"delta":{"content":"th: é."}}]}
        {"choices":[{"index":0,"delta":{
            "tool_calls":[{"index":0,
            "id":"call_0","type":"function","function":{"name":"read_file","arguments":""}}]}}]}
        {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\""}}]}}]}
        {"choices":[{"index":0,"delta":{
            "tool_calls":[{"index":1,
            "id":"call_1","type":"function","function":{"name":"bash","arguments":""}}]}}]}
        {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,
            "function":{"arguments":"{\"command\":\"ls\"}"}}]}}]}
        {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":\"a\"}"}}]}}]}
        {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}
        {"choices":[],"usage":{"prompt_tokens":1032,"completion_tokens":89,
            "prompt_tokens_details":{"cached_tokens":1000}}}
        [DONE]
        "#,
    );
    let expected = [
        "thinks Two files. []",
        "says I read both: é.",
        r#"calls read_file {"path":"a"}"#,
        r#"calls bash {"command":"ls"}"#,
        "Calls: 32 in, 89 out, 1000 read, 0 written",
    ];
    assert_eq!(read, expected.join("\n"));
}

#[test]
fn calls_are_told_apart_however_a_server_sends_them() {
    let two = "calls a {\"x\":1}\ncalls b {\"y\":2}";
    let call = |index: Option<u64>, id: Option<&str>, name: &str, arguments: &str| {
        let mut piece = json!({"function": {"name": name, "arguments": arguments}});
        if let Some(index) = index {
            piece["index"] = index.into();
        }
        if let Some(id) = id {
            piece["id"] = id.into();
        }
        piece
    };
    let more = |arguments: &str| json!({"function": {"arguments": arguments}});
    let whole = |index: fn(u64) -> Option<u64>, ids: [Option<&str>; 2]| {
        [call(index(0), ids[0], "a", r#"{"x":1}"#), call(index(1), ids[1], "b", r#"{"y":2}"#)]
    };
    let ids = [Some("i"), Some("j")];
    // Whole calls: with and without index, one index for all, ids that are empty, the same, absent.
    for index in [(|at| Some(at)) as fn(u64) -> Option<u64>, |_| Some(0), |_| None] {
        for ids in [ids, [Some("i"), Some("i")], [Some(""), Some("")], [None, None]] {
            assert_eq!(pieces(&whole(index, ids)), two, "with {ids:?} and {:?}", index(1));
        }
    }
    assert_eq!(deltas(&[json!({"tool_calls": whole(|_| None, [None, None])})]), two);
    // Pieces without an index.
    let cut = [
        call(None, Some("i"), "a", ""),
        more(r#"{"x""#),
        more(":1}"),
        call(None, Some("j"), "b", r#"{"y"#),
        more(r#"":2}"#),
    ];
    assert_eq!(pieces(&cut), two);
    // Id and name with every piece.
    let repeated = [
        call(Some(0), Some("i"), "a", r#"{"x""#),
        call(Some(0), Some("i"), "a", ":1}"),
        call(Some(0), Some("i"), "a", ""),
        call(Some(1), Some("j"), "b", r#"{"y":2}"#),
    ];
    assert_eq!(pieces(&repeated), two);
    // The same tool twice, without ids.
    let same = [call(None, None, "a", r#"{"x":1}"#), call(None, None, "a", r#"{"x":2}"#)];
    assert_eq!(pieces(&same), "calls a {\"x\":1}\ncalls a {\"x\":2}");
}

#[test]
fn arguments_may_be_missing_an_object_or_broken() {
    assert_eq!(pieces(&[json!({"index": 0, "function": {"name": "a"}})]), "calls a {}");
    let object = json!({"function": {"name": "a", "arguments": {"x": 1}}});
    assert_eq!(pieces(&[object]), "calls a {\"x\":1}");
    let broken = json!({"function": {"name": "a", "arguments": "{'x': 1}"}});
    let expected = r#"calls a broken "{'x': 1}": key must be a string at line 1 column 2"#;
    assert_eq!(pieces(&[broken]), expected);
}

#[test]
fn calls_have_an_end() {
    let piece = |index: u64| json!({"index": index, "function": {"name": "a"}});
    assert_eq!(pieces(&(0..500).map(piece).collect::<Vec<_>>()).lines().count(), 500);
    let many: Vec<Value> = (0..501).map(piece).collect();
    let chunk = json!({"choices": [{"delta": {"tool_calls": many}}]});
    assert_eq!(read(&chunk.to_string()), "TooLarge(\"one reply has more than 500 calls\")");
}

#[test]
fn content_and_reasoning_have_several_forms() {
    let parts = json!([
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "a"},
    ]);
    assert_eq!(deltas(&[json!({"content": parts})]), "thinks hm []\nsays a");
    assert_eq!(deltas(&[json!({"reasoning": "hm", "content": null})]), "thinks hm []");
    assert_eq!(deltas(&[json!({"content": "a", "tool_calls": null})]), "says a");
    let both = json!({"choices": [{"delta": {"content": "a"}, "message": {"content": "a"}}]});
    assert!(read(&format!("{both}\n[DONE]")).starts_with("says a\nEnded"));
}

#[test]
fn a_reply_stops_for_a_reason() {
    let table = [
        ("stop", "Ended"),
        ("length", "Length"),
        ("tool_calls", "Calls"),
        ("content_filter", "Refused"),
        ("something_new", "Ended"),
    ];
    for (reason, expected) in table {
        let chunk = json!({"choices": [{"delta": {"content": "a"}, "finish_reason": reason}]});
        let expected = format!("says a\n{expected}: 0 in, 0 out, 0 read, 0 written");
        assert_eq!(read(&chunk.to_string()), expected);
    }
    let refusal = json!({"choices": [{"delta": {"refusal": "No."}, "finish_reason": "stop"}]});
    assert!(read(&refusal.to_string()).starts_with("says No.\nRefused: "));
}

#[test]
fn a_stream_is_whole_with_its_reason_or_its_mark_and_cut_without_both() {
    let said = r#"{"choices":[{"delta":{"content":"a"}}]}"#;
    assert_eq!(read(said), "Cut");
    assert!(read(&format!("{said}\n[DONE]")).starts_with("says a\nEnded"));
    assert!(read(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#).starts_with("Ended"));
}

#[test]
fn an_error_in_its_midst_is_told() {
    let said = r#"{"choices":[{"delta":{"content":"a"}}]}"#;
    let failed = read(&format!("{said}\n{}", r#"{"error":{"message":"gone","code":502}}"#));
    assert!(failed.starts_with("Told(Told { status: 502, "), "{failed}");
    let failed = read(r#"{"choices":[{"delta":{"content":""},"finish_reason":"error"}]}"#);
    assert!(failed.contains("the answer ended with error"), "{failed}");
    let choice = r#"{"choices":[{"message":{"content":"a"},"error":{"code":429,"message":"slow"},
        "finish_reason":"error"}]}"#;
    assert!(plain(Protocol::Chat, choice).starts_with("Told(Told { status: 429, "));
}

#[test]
fn an_answer_that_was_not_streamed_is_the_same_reply() {
    let answer = r#" {"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",
        "content":"a","reasoning_content":"t","tool_calls":[{"id":"x","type":"function",
        "function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]},"finish_reason":"tool_calls"}],
        "usage":{"prompt_tokens":3,"completion_tokens":4,"prompt_cache_hit_tokens":2}}"#;
    let expected = "thinks t []\nsays a\ncalls bash {\"command\":\"ls\"}\n\
                    Calls: 1 in, 4 out, 2 read, 0 written";
    assert_eq!(plain(Protocol::Chat, answer), expected);
}

fn called(id: &str, arguments: Arguments) -> Block {
    Block::Call(Call { id: id.to_owned(), tool: "read_file".to_owned(), arguments })
}

fn conversation() -> Vec<Message> {
    let result = |id: &str, text: &str, is_error: bool| {
        let (id, text) = (id.to_owned(), text.to_owned());
        Block::Result(CallResult { id, tool: "read_file".to_owned(), text, is_error })
    };
    let broken = Arguments::Broken { text: "{".to_owned(), reason: "EOF".to_owned() };
    vec![
        Message::user("begin"),
        Message::assistant(vec![
            Block::Thinking { text: "hm".to_owned(), signature: String::new() },
            Block::Sealed("c2VhbA==".to_owned()),
            called("a", Arguments::Json(json!({"path": "a"}))),
            Block::Sealed(r#"{"extra_content":{"google":{"thought_signature":"s"}}}"#.to_owned()),
            called("b", broken),
        ]),
        Message { role: Role::User, blocks: vec![result("a", "one", false)] },
        Message::user("a message"),
        Message { role: Role::User, blocks: vec![result("b", "bad", true)] },
        says(" "),
        says("done"),
    ]
}

#[test]
fn a_conversation_is_sent_with_results_right_after_their_calls() {
    let messages = conversation();
    let request = Request { messages: &messages, system: "Who.", ..REQUEST };
    let sent = body("big-1", &request, &Quirks::default());
    let expected = json!([
        {"role": "system", "content": "Who."},
        {"role": "user", "content": "begin"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function",
                "function": {"name": "read_file", "arguments": "{\"path\":\"a\"}"}},
            {"id": "b", "type": "function", "extra_content": {"google": {"thought_signature": "s"}},
                "function": {"name": "read_file", "arguments": "{\"unreadable\":\"{\"}"}},
        ]},
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "tool", "tool_call_id": "b", "content": "Error: bad"},
        {"role": "user", "content": "a message"},
        {"role": "assistant", "content": "done"},
    ]);
    assert_eq!(sent["messages"], expected);
    assert_eq!(sent["max_tokens"], 8_000);
    assert_eq!(sent["stream_options"], json!({"include_usage": true}));
    assert_eq!(sent.get("tools"), None);
}

#[test]
fn tools_are_functions_and_quirks_change_the_request() {
    let tools = [Offered {
        name: "bash".to_owned(),
        description: "runs".to_owned(),
        input_schema: json!({"type": "object"}),
    }];
    let messages = conversation();
    let request = Request { tools: &tools, messages: &messages, ..REQUEST };
    let quirks = Quirks {
        completion_tokens: true,
        no_stream_options: true,
        reasoning_back: true,
        ..Quirks::default()
    };
    let sent = body("big-1", &request, &quirks);
    let function = json!({"name": "bash", "description": "runs", "parameters": {"type": "object"}});
    assert_eq!(sent["tools"], json!([{"type": "function", "function": function}]));
    assert_eq!((sent.get("max_tokens"), sent.get("stream_options")), (None, None));
    assert_eq!(sent["max_completion_tokens"], 8_000);
    assert_eq!(sent["messages"][1]["reasoning_content"], "hm");
}

#[test]
fn what_a_provider_wants_back_with_a_call_comes_back() {
    let extra = json!({"google": {"thought_signature": "s"}});
    let piece = json!({"index": 0, "id": "x", "extra_content": extra,
        "function": {"name": "a", "arguments": "{}"}});
    let expected =
        "sealed {\"extra_content\":{\"google\":{\"thought_signature\":\"s\"}}}\ncalls a {}";
    assert_eq!(pieces(&[piece]), expected);
}
