//! The kinds of messages, questions and answers, and whom a message lies with.

use serde::{Deserialize, Serialize};

use crate::name::{Address, Name};

/// Who a message lies with: a member's name outlives its epochs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recipient {
    Person,
    Member(Address),
}

impl std::fmt::Display for Recipient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Recipient::Person => f.write_str("person"),
            Recipient::Member(address) => address.fmt(f),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    Message,
    Broadcast,
    ShutdownRequest,
    ShutdownResponse,
    PlanApprovalRequest,
    PlanApprovalResponse,
    Question,
    Answer,
    /// The runtime tells a lead or holder what happened.
    Notice,
    /// The runtime tells a lead that the work it planned is done, and asks for a report.
    WorkDone,
    /// A message that could not be read by its recipient, back at its sender.
    Bounce,
    /// A typed handoff; its schema is the playbook's business.
    Handoff(Name),
}

impl MessageKind {
    /// Its word for readers and programs; of a handoff its own.
    pub fn word(&self) -> &str {
        match self {
            MessageKind::Message => "message",
            MessageKind::Broadcast => "broadcast",
            MessageKind::ShutdownRequest => "shutdown_request",
            MessageKind::ShutdownResponse => "shutdown_response",
            MessageKind::PlanApprovalRequest => "plan_approval_request",
            MessageKind::PlanApprovalResponse => "plan_approval_response",
            MessageKind::Question => "question",
            MessageKind::Answer => "answer",
            MessageKind::Notice => "notice",
            MessageKind::WorkDone => "work_done",
            MessageKind::Bounce => "bounce",
            // In a log that was written before such names were refused.
            MessageKind::Handoff(kind) if MessageKind::is_reserved(kind) => "handoff",
            MessageKind::Handoff(kind) => kind.as_str(),
        }
    }

    /// What only the runtime writes.
    pub fn is_by_runtime(&self) -> bool {
        matches!(self, MessageKind::Notice | MessageKind::WorkDone | MessageKind::Bounce)
    }

    /// Whether a handoff of this name would be taken for a message of another kind.
    pub fn is_reserved(name: &Name) -> bool {
        const OTHERS: [&str; 11] = [
            "message",
            "broadcast",
            "shutdown_request",
            "shutdown_response",
            "plan_approval_request",
            "plan_approval_response",
            "question",
            "answer",
            "notice",
            "work_done",
            "bounce",
        ];
        OTHERS.contains(&name.as_str())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    Question,
    Permission,
    Scope,
}

impl QuestionKind {
    pub fn word(self) -> &'static str {
        match self {
            QuestionKind::Question => "question",
            QuestionKind::Permission => "permission",
            QuestionKind::Scope => "scope",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShutdownAnswer {
    Clean,
    InProgress { pending: Vec<String> },
    Error { reason: String },
    Rejected { reason: String },
}

impl std::fmt::Display for ShutdownAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ShutdownAnswer::Clean => f.write_str("clean"),
            ShutdownAnswer::InProgress { pending } => {
                write!(f, "in progress, left: {}", pending.join("; "))
            }
            ShutdownAnswer::Error { reason } => write!(f, "error: {reason}"),
            ShutdownAnswer::Rejected { reason } => write!(f, "rejected: {reason}"),
        }
    }
}
