//! `.harness/features.json`, kept up to date with the board.
//!
//! Only what the board knows is changed: status, who has it, its test, its coverage and how often
//! it came back, for the features that are tasks, and the two counters. All else stays to the byte.

use serde_json::{Value, json};
use shipmate_core::state::{Status, Task};
use shipmate_model::Alias;
use shipmate_protocol::json_text::{self, Edits, Span};

use super::{Files, Sight};

/// What we wrote into a feature's notes ourselves begins with this.
const OWN_NOTE: &str = "shipmate: ";
const NOTE_CHARS_MAX: usize = 300;

pub(super) fn render(sight: &Sight<'_>) -> Result<Files, String> {
    let Some(ground) = sight.ground else { return Ok(Vec::new()) };
    let Some(text) = ground.read(sight.path)? else {
        return Err("it is gone from the branch".to_owned());
    };
    let kept = keep(&text, |id| {
        let task = sight.state.by_alias(&id.parse::<Alias>().ok()?)?;
        sight.state.task(task).filter(|task| task.team == *sight.team)
    })?;
    Ok(vec![(sight.path.to_owned(), kept)])
}

fn keep<'a>(text: &str, task_of: impl Fn(&str) -> Option<&'a Task>) -> Result<String, String> {
    let whole = text.len() - text.trim_start().len()..text.trim_end().len();
    let top = json_text::members(text, &whole)?;
    let list = top.iter().find(|(key, _)| key == "features");
    let (_, list) = list.ok_or("there is no list \"features\" in it")?;
    let list = json_text::items(text, list)?;
    let (mut edits, mut passing) = (Edits::default(), 0);
    for span in &list {
        // What is no object is left alone, like anything else that is not understood.
        let Ok(members) = json_text::members(text, span) else { continue };
        let said = |key: &str| value(text, &members, key);
        let task = said("id").as_str().and_then(&task_of);
        let status = match task {
            Some(task) => {
                let set = changes(task, &said);
                for (key, value) in set {
                    edits.set(text, span, &members, key, &value);
                }
                word(task).to_owned()
            }
            None => said("status").as_str().unwrap_or_default().to_owned(),
        };
        passing += usize::from(status == "passing");
    }
    for (key, counted) in [("passing", passing), ("total_features", list.len())] {
        if top.iter().any(|(own, _)| own == key) {
            edits.set(text, &whole, &top, key, &json!(counted));
        }
    }
    Ok(edits.apply(text))
}

fn value(text: &str, members: &[(String, Span)], key: &str) -> Value {
    let found = members.iter().find(|(own, _)| own == key);
    found.and_then(|(_, span)| serde_json::from_str(&text[span.clone()]).ok()).unwrap_or_default()
}

/// The board's status in the file's words.
pub(super) fn word(task: &Task) -> &'static str {
    match &task.status {
        Status::Completed { .. } => "passing",
        Status::InProgress(_) => "in-progress",
        Status::Failed { .. } | Status::Deleted => "failed",
        Status::Pending if task.is_unblocked() => "pending",
        Status::Pending => "blocked",
    }
}

fn changes(task: &Task, said: &impl Fn(&str) -> Value) -> Vec<(&'static str, Value)> {
    let holder = task.claim().map(|claim| claim.by.address.name.to_string());
    let mut set = vec![("status", json!(word(task))), ("assigned_to", json!(holder))];
    let known = |key: &str| task.spec.metadata.get(key);
    if matches!(task.status, Status::Completed { .. }) {
        set.extend(known("test_file").map(|path| ("test_file", json!(path))));
        let coverage = known("coverage").and_then(|text| number(text));
        set.extend(coverage.map(|coverage| ("coverage", coverage)));
    }
    let before = known("correction_cycles").and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    let cycles = before + u64::from(task.retries);
    // Never less than what is there: a task that is tried anew begins to count anew.
    if cycles > said("correction_cycles").as_u64().unwrap_or(0) {
        set.push(("correction_cycles", json!(cycles)));
    }
    let notes = said("notes");
    let is_ours = notes.as_str().is_none_or(|notes| notes.starts_with(OWN_NOTE));
    match &task.status {
        Status::Failed { reason } if is_ours => {
            let line = reason.lines().next().unwrap_or_default();
            let line: String = line.chars().take(NOTE_CHARS_MAX).collect();
            set.push(("notes", json!(format!("{OWN_NOTE}{line}"))));
        }
        Status::Completed { .. } if is_ours && !notes.is_null() => set.push(("notes", Value::Null)),
        _ => {}
    }
    set
}

/// A whole number is written as one.
fn number(text: &str) -> Option<Value> {
    let number: f64 = text.parse().ok()?;
    let whole = number.fract() == 0.0 && number.abs() < 1e9;
    Some(if whole { json!(number as i64) } else { json!(number) })
}
