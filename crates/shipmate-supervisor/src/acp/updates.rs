//! What an ACP agent tells while it works, in words that a person can follow.
//!
//! Text comes in pieces and is said a message at a time; a tool call is said once, when
//! enough is known of it. However much is told, only the message at hand and the calls that
//! are open are kept. Kinds that are not known are passed over: agents send more each year.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use shipmate_process::one_line;
use shipmate_protocol::verbs::Context;

use crate::desk::SERVER;

/// A message longer than this is said in parts.
const MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// Calls that are kept open at most.
const CALLS_MAX: usize = 256;
/// Most of one line about a tool call.
const LINE_CHARS_MAX: usize = 300;

#[derive(Debug, Default)]
pub(super) struct Updates {
    /// Paths below it are said without it.
    tree: PathBuf,
    /// The message at hand, as far as it has come.
    text: String,
    message: Value,
    /// The last message that was whole.
    last: String,
    calls: BTreeMap<String, Call>,
    /// All calls of the turn, by their ids.
    met: BTreeSet<String>,
    /// How often in this turn tools were called after all before were done: so often the agent has
    /// asked its model, and will ask again.
    pub(super) rounds: u64,
    plan: String,
    /// What the session has cost so far, in millionths.
    cost_micros: u64,
    /// How full its context is, where it tells.
    pub(super) context: Option<Context>,
}

#[derive(Debug, Default)]
struct Call {
    fields: Map<String, Value>,
    said: bool,
}

impl Updates {
    pub(super) fn new(tree: &Path) -> Updates {
        Updates { tree: tree.to_owned(), ..Updates::default() }
    }

    /// Takes one update in; what there is to say now, if anything.
    pub(super) fn take(&mut self, update: &Value) -> Vec<String> {
        let mut says = Vec::new();
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "agent_message_chunk" => {
                if self.message != update["messageId"] || self.text.len() > MESSAGE_BYTES_MAX {
                    says.extend(self.finish());
                    self.message = update["messageId"].clone();
                }
                self.text.push_str(update["content"]["text"].as_str().unwrap_or_default());
            }
            "agent_thought_chunk" | "user_message_chunk" => says.extend(self.finish()),
            "tool_call" | "tool_call_update" => {
                says.extend(self.finish());
                self.take_call(update, &mut says);
            }
            "plan" => {
                let plan = plan_words(&update["entries"]);
                if plan != self.plan {
                    says.extend(self.finish());
                    says.push(plan.clone());
                    self.plan = plan;
                }
            }
            "usage_update" => {
                if let Some(amount) = update["cost"]["amount"].as_f64() {
                    self.cost_micros = (amount * 1e6) as u64;
                }
                if let Some(used) = update["used"].as_u64().filter(|used| *used > 0) {
                    let max = update["size"].as_u64().filter(|size| *size > 0);
                    self.context = Some(Context { used, max });
                }
            }
            "current_mode_update" => {
                let mode = update["currentModeId"].as_str().unwrap_or_default();
                says.push(format!("[now in its mode {mode}]"));
            }
            _ => {}
        }
        says
    }

    /// The message at hand is whole.
    pub(super) fn finish(&mut self) -> Option<String> {
        let text = std::mem::take(&mut self.text);
        if text.trim().is_empty() {
            return None;
        }
        text.trim().clone_into(&mut self.last);
        Some(text)
    }

    /// A turn begins: nothing was said in it.
    pub(super) fn begin_turn(&mut self) {
        self.text.clear();
        self.last.clear();
        self.calls.clear();
        self.met.clear();
        self.rounds = 0;
    }

    /// A tool is called, perhaps for the first time.
    pub(super) fn meet(&mut self, call: &Value) {
        let Some(id) = call["toolCallId"].as_str() else { return };
        if self.met.insert(id.to_owned()) && self.calls.is_empty() {
            self.rounds += 1;
        }
    }

    /// The last message of the turn.
    pub(super) fn last_message(&self) -> String {
        self.last.clone()
    }

    pub(super) fn cost_micros(&self) -> u64 {
        self.cost_micros
    }

    /// A tool call with all that was told of it before: permission is asked with less.
    pub(super) fn whole_call(&self, call: &Value) -> Value {
        let id = call["toolCallId"].as_str().unwrap_or_default();
        let mut fields = self.calls.get(id).map(|call| call.fields.clone()).unwrap_or_default();
        merge(&mut fields, call);
        Value::Object(fields)
    }

    fn take_call(&mut self, update: &Value, says: &mut Vec<String>) {
        let Some(id) = update["toolCallId"].as_str() else { return };
        self.meet(update);
        let over = matches!(update["status"].as_str(), Some("completed" | "failed"));
        let mut call = self.calls.remove(id).unwrap_or_default();
        let new_input = says_input(update) && !says_input(&Value::Object(call.fields.clone()));
        merge(&mut call.fields, update);
        let fields = Value::Object(call.fields);
        let known = new_input || !matches!(fields["status"].as_str(), None | Some("pending"));
        if known && !call.said {
            // The team's own tools are said by the desk's door.
            says.extend((!is_team_tool(&fields)).then(|| call_words(&fields, &self.tree)));
            call.said = true;
        }
        if fields["status"] == "failed" {
            says.push(format!("  failed: {}", line(&content_text(&fields["content"]))));
        }
        if !over && self.calls.len() < CALLS_MAX {
            let Value::Object(fields) = fields else { unreachable!("made of an object") };
            self.calls.insert(id.to_owned(), Call { fields, said: call.said });
        }
    }
}

fn says_input(call: &Value) -> bool {
    call["rawInput"].as_object().is_some_and(|input| !input.is_empty())
}

fn merge(fields: &mut Map<String, Value>, update: &Value) {
    let Some(update) = update.as_object() else { return };
    for (name, value) in update.iter().filter(|(_, value)| !value.is_null()) {
        fields.insert(name.clone(), value.clone());
    }
}

/// One line about a tool call.
pub(super) fn call_words(call: &Value, tree: &Path) -> String {
    let input = &call["rawInput"];
    let title = call["title"].as_str().unwrap_or("a tool");
    let paths = || paths(call, tree).unwrap_or_else(|| title.to_owned());
    line(&match call["kind"].as_str().unwrap_or_default() {
        "execute" => format!("$ {}", command(input).unwrap_or_else(|| title.to_owned())),
        "edit" => format!("edits {}", paths()),
        "delete" => format!("deletes {}", paths()),
        "move" => format!("moves {}", paths()),
        "read" => format!("reads {}", paths()),
        "fetch" => format!("fetches {}", input["url"].as_str().unwrap_or(title)),
        _ => title.to_owned(),
    })
}

/// Whether a call is of the team's own tools, however the program spells them.
fn is_team_tool(call: &Value) -> bool {
    let spelt = [&call["name"], &call["title"], &call["_meta"]["claudeCode"]["toolName"]];
    let begins = [
        format!("mcp__{SERVER}__"),
        format!("mcp_{SERVER}_"),
        format!("mcp.{SERVER}."),
        format!("{SERVER}_"),
    ];
    let holds = format!("({SERVER} MCP Server)");
    spelt.into_iter().filter_map(Value::as_str).any(|name| {
        begins.iter().any(|begin| name.starts_with(begin.as_str())) || name.contains(&holds)
    })
}

/// One line about a call of a tool of the team's, the receiver and the words first.
pub(super) fn tool_words(tool: &str, arguments: &Value) -> String {
    let none = Map::new();
    let input = arguments.as_object().unwrap_or(&none);
    let text = |names: &[&str]| names.iter().find_map(|name| input.get(*name)?.as_str());
    let to = text(&["to", "recipient"]).map(|to| format!(" to {to}"));
    let words = text(&["message", "content", "text", "plan", "question"]);
    if to.is_some() || words.is_some() {
        let (to, words) = (to.unwrap_or_default(), words.unwrap_or_default());
        return line(&format!("→ {tool}{to}: {words}"));
    }
    let pair = |(name, value): (&String, &Value)| match value {
        Value::String(value) => format!(" {name}={value}"),
        value => format!(" {name}={value}"),
    };
    line(&format!("→ {tool}{}", input.iter().map(pair).collect::<String>()))
}

fn command(input: &Value) -> Option<String> {
    match &input["command"] {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "))
        }
        _ => None,
    }
}

fn paths(call: &Value, tree: &Path) -> Option<String> {
    let locations = call["locations"].as_array().into_iter().flatten();
    let mut paths: Vec<&str> = locations.filter_map(|at| at["path"].as_str()).collect();
    if paths.is_empty() {
        let names = ["file_path", "filePath", "path", "absolute_path"];
        paths.extend(names.iter().find_map(|name| call["rawInput"][*name].as_str()));
    }
    let short = |path: &str| match Path::new(path).strip_prefix(tree) {
        Ok(below) => below.display().to_string(),
        Err(_) => path.to_owned(),
    };
    paths.dedup();
    (!paths.is_empty()).then(|| paths.into_iter().map(short).collect::<Vec<_>>().join(", "))
}

fn content_text(content: &Value) -> String {
    let texts = content.as_array().into_iter().flatten();
    let texts: Vec<&str> = texts.filter_map(|one| one["content"]["text"].as_str()).collect();
    match texts.join(" ") {
        text if text.trim().is_empty() => "no reason given".to_owned(),
        text => text,
    }
}

fn plan_words(entries: &Value) -> String {
    let entry = |entry: &Value| {
        let mark = match entry["status"].as_str() {
            Some("completed") => 'x',
            Some("in_progress") => '>',
            _ => ' ',
        };
        line(&format!("[{mark}] {}", entry["content"].as_str().unwrap_or_default()))
    };
    entries.as_array().into_iter().flatten().map(entry).collect::<Vec<_>>().join("\n")
}

/// As one line, cut where it would be too long to read.
fn line(text: &str) -> String {
    one_line(text, LINE_CHARS_MAX)
}

#[cfg(test)]
mod tests;
