//! How a new team is to work, as it is asked for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shipmate_model::account::Caps;
use shipmate_model::setup::Preparation;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TeamCreate {
    pub name: String,
    #[serde(default)]
    pub parent: Option<String>,
    #[serde(default)]
    pub description: String,
    /// A gate decides whether submitted work is completed.
    #[serde(default)]
    pub gate: bool,
    #[serde(default)]
    pub lead: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Setup>,
    /// Only looks whether the team could begin, whether or not there is one of this name: nothing
    /// is made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub check: bool,
}

/// How a team works. What is absent is as the configuration says.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Setup {
    /// `own` (a clone for each teammate) or `shared` (one for all); absent: no repository.
    #[serde(default)]
    pub trees: Option<String>,
    /// The commit to begin at; absent means what is checked out. Filled in when it is begun.
    #[serde(default)]
    pub base: Option<String>,
    /// What a tree gets beyond what is committed.
    #[serde(default, skip_serializing_if = "Preparation::is_none")]
    pub preparation: Preparation,
    /// Files of other programs say it where it is not said.
    #[serde(default)]
    pub detect: bool,
    #[serde(default)]
    pub gate: Vec<String>,
    #[serde(default)]
    pub gate_timeout_ms: Option<u64>,
    /// The gate may fail on what the team begins with: its work is to make it pass.
    #[serde(default)]
    pub red_base: bool,
    /// Filled in by the coordinator, both.
    #[serde(default)]
    pub hooks_digest: String,
    #[serde(default)]
    pub home: String,
    #[serde(default)]
    pub protected: Vec<String>,
    #[serde(default)]
    pub stall_ms: Option<u64>,
    #[serde(default)]
    pub answer_ms: Option<u64>,
    #[serde(default)]
    pub shutdown_ms: Option<u64>,
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// The program or command of teammates that a lead's plan names none for, and their model.
    #[serde(default)]
    pub agent: String,
    #[serde(default)]
    pub model: String,
    /// How many teammates there are at most where a lead's plan names none.
    #[serde(default)]
    pub cap: Option<u32>,
    /// How much of the windows of accounts it may use.
    #[serde(default, skip_serializing_if = "Caps::is_default")]
    pub caps: Caps,
    /// Task mode: whoever is started does one task and ends.
    #[serde(default)]
    pub one_shot: bool,
    /// The way of working.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub playbook: Option<PlaybookOrder>,
    /// Begin at the last commit although there are uncommitted changes.
    #[serde(default)]
    pub dirty: bool,
    /// Files that may be uncommitted: the plans themselves.
    #[serde(default)]
    pub plans: Vec<String>,
}

/// Longest text of a playbook.
pub const PLAYBOOK_BYTES_MAX: usize = 1024 * 1024;

/// A playbook by its name, or with the text of its file. Only whoever has the file reads it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PlaybookFile {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl PlaybookFile {
    pub fn named(name: impl Into<String>) -> PlaybookFile {
        PlaybookFile { name: name.into(), text: None }
    }
}

/// A playbook for one run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PlaybookOrder {
    /// One that comes with shipmate or one of `.shipmate/playbooks/`; with a text, where that is from.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What its placeholders stand for: `goal`, `dir`, …
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// Phases to leave out.
    #[serde(default)]
    pub skip: Vec<String>,
    /// The program behind whoever leads; empty: as the playbook says, else as for anybody.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lead: String,
    /// Filled in by the coordinator.
    #[serde(default)]
    pub compiled: Option<serde_json::Value>,
}
