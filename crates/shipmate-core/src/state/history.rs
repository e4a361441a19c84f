//! What went otherwise than planned, how members came and went, and work that came too late.

use serde::{Deserialize, Serialize};
use shipmate_model::event::{TaskId, Token};
use shipmate_model::name::{Address, Name, TeammateRef};

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

/// Work of a claim that had ended, and the machine that has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetAside {
    pub token: Token,
    pub who: TeammateRef,
    pub work: String,
    pub commit: Option<String>,
    pub host: Option<Name>,
}

impl std::fmt::Display for SetAside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.host {
            None => f.write_str(&self.work),
            Some(host) => write!(f, "{} on host {host}", self.work),
        }
    }
}
