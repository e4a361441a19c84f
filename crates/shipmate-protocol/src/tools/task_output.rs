//! `TaskOutput` and `TaskStop`: how far something that was started is, and its end.

use serde_json::json;

use crate::Code;
use crate::refused::Refused;
use crate::tools::arguments::{Arguments, Bad};
use crate::tools::outcome::{Reply, refused};
use crate::tools::task_read::{page, show};
use crate::tools::team::{self, SHUTDOWN_DEFAULT_MS};
use crate::tools::words;
use crate::tools::{Board, Outcome, Seat, Tool, WAIT_MAX_MS, schema};
use crate::verbs;
use crate::verbs::{Ask, Supervision};
use crate::view::{TaskStatus, TaskView, TeammateState, TeammateView};

pub(crate) fn output_tool() -> Tool {
    Tool {
        name: "TaskOutput",
        title: "State and result of a task",
        description: "Tells the state of a task, also of one given to a one-shot agent, and its \
             result once there is one. With block it waits for the end, 15 seconds at most; a task \
             that is not finished then is told as it stands: go on and ask again later.",
        input_schema: schema(
            json!({
                "task_id": { "type": "string",
                    "description": "The task (3, #3 or its alias) or the teammate that does it" },
                "block": { "type": "boolean", "description": "Wait for the end; default true" },
                "timeout": { "type": "number",
                    "description": "How long to wait, in milliseconds; 15000 at most" },
            }),
            &["task_id"],
        ),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "finished": { "type": "boolean" },
                "task": { "type": "object" },
                "teammate": { "type": "object" },
            },
        })),
        read_only: true,
        idempotent: true,
        ..Tool::default()
    }
}

pub(crate) fn stop_tool() -> Tool {
    Tool {
        name: "TaskStop",
        title: "Stop a task or a teammate",
        description: "With a task: takes it from whoever works on it, back to the board. With a \
             teammate's name: asks it to shut down within 30 seconds.",
        input_schema: schema(
            json!({
                "task_id": { "type": "string" },
                "shell_id": { "type": "string", "description": "The same" },
                "reason": { "type": "string" },
            }),
            &[],
        ),
        destructive: true,
        ..Tool::default()
    }
}

/// What an id of a running thing may mean.
enum Found {
    Task(Box<TaskView>),
    Teammate(Box<TeammateView>),
}

async fn find(board: &impl Board, text: &str) -> Result<Found, Refused> {
    let task = words::task(text);
    if task.bytes().all(|b| b.is_ascii_digit()) {
        return show(board, &task).await.map(|view| Found::Task(Box::new(view)));
    }
    let by_name = board.ask(verbs::TeammateShow { name: words::teammate(text) }).await;
    match by_name {
        Ok(view) => Ok(Found::Teammate(Box::new(view))),
        Err(_) => show(board, &task).await.map(|view| Found::Task(Box::new(view))).map_err(|_| {
            let message = format!("there is no task and no teammate {text}");
            refused(
                Code::UnknownTask,
                message,
                "TaskList names the tasks, ListAgents the teammates",
            )
        }),
    }
}

fn is_over(view: &TaskView) -> bool {
    !matches!(view.row.status, TaskStatus::Pending | TaskStatus::InProgress)
}

pub(crate) async fn output(board: &impl Board, seat: &Seat, arguments: &mut Arguments) -> Reply {
    let id = arguments.required_word(&["task_id", "task", "id", "name"], "a task or a teammate")?;
    let block = arguments.flag(&["block"])?.unwrap_or(true);
    let timeout = arguments.whole(&["timeout", "timeout_ms"])?.unwrap_or(WAIT_MAX_MS);
    let mut left = if block { timeout.min(WAIT_MAX_MS) } else { 0 };
    loop {
        let found = find(board, &id).await?;
        let over = match &found {
            Found::Task(view) => is_over(view),
            Found::Teammate(view) => {
                matches!(
                    view.state,
                    TeammateState::Stopped | TeammateState::Disappeared | TeammateState::Failed
                )
            }
        };
        if over || left == 0 {
            return Ok(told(seat, &found, over));
        }
        // Never more than before, whatever the board says: this ends.
        left = board.news(left).await.min(left - 1);
    }
}

fn told(seat: &Seat, found: &Found, over: bool) -> Outcome {
    let (mut text, mut structured) = match found {
        Found::Task(view) => (page(seat, view), json!({ "task": view })),
        Found::Teammate(view) => (team::line(view), json!({ "teammate": view })),
    };
    structured["finished"] = json!(over);
    if !over {
        text.push_str("\nIt is not finished: go on with something else and ask again later.");
    }
    Outcome::done(text, structured)
}

pub(crate) async fn stop(board: &impl Board, seat: &Seat, arguments: &mut Arguments) -> Reply {
    let what = "a task (3, #3 or its alias) or a teammate's name";
    let id = arguments.required_word(&["task_id", "shell_id", "task", "name", "id"], what)?;
    if id.is_empty() {
        return Err(Bad::missing("task_id", what).into());
    }
    let reason = arguments.text(&["reason"])?.filter(|reason| !reason.trim().is_empty());
    let reason = reason.unwrap_or_else(|| format!("{} stopped it", seat.name));
    let view = match find(board, &id).await? {
        Found::Teammate(view) => {
            let name = Some(format!("{}/{}", view.team, view.name));
            return team::shut_down(board, name, reason, SHUTDOWN_DEFAULT_MS).await;
        }
        Found::Task(view) => view,
    };
    let task = view.row.id;
    let ask = Ask::TaskRelease(verbs::TaskRelease {
        task: task.to_string(),
        token: None,
        reason: reason.clone(),
    });
    board.ask(ask).await?;
    let mut text = format!("Task #{task} was stopped and is back on the board.");
    let mut structured = json!({ "task_id": task.to_string(), "stopped": true });
    let holder = view.row.owner.as_deref().map(words::teammate);
    let shown = match holder {
        Some(name) => board.ask(verbs::TeammateShow { name }).await.ok(),
        None => None,
    };
    if let Some(mate) = shown
        && mate.supervision == Supervision::OneShot
    {
        let name = Some(format!("{}/{}", mate.team, mate.name));
        let asked = team::shut_down(board, name, reason, SHUTDOWN_DEFAULT_MS).await;
        let asked = asked.unwrap_or_else(|refused| refused);
        text = format!("{text}\n{}", asked.text);
        structured["teammate"] = asked.structured;
    }
    Ok(Outcome::done(text, structured))
}
