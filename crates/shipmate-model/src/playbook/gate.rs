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
        self.looks_within(gate, fields, self.gates.len())
    }

    fn looks_within(&self, gate: &Name, fields: &BTreeMap<String, String>, steps: usize) -> bool {
        let Some(found) = self.gates.get(gate) else { return true };
        let value = |key: &str| fields.get(key).or_else(|| self.values.get(key));
        let asks = !found.exit.is_empty() || !found.finds.is_empty() || found.coverage.is_some();
        let mut commands = found.commands.iter();
        let own = asks || commands.any(|line| !is_blank(line, &value, VALUES_DEEP));
        let Some(other) = found.otherwise.as_ref().filter(|_| steps > 0) else { return own };
        let other = || self.looks_within(other, fields, steps - 1);
        // What is known only when the gate is asked may be there or not.
        let is_known = |key: &String| value(key).is_some();
        let is_met = |key: &String| value(key).is_some_and(|text| !text.trim().is_empty());
        match found.needs.iter().filter(|key| is_known(key)).all(is_met) {
            false => other(),
            true if found.needs.iter().all(is_known) => own,
            true => own || other(),
        }
    }
}

/// How far a value may name another.
const VALUES_DEEP: usize = 4;

/// Nothing is left of a text when what it names is filled in.
fn is_blank<'a>(text: &str, value: &impl Fn(&str) -> Option<&'a String>, deep: usize) -> bool {
    let mut rest = text.trim();
    while let Some(named) = rest.strip_prefix('{') {
        let Some((key, after)) = named.split_once('}') else { return false };
        let blank = |text: &String| deep > 0 && is_blank(text, value, deep - 1);
        if !value(key).is_some_and(blank) {
            return false;
        }
        rest = after.trim_start();
    }
    rest.is_empty()
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
