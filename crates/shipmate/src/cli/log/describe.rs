//! What an event was about, in a few words.

use serde_json::Value;

use super::{Record, short};
use crate::cli::screen::cut;
use crate::cli::time::duration;

/// Longest part of a free text that is shown.
const TEXT_COLUMNS: usize = 72;

type Fields = serde_json::Map<String, Value>;

/// The event's name, and what it was about.
pub(crate) fn describe(record: &Record, root: &str) -> (String, String) {
    let Some((event, fields)) = record.event.iter().next() else {
        return ("?".to_owned(), String::new());
    };
    let none = Fields::new();
    let fields = fields.as_object().unwrap_or(&none);
    let what = match event.split_once('.').map_or(event.as_str(), |(about, _)| about) {
        "task" => task(fields, root),
        "message" => message(fields, root),
        "teammate" => teammate(fields, root),
        "team" | "breaker" => joined([text(fields, "team"), text(fields, "description")]),
        "plan" | "question" | "shutdown" => request(fields, root),
        _ => plain_fields(fields),
    };
    (event.clone(), what)
}

fn task(fields: &Fields, root: &str) -> String {
    let id = fields.get("task").map(Value::to_string).unwrap_or_default();
    let cause = text(fields, "cause").map(|cause| cause.replace('_', " "));
    let reason = text(fields, "reason");
    let ended = match (cause, reason) {
        (Some(cause), Some(reason)) => Some(format!("{cause}: {reason}")),
        (cause, reason) => cause.or(reason),
    };
    let subject = fields.get("spec").and_then(|spec| spec.get("subject")).and_then(Value::as_str);
    let changed = fields.get("changes").and_then(Value::as_object).map(|changes| {
        changes.keys().map(|key| key.replace('_', " ")).collect::<Vec<_>>().join(", ")
    });
    let lease = fields.get("lease_ms").and_then(Value::as_u64);
    joined([
        Some(id),
        subject.map(short_text),
        changed,
        text(fields, "to").map(|to| format!("to {}", short(&to, root))),
        lease.map(|ms| format!("lease {}", duration(ms))),
        ended.map(|ended| short_text(&ended)),
        text(fields, "result"),
        text(fields, "work"),
    ])
}

fn message(fields: &Fields, root: &str) -> String {
    let to = match fields.get("to") {
        Some(Value::Array(many)) if many.len() > 3 => format!("{} teammates", many.len()),
        Some(Value::Array(many)) => {
            many.iter().map(|one| recipient(one, root)).collect::<Vec<_>>().join(", ")
        }
        Some(one) => recipient(one, root),
        None => String::new(),
    };
    let kind = match fields.get("kind") {
        Some(Value::String(kind)) if kind == "message" || kind == "broadcast" => String::new(),
        Some(Value::String(kind)) => format!(" ({kind})"),
        Some(other) => format!(" ({other})"),
        None => String::new(),
    };
    let ids = fields
        .get("messages")
        .and_then(Value::as_array)
        .map(|ids| ids.iter().map(Value::to_string).collect::<Vec<_>>().join(", "));
    let reason = text(fields, "reason").map(|reason| format!(", {reason}")).unwrap_or_default();
    match (text(fields, "body"), ids) {
        (None, Some(ids)) => format!("{ids} of {to}{reason}"),
        (body, _) => format!("to {to}{kind}: {}", body.unwrap_or_default()),
    }
}

fn recipient(to: &Value, root: &str) -> String {
    let member = to.get("member").and_then(Value::as_str).map(|who| short(who, root).to_owned());
    member.or_else(|| to.as_str().map(str::to_owned)).unwrap_or_else(|| to.to_string())
}

fn teammate(fields: &Fields, root: &str) -> String {
    let who = text(fields, "who").map(|who| short(&who, root).to_owned());
    let profile = fields.get("profile");
    let role = profile.and_then(|profile| profile.get("role")).and_then(Value::as_str);
    let outcome = fields.get("outcome").map(|outcome| match outcome {
        Value::String(word) => word.replace('_', " "),
        other => short_text(&other.to_string()),
    });
    joined([
        who,
        role.map(|role| format!("role {role}")),
        text(fields, "mode"),
        outcome,
        text(fields, "reason"),
    ])
}

fn request(fields: &Fields, root: &str) -> String {
    let id = ["plan", "question", "shutdown"].iter().find_map(|key| fields.get(*key));
    let answer = fields.get("answer").map(|answer| match answer {
        Value::String(word) => short_text(word),
        other => short_text(&other.to_string()),
    });
    joined([
        text(fields, "who").map(|who| short(&who, root).to_owned()),
        id.map(Value::to_string),
        text(fields, "text"),
        text(fields, "body"),
        text(fields, "feedback"),
        text(fields, "reason"),
        answer,
    ])
}

/// Events this release knows nothing better for.
fn plain_fields(fields: &Fields) -> String {
    let shown = fields.iter().map(|(key, value)| match value {
        Value::String(text) => format!("{key}={}", short_text(text)),
        other => format!("{key}={}", short_text(&other.to_string())),
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn text(fields: &Fields, key: &str) -> Option<String> {
    let text = fields.get(key)?.as_str()?;
    (!text.is_empty()).then(|| short_text(text))
}

/// The first words of a text, on one line.
fn short_text(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&line, TEXT_COLUMNS).into_owned()
}

fn joined<const N: usize>(parts: [Option<String>; N]) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
