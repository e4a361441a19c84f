//! Anthropic Messages: a request as JSON, a reply from its stream. No I/O.
//!
//! What must hold: thinking goes back as it came, seal and all; all results of one turn are in
//! one message, before any text; marks for the cache stand where the next request begins alike.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use shipmate_protocol::native::Offered;

use super::calls::{call, mark_cut, sent_arguments, sent_name, sent_result};
use super::quirks::Quirks;
use super::verdict::Told;
use super::{Reply, Request, Spoiled, Stop, Tokens};
use crate::message::{Block, Message, Role};

/// Below this the provider refuses a budget; as much is left for the answer itself.
const THINKING_TOKENS_MIN: u64 = 1_024;

pub(super) fn body(model: &str, request: &Request<'_>, quirks: &Quirks) -> Value {
    let mut messages = merged(request.messages);
    mark_cached(&mut messages);
    let mut body = json!({
        "model": model, "max_tokens": request.output_tokens_max, "stream": true,
        "messages": messages,
    });
    if !request.system.trim().is_empty() {
        body["system"] = json!([marked(json!({"type": "text", "text": request.system}))]);
    }
    if !request.tools.is_empty() {
        let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
        let last = tools.last_mut().expect("there are tools");
        *last = marked(last.take());
        body["tools"] = tools.into();
    }
    if let Some(thinking) = thinking(request, quirks) {
        body["thinking"] = thinking;
    }
    body
}

fn tool(offered: &Offered) -> Value {
    let Offered { name, description, input_schema } = offered;
    json!({"name": name, "description": description, "input_schema": input_schema})
}

fn thinking(request: &Request<'_>, quirks: &Quirks) -> Option<Value> {
    let room = request.output_tokens_max.saturating_sub(THINKING_TOKENS_MIN);
    let budget = request.thinking_tokens.max(THINKING_TOKENS_MIN).min(room);
    let wanted = request.thinking_tokens > 0 && budget >= THINKING_TOKENS_MIN;
    if !wanted || !may_think(request.messages) {
        return None;
    }
    Some(match quirks.adaptive_thinking {
        true => json!({"type": "adaptive"}),
        false => json!({"type": "enabled", "budget_tokens": budget}),
    })
}

/// A turn that used tools without thinking cannot begin to think before it has ended: the
/// provider refuses calls whose thinking is missing.
fn may_think(messages: &[Message]) -> bool {
    let last = messages.iter().rev().find(|message| message.role == Role::Assistant);
    last.is_none_or(|last| {
        let thought = last.blocks.iter().any(|block| match block {
            Block::Thinking { signature, .. } => !signature.is_empty(),
            Block::Sealed(_) => true,
            _ => false,
        });
        thought || last.calls().next().is_none()
    })
}

/// One message per change of sides; results first, since the provider wants them right after
/// the calls.
fn merged(messages: &[Message]) -> Vec<Value> {
    let mut sides: Vec<(Role, Vec<Value>, Vec<Value>)> = Vec::new();
    for message in messages {
        if sides.last().is_none_or(|(role, ..)| *role != message.role) {
            sides.push((message.role, Vec::new(), Vec::new()));
        }
        let (_, results, others) = sides.last_mut().expect("one was just pushed");
        for block in &message.blocks {
            let is_result = matches!(block, Block::Result(_));
            let side = if is_result { &mut *results } else { &mut *others };
            side.extend(sent(block));
        }
    }
    let sides = sides.into_iter().map(|(role, mut results, others)| {
        results.extend(others);
        (role, results)
    });
    let told = sides.filter(|(_, blocks)| !blocks.is_empty());
    told.map(|(role, blocks)| {
        let role = if role == Role::User { "user" } else { "assistant" };
        json!({"role": role, "content": blocks})
    })
    .collect()
}

/// The block as the provider takes it; nothing for what it refuses or never made.
fn sent(block: &Block) -> Option<Value> {
    Some(match block {
        Block::Text(text) if text.trim().is_empty() => return None,
        Block::Text(text) => json!({"type": "text", "text": text}),
        Block::Thinking { signature, .. } if signature.is_empty() => return None,
        Block::Thinking { text, signature } => {
            json!({"type": "thinking", "thinking": text, "signature": signature})
        }
        // What another protocol sealed is JSON; this provider's seals are not.
        Block::Sealed(data) if data.starts_with('{') => return None,
        Block::Sealed(data) => json!({"type": "redacted_thinking", "data": data}),
        Block::Call(call) => json!({
            "type": "tool_use", "id": call.id, "name": sent_name(&call.tool),
            "input": sent_arguments(&call.arguments),
        }),
        Block::Result(result) => {
            let mut sent = json!({
                "type": "tool_result", "tool_use_id": result.id,
                "content": sent_result(&result.text),
            });
            if result.is_error {
                sent["is_error"] = true.into();
            }
            sent
        }
    })
}

/// The newest message of the user, and the one before: what the last request ended with is
/// found again even if many blocks came in between. With system and tools these are all four
/// marks that a request may have.
fn mark_cached(messages: &mut [Value]) {
    let users = messages.iter_mut().rev().filter(|message| message["role"] == "user");
    for message in users.take(2) {
        let blocks = message["content"].as_array_mut().expect("content is a list");
        let last = blocks.last_mut().expect("no message is empty");
        *last = marked(last.take());
    }
}

fn marked(mut block: Value) -> Value {
    block["cache_control"] = json!({"type": "ephemeral"});
    block
}

/// A reply as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Reader {
    parts: BTreeMap<u64, Part>,
    stop: Option<Stop>,
    tokens: Tokens,
    model: String,
    ended: bool,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Sealed(String),
    Call {
        tool: String,
        json: String,
        whole: Value,
    },
    /// A kind of block that we did not ask for.
    Other,
}

impl Reader {
    pub(super) fn event(&mut self, event: &Value) -> Result<(), Spoiled> {
        if let Some(told) = event.get("error").and_then(|_| Told::in_json(event)) {
            return Err(Spoiled::Told(told));
        }
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                self.count(&event["message"]["usage"]);
                self.named(&event["message"]);
            }
            "content_block_start" => {
                self.parts.insert(index(event)?, begun(&event["content_block"]));
            }
            "content_block_delta" => {
                let part = self.parts.get_mut(&index(event)?);
                let part = part.ok_or_else(|| malformed("a part goes on that never began"))?;
                add(part, &event["delta"]);
            }
            "message_delta" => {
                self.count(&event["usage"]);
                self.stop = event["delta"]["stop_reason"].as_str().map(stop).or(self.stop);
            }
            "message_stop" => self.ended = true,
            _ => {}
        }
        Ok(())
    }

    /// An answer that was not streamed.
    pub(super) fn whole(&mut self, message: &Value) -> Result<(), Spoiled> {
        self.event(message)?;
        let Some(blocks) = message["content"].as_array() else {
            return Err(malformed("the answer has no content"));
        };
        for (index, block) in blocks.iter().enumerate() {
            self.parts.insert(index as u64, begun(block));
        }
        self.count(&message["usage"]);
        self.named(message);
        self.stop = message["stop_reason"].as_str().map(stop);
        self.ended = true;
        Ok(())
    }

    /// Nothing more is to come.
    pub(super) fn is_over(&self) -> bool {
        self.ended
    }

    /// The reply is whole, even if the stream has not said so.
    pub(super) fn is_whole(&self) -> bool {
        self.ended || self.stop.is_some()
    }

    pub(super) fn reply(self) -> Reply {
        let stop = self.stop.unwrap_or_default();
        let mut blocks: Vec<Block> = self.parts.into_values().filter_map(block).collect();
        mark_cut(&mut blocks, stop);
        Reply { blocks, stop, tokens: self.tokens, model: self.model }
    }

    fn named(&mut self, message: &Value) {
        message["model"].as_str().unwrap_or_default().clone_into(&mut self.model);
    }

    /// Counts are of the whole message so far, and some are told only at its beginning.
    fn count(&mut self, usage: &Value) {
        let take = |count: &mut u64, name: &str| {
            if let Some(told) = usage[name].as_u64() {
                *count = told;
            }
        };
        take(&mut self.tokens.input, "input_tokens");
        take(&mut self.tokens.output, "output_tokens");
        take(&mut self.tokens.cache_read, "cache_read_input_tokens");
        take(&mut self.tokens.cache_write, "cache_creation_input_tokens");
    }
}

fn malformed(reason: &str) -> Spoiled {
    Spoiled::Malformed(reason.to_owned())
}

fn index(event: &Value) -> Result<u64, Spoiled> {
    event["index"].as_u64().ok_or_else(|| malformed("a part has no index"))
}

fn begun(block: &Value) -> Part {
    let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
    match block["type"].as_str().unwrap_or_default() {
        "text" => Part::Text(text("text")),
        "thinking" => Part::Thinking { text: text("thinking"), signature: text("signature") },
        "redacted_thinking" => Part::Sealed(text("data")),
        "tool_use" => {
            let whole = block.get("input").cloned().unwrap_or(Value::Object(Map::new()));
            Part::Call { tool: text("name"), json: String::new(), whole }
        }
        _ => Part::Other,
    }
}

fn add(part: &mut Part, delta: &Value) {
    let more = |name: &str| delta[name].as_str().unwrap_or_default();
    match (part, delta["type"].as_str().unwrap_or_default()) {
        (Part::Text(text), "text_delta") => text.push_str(more("text")),
        (Part::Thinking { text, .. }, "thinking_delta") => text.push_str(more("thinking")),
        (Part::Thinking { signature, .. }, "signature_delta") => {
            signature.push_str(more("signature"));
        }
        (Part::Call { json, .. }, "input_json_delta") => json.push_str(more("partial_json")),
        _ => {}
    }
}

fn block(part: Part) -> Option<Block> {
    match part {
        Part::Text(text) if text.is_empty() => None,
        Part::Text(text) => Some(Block::Text(text)),
        Part::Thinking { text, signature } if text.is_empty() && signature.is_empty() => None,
        Part::Thinking { text, signature } => Some(Block::Thinking { text, signature }),
        Part::Sealed(data) => Some(Block::Sealed(data)),
        Part::Call { tool, json, whole } if json.is_empty() => {
            Some(Block::Call(call(tool, &whole.to_string())))
        }
        Part::Call { tool, json, .. } => Some(Block::Call(call(tool, &json))),
        Part::Other => None,
    }
}

fn stop(reason: &str) -> Stop {
    match reason {
        "tool_use" => Stop::Calls,
        "max_tokens" | "model_context_window_exceeded" => Stop::Length,
        "refusal" => Stop::Refused,
        _ => Stop::Ended,
    }
}

#[cfg(test)]
#[path = "anthropic_tests.rs"]
mod tests;
