//! What a task has changed, as it is shown.

use serde::{Deserialize, Serialize};

/// The change of one task: what landed, what was handed in, or what is in its tree now. What is
/// empty is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskDiff {
    /// The commit it is compared with.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub from: String,
    /// The commit that holds the work, or `working tree`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub to: String,
    /// A unified diff.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// There is more than is shown; the text ends with a whole line.
    pub cut: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<DiffFile>,
    /// What has to be known about it, or why there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffFile {
    /// As it is called after the change.
    pub path: String,
    pub added: u32,
    pub removed: u32,
    pub binary: bool,
}
