//! A handoff: what whoever did a task tells those who go on from it.
//!
//! It is data that another agent wrote. Nothing is decided by it, and it is shown as that agent's words.

use serde::{Deserialize, Serialize};

use crate::limits::{HANDOFF_BYTES_MAX, HANDOFF_ENTRIES_MAX};
use crate::refusal::Refusal;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handoff {
    /// What is in no part: all of it, where plain text was handed over.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<String>,
    /// What is not done yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandRun>,
    /// What was other than expected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub surprises: Vec<String>,
    /// What others call or read, and is other than before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<String>,
    /// Why what a command left could not be read; then there is nothing else in it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fault: String,
}

/// A command that was run, and what came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRun {
    pub command: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub result: String,
}

impl Handoff {
    /// The lists of plain words, each with its name.
    pub fn lists(&self) -> [(&'static str, &[String]); 4] {
        [
            ("done", &self.done),
            ("left", &self.left),
            ("surprises", &self.surprises),
            ("interfaces", &self.interfaces),
        ]
    }

    /// All that there is in it, in the order in which it is read.
    pub fn parts(&self) -> Vec<(&'static str, Vec<String>)> {
        let one = |text: &String| if text.is_empty() { Vec::new() } else { vec![text.clone()] };
        let parts = [
            ("summary", one(&self.summary)),
            ("done", self.done.clone()),
            ("left", self.left.clone()),
            ("commands", self.commands.iter().map(ToString::to_string).collect()),
            ("surprises", self.surprises.clone()),
            ("interfaces", self.interfaces.clone()),
            ("not read", one(&self.fault)),
        ];
        parts.into_iter().filter(|(_, entries)| !entries.is_empty()).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.entries() == 0 && self.fault.is_empty()
    }

    fn entries(&self) -> usize {
        let listed: usize = self.lists().iter().map(|(_, list)| list.len()).sum();
        listed + self.commands.len() + usize::from(!self.summary.is_empty())
    }

    fn bytes(&self) -> usize {
        let words: usize = self.lists().iter().flat_map(|(_, list)| *list).map(String::len).sum();
        let runs = self.commands.iter().map(|run| run.command.len() + run.result.len());
        words + runs.sum::<usize>() + self.summary.len() + self.fault.len()
    }

    /// It is within the limits.
    pub fn check(&self) -> Result<(), Refusal> {
        let what = "the handoff";
        let (size, limit) = (self.entries(), HANDOFF_ENTRIES_MAX);
        if size > limit {
            return Err(Refusal::OverLimit { what, size, limit, unit: "entries" });
        }
        let (size, limit) = (self.bytes(), HANDOFF_BYTES_MAX);
        if size > limit {
            return Err(Refusal::OverLimit { what, size, limit, unit: "bytes" });
        }
        Ok(())
    }
}

/// In a few lines: a part each, its entries behind one another.
impl std::fmt::Display for Handoff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let line = |(name, entries): (&str, Vec<String>)| format!("{name}: {}", entries.join("; "));
        let lines: Vec<String> = self.parts().into_iter().map(line).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::fmt::Display for CommandRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`", self.command)?;
        if let Some(exit) = self.exit {
            write!(f, " exit {exit}")?;
        }
        match self.result.as_str() {
            "" => Ok(()),
            result => write!(f, ", {result}"),
        }
    }
}
