//! A task as it was asked for, and why one goes back to the board.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::files::FileSet;
use crate::id::TaskId;
use crate::name::{Alias, Name};

/// What must be true of a task's work before it counts as completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verification {
    /// The holder's word is enough: a submission completes at once.
    #[default]
    None,
    /// The runtime completes or returns it after its gates.
    Gate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReleaseCause {
    /// Given back on purpose: costs no retry.
    GivenBack,
    /// Taken away by a lead or person: costs no retry.
    Reassigned,
    /// The attempt failed.
    Failed,
    /// The attempt changed nothing, and nobody said why.
    Unchanged,
    /// The lease ran out.
    Expired,
    /// The holder's life ended.
    HolderGone,
    /// Everything on the holder's machine ended: costs no retry.
    HostGone,
    /// The holder cannot work until a person has mended something: costs no retry.
    HolderUnable,
}

impl ReleaseCause {
    pub fn word(self) -> &'static str {
        match self {
            ReleaseCause::GivenBack => "given_back",
            ReleaseCause::Reassigned => "reassigned",
            ReleaseCause::Failed => "failed",
            ReleaseCause::Unchanged => "unchanged",
            ReleaseCause::Expired => "expired",
            ReleaseCause::HolderGone => "holder_gone",
            ReleaseCause::HostGone => "host_gone",
            ReleaseCause::HolderUnable => "holder_unable",
        }
    }

    pub fn costs_a_retry(self) -> bool {
        match self {
            ReleaseCause::Failed
            | ReleaseCause::Expired
            | ReleaseCause::HolderGone
            | ReleaseCause::Unchanged => true,
            ReleaseCause::GivenBack
            | ReleaseCause::Reassigned
            | ReleaseCause::HostGone
            | ReleaseCause::HolderUnable => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dependency {
    Task(TaskId),
    Group(Name),
}

impl std::fmt::Display for Dependency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Dependency::Task(id) => write!(f, "task {id}"),
            Dependency::Group(name) => write!(f, "group {name}"),
        }
    }
}

/// A task as it was asked for, its references already resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSpec {
    pub subject: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub active_form: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<Alias>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Name>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<Dependency>,
    #[serde(default, skip_serializing_if = "FileSet::is_empty")]
    pub files: FileSet,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Name>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<Name>,
    #[serde(default = "default_priority", skip_serializing_if = "is_default_priority")]
    pub priority: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(default = "default_retries", skip_serializing_if = "is_default_retries")]
    pub retries_max: u32,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// A gate of the playbook instead of the team's. Only the runtime sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Name>,
    /// It may be done without any change: what is wanted is a word, not code.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_change: bool,
}

fn default_priority() -> i32 {
    crate::limits::PRIORITY_DEFAULT
}
fn is_default_priority(priority: &i32) -> bool {
    *priority == default_priority()
}
fn default_retries() -> u32 {
    crate::limits::RETRIES_DEFAULT
}
fn is_default_retries(retries: &u32) -> bool {
    *retries == default_retries()
}

/// A task to create. `blocked_by` may name tasks of the same command.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTask {
    pub spec: TaskSpec,
    /// Indices into the same command's list, for plans whose tasks have no id yet.
    pub blocked_by_new: Vec<usize>,
}
