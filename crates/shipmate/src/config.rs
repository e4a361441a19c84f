//! Settings: defaults, then the user's file, then what the project says to others, then the project's
//! file, then the environment.
//!
//! A file is either read completely or refused with its line: an unknown key is a mistake that
//! would otherwise show itself weeks later. The commented default file is part of the binary and
//! is the documentation of every setting; a test holds that its values are the defaults here.

mod agents;
mod mode;
mod models;
mod planning;
mod settings;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use shipmate_model::account::Caps;
use shipmate_model::setup::Preparation;
use shipmate_process::environment;
use shipmate_protocol::verbs::Setup;
use shipmate_protocol::view::KNOWN_AGENTS;
use toml::de::DeTable;

pub(crate) use agents::ProgramConfig;
pub(crate) use mode::{Resolved, TeamMode};
pub(crate) use models::ProviderConfig;
pub(crate) use settings::{Config, Durability, FenceConfig, LogKind, NotifyConfig, ViewsAt};
use settings::{File, Table};

/// The commented default file, as `shipmate config --default` prints it.
pub(crate) const DEFAULT_FILE: &str = include_str!("../default-config.toml");

/// Where a value in force comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Default,
    User,
    /// `.yolo-planning/config.json`.
    Planning,
    Project,
    Environment,
}

impl Source {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Source::Default => "default",
            Source::User => "user file",
            Source::Planning => planning::FILE,
            Source::Project => "project file",
            Source::Environment => "environment",
        }
    }
}

/// The settings with their sources, and the files that were looked for.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) config: Config,
    /// By the name of the setting (`lease-seconds`, `nats.url`).
    pub(crate) sources: BTreeMap<&'static str, Source>,
}

/// A setting cannot be used. Shown as it is: it names the place and the remedy.
#[derive(Debug)]
pub(crate) struct BadConfig {
    pub(crate) place: String,
    pub(crate) fact: String,
    pub(crate) remedy: String,
}

impl std::fmt::Display for BadConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}\n  {}", self.place, self.fact, self.remedy)
    }
}

/// The user's own file: under `XDG_CONFIG_HOME`, else `~/.config`.
pub(crate) fn user_file() -> Option<PathBuf> {
    let folder = std::env::var_os("XDG_CONFIG_HOME")
        .filter(|dir| !dir.is_empty())
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config")))?;
    Some(folder.join("shipmate").join("config.toml"))
}

/// Reads all layers for a workspace whose own file is `project`.
pub(crate) fn load(project: &Path) -> Result<Loaded, BadConfig> {
    let mut loaded = Loaded { config: Config::default(), sources: BTreeMap::new() };
    if let Some(user) = user_file() {
        loaded.read(&user, Source::User)?;
    }
    // `WORKSPACE/.shipmate/config.toml`
    if let Some(workspace) = project.ancestors().nth(2) {
        loaded.planning(workspace)?;
    }
    loaded.read(project, Source::Project)?;
    loaded.environment(|name| environment::var(name)?.into_string().ok())?;
    loaded.config.keep_off_state(project)?;
    Ok(loaded)
}

impl Config {
    /// Whoever may write or read around the state is behind no fence.
    fn keep_off_state(&self, project: &Path) -> Result<(), BadConfig> {
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
        let state = real(project.with_file_name("state"));
        let named = self.fence_write.iter().map(|path| ("fence-write", path));
        for (name, path) in named.chain(self.gate.read.iter().map(|path| ("gate.read", path))) {
            let whole = real(whole(path));
            if state.starts_with(&whole) || whole.starts_with(&state) {
                return Err(BadConfig {
                    place: project.display().to_string(),
                    fact: format!(
                        "{name} names {path}, where shipmate's state is: one can act as \
                                   you with it"
                    ),
                    remedy: "name something beside the workspace".to_owned(),
                });
            }
        }
        Ok(())
    }
}

/// A path of the configuration; `~/` is the home folder.
pub(crate) fn whole(path: &String) -> PathBuf {
    let home = environment::var("HOME").map(PathBuf::from).unwrap_or_default();
    match path.strip_prefix("~/") {
        Some(below) => home.join(below),
        None => PathBuf::from(path),
    }
}

impl Loaded {
    fn read(&mut self, path: &Path, source: Source) -> Result<(), BadConfig> {
        match std::fs::read_to_string(path) {
            Ok(text) => self.layer(path, &text, source),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
            // A file in place of the folder: there is no configuration, and whoever needs the
            // folder says so.
            Err(e) if e.kind() == std::io::ErrorKind::NotADirectory => Ok(()),
            Err(e) => Err(BadConfig {
                place: path.display().to_string(),
                fact: format!("it cannot be read: {e}"),
                remedy: "check its permissions, or remove it".to_owned(),
            }),
        }
    }

    fn layer(&mut self, path: &Path, text: &str, source: Source) -> Result<(), BadConfig> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut file = File { folder, source, sources: &mut self.sources };
        let table = DeTable::parse(text).map_err(|e| value::unreadable(&e));
        table
            .and_then(|table| self.config.take(table.into_inner(), &mut file))
            .map_err(|(at, mistake)| value::bad(path, text, at, mistake))
    }

    /// Variables are read like a file with one line, so that they get the same checks.
    fn environment(&mut self, get: impl Fn(&str) -> Option<String>) -> Result<(), BadConfig> {
        for (setting, now) in self.config.entries() {
            let variable = variable(setting);
            let Some(value) = get(&variable).filter(|value| !value.is_empty()) else { continue };
            let (table, key) = setting.split_once('.').unwrap_or(("", setting));
            let table = if table.is_empty() { String::new() } else { format!("[{table}]\n") };
            let text = format!("{table}{key} = {}\n", written(&now, value));
            self.layer(Path::new(""), &text, Source::Environment).map_err(|bad| BadConfig {
                place: format!("the environment variable {variable}"),
                ..bad
            })?;
        }
        Ok(())
    }

    pub(crate) fn source(&self, setting: &str) -> Source {
        self.sources.get(setting).copied().unwrap_or(Source::Default)
    }
}

/// A variable's value as a file would have it. A list is written as one, `["a", "b"]`, or as its
/// only member.
fn written(like: &toml::Value, value: String) -> String {
    let number = value.starts_with(|c: char| c.is_ascii_digit()) && value.parse::<f64>().is_ok();
    let bare = match like {
        toml::Value::String(_) => false,
        toml::Value::Array(_) => value.starts_with('['),
        toml::Value::Table(_) => value.starts_with('{'),
        _ => number || value == "true" || value == "false",
    };
    match like {
        _ if bare => value,
        toml::Value::Array(_) => format!("[{}]", toml::Value::String(value)),
        _ => toml::Value::String(value).to_string(),
    }
}

impl Config {
    /// The program and the command of an agent. A command that is just the name of an agent program is that
    /// program, driven by its own protocol.
    pub(crate) fn agent_of(&self, text: &str) -> (String, String) {
        let is_program = KNOWN_AGENTS.contains(&text) || self.agents.programs.contains_key(text);
        match is_program {
            true => (text.to_owned(), String::new()),
            false => (String::new(), text.to_owned()),
        }
    }

    /// Every setting by name, with its value as it would be written in the file.
    pub(crate) fn entries(&self) -> Vec<(&'static str, toml::Value)> {
        Table::entries(self)
    }

    /// The same as text, with what the user has given names: agent programs and providers.
    pub(crate) fn shown(&self) -> BTreeMap<String, String> {
        let entries = self.entries();
        let entries = entries.into_iter().map(|(name, value)| (name.to_owned(), value.to_string()));
        let programs = self.agents.programs.iter();
        let programs = programs.map(|(name, own)| (format!("agents.{name}"), own.line()));
        let providers = self.models.providers.iter();
        let providers = providers.map(|(name, own)| (format!("models.{name}"), own.line()));
        entries.chain(programs).chain(providers).collect()
    }

    /// What trees get beyond what is committed; nothing of the files of other programs.
    pub(crate) fn preparation(&self) -> Preparation {
        let trees = &self.trees;
        let said = Preparation {
            copy: trees.copy.clone(),
            link: trees.link.clone(),
            setup: trees.setup.clone(),
            lock_files: trees.lock_files.clone(),
            ports: trees.ports as u32,
            env: trees.env.clone(),
            teardown: trees.teardown.clone(),
            ..Preparation::default()
        };
        match said.is_none() {
            true => said,
            false => Preparation { timeout_ms: trees.timeout_seconds * 1000, ..said },
        }
    }

    /// How much of the windows of accounts it may use.
    fn caps(&self) -> Caps {
        let accounts = &self.accounts;
        Caps {
            soft: accounts.soft_cap as u32 * 10,
            hard: accounts.hard_cap as u32 * 10,
            lead: accounts.lead_reserve as u32 * 10,
            escrow: accounts.escrow,
            resumes: accounts.auto_resume,
        }
    }

    /// How a team works that is begun with these settings, in a repository.
    pub(crate) fn setup(&self) -> Setup {
        let ms = |seconds: u64| Some(seconds * 1000);
        Setup {
            one_shot: self.mode(|name| std::env::var(name).ok()).mode == TeamMode::Task,
            trees: Some(self.team.trees.word().to_owned()),
            preparation: self.preparation(),
            detect: self.trees.detect,
            gate: self.gate.commands.clone(),
            gate_timeout_ms: ms(self.gate.timeout_seconds),
            protected: self.team.protected.clone(),
            caps: self.caps(),
            stall_ms: ms(self.team.stall_seconds),
            answer_ms: ms(self.team.answer_seconds),
            shutdown_ms: ms(self.shutdown_deadline_seconds),
            timeout_ms: ms(self.team.timeout_seconds).filter(|ms| *ms > 0),
            ..Setup::default()
        }
    }
}

/// The environment variable that stands above a setting.
pub(crate) fn variable(setting: &str) -> String {
    format!("SHIPMATE_{}", setting.replace(['-', '.'], "_").to_uppercase())
}
