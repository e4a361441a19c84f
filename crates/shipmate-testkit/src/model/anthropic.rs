//! Anthropic Messages: what Claude Code and opencode speak.

use serde_json::{Value, json};

use super::conversation::{Conversation, Kind, Reply, Tool, event, pieces, text_of};

pub(crate) fn read(body: &Value) -> Conversation {
    let mut read = Conversation {
        instructions: text_of(&body["system"]),
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        streams: body["stream"] == true,
        schema: body["output_config"]["format"].get("schema").cloned(),
        ..Conversation::default()
    };
    for tool in body["tools"].as_array().into_iter().flatten() {
        read.tools.push(Tool {
            name: tool["name"].as_str().unwrap_or_default().to_owned(),
            namespace: None,
            kind: Kind::Function(tool["input_schema"].clone()),
        });
    }
    for message in body["messages"].as_array().into_iter().flatten() {
        let role = message["role"].as_str().unwrap_or_default();
        match &message["content"] {
            Value::String(text) => block(&mut read, role, &json!({"type": "text", "text": text})),
            Value::Array(blocks) => blocks.iter().for_each(|b| block(&mut read, role, b)),
            _ => {}
        }
    }
    read
}

fn block(read: &mut Conversation, role: &str, block: &Value) {
    let text = block["text"].as_str().unwrap_or_default();
    match (block["type"].as_str().unwrap_or_default(), role) {
        ("text", "assistant") => read.model_said(text, 0),
        ("text", "user") => read.user_said(text),
        ("text", _) => read.system_said(text),
        ("tool_use", _) => read.model_said("", 1),
        ("tool_result", _) => read.result(text_of(&block["content"])),
        _ => {}
    }
}

fn blocks(reply: &Reply) -> Vec<Value> {
    let think = reply
        .think
        .iter()
        .map(|thinking| json!({"type": "thinking", "thinking": thinking, "signature": "c2NyaXB0"}));
    let say = reply.say.iter().map(|text| json!({"type": "text", "text": text}));
    let calls = reply.calls.iter().enumerate().map(|(index, call)| {
        let id = format!("toolu_{}_{index}", reply.id);
        json!({"type": "tool_use", "id": id, "name": call.name, "input": call.json()})
    });
    think.chain(say).chain(calls).collect()
}

fn stop_reason(reply: &Reply) -> &'static str {
    if reply.calls.is_empty() { "end_turn" } else { "tool_use" }
}

fn usage(reply: &Reply) -> Value {
    json!({
        "input_tokens": reply.usage.input, "output_tokens": reply.usage.output,
        "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
    })
}

pub(crate) fn whole(reply: &Reply) -> Value {
    json!({
        "id": format!("msg_{}", reply.id), "type": "message", "role": "assistant",
        "model": reply.model, "content": blocks(reply), "stop_reason": stop_reason(reply),
        "stop_sequence": null, "usage": usage(reply),
    })
}

pub(crate) fn stream(reply: &Reply) -> Vec<String> {
    let mut message = whole(reply);
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    message["usage"]["output_tokens"] = 1.into();
    let mut events = vec![json!({"type": "message_start", "message": message})];
    for (index, block) in blocks(reply).into_iter().enumerate() {
        let (empty, deltas) = parts(block);
        events.push(json!({"type": "content_block_start", "index": index, "content_block": empty}));
        let delta = |delta| json!({"type": "content_block_delta", "index": index, "delta": delta});
        events.extend(deltas.into_iter().map(delta));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason(reply), "stop_sequence": null},
        "usage": usage(reply),
    }));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(|data| event(data["type"].as_str(), data)).collect()
}

/// A block as it begins, and what is added to it.
fn parts(mut block: Value) -> (Value, Vec<Value>) {
    let mut deltas = Vec::new();
    if block["type"] == "tool_use" {
        let input = std::mem::replace(&mut block["input"], json!({})).to_string();
        deltas.push(json!({"type": "input_json_delta", "partial_json": ""}));
        deltas.push(json!({"type": "input_json_delta", "partial_json": input}));
    } else if block["type"] == "thinking" {
        let text = std::mem::replace(&mut block["thinking"], "".into());
        let signature = std::mem::replace(&mut block["signature"], "".into());
        deltas.push(json!({"type": "thinking_delta", "thinking": text}));
        deltas.push(json!({"type": "signature_delta", "signature": signature}));
    } else {
        let text = std::mem::replace(&mut block["text"], "".into());
        let text = text.as_str().expect("a text block holds a text");
        deltas.extend(pieces(text).map(|piece| json!({"type": "text_delta", "text": piece})));
    }
    (block, deltas)
}

pub(crate) fn error(status: u16, text: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": text}})
}
