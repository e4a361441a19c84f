//! What an update of a task or a team changes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::files::FileSet;
use crate::name::Name;
use crate::setup::Setup;
use crate::task::Dependency;

/// What an update changes; absent means unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskChanges {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleChange>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FileSet>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add_blocked_by: Vec<Dependency>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove_blocked_by: Vec<Dependency>,
    /// An empty value removes the key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleChange {
    Any,
    Only(Name),
}

/// How a team works from now on; absent means as before.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TeamChanges {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Vec<String>>,
    /// The agent and the model of whoever joins and names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The commit that trees are made from, where the team has recorded none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

impl TeamChanges {
    pub fn apply(&self, setup: &mut Setup) {
        let TeamChanges { gate, agent, model, base } = self.clone();
        setup.gate = gate.unwrap_or_else(|| std::mem::take(&mut setup.gate));
        setup.agent = agent.unwrap_or_else(|| std::mem::take(&mut setup.agent));
        setup.model = model.unwrap_or_else(|| std::mem::take(&mut setup.model));
        if let (Some(base), Some(trees)) = (base, &mut setup.trees) {
            trees.base = base;
        }
    }
}
