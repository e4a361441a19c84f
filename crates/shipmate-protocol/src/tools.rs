//! The team's tools: what a model calls to take part in a team, whatever program runs it.
//!
//! One list for the MCP server, the agents that are driven and the native agent. Names and
//! argument shapes are those that agents already know, and those that the seeds write; they
//! are translated to requests here and nowhere else. A call never panics on what a model
//! sends: bad arguments are an outcome that names the fact and the remedy.

pub mod envelope;

use serde::Serialize;
use serde_json::Value;

use crate::ask::Ask;
use crate::wire::{Answer, Refused};

/// From where a tool is called: it decides which tools there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    pub team: String,
    /// Empty for a visitor.
    pub name: String,
    pub kind: SeatKind,
    /// `normal`, `plan`, `delegate` or `read_only`.
    pub mode: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeatKind {
    /// In no team yet: it may look for one or create one.
    Visitor,
    Lead,
    Teammate,
}

/// A tool as it is offered to a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    fn ask(&self, ask: Ask) -> impl Future<Output = Result<Answer, Refused>>;
}

/// The tools of a seat.
pub fn list(_seat: &Seat) -> Vec<Tool> {
    Vec::new()
}

/// Calls a tool. One that this seat has not got is refused by name.
pub async fn call(_board: &impl Board, _seat: &Seat, tool: &str, _arguments: Value) -> Outcome {
    let text = format!("there is no tool {tool}");
    Outcome { structured: serde_json::json!({ "error": text }), text, is_error: true }
}
