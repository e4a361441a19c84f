//! OpenAI Chat Completions: what most other programs and servers speak.

use serde_json::{Value, json};

use super::conversation::{Conversation, Kind, Reply, Tool, event, pieces, text_of};

pub(crate) fn read(body: &Value) -> Conversation {
    let mut read = Conversation {
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        streams: body["stream"] == true,
        schema: body["response_format"]["json_schema"].get("schema").cloned(),
        ..Conversation::default()
    };
    for tool in body["tools"].as_array().into_iter().flatten() {
        let function = &tool["function"];
        read.tools.push(Tool {
            name: function["name"].as_str().unwrap_or_default().to_owned(),
            namespace: None,
            kind: Kind::Function(function["parameters"].clone()),
        });
    }
    for message in body["messages"].as_array().into_iter().flatten() {
        let text = text_of(&message["content"]);
        match message["role"].as_str().unwrap_or_default() {
            "assistant" => {
                let calls = message["tool_calls"].as_array().map_or(0, Vec::len);
                read.model_said(&text, calls);
            }
            "user" => read.user_said(&text),
            "tool" => read.result(text),
            _ => read.system_said(&text),
        }
    }
    read
}

fn calls(reply: &Reply) -> Vec<Value> {
    let calls = reply.calls.iter().enumerate().map(|(index, call)| {
        json!({
            "index": index, "id": format!("call_{}_{index}", reply.id), "type": "function",
            "function": {"name": call.name, "arguments": call.json().to_string()},
        })
    });
    calls.collect()
}

fn finish(reply: &Reply) -> &'static str {
    if reply.calls.is_empty() { "stop" } else { "tool_calls" }
}

fn usage(reply: &Reply) -> Value {
    let (input, output) = (reply.usage.input, reply.usage.output);
    json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output})
}

pub(crate) fn whole(reply: &Reply) -> Value {
    let mut message = json!({"role": "assistant", "content": reply.say});
    if let Some(think) = &reply.think {
        message["reasoning_content"] = think.as_str().into();
    }
    if !reply.calls.is_empty() {
        message["tool_calls"] = calls(reply).into();
    }
    json!({
        "id": format!("chatcmpl-{}", reply.id), "object": "chat.completion", "created": 0,
        "model": reply.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish(reply)}],
        "usage": usage(reply),
    })
}

pub(crate) fn stream(reply: &Reply) -> Vec<String> {
    let chunk = |delta: Value, finish: Option<&str>| {
        json!({
            "id": format!("chatcmpl-{}", reply.id), "object": "chat.completion.chunk",
            "created": 0, "model": reply.model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        })
    };
    let mut chunks = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
    let think = reply.think.iter();
    chunks.extend(think.map(|text| chunk(json!({"reasoning_content": text}), None)));
    let say = reply.say.iter().flat_map(|text| pieces(text));
    chunks.extend(say.map(|piece| chunk(json!({"content": piece}), None)));
    chunks.extend(calls(reply).into_iter().map(|call| chunk(json!({"tool_calls": [call]}), None)));
    chunks.push(chunk(json!({}), Some(finish(reply))));
    let mut last = chunk(json!({}), None);
    last["choices"] = json!([]);
    last["usage"] = usage(reply);
    chunks.push(last);
    let events = chunks.iter().map(|data| event(None, data));
    events.chain(["data: [DONE]\n\n".to_owned()]).collect()
}
