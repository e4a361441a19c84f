//! Each wire format, read from and written to bytes as the real programs have them.

use super::super::conversation::{Call, Entry, Input, Kind};
use super::super::script::Usage;
use super::*;

fn gemini() -> Wire {
    Wire::Gemini { model: "gemini-2.5-pro".to_owned(), streams: true }
}

fn reply() -> Reply {
    Reply {
        id: "7".to_owned(),
        model: "m".to_owned(),
        think: None,
        say: Some("I run".to_owned()),
        calls: vec![Call {
            name: "Bash".to_owned(),
            namespace: None,
            input: Input::Json(json!({"command": "ls"})),
        }],
        usage: Usage { input: 3, output: 4 },
    }
}

/// The data of every event, with its name checked where there is one.
fn events(wire: &Wire, reply: &Reply) -> Vec<Value> {
    let stream = wire.stream(reply).concat();
    let blocks = stream.split("\n\n").filter(|block| !block.is_empty());
    let events = blocks.map(|block| {
        let (name, data) = match block.split_once('\n') {
            Some((name, data)) => (name.strip_prefix("event: "), data),
            None => (None, block),
        };
        let data = data.strip_prefix("data: ").unwrap();
        let data = serde_json::from_str(data).unwrap_or_else(|_| json!(data));
        assert!(name.is_none_or(|name| data["type"] == name), "{block}");
        data
    });
    events.collect()
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

fn user(text: &str) -> Entry {
    Entry::User(text.to_owned())
}

fn model(text: &str, calls: usize) -> Entry {
    Entry::Model { text: text.to_owned(), calls }
}

fn result(text: &str) -> Entry {
    Entry::Result(text.to_owned())
}

#[test]
fn a_path_says_what_is_asked_whatever_stands_before_it() {
    assert_eq!(asked("POST", "/v1/messages"), Asked::Reply(Wire::Anthropic));
    assert_eq!(asked("POST", "/anthropic/v1/messages/count_tokens"), Asked::Count);
    assert_eq!(asked("POST", "/v1/chat/completions"), Asked::Reply(Wire::Chat));
    assert_eq!(asked("POST", "/responses"), Asked::Reply(Wire::Responses));
    assert_eq!(asked("GET", "/v1/responses"), Asked::Other);
    assert_eq!(asked("GET", "/v1/models"), Asked::Models);
    let path = "/v1beta/models/gemini-2.5-pro:streamGenerateContent";
    assert_eq!(asked("POST", path), Asked::Reply(gemini()));
    let path = "/v1beta/models/x:generateContent";
    let whole = Wire::Gemini { model: "x".to_owned(), streams: false };
    assert_eq!(asked("POST", path), Asked::Reply(whole));
    assert_eq!(asked("POST", "/v1beta/models/x:countTokens"), Asked::Count);
}

#[test]
fn anthropic_messages_are_read() {
    let read = Wire::Anthropic.read(&json!({
        "model": "claude", "stream": true, "system": [{"type": "text", "text": "You are ana"}],
        "tools": [{"name": "Bash", "input_schema": {"type": "object"}}],
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
        "messages": [
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I run"},
                {"type": "tool_use", "id": "a", "name": "Bash", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "files"},
                {"type": "tool_result", "content": [{"type": "text", "text": "more"}]},
                {"type": "text", "text": "two"},
            ]},
            {"role": "system", "content": "# Environment"},
        ],
    }));
    assert_eq!(read.instructions, "You are ana\n# Environment");
    let expected = [user("one"), model("I run", 1), result("files"), result("more"), user("two")];
    assert_eq!(read.entries, expected);
    assert_eq!((read.model.as_str(), read.streams), ("claude", true));
    assert_eq!(read.tools[0].name, "Bash");
    assert!(read.schema.is_some());
}

#[test]
fn anthropic_streams_are_byte_for_byte_as_expected() {
    let mut short = reply();
    short.say = None;
    let stream = Wire::Anthropic.stream(&short).concat();
    let expected = concat!(
        "event: message_start\n",
        r#"data: {"message":{"content":[],"id":"msg_7","model":"m","role":"assistant","#,
        r#""stop_reason":null,"stop_sequence":null,"type":"message","usage":{"#,
        r#""cache_creation_input_tokens":0,"cache_read_input_tokens":0,"input_tokens":3,"#,
        r#""output_tokens":1}},"type":"message_start"}"#,
        "\n\nevent: content_block_start\n",
        r#"data: {"content_block":{"id":"toolu_7_0","input":{},"name":"Bash","type":"tool_use"},"#,
        r#""index":0,"type":"content_block_start"}"#,
        "\n\nevent: content_block_delta\n",
        r#"data: {"delta":{"partial_json":"","type":"input_json_delta"},"index":0,"#,
        r#""type":"content_block_delta"}"#,
        "\n\nevent: content_block_delta\n",
        r#"data: {"delta":{"partial_json":"{\"command\":\"ls\"}","type":"input_json_delta"},"#,
        r#""index":0,"type":"content_block_delta"}"#,
        "\n\nevent: content_block_stop\n",
        r#"data: {"index":0,"type":"content_block_stop"}"#,
        "\n\nevent: message_delta\n",
        r#"data: {"delta":{"stop_reason":"tool_use","stop_sequence":null},"type":"message_delta","#,
        r#""usage":{"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"#,
        r#""input_tokens":3,"output_tokens":4}}"#,
        "\n\nevent: message_stop\n",
        r#"data: {"type":"message_stop"}"#,
        "\n\n",
    );
    assert_eq!(stream, expected);
}

#[test]
fn anthropic_replies_think_speak_and_call_in_that_order() {
    let mut reply = reply();
    reply.think = Some("hm".to_owned());
    let whole = Wire::Anthropic.whole(&reply);
    let kinds: Vec<_> = whole["content"].as_array().unwrap().iter().map(|b| &b["type"]).collect();
    assert_eq!(kinds, ["thinking", "text", "tool_use"]);
    assert_eq!(whole["stop_reason"], "tool_use");
    let events = events(&Wire::Anthropic, &reply);
    let text: String = events.iter().filter_map(|e| e["delta"]["text"].as_str()).collect();
    assert_eq!(text, "I run");
    reply.calls.clear();
    assert_eq!(Wire::Anthropic.whole(&reply)["stop_reason"], "end_turn");
}

#[test]
fn chat_completions_are_read_and_streamed() {
    let read = Wire::Chat.read(&json!({
        "model": "m", "stream": true,
        "tools": [{"type": "function", "function": {"name": "bash", "parameters": {}}}],
        "messages": [
            {"role": "system", "content": "You are ana"}, {"role": "user", "content": "one"},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "a"}, {"id": "b"}]},
            {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "files"}]},
            {"role": "tool", "tool_call_id": "b", "content": "more"},
        ],
    }));
    assert_eq!(read.entries, [user("one"), model("", 2), result("files"), result("more")]);
    assert_eq!(read.tools[0].name, "bash");

    let stream = Wire::Chat.stream(&reply()).concat();
    assert!(stream.ends_with("data: [DONE]\n\n"), "{stream}");
    let events = events(&Wire::Chat, &reply());
    let deltas: Vec<_> = events.iter().map(|event| &event["choices"][0]["delta"]).collect();
    assert_eq!(deltas[0], &json!({"role": "assistant", "content": ""}));
    assert_eq!((&deltas[1]["content"], &deltas[2]["content"]), (&json!("I "), &json!("run")));
    let called = json!([{"index": 0, "id": "call_7_0", "type": "function",
        "function": {"name": "Bash", "arguments": "{\"command\":\"ls\"}"}}]);
    assert_eq!(deltas[3]["tool_calls"], called);
    assert_eq!(events[4]["choices"][0]["finish_reason"], "tool_calls");
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7});
    assert_eq!(events[5]["usage"], usage);
    let whole = Wire::Chat.whole(&reply());
    assert_eq!(whole["choices"][0]["message"]["tool_calls"], called);
    assert_eq!(whole["choices"][0]["message"]["content"], "I run");
}

#[test]
fn responses_are_read_with_tools_in_every_place_that_codex_puts_them() {
    let exec = "All of it.\ndeclare const tools: { exec_command(args: {}): Promise<unknown>; };\n\
                declare const tools: { mcp__team__Send(args: {}): Promise<unknown>; };";
    let read = Wire::Responses.read(&json!({
        "model": "gpt", "stream": true, "instructions": "You are codex",
        "tools": [
            {"type": "function", "name": "shell", "parameters": {}},
            {"type": "namespace", "name": "mcp__team", "tools": [
                {"type": "function", "name": "Send", "parameters": {}}]},
            {"type": "web_search"},
        ],
        "input": [
            {"type": "additional_tools", "tools": [{"type": "namespace", "name": "functions",
                "tools": [{"type": "custom", "name": "exec", "description": exec}]}]},
            {"type": "message", "role": "developer", "content": [
                {"type": "input_text", "text": "You are ana"}]},
            {"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "<environment_context>x</environment_context>"},
                {"type": "input_text", "text": "one"}]},
            {"type": "reasoning", "summary": []},
            {"type": "message", "role": "assistant", "content": [
                {"type": "output_text", "text": "I run"}]},
            {"type": "function_call", "name": "shell", "call_id": "a", "arguments": "{}"},
            {"type": "custom_tool_call", "name": "exec", "call_id": "b", "input": "x"},
            {"type": "function_call_output", "call_id": "a", "output": "files"},
            {"type": "custom_tool_call_output", "call_id": "b", "output": [
                {"type": "input_text", "text": "more"}]},
        ],
    }));
    assert_eq!(read.entries, [user("one"), model("I run", 2), result("files"), result("more")]);
    assert!(read.instructions.contains("You are ana"), "{}", read.instructions);
    let tools: Vec<_> = read
        .tools
        .iter()
        .map(|tool| (tool.name.as_str(), tool.namespace.as_deref(), tool.kind.clone()))
        .collect();
    let inside = Kind::Inside("exec".to_owned());
    assert_eq!(
        tools,
        [
            ("shell", None, Kind::Function(json!({}))),
            ("Send", Some("mcp__team"), Kind::Function(json!({}))),
            ("exec_command", None, inside.clone()),
            ("mcp__team__Send", None, inside),
            ("exec", None, Kind::Freeform),
        ]
    );
}

#[test]
fn responses_are_streamed_as_codex_expects_them() {
    let mut reply = reply();
    reply.calls[0].namespace = Some("mcp__team".to_owned());
    let javascript = Input::Text("text(1)".to_owned());
    reply.calls.push(Call { name: "exec".to_owned(), namespace: None, input: javascript });
    let events = events(&Wire::Responses, &reply);
    assert_eq!(
        types(&events),
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.output_text.delta",
            "response.output_text.delta",
            "response.output_item.done",
            "response.output_item.added",
            "response.function_call_arguments.delta",
            "response.output_item.done",
            "response.output_item.added",
            "response.custom_tool_call_input.delta",
            "response.output_item.done",
            "response.completed",
        ]
    );
    let called = json!({
        "type": "function_call", "id": "fc_7_0", "call_id": "call_7_0", "name": "Bash",
        "namespace": "mcp__team", "arguments": "{\"command\":\"ls\"}", "status": "completed",
    });
    assert_eq!(events[8]["item"], called);
    assert_eq!(events[6]["item"]["arguments"], "");
    assert_eq!(events[11]["item"]["input"], "text(1)");
    assert_eq!(events[12]["response"]["usage"]["total_tokens"], 7);
    assert_eq!(events[12]["response"]["output"][1], called);
}

#[test]
fn gemini_contents_are_read_and_streamed() {
    let read = gemini().read(&json!({
        "systemInstruction": {"parts": [{"text": "You are ana"}]},
        "tools": [{"functionDeclarations": [
            {"name": "run_shell_command", "parametersJsonSchema": {"type": "object"}}]}],
        "contents": [
            {"role": "user", "parts": [{"text": "<session_context>x"}, {"text": "one"}]},
            {"role": "model", "parts": [
                {"text": "hm", "thought": true}, {"text": "I run"},
                {"functionCall": {"name": "run_shell_command", "args": {}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "run_shell_command", "response": {"output": "files"}}}]},
        ],
    }));
    assert_eq!(read.entries, [user("one"), model("I run", 1), result("files")]);
    assert_eq!((read.model.as_str(), read.streams), ("gemini-2.5-pro", true));

    let events = events(&gemini(), &reply());
    let part = |at: usize| &events[at]["candidates"][0]["content"]["parts"][0];
    assert_eq!((&part(0)["text"], &part(1)["text"]), (&json!("I "), &json!("run")));
    let call = json!({"id": "call_7_0", "name": "Bash", "args": {"command": "ls"}});
    assert_eq!(part(2)["functionCall"], call);
    assert!(events[0]["candidates"][0].get("finishReason").is_none());
    assert_eq!(events[2]["candidates"][0]["finishReason"], "STOP");
    assert_eq!(events[2]["usageMetadata"]["totalTokenCount"], 7);
    let parts = &gemini().whole(&reply())["candidates"][0]["content"]["parts"];
    assert_eq!(parts.as_array().unwrap().len(), 2);
}

#[test]
fn errors_have_the_form_of_their_format() {
    let error = Wire::Anthropic.error(529, "full");
    assert_eq!(error["error"], json!({"type": "overloaded_error", "message": "full"}));
    assert_eq!(Wire::Chat.error(429, "slow")["error"]["code"], "rate_limit_exceeded");
    assert_eq!(Wire::Responses.error(500, "oh")["error"]["message"], "oh");
    assert_eq!(gemini().error(503, "later")["error"]["status"], "UNAVAILABLE");
}
