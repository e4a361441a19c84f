//! Permissions by a table: what an agent may do, by its mode, the kind of tool and the place.

use std::path::PathBuf;

use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) tool: String,
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) title: String,
    pub(crate) detail: String,
}

fn request(tool: &str) -> Request {
    let (title, detail) = (tool.to_owned(), String::new());
    Request { tool: tool.to_owned(), paths: Vec::new(), title, detail }
}

/// Claude Code's `can_use_tool`.
pub(crate) fn claude(tool: &str, _input: &Value) -> Request {
    request(tool)
}

/// The `toolCall` of ACP's `session/request_permission`.
pub(crate) fn acp(call: &Value) -> Request {
    request(call["title"].as_str().unwrap_or_default())
}

/// Codex's approval requests, by method.
pub(crate) fn codex(method: &str, _params: &Value) -> Request {
    request(method)
}
