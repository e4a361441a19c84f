//! Models as an agent uses them: over real sockets, on the scripted model and on servers that
//! misbehave.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod hostile;
mod pools;
mod raw;
mod refusals;
mod scripted;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::json;
use shipmate_agent::message::Message;
use shipmate_agent::model::{Failure, Model, Patience, Reply, Request, Tokens, Watch};
use shipmate_protocol::native::{ModelOrder, Offered, Window};
use tokio::sync::mpsc;

/// Cargo sets it for every test: a key that is there without changing the environment.
const KEY_VARIABLE: &str = "CARGO_PKG_NAME";
const KEY: &str = "shipmate-agent";

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("shipmate-model-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What an agent sees while it waits.
#[derive(Debug, Default)]
struct Seen {
    bytes: u64,
    waits: Vec<String>,
    tell: Option<mpsc::UnboundedSender<String>>,
    windows: Vec<Window>,
    broken: Vec<Tokens>,
}

impl Seen {
    fn telling(tell: mpsc::UnboundedSender<String>) -> Seen {
        Seen { tell: Some(tell), ..Seen::default() }
    }
}

impl Watch for Seen {
    fn busy(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    fn waits(&mut self, why: &str, _left: Duration) {
        self.waits.push(why.to_owned());
        if let Some(tell) = &self.tell {
            tell.send(why.to_owned()).unwrap();
        }
    }

    fn windows(&mut self, windows: Vec<Window>) {
        self.windows.extend(windows);
    }

    fn broke_off(&mut self, tokens: Tokens) {
        self.broken.push(tokens);
    }
}

fn order(protocol: &str, base_url: &str) -> ModelOrder {
    ModelOrder {
        provider: "acme".to_owned(),
        protocol: protocol.to_owned(),
        base_url: base_url.to_owned(),
        key_variable: KEY_VARIABLE.to_owned(),
        model: "big-1".to_owned(),
        ..ModelOrder::default()
    }
}

/// All the attempts of a real one, without the waits.
fn hasty() -> Patience {
    Patience { first_wait: Duration::ZERO, ..Patience::default() }
}

fn model(protocol: &str, base_url: &str, pools: &Folder) -> Model {
    Model::new(order(protocol, base_url), pools.path()).unwrap().with_patience(hasty())
}

fn tools() -> Vec<Offered> {
    let schema = json!({"type": "object", "properties": {"command": {"type": "string"}}});
    ["bash", "read_file"]
        .map(|name| Offered {
            name: name.to_owned(),
            description: format!("The tool {name}."),
            input_schema: schema.clone(),
        })
        .to_vec()
}

async fn ask(model: &Model, messages: &[Message], seen: &mut Seen) -> Result<Reply, Failure> {
    let tools = tools();
    let request = Request {
        tools: &tools,
        system: "You are ana.",
        messages,
        output_tokens_max: 8_000,
        thinking_tokens: 2_000,
    };
    // Only a test that fails waits so long.
    let asked = model.ask(&request, seen);
    tokio::time::timeout(Duration::from_secs(300), asked).await.expect("it ends")
}

/// One question to a new model; what came, and what was seen meanwhile.
async fn asked(protocol: &str, base_url: &str) -> (Result<Reply, Failure>, Seen) {
    let pools = Folder::new();
    let model = model(protocol, base_url, &pools);
    let mut seen = Seen::default();
    let reply = ask(&model, &[Message::user("go")], &mut seen).await;
    (reply, seen)
}

fn text(reply: &Reply) -> String {
    Message::assistant(reply.blocks.clone()).text()
}
