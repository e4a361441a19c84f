//! `TaskList` and `TaskGet`: the board in words, and as data beside them.

use std::fmt::Write as _;

use serde_json::json;

use crate::refused::Refused;
use crate::tools::arguments::{Arguments, Bad};
use crate::tools::outcome::Reply;
use crate::tools::words::{self, Status};
use crate::tools::{Board, Outcome, Seat, Tool, schema};
use crate::verbs;
use crate::verbs::TaskFilter;
use crate::view::{TaskRow, TaskStage, TaskView};

/// Tasks of one answer, unless the caller says otherwise.
const LIST_DEFAULT: usize = 200;
const LIST_MAX: u64 = 10_000;

pub(crate) fn list_tool() -> Tool {
    Tool {
        name: "TaskList",
        title: "List tasks",
        description: "Shows the team's board, one line a task: `#2 [pending] subject (owner) [blocked \
             by #1]`. A pending one without brackets behind it can be taken now; brackets say why \
             not.",
        input_schema: schema(
            json!({
                "status": { "type": "string", "description": "available, pending, \
                     blocked, in_progress, completed, failed or deleted" },
                "owner": { "type": "string" },
                "group": { "type": "string", "description": "Only tasks of this group or plan" },
                "search": { "type": "string", "description": "A text in subjects" },
                "after": { "type": "integer" },
                "limit": { "type": "integer", "description": "Most tasks to show; default 200" },
            }),
            &[],
        ),
        output_schema: Some(json!({
            "type": "object",
            "properties": { "tasks": { "type": "array", "items": { "type": "object" } } },
        })),
        read_only: true,
        idempotent: true,
        ..Tool::default()
    }
}

pub(crate) fn get_tool() -> Tool {
    Tool {
        name: "TaskGet",
        title: "Show a task",
        description: "Shows one task in full: description, state, owner, blockers, files, result, why it \
             came back or failed. Read it before you start on it.",
        input_schema: schema(
            json!({
                "taskId": { "type": "string" },
                "task_id": { "type": "string", "description": "The same" },
                "plan_id": { "type": "string", "description": "The plan of an alias such as T3" },
            }),
            &[],
        ),
        output_schema: Some(json!({
            "type": "object",
            "properties": { "task": { "type": "object" } },
        })),
        read_only: true,
        idempotent: true,
        ..Tool::default()
    }
}

/// The task a call is about.
pub(crate) fn reference(arguments: &mut Arguments) -> Result<String, Bad> {
    let plan = arguments.word(&["plan_id"])?;
    let text = arguments.required_word(&["task_id", "task", "id"], "a task: 3, #3 or its alias")?;
    Ok(words::task_of_plan(&text, plan.as_deref()))
}

pub(crate) async fn list(board: &impl Board, seat: &Seat, arguments: &mut Arguments) -> Reply {
    let mut filter = TaskFilter::default();
    let mut only_blocked = false;
    for word in arguments.words(&["status"])?.unwrap_or_default() {
        if word == "available" {
            filter.available = true;
            continue;
        }
        filter.status.push(match words::status("status", &word)? {
            Status::Pending => "pending".to_owned(),
            Status::Blocked => {
                only_blocked = true;
                "pending".to_owned()
            }
            Status::InProgress => "in_progress".to_owned(),
            Status::Completed => "completed".to_owned(),
            Status::Failed => "failed".to_owned(),
            Status::Deleted => "deleted".to_owned(),
        });
    }
    filter.available |= arguments.flag(&["available"])?.unwrap_or(false);
    filter.owner = arguments.word(&["owner", "assignee"])?.map(|who| words::teammate(&who));
    filter.group = arguments.word(&["group", "plan_id"])?;
    filter.search = arguments.word(&["search", "q", "query"])?;
    let after = arguments.whole(&["after"])?.unwrap_or(0);
    filter.after = u32::try_from(after).unwrap_or(u32::MAX);
    let limit = arguments.whole(&["limit", "max"])?.map(|limit| limit.clamp(1, LIST_MAX) as usize);
    let limit = limit.unwrap_or(LIST_DEFAULT);
    filter.limit = Some(limit);
    let available = filter.available;
    let mut rows = rows(board, filter).await?;
    let is_full = rows.len() >= limit;
    let last = rows.last().map(|row| row.id);
    rows.retain(|row| !only_blocked || !row.available);
    let mut text: Vec<String> = rows.iter().map(|row| line(seat, row)).collect();
    if rows.is_empty() {
        text.push("No tasks found".to_owned());
    }
    let mut structured = json!({ "tasks": rows });
    match last {
        // What can be taken comes best first and has no pages.
        Some(_) if is_full && available => {
            text.push(format!("There may be more: these are the best {limit}"));
        }
        Some(last) if is_full => {
            text.push(format!("There may be more: call again with after {last}"));
            structured["next"] = json!(last);
        }
        _ => {}
    }
    Ok(Outcome::done(text.join("\n"), structured))
}

pub(crate) async fn rows(board: &impl Board, filter: TaskFilter) -> Result<Vec<TaskRow>, Refused> {
    board.ask(verbs::Tasks { filter }).await
}

pub(crate) async fn get(board: &impl Board, seat: &Seat, arguments: &mut Arguments) -> Reply {
    let task = reference(arguments)?;
    let view = show(board, &task).await?;
    Ok(Outcome::done(page(seat, &view), json!({ "task": view })))
}

pub(crate) async fn show(board: &impl Board, task: &str) -> Result<TaskView, Refused> {
    board.ask(verbs::TaskShow { task: task.to_owned() }).await
}

/// `#2 [pending] Task two (owner) [blocked by #1]`.
pub(crate) fn line(seat: &Seat, row: &TaskRow) -> String {
    let mut line = format!("#{} [{}] {}", row.id, state(row), one_line(&row.subject));
    if let Some(owner) = &row.owner {
        let _ = write!(line, " ({})", words::short(seat, owner));
    }
    for why in &row.why {
        let _ = write!(line, " [{}]", one_line(&numbered(why)));
    }
    line
}

/// The status, and how far it is while it is in progress.
pub(crate) fn state(row: &TaskRow) -> String {
    match row.stage {
        None | Some(TaskStage::Claimed) => row.status.to_string(),
        Some(stage) => format!("{}: {stage}", row.status),
    }
}

/// `blocked by 1, 4 (failed)` with the ids as they are written elsewhere.
fn numbered(why: &str) -> String {
    let Some(list) = why.strip_prefix("blocked by ") else { return why.to_owned() };
    let sign = |item: &str| {
        let is_id = item.starts_with(|c: char| c.is_ascii_digit());
        if is_id { format!("#{item}") } else { item.to_owned() }
    };
    let items: Vec<String> = list.split(", ").map(sign).collect();
    format!("blocked by {}", items.join(", "))
}

/// A text that stays on its line.
pub(crate) fn one_line(text: &str) -> String {
    text.split(['\n', '\r'])
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Everything about a task, a field a line.
pub(crate) fn page(seat: &Seat, view: &TaskView) -> String {
    let row = &view.row;
    let mut text = format!("Task #{}: {}\nStatus: {}", row.id, one_line(&row.subject), state(row));
    let mut field = |name: &str, value: &str| {
        if !value.is_empty() {
            // Further lines are set back: none of them can look like a field.
            let _ = write!(text, "\n{name}: {}", value.trim_end().replace('\n', "\n  "));
        }
    };
    let ids = |ids: &[u32]| ids.iter().map(|id| format!("#{id}")).collect::<Vec<_>>().join(", ");
    let sign = |on: &String| match on.bytes().all(|b| b.is_ascii_digit()) {
        true => format!("#{on}"),
        false => on.clone(),
    };
    field("Alias", row.alias.as_deref().unwrap_or_default());
    field("Owner", row.owner.as_deref().map(|who| words::short(seat, who)).unwrap_or_default());
    field("Assigned to", view.assignee.as_deref().unwrap_or_default());
    field("Role", view.role.as_deref().unwrap_or_default());
    // Whose words the rest is: a teammate's are not the user's.
    field("Made by", words::short(seat, &view.created_by));
    field("Description", &view.description);
    field("Blocked by", &row.blocked_by.iter().map(sign).collect::<Vec<_>>().join(", "));
    field("Blocks", &ids(&view.blocks));
    field("Files", &view.files.join(", "));
    let why: Vec<String> = row.why.iter().map(|why| numbered(why)).collect();
    field("Why it waits", &why.join("; "));
    field("Last failure", view.last_failure.as_deref().unwrap_or_default());
    field("Commit", view.commit.as_deref().unwrap_or_default());
    field("Result", view.result.as_deref().unwrap_or_default());
    field("Handoff", &view.handoff.as_ref().map(ToString::to_string).unwrap_or_default());
    for prior in &view.handoffs {
        let whose = format!("From task #{} (by {})", prior.task, words::short(seat, &prior.by));
        let cut = if prior.cut { "\n(cut: Note with its taskId shows all of it)" } else { "" };
        field(&whose, &format!("{}{cut}", prior.text));
    }
    let left_out = view.left_out().map(|tasks| format!("{tasks}: Note with taskId shows each"));
    field("Not told here", &left_out.unwrap_or_default());
    for note in &view.notes {
        field(&format!("Note {} (by {})", note.id, words::short(seat, &note.by)), &note.text);
    }
    for (key, value) in &view.metadata {
        field(key, value);
    }
    text
}
