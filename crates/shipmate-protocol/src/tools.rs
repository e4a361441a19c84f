//! The team's tools: what a model calls to take part in a team, whatever program runs it.
//!
//! One list for the MCP server, the agents that are driven and the native agent. Names and
//! argument shapes are those that agents already know, and those that the seeds write; they
//! are translated to requests here and nowhere else. A call never panics on what a model
//! sends: bad arguments are an outcome that names the fact and the remedy.

mod arguments;
mod config;
pub mod envelope;
pub mod handed_over;
mod inbox;
mod note;
mod outcome;
mod plan;
mod question;
mod send_message;
mod shown;
mod spawn;
mod task_create;
mod task_output;
mod task_read;
mod task_update;
mod team;
mod todo_write;
mod words;

use serde::Serialize;
use serde_json::{Value, json};

use crate::Code;
use crate::Mode;
use crate::answers::Answer;
use crate::refused::Refused;
use crate::verbs::{Ask, Verb};
use arguments::Arguments;
use outcome::{Reply, refused};
pub use shown::{Reader, shown};

/// The longest that a call waits: clients give up on slow tools.
pub const WAIT_MAX_MS: u64 = 15_000;

/// From where a tool is called: it decides which tools there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    pub team: String,
    /// Empty for a visitor.
    pub name: String,
    pub kind: SeatKind,
    pub mode: Mode,
    /// The tools of its role, where a playbook names them; empty: all that there are for it.
    pub tools: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeatKind {
    /// In no team yet: it may look for one or create one.
    Visitor,
    Lead,
    Teammate,
}

/// A tool as it is offered to a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Tool {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    /// JSON Schema of type object, without formats or keywords that only some clients know.
    pub input_schema: Value,
    pub output_schema: Option<Value>,
    /// It changes nothing.
    pub read_only: bool,
    /// It may end or remove something.
    pub destructive: bool,
    /// Twice is the same as once.
    pub idempotent: bool,
}

/// What a call gives back.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What the model reads.
    pub text: String,
    /// The same as data; an object.
    pub structured: Value,
    pub is_error: bool,
}

/// Whoever carries requests to the coordinator.
pub trait Board {
    fn ask_any(&self, ask: Ask) -> impl Future<Output = Result<Answer, Refused>>;

    fn ask<V: Verb>(&self, verb: V) -> impl Future<Output = Result<V::Answer, Refused>> {
        let answer = self.ask_any(verb.into());
        async move { answer.await?.of() }
    }

    /// Waits until something may have changed for this seat, at most so long; how much of the
    /// time is left. Who cannot wait says that none is: the caller is told what there is now.
    fn news(&self, within_ms: u64) -> impl Future<Output = u64> {
        let _ = within_ms;
        std::future::ready(0)
    }
}

/// An input of which some fields are known and others may come.
fn schema(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": true,
    })
}

/// The tools of a seat.
pub fn list(seat: &Seat) -> Vec<Tool> {
    let idle = |tool: &Tool| plan::is_planning(seat) && OF_A_BOARD.contains(&tool.name);
    all(seat).into_iter().filter(|tool| has(seat, tool.name) && !idle(tool)).collect()
}

/// The same for a program that asks only once: also what a lead has once its plan is approved.
/// A call before that is refused.
pub fn list_ahead(seat: &Seat) -> Vec<Tool> {
    let later = match plan::is_planning(seat) {
        true => Seat { mode: Mode::Delegate, ..seat.clone() },
        false => seat.clone(),
    };
    all(seat).into_iter().filter(|tool| has(&later, tool.name)).collect()
}

fn all(seat: &Seat) -> [Tool; 20] {
    [
        team::create_tool(),
        team::delete_tool(),
        team::agents_tool(),
        spawn::tool("Agent"),
        spawn::tool("Task"),
        task_read::list_tool(),
        task_read::get_tool(),
        task_create::tool(),
        task_update::tool(),
        task_output::output_tool(),
        task_output::stop_tool(),
        todo_write::tool(),
        send_message::tool(),
        inbox::tool(),
        note::tool(),
        plan::tool(),
        plan::exit_tool(seat),
        question::ask_tool(),
        question::answer_tool(),
        config::tool(),
    ]
}

/// What a lead has no use for before its plan is approved.
const MADE_BY_THE_PLAN: [&str; 7] =
    ["TeamCreate", "TeamDelete", "Agent", "Task", "TaskCreate", "TaskStop", "TodoWrite"];

/// What is of use only where work is under way: a lead that still plans may call it, and is not
/// told of it with each request.
const OF_A_BOARD: [&str; 5] = ["TaskGet", "TaskOutput", "Note", "Plan", "AnswerQuestion"];

/// Whether a tool is for a seat. Of a name that is no tool it says nothing.
fn has(seat: &Seat, tool: &str) -> bool {
    // Whoever has to hand in a plan has the tool for it, whatever its role.
    let owes_plan = seat.mode == Mode::Plan && tool == "ExitPlanMode";
    if !seat.tools.is_empty() && !owes_plan && !seat.tools.iter().any(|own| own == tool) {
        return false;
    }
    // Whoever only looks on neither makes nor takes nor finishes work.
    if seat.mode == Mode::ReadOnly && matches!(tool, "TaskCreate" | "TaskUpdate" | "TodoWrite") {
        return false;
    }
    if plan::is_planning(seat) && MADE_BY_THE_PLAN.contains(&tool) {
        return false;
    }
    match seat.kind {
        SeatKind::Visitor => matches!(tool, "TeamCreate" | "ListAgents" | "TaskList"),
        SeatKind::Lead => true,
        SeatKind::Teammate => matches!(
            tool,
            "TaskList"
                | "TaskGet"
                | "TaskCreate"
                | "TaskUpdate"
                | "TaskOutput"
                | "SendMessage"
                | "ListAgents"
                | "Inbox"
                | "Note"
                | "Plan"
                | "ExitPlanMode"
                | "AskUserQuestion"
        ),
    }
}

/// Calls a tool. One that this seat has not got is refused by name.
pub async fn call(board: &impl Board, seat: &Seat, tool: &str, arguments: Value) -> Outcome {
    if !has(seat, tool) {
        return not_offered(seat, tool);
    }
    let mut arguments = match Arguments::new(arguments) {
        Ok(arguments) => arguments,
        Err(bad) => return bad.into(),
    };
    let Some(reply) = run(board, seat, tool, &mut arguments).await else {
        return not_offered(seat, tool);
    };
    let outcome = reply.unwrap_or_else(|failed| failed);
    let rest = arguments.rest();
    match rest.is_empty() || outcome.is_error {
        true => outcome,
        false => outcome.and(&format!("({tool} knows no {}: ignored)", rest.join(", "))),
    }
}

async fn run(
    board: &impl Board,
    seat: &Seat,
    tool: &str,
    arguments: &mut Arguments,
) -> Option<Reply> {
    Some(match tool {
        "TeamCreate" => team::create(board, seat, arguments).await,
        "TeamDelete" => team::delete(board, seat, arguments).await,
        "ListAgents" => team::agents(board, seat, arguments).await,
        "Agent" | "Task" => spawn::run(board, seat, arguments).await,
        "TaskList" => task_read::list(board, seat, arguments).await,
        "TaskGet" => task_read::get(board, seat, arguments).await,
        "TaskCreate" => task_create::run(board, seat, arguments).await,
        "TaskUpdate" => task_update::run(board, seat, arguments).await,
        "TaskOutput" => task_output::output(board, seat, arguments).await,
        "TaskStop" => task_output::stop(board, seat, arguments).await,
        "TodoWrite" => todo_write::run(board, seat, arguments).await,
        "SendMessage" => send_message::run(board, seat, arguments).await,
        "Inbox" => inbox::run(board, seat, arguments).await,
        "Note" => note::run(board, seat, arguments).await,
        "Plan" => plan::run(board, seat, arguments).await,
        "ExitPlanMode" => plan::exit(board, seat, arguments).await,
        "AskUserQuestion" => question::ask(board, seat, arguments).await,
        "AnswerQuestion" => question::answer(board, seat, arguments).await,
        "Config" => config::run(board, arguments).await,
        _ => return None,
    })
}

fn not_offered(seat: &Seat, tool: &str) -> Outcome {
    let kind = match seat.kind {
        SeatKind::Visitor => "somebody in no team yet",
        SeatKind::Lead => "a lead",
        SeatKind::Teammate => "a teammate",
    };
    let mode = match seat.mode {
        Mode::Normal => String::new(),
        mode => format!(" in mode {}", mode.word()),
    };
    let shown: String = tool.chars().take(64).collect();
    let names: Vec<&str> = list(seat).iter().map(|tool| tool.name).collect();
    let message = format!("there is no tool {shown} for {kind}{mode}");
    let mut remedy = format!("the tools are {}", names.join(", "));
    if plan::is_planning(seat) && MADE_BY_THE_PLAN.contains(&tool) {
        remedy = format!(
            "first hand in your plan with ExitPlanMode: its tasks and teammates are made when it is \
             approved; {remedy}"
        );
    }
    refused(Code::UnknownTool, message, &remedy).into()
}
