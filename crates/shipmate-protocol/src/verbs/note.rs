//! What is asked of a team's scratchpad.

use serde::{Deserialize, Serialize};

/// Most notes of one answer.
pub const NOTES_MAX: usize = 200;
/// The longest search, and the most words in it.
pub const SEARCH_BYTES_MAX: usize = 512;
pub const SEARCH_WORDS_MAX: usize = 16;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NoteAdd {
    pub text: String,
    /// The task it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// What it said stays in the log, and is shown to nobody any more.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NoteRemove {
    pub note: u64,
}

/// The newest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Notes {
    /// Only notes with all of these words, in any case and order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// Only notes about this task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Only notes older than this one: the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// At most so many, and never more than [`NOTES_MAX`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}
