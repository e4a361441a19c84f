//! What is asked of one teammate, and what its supervisor tells.

use serde::{Deserialize, Serialize};
use shipmate_model::definition::Definition;
use shipmate_model::event::AgentChoice;
use shipmate_model::event::{Budget, Supervision};
use shipmate_model::host::Place;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TeammateShow {
    pub name: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TeammateStart {
    pub name: String,
    pub supervision: Supervision,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TeammateRemove {
    pub name: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TeammatePause {
    pub name: String,
    pub reason: String,
    /// For want of a budget, in a teammate's own name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spent: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TeammateContinue {
    pub name: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TeammateMode {
    pub name: String,
    pub mode: String,
}

/// Where it may run, from its next life on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TeammateMove {
    pub name: String,
    #[serde(default)]
    pub place: Place,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TeammateBudget {
    pub name: String,
    pub budget: Budget,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TeammateIdle {
    pub reason: String,
}

/// The agent shows progress; never recorded.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Progress {
    pub bytes: u64,
    pub last_words: String,
    /// Where the agent's program tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// Until when its agent waits for its model's provider, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_until: Option<u64>,
}

/// A teammate's tree was set up: for the record.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TreeSetUp {
    pub took_ms: u64,
}

/// Answers `Notice::Alive`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Alive {
    pub asked: u64,
}

/// How the agent's own conversation can be resumed, and how much of a fence it stands behind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub session: String,
    #[serde(default)]
    pub fence: String,
    /// The model that it really asks; empty where nothing new is known.
    #[serde(default)]
    pub model: String,
}

/// Where a teammate's output lies; notices tell when there is more.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Attach {
    pub name: String,
    /// Only where it lies, with all that was printed so far; of what comes signs tell.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TeammateAdd {
    pub name: String,
    #[serde(default)]
    pub lead: bool,
    #[serde(default)]
    pub role: Option<String>,
    #[serde(default)]
    pub agent: String,
    #[serde(default)]
    pub model: String,
    #[serde(default)]
    pub scope: Vec<String>,
    /// `normal`, `plan`, `delegate` or `read_only`.
    #[serde(default)]
    pub mode: Option<String>,
    #[serde(default)]
    pub tasks_max: Option<u32>,
    /// The command line of an agent that is a plain command.
    #[serde(default)]
    pub command: String,
    /// The runtime starts it when there is a task for it.
    #[serde(default)]
    pub when_needed: bool,
    /// It can be talked to. Filled in by the coordinator.
    #[serde(default)]
    pub hears: bool,
    /// Where it may run.
    #[serde(default, skip_serializing_if = "Place::is_anywhere")]
    pub place: Place,
    /// The definition of an agent that it is made from, by its name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub from: String,
    /// Where there is no definition of that name, it is only a role.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub or_role: bool,
    /// The definition. Filled in by the coordinator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Box<Definition>>,
    /// What stands behind it while its account has no room: a program, or `PROGRAM:MODEL`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fallback: String,
    /// The same, found. Filled in by the coordinator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_choice: Option<Box<AgentChoice>>,
}

/// A seat for a session that comes by itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Enrol {
    /// The name it would like; a number is added while another session has it.
    pub name: String,
    /// It wants to lead. Where somebody leads already it only looks on.
    #[serde(default)]
    pub lead: bool,
    /// The program, as it names itself.
    #[serde(default)]
    pub agent: String,
}

/// How full an agent's context is, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    pub used: u64,
    /// What fits; unknown where the program does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
}

impl Context {
    pub fn percent(&self) -> Option<u64> {
        let max = self.max.filter(|max| *max > 0)?;
        Some(self.used.saturating_mul(100) / max)
    }
}
