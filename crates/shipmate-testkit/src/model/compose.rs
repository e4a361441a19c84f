//! From a step of the script to the reply: which of the offered tools is meant, with which
//! arguments, and what stands for `{{...}}`.
//!
//! Every program names its tools and their arguments differently; the request says how. A tool
//! that is not offered becomes a text that says so, which a test sees at once.

use serde_json::{Map, Value, json};

use super::conversation::{Call, Conversation, Input, Kind, Reply, Tool};
use super::script::{Act, Turn};

/// Tools that run a command, by the names that programs give them.
const SHELLS: [&str; 6] =
    ["Bash", "exec_command", "shell_command", "run_shell_command", "bash", "shell"];
/// Tools that write a whole file.
const WRITERS: [&str; 3] = ["Write", "write_file", "write"];

/// In every text that says that a tool is missing.
pub(crate) const NOT_OFFERED: &str = "but no such tool is offered here";

pub(crate) fn compose(turn: &Turn, actor: &str, conversation: &Conversation) -> Reply {
    let fill = |text: &String| fill(text, actor, conversation);
    let mut say: Vec<String> = turn.say.iter().map(fill).collect();
    let mut calls = Vec::new();
    for act in &turn.calls {
        match call(act, actor, conversation) {
            Ok(call) => calls.push(call),
            Err(told) => say.push(told),
        }
    }
    Reply {
        think: turn.think.as_ref().map(fill),
        say: (!say.is_empty()).then(|| say.join("\n")),
        calls,
        usage: turn.usage.unwrap_or_default(),
        ..Reply::default()
    }
}

fn call(act: &Act, actor: &str, conversation: &Conversation) -> Result<Call, String> {
    let fill = |text: &str| fill(text, actor, conversation);
    match act {
        Act::Shell(command) => shell(&fill(command), &conversation.tools),
        Act::Write { path, text } => {
            let mut text = fill(text);
            text.push('\n');
            write(&fill(path), &text, &conversation.tools)
        }
        Act::Tool { name, arguments } => {
            let arguments = fill_value(arguments, &fill);
            let tool = conversation.tools.iter().find(|tool| tool.is_called(name));
            if let Some(tool) = tool {
                return Ok(tool.call(arguments));
            }
            let host = conversation.tools.iter().find(|tool| tool.runs_javascript());
            host.map(|host| host.look_up(name, &arguments))
                .ok_or_else(|| not_offered(name, conversation))
        }
    }
}

fn not_offered(name: &str, conversation: &Conversation) -> String {
    let names: Vec<_> = conversation.tools.iter().map(|tool| tool.name.as_str()).collect();
    format!("The script calls {name}, {NOT_OFFERED}: {}", names.join(", "))
}

fn named<'t>(tools: &'t [Tool], names: &[&str]) -> Option<&'t Tool> {
    names.iter().find_map(|name| tools.iter().find(|tool| tool.name == *name))
}

fn shell(command: &str, tools: &[Tool]) -> Result<Call, String> {
    let Some(tool) = named(tools, &SHELLS) else {
        return Err(format!("The script runs a command, {NOT_OFFERED}."));
    };
    let properties = tool.properties();
    let mut arguments = Map::new();
    if tool.is_inside() || properties.contains_key("cmd") {
        arguments.insert("cmd".to_owned(), command.into());
        // The longest that codex waits for an end.
        arguments.insert("yield_time_ms".to_owned(), 30_000.into());
    } else if properties["command"]["type"] == "array" {
        arguments.insert("command".to_owned(), json!(["bash", "-lc", command]));
    } else {
        arguments.insert("command".to_owned(), command.into());
    }
    if properties.contains_key("description") {
        arguments.insert("description".to_owned(), "a step of the script".into());
    }
    Ok(tool.call(Value::Object(arguments)))
}

fn write(path: &str, text: &str, tools: &[Tool]) -> Result<Call, String> {
    let Some(tool) = named(tools, &WRITERS) else {
        let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
        let [path, folder, text] = [path, folder, text].map(quoted);
        return shell(&format!("mkdir -p {folder} && printf %s {text} > {path}"), tools);
    };
    let properties = tool.properties();
    let keys = ["file_path", "filePath", "path"];
    let key = keys.into_iter().find(|key| properties.contains_key(*key)).unwrap_or(keys[0]);
    Ok(tool.call(json!({ key: path, "content": text })))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

impl Tool {
    /// By its own name, or by the end of it after a prefix such as `mcp__team__`.
    fn is_called(&self, name: &str) -> bool {
        if self.name == name {
            return true;
        }
        let full = match &self.namespace {
            Some(namespace) => format!("{namespace}__{}", self.name),
            None => self.name.clone(),
        };
        let before = full.strip_suffix(name);
        before.is_some_and(|before| before.is_empty() || before.ends_with(['_', '.', ':', '/']))
    }

    fn properties(&self) -> Map<String, Value> {
        match &self.kind {
            Kind::Function(schema) => schema["properties"].as_object().cloned().unwrap_or_default(),
            _ => Map::new(),
        }
    }

    fn is_inside(&self) -> bool {
        matches!(self.kind, Kind::Inside(_))
    }

    fn runs_javascript(&self) -> bool {
        self.kind == Kind::Freeform && self.name == "exec"
    }

    fn call(&self, arguments: Value) -> Call {
        match &self.kind {
            Kind::Function(_) => Call {
                name: self.name.clone(),
                namespace: self.namespace.clone(),
                input: Input::Json(arguments),
            },
            Kind::Freeform => Call {
                name: self.name.clone(),
                namespace: self.namespace.clone(),
                input: Input::Text(arguments["input"].as_str().unwrap_or_default().to_owned()),
            },
            Kind::Inside(host) => {
                // A freeform tool takes its text, every other one the object.
                let input = arguments.get("input").filter(|_| self.name == "apply_patch");
                let input = input.unwrap_or(&arguments);
                let code = format!("const result = await tools.{}({input});\n{SHOW}", self.name);
                javascript(host, &code)
            }
        }
    }

    /// A call of a tool that the description of the host leaves out, found when it runs.
    fn look_up(&self, name: &str, arguments: &Value) -> Call {
        let missing = json!(format!("The script calls {name}, {NOT_OFFERED}: "));
        let (name, end) = (json!(name), json!(format!("_{name}")));
        let code = format!(
            "const tool = ALL_TOOLS.find(({{ name }}) => name === {name} || name.endsWith({end}));\n\
             const result = tool ? await tools[tool.name]({arguments})\n  \
             : {missing} + ALL_TOOLS.map(({{ name }}) => name).join(\", \");\n{SHOW}"
        );
        javascript(&self.name, &code)
    }
}

/// Shows what a tool answered inside JavaScript as a program without it would.
const SHOW: &str = "text(result?.output
  ?? result?.content?.map((part) => part.text).join(\"\\n\")
  ?? result);";

fn javascript(host: &str, code: &str) -> Call {
    Call { name: host.to_owned(), namespace: None, input: Input::Text(code.to_owned()) }
}

fn fill_value(value: &Value, fill: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => fill(text).into(),
        Value::Array(items) => items.iter().map(|item| fill_value(item, fill)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), fill_value(value, fill)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

/// Puts pieces of the conversation where the script has `{{...}}`. What it does not know stays.
fn fill(text: &str, actor: &str, conversation: &Conversation) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((what, after)) = after.split_once("}}") else { break };
        filled.push_str(before);
        match piece(what.trim(), actor, conversation) {
            Some(piece) => filled.push_str(&piece),
            None => filled.push_str(&format!("{{{{{what}}}}}")),
        }
        rest = after;
    }
    filled + rest
}

fn piece(what: &str, actor: &str, conversation: &Conversation) -> Option<String> {
    if what == "actor" {
        return Some(actor.to_owned());
    }
    let last = conversation.last_result().trim();
    if what == "last" {
        return Some(last.to_owned());
    }
    if let Some(count) = what.strip_prefix("last ") {
        let count: usize = count.trim().parse().ok()?;
        let skipped = last.chars().count().saturating_sub(count);
        return Some(last.chars().skip(skipped).collect());
    }
    let mark = what.strip_prefix("after ")?;
    let is_part = |c: char| c.is_alphanumeric() || "_-.@/".contains(c);
    let found = conversation.texts().rev().find_map(|text| {
        let (_, after) = text.rsplit_once(mark)?;
        let after = after.trim_start_matches(|c: char| !is_part(c));
        let end = after.find(|c| !is_part(c)).unwrap_or(after.len());
        Some(after[..end].trim_end_matches('.').to_owned())
    });
    Some(found.unwrap_or_default())
}

#[cfg(test)]
#[path = "compose_tests.rs"]
mod tests;
