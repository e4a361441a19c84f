//! OpenAI Chat Completions and all that imitate it: a request as JSON, a reply from its stream.
//! No I/O.
//!
//! What must hold: servers that imitate it leave out indices, repeat ids, send calls whole or in
//! pieces, answer without streaming; each of these gives the same reply. Reasoning is shown to
//! nobody else: it goes back only to a server that has asked for it.

use serde_json::{Map, Value, json};

use super::calls::{call, mark_cut, sent_arguments, sent_name, sent_result};
use super::quirks::Quirks;
use super::verdict::Told;
use super::{Reply, Request, Spoiled, Stop, Tokens};
use crate::message::{Block, Message, Role};

pub(super) fn body(model: &str, request: &Request<'_>, quirks: &Quirks) -> Value {
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    let mut rest = request.messages;
    while let Some(first) = rest.first() {
        let same = rest.iter().take_while(|message| message.role == first.role).count();
        let (side, after) = rest.split_at(same);
        match first.role {
            Role::User => messages.extend(users(side)),
            Role::Assistant => messages.extend(assistants(side, quirks)),
        }
        rest = after;
    }
    let mut body = json!({"model": model, "messages": messages, "stream": true});
    let limit = if quirks.completion_tokens { "max_completion_tokens" } else { "max_tokens" };
    body[limit] = request.output_tokens_max.into();
    if !quirks.no_stream_options {
        body["stream_options"] = json!({"include_usage": true});
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name, "description": tool.description,
                "parameters": tool.input_schema,
            }})
        });
        body["tools"] = tools.collect();
    }
    body
}

/// Results right after their calls, then what was said in one message.
fn users(messages: &[Message]) -> Vec<Value> {
    let blocks = || messages.iter().flat_map(|message| &message.blocks);
    let results = blocks().filter_map(|block| {
        let Block::Result(result) = block else { return None };
        let text = sent_result(&result.text);
        let text = if result.is_error { format!("Error: {text}") } else { text.to_owned() };
        Some(json!({"role": "tool", "tool_call_id": result.id, "content": text}))
    });
    let mut sent: Vec<Value> = results.collect();
    let text = joined(blocks());
    if !text.is_empty() {
        sent.push(json!({"role": "user", "content": text}));
    }
    sent
}

fn assistants(messages: &[Message], quirks: &Quirks) -> Option<Value> {
    let blocks = || messages.iter().flat_map(|message| &message.blocks);
    let text = joined(blocks());
    let mut calls = Vec::new();
    let mut extra = None;
    for block in blocks() {
        match block {
            Block::Sealed(sealed) => {
                extra = serde_json::from_str::<Map<String, Value>>(sealed).ok()
            }
            Block::Call(call) => {
                let mut sent = extra.take().unwrap_or_default();
                sent.insert("id".to_owned(), call.id.as_str().into());
                sent.insert("type".to_owned(), "function".into());
                let arguments = sent_arguments(&call.arguments).to_string();
                let function = json!({"name": sent_name(&call.tool), "arguments": arguments});
                sent.insert("function".to_owned(), function);
                calls.push(Value::Object(sent));
            }
            _ => {}
        }
    }
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let mut sent = json!({"role": "assistant", "content": text});
    if text.is_empty() {
        sent["content"] = Value::Null;
    }
    if quirks.reasoning_back {
        let thought = blocks().filter_map(|block| match block {
            Block::Thinking { text, .. } => Some(text.as_str()),
            _ => None,
        });
        sent["reasoning_content"] = thought.collect::<Vec<_>>().join("\n").into();
    }
    if !calls.is_empty() {
        sent["tool_calls"] = calls.into();
    }
    Some(sent)
}

fn joined<'a>(blocks: impl Iterator<Item = &'a Block>) -> String {
    let texts = blocks.filter_map(|block| match block {
        Block::Text(text) if !text.trim().is_empty() => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// A reply as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Reader {
    thinking: String,
    text: String,
    calls: Vec<Part>,
    stop: Option<Stop>,
    tokens: Tokens,
    model: String,
    refused: bool,
    ended: bool,
}

#[derive(Debug, Default)]
struct Part {
    index: Option<u64>,
    id: String,
    tool: String,
    arguments: String,
    /// What the provider wants back with the call, whatever it is.
    extra: Option<Value>,
}

/// No model wants so much at once; a server that goes round in circles does.
const CALLS_MAX: usize = 500;

/// How the stream says that it is over.
pub(super) const DONE: &str = "[DONE]";

impl Reader {
    pub(super) fn done(&mut self) {
        self.ended = true;
    }

    /// A piece of a streamed answer, or one that was not streamed: they differ by one name.
    pub(super) fn event(&mut self, event: &Value) -> Result<(), Spoiled> {
        if let Some(told) = event.get("error").and_then(|_| Told::in_json(event)) {
            return Err(Spoiled::Told(told));
        }
        self.count(&event["usage"]);
        if let Some(model) = event["model"].as_str().filter(|model| !model.is_empty()) {
            model.clone_into(&mut self.model);
        }
        let choice = &event["choices"][0];
        let said = ["delta", "message"].iter().map(|name| &choice[name]).find(|s| s.is_object());
        if let Some(said) = said {
            self.add(said)?;
        }
        match choice["finish_reason"].as_str() {
            None | Some("") => {}
            Some(reason @ ("error" | "insufficient_system_resource")) => {
                let told = choice.get("error").and_then(|_| Told::in_json(choice));
                let message = format!("the answer ended with {reason}");
                let nameless = Told { status: 500, message, ..Told::default() };
                return Err(Spoiled::Told(told.unwrap_or(nameless)));
            }
            Some(reason) => self.stop = Some(stop(reason)),
        }
        Ok(())
    }

    /// An answer that was not streamed.
    pub(super) fn whole(&mut self, answer: &Value) -> Result<(), Spoiled> {
        self.event(answer)?;
        if !answer["choices"][0]["message"].is_object() {
            return Err(Spoiled::Malformed("the answer has no message".to_owned()));
        }
        self.ended = true;
        Ok(())
    }

    pub(super) fn is_over(&self) -> bool {
        self.ended
    }

    pub(super) fn is_whole(&self) -> bool {
        let any = !self.text.is_empty() || !self.calls.is_empty() || !self.thinking.is_empty();
        self.stop.is_some() || self.ended && any
    }

    pub(super) fn reply(self) -> Reply {
        let stop = match self.stop.unwrap_or_default() {
            Stop::Ended if self.refused => Stop::Refused,
            stop => stop,
        };
        let mut blocks = Vec::new();
        if !self.thinking.is_empty() {
            blocks.push(Block::Thinking { text: self.thinking, signature: String::new() });
        }
        if !self.text.is_empty() {
            blocks.push(Block::Text(self.text));
        }
        for part in self.calls {
            let sealed = part.extra.map(|extra| json!({"extra_content": extra}).to_string());
            blocks.extend(sealed.map(Block::Sealed));
            blocks.push(Block::Call(call(part.tool, &part.arguments)));
        }
        mark_cut(&mut blocks, stop);
        Reply { blocks, stop, tokens: self.tokens, model: self.model }
    }

    fn add(&mut self, said: &Value) -> Result<(), Spoiled> {
        self.add_content(&said["content"]);
        let reasoning = ["reasoning_content", "reasoning"].iter().find_map(|n| said[n].as_str());
        self.thinking.push_str(reasoning.unwrap_or_default());
        if let Some(refusal) = said["refusal"].as_str().filter(|text| !text.is_empty()) {
            self.refused = true;
            self.text.push_str(refusal);
        }
        for piece in said["tool_calls"].as_array().into_iter().flatten() {
            self.add_call(piece);
            if self.calls.len() > CALLS_MAX {
                let reason = format!("one reply has more than {CALLS_MAX} calls");
                return Err(Spoiled::TooLarge(reason));
            }
        }
        Ok(())
    }

    /// A text, or a list of parts of which some are thinking.
    fn add_content(&mut self, content: &Value) {
        match content {
            Value::String(text) => self.text.push_str(text),
            Value::Array(parts) => {
                for part in parts {
                    self.text.push_str(part["text"].as_str().unwrap_or_default());
                    for thought in part["thinking"].as_array().into_iter().flatten() {
                        self.thinking.push_str(thought["text"].as_str().unwrap_or_default());
                    }
                }
            }
            _ => {}
        }
    }

    fn add_call(&mut self, piece: &Value) {
        let index = piece["index"].as_u64();
        let id = piece["id"].as_str().unwrap_or_default();
        let tool = piece["function"]["name"].as_str().unwrap_or_default();
        let goes_on = match index {
            Some(_) => self.calls.iter().rposition(|part| part.index == index),
            None => self.calls.len().checked_sub(1),
        };
        let at = goes_on.filter(|&at| !begins(&self.calls[at], piece)).unwrap_or_else(|| {
            self.calls.push(Part { index, ..Part::default() });
            self.calls.len() - 1
        });
        let part = &mut self.calls[at];
        if part.id.is_empty() {
            id.clone_into(&mut part.id);
        }
        if part.tool.is_empty() {
            tool.clone_into(&mut part.tool);
        }
        match &piece["function"]["arguments"] {
            Value::String(more) => part.arguments.push_str(more),
            Value::Null => {}
            object => part.arguments.push_str(&object.to_string()),
        }
        if let Some(extra) = piece.get("extra_content") {
            part.extra = Some(extra.clone());
        }
    }

    fn count(&mut self, usage: &Value) {
        let Some(prompt) = usage["prompt_tokens"].as_u64() else { return };
        let details = &usage["prompt_tokens_details"];
        let cached = details["cached_tokens"].as_u64();
        let cached = cached.or(usage["prompt_cache_hit_tokens"].as_u64()).unwrap_or(0);
        self.tokens = Tokens {
            input: prompt.saturating_sub(cached),
            output: usage["completion_tokens"].as_u64().unwrap_or(0),
            cache_read: cached,
            cache_write: 0,
        };
    }
}

/// Whether a piece begins another call than the one that has its index. Some servers give all
/// calls of a turn the same index, or none; some repeat id and name with every piece.
fn begins(part: &Part, piece: &Value) -> bool {
    let id = piece["id"].as_str().unwrap_or_default();
    if !id.is_empty() && !part.id.is_empty() && id != part.id {
        return true;
    }
    let tool = piece["function"]["name"].as_str().unwrap_or_default();
    if tool.is_empty() || part.tool.is_empty() {
        return false;
    }
    let brings = !matches!(piece["function"]["arguments"].as_str(), Some(""));
    let is_whole = || {
        let arguments = part.arguments.trim_end();
        arguments.ends_with('}') && serde_json::from_str::<Map<String, Value>>(arguments).is_ok()
    };
    tool != part.tool || brings && is_whole()
}

fn stop(reason: &str) -> Stop {
    match reason {
        "tool_calls" | "function_call" => Stop::Calls,
        "length" => Stop::Length,
        "content_filter" => Stop::Refused,
        _ => Stop::Ended,
    }
}

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
