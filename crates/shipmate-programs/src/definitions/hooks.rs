//! Hooks of a definition: commands that Claude Code runs at its own events.
//!
//! What is written here goes into the settings that the program is started with, and it leaves out settings
//! that it cannot read, as a whole and without a word. So only what it has known for long is passed on, in
//! the form that it asks for; the rest is told of. An event at which a hook could give a permission in the
//! person's place is not among them.

use serde_json::{Map, Value, json};

/// Longest text of all of them.
const BYTES_MAX: usize = 16 * 1024;
const SECONDS_MAX: u64 = 3_600;

const EVENTS: [&str; 9] = [
    "PreToolUse",
    "PostToolUse",
    "Notification",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "SubagentStop",
    "PreCompact",
];

/// The hooks as settings have them, as JSON; nothing where there is none that can be run.
pub(super) fn read(value: &Value, notes: &mut Vec<String>) -> Result<String, String> {
    let Some(events) = value.as_object() else {
        return Err("its hooks are no events with commands".to_owned());
    };
    let mut kept = Map::new();
    let mut left_out = Vec::new();
    for (event, groups) in events {
        if !EVENTS.contains(&event.as_str()) {
            left_out.push(format!("hooks of {event}"));
            continue;
        }
        let groups = groups.as_array().into_iter().flatten();
        let groups: Vec<Value> = groups.filter_map(|one| group(one, &mut left_out)).collect();
        if !groups.is_empty() {
            kept.insert(event.clone(), Value::Array(groups));
        }
    }
    left_out.sort_unstable();
    left_out.dedup();
    if !left_out.is_empty() {
        notes.push(format!("{} are not run", left_out.join(", ")));
    }
    if kept.is_empty() {
        return Ok(String::new());
    }
    let text = Value::Object(kept).to_string();
    match text.len() > BYTES_MAX {
        true => Err(format!("its hooks are longer than {BYTES_MAX} bytes: put them into a script")),
        false => Ok(text),
    }
}

fn group(group: &Value, left_out: &mut Vec<String>) -> Option<Value> {
    let commands: Vec<Value> = group["hooks"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|hook| {
            let command = hook["command"].as_str().unwrap_or_default();
            let kind = hook["type"].as_str().unwrap_or_default();
            if kind != "command" || command.trim().is_empty() {
                left_out.push("hooks that are no command".to_owned());
                return None;
            }
            let mut kept = json!({ "type": "command", "command": command });
            let seconds = hook["timeout"].as_str().and_then(|text| text.parse::<u64>().ok());
            if let Some(seconds) = seconds.filter(|seconds| (1..=SECONDS_MAX).contains(seconds)) {
                kept["timeout"] = json!(seconds);
            }
            Some(kept)
        })
        .collect();
    if commands.is_empty() {
        return None;
    }
    let mut kept = json!({ "hooks": commands });
    if let Some(matcher) = group["matcher"].as_str() {
        kept["matcher"] = json!(matcher);
    }
    Some(kept)
}
