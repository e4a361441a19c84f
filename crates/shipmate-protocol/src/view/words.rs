//! What an event was about, in a few words: the same on every screen.
//!
//! Records are read as data without a fixed shape, so that a log of a newer release is shown too,
//! only with less care.

use serde_json::Value;

/// Longest part of a free text that is shown.
const TEXT_CHARS: usize = 72;

pub type Fields = serde_json::Map<String, Value>;

/// The event's name, and what it was about.
pub fn describe(event: &Fields, root: &str) -> (String, String) {
    let Some((event, fields)) = event.iter().next() else {
        return ("?".to_owned(), String::new());
    };
    let none = Fields::new();
    let fields = fields.as_object().unwrap_or(&none);
    let what = match event.split_once('.').map_or(event.as_str(), |(about, _)| about) {
        "task" => task(event, fields, root),
        "message" => message(fields, root),
        "teammate" => teammate(fields, root),
        "team" | "breaker" => {
            joined([text(fields, "team"), text(fields, "description"), text(fields, "reason")])
        }
        "gate" => gate(fields),
        "hook" => named(text(fields, "hook"), text(fields, "note")),
        "plan" | "question" | "shutdown" => request(fields, root),
        _ => plain_fields(fields),
    };
    (event.clone(), what)
}

fn task(event: &str, fields: &Fields, root: &str) -> String {
    let id = fields.get("task").map(Value::to_string).unwrap_or_default();
    let cause = text(fields, "cause").map(|cause| match cause.as_str() {
        "reassigned" => "taken away".to_owned(),
        cause => cause.replace('_', " "),
    });
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
    let files = list(fields, "files").map(|files| match event {
        "task.scope_left_out" => format!("is merged without {files}"),
        _ => format!("may also change {files}"),
    });
    joined([
        Some(id),
        files,
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
    let outcome = fields.get("outcome").map(|outcome| short_text(&outcome_words(outcome)));
    let stalled = fields.get("step").and_then(Value::as_u64).map(|step| match step {
        0 => "moves again".to_owned(),
        1 => "shows no progress".to_owned(),
        step => format!("still shows no progress, step {step}"),
    });
    joined([
        who,
        role.map(|role| format!("role {role}")),
        text(fields, "mode"),
        outcome,
        stalled,
        text(fields, "session").map(|session| format!("its conversation is {session}")),
        text(fields, "reason"),
    ])
}

/// `tasks 1, 2 passed in 1.2 s`; a red one with the last line it printed.
fn gate(fields: &Fields) -> String {
    let what = match fields.get("tasks").and_then(Value::as_array).map(Vec::as_slice) {
        Some([task]) => format!("task {task}"),
        Some([_, ..]) => format!("tasks {}", list(fields, "tasks").unwrap_or_default()),
        _ => "the base".to_owned(),
    };
    let passed = fields.get("passed").and_then(Value::as_bool).unwrap_or(false);
    let took_ms = fields.get("took_ms").and_then(Value::as_u64).unwrap_or(0);
    let verdict = if passed { "passed" } else { "failed" };
    let printed = fields.get("output").and_then(Value::as_str).unwrap_or_default();
    // Runners end with a summary, and many with a line that has nothing to say.
    let lines = || printed.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let tells = |line: &&str| {
        let line = line.to_lowercase();
        ["fail", "error", "not ok", "panick"].iter().any(|word| line.contains(word))
    };
    let last = lines().find(tells).or_else(|| lines().next());
    let told = format!("{what} {verdict} in {:.1} s", took_ms as f64 / 1000.0);
    named(Some(told), last.map(short_text))
}

fn request(fields: &Fields, root: &str) -> String {
    let id = ["plan", "question", "shutdown"].iter().find_map(|key| fields.get(*key));
    let answer = fields.get("answer").map(|answer| match answer {
        Value::String(word) => short_text(word),
        other => short_text(&answer_words(other)),
    });
    let task = fields.get("task").filter(|task| task.is_number()).map(|id| format!("task {id}"));
    joined([
        text(fields, "who").map(|who| short(&who, root).to_owned()),
        id.map(Value::to_string),
        task,
        list(fields, "files").map(|files| format!("wants to change {files}")),
        text(fields, "text"),
        text(fields, "body"),
        text(fields, "feedback"),
        text(fields, "reason"),
        answer,
    ])
}

/// The answer to a shutdown request.
fn answer_words(answer: &Value) -> String {
    match answer.pointer("/rejected/reason").and_then(Value::as_str) {
        Some(reason) => format!("rejected: {reason}"),
        None => outcome_words(answer),
    }
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

/// The members of a list, separated by commas.
fn list(fields: &Fields, key: &str) -> Option<String> {
    let word = |one: &Value| one.as_str().map_or_else(|| one.to_string(), str::to_owned);
    let many: Vec<String> = fields.get(key)?.as_array()?.iter().map(word).collect();
    (!many.is_empty()).then(|| short_text(&many.join(", ")))
}

/// The first words of a text, on one line.
fn short_text(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(TEXT_CHARS) {
        None => line,
        Some(_) => line.chars().take(TEXT_CHARS - 1).chain(['…']).collect(),
    }
}

/// `what: detail`
fn named(what: Option<String>, detail: Option<String>) -> String {
    [what, detail].into_iter().flatten().collect::<Vec<_>>().join(": ")
}

fn joined<const N: usize>(parts: [Option<String>; N]) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// A reference without the team's name where that is the root of the tree.
pub fn short<'a>(who: &'a str, root: &str) -> &'a str {
    who.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')).unwrap_or(who)
}

/// How a life ended, in words.
pub fn outcome_words(outcome: &Value) -> String {
    if let Some(word) = outcome.as_str() {
        return word.replace('_', " ");
    }
    if let Some(pending) = outcome.pointer("/in_progress/pending").and_then(Value::as_array) {
        let pending: Vec<&str> = pending.iter().filter_map(Value::as_str).collect();
        return format!("in progress, left: {}", pending.join("; "));
    }
    match outcome.pointer("/error/reason").and_then(Value::as_str) {
        Some(reason) => format!("error: {reason}"),
        None => outcome.to_string(),
    }
}

/// A duration in the largest unit that divides it.
pub fn duration(ms: u64) -> String {
    for (unit, name) in [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")] {
        if ms >= unit && ms.is_multiple_of(unit) {
            return format!("{}{name}", ms / unit);
        }
    }
    format!("{ms}ms")
}
