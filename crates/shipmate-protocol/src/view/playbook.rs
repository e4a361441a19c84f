//! Playbooks as they are shown: those there are, what one says, and what is wrong with one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::problem::Problem;

/// A playbook of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaybookRow {
    pub name: String,
    pub title: String,
    pub about: String,
    /// Its file, or `built in`.
    pub file: String,
    /// How much is wrong with it; a playbook with problems cannot be used.
    pub problems: usize,
    /// Files that choose it by being there.
    pub selected_by: Vec<String>,
    /// The one of them that is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// The environment variable that has to be on for a team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<String>,
}

/// All that a playbook says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlaybookView {
    #[serde(flatten)]
    pub row: PlaybookRow,
    /// The file itself.
    pub toml: String,
    /// In words, part by part.
    pub parts: Vec<PlaybookPart>,
    /// The kinds of handoffs as JSON Schema documents.
    pub schemas: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaybookPart {
    /// `phases`, `roles`, …
    pub part: String,
    pub entries: Vec<PlaybookEntry>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaybookEntry {
    pub name: String,
    pub lines: Vec<String>,
}

/// What came of looking at one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaybookChecked {
    pub file: String,
    pub problems: Vec<ProblemView>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProblemView {
    pub file: String,
    /// 0: the file as a whole.
    pub line: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    pub fact: String,
    pub remedy: String,
}

impl From<Problem> for ProblemView {
    fn from(problem: Problem) -> ProblemView {
        let Problem { place, column, fact, remedy } = problem;
        ProblemView { file: place.file.to_string(), line: place.line, column, fact, remedy }
    }
}

impl std::fmt::Display for ProblemView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.file)?;
        for number in [(self.line > 0).then_some(self.line), self.column].into_iter().flatten() {
            write!(f, ":{number}")?;
        }
        write!(f, ": {}\n  {}", self.fact, self.remedy)
    }
}
