//! OpenAI Responses: what codex speaks.

use serde_json::{Value, json};

use super::conversation::{Conversation, Input, Kind, Reply, Tool, event, pieces, text_of};

pub(crate) fn read(body: &Value) -> Conversation {
    let mut read = Conversation {
        instructions: text_of(&body["instructions"]),
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        streams: body["stream"] == true,
        schema: body["text"]["format"].get("schema").cloned(),
        ..Conversation::default()
    };
    tools(&mut read.tools, None, &body["tools"]);
    match &body["input"] {
        Value::String(text) => read.user_said(text),
        Value::Array(items) => items.iter().for_each(|i| item(&mut read, i)),
        _ => {}
    }
    read
}

fn item(read: &mut Conversation, item: &Value) {
    let said = || text_of(&item["content"]);
    match item["type"].as_str().unwrap_or("message") {
        "message" => match item["role"].as_str().unwrap_or_default() {
            "assistant" => read.model_said(&said(), 0),
            "user" => texts(&item["content"]).for_each(|text| read.user_said(text)),
            _ => read.system_said(&said()),
        },
        "function_call" | "custom_tool_call" | "local_shell_call" => read.model_said("", 1),
        "function_call_output" | "custom_tool_call_output" => read.result(text_of(&item["output"])),
        "agent_message" => read.user_said(&said()),
        "additional_tools" => tools(&mut read.tools, None, &item["tools"]),
        _ => {}
    }
}

fn texts(content: &Value) -> impl Iterator<Item = &str> {
    let parts = content.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    content.as_str().into_iter().chain(parts)
}

fn tools(found: &mut Vec<Tool>, namespace: Option<&str>, list: &Value) {
    for tool in list.as_array().into_iter().flatten() {
        let name = tool["name"].as_str().unwrap_or_default().to_owned();
        let kind = match tool["type"].as_str().unwrap_or_default() {
            "namespace" => {
                // The one for codex's own tools is no part of a call.
                tools(
                    found,
                    Some(&name).filter(|n| *n != "functions").map(|n| &**n),
                    &tool["tools"],
                );
                continue;
            }
            "function" => Kind::Function(tool["parameters"].clone()),
            "custom" => Kind::Freeform,
            _ => continue,
        };
        let inside = tool["description"].as_str().unwrap_or_default();
        if kind == Kind::Freeform {
            let inside = declared(inside).map(|inside| Tool {
                name: inside.to_owned(),
                namespace: None,
                kind: Kind::Inside(name.clone()),
            });
            found.extend(inside);
        }
        found.push(Tool { name, namespace: namespace.map(str::to_owned), kind });
    }
}

/// The tools that a description declares for JavaScript.
fn declared(description: &str) -> impl Iterator<Item = &str> {
    let declarations = description.split("declare const tools: {").skip(1);
    declarations.filter_map(|after| after.trim_start().split_once('(').map(|(name, _)| name.trim()))
}

fn items(reply: &Reply) -> Vec<Value> {
    let mut items = Vec::new();
    if let Some(think) = &reply.think {
        items.push(json!({
            "type": "reasoning", "id": format!("rs_{}", reply.id), "encrypted_content": null,
            "summary": [{"type": "summary_text", "text": think}],
        }));
    }
    if let Some(text) = &reply.say {
        items.push(json!({
            "type": "message", "id": format!("msg_{}", reply.id), "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }));
    }
    for (index, call) in reply.calls.iter().enumerate() {
        let call_id = format!("call_{}_{index}", reply.id);
        let mut item = match &call.input {
            Input::Json(arguments) => json!({
                "type": "function_call", "id": format!("fc_{}_{index}", reply.id),
                "call_id": call_id, "name": call.name, "arguments": arguments.to_string(),
                "status": "completed",
            }),
            Input::Text(input) => json!({
                "type": "custom_tool_call", "id": format!("ctc_{}_{index}", reply.id),
                "call_id": call_id, "name": call.name, "input": input, "status": "completed",
            }),
        };
        if let Some(namespace) = &call.namespace {
            item["namespace"] = namespace.as_str().into();
        }
        items.push(item);
    }
    items
}

pub(crate) fn whole(reply: &Reply) -> Value {
    let total = reply.usage.input + reply.usage.output;
    json!({
        "id": format!("resp_{}", reply.id), "object": "response", "created_at": 0,
        "status": "completed", "model": reply.model, "output": items(reply), "error": null,
        "usage": {
            "input_tokens": reply.usage.input, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": reply.usage.output, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": total,
        },
    })
}

pub(crate) fn stream(reply: &Reply) -> Vec<String> {
    let whole = whole(reply);
    let mut begun = whole.clone();
    begun["output"] = json!([]);
    begun["status"] = "in_progress".into();
    begun["usage"] = Value::Null;
    let mut events = vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.in_progress", "response": begun}),
    ];
    for (index, item) in items(reply).iter().enumerate() {
        events.push(json!({
            "type": "response.output_item.added", "output_index": index, "item": opened(item),
        }));
        let id = &item["id"];
        if let Some(text) = item["content"][0]["text"].as_str() {
            events.extend(pieces(text).map(|piece| {
                json!({
                    "type": "response.output_text.delta", "item_id": id, "output_index": index,
                    "content_index": 0, "delta": piece,
                })
            }));
        }
        for (key, kind) in
            [("arguments", "function_call_arguments"), ("input", "custom_tool_call_input")]
        {
            let Some(text) = item[key].as_str() else { continue };
            events.push(json!({
                "type": format!("response.{kind}.delta"), "item_id": id, "output_index": index,
                "delta": text,
            }));
        }
        events.push(json!({
            "type": "response.output_item.done", "output_index": index, "item": item,
        }));
    }
    events.push(json!({"type": "response.completed", "response": whole}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
    }
    events.iter().map(|data| event(data["type"].as_str(), data)).collect()
}

/// An item before anything was streamed into it.
fn opened(item: &Value) -> Value {
    let mut opened = item.clone();
    for (key, empty) in [("content", json!([])), ("arguments", "".into()), ("input", "".into())] {
        if let Some(value) = opened.get_mut(key) {
            *value = empty;
        }
    }
    if opened.get("status").is_some() {
        opened["status"] = "in_progress".into();
    }
    opened
}

/// OpenAI's two formats share it.
pub(crate) fn error(status: u16, text: &str) -> Value {
    let code = match status {
        401 => "invalid_api_key",
        429 => "rate_limit_exceeded",
        500..=599 => "server_error",
        _ => "invalid_request_error",
    };
    json!({"error": {"message": text, "type": code, "code": code, "param": null}})
}
