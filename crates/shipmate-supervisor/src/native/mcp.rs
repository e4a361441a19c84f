//! MCP servers for the native agent: those of its definition and those that the repository names in `.mcp.json`.
//!
//! Each is a process behind the same fence as the agent's shells (for one that is reached by HTTP, a process of
//! ours that carries its messages), and is asked for its tools before the agent starts; a server that does not
//! answer is told, and the agent works without it. A tool is used with leave, as any other that nobody here knows.
//! Nothing is asked before a server starts, so what starts is not the agent's to write: the repository's file is
//! that of the commit that the team began with. No server has the variables that look like secrets, but for those
//! that a definition, which is a person's, gives it by name.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use shipmate_model::definition::{Definition, Server};
use shipmate_process::regular_file::read_inside;
use shipmate_process::{Fence, Tree, blocking, environment};
use shipmate_programs::fence::looks_secret;
use shipmate_programs::order::Order;
use shipmate_protocol::native::{Offered, Said};
use shipmate_workspace::{Commit, Repository};
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

use super::super::desk::{Desk, May};
use super::super::program::{Running, Starter};
use super::super::rpc::{Dialect, Incoming, Peer};
use super::super::transcript::Transcript;
use crate::permission::{self, Kind, Request};
use crate::servers::{self, Filled};

const FILE: &str = ".mcp.json";
const FILE_BYTES_MAX: usize = 256 * 1024;
const SERVERS_MAX: usize = 20;
/// Of one server, and how often it is asked for more of them.
const TOOLS_MAX: usize = 100;
const PAGES_MAX: usize = 20;
/// How long a server may take until its tools are known, and for one call.
const READY_WITHIN: Duration = Duration::from_secs(10);
const CALL_WITHIN: Duration = Duration::from_secs(300);
const VERSION: &str = "2025-06-18";
/// "Method not found", as JSON-RPC numbers it.
const UNKNOWN_METHOD: i64 = -32601;
/// A request with a tool of a longer name, or of other characters, is refused by providers as a whole.
const NAME_BYTES_MAX: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Servers {
    running: RefCell<Vec<(Peer, Tree)>>,
    /// Whose each tool is, and what it is called there.
    tools: BTreeMap<String, (Peer, String)>,
    pub(super) offered: Vec<Offered>,
}

/// A server that is to be started.
#[derive(Debug)]
struct Wanted {
    name: String,
    server: Server,
    /// What it is not given, whatever it asks for.
    withheld: Vec<String>,
}

/// One that has answered.
#[derive(Debug)]
struct Started {
    tree: Tree,
    peer: Peer,
    tools: Vec<Value>,
}

impl Servers {
    /// Starts those that there are for this tree, all at once, and asks each for its tools.
    pub(super) async fn start(
        desk: &Desk,
        starter: &Starter,
        transcript: &Transcript,
        tree: &Path,
        fence: Option<&Fence>,
    ) -> Servers {
        let definition = desk.order().definition.as_deref();
        let secrets = secret_variables(desk.order());
        let starter = starter.clone().without(&secrets);
        let mut starting = JoinSet::new();
        for (at, wanted) in
            wanted(desk.order(), tree, &secrets, transcript).await.into_iter().enumerate()
        {
            let (starter, transcript) = (starter.clone(), transcript.clone());
            let (tree, fence) = (tree.to_owned(), fence.cloned());
            starting.spawn_local(async move {
                let begun = begin(&starter, &transcript, &tree, fence, &wanted).await;
                (at, wanted.name, begun)
            });
        }
        let mut begun = Vec::new();
        while let Some(Ok(one)) = starting.join_next().await {
            begun.push(one);
        }
        begun.sort_by_key(|(at, ..)| *at);
        let mut servers = Servers::default();
        for (_, name, begun) in begun {
            match begun {
                Ok(started) => {
                    for left_out in servers.add(&name, started, definition) {
                        transcript.say(&format!("[the MCP server {name}: {left_out}]"));
                    }
                }
                Err(reason) => {
                    transcript.say(&format!("[the MCP server {name} is not there: {reason}]"))
                }
            }
        }
        servers
    }

    /// Offers its tools; what of them cannot be, in sentences.
    fn add(
        &mut self,
        name: &str,
        started: Started,
        definition: Option<&Definition>,
    ) -> Vec<String> {
        let Started { tree, peer, tools } = started;
        let mut left_out = Vec::new();
        let mut offered = 0;
        for tool in tools {
            let own = tool["name"].as_str().unwrap_or_default().to_owned();
            let tool = offer(name, &own, &tool);
            if definition.is_some_and(|one| !permission::has_server_tool(one, &tool.name)) {
                continue;
            }
            let fact = match () {
                () if !may_be_offered(&tool.name) => format!(
                    "no model can be offered {:?}: a name has at most {NAME_BYTES_MAX} letters, digits, _ \
                     and -, with the server's in it",
                    tool.name
                ),
                () if self.has(&tool.name) => format!("there is a tool {} already", tool.name),
                () if offered == TOOLS_MAX => {
                    left_out.push(format!("its tools behind the first {TOOLS_MAX} are left out"));
                    break;
                }
                () => {
                    offered += 1;
                    self.tools.insert(tool.name.clone(), (peer.clone(), own));
                    self.offered.push(tool);
                    continue;
                }
            };
            left_out.push(fact);
        }
        self.running.get_mut().push((peer, tree));
        left_out
    }

    /// Whether this is a tool of one of them.
    pub(super) fn has(&self, tool: &str) -> bool {
        self.tools.contains_key(tool)
    }

    pub(super) async fn call(&self, desk: &Desk, tool: &str, arguments: Value) -> Said {
        let failed = |text: String| Said::Outcome { text, is_error: true };
        let Some((peer, own)) = self.tools.get(tool) else {
            return failed(format!("there is no tool {tool}"));
        };
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
        for (peer, tree) in self.running.take() {
            peer.close();
            drop(tokio::time::timeout(grace / 2, tree.exited()).await);
            tree.stop(grace).await;
        }
    }
}

/// Variables that no server gets unasked: keys of models, and what looks like a secret.
fn secret_variables(order: &Order) -> Vec<String> {
    let keys = order.native.iter().flat_map(|native| native.secrets.clone());
    let here = environment::all().into_iter().filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.to_string_lossy().into_owned());
        looks_secret(&name, &value).then_some(name)
    });
    keys.chain(here).collect()
}

/// Those of the repository, and those of the definition, which count before them.
async fn wanted(
    order: &Order,
    tree: &Path,
    secrets: &[String],
    transcript: &Transcript,
) -> Vec<Wanted> {
    let mut wanted = BTreeMap::new();
    let found = repositorys_file(order, tree).await.and_then(|text| in_repository(&text));
    match found {
        Ok(found) => wanted.extend(found.into_iter().map(|(name, server)| {
            (name.clone(), Wanted { name, server, withheld: secrets.to_vec() })
        })),
        Err(reason) => transcript.say(&format!("[{FILE} names no servers: {reason}]")),
    }
    let own = order.definition.iter().flat_map(|one| one.servers.clone());
    wanted.extend(
        own.map(|(name, server)| (name.clone(), Wanted { name, server, withheld: Vec::new() })),
    );
    let mut wanted: Vec<Wanted> = wanted.into_values().collect();
    for left_out in wanted.drain(SERVERS_MAX.min(wanted.len())..) {
        let name = left_out.name;
        transcript.say(&format!("[the MCP server {name} is left out: {SERVERS_MAX} are there]"));
    }
    wanted
}

/// The file as the team began with it. Without trees there is no such commit, and no fence either.
async fn repositorys_file(order: &Order, tree: &Path) -> Result<Vec<u8>, String> {
    let Some(of) = &order.tree else {
        return Ok(read_inside(tree, Path::new(FILE), FILE_BYTES_MAX).unwrap_or_default());
    };
    let (workspace, base) = (order.workspace.clone(), of.base.clone());
    blocking(move || {
        let repository = Repository::open(&workspace).map_err(|e| e.to_string())?;
        let base =
            Commit::parse(&base).ok_or_else(|| format!("the team's base {base} is no commit"))?;
        let text = repository.read_file(&base, FILE).map_err(|e| e.to_string())?;
        let text = text.unwrap_or_default();
        match text.len() > FILE_BYTES_MAX {
            true => Err(format!("it has more than {FILE_BYTES_MAX} bytes")),
            false => Ok(text),
        }
    })
    .await
}

/// The servers of such a file; shipmate's own way to the team is none for a teammate.
fn in_repository(text: &[u8]) -> Result<BTreeMap<String, Server>, String> {
    if text.is_empty() {
        return Ok(BTreeMap::new());
    }
    let file: Value = serde_json::from_slice(text).map_err(|e| e.to_string())?;
    let all = file["mcpServers"].as_object().cloned().unwrap_or_default();
    let is_ours = |name: &str, server: &Server| {
        let is_program =
            Path::new(&server.command).file_name().is_some_and(|end| end == "shipmate");
        name == "shipmate" || is_program && server.args.iter().any(|arg| arg == "mcp")
    };
    let mut read = BTreeMap::new();
    for (name, value) in all {
        let server: Server = serde_json::from_value(value).map_err(|e| format!("{name}: {e}"))?;
        if !is_ours(&name, &server) {
            read.insert(name, server);
        }
    }
    Ok(read)
}

async fn begin(
    starter: &Starter,
    transcript: &Transcript,
    tree: &Path,
    fence: Option<Fence>,
    wanted: &Wanted,
) -> Result<Started, String> {
    let is_far = wanted.server.command.is_empty();
    if is_far && wanted.server.url.is_empty() {
        return Err("it names no command and no url".to_owned());
    }
    let Filled { argv, env, url, headers, withheld } =
        servers::fill(&wanted.server, &wanted.withheld);
    if !withheld.is_empty() {
        let (name, withheld) = (&wanted.name, Vec::from_iter(withheld).join(", "));
        transcript.say(&format!(
            "[the MCP server {name} is not given {withheld}: a definition may give it that]"
        ));
    }
    // One that is far is reached through a process of ours, which is told where it is.
    let (argv, place) = match is_far {
        true => {
            let place = json!({ "url": url, "headers": headers, "version": VERSION });
            (starter.own_words("mcp-by-http"), format!("{place}\n"))
        }
        false => (argv, String::new()),
    };
    let running = starter.beside(argv, env, tree, fence);
    let Running { tree, mut stdin, stdout } = running.map_err(|e| e.to_string())?;
    stdin.write_all(place.as_bytes()).await.map_err(|e| e.to_string())?;
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
        listed(&peer).await
    };
    let reason = match tokio::time::timeout(READY_WITHIN, ready).await {
        Ok(Ok(tools)) => return Ok(Started { tree, peer, tools }),
        Ok(Err(reason)) => reason,
        Err(_) => format!("it did not answer within {} s", READY_WITHIN.as_secs()),
    };
    tree.stop(Duration::ZERO).await;
    Err(reason)
}

/// All its tools, page after page.
async fn listed(peer: &Peer) -> Result<Vec<Value>, String> {
    let mut tools = Vec::new();
    let mut asked = json!({});
    for _ in 0..PAGES_MAX {
        let mut page = peer.request("tools/list", asked).await.map_err(|e| e.to_string())?;
        if let Value::Array(more) = page["tools"].take() {
            tools.extend(more);
        }
        // More than these are not offered.
        match page["nextCursor"].as_str().filter(|_| tools.len() <= TOOLS_MAX) {
            Some(cursor) => asked = json!({ "cursor": cursor }),
            None => break,
        }
    }
    Ok(tools)
}

fn may_be_offered(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.len() <= NAME_BYTES_MAX && !name.ends_with("__") && name.chars().all(is_plain)
}

fn offer(server: &str, own: &str, tool: &Value) -> Offered {
    let schema = match &tool["inputSchema"] {
        Value::Object(schema) => Value::Object(schema.clone()),
        _ => json!({ "type": "object", "properties": {} }),
    };
    Offered {
        name: format!("mcp__{server}__{own}"),
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
