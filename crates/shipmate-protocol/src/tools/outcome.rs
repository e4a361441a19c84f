//! What a call gives back, and how refusals and bad arguments become it.
//!
//! A call of several parts says of each whether it was done: never "updated" for what was not.

use serde_json::{Map, Value, json};

use crate::Code;
use crate::refused::Refused;
use crate::tools::Outcome;
use crate::tools::arguments::Bad;

/// Either way it is what the model reads; `Err` ends a call early.
pub(crate) type Reply = Result<Outcome, Outcome>;

impl Outcome {
    pub(crate) fn done(text: impl Into<String>, structured: Value) -> Outcome {
        debug_assert!(structured.is_object(), "structured output is an object");
        Outcome { text: text.into(), structured, is_error: false }
    }

    /// A sentence after the rest, which data has no place for.
    pub(crate) fn and(mut self, sentence: &str) -> Outcome {
        self.text.push('\n');
        self.text.push_str(sentence);
        self
    }
}

pub(crate) use crate::refused::refused;

pub(crate) fn as_fields(refused: &Refused) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("error".to_owned(), json!(refused.code));
    fields.insert("message".to_owned(), json!(refused.message));
    if let Some(remedy) = &refused.remedy {
        fields.insert("remedy".to_owned(), json!(remedy));
    }
    fields
}

impl From<Refused> for Outcome {
    fn from(refused: Refused) -> Outcome {
        let structured = Value::Object(as_fields(&refused));
        Outcome { text: refused.to_string(), structured, is_error: true }
    }
}

impl From<Bad> for Outcome {
    fn from(bad: Bad) -> Outcome {
        let Bad { field, sent, expected } = bad;
        let message = format!("`{field}` is {sent}; expected {expected}");
        let mut fields = as_fields(&refused(Code::BadArgument, message.as_str(), ""));
        fields.insert("field".to_owned(), json!(field));
        fields.insert("sent".to_owned(), json!(sent));
        fields.insert("expected".to_owned(), json!(expected));
        Outcome { text: message, structured: Value::Object(fields), is_error: true }
    }
}

/// What a part did, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Did {
    /// It changed something; the words may be empty.
    Change(String),
    /// It was so already.
    Nothing(String),
}

impl Did {
    pub(crate) fn change(words: &str) -> Did {
        Did::Change(words.to_owned())
    }

    pub(crate) fn words(self) -> String {
        match self {
            Did::Change(words) | Did::Nothing(words) => words,
        }
    }
}

/// What became of each part of a call. After the first refusal nothing more is tried.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    done: Vec<(String, String)>,
    already: Vec<(String, String)>,
    refused: Option<(String, Refused)>,
    untried: Vec<String>,
}

impl Parts {
    pub(crate) fn note(&mut self, part: &str, how: Result<Did, Refused>) {
        match how {
            Ok(Did::Change(words)) => self.done.push((part.to_owned(), words)),
            Ok(Did::Nothing(words)) => self.already.push((part.to_owned(), words)),
            Err(refused) => self.refused = Some((part.to_owned(), refused)),
        }
    }

    /// Says more about what was done last.
    pub(crate) fn tell(&mut self, more: &str) {
        if let Some((_, words)) = self.done.last_mut() {
            words.push_str(if words.is_empty() { "" } else { ". " });
            words.push_str(more);
        }
    }

    pub(crate) fn skip(&mut self, part: &str) {
        self.untried.push(part.to_owned());
    }

    pub(crate) fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    pub(crate) fn is_changed(&self) -> bool {
        !self.done.is_empty()
    }

    /// `Updated task #3 owner, status`, then what each means, then what was refused.
    pub(crate) fn outcome(self, what: &str, mut fields: Map<String, Value>) -> Outcome {
        let mut lines = Vec::new();
        if !self.done.is_empty() {
            let names: Vec<&str> = self.done.iter().map(|(part, _)| part.as_str()).collect();
            lines.push(format!("Updated {what} {}", names.join(", ")));
            let told = self.done.iter().filter(|(_, words)| !words.is_empty());
            lines.extend(told.map(|(part, words)| format!("{part}: {words}")));
        }
        let already = self.already.iter();
        lines.extend(already.map(|(part, words)| format!("Unchanged {what} {part}: {words}")));
        let names = |parts: &[(String, String)]| -> Value {
            parts.iter().map(|(part, _)| part.clone()).collect()
        };
        fields.insert("updated".to_owned(), names(&self.done));
        if !self.already.is_empty() {
            fields.insert("unchanged".to_owned(), names(&self.already));
        }
        let is_error = self.refused.is_some();
        if let Some((part, refused)) = &self.refused {
            let start = if self.done.is_empty() { "Nothing was changed" } else { "Not changed" };
            lines.push(format!("{start}: {part}: {refused}"));
            fields.insert("refused".to_owned(), json!(part));
            fields.extend(as_fields(refused));
        }
        if !self.untried.is_empty() {
            lines.push(format!("Not tried after that: {}", self.untried.join(", ")));
            fields.insert("untried".to_owned(), json!(self.untried));
        }
        Outcome { text: lines.join("\n"), structured: Value::Object(fields), is_error }
    }
}
