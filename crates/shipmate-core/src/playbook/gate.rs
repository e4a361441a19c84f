//! What a playbook says about gates, and about the files that the runtime writes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Condition, Level, Playbook};
use crate::name::Name;

/// A gate of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    pub commands: Vec<String>,
    #[serde(default)]
    pub expect: Expect,
    /// Values that have to say something; else the other gate is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<Name>,
    /// What must be there on the tree it ran on, beyond what its commands say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exit: Vec<Condition>,
    /// Fields of the task that name a file: its own word, else the first changed file that one of
    /// these patterns covers. Such a file has to be there, and is recorded with the task.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub finds: BTreeMap<String, Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub red: Option<Red>,
}

impl Playbook {
    /// Whether this gate looks at anything of a task with these fields. A command that nobody has
    /// set is none, and green says nothing then.
    pub fn looks(&self, gate: &Name, fields: &BTreeMap<String, String>) -> bool {
        let Some(found) = self.gates.get(gate) else { return true };
        let is_set = |key: &str| {
            let value = fields.get(key).or_else(|| self.values.get(key));
            value.is_some_and(|value| !value.trim().is_empty())
        };
        if !found.needs.iter().all(|key| is_set(key)) {
            let other = found.otherwise.as_ref().filter(|other| *other != gate);
            return other.is_some_and(|other| self.looks(other, fields));
        }
        let runs = |line: &String| match placeholder(line) {
            Some(key) => is_set(key),
            None => !line.trim().is_empty(),
        };
        let asks = !found.exit.is_empty() || !found.finds.is_empty() || found.coverage.is_some();
        asks || found.commands.iter().any(runs)
    }
}

/// The name of a line that is a placeholder and nothing else.
fn placeholder(line: &str) -> Option<&str> {
    line.trim().strip_prefix('{')?.strip_suffix('}').filter(|name| !name.contains(['{', '}']))
}

/// Tests that have to fail without the work that makes them pass.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Red {
    /// One of them has to fail.
    pub commands: Vec<String>,
    /// Which of the changed files are tests; where none has changed, nothing is asked.
    pub files: Vec<String>,
    /// The phase at whose end nothing could make them pass yet; absent: before the work began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<Name>,
}

/// How much of the lines that a task touched its tests must reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Coverage {
    /// Reports that the gate's commands write; the first that is there counts.
    pub files: Vec<String>,
    /// Per cent. Placeholders are filled in with the task's own fields; empty or `no`: not asked.
    pub target: String,
}

/// A list in a file of JSON on the team's branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    pub file: String,
    pub key: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    #[default]
    Green,
    /// New tests have to fail before there is anything that could make them pass.
    Red,
}

/// A file that the runtime writes in the lead's name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    pub format: String,
    pub path: String,
    /// On the team's branch, where teammates may not write it; else beside the log, for reading.
    #[serde(default)]
    pub on_branch: bool,
    /// Which teams have it; no matter where there are no departments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// On the branch: written whenever a task changes, not only between phases.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub live: bool,
}
