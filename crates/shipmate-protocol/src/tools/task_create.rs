//! `TaskCreate`: one task or a list of them, in the words of agents and of the seeds.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::refused::Refused;
use crate::tools::arguments::{Arguments, Bad};
use crate::tools::outcome::{Reply, as_fields};
use crate::tools::words::{self, Status};
use crate::tools::{Board, Outcome, Seat, Tool, schema};
use crate::verbs;
use crate::verbs::{TaskChanges, TaskNew};

/// Most tasks of one call; the board's own limit for a command.
const TASKS_MAX: usize = 10_000;

pub(crate) fn tool() -> Tool {
    let mut properties = task_properties();
    properties["tasks"] = json!({
        "type": "array",
        "description": "Several tasks at once, each with these fields; blocked_by may name the \
             alias of another one in the list",
        "items": { "type": "object", "properties": task_properties(), "additionalProperties": true },
    });
    properties["team_name"] = json!({
        "type": "string", "description": "A team below yours whose tasks they are; default: your own",
    });
    Tool {
        name: "TaskCreate",
        title: "Create tasks",
        description: "Puts a task on the team's board; the answer names its id. It waits for its \
             blockers by itself, and anybody free takes it unless you name an assignee or role.",
        input_schema: schema(properties, &[]),
        ..Tool::default()
    }
}

fn task_properties() -> Value {
    json!({
        "subject": { "type": "string", "description": "One line: what is to be done" },
        "description": { "type": "string", "description": "All that its owner needs to know" },
        "activeForm": { "type": "string", "description": "What to show while it is worked on" },
        "metadata": { "type": "object", "description": "Keys with texts of your own" },
        "blocked_by": { "type": "array", "items": { "type": "string" },
            "description": "Ids or aliases of what must be completed first" },
        "addBlockedBy": { "type": "array", "items": { "type": "string" },
            "description": "The same" },
        "addBlocks": { "type": "array", "items": { "type": "string" },
            "description": "Tasks that wait for this one" },
        "status": { "type": "string", "enum": ["pending", "available", "blocked"],
            "description": "A new task is pending; blocked needs blocked_by" },
        "assignee": { "type": "string" },
        "role": { "type": "string" },
        "files": { "type": "array", "items": { "type": "string" },
            "description": "What it writes; nobody else may meanwhile" },
        "priority": { "type": "string", "description": "A number, lower is sooner; 100 is usual" },
        "group": { "type": "string", "description": "A name others may depend on as group:NAME" },
        "no_change": { "type": "boolean",
            "description": "It may be done without changing a file: research, a review" },
        "task_id": { "type": "string", "description": "Your own alias, such as T3" },
        "plan_id": { "type": "string", "description": "The plan: it goes before the alias" },
    })
}

/// A task as it was written, and what waits for it.
#[derive(Debug)]
struct Wanted {
    new: TaskNew,
    blocks: Vec<String>,
}

fn read(arguments: &mut Arguments) -> Result<Wanted, Bad> {
    let plan = arguments.word(&["plan_id"])?;
    let alias = arguments.word(&["alias", "task_id", "id"])?;
    let text = |text: &String| words::task_of_plan(text, plan.as_deref());
    let what = "one line that says what is to be done";
    let subject = arguments.required_text(&["subject", "action", "title", "content"], what)?;
    if subject.trim().is_empty() {
        return Err(Bad::missing("subject", what));
    }
    let blocked_by =
        arguments.words(&["blocked_by", "add_blocked_by", "depends_on", "dependencies"])?;
    let blocked_by: Vec<String> = blocked_by.unwrap_or_default().iter().map(text).collect();
    let blocks = arguments.words(&["blocks", "add_blocks"])?.unwrap_or_default();
    if let Some(word) = arguments.word(&["status"])? {
        let sent = Value::from(word.as_str());
        match words::status("status", &word)? {
            Status::Pending => {}
            Status::Blocked if !blocked_by.is_empty() => {}
            Status::Blocked => {
                return Err(Bad::new("status", &sent, "blocked_by beside it: what it waits for"));
            }
            _ => {
                let expected = "pending or blocked: a new task is taken with TaskUpdate";
                return Err(Bad::new("status", &sent, expected));
            }
        }
    }
    let new = TaskNew {
        subject,
        description: arguments.text(&["description"])?.unwrap_or_default(),
        active_form: arguments.text(&["active_form"])?.unwrap_or_default(),
        // A number is the board's to give.
        alias: alias.as_ref().map(text).filter(|a| !a.bytes().all(|b| b.is_ascii_digit())),
        group: arguments.word(&["group"])?,
        blocked_by,
        files: arguments.words(&["files", "f"])?.unwrap_or_default(),
        role: arguments.word(&["role"])?,
        assignee: arguments.word(&["assignee", "owner"])?.map(|who| last(&words::teammate(&who))),
        priority: priority(arguments)?,
        duration_ms: arguments.whole(&["duration_ms"])?,
        retries_max: arguments
            .whole(&["retries_max"])?
            .map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
        no_change: arguments.flag(&["no_change"])?.unwrap_or(false),
        team: None,
        metadata: metadata(arguments)?.into_iter().filter(|(_, value)| !value.is_empty()).collect(),
    };
    Ok(Wanted { new, blocks: blocks.iter().map(text).collect() })
}

/// An assignee is a name within the task's team.
pub(crate) fn last(who: &str) -> String {
    who.rsplit('/').next().unwrap_or(who).to_owned()
}

/// Lower is sooner; 100 is usual.
pub(crate) fn priority(arguments: &mut Arguments) -> Result<Option<i32>, Bad> {
    let Some((field, value)) = arguments.value(&["priority"])? else { return Ok(None) };
    let number = match &value {
        Value::Number(number) => number.as_i64().and_then(|n| i32::try_from(n).ok()),
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "critical" | "urgent" => Some(10),
            "high" => Some(50),
            "medium" | "normal" => Some(100),
            "low" => Some(150),
            text => text.parse().ok(),
        },
        _ => None,
    };
    let expected = "a whole number (lower is sooner, 100 is usual), critical, high, medium or low";
    number.map(Some).ok_or_else(|| Bad::new(&field, &value, expected))
}

/// Keys with texts; `null` and the empty text remove a key that is there.
pub(crate) fn metadata(arguments: &mut Arguments) -> Result<BTreeMap<String, String>, Bad> {
    const KEYS_MAX: usize = 64;
    let Some((field, value)) = arguments.value(&["metadata"])? else { return Ok(BTreeMap::new()) };
    let fields = match value {
        Value::Object(fields) if fields.len() <= KEYS_MAX => fields,
        other => {
            return Err(Bad::new(&field, &other, &format!("an object of at most {KEYS_MAX} keys")));
        }
    };
    let texts = fields.into_iter().map(|(key, value)| {
        let text = match value {
            Value::Null => String::new(),
            Value::String(text) => text,
            other => other.to_string(),
        };
        (key, text)
    });
    Ok(texts.collect())
}

pub(crate) async fn run(board: &impl Board, seat: &Seat, arguments: &mut Arguments) -> Reply {
    let team = arguments.word(&["team_name"])?.filter(|team| *team != seat.team);
    let wanted = arguments.each("tasks", TASKS_MAX, "at least one task", read)?;
    let of_team = |new: TaskNew| TaskNew { team: team.clone(), ..new };
    let (tasks, blocks): (Vec<TaskNew>, Vec<Vec<String>>) =
        wanted.into_iter().map(|wanted| (of_team(wanted.new), wanted.blocks)).unzip();
    let subjects: Vec<String> = tasks.iter().map(|task| task.subject.clone()).collect();
    let ids = create(board, tasks).await?;
    let made: Vec<(u32, String)> = ids.iter().copied().zip(subjects).collect();
    let line =
        |(id, subject): &(u32, String)| format!("Task #{id} created successfully: {subject}");
    let mut text: Vec<String> = made.iter().map(line).collect();
    let mut structured = json!({ "tasks": made.iter().map(|(id, subject)| {
        json!({ "id": id, "subject": subject })
    }).collect::<Vec<_>>() });
    // Not an iterator over the requests below: the call is to be `Send`.
    let edges = ids.iter().zip(blocks).flat_map(|(id, on)| on.into_iter().map(move |on| (*id, on)));
    for (id, waiting) in edges.collect::<Vec<(u32, String)>>() {
        let part = format!("#{id} blocks {waiting}");
        if let Err(refused) = block(board, &id.to_string(), &waiting).await {
            text.push(format!("Not done: {part}: {refused}"));
            structured["refused"] = json!(part);
            let fields = structured.as_object_mut().expect("it was made as an object");
            fields.extend(as_fields(&refused));
            return Ok(Outcome { text: text.join("\n"), structured, is_error: true });
        }
        text.push(part);
    }
    Ok(Outcome::done(text.join("\n"), structured))
}

pub(crate) async fn create(board: &impl Board, tasks: Vec<TaskNew>) -> Result<Vec<u32>, Refused> {
    Ok(board.ask(verbs::TaskCreate { tasks }).await?.tasks)
}

/// Makes a task wait for another one.
pub(crate) async fn block(board: &impl Board, on: &str, waiting: &str) -> Result<(), Refused> {
    let changes = TaskChanges { add_blocked_by: vec![on.to_owned()], ..TaskChanges::default() };
    board.ask(verbs::TaskUpdate { task: waiting.to_owned(), changes }).await.map(drop)
}
