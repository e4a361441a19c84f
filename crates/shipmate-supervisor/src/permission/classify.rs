//! What vendors' programs call their tools, in our words.
//!
//! A tool that is not known is [`Kind::Other`]: a new release of a program may bring a tool,
//! but not a right. Nothing that a model writes (a title, a command's text) makes a tool
//! anything else than what its program says it is.

use std::path::PathBuf;

use serde_json::Value;

use super::{Kind, Request};

/// The name under which the team's tools are offered to a program.
pub const TEAM_SERVER: &str = "team";

const TITLE_CHARS_MAX: usize = 200;

/// Claude Code: `can_use_tool {tool_name, input}`.
pub fn claude(tool: &str, input: &Value) -> Request {
    let kind = match tool {
        "Read" | "NotebookRead" => Kind::Read,
        // The agent's own notes and switches; nothing outside it changes.
        "TodoWrite" | "TodoRead" | "Skill" | "ToolSearch" | "EnterPlanMode" | "BashOutput" => {
            Kind::Read
        }
        "TaskCreate" | "TaskGet" | "TaskList" | "TaskUpdate" | "TaskOutput" => Kind::Read,
        "Glob" | "Grep" | "LS" => Kind::Search,
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => Kind::Write,
        "Bash" | "KillShell" | "KillBash" | "TaskStop" | "Monitor" => Kind::Run,
        "WebFetch" | "WebSearch" => Kind::Network,
        "Agent" | "Task" => Kind::Spawn,
        tool if is_team_tool(tool) => Kind::TeamTool,
        _ => Kind::Other,
    };
    let paths = match kind {
        // A background command that is looked at or ended, and a task's text, name no path.
        Kind::Read | Kind::Search | Kind::Write => {
            strings(input, &["file_path", "notebook_path", "path"]).map(PathBuf::from).collect()
        }
        _ => Vec::new(),
    };
    request(tool, kind, paths, summary(tool, input), input)
}

/// ACP: the `toolCall` of a `session/request_permission`.
pub fn acp(call: &Value) -> Request {
    let text = |key: &str| call[key].as_str().unwrap_or_default();
    let (title, input) = (text("title"), &call["rawInput"]);
    let tool = [text("name"), title].into_iter().find(|name| !name.is_empty()).unwrap_or("a tool");
    let kind = match text("kind") {
        "read" => Kind::Read,
        "search" => Kind::Search,
        "edit" | "move" => Kind::Write,
        "delete" => Kind::Delete,
        "execute" => Kind::Run,
        "fetch" => Kind::Network,
        // Only here, so that a command that looks like a team's tool stays a command.
        "" | "other" | "think" if is_team_tool(tool) || is_team_title(title) => Kind::TeamTool,
        // Notes for itself with Claude Code, an agent inside the agent with others.
        "think" if claude(tool, input).kind == Kind::Read => Kind::Read,
        "think" => Kind::Spawn,
        _ => Kind::Other,
    };
    let mut paths: Vec<PathBuf> = Vec::new();
    let objects = |key: &str| call[key].as_array().cloned().unwrap_or_default();
    for object in objects("locations").iter().chain(&objects("content")) {
        paths.extend(object["path"].as_str().map(PathBuf::from));
    }
    if matches!(kind, Kind::Read | Kind::Search | Kind::Write | Kind::Delete) {
        let keys = ["file_path", "filePath", "filepath", "absolute_path", "dir_path", "path"];
        let moved = ["source", "destination", "oldPath", "newPath"];
        paths.extend(strings(input, &keys).chain(strings(input, &moved)).map(PathBuf::from));
    }
    paths.extend(strings(input, &["cwd", "workdir", "dir_path"]).map(PathBuf::from));
    paths.sort();
    paths.dedup();
    let shown = if title.is_empty() { summary(tool, input) } else { title.to_owned() };
    request(tool, kind, paths, shown, input)
}

/// `codex app-server`: a request of the server for an approval. The files of an
/// `item/fileChange/requestApproval` are only in the item that was announced before: whoever
/// keeps that adds them to the paths.
pub fn codex(method: &str, params: &Value) -> Request {
    let path = |value: &Value| value.as_str().map(PathBuf::from);
    match method {
        "item/commandExecution/requestApproval" if !params["networkApprovalContext"].is_null() => {
            let context = &params["networkApprovalContext"];
            let title = format!("connect to {}", context["host"].as_str().unwrap_or("a host"));
            request("network", Kind::Network, Vec::new(), title, context)
        }
        "item/commandExecution/requestApproval" | "execCommandApproval" => {
            let line = match &params["command"] {
                Value::Array(words) => {
                    words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
                }
                command => command.as_str().unwrap_or_default().to_owned(),
            };
            let title = if line.is_empty() { "a command".to_owned() } else { line.clone() };
            let paths = path(&params["cwd"]).into_iter().collect();
            request("shell", Kind::Run, paths, title, &Value::String(line))
        }
        "item/fileChange/requestApproval" | "applyPatchApproval" => {
            let mut paths: Vec<PathBuf> = path(&params["grantRoot"]).into_iter().collect();
            for (name, change) in params["fileChanges"].as_object().into_iter().flatten() {
                paths.push(PathBuf::from(name));
                paths.extend(path(&change["move_path"]));
            }
            let title = params["reason"].as_str().unwrap_or("a change of files").to_owned();
            request("apply_patch", Kind::Write, paths, title, &Value::Null)
        }
        "item/permissions/requestApproval" => codex_permissions(params),
        "mcpServer/elicitation/request" => {
            let is_team = params["serverName"] == TEAM_SERVER;
            let kind = if is_team { Kind::TeamTool } else { Kind::Other };
            let server = params["serverName"].as_str().unwrap_or("an MCP server");
            let title = params["message"].as_str().unwrap_or(server).to_owned();
            let tool = match is_team || params["_meta"]["codex_approval_kind"] != "mcp_tool_call" {
                true => server.to_owned(),
                false => format!("mcp__{server}__{}", named_tool(&title)),
            };
            request(&tool, kind, Vec::new(), title, &Value::Null)
        }
        _ => request(method, Kind::Other, Vec::new(), method.to_owned(), params),
    }
}

/// The tool that codex asks about, which it names in its words alone: `Allow … to run tool "tide"?`. Of other
/// words all count, so that nothing is taken for a tool that was allowed before.
fn named_tool(words: &str) -> &str {
    let rest = words.rsplit_once("run tool \"").map(|(_, rest)| rest);
    rest.and_then(|rest| rest.rsplit_once('"')).map_or(words, |(tool, _)| tool)
}

/// More rights for the rest of a turn. The greatest of them is what is asked for.
fn codex_permissions(params: &Value) -> Request {
    let files = &params["permissions"]["fileSystem"];
    let listed = |key: &str| -> Vec<PathBuf> {
        let paths = files[key].as_array().into_iter().flatten();
        paths.filter_map(Value::as_str).map(PathBuf::from).collect()
    };
    let (mut read, mut write, mut is_strange) = (listed("read"), listed("write"), false);
    for entry in files["entries"].as_array().into_iter().flatten() {
        match (entry["access"].as_str(), entry["path"]["path"].as_str()) {
            (Some("read" | "deny"), Some(path)) => read.push(path.into()),
            (Some("write"), Some(path)) => write.push(path.into()),
            _ => is_strange = true,
        }
    }
    let title = params["reason"].as_str().unwrap_or("more rights for this turn").to_owned();
    let (kind, paths) = if is_strange {
        (Kind::Other, Vec::new())
    } else if !write.is_empty() {
        (Kind::Write, [write, read].concat())
    } else if !read.is_empty() {
        (Kind::Read, read)
    } else if !params["permissions"]["network"].is_null() {
        (Kind::Network, Vec::new())
    } else {
        (Kind::Other, Vec::new())
    };
    request("permissions", kind, paths, title, &params["permissions"])
}

/// `mcp__team__x` of Claude Code and Codex, `mcp_team_x` of Gemini CLI, `team_x` of opencode.
fn is_team_tool(tool: &str) -> bool {
    let of = |prefix: &str, gap: &str| {
        tool.strip_prefix(prefix)
            .and_then(|rest| rest.strip_prefix(TEAM_SERVER)?.strip_prefix(gap))
            .is_some_and(|name| {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            })
    };
    of("mcp__", "__") || of("mcp_", "_") || of("", "_")
}

/// `x (team MCP Server)` of Gemini CLI.
fn is_team_title(title: &str) -> bool {
    let name = title.strip_suffix(&format!(" ({TEAM_SERVER} MCP Server)"));
    name.is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn strings<'a>(input: &'a Value, keys: &'a [&str]) -> impl Iterator<Item = &'a str> {
    keys.iter().filter_map(|key| input.get(*key)?.as_str()).filter(|text| !text.is_empty())
}

/// What in the input tells most, for the tools that everybody knows.
fn summary(tool: &str, input: &Value) -> String {
    let keys = ["command", "file_path", "notebook_path", "path", "pattern", "url", "query"];
    match strings(input, &keys).next() {
        Some(text) => format!("{tool}: {text}"),
        None => tool.to_owned(),
    }
}

fn request(tool: &str, kind: Kind, paths: Vec<PathBuf>, title: String, input: &Value) -> Request {
    let line = title.lines().next().unwrap_or_default();
    let title = line.chars().take(TITLE_CHARS_MAX).collect();
    let detail = match input {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        input => match input.get("command").and_then(Value::as_str) {
            Some(command) => command.to_owned(),
            None => input.to_string(),
        },
    };
    Request { tool: tool.to_owned(), kind, paths, title, detail }
}
