//! Agent programs: one profile for each that a teammate can be.
//!
//! A profile says how a program is found, started, driven and probed, what it must be able to
//! write for itself, and what to tell a person who lacks it. The known ones are in `known`;
//! `[agents.NAME]` of the configuration adds others, or changes the program, the arguments or
//! the environment of a known one.
//!
//! Arguments that belong to a protocol (`--input-format stream-json`, `app-server`) are its
//! driver's; here are only those that choose the protocol.

mod base;
pub mod command_line;
pub mod gemini;
mod homes;
mod known;
mod probe;
#[cfg(test)]
mod tests;
mod version;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use shipmate_process::Launcher;
use shipmate_protocol::Place;
use shipmate_protocol::view::AgentView;

use crate::account::{self, Login};
use crate::agents::{Agents, ProgramSetting};
use crate::around::Around;
use crate::models::{self, NoModel};
pub(crate) use base::Base;
pub(crate) use known::{CLAUDE, CODEX};
use known::{KNOWN, Known};
use probe::probe_all;

/// The name of our own agent.
pub const NATIVE: &str = "native";

/// How a program is driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Claude,
    Codex,
    Acp,
    Command,
    /// Our own loop: this very program.
    Native,
}

impl Protocol {
    /// Those that a program of the configuration may have.
    pub const ALL: [Protocol; 4] =
        [Protocol::Claude, Protocol::Codex, Protocol::Acp, Protocol::Command];

    pub fn word(self) -> &'static str {
        match self {
            Protocol::Claude => "claude",
            Protocol::Codex => "codex",
            Protocol::Acp => "acp",
            Protocol::Command => "command",
            Protocol::Native => NATIVE,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Profile {
    pub name: String,
    pub protocol: Protocol,
    /// What to look for in `PATH`, the first that is there; or one path.
    programs: Vec<String>,
    /// For the persistent start, before those of its driver.
    pub args: Vec<String>,
    /// On top of the coordinator's own.
    pub env: BTreeMap<String, String>,
    known: Option<&'static Known>,
}

/// No profile has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no agent program {name:?}; known are {}. Name one of these, or add [agents.{name}] \
     to the configuration",
    .known.join(", ")
)]
pub struct Unknown {
    pub name: String,
    pub known: Vec<String>,
}

/// The profile of that name.
pub fn find(name: &str, settings: &Agents) -> Result<Profile, Unknown> {
    let all = profiles(settings);
    match all.iter().find(|profile| profile.name == name) {
        Some(profile) => Ok(profile.clone()),
        None => Err(Unknown {
            name: name.to_owned(),
            known: all.into_iter().map(|profile| profile.name).collect(),
        }),
    }
}

/// How one teammate's agent is started and driven.
#[derive(Debug, Clone, Default)]
pub struct Way {
    /// `inline`, `command`, `native`, `claude`, `codex` or `acp`.
    pub protocol: String,
    pub argv: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// What it must be able to write, in any mode.
    pub own: Vec<PathBuf>,
}

/// The way of an agent, with this folder for what is its own; without one it shares the person's.
pub fn way(agent: &str, settings: &Agents, home: Option<&Path>) -> Result<Way, String> {
    if matches!(agent, "command" | "inline") {
        return Ok(Way { protocol: agent.to_owned(), ..Way::default() });
    }
    let profile = find(agent, settings).map_err(|unknown| unknown.to_string())?;
    let around = Around::here();
    let (protocol, argv) = (profile.protocol.word(), profile.argv(&around));
    let mut env = profile.env.clone();
    let mut own = Vec::new();
    if let Some(home) = home {
        let made = profile.at_home(&around, home);
        let made = made.map_err(|e| format!("{}: {e}", home.display()))?;
        env.extend(made.env);
        own = made.write;
    }
    Ok(Way { protocol: protocol.to_owned(), argv, env, own })
}

/// How it is driven, as orders name it.
pub fn protocol(agent: &str, settings: &Agents) -> String {
    let word = |profile: Profile| profile.protocol.word().to_owned();
    match agent {
        "inline" => agent.to_owned(),
        agent => find(agent, settings).map_or_else(|_| "command".to_owned(), word),
    }
}

/// The known program that an agent of the configuration is like; else its own name.
pub fn kind<'a>(agent: &'a str, settings: &'a Agents) -> &'a str {
    match settings.programs.get(agent) {
        Some(setting) if !setting.like.is_empty() => &setting.like,
        _ => agent,
    }
}

/// The account that an agent's program asks with here.
pub fn account(agent: &str, settings: &Agents) -> Option<Login> {
    let Around(mut around) = Around::here();
    if let Some(setting) = settings.programs.get(agent) {
        let own = setting.env.iter().map(|(name, value)| (name.clone(), value.into()));
        around.extend(own);
    }
    account::of_program(kind(agent, settings), &Around(around))
}

/// Whether an agent of this name can be talked to.
pub fn hears(agent: &str, settings: &Agents) -> Result<bool, Unknown> {
    if matches!(agent, "" | "command" | "inline") {
        return Ok(false);
    }
    Ok(find(agent, settings)?.protocol != Protocol::Command)
}

/// The agent of a teammate that names none where none is configured: our own, if it has a model.
pub fn native_if_ready(model: &str, settings: &Agents) -> Option<String> {
    let around = Around::here();
    let order = models::find(model, &settings.native.models, &around).ok()?;
    models::lacks(&order, &around).is_none().then(|| NATIVE.to_owned())
}

/// Why a native agent could not ask its model here, as far as can be told without asking it.
pub fn no_model(agent: &str, model: &str, settings: &Agents) -> Option<NoModel> {
    if agent != NATIVE {
        return None;
    }
    let around = Around::here();
    match models::find(model, &settings.native.models, &around) {
        Ok(order) => models::lacks(&order, &around),
        Err(none) => Some(none),
    }
}

/// Why an agent's program cannot be started here, as far as its file tells.
pub fn missing(agent: &str, settings: &Agents) -> Option<String> {
    let profile = find(agent, settings).ok()?;
    let found = profile.program(&Around::here());
    found.is_none().then(|| format!("{agent} is not installed: no {} in PATH", profile.programs[0]))
}

/// The program that a session's own name for itself begins with: `claude-code` is claude.
pub fn named_like(name: &str, settings: &Agents) -> Option<String> {
    let all = profiles(settings).into_iter().map(|profile| profile.name);
    all.filter(|known| name.starts_with(known.as_str())).max_by_key(String::len)
}

/// All there are, the known ones first.
pub fn profiles(settings: &Agents) -> Vec<Profile> {
    let mut own = settings.programs.clone();
    let known = KNOWN.iter().map(|known| {
        let profile = Profile::of(known, known.name);
        match own.remove(known.name) {
            Some(setting) => profile.changed(setting),
            None => profile,
        }
    });
    let native = Profile {
        name: NATIVE.to_owned(),
        protocol: Protocol::Native,
        programs: vec![settings.program.display().to_string()],
        args: vec!["native-agent".to_owned()],
        env: BTreeMap::new(),
        known: None,
    };
    let mut all: Vec<Profile> = vec![native];
    all.extend(known);
    if let Some(setting) = own.remove(NATIVE) {
        all[0].env = setting.env;
    }
    all.extend(own.into_iter().map(|(name, setting)| {
        let profile = match KNOWN.iter().find(|known| known.name == setting.like) {
            Some(known) => Profile::of(known, &name),
            None => Profile {
                programs: vec![name.clone()],
                name,
                protocol: Protocol::Acp,
                args: Vec::new(),
                env: BTreeMap::new(),
                known: None,
            },
        };
        profile.changed(setting)
    }));
    all
}

/// All of them, as this machine finds them.
pub async fn here(place: &Place, settings: &Agents) -> Vec<AgentView> {
    let launcher = Launcher::through(settings.program.clone(), vec!["exec-tree".into()]);
    let (around, all) = (Around::here(), profiles(settings));
    let own: Vec<_> = all.iter().map(|profile| profile.own(&around)).collect();
    let mut views = probe_all(all, &around, &launcher, place).await;
    for (view, own) in views.iter_mut().zip(own) {
        view.own = own;
    }
    for native in views.iter_mut().filter(|view| view.protocol == NATIVE) {
        let models = &settings.native.models;
        match no_model(NATIVE, "", settings) {
            Some(none) => {
                "not_logged_in".clone_into(&mut native.state);
                (native.why, native.remedy) = (none.fact, none.remedy);
            }
            None => {
                let model = models::find("", models, &Around::here()).map(|order| order.model);
                native.why = format!("built in; thinks with {}", model.unwrap_or_default());
            }
        }
    }
    views
}

impl Profile {
    fn of(known: &'static Known, name: &str) -> Profile {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Profile {
            name: name.to_owned(),
            protocol: known.protocol,
            programs: words(known.programs),
            args: words(known.args),
            env: BTreeMap::new(),
            known: Some(known),
        }
    }

    /// With what the configuration says. Another protocol makes it another program.
    fn changed(mut self, setting: ProgramSetting) -> Profile {
        let protocol = Protocol::ALL.into_iter().find(|p| p.word() == setting.protocol);
        if let Some(protocol) = protocol
            && protocol != self.protocol
        {
            self = Profile { protocol, args: Vec::new(), known: None, ..self };
        }
        if !setting.program.is_empty() {
            self.programs = vec![setting.program];
        }
        self.args = setting.args.unwrap_or(self.args);
        self.env = setting.env;
        self
    }

    /// The program on this machine, if it is there.
    pub fn program(&self, around: &Around) -> Option<PathBuf> {
        let path = self.var(around, "PATH").unwrap_or_default();
        self.programs.iter().find_map(|program| {
            if program.contains('/') {
                return Some(PathBuf::from(program)).filter(|path| is_executable(path));
            }
            let mut folders = std::env::split_paths(&path);
            folders.find_map(|folder| Some(folder.join(program)).filter(|path| is_executable(path)))
        })
    }

    /// How it is started to stay, before its driver's own arguments. Where it is not installed
    /// the name stands, so that the start says so.
    pub fn argv(&self, around: &Around) -> Vec<String> {
        let program = self.program(around).map(|path| path.display().to_string());
        let program = program.unwrap_or_else(|| self.programs[0].clone());
        [vec![program], self.args.clone()].concat()
    }

    pub(crate) fn path(&self, around: &Around, base: Base, path: &str) -> Option<PathBuf> {
        let home = || self.var(around, "HOME").map(PathBuf::from);
        let or_home = |variable: &str, below: &str| match self.var(around, variable) {
            Some(folder) => Some(PathBuf::from(folder)),
            None => home().map(|home| home.join(below)),
        };
        let folder = match base {
            Base::Home => home(),
            Base::Config => or_home("XDG_CONFIG_HOME", ".config"),
            Base::Data => or_home("XDG_DATA_HOME", ".local/share"),
            Base::State => or_home("XDG_STATE_HOME", ".local/state"),
            Base::Named { variable, below_home } => or_home(variable, below_home),
            Base::Variable(variable) => self.var(around, variable).map(PathBuf::from),
        }?;
        Some(if path.is_empty() { folder } else { folder.join(path) })
    }

    fn var(&self, around: &Around, name: &str) -> Option<OsString> {
        let own = self.env.get(name).map(OsString::from);
        own.or_else(|| around.0.get(name).cloned()).filter(|value| !value.is_empty())
    }
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}
