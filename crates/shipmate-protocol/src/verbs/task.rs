//! What is asked of the tasks: looking, making, claiming, handing in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shipmate_model::handoff::Handoff;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tasks {
    pub filter: TaskFilter,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TaskShow {
    pub task: String,
}

/// What a task has changed: landed, handed in, or in its tree now.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TaskDiff {
    pub task: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TaskCreate {
    pub tasks: Vec<TaskNew>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TaskUpdate {
    pub task: String,
    pub changes: TaskChanges,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TaskClaim {
    pub task: String,
    pub lease_ms: Option<u64>,
}

/// The best task there is for me; `wait` until there is one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TaskNext {
    pub lease_ms: Option<u64>,
    pub wait: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TaskRenew {
    pub task: String,
    pub token: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TaskSubmit {
    pub task: String,
    pub token: u64,
    pub commit: Option<String>,
    pub result: String,
    /// For those who go on from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Box<Handoff>>,
}

/// Submits, and takes the best next task in the same step: one round trip less
/// between two tasks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TaskSubmitNext {
    pub task: String,
    pub token: u64,
    pub commit: Option<String>,
    pub result: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Box<Handoff>>,
    pub lease_ms: Option<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TaskComplete {
    pub task: String,
    pub token: Option<u64>,
    pub commit: Option<String>,
    pub result: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TaskFail {
    pub task: String,
    pub token: u64,
    pub reason: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TaskRelease {
    pub task: String,
    pub token: Option<u64>,
    pub reason: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TaskAssign {
    pub task: String,
    pub to: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TaskRetry {
    pub task: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TaskDelete {
    pub task: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TaskSetAside {
    pub task: String,
    pub token: u64,
    pub work: String,
    /// What it is in git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TaskFilter {
    /// `pending`, `in_progress`, `completed`, `failed`, `deleted`; empty means all but deleted.
    #[serde(default)]
    pub status: Vec<String>,
    /// Only what could be taken now (by this teammate, or by anybody for a person).
    #[serde(default)]
    pub available: bool,
    #[serde(default)]
    pub owner: Option<String>,
    #[serde(default)]
    pub group: Option<String>,
    /// Case-insensitive part of the subject.
    #[serde(default)]
    pub search: Option<String>,
    /// Only ids above this one: the next page.
    #[serde(default)]
    pub after: u32,
    #[serde(default)]
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TaskNew {
    pub subject: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub active_form: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Ids, aliases (also of tasks in the same request) or `group:NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries_max: Option<u32>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// It may be done without any change: what is wanted is a word, not code.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_change: bool,
    /// The team whose task it is; absent: the one that the request is about. All tasks of a request
    /// are one team's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
}

/// What to change; absent means unchanged.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TaskChanges {
    #[serde(default)]
    pub subject: Option<String>,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default)]
    pub active_form: Option<String>,
    #[serde(default)]
    pub priority: Option<i32>,
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// Empty text means any role.
    #[serde(default)]
    pub role: Option<String>,
    #[serde(default)]
    pub files: Option<Vec<String>>,
    #[serde(default)]
    pub add_blocked_by: Vec<String>,
    #[serde(default)]
    pub remove_blocked_by: Vec<String>,
    /// Empty text removes the key.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
}
