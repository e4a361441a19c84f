//! What a lead hands in with its plan: the tasks and teammates that approval brings about.
//!
//! Only the shape is looked at here. Whether the plan holds is the board's to say, all at once.

use serde_json::{Value, json};

use crate::tools::arguments::{Arguments, Bad};
use crate::tools::task_create::{last, priority};
use crate::tools::{spawn, words};
use crate::verbs::{PlannedWork, TaskNew};

/// More than the board takes, so that it is the one to say so.
const ENTRIES_MAX: usize = 1_000;

pub(super) fn properties() -> Value {
    let text = |what: &str| json!({ "type": "string", "description": what });
    let list = |what: &str| {
        json!({ "type": "array", "items": { "type": "string" },
        "description": what })
    };
    let task = json!({
        "key": text("Short name, such as api"),
        "subject": { "type": "string" },
        "description": text("All that it takes"),
        "files": list("Exact paths it writes"),
        "blocked_by": list("Keys of tasks it needs"),
        "role": { "type": "string" },
        "estimate_minutes": { "type": "integer" },
    });
    let mate = json!({
        "name": text("Letters, digits, '_' and '-'"),
        "role": { "type": "string" },
        "agent": text("The program; default: as configured"),
        "model": { "type": "string" },
        "from": text("A definition"),
        "scope": list("What it may write; default: all"),
        "mode": text("normal or plan"),
        "host": text("A machine"),
        "labels": list("Of machines, such as gpu"),
    });
    let entries = |what: &str, properties: Value, required: &[&str]| {
        json!({ "type": "array", "description": what, "items": { "type": "object",
            "properties": properties, "required": required, "additionalProperties": true } })
    };
    json!({
        "tasks": entries("Tasks that do not wait for each other share no file", task,
            &["key", "subject", "files"]),
        "teammates": entries("None: as many developers as the tasks can use", mate,
            &["name"]),
        "single": text("Why one teammate is enough, if it is"),
    })
}

/// The work among the arguments, if there is any.
pub(super) fn read(arguments: &mut Arguments) -> Result<Option<PlannedWork>, Bad> {
    let tasks = arguments.objects(&["tasks"], ENTRIES_MAX)?;
    let mates = arguments.objects(&["teammates", "members"], ENTRIES_MAX)?;
    let single = single(arguments)?;
    if tasks.is_none() && mates.is_none() && single.is_none() {
        return Ok(None);
    }
    let mut work = PlannedWork { single, ..PlannedWork::default() };
    for (place, mut item) in tasks.unwrap_or_default() {
        work.tasks.push(task(&mut item).map_err(|bad| bad.within(&place))?);
        arguments.leave(&place, item);
    }
    for (place, mut item) in mates.unwrap_or_default() {
        work.teammates.push(spawn::read(&mut item).map_err(|bad| bad.within(&place))?.add);
        arguments.leave(&place, item);
    }
    Ok(Some(work))
}

fn task(item: &mut Arguments) -> Result<TaskNew, Bad> {
    let keys = item.words(&["blocked_by", "depends_on", "dependencies", "after"])?;
    let minutes = item.whole(&["estimate_minutes", "estimate", "minutes"])?;
    Ok(TaskNew {
        subject: item.text(&["subject", "title", "action"])?.unwrap_or_default(),
        description: item.text(&["description", "details"])?.unwrap_or_default(),
        alias: item.word(&["key", "id", "task_id", "alias"])?,
        blocked_by: keys.unwrap_or_default(),
        files: item.words(&["files", "paths"])?.unwrap_or_default(),
        role: item.word(&["role"])?,
        assignee: item.word(&["assignee", "owner"])?.map(|who| last(&words::teammate(&who))),
        priority: priority(item)?,
        duration_ms: minutes.map(|minutes| minutes.saturating_mul(60_000)),
        no_change: item.flag(&["no_change"])?.unwrap_or(false),
        ..TaskNew::default()
    })
}

fn single(arguments: &mut Arguments) -> Result<Option<String>, Bad> {
    let expected = "the reason why one teammate is enough, as a text";
    match arguments.value(&["single"])? {
        None | Some((_, Value::Bool(false))) => Ok(None),
        Some((_, Value::String(reason))) if reason.trim().is_empty() => Ok(None),
        Some((_, Value::String(reason))) => Ok(Some(reason)),
        Some((field, other)) => Err(Bad::new(&field, &other, expected)),
    }
}
