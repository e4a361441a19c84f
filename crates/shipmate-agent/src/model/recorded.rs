//! A model that was recorded: for demonstrations without a key and without a network.
//!
//! A file of JSON lines, one rule each:
//!
//! ```text
//! {"on": ["task 1"], "as": "You are ana", "replies": [
//!   {"text": "I write it.", "calls": [{"tool": "bash", "arguments": {"command": "ls"}}]},
//!   {"text": "It is written.", "wait_ms": 300}]}
//! ```
//!
//! What must hold: the reply is a function of the conversation alone, so an agent that was killed
//! goes on where its conversation ends. The rule is the first in the file whose texts are all in
//! the newest text of the user that any rule is about; the step is the number of the assistant's
//! messages since.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, sleep_until};

use super::calls::id_of;
use super::price::{estimate_blocks, estimate_tokens};
use super::{Failure, Reply, Request, Stop, Tokens, Watch};
use crate::message::{Arguments, Block, Call, Message, Role};

const WAIT_MS_MAX: u64 = 60_000;
/// What is said when a rule is at its end, and where none is about the conversation.
const DONE: &str = "Done.";

#[derive(Debug)]
pub(super) struct Recording {
    rules: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    on: Vec<String>,
    #[serde(default, rename = "as")]
    who: Option<String>,
    replies: Vec<Step>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    #[serde(default)]
    text: String,
    #[serde(default)]
    calls: Vec<Use>,
    #[serde(default)]
    wait_ms: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Use {
    tool: String,
    #[serde(default = "no_arguments")]
    arguments: Value,
}

fn no_arguments() -> Value {
    json!({})
}

impl Recording {
    pub(super) fn open(file: &Path) -> Result<Recording, Failure> {
        let text = std::fs::read_to_string(file).map_err(|error| Failure::Final {
            text: format!("the recorded model {} cannot be read: {error}", file.display()),
        })?;
        Recording::parse(&text).map_err(|(line, error)| Failure::Final {
            text: format!("line {line} of the recorded model {} is wrong: {error}", file.display()),
        })
    }

    fn parse(text: &str) -> Result<Recording, (usize, String)> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let rules = lines.map(|(index, line)| {
            serde_json::from_str(line).map_err(|error| (index + 1, error.to_string()))
        });
        Ok(Recording { rules: rules.collect::<Result<_, _>>()? })
    }

    pub(super) async fn ask(&self, request: &Request<'_>, watch: &mut dyn Watch) -> Reply {
        let done = Step { text: DONE.to_owned(), ..Step::default() };
        let step = self.step(request).unwrap_or(&done);
        if step.wait_ms > 0 {
            let wait = Duration::from_millis(step.wait_ms.min(WAIT_MS_MAX));
            sleep_until(Instant::now() + wait).await;
        }
        let reply = reply(step, request);
        watch.busy(reply.tokens.output * 4);
        reply
    }

    fn step(&self, request: &Request<'_>) -> Option<&Step> {
        let rules = self.rules.iter().filter(|rule| {
            rule.who.as_ref().is_none_or(|who| request.system.contains(who.as_str()))
        });
        let rules: Vec<&Rule> = rules.collect();
        let mut steps_done = 0;
        for message in request.messages.iter().rev() {
            if message.role == Role::Assistant {
                steps_done += 1;
            } else if let Some(rule) = about(&rules, message) {
                return rule.replies.get(steps_done);
            }
        }
        None
    }
}

fn about<'r>(rules: &[&'r Rule], message: &Message) -> Option<&'r Rule> {
    let text = message.text();
    let is_about = |rule: &&&Rule| rule.on.iter().all(|sought| text.contains(sought.as_str()));
    if text.is_empty() { None } else { rules.iter().find(is_about).copied() }
}

fn reply(step: &Step, request: &Request<'_>) -> Reply {
    let mut blocks = Vec::new();
    if !step.text.is_empty() {
        blocks.push(Block::Text(step.text.clone()));
    }
    for (index, call) in step.calls.iter().enumerate() {
        let arguments = Arguments::Json(call.arguments.clone());
        let id = id_at(request.messages, index);
        blocks.push(Block::Call(Call { id, tool: call.tool.clone(), arguments }));
    }
    let output = estimate_blocks(&blocks);
    let tokens = Tokens { input: estimate_tokens(request), output, ..Tokens::default() };
    let stop = if step.calls.is_empty() { Stop::Ended } else { Stop::Calls };
    Reply { blocks, stop, tokens, ..Reply::default() }
}

/// The same for the same conversation, and another one as soon as it has grown.
fn id_at(messages: &[Message], index: usize) -> String {
    let said = serde_json::to_vec(messages).expect("messages can be written as JSON");
    let hash = Sha256::new().chain_update(said).chain_update(index.to_le_bytes()).finalize();
    id_of(hash.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
#[path = "recorded_tests.rs"]
mod tests;
