//! What went otherwise than planned, and how members came and went.

use serde::{Deserialize, Serialize};
use shipmate_model::event::TaskId;
use shipmate_model::name::{Address, Name};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deviation {
    pub team: Name,
    /// The task it is about; absent: the whole team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    pub text: String,
}

/// A member came, has nothing to do, was stopped or is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    pub who: Address,
    pub word: HealthWord,
    /// Wall clock.
    pub at: u64,
    pub before: Option<HealthWord>,
    /// It was asked and did not answer in time.
    pub silent: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HealthWord {
    Start,
    Idle,
    Stop,
    Disappeared,
}
