//! What one teammate leaves for the next: handoffs of tasks, and notes.

use serde::{Deserialize, Serialize};

use super::TaskView;

/// What was handed over by a task that another one waited for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorView {
    pub task: u32,
    pub subject: String,
    /// Whose words they are.
    pub by: String,
    /// The handoff in a few lines, or the result where there was none.
    pub text: String,
    /// There is more of it: `shipmate task show` has all of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

impl TaskView {
    /// Of the tasks before it, those of which nothing is told: `tasks 5, 6 and 12 more`.
    pub fn left_out(&self) -> Option<String> {
        let named: Vec<String> = self.handoffs_left_out.iter().map(u32::to_string).collect();
        let more = match self.handoffs_left_out_count.saturating_sub(named.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!named.is_empty()).then(|| format!("tasks {}{more}", named.join(", ")))
    }
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
