//! What a request says, whatever wire format it came in: who said what, and which tools are there.
//!
//! The formats differ in names only. Each of them fills this in, and the choice of a reply sees
//! nothing else, so one script drives every program.

use serde_json::Value;

use super::script::Usage;

#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// System prompts and the program's own instructions.
    pub(crate) instructions: String,
    pub(crate) entries: Vec<Entry>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) model: String,
    pub(crate) streams: bool,
    /// The schema that the answer has to fit, where the program asks for one.
    pub(crate) schema: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Entry {
    User(String),
    /// One call of the model, with the number of tools it called.
    Model {
        text: String,
        calls: usize,
    },
    Result(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Takes JSON that fits this schema.
    Function(Value),
    /// Takes a text.
    Freeform,
    /// Is there only inside the JavaScript that the freeform tool of this name runs.
    Inside(String),
}

impl Conversation {
    /// Adds what the model said. Formats cut one answer into several items: these are one turn.
    pub(crate) fn model_said(&mut self, said: &str, called: usize) {
        if let Some(Entry::Model { text, calls }) = self.entries.last_mut() {
            text.push_str(said);
            *calls += called;
        } else {
            self.entries.push(Entry::Model { text: said.to_owned(), calls: called });
        }
    }

    /// Adds a text that came from outside the model, unless the program put it there by itself.
    pub(crate) fn user_said(&mut self, text: &str) {
        if is_by_the_program(text) {
            self.instructions.push('\n');
            self.instructions.push_str(text);
        } else {
            self.entries.push(Entry::User(text.to_owned()));
        }
    }

    /// Adds a text of the program in mid-conversation: some carry what a person or a peer said.
    pub(crate) fn system_said(&mut self, text: &str) {
        if brings_a_message(text) {
            self.entries.push(Entry::User(text.to_owned()));
        } else {
            self.instructions.push('\n');
            self.instructions.push_str(text);
        }
    }

    pub(crate) fn result(&mut self, text: String) {
        self.entries.push(Entry::Result(text));
    }

    /// The newest result of a tool.
    pub(crate) fn last_result(&self) -> &str {
        let results = self.entries.iter().rev().filter_map(|entry| match entry {
            Entry::Result(text) => Some(text.as_str()),
            _ => None,
        });
        results.into_iter().next().unwrap_or_default()
    }

    /// Every text, in order.
    pub(crate) fn texts(&self) -> impl DoubleEndedIterator<Item = &str> {
        let said = self.entries.iter().map(|entry| match entry {
            Entry::User(text) | Entry::Model { text, .. } | Entry::Result(text) => text.as_str(),
        });
        std::iter::once(self.instructions.as_str()).chain(said)
    }
}

/// Reminders and surroundings repeat at every turn. As words of the user they would begin a rule
/// again and again.
fn is_by_the_program(text: &str) -> bool {
    let text = text.trim_start();
    let tags = [
        "<system-reminder>",
        "<environment_context>",
        "<session_context>",
        "<user_instructions>",
        // What shipmate puts behind everything that it hands over.
        "(Handed over by your team's runtime",
    ];
    tags.iter().any(|tag| text.starts_with(tag)) && !brings_a_message(text)
}

fn brings_a_message(text: &str) -> bool {
    ["sent a new message", "sent a message", "<teammate-message", "<agent-message", "hook feedback"]
        .iter()
        .any(|mark| text.contains(mark))
}

/// The text of a `content` that is a string or a list of parts with a `text`.
pub(crate) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<_> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

/// What the model answers, whatever wire format it goes out in.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reply {
    /// Part of every id in the reply: no two replies share it, even after a restart.
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) think: Option<String>,
    pub(crate) say: Option<String>,
    pub(crate) calls: Vec<Call>,
    pub(crate) usage: Usage,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) input: Input,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Input {
    Json(Value),
    Text(String),
}

impl Call {
    pub(crate) fn json(&self) -> Value {
        match &self.input {
            Input::Json(value) => value.clone(),
            Input::Text(text) => Value::String(text.clone()),
        }
    }
}

impl Default for Usage {
    /// The same for every reply: sums in a test stay readable, and no program compacts.
    fn default() -> Self {
        Self { input: 100, output: 10 }
    }
}

/// The pieces a text is streamed in.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

/// One event of a stream, named where the format names its events.
pub(crate) fn event(name: Option<&str>, data: &Value) -> String {
    match name {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}
