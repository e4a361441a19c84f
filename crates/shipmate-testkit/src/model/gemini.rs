//! Google's generateContent: what Gemini CLI speaks.

use serde_json::{Value, json};

use super::conversation::{Conversation, Kind, Reply, Tool, event, pieces, text_of};

/// The path names the model and whether to stream: the body does not.
pub(crate) fn read(body: &Value, model: &str, streams: bool) -> Conversation {
    let settings = &body["generationConfig"];
    let schema = settings.get("responseJsonSchema").or_else(|| settings.get("responseSchema"));
    let mut read = Conversation {
        instructions: text_of(&body["systemInstruction"]["parts"]),
        model: model.to_owned(),
        streams,
        schema: schema.cloned(),
        ..Conversation::default()
    };
    let declared = body["tools"].as_array().into_iter().flatten();
    for tool in declared.flat_map(|t| t["functionDeclarations"].as_array().into_iter().flatten()) {
        let schema = tool.get("parametersJsonSchema").unwrap_or(&tool["parameters"]);
        read.tools.push(Tool {
            name: tool["name"].as_str().unwrap_or_default().to_owned(),
            namespace: None,
            kind: Kind::Function(schema.clone()),
        });
    }
    for content in body["contents"].as_array().into_iter().flatten() {
        let by_model = content["role"] == "model";
        for part in content["parts"].as_array().into_iter().flatten() {
            if part.get("functionResponse").is_some() {
                read.result(result(&part["functionResponse"]["response"]));
            } else if part.get("functionCall").is_some() {
                read.model_said("", 1);
            } else if let Some(text) = part["text"].as_str()
                && part["thought"] != true
            {
                if by_model { read.model_said(text, 0) } else { read.user_said(text) }
            }
        }
    }
    read
}

fn result(response: &Value) -> String {
    let text = response["output"].as_str().or(response["error"].as_str());
    text.map_or_else(|| response.to_string(), str::to_owned)
}

fn usage(reply: &Reply) -> Value {
    let (input, output) = (reply.usage.input, reply.usage.output);
    json!({
        "promptTokenCount": input, "candidatesTokenCount": output, "totalTokenCount": input + output,
    })
}

fn answer(reply: &Reply, parts: Vec<Value>, is_last: bool) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if is_last {
        candidate["finishReason"] = "STOP".into();
    }
    json!({
        "candidates": [candidate], "usageMetadata": usage(reply), "modelVersion": reply.model,
        "responseId": reply.id,
    })
}

fn thought(reply: &Reply) -> impl Iterator<Item = Value> {
    reply.think.iter().map(|text| json!({"text": text, "thought": true}))
}

fn calls(reply: &Reply) -> impl Iterator<Item = Value> {
    reply.calls.iter().enumerate().map(|(index, call)| {
        let id = format!("call_{}_{index}", reply.id);
        json!({"functionCall": {"id": id, "name": call.name, "args": call.json()}})
    })
}

pub(crate) fn whole(reply: &Reply) -> Value {
    let say = reply.say.iter().map(|text| json!({"text": text}));
    answer(reply, thought(reply).chain(say).chain(calls(reply)).collect(), true)
}

pub(crate) fn stream(reply: &Reply) -> Vec<String> {
    let say = reply.say.iter().flat_map(|text| pieces(text)).map(|piece| json!({"text": piece}));
    let mut parts: Vec<_> = thought(reply).chain(say).chain(calls(reply)).collect();
    let last = parts.pop();
    let first = parts.into_iter().map(|part| answer(reply, vec![part], false));
    let last = answer(reply, last.into_iter().collect(), true);
    first.chain([last]).map(|data| event(None, &data)).collect()
}

pub(crate) fn error(status: u16, text: &str) -> Value {
    let kind = match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        400..=499 => "INVALID_ARGUMENT",
        _ => "INTERNAL",
    };
    json!({"error": {"code": status, "message": text, "status": kind}})
}
