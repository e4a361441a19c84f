//! `TodoWrite`: a list of things to do, kept on the team's board.
//!
//! An entry is the task with that id or that subject; what is not there is created. A list that
//! leaves tasks out deletes none of them: others may have made them and wait for them.

use serde_json::{Map, Value, json};

use crate::refused::Refused;
use crate::tools::arguments::{Arguments, Bad};
use crate::tools::outcome::{Reply, as_fields};
use crate::tools::task_create::{create, priority};
use crate::tools::task_read::{one_line, rows};
use crate::tools::task_update::set;
use crate::tools::words::{self, Status};
use crate::tools::{Board, Outcome, Seat, Tool, schema};
use crate::verbs::{TaskFilter, TaskNew};
use crate::view::TaskRow;

const TODOS_MAX: usize = 1000;

pub(crate) fn tool() -> Tool {
    let text = |what: &str| json!({ "type": "string", "description": what });
    Tool {
        name: "TodoWrite",
        title: "Write the list of things to do",
        description: "Brings the team's board in line with a list: an entry that is not on the \
             board becomes a task, one that is gets the status you give it, and one that failed is \
             tried again as pending. Tasks that the list leaves out stay. The answer says of each \
             entry what became of it.",
        input_schema: schema(
            json!({
                "todos": {
                    "type": "array",
                    "description": "The list",
                    "items": {
                        "type": "object",
                        "properties": {
                            "content": text("What is to be done: the task's subject"),
                            "status": { "type": "string",
                                "enum": ["pending", "in_progress", "completed"],
                                "description": "What it is to be" },
                            "activeForm": text("What to show while it is worked on"),
                            "id": text("The task's id, if it is on the board; else a word of \
                                your own, by which blocked_by may name it"),
                            "owner": text("The teammate it is for"),
                            "files": { "type": "array", "items": { "type": "string" },
                                "description": "Files or patterns it writes" },
                            "blocked_by": { "type": "array", "items": { "type": "string" },
                                "description": "What must be completed first: ids" },
                        },
                        "additionalProperties": true,
                    },
                },
                "team_name": text("A team below yours whose list it is; default: your own"),
            }),
            &["todos"],
        ),
        idempotent: true,
        ..Tool::default()
    }
}

#[derive(Debug)]
struct Todo {
    id: Option<String>,
    status: Option<Status>,
    new: TaskNew,
}

fn read(arguments: &mut Arguments) -> Result<Todo, Bad> {
    let status = arguments.word(&["status"])?;
    let subject =
        arguments.required_text(&["content", "subject", "title"], "what is to be done")?;
    if subject.trim().is_empty() {
        return Err(Bad::missing("content", "what is to be done"));
    }
    let id = arguments.word(&["id", "task_id"])?.map(|id| words::task(&id));
    // A number is the board's to give.
    let alias = id.clone().filter(|id| id.parse::<u32>().is_err());
    let blocked_by = arguments.words(&["blocked_by", "add_blocked_by", "depends_on"])?;
    Ok(Todo {
        id,
        status: status.map(|word| words::status("status", &word)).transpose()?,
        new: TaskNew {
            alias,
            files: arguments.words(&["files"])?.unwrap_or_default(),
            blocked_by: blocked_by.unwrap_or_default().iter().map(|id| words::task(id)).collect(),
            subject,
            description: arguments.text(&["description"])?.unwrap_or_default(),
            active_form: arguments.text(&["active_form"])?.unwrap_or_default(),
            assignee: arguments.word(&["assignee", "owner"])?,
            priority: priority(arguments)?,
            ..TaskNew::default()
        },
    })
}

pub(crate) async fn run(board: &impl Board, seat: &Seat, arguments: &mut Arguments) -> Reply {
    let below = arguments.word(&["team_name"])?.filter(|team| *team != seat.team);
    let team = below.as_ref().unwrap_or(&seat.team);
    let items = arguments.objects(&["todos", "tasks"], TODOS_MAX)?;
    let items = items.ok_or_else(|| Bad::missing("todos", "the list of things to do"))?;
    let mut todos = Vec::with_capacity(items.len());
    for (place, mut item) in items {
        let mut todo = read(&mut item).map_err(|bad| bad.within(&place))?;
        todo.new.team = below.clone();
        todos.push(todo);
        arguments.leave(&place, item);
    }
    let mut open = rows(board, TaskFilter::default()).await?;
    let mut entries: Vec<(Option<TaskRow>, Todo)> = Vec::new();
    for todo in todos {
        let same = |row: &TaskRow| match &todo.id {
            Some(id) if row.id.to_string() == *id || row.alias.as_ref() == Some(id) => true,
            _ => row.subject == todo.new.subject && row.team == *team,
        };
        let found = open.iter().position(same).map(|index| open.remove(index));
        entries.push((found, todo));
    }
    let new: Vec<TaskNew> =
        entries.iter().filter(|(row, _)| row.is_none()).map(|(_, todo)| todo.new.clone()).collect();
    let made = if new.is_empty() { Vec::new() } else { create(board, new).await? };
    let mut made = made.into_iter();
    let (mut lines, mut todos, mut is_error) = (Vec::new(), Vec::new(), false);
    for (row, todo) in entries {
        let (id, was) = match &row {
            Some(row) => (Some(row.id), row.status.word()),
            None => (made.next(), "created"),
        };
        let Some(id) = id else { continue };
        let how = become_status(board, seat, id, was, todo.status).await;
        let subject = one_line(&todo.new.subject);
        let mut entry: Map<String, Value> = Map::new();
        entry.insert("id".to_owned(), json!(id.to_string()));
        entry.insert("content".to_owned(), json!(todo.new.subject));
        match how {
            Ok(words) => lines.push(format!("#{id} {subject}: {words}")),
            Err(refused) => {
                is_error = true;
                lines.push(format!("#{id} {subject}: not changed from {was}: {refused}"));
                entry.extend(as_fields(&refused));
            }
        }
        todos.push(Value::Object(entry));
    }
    if !open.is_empty() {
        lines.push(format!("{} other tasks stay as they are.", open.len()));
    }
    if lines.is_empty() {
        lines.push("The list is empty; nothing was changed.".to_owned());
    }
    Ok(Outcome { text: lines.join("\n"), structured: json!({ "todos": todos }), is_error })
}

async fn become_status(
    board: &impl Board,
    seat: &Seat,
    id: u32,
    was: &str,
    wanted: Option<Status>,
) -> Result<String, Refused> {
    let is = |word: &str| was == word;
    match wanted {
        None | Some(Status::Pending | Status::Blocked) if is("created") => Ok("created".to_owned()),
        Some(Status::Pending) if is("failed") => set(board, seat, id, Status::Pending).await,
        // A list of things to do takes nothing from whoever works on it.
        None | Some(Status::Pending | Status::Blocked) => Ok(format!("stays {was}")),
        Some(Status::InProgress) if is("in_progress") => Ok("stays in_progress".to_owned()),
        Some(Status::Completed) if is("completed") => Ok("stays completed".to_owned()),
        Some(status) => set(board, seat, id, status).await,
    }
}
