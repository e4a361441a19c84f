//! What a merge did, and what a team left behind.

use serde::{Deserialize, Serialize};

/// What `shipmate merge` did.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Merged {
    pub branch: String,
    /// Of the merge in the person's branch; absent when there was nothing to do.
    pub commit: Option<String>,
    pub tasks: Vec<u32>,
    /// Branches that were made, one per feature.
    pub branches: Vec<String>,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Leftover {
    /// `process`, `branch`, `work`, `aside`, `other`, `unfinished`, `tree`, `record` or `teardown`.
    pub kind: String,
    /// Whose it was.
    #[serde(default)]
    pub team: String,
    pub name: String,
    pub why: String,
    pub removed: bool,
    /// Something would be lost with it: it goes only by name.
    #[serde(default)]
    pub precious: bool,
}
