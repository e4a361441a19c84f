//! What the coordinator is told when it starts.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use shipmate_protocol::Place;
use shipmate_protocol::native::{Limits, Price};

#[derive(Debug, Clone)]
pub struct Settings {
    pub place: Place,
    pub store: Store,
    /// Ends itself after this long without a connection or a running timer.
    pub idle_exit: Duration,
    pub agents: Current,
}

/// What the configuration says now: it is read again when somebody begins something, so that a
/// mended setting needs no new coordinator.
#[derive(Debug, Clone)]
pub struct Current {
    /// For good: a coordinator sees few changes in its life, and everybody may hold on to what
    /// they began with.
    agents: Cell<&'static Agents>,
    read: ReadAgents,
}

/// Reads the configuration of a workspace.
pub type ReadAgents = fn(&Place) -> Result<Agents, String>;

/// Settings that hold for the life of a coordinator.
const FIXED: [&str; 6] = [
    "durability",
    "idle-exit-seconds",
    "log",
    "nats.credentials",
    "nats.subject-prefix",
    "nats.url",
];

impl Current {
    /// # Errors
    /// What is wrong with the configuration.
    pub fn read(place: &Place, read: ReadAgents) -> Result<Current, String> {
        Ok(Current { agents: Cell::new(Box::leak(Box::new(read(place)?))), read })
    }

    /// Takes the configuration as it is now; one that cannot be read leaves everything as it was.
    pub(crate) fn renew(&self, place: &Place) -> Result<(), String> {
        let mut fresh = (self.read)(place)?;
        for name in FIXED {
            if let (Some(new), Some(old)) = (fresh.shown.get_mut(name), self.shown.get(name)) {
                new.clone_from(old);
            }
        }
        if fresh != **self {
            self.agents.set(Box::leak(Box::new(fresh)));
        }
        Ok(())
    }
}

impl Deref for Current {
    type Target = Agents;

    fn deref(&self) -> &Agents {
        self.agents.get()
    }
}

/// How this machine starts, feeds and ends what it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Agents {
    /// Every setting by name, as a file would have it.
    pub shown: BTreeMap<String, String>,
    /// This very program, which starts itself as a supervisor.
    pub program: PathBuf,
    /// What is kept of an agent's output.
    pub output_bytes_max: u64,
    /// Between asking a process tree to end and ending it.
    pub stop_grace: Duration,
    /// How long a permission may wait for its answer.
    pub patience: Duration,
    /// Hook commands of the configuration, by event.
    pub hooks: BTreeMap<String, Vec<String>>,
    pub hook_timeout: Duration,
    /// Hooks of `.claude/settings.json` count.
    pub claude_hooks: bool,
    /// Views are written there as well.
    pub views_in_repository: bool,
    /// Most submissions verified together.
    pub batch_max: usize,
    /// What stands behind a teammate that names no agent: a program or a command; may be empty.
    pub default: String,
    /// Agent programs of the configuration, by name.
    pub programs: BTreeMap<String, ProgramSetting>,
    pub native: Native,
    pub fence: FenceSetting,
    /// Where everybody behind the fence may write besides.
    pub fence_write: Vec<PathBuf>,
    /// Variables that look like secrets and that gates and hooks get all the same.
    pub gate_env: Vec<String>,
    /// Files with secrets that gates and hooks may read all the same.
    pub gate_read: Vec<PathBuf>,
}

/// How native teammates think and work.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Native {
    pub models: Models,
    pub limits: Limits,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Models {
    /// `provider/model`; empty for the first provider that has a key.
    pub default: String,
    pub providers: BTreeMap<String, ProviderSetting>,
}

/// A provider of models as the configuration has it. What is left out is the known provider's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderSetting {
    /// `anthropic`, `openai` or `recorded`.
    pub protocol: String,
    pub base_url: String,
    pub key_variable: Option<String>,
    /// Where none is named.
    pub model: String,
    pub context_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub thinking_tokens: Option<u64>,
    pub price: Option<Price>,
}

/// The fence around agents, gates and hooks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FenceSetting {
    Off,
    /// As much of one as the system has.
    #[default]
    On,
    /// Rather start nobody than without a whole one.
    Required,
}

/// An agent program as the configuration has it. What is left out is the known program's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramSetting {
    /// A name in `PATH` or a path; empty for the agent's own name.
    pub program: String,
    pub args: Option<Vec<String>>,
    /// `claude`, `codex`, `acp` or `command`; empty for the known program's, else `acp`.
    pub protocol: String,
    pub env: BTreeMap<String, String>,
}

#[derive(Debug, Clone)]
pub enum Store {
    Sqlite(Durability),
    Nats(Nats),
}

/// What an acknowledged command survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Loss of power.
    Power,
    /// The death of every process, not of the machine.
    Process,
}

#[derive(Debug, Clone)]
pub struct Nats {
    pub url: String,
    /// Stream that holds the logs; created when missing.
    pub stream: String,
    /// A team's log is the subject `<prefix>.<team>`.
    pub subject_prefix: String,
    pub credentials: Option<PathBuf>,
}
