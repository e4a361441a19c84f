//! What is asked of the workspace and of the log.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::PlaybookFile;
use crate::view::LookOf;

/// The environment of whoever begins something: what is started from now on gets it, and
/// the configuration is read again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Renew {
    pub environment: BTreeMap<String, String>,
}

/// Everything that is wrong with these.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PlaybookCheck {
    pub files: Vec<PlaybookFile>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Log {
    pub after: u64,
    pub max: usize,
}

/// The board as it was when this record was the last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StatusAt {
    pub position: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TasksAt {
    pub position: u64,
}

/// New records from here on, as notices.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Follow {
    pub after: u64,
}

/// What a screen shows of these tasks, and of everything else.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Look {
    pub of: LookOf,
}

/// The same, with every task, as it was when this record was the last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LookAt {
    pub position: u64,
}
