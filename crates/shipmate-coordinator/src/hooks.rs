//! Hooks: programs of the user's that are asked before a step of the team counts, or told after.
//!
//! They are fed the JSON that Claude Code feeds its hooks, and answer with an exit code and
//! standard error, or with JSON: the table in `docs/hooks.md` says what has which effect. What
//! must hold: a gate closes when its hook breaks in any way, since a gate that a typing error
//! opens guards nothing; and no hook can hang, flood or outlive its event.
//!
//! Absent: where the files come from. Whoever calls keeps them as they were when the team began, so
//! that an agent cannot edit its own gate, and records the digest.

pub mod claude;
pub mod evidence;
mod fire;
mod payload;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use shipmate_process::regular_file::read_whole;

pub use claude::Registered;
pub use fire::{Fired, HookRun, How, Scene, Verdict, fire};
pub use payload::Payload;

/// A hook is a script, or a program that somebody built.
pub(crate) const HOOK_BYTES_MAX: usize = 256 << 20;

/// What hooks are called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum HookEvent {
    TaskCreated,
    TaskCompleted,
    TeammateIdle,
    TeammateStarted,
    TeammateDisappeared,
    PlanSubmitted,
    TeamShutdown,
}

impl HookEvent {
    pub const ALL: [Self; 7] = [
        Self::TaskCreated,
        Self::TaskCompleted,
        Self::TeammateIdle,
        Self::TeammateStarted,
        Self::TeammateDisappeared,
        Self::PlanSubmitted,
        Self::TeamShutdown,
    ];

    fn words() -> String {
        Self::ALL.map(|event| event.to_string()).join(", ")
    }

    /// Whether a hook can say no. The other events have happened already.
    pub fn is_gate(self) -> bool {
        match self {
            Self::TaskCreated | Self::TaskCompleted | Self::TeammateIdle | Self::PlanSubmitted => {
                true
            }
            Self::TeammateStarted | Self::TeammateDisappeared | Self::TeamShutdown => false,
        }
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A word that names no event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no hook event: use one of {all}", all = HookEvent::words())]
pub struct UnknownHookEvent(String);

impl FromStr for HookEvent {
    type Err = UnknownHookEvent;

    fn from_str(word: &str) -> Result<Self, UnknownHookEvent> {
        let found = Self::ALL.into_iter().find(|event| event.to_string() == word);
        found.ok_or_else(|| UnknownHookEvent(word.to_owned()))
    }
}

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookCommand {
    /// A line for a shell, with `pipefail`.
    Line(String),
    /// A program, by its absolute path.
    File(PathBuf),
}

impl fmt::Display for HookCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => f.write_str(line),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    pub event: HookEvent,
    pub command: HookCommand,
    pub timeout: Duration,
}

/// The hooks of a run, in the order in which they are asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hooks {
    list: Vec<Hook>,
    registered: Vec<Registered>,
    strangers: Vec<PathBuf>,
}

/// A folder of hooks that is there and cannot be read. Running without its gates would be wrong.
#[derive(Debug, thiserror::Error)]
#[error("the hooks in {} cannot be read: {source}", folder.display())]
pub struct HooksUnreadable {
    folder: PathBuf,
    source: io::Error,
}

impl Hooks {
    /// Lines from the configuration first, then those of Claude Code's settings, then from the
    /// folder `<Event>` or `<Event>.<anything>`, then `<Event>.d/*`, each in the order of names. A
    /// folder that is not there has no hooks.
    pub fn load(
        lines: Vec<(HookEvent, String)>,
        registered: Vec<Registered>,
        folder: &Path,
        timeout: Duration,
    ) -> Result<Self, HooksUnreadable> {
        let unreadable = |source| HooksUnreadable { folder: folder.to_owned(), source };
        let mut strangers = Vec::new();
        let absolute = std::path::absolute(folder).map_err(unreadable)?;
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        for path in names_in(&absolute).map_err(unreadable)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let (stem, extension) = name.split_once('.').unwrap_or((name.as_ref(), ""));
            match (stem.parse::<HookEvent>(), path.is_dir()) {
                (Ok(event), true) if extension == "d" => {
                    let inside = names_in(&path).map_err(unreadable)?;
                    folders.extend(inside.into_iter().map(|path| (event, path)));
                }
                (Ok(event), false) => files.push((event, path)),
                _ => strangers.push(path),
            }
        }
        let own = lines.into_iter().map(|(event, line)| (event, HookCommand::Line(line), timeout));
        let theirs = registered
            .iter()
            .map(|one| (one.event, HookCommand::Line(one.line.clone()), one.timeout(timeout)));
        let files = files.into_iter().chain(folders);
        let files = files.map(|(event, path)| (event, HookCommand::File(path), timeout));
        let list = own.chain(theirs).chain(files);
        let list = list.map(|(event, command, timeout)| Hook { event, command, timeout }).collect();
        Ok(Self { list, registered, strangers })
    }

    pub fn of(&self, event: HookEvent) -> impl Iterator<Item = &Hook> {
        self.list.iter().filter(move |hook| hook.event == event)
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The events that there are hooks for.
    pub fn events(&self) -> impl Iterator<Item = String> {
        self.list.iter().map(|hook| hook.event.to_string())
    }

    /// Those of an event that the project has registered with Claude Code.
    pub fn registered(&self, event: HookEvent) -> Vec<Registered> {
        self.registered.iter().filter(|one| one.event == event).cloned().collect()
    }

    /// What is in the folder and is no hook: most likely an event with a typing error.
    pub fn strangers(&self) -> &[PathBuf] {
        &self.strangers
    }

    /// Changes whenever a command, a file's content or the order does. The place of the files
    /// does not count.
    pub fn digest(&self) -> String {
        let mut sha = Sha256::new();
        let mut part = |bytes: &[u8]| {
            sha.update((bytes.len() as u64).to_le_bytes());
            sha.update(bytes);
        };
        for hook in &self.list {
            part(hook.event.to_string().as_bytes());
            match &hook.command {
                HookCommand::Line(line) => {
                    part(b"line");
                    part(line.as_bytes());
                }
                HookCommand::File(path) => {
                    part(b"file");
                    part(path.file_name().unwrap_or_default().as_encoded_bytes());
                    part(&read_whole(path, HOOK_BYTES_MAX).unwrap_or_default());
                }
            }
        }
        data_encoding::HEXLOWER.encode(&sha.finalize())
    }
}

/// What is in a folder, sorted by name, without hidden files, editors' backups and read-me files.
fn names_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_hook = !name.starts_with('.') && !name.ends_with('~') && !name.starts_with("README");
        if is_hook {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}
