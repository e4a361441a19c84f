//! What a supervisor is told when it is started, and the folder of its life.
//!
//! The order lies in the life's folder, readable by its owner only: it holds the token.
//! The folder's lock is held for as long as the supervisor lives; whoever gets it knows
//! that the life is over. A life that was found over is marked so, and a supervisor that
//! comes late to it ends at once.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use shipmate_model::definition::Definition;
use shipmate_model::setup::Preparation;
use shipmate_process::regular_file::{read_end, read_start};
use shipmate_process::{Fence, Marker};
use shipmate_protocol::Mode;
use shipmate_protocol::native::{Limits, ModelOrder};

use crate::fence::Grounds;
use crate::git_settings;

/// How often a lock is looked at whose holder has not written its number yet.
const LOOKS_MAX: usize = 10_000;
/// An order holds a role's words and a plan, each with limits far below this.
const ORDER_BYTES_MAX: u64 = 64 << 20;
const SESSION_BYTES_MAX: u64 = 4096;
const REASON_BYTES_MAX: u64 = 1 << 20;

/// What a supervisor ends with whose life never began, as `EX_TEMPFAIL` of sysexits.h.
pub const NOT_BEGUN: u8 = 75;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    pub workspace: PathBuf,
    pub team: String,
    pub name: String,
    pub epoch: u32,
    pub token: String,
    pub one_shot: bool,
    /// The program behind the teammate, as profiles name it.
    pub agent: String,
    /// How it is driven: `command`, `inline`, `claude`, `codex` or `acp`.
    pub protocol: String,
    /// The program with its arguments, for those that are driven.
    #[serde(default)]
    pub argv: Vec<String>,
    #[serde(default)]
    pub env: std::collections::BTreeMap<String, String>,
    /// What the program must be able to write in any mode.
    #[serde(default)]
    pub own: Vec<PathBuf>,
    /// What its fence is built from.
    #[serde(default)]
    pub grounds: Grounds,
    #[serde(default)]
    pub protected: Vec<String>,
    /// How long a permission may wait for its answer.
    #[serde(default)]
    pub patience_ms: u64,
    #[serde(default)]
    pub model: String,
    #[serde(default)]
    pub role: String,
    /// What the playbook tells this role.
    #[serde(default)]
    pub prompt: String,
    /// The definition it was made from.
    #[serde(default)]
    pub definition: Option<Box<Definition>>,
    /// The tools of its role; empty: all that there are for it.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Protected paths that its role may write all the same.
    #[serde(default)]
    pub may: Vec<String>,
    #[serde(default)]
    pub lead: bool,
    /// The phases of its playbook make the tasks, and its lead none.
    #[serde(default)]
    pub by_playbook: bool,
    /// Its playbook leaves the board to the lead.
    #[serde(default)]
    pub fills_board: bool,
    /// What does not say it may not write.
    #[serde(default = "read_only")]
    pub mode: Mode,
    /// For a native agent.
    #[serde(default)]
    pub native: Option<NativeOrder>,
    pub command: String,
    /// Commands that must succeed on the merged tree.
    #[serde(default)]
    pub gate: Vec<String>,
    /// Commands that must succeed in a fresh tree before a task is begun there, and their time.
    #[serde(default)]
    pub before: Vec<String>,
    #[serde(default)]
    pub before_ms: u64,
    /// The text of the plan that the team works by, where its lead made one.
    #[serde(default)]
    pub plan: String,
    pub scope: Vec<String>,
    /// What the team has is merged on another machine, and brought here before it is worked on.
    #[serde(default)]
    pub fetches: bool,
    pub tree: Option<TreeOrder>,
    /// Of an earlier life's agent.
    pub session: String,
    /// Carried by the agent and everything it starts.
    pub marker: String,
    /// Carried by the supervisor itself and the git it runs.
    pub own_marker: String,
    pub output_bytes_max: u64,
    pub stop_grace_ms: u64,
    pub program: PathBuf,
}

fn read_only() -> Mode {
    Mode::ReadOnly
}

/// How a native agent thinks and is held.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NativeOrder {
    pub model: ModelOrder,
    /// The teammate's own, whichever life: its conversation, outputs that were too long.
    pub folder: PathBuf,
    pub limits: Limits,
    /// Where the agents of this user agree on pauses of a key.
    pub pools: PathBuf,
    /// Variables that its shells never get.
    pub secrets: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TreeOrder {
    pub path: PathBuf,
    pub shared: bool,
    pub base: String,
    /// The team whose branch its work lands on.
    pub branch: String,
    /// What it gets beyond what is committed.
    #[serde(default)]
    pub preparation: Preparation,
}

impl Order {
    pub fn patience(&self) -> std::time::Duration {
        std::time::Duration::from_millis(self.patience_ms)
    }

    /// What its program is started with behind this fence.
    pub fn environment(&self, fence: Option<&Fence>) -> Vec<(OsString, OsString)> {
        let mut env: Vec<(OsString, OsString)> = Vec::new();
        let kept = || git_settings::keep(&self.grounds.own, &self.workspace);
        let settings = fence.is_some().then(kept).flatten();
        env.extend(settings.map(|path| (git_settings::VARIABLE.into(), path.into())));
        env.extend(self.env.iter().map(|(name, value)| (name.into(), value.into())));
        if let Some(fence) = fence {
            // Programs make a folder there before anything else, also one that may write nothing.
            if !fence.write.contains(&self.grounds.caches) {
                let teams = self.grounds.caches.join("xdg");
                let of_team = env.iter_mut().filter(|(_, value)| **value == *teams);
                of_team.for_each(|(_, value)| *value = self.grounds.temp().join("cache").into());
            }
            // A coordinator that began behind the fence could not write its log.
            env.push(("SHIPMATE_FENCED".into(), "1".into()));
        }
        env
    }

    /// A lead whose role names all its tools has those and no others, whatever its program brings.
    pub fn is_closed(&self, mode: Mode) -> bool {
        self.lead && mode == Mode::Delegate && !self.tools.is_empty()
    }

    /// What the processes of this life carry.
    pub fn markers(&self) -> Vec<Marker> {
        [&self.marker, &self.own_marker].iter().filter_map(|text| text.parse().ok()).collect()
    }
}

/// The folder of one life.
#[derive(Debug, Clone)]
pub struct LifeFolder(pub PathBuf);

/// What the lock of a life says.
#[derive(Debug)]
pub enum Pulse {
    /// Nothing was ever started.
    NotBegun,
    Alive {
        pid: i32,
    },
    Over,
}

impl LifeFolder {
    pub fn write(&self, order: &Order) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(self.hand())?;
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(self.0.join("order.json"))?;
        file.write_all(&serde_json::to_vec(order).expect("an order is JSON"))
    }

    pub fn read(&self) -> io::Result<Order> {
        let text = read_start(&self.0.join("order.json"), ORDER_BYTES_MAX)?;
        serde_json::from_slice(&text).map_err(io::Error::other)
    }

    pub fn output(&self) -> PathBuf {
        self.0.join("output.log")
    }

    /// Every line that passed between the supervisor and its agent.
    pub fn transcript(&self) -> PathBuf {
        self.0.join("transcript.jsonl")
    }

    /// What the agent's program complained about.
    pub fn errors(&self) -> PathBuf {
        self.0.join("errors.log")
    }

    /// Keeps the agent's own name for its conversation, for the next life.
    pub fn keep_session(&self, session: &str) {
        // Lost, the conversation begins anew: nothing else depends on it.
        drop(fs::write(self.session(), session));
    }

    /// What the agent may write here: nothing else in this folder.
    pub fn hand(&self) -> PathBuf {
        self.0.join("hand")
    }

    /// Where the agent may name its conversation.
    pub fn session(&self) -> PathBuf {
        self.hand().join("session")
    }

    /// Where the agent may say what came of its task.
    pub fn result(&self) -> PathBuf {
        self.hand().join("result")
    }

    /// Where it may leave a handoff for those who go on from its work.
    pub fn handoff(&self) -> PathBuf {
        self.hand().join("handoff")
    }

    /// What it named it, without the line end.
    pub fn read_session(&self) -> Option<String> {
        let text = read_start(&self.session(), SESSION_BYTES_MAX).ok()?;
        Some(String::from_utf8_lossy(&text).trim().to_owned())
    }

    pub fn words(&self) -> PathBuf {
        self.0.join("supervisor.log")
    }

    /// Keeps why this life cannot work, for whoever finds it ended.
    pub fn keep_unable(&self, reason: &str) {
        // Lost, it counts as a life that broke.
        drop(fs::write(self.0.join("unable"), reason));
    }

    pub fn unable(&self) -> Option<String> {
        let reason = read_start(&self.0.join("unable"), REASON_BYTES_MAX).ok()?;
        Some(String::from_utf8_lossy(&reason).into_owned())
            .filter(|reason| !reason.trim().is_empty())
    }

    /// What was ordered did not begin: it may be ordered again.
    pub fn take_back(&self) {
        drop(fs::remove_file(self.0.join("order.json")));
    }

    fn lock_file(&self) -> io::Result<File> {
        let path = self.0.join("lock");
        OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            .open(path)
    }

    /// Holds the life's lock; `None` if it is held, or the life is over.
    pub fn begin(&self) -> io::Result<Option<File>> {
        let mut file = self.lock_file()?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(None);
        }
        if self.0.join("over").exists() {
            return Ok(None);
        }
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(std::process::id().to_string().as_bytes())?;
        Ok(Some(file))
    }

    /// Whether the life is there; one that is over can never begin again.
    pub fn pulse(&self) -> io::Result<Pulse> {
        if !self.0.join("order.json").exists() {
            return Ok(Pulse::NotBegun);
        }
        let mut file = self.lock_file()?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            fs::write(self.0.join("over"), "")?;
            return Ok(Pulse::Over);
        }
        // Whoever has locked it writes its number next.
        for _ in 0..LOOKS_MAX {
            let mut text = String::new();
            file.rewind()?;
            (&file).take(64).read_to_string(&mut text)?;
            if let Ok(pid) = text.trim().parse() {
                return Ok(Pulse::Alive { pid });
            }
            std::thread::yield_now();
        }
        Err(io::Error::other("its lock is held by a process that does not say which it is"))
    }

    /// What it left may have to be told of; until that is done, whoever comes next does it.
    pub fn owe_rescue(&self) {
        // Not written, only a crash in between loses it.
        drop(fs::write(self.0.join("late"), ""));
    }

    pub fn owes_rescue(&self) -> bool {
        self.0.join("late").exists()
    }

    pub fn rescued(&self) {
        drop(fs::remove_file(self.0.join("late")));
    }

    /// It was found to be over before.
    pub fn is_over(&self) -> bool {
        self.0.join("over").exists()
    }
}

/// The last line that a file holds, for a reason that names it. What is indented is a remedy
/// for the line above it.
pub fn last_line(path: &Path) -> Option<String> {
    let text = read_end(path, 4096).ok()?;
    let tail = String::from_utf8_lossy(&text);
    let fact = |line: &&str| !line.trim().is_empty() && !line.starts_with(char::is_whitespace);
    tail.lines().rev().find(fact).map(|line| line.trim().to_owned())
}
