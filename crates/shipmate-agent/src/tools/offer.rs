//! What models are told of the tools. Every word is paid for in each request: what a refusal can
//! say when it is needed is not said here.

use serde_json::{Value, json};
use shipmate_protocol::native::Offered;

use super::skill::{self, Skill};

const SKILLS_BYTES_MAX: usize = 1_200;

fn offered(name: &str, description: &str, properties: Value, required: &[&str]) -> Offered {
    Offered {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: json!({
            "type": "object", "properties": properties, "required": required,
        }),
    }
}

fn text(words: &str) -> Value {
    described("string", words)
}

fn number(words: &str) -> Value {
    described("integer", words)
}

fn flag(words: &str) -> Value {
    described("boolean", words)
}

fn described(kind: &str, words: &str) -> Value {
    match words {
        "" => json!({"type": kind}),
        words => json!({"type": kind, "description": words}),
    }
}

/// None for a tool that is not there, and for skills where there are none.
pub(super) fn tool(name: &str, skills: &[Skill]) -> Option<Offered> {
    Some(match name {
        "bash" => offered(
            name,
            "Runs a command in your tree. What it leaves running is ended with it, unless it is \
             started in the background; then a notice comes at its end.",
            json!({
                "command": text(""), "timeout_ms": number(""), "background": flag(""),
            }),
            &["command"],
        ),
        "bash_output" => offered(
            name,
            "The output so far of a background run.",
            json!({
                "id": text(""), "wait_ms": number("wait for its end, at most 15000"),
                "stop": flag("end it"),
            }),
            &["id"],
        ),
        "read_file" => offered(
            name,
            "A file's lines, each after its number and a tab; or a folder's entries. Paths are \
             relative to your tree, or absolute.",
            json!({
                "path": text(""), "offset": number("first line"), "limit": number("lines"),
            }),
            &["path"],
        ),
        "write_file" => offered(
            name,
            "Creates or replaces a file. One that exists must have been read before.",
            json!({"path": text(""), "content": text("")}),
            &["path", "content"],
        ),
        "edit_file" => offered(
            name,
            "Replaces old_string, which must be in the file exactly once, by new_string.",
            json!({
                "path": text(""), "old_string": text("as in the file, without line numbers"),
                "new_string": text(""), "replace_all": flag(""),
            }),
            &["path", "old_string", "new_string"],
        ),
        "glob" => offered(
            name,
            "Files by name, without ignored ones.",
            json!({"pattern": text("such as src/**/*.rs"), "path": text("folder")}),
            &["pattern"],
        ),
        "grep" => offered(
            name,
            "Lines that match a regular expression, without ignored files.",
            json!({
                "pattern": text(""), "path": text("folder or file"),
                "glob": text("only files like this"), "context": number("lines around"),
                "ignore_case": flag(""), "files_only": flag(""),
            }),
            &["pattern"],
        ),
        "Skill" if skills.is_empty() => return None,
        "Skill" => {
            let mut words = "Gives you the instructions of a skill:".to_owned();
            for line in skills.iter().map(skill::line) {
                if words.len() + line.len() > SKILLS_BYTES_MAX {
                    words.push_str("\nmore in .shipmate/skills and .claude/skills");
                    break;
                }
                words = format!("{words}\n{line}");
            }
            offered(name, &words, json!({"name": text("")}), &["name"])
        }
        "Config" => offered(
            name,
            "Shows or changes settings of this session: shell_timeout_ms, output_bytes_max.",
            json!({"key": text(""), "value": number("")}),
            &[],
        ),
        _ => return None,
    })
}
