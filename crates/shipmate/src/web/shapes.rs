//! What the page's server sends that is no view of the protocol's: answers put together for one
//! screen. The page's types are generated from these.

use serde::Serialize;
use shipmate_protocol::view::{CostRow, LifeRow, MessageRow, Span, TaskView};
use shipmate_protocol::watch::TaskPage;

/// One task: as the coordinator has it, and what the log has of it.
#[derive(Debug, Serialize)]
pub(super) struct TaskAnswer {
    pub(super) task: TaskView,
    #[serde(flatten)]
    pub(super) page: TaskPage,
}

/// Every claim and every life there was.
#[derive(Debug, Serialize)]
pub(super) struct TimelinePage {
    /// The last record that is in it.
    pub(super) position: u64,
    pub(super) spans: Vec<Span>,
    pub(super) lives: Vec<LifeRow>,
    /// The chain of tasks with the longest way to the end, first one first.
    pub(super) path: Vec<u32>,
    /// Milliseconds since 1970.
    pub(super) began: u64,
    pub(super) now: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct CostsPage {
    /// The last record that is in it.
    pub(super) position: u64,
    pub(super) costs: Vec<CostRow>,
}

#[derive(Debug, Serialize)]
pub(super) struct MessagesPage {
    pub(super) messages: Vec<MessageRow>,
}

/// Records and their times, first one first.
#[derive(Debug, Serialize)]
pub(super) struct MomentsPage {
    pub(super) moments: Vec<(u64, u64)>,
}

/// A piece of what a teammate printed, as the stream brings it.
#[derive(Debug, Serialize)]
pub(super) struct OutputPiece {
    /// `team/name`
    pub(super) who: String,
    pub(super) life: u32,
    /// Its place, in bytes from the first one that was printed.
    pub(super) from: u64,
    pub(super) text: String,
}

/// A piece of what a teammate printed, and what there is of it.
#[derive(Debug, Serialize)]
pub(super) struct OutputPage {
    #[serde(flatten)]
    pub(super) piece: OutputPiece,
    /// Those that left output, first one first.
    pub(super) lives: Vec<u32>,
    /// Where the piece ends.
    pub(super) to: u64,
    /// How much was printed.
    pub(super) size: u64,
}
