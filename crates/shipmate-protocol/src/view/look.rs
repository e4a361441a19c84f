//! What a screen shows of a tree of teams at one moment: cards, and what waits for a person.

use serde::{Deserialize, Serialize};

use super::{DecisionKind, Status, TaskStage, TaskStatus, WorkView};

/// A task on a screen. What is empty is left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Card {
    pub id: u32,
    pub subject: String,
    pub status: TaskStatus,
    /// While in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<TaskStage>,
    /// `team/name@epoch` of whoever has it, or has done it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Pending and nothing stands in the way.
    pub available: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
    /// `3` or `group:auth`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    pub priority: i32,
    pub team: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Longest way from this task to the end of the plan.
    pub path_ms: u64,
    pub retries: u32,
    pub retries_max: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
    /// Milliseconds since 1970.
    pub created_at: u64,
    pub changed_at: u64,
    /// What the gates said of it; known to whoever has read the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateMark>,
}

/// The gates of one task in short.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateMark {
    /// Of the last run.
    pub passed: bool,
    pub at: u64,
    pub runs: u32,
    pub red: u32,
}

/// Something that a person, or a lead, decides.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DecisionView {
    /// Of the plan or question, or the record with which the runtime asks for an approval.
    pub id: u64,
    pub kind: DecisionKind,
    pub team: String,
    /// `team/name@epoch`; nobody for an approval, which the runtime asks for.
    pub who: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    pub text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// What a lead plans for its team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<Box<WorkView>>,
    pub at: u64,
    /// How many tasks cannot go on before it is decided, and the work in them.
    pub waiting: usize,
    pub waiting_ms: u64,
}

/// Which tasks to look at.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LookOf {
    /// Those above this id, so many of them.
    Page { after: u32, max: usize },
    /// These, and those whose standing depends on them.
    Around { tasks: Vec<u32> },
}

/// A tree of teams as it is after a record.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Look {
    pub status: Status,
    pub cards: Vec<Card>,
    /// Most waiting work first.
    pub decisions: Vec<DecisionView>,
    /// There are more tasks above these.
    #[serde(default)]
    pub more: bool,
}
