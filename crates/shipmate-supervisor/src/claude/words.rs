//! What a person reads of a Claude Code teammate: its words, and a line for each thing it does.
//!
//! Subagents are told by what they do, not by what they say. Nothing here is acted on.

use std::path::Path;

use serde_json::Value;
use shipmate_process::beginning;

use super::super::desk::SERVER;

/// Longest line about one call.
const LINE_CHARS_MAX: usize = 200;

/// What a line of the stream says, if anything.
pub(super) fn of(line: &Value, cwd: &Path) -> Vec<String> {
    let blocks = line["message"]["content"].as_array().into_iter().flatten();
    let inner = !line["parent_tool_use_id"].is_null();
    match (line["type"].as_str(), line["subtype"].as_str()) {
        (Some("assistant"), _) => blocks.filter_map(|block| said(block, inner, cwd)).collect(),
        (Some("user"), _) => blocks.filter_map(refused).collect(),
        (Some("system"), Some("api_retry")) => vec![retry(line)],
        (Some("system"), Some("compact_boundary")) => {
            vec!["(the conversation was shortened)".to_owned()]
        }
        _ => Vec::new(),
    }
}

fn said(block: &Value, inner: bool, cwd: &Path) -> Option<String> {
    match block["type"].as_str()? {
        "text" if !inner => block["text"].as_str().map(str::to_owned),
        "tool_use" => {
            let line = call(block["name"].as_str()?, &block["input"], cwd);
            Some(if inner { format!("  {line}") } else { line })
        }
        _ => None,
    }
}

/// A call that failed or was not allowed.
fn refused(block: &Value) -> Option<String> {
    if block["is_error"] != true {
        return None;
    }
    let content = &block["content"];
    let text = content.as_str().or_else(|| content[0]["text"].as_str())?;
    let text = text.trim_start_matches("<tool_use_error>").trim_end_matches("</tool_use_error>");
    Some(format!("! {}", short(text)))
}

fn retry(line: &Value) -> String {
    let (attempt, most) = (&line["attempt"], &line["max_retries"]);
    let error = line["error"].as_str().unwrap_or("no answer");
    let status = line["error_status"].as_u64().map(|n| format!(" {n}")).unwrap_or_default();
    format!("(the model does not answer: {error}{status}; try {attempt} of {most})")
}

fn call(name: &str, input: &Value, cwd: &Path) -> String {
    let text = |field: &str| input[field].as_str().unwrap_or_default();
    let path = |field: &str| {
        let path = Path::new(text(field));
        path.strip_prefix(cwd).unwrap_or(path).display().to_string()
    };
    let line = match name {
        "Bash" => format!("$ {}", text("command")),
        "Write" => format!("writes {}", path("file_path")),
        "Edit" | "MultiEdit" => format!("edits {}", path("file_path")),
        "NotebookEdit" => format!("edits {}", path("notebook_path")),
        "Read" => format!("reads {}", path("file_path")),
        "Grep" | "Glob" => format!("looks for {}", text("pattern")),
        "Agent" | "Task" => format!("asks a subagent: {}", text("description")),
        "WebFetch" => format!("fetches {}", text("url")),
        "WebSearch" => format!("searches the web for {}", text("query")),
        _ => match name.strip_prefix(&format!("mcp__{SERVER}__")) {
            Some(tool) => team_call(tool, input),
            None => format!("{name} {input}"),
        },
    };
    short(&line)
}

fn team_call(tool: &str, input: &Value) -> String {
    let first = |fields: &[&str]| fields.iter().find_map(|field| input[*field].as_str());
    match (first(&["to", "recipient"]), first(&["message", "content"])) {
        (Some(to), Some(message)) => format!("→ {tool} to {to}: {message}"),
        _ => format!("→ {tool} {input}"),
    }
}

fn short(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().map(str::trim).collect();
    beginning(&lines.join(" "), LINE_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(content: Value) -> Vec<String> {
        let line = json!({ "type": "assistant", "message": { "content": content } });
        of(&line, Path::new("/w"))
    }

    #[test]
    fn each_call_is_one_line_that_says_what_is_done() {
        let call = |name: &str, input: Value| {
            words(json!([{ "type": "tool_use", "name": name, "input": input }])).remove(0)
        };
        assert_eq!(call("Bash", json!({ "command": "a\n  b" })), "$ a b");
        assert_eq!(call("Edit", json!({ "file_path": "/w/src/a.rs" })), "edits src/a.rs");
        let message = json!({ "to": "bo", "message": "the parser is in" });
        assert_eq!(
            call("mcp__team__SendMessage", message),
            "→ SendMessage to bo: the parser is in"
        );
        assert_eq!(
            call("mcp__team__TaskGet", json!({ "taskId": "1" })),
            "→ TaskGet {\"taskId\":\"1\"}"
        );
        assert_eq!(call("Read", json!([])), "reads");
        assert!(call("Bash", json!({ "command": "é".repeat(5000) })).ends_with('…'));
    }

    #[test]
    fn a_subagents_text_is_not_told_and_a_refusal_is() {
        let inner = json!({
            "type": "assistant", "parent_tool_use_id": "t",
            "message": { "content": [{ "type": "text", "text": "x" }] },
        });
        assert_eq!(of(&inner, Path::new("/w")), Vec::<String>::new());
        let refusal = json!({ "type": "user", "message": { "content": [
            { "type": "tool_result", "is_error": true, "content": "outside your scope" },
            { "type": "tool_result", "content": "fine" },
        ] } });
        assert_eq!(of(&refusal, Path::new("/w")), ["! outside your scope"]);
    }

    #[test]
    fn odd_lines_say_nothing() {
        for line in [json!(null), json!([]), json!({ "type": 5 }), json!({ "type": "assistant" })] {
            assert_eq!(of(&line, Path::new("/w")), Vec::<String>::new());
        }
    }
}
