//! What names a request, a task, a claim or a question.

use serde::{Deserialize, Serialize};

use crate::name::{Name, Position};

/// Names a request: who asked, and which of its requests it is, counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RequestId {
    pub client: Name,
    pub counter: u64,
}

pub type TaskId = u32;
/// Fencing token: the position of the record that made the claim.
pub type Token = Position;
pub type MessageId = Position;
pub type NoteId = Position;
pub type PlanId = Position;
pub type QuestionId = Position;
pub type ShutdownId = Position;
pub type ReservationId = Position;
pub type EscalationId = Position;
