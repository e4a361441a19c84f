//! What passes between a supervisor and the native agent: one JSON object a line.
//!
//! The agent has no token and no socket: whatever it wants of its team goes through its
//! supervisor, by the tools that every agent has. The supervisor begins with [`ToAgent::Begin`];
//! then a turn is given, and its end is told, one at a time. Messages may come in a turn and
//! wait for the next boundary between tools; `Cancel` acts at once.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
pub use shipmate_model::account::Window;

use crate::verbs::{Context, Usage};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToAgent {
    Begin(Box<Begin>),
    /// A piece of work, or words of others. `whole` is the same for an agent that has not heard
    /// of the task before: its conversation could not be taken up again.
    Turn {
        text: String,
        whole: String,
    },
    /// Words that are written down nowhere, besides those it began with: see `shipmate_process::hidden`.
    Hide {
        hidden: Vec<(String, String)>,
    },
    /// For the running turn, at the next boundary.
    Message {
        text: String,
    },
    /// Breaks the turn off: tools that run are ended.
    Cancel,
    /// The answer to a [`FromAgent::Call`] or [`FromAgent::May`], by its number.
    Answer {
        id: u64,
        answer: Said,
    },
    /// What the teammate may do has changed: its tools and its standing instructions.
    Seat {
        standing: String,
        identity: String,
        tools: Vec<Offered>,
        own_tools: Vec<String>,
    },
}

/// What a supervisor says to a request of the agent's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    Yes,
    /// With the words for the model.
    No(String),
    /// What a tool of the team gave back.
    Outcome {
        text: String,
        is_error: bool,
    },
    /// A reservation by its number; none where nothing is counted.
    Reserved(Option<u64>),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromAgent {
    /// It has taken up its conversation, or begun one.
    Ready { resumed: bool },
    /// One of the team's tools.
    Call { id: u64, tool: String, arguments: Value },
    /// Whether it may use one of its own tools.
    May { id: u64, tool: String, kind: Does, paths: Vec<PathBuf>, detail: String },
    /// Before a request to the model: what it may cost at most.
    Reserve { id: u64, usage: Usage },
    /// What a request has cost, and how full the context is; a subagent's says nothing of that.
    Used {
        usage: Usage,
        reservation: Option<u64>,
        context: Option<Context>,
        /// The model that answered, as far as its provider says.
        #[serde(default)]
        model: String,
    },
    /// What the provider tells of its account's windows.
    Windows { windows: Vec<Window> },
    /// A line for whoever follows the teammate.
    Say { text: String },
    /// It asks its model again after so long; why, for whoever follows the teammate.
    Waits { text: String, ms: u64 },
    /// A sign that it is at work: bytes that came from the model or a tool.
    Busy { bytes: u64 },
    /// The turn is over; so many of the messages that were sent into it were heard.
    Ended { how: Ended, heard: usize },
}

/// What one of the agent's own tools does, for the table of permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Does {
    Read,
    Search,
    Write,
    Run,
    Spawn,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The model called no more tools; its last words.
    Done {
        text: String,
    },
    /// It cannot do this: the task may be another's.
    Failed {
        reason: String,
    },
    /// The model cannot be reached, whatever the task: nobody with the same model could do it.
    Unable {
        reason: String,
    },
    /// The provider has no room for another request with this key.
    Limited {
        reason: String,
        after_ms: Option<u64>,
    },
    /// Its budget is spent.
    Stopped {
        reason: String,
    },
    Cancelled,
}

/// All that an agent is told once.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Begin {
    pub team: String,
    pub name: String,
    /// Who it is and what holds for it: the head of every request.
    pub standing: String,
    /// Said again after its context was summarised: name, team, role, scope and limits.
    pub identity: String,
    pub model: ModelOrder,
    /// Where it works.
    pub tree: PathBuf,
    /// Where its conversation is kept; one that is there is taken up again.
    pub conversation: PathBuf,
    /// Its own folder for outputs that are too long, and temporary files.
    pub scratch: PathBuf,
    /// Where all agents of this user agree on pauses of a key.
    pub pools: PathBuf,
    /// The team's tools.
    pub tools: Vec<Offered>,
    /// Names of its own tools that it has: `bash`, `read_file`, …
    pub own_tools: Vec<String>,
    /// The fence around shells.
    pub fence: FenceOrder,
    /// This very program, through which shells are started.
    pub program: PathBuf,
    /// Carried by everything it starts.
    pub marker: String,
    pub limits: Limits,
    /// Variables that shells never get.
    pub secrets: Vec<String>,
    /// Words that are written down nowhere, each with what stands there instead.
    #[serde(default)]
    pub hidden: Vec<(String, String)>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FenceOrder {
    /// None is put up.
    pub off: bool,
    pub write: Vec<PathBuf>,
    pub hidden: Vec<PathBuf>,
    /// Of what is hidden, what may be read after all.
    #[serde(default)]
    pub read: Vec<PathBuf>,
    pub required: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Requests to the model in one turn.
    pub requests_max: u32,
    pub shell_timeout_ms: u64,
    /// What of a tool's output the model is shown; the rest is in a file.
    pub output_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { requests_max: 1_000, shell_timeout_ms: 120_000, output_bytes_max: 16 * 1024 }
    }
}

/// Which model, and how it is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelOrder {
    /// As messages name it.
    pub provider: String,
    /// `anthropic`, `openai` or `recorded`.
    pub protocol: String,
    /// Without the path of the protocol; for `recorded` a file.
    pub base_url: String,
    /// The variable that holds the key; empty where none is needed.
    pub key_variable: String,
    pub model: String,
    pub context_tokens: u64,
    pub output_tokens_max: u64,
    /// None turns it off.
    pub thinking_tokens: u64,
    pub price: Price,
}

/// In millionths of the currency for a million tokens; nothing where it is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

/// A tool as it is offered to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Offered {
    pub name: String,
    pub description: String,
    pub input_schema: Value,
}
