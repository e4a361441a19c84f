//! An agent's definition that a teammate was made from, as it was when it joined: what a person has written
//! for Claude Code, Codex or opencode, in the words of all of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Tools are named as Claude Code names them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Definition {
    pub name: String,
    /// The file, from the repository's root, or where the person has it.
    pub source: String,
    /// What it is told, beside what every teammate is told.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// The tools it has; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Tools it does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// What its program does not hold of it, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unheld: Vec<String>,
    /// MCP servers of its own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, Server>,
    /// How hard its model thinks, in a word of its program's.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub effort: String,
    /// How much its model says, in a word of its program's.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub verbosity: String,
    /// How often it may ask its model in one turn; 0: as its program is set to.
    #[serde(skip_serializing_if = "is_zero")]
    pub turns_max: u32,
    /// Commands that Claude Code runs at its events: JSON, as its settings have them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hooks: String,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// How an MCP server is reached. Values are recorded: `${NAME}` in them is a variable's value where it is
/// started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Server {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub command: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Of one that is reached by HTTP.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// How it is spoken to there: `sse`; empty: streamable HTTP.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub transport: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

impl Definition {
    /// Whether it has a tool of this name. Patterns behind a name (`Bash(git *)`) are the program's own
    /// business: the tool is there.
    pub fn has(&self, tool: &str) -> bool {
        let is = |entry: &String| is_same(bare(entry), tool) || bare(entry) == "*";
        let listed = self.tools.as_ref().is_none_or(|tools| tools.iter().any(is));
        // One that is denied with a pattern is there for the rest.
        listed && !self.denied.iter().any(|entry| is(entry) && !entry.contains('('))
    }
}

/// `Task` is what `Agent` was called before: files have either.
fn is_same(one: &str, other: &str) -> bool {
    let is_agent = |name: &str| ["Agent", "Task"].contains(&name);
    one == other || (is_agent(one) && is_agent(other))
}

/// A tool's name without the pattern behind it.
pub fn bare(entry: &str) -> &str {
    entry.split('(').next().unwrap_or(entry).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_there_unless_it_is_not_listed_or_denied() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let of = |tools: Option<&[&str]>, denied: &[&str]| Definition {
            tools: tools.map(list),
            denied: list(denied),
            ..Definition::default()
        };
        assert!(of(None, &[]).has("Bash"));
        assert!(of(Some(&["Read", "Bash(git *)"]), &[]).has("Bash"));
        assert!(!of(Some(&["Read"]), &[]).has("Bash"));
        assert!(!of(None, &["Bash"]).has("Bash"));
        assert!(of(None, &["Bash(rm *)"]).has("Bash"));
        assert!(!of(None, &["Agent"]).has("Task"));
        assert!(of(Some(&["Task"]), &[]).has("Agent"));
    }
}
