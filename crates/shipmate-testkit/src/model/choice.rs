//! Which step of the script answers a request: a function of the conversation in it alone.
//!
//! No memory, on purpose. A session that is resumed after a kill brings its history along and goes
//! on where that history ends; a reply that never arrived is given again. What the script did not
//! say (a program's own "No response requested.", an answer that broke off) is not counted.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

use super::compose::NOT_OFFERED;
use super::conversation::{Conversation, Entry};
use super::script::{Actor, Rule, Script, Turn};

/// What a conversation gets that no rule is about.
pub(crate) const NOTHING: &str = "There is nothing for me to do.";

#[derive(Debug, PartialEq)]
pub(crate) enum Choice<'s> {
    /// A call that the program makes for itself, and the fixed answer to it.
    Side(String),
    /// No rule is about it.
    Nothing,
    Step {
        actor: String,
        rule: &'s Rule,
        step: usize,
        turn: &'s Turn,
    },
}

pub(crate) fn choose<'s>(script: &'s Script, conversation: &Conversation) -> Choice<'s> {
    if let Some(answer) = side_call(script, conversation) {
        return Choice::Side(answer);
    }
    let (actor, rules) = rules_for(script, conversation);
    let is_ours = |entry: &Entry| is_ours(&rules, entry);

    // From the newest text back. Turns that a newer rule had no step for belong to an older one.
    let mut until = conversation.entries.len();
    let mut beyond = 0;
    for (at, entry) in conversation.entries.iter().enumerate().rev() {
        let Entry::User(text) = entry else { continue };
        let Some(rule) = rules.iter().copied().find(|rule| is_about(rule, text)) else { continue };
        let done = beyond + conversation.entries[at..until].iter().filter(|e| is_ours(e)).count();
        if let Some(turn) = rule.turns.get(done) {
            return Choice::Step { actor, rule, step: done, turn };
        }
        if rule.turns.last().is_some_and(|turn| turn.calls.is_empty()) {
            return Choice::Nothing;
        }
        beyond = done - rule.turns.len();
        until = at;
    }
    Choice::Nothing
}

/// The same for the same conversation, so that a retry is told from progress.
pub(crate) fn position(conversation: &Conversation) -> u64 {
    let mut hasher = DefaultHasher::new();
    conversation.instructions.hash(&mut hasher);
    conversation.entries.hash(&mut hasher);
    hasher.finish()
}

/// Programs ask for titles, suggestions, quotas and routes by themselves: without tools, or with a
/// mark in the newest text.
fn side_call(script: &Script, conversation: &Conversation) -> Option<String> {
    let newest = conversation.entries.iter().rev().find_map(|entry| match entry {
        Entry::User(text) => Some(text.as_str()),
        _ => None,
    });
    let marked = newest.is_some_and(|text| text.trim_start().starts_with("[SUGGESTION MODE"));
    let toolless = conversation.tools.is_empty() && !script.plain;
    if !marked && !toolless {
        return None;
    }
    Some(match &conversation.schema {
        Some(schema) => smallest(schema).to_string(),
        None => "ok".to_owned(),
    })
}

/// The smallest value that fits a schema, as far as programs use schemas here.
fn smallest(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    let kind = schema["type"].as_str().or(schema["type"][0].as_str()).unwrap_or("object");
    match kind.to_ascii_lowercase().as_str() {
        "string" => "ok".into(),
        "number" | "integer" => schema["minimum"].as_u64().unwrap_or(0).into(),
        "boolean" => false.into(),
        "array" => Value::Array(Vec::new()),
        "null" => Value::Null,
        _ => {
            let properties = schema["properties"].as_object().cloned().unwrap_or_default();
            let fields = properties.iter().map(|(name, schema)| (name.clone(), smallest(schema)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}

/// Who speaks, and the rules that hold for it: its own before everybody's.
fn rules_for<'s>(script: &'s Script, conversation: &Conversation) -> (String, Vec<&'s Rule>) {
    let told = script.rules.iter().filter_map(|rule| match &rule.actor {
        Actor::Told { name, text } => earliest(conversation, text).map(|at| (at, name)),
        Actor::Everybody => None,
    });
    // Who is told first who it is, is that one: later texts may be about others.
    let name = told.min().map(|(_, name)| name.clone());
    let own = script.rules.iter().filter(|rule| match &rule.actor {
        Actor::Told { name: whose, .. } => Some(whose) == name.as_ref(),
        Actor::Everybody => false,
    });
    let everybodys = script.rules.iter().filter(|rule| rule.actor == Actor::Everybody);
    let rules = own.chain(everybodys).collect();
    (name.unwrap_or_else(|| "*".to_owned()), rules)
}

fn earliest(conversation: &Conversation, sought: &str) -> Option<(usize, usize)> {
    let mut texts = conversation.texts().enumerate();
    texts.find_map(|(index, text)| find_words(text, sought).map(|at| (index, at)))
}

fn is_about(rule: &Rule, text: &str) -> bool {
    rule.on.iter().all(|sought| find_words(text, sought).is_some())
}

/// Where `sought` stands as whole words: "task 1" is not in "task 10".
pub(crate) fn find_words(text: &str, sought: &str) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let first = sought.chars().next().is_some_and(is_word);
    let last = sought.chars().next_back().is_some_and(is_word);
    text.match_indices(sought).map(|(at, _)| at).find(|&at| {
        let before = text[..at].chars().next_back().is_some_and(is_word);
        let after = text[at + sought.len()..].chars().next().is_some_and(is_word);
        !(first && before || last && after)
    })
}

/// Whether a turn of the model is one of the script's.
fn is_ours(rules: &[&Rule], entry: &Entry) -> bool {
    let Entry::Model { text, calls } = entry else { return false };
    let text = text.trim();
    let said = rules.iter().flat_map(|rule| &rule.turns).filter_map(|turn| turn.say.as_deref());
    *calls > 0
        || text.contains(NOT_OFFERED)
        || said.into_iter().any(|say| say.contains("{{") || say.trim() == text)
}

#[cfg(test)]
#[path = "choice_tests.rs"]
mod tests;
