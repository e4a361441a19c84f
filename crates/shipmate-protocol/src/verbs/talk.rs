//! Messages, plans and questions.

use serde::{Deserialize, Serialize};
use shipmate_model::event::QuestionKind;

use super::TaskNew;
use super::TeammateAdd;

/// `to`: a name, `team/name`, `person`, `all` or `team/all`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Send {
    pub to: String,
    pub body: String,
    pub kind: Option<String>,
    pub reply_to: Option<u64>,
}

/// Reads and acknowledges; `wait` until there is something to read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InboxRead {
    pub max: usize,
    pub wait: bool,
}

/// Hands a supervisor what its agent was not handed yet; it stays unread.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InboxTake {
    pub max: usize,
    pub wait: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MessageTrace {
    pub message: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MessageInject {
    pub messages: Vec<u64>,
    pub turn: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MessageAcknowledge {
    pub messages: Vec<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PlanSubmit {
    pub task: Option<String>,
    pub body: String,
    /// What a lead plans for its team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Box<PlannedWork>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plans {
    pub all: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PlanApprove {
    pub plan: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PlanReject {
    pub plan: u64,
    pub feedback: String,
    /// It could not be carried out, and nobody has read it for that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unworkable: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Question {
    pub kind: QuestionKind,
    pub text: String,
    pub options: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Questions {
    pub all: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct QuestionAnswer {
    pub question: u64,
    pub answer: String,
}

/// Whoever asked needs no answer any more.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct QuestionWithdraw {
    pub question: u64,
    pub reason: String,
}

/// The tasks and teammates of a lead's plan. They are made when it is approved.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PlannedWork {
    /// Each with its key as the alias; `blocked_by` names keys.
    #[serde(default)]
    pub tasks: Vec<TaskNew>,
    /// Empty: as many as the tasks can use, up to the team's limit.
    #[serde(default)]
    pub teammates: Vec<TeammateAdd>,
    /// Why one teammate is enough.
    #[serde(default)]
    pub single: Option<String>,
    /// What the coordinator finds wrong with the teammates' programs. Filled in by it.
    #[serde(default)]
    pub problems: Vec<String>,
}
