//! MCP servers for the native agent: those of its definition and those that the repository names in `.mcp.json`.
//!
//! Each is a process behind the same fence as the agent's shells, asked for its tools before the agent starts; a
//! server that does not answer is told, and the agent works without it. A tool is used with leave, as any other
//! that nobody here knows. Servers that are reached by HTTP are left out: that is said when a teammate joins.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use shipmate_model::definition::Server;
use shipmate_process::regular_file::read_inside;
use shipmate_process::{Fence, Tree};
use shipmate_protocol::native::{Offered, Said};

use super::super::desk::{Desk, May};
use super::super::program::{Running, Starter};
use super::super::rpc::{Dialect, Incoming, Peer};
use super::super::transcript::Transcript;
use crate::permission::{self, Kind, Request};
use crate::servers;

const FILE: &str = ".mcp.json";
const FILE_BYTES_MAX: usize = 256 * 1024;
const SERVERS_MAX: usize = 20;
const TOOLS_MAX: usize = 100;
/// How long a server may take until its tools are known, and for one call.
const READY_WITHIN: Duration = Duration::from_secs(10);
const CALL_WITHIN: Duration = Duration::from_secs(300);
const VERSION: &str = "2025-06-18";
/// "Method not found", as JSON-RPC numbers it.
const UNKNOWN_METHOD: i64 = -32601;

#[derive(Debug, Default)]
pub(super) struct Servers {
    all: RefCell<Vec<One>>,
    pub(super) offered: Vec<Offered>,
}

#[derive(Debug)]
struct One {
    name: String,
    tree: Tree,
    peer: Peer,
}

impl Servers {
    /// Starts those that there are for this tree, and asks each for its tools.
    pub(super) async fn start(
        desk: &Desk,
        starter: &Starter,
        transcript: &Transcript,
        tree: &Path,
        fence: Option<&Fence>,
    ) -> Servers {
        let definition = desk.order().definition.as_deref();
        let mut wanted = in_repository(tree);
        wanted.extend(definition.iter().flat_map(|one| one.servers.clone()));
        let mut servers = Servers::default();
        for (name, server) in wanted.into_iter().take(SERVERS_MAX) {
            match begin(starter, transcript, tree, fence, &server).await {
                Ok((running, peer, tools)) => {
                    let offered = tools.into_iter().map(|tool| offer(&name, &tool));
                    let given = |tool: &Offered| {
                        definition.is_none_or(|one| permission::has_server_tool(one, &tool.name))
                    };
                    servers.offered.extend(offered.filter(given).take(TOOLS_MAX));
                    servers.all.get_mut().push(One { name, tree: running, peer });
                }
                Err(reason) => {
                    transcript.say(&format!("[the MCP server {name} is not there: {reason}]"))
                }
            }
        }
        servers
    }

    /// Whether this is a tool of one of them.
    pub(super) fn has(&self, tool: &str) -> bool {
        self.offered.iter().any(|offered| offered.name == tool)
    }

    pub(super) async fn call(&self, desk: &Desk, tool: &str, arguments: Value) -> Said {
        let failed = |text: String| Said::Outcome { text, is_error: true };
        let found = self.all.borrow().iter().find_map(|one| {
            let own = tool.strip_prefix(&format!("mcp__{}__", one.name))?;
            Some((one.peer.clone(), own))
        });
        let Some((peer, own)) = found else { return failed(format!("there is no tool {tool}")) };
        let request = Request {
            tool: tool.to_owned(),
            kind: Kind::Other,
            paths: Vec::new(),
            title: tool.to_owned(),
            detail: arguments.to_string(),
        };
        if let May::No(words) = desk.may(request).await {
            return failed(words);
        }
        let asked = peer.request("tools/call", json!({ "name": own, "arguments": arguments }));
        match tokio::time::timeout(CALL_WITHIN, asked).await {
            Err(_) => failed(format!("{tool} gave no answer within {} s", CALL_WITHIN.as_secs())),
            Ok(Err(failure)) => failed(format!("{tool}: {failure}")),
            Ok(Ok(answer)) => {
                let text = texts(&answer);
                Said::Outcome { text, is_error: answer["isError"] == true }
            }
        }
    }

    /// Ends them with the agent that they are for.
    pub(super) async fn stop(&self, grace: Duration) {
        for One { peer, tree, .. } in self.all.take() {
            peer.close();
            drop(tokio::time::timeout(grace / 2, tree.exited()).await);
            tree.stop(grace).await;
        }
    }
}

/// What the tree's own file names; shipmate's own way to the team is none for a teammate.
fn in_repository(tree: &Path) -> BTreeMap<String, Server> {
    let text = read_inside(tree, Path::new(FILE), FILE_BYTES_MAX).unwrap_or_default();
    let file: Value = serde_json::from_slice(&text).unwrap_or_default();
    let all = file["mcpServers"].as_object().cloned().unwrap_or_default();
    let is_ours = |name: &str, server: &Server| {
        let is_program =
            Path::new(&server.command).file_name().is_some_and(|end| end == "shipmate");
        name == "shipmate" || is_program && server.args.iter().any(|arg| arg == "mcp")
    };
    let read = all.into_iter().filter_map(|(name, value)| {
        let server: Server = serde_json::from_value(value).ok()?;
        (!server.command.is_empty() && !is_ours(&name, &server)).then_some((name, server))
    });
    read.collect()
}

async fn begin(
    starter: &Starter,
    transcript: &Transcript,
    tree: &Path,
    fence: Option<&Fence>,
    server: &Server,
) -> Result<(Tree, Peer, Vec<Value>), String> {
    if server.command.is_empty() {
        return Err("it is reached by HTTP, which shipmate's own agent does not".to_owned());
    }
    let (argv, env) = servers::as_process(server);
    let running = starter.beside(argv, env, tree, fence.cloned());
    let Running { tree, stdin, stdout } = running.map_err(|e| e.to_string())?;
    let (peer, mut incoming) = Peer::start(stdout, stdin, Dialect::Standard, transcript.clone());
    let answers = peer.clone();
    tokio::task::spawn_local(async move {
        while let Some(incoming) = incoming.recv().await {
            match incoming {
                Incoming::Request { id, method, .. } if method == "ping" => {
                    answers.answer(id, json!({}))
                }
                Incoming::Request { id, method, .. } => {
                    answers.refuse(id, UNKNOWN_METHOD, &format!("{method} is not offered"));
                }
                Incoming::Notification { .. } | Incoming::Garbage(_) => {}
            }
        }
    });
    let hello = json!({
        "protocolVersion": VERSION,
        "capabilities": {},
        "clientInfo": { "name": "shipmate", "version": env!("CARGO_PKG_VERSION") },
    });
    let ready = async {
        peer.request("initialize", hello).await.map_err(|e| e.to_string())?;
        peer.notify("notifications/initialized", json!({}));
        let listed = peer.request("tools/list", json!({})).await.map_err(|e| e.to_string())?;
        Ok::<_, String>(listed["tools"].as_array().cloned().unwrap_or_default())
    };
    let reason = match tokio::time::timeout(READY_WITHIN, ready).await {
        Ok(Ok(tools)) => return Ok((tree, peer, tools)),
        Ok(Err(reason)) => reason,
        Err(_) => format!("it did not answer within {} s", READY_WITHIN.as_secs()),
    };
    tree.stop(Duration::ZERO).await;
    Err(reason)
}

fn offer(server: &str, tool: &Value) -> Offered {
    let name = tool["name"].as_str().unwrap_or_default();
    let schema = match &tool["inputSchema"] {
        Value::Object(schema) => Value::Object(schema.clone()),
        _ => json!({ "type": "object", "properties": {} }),
    };
    Offered {
        name: format!("mcp__{server}__{name}"),
        description: tool["description"].as_str().unwrap_or_default().to_owned(),
        input_schema: schema,
    }
}

/// The texts of an answer; what is no text is named.
fn texts(answer: &Value) -> String {
    let parts = answer["content"].as_array().into_iter().flatten();
    let parts = parts.map(|part| match part["text"].as_str() {
        Some(text) => text.to_owned(),
        None => format!("[{}]", part["type"].as_str().unwrap_or("something that is no text")),
    });
    parts.collect::<Vec<_>>().join("\n")
}
