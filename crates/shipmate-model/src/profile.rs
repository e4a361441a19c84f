//! What a teammate is: its seat, its mode, how it is started, and how one of its lives ended.

use serde::{Deserialize, Serialize};

use crate::definition::Definition;
use crate::files::FileSet;
use crate::host::Place;
use crate::name::Name;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Supervision {
    /// Nobody watches the process: claims need a lease.
    #[default]
    None,
    /// A supervisor's connection is its sign of life.
    Supervised,
    /// Runs one task and ends; allowed while the breaker is open.
    OneShot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    #[default]
    Normal,
    /// Reads and plans; writes only after its plan is approved.
    Plan,
    /// Reads, plans the board, messages and spawns; neither writes nor runs.
    Delegate,
    ReadOnly,
}

impl Mode {
    pub fn word(self) -> &'static str {
        match self {
            Mode::Normal => "normal",
            Mode::Plan => "plan",
            Mode::Delegate => "delegate",
            Mode::ReadOnly => "read_only",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seat {
    #[default]
    Member,
    Lead,
}

/// What a teammate is, independent of its lives.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Profile {
    #[serde(default)]
    pub seat: Seat,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Name>,
    /// The program behind the teammate, as the runtime's profiles name it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// What it may write; empty means anywhere.
    #[serde(default, skip_serializing_if = "FileSet::is_empty")]
    pub scope: FileSet,
    #[serde(default)]
    pub mode: Mode,
    /// How many claimed tasks it may hold at once.
    #[serde(default = "one")]
    pub tasks_max: u32,
    /// The command line of an agent that is a plain command.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    #[serde(default, skip_serializing_if = "is_by_hand")]
    pub start: StartRule,
    /// It can be talked to: mail alone is a reason to start it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hears: bool,
    /// A life for each task, whatever the team's mode; nobody writes to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_shot: bool,
    #[serde(default, skip_serializing_if = "Place::is_anywhere")]
    pub place: Place,
    /// The definition it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Box<Definition>>,
    /// What stands behind it while its account has no room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Box<AgentChoice>>,
}

/// What stands behind a teammate from its next life on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentChoice {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hears: bool,
}

impl AgentChoice {
    pub fn of(profile: &Profile) -> AgentChoice {
        let Profile { agent, command, model, hears, .. } = profile.clone();
        AgentChoice { agent, command, model, hears }
    }

    /// The program, or the command.
    pub fn name(&self) -> &str {
        if self.agent.is_empty() { &self.command } else { &self.agent }
    }

    pub fn apply(&self, profile: &mut Profile) {
        let AgentChoice { agent, command, model, hears } = self.clone();
        *profile = Profile { agent, command, model, hears, ..std::mem::take(profile) };
    }
}

fn is_by_hand(rule: &StartRule) -> bool {
    *rule == StartRule::ByHand
}

fn one() -> u32 {
    1
}

/// Who starts a teammate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartRule {
    #[default]
    ByHand,
    /// The runtime, when there is a task for it; retired when no work is left.
    WhenNeeded,
    /// A session that comes and goes by itself; its mail waits for it.
    Session,
}

/// How a life was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    #[default]
    Died,
    /// With everything else on its host, which says nothing about its health.
    Host,
    /// It said itself that it cannot work: another life would most likely say the same.
    Broken,
    /// It was there and did nothing for too long.
    Hung,
    /// Its supervisor was asked and said nothing in time.
    Silent,
    /// Something that only a person can mend keeps it from working: a key, a program, an address.
    /// It is not started again until somebody says so, and nothing is counted against anybody.
    Unable,
}

impl Loss {
    /// Why a life is given up that is lost to silence.
    pub const SILENT: &str = "its supervisor did not answer in time";
}

/// How one life of a teammate ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Clean,
    /// Ended with work left over, which is a deviation in the summary.
    InProgress {
        pending: Vec<String>,
    },
    Error {
        reason: String,
    },
    TimedOut,
    /// Ended without being asked first (`--now`).
    Forced,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Outcome::Clean => f.write_str("clean"),
            Outcome::InProgress { pending } => {
                write!(f, "in progress, left: {}", pending.join("; "))
            }
            Outcome::Error { reason } => write!(f, "error: {reason}"),
            Outcome::TimedOut => f.write_str("timed out"),
            Outcome::Forced => f.write_str("forced"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_life_ended_is_told_in_words() {
        let pending = vec!["task 3".to_owned(), "the report".to_owned()];
        let reason = "no disk".to_owned();
        for (outcome, words) in [
            (Outcome::Clean, "clean"),
            (Outcome::InProgress { pending }, "in progress, left: task 3; the report"),
            (Outcome::Error { reason }, "error: no disk"),
            (Outcome::TimedOut, "timed out"),
            (Outcome::Forced, "forced"),
        ] {
            assert_eq!(outcome.to_string(), words);
        }
    }
}
