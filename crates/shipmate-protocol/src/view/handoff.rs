//! What one teammate leaves for the next: handoffs of tasks, and notes.

use serde::{Deserialize, Serialize};

/// What was handed over by a task that another one waited for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorView {
    pub task: u32,
    pub subject: String,
    /// Whose words they are.
    pub by: String,
    /// The handoff in a few lines, or the result where there was none.
    pub text: String,
    /// The text is only the beginning: `shipmate task show` has all of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// A note on a team's scratchpad.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteView {
    pub id: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    pub by: String,
    pub team: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    pub text: String,
}
