//! Changes to the settings of an agent's program, so that its sessions find the team: the MCP
//! server, and hooks that bring mail.
//!
//! A change is worked out as text, shown, and only then written. Everything else in a file stays
//! byte for byte as it was. Taking it back removes what was added, whatever else was edited
//! meanwhile. Nothing here asks or prints.

mod claude;
mod codex;
mod difference;
mod json_text;
mod write;

use std::path::{Path, PathBuf};

pub(crate) use difference::difference;
pub(crate) use write::write;

/// The program whose settings are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Program {
    Claude,
    Codex,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Scope {
    /// For everybody who works in this repository
    Project,
    /// For this user, everywhere
    User,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Install,
    Undo,
}

/// Where the files are and what is written into them.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) workspace: PathBuf,
    pub(crate) home: PathBuf,
    /// How this program is called.
    pub(crate) command: String,
    /// Where copies of changed files are kept.
    pub(crate) backups: PathBuf,
}

/// One file, before and after.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) path: PathBuf,
    /// None: it is not there.
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

/// Why a file cannot be changed; it names the file and the remedy.
#[derive(Debug)]
pub(crate) struct Unfit(pub(crate) String);

impl Unfit {
    fn of(path: &Path, fact: &str, remedy: &str) -> Unfit {
        Unfit(format!("{}: {fact}\n  {remedy}", path.display()))
    }
}

/// The events at which a session's mail is brought to it.
const EVENTS: [&str; 4] = ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"];

/// The word for a hook that waits beside an idle session until there is mail, for a day, and wakes it then
/// (Claude Code's `asyncRewake`).
pub(crate) const WAKE: &str = "Wake";
const WAKE_SECONDS: u32 = 86_400;

/// What there is to change; nothing where it is so already.
pub(crate) fn changes(
    program: Program,
    scope: Scope,
    way: Way,
    site: &Site,
) -> Result<Vec<Change>, Unfit> {
    let changes = match program {
        Program::Claude => claude::changes(scope, way, site)?,
        Program::Codex => codex::changes(scope, way, site)?,
    };
    Ok(changes.into_iter().filter(|change| change.before != change.after).collect())
}

/// A command that is this program, wherever it is.
fn is_shipmate(command: &str) -> bool {
    Path::new(command).file_name().is_some_and(|name| name == "shipmate")
}

impl Site {
    /// Reads a file and works out its text. A file that was not there before the installation and
    /// is left with nothing is none again.
    fn change(
        &self,
        path: PathBuf,
        work: impl FnOnce(&str) -> Result<String, Unfit>,
    ) -> Result<Change, Unfit> {
        let before = match std::fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
            Err(e) => return Err(Unfit::of(&path, &e.to_string(), "make it readable first")),
        };
        let after = work(before.as_deref().unwrap_or_default())?;
        let is_empty = matches!(after.split_whitespace().collect::<String>().as_str(), "" | "{}");
        let was_there = before.is_some() && write::backup_of(&self.backups, &path).exists();
        let after = Some(after).filter(|_| !is_empty || was_there);
        Ok(Change { path, before, after })
    }

    /// The hooks, in the shape that Claude Code and Codex share.
    fn hooks(&self, path: PathBuf, way: Way, wakes: bool) -> Result<Change, Unfit> {
        let at = path.clone();
        let wake = wakes.then_some(("Stop", WAKE));
        let events = EVENTS.map(|event| (event, event)).into_iter().chain(wake);
        self.change(path, |text| {
            let mut text = text.to_owned();
            for (event, word) in events {
                let tail = format!(" inbox --hook {word}");
                let command = format!("{}{tail}", crate::plain::shell_word(&self.command));
                let mut hook = serde_json::json!({ "type": "command", "command": command });
                if word == WAKE {
                    hook["asyncRewake"] = true.into();
                    hook["timeout"] = WAKE_SECONDS.into();
                }
                let group = serde_json::json!({ "hooks": [hook] });
                let keys = ["hooks", event];
                text = match way {
                    Way::Install => json_text::push(&text, &keys, &group),
                    // Perhaps it was added by this program at another place.
                    Way::Undo => json_text::pull(&text, &keys, |there| {
                        let command = there["hooks"][0]["command"].as_str().unwrap_or_default();
                        let program = command.strip_suffix(&tail).unwrap_or_default();
                        there["hooks"].as_array().is_some_and(|hooks| hooks.len() == 1)
                            && is_shipmate(program.trim_matches('\''))
                    }),
                }
                .map_err(|fact| Unfit::of(&at, &fact, "repair the file, then try again"))?;
            }
            Ok(text)
        })
    }
}
