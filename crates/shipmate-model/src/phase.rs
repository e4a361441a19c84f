//! How a phase of a playbook ended.

use serde::{Deserialize, Serialize};

use crate::name::Name;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseEnd {
    Done {
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
    },
    Skipped {
        reason: String,
    },
    /// The team stops here.
    Failed {
        reason: String,
    },
    /// It failed, and the team goes on.
    Passed {
        reason: String,
    },
    Back {
        to: Name,
        reason: String,
    },
}
