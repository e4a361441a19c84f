//! What is asked of a team as a whole: its setup, pauses, budget, phases, end.

use serde::{Deserialize, Serialize};
use shipmate_model::event::{Budget, ShutdownAnswer, Usage};

use super::TeammateAdd;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TeamDelete {
    /// One below one's own; nothing means one's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    pub reason: String,
    pub deadline_ms: u64,
    pub now: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TeamBudget {
    pub budget: Budget,
}

/// No new starts and claims until it is continued.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TeamPause {
    pub reason: String,
}

/// Brings the team branch into the person's own branch, or makes a branch per feature.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Merge {
    pub branches: bool,
    /// Merges although nobody knows whether the gate passes on the result.
    #[serde(default)]
    pub no_gate: bool,
}

/// What is left over on this machine, and with `remove` what was removed. What something would
/// be lost with goes only if `force` names it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Leftovers {
    pub remove: bool,
    #[serde(default)]
    pub force: Vec<String>,
}

/// Lets a phase begin that a person is asked about: the yes to this question and no other.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PhaseApprove {
    pub approval: u64,
}

/// Leaves out a phase of the team's playbook that waits and may be left out.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PhaseSkip {
    pub phase: String,
    pub reason: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Shutdown {
    pub name: Option<String>,
    pub reason: String,
    pub deadline_ms: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AnswerShutdown {
    pub shutdown: u64,
    pub answer: ShutdownAnswer,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UsageReserve {
    pub usage: Usage,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UsageReport {
    pub usage: Usage,
    pub task: Option<String>,
    pub reservation: Option<u64>,
}

/// How a team works from now on; what is absent stays as it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TeamSet {
    #[serde(default)]
    pub gate: Option<Vec<String>>,
    /// The program or the command behind its teammates.
    #[serde(default)]
    pub agent: String,
    #[serde(default)]
    pub command: String,
    #[serde(default)]
    pub model: Option<String>,
    /// Only of these; empty: of everybody whom the runtime starts.
    #[serde(default)]
    pub teammates: Vec<String>,
    /// What stands behind each. Filled in by the coordinator.
    #[serde(default)]
    pub agents: Vec<TeammateAdd>,
}
