//! Agent programs, as a machine finds them.

use serde::{Deserialize, Serialize};

/// The agent programs that every installation knows by name.
pub const KNOWN_AGENTS: [&str; 8] =
    ["native", "claude", "codex", "gemini", "opencode", "goose", "claude-agent-acp", "codex-acp"];

/// An agent program, as this machine finds it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentView {
    /// The word for it in plans and on the command line.
    pub name: String,
    /// `claude`, `codex`, `acp` or `command`: how it is driven.
    pub protocol: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// `ready`, `not_installed`, `too_old`, `not_logged_in` or `broken`.
    pub state: String,
    /// The fact behind the state, and what to do about it.
    pub why: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remedy: String,
    /// The folders that each teammate's program has of its own behind the fence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<OwnFolder>,
}

/// A folder that a program is told of by a variable, and what of the person's is in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnFolder {
    pub variable: String,
    /// The person's own folder, which it stands for.
    pub instead_of: String,
    /// Read there through links.
    pub read: Vec<String>,
    /// Used where they are: what the program writes to them, the person has.
    pub logins: Vec<String>,
    /// Each life begins with a copy.
    pub copied: Vec<String>,
}
