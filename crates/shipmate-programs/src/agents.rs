//! What the configuration says about agents, their models and their fence.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use shipmate_protocol::native::{Limits, Price};

/// How this machine starts, feeds and ends what it runs.
#[derive(Debug, Clone, Default, PartialEq)]
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
    /// Machines that get the files which trees have copies of.
    pub copy_to: Vec<String>,
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
    /// The known program that it is, with another login; empty for one of its own.
    pub like: String,
    /// A name in `PATH` or a path; empty for the agent's own name.
    pub program: String,
    pub args: Option<Vec<String>>,
    /// `claude`, `codex`, `acp` or `command`; empty for the known program's, else `acp`.
    pub protocol: String,
    pub env: BTreeMap<String, String>,
}
