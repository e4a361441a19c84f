//! What models are told of the tools. Every word is paid for in each request: what a refusal can
//! say when it is needed is not said here.

use serde_json::{Map, Value, json};
use shipmate_protocol::native::Offered;

use super::skill::{self, Skill};

const SKILLS_BYTES_MAX: usize = 1_200;

struct Tool {
    name: &'static str,
    description: &'static str,
    /// Name, type and what the name does not say.
    properties: &'static [(&'static str, &'static str, &'static str)],
    required: &'static [&'static str],
}

const TOOLS: [Tool; 8] = [
    Tool {
        name: "bash",
        description: "Runs a command in your tree. What it leaves running is ended with it, \
                      unless it is started in the background; then a notice comes at its end.",
        properties: &[
            ("command", "string", ""),
            ("timeout_ms", "integer", ""),
            ("background", "boolean", ""),
        ],
        required: &["command"],
    },
    Tool {
        name: "bash_output",
        description: "The output so far of a background run.",
        properties: &[
            ("id", "string", ""),
            ("wait_ms", "integer", "wait for its end, at most 15000"),
            ("stop", "boolean", "end it"),
        ],
        required: &["id"],
    },
    Tool {
        name: "read_file",
        description: "A file's lines, each after its number and a tab; or a folder's entries. \
                      Paths are relative to your tree, or absolute.",
        properties: &[
            ("path", "string", ""),
            ("offset", "integer", "first line"),
            ("limit", "integer", "lines"),
        ],
        required: &["path"],
    },
    Tool {
        name: "write_file",
        description: "Creates or replaces a file. One that exists must have been read before.",
        properties: &[("path", "string", ""), ("content", "string", "")],
        required: &["path", "content"],
    },
    Tool {
        name: "edit_file",
        description: "Replaces old_string, which must be in the file exactly once, by new_string.",
        properties: &[
            ("path", "string", ""),
            ("old_string", "string", "as in the file, without line numbers"),
            ("new_string", "string", ""),
            ("replace_all", "boolean", ""),
        ],
        required: &["path", "old_string", "new_string"],
    },
    Tool {
        name: "glob",
        description: "Files by name, without ignored ones.",
        properties: &[("pattern", "string", "such as src/**/*.rs"), ("path", "string", "folder")],
        required: &["pattern"],
    },
    Tool {
        name: "grep",
        description: "Lines that match a regular expression, without ignored files.",
        properties: &[
            ("pattern", "string", ""),
            ("path", "string", "folder or file"),
            ("glob", "string", "only files like this"),
            ("context", "integer", "lines around"),
            ("ignore_case", "boolean", ""),
            ("files_only", "boolean", ""),
        ],
        required: &["pattern"],
    },
    Tool {
        name: "Skill",
        description: "Gives you the instructions of a skill:",
        properties: &[("name", "string", "")],
        required: &["name"],
    },
];

/// None for a tool that is not there, and for skills where there are none.
pub(super) fn tool(name: &str, skills: &[Skill]) -> Option<Offered> {
    let tool = TOOLS.iter().find(|tool| tool.name == name)?;
    let mut description = tool.description.to_owned();
    if name == "Skill" {
        description = with_skills(description, skills)?;
    }
    let property = |(name, kind, words): &(&str, &str, &str)| {
        let value = match *words {
            "" => json!({"type": kind}),
            words => json!({"type": kind, "description": words}),
        };
        ((*name).to_owned(), value)
    };
    let properties: Map<String, Value> = tool.properties.iter().map(property).collect();
    let input_schema =
        json!({"type": "object", "properties": properties, "required": tool.required});
    Some(Offered { name: name.to_owned(), description, input_schema })
}

fn with_skills(mut words: String, skills: &[Skill]) -> Option<String> {
    if skills.is_empty() {
        return None;
    }
    for line in skills.iter().map(skill::line) {
        if words.len() + line.len() > SKILLS_BYTES_MAX {
            words.push_str("\nmore in .shipmate/skills and .claude/skills");
            break;
        }
        words = format!("{words}\n{line}");
    }
    Some(words)
}
