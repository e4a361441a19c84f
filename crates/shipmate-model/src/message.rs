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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShutdownAnswer {
    Clean,
    InProgress { pending: Vec<String> },
    Error { reason: String },
    Rejected { reason: String },
}
