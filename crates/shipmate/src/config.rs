//! Settings: defaults, then the user's file, then what the project says to others, then the project's
//! file, then the environment.
//!
//! A file is either read completely or refused with its line: an unknown key is a mistake that
//! would otherwise show itself weeks later. The commented default file is part of the binary and
//! is the documentation of every setting; a test holds that its values are the defaults here.

mod agents;
mod layer;
mod mode;
mod models;
mod planning;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use shipmate_process::environment;
use shipmate_protocol::verbs::Setup;

pub(crate) use agents::ProgramConfig;
use layer::Layer;
pub(crate) use mode::{Resolved, TeamMode};
pub(crate) use models::ProviderConfig;

/// The commented default file, as `shipmate config --default` prints it.
pub(crate) const DEFAULT_FILE: &str = include_str!("../default-config.toml");

/// What is in force, after all layers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Config {
    pub(crate) durability: Durability,
    pub(crate) log: LogKind,
    pub(crate) lease_seconds: u64,
    /// 0 means never.
    pub(crate) idle_exit_seconds: u64,
    pub(crate) shutdown_deadline_seconds: u64,
    pub(crate) agent_teams: bool,
    /// A variable that has to switch teams on; empty for none.
    pub(crate) agent_teams_env: String,
    /// `auto`, `teammate` or `task`; anything else is told where the mode is decided.
    pub(crate) team_mode: String,
    /// The playbook of runs that name none; empty: as the repository's files say. `none`: none.
    pub(crate) playbook: String,
    pub(crate) notify: NotifyConfig,
    /// `run` serves the page.
    pub(crate) page: bool,
    pub(crate) fence: FenceConfig,
    pub(crate) fence_write: Vec<String>,
    pub(crate) agents: AgentsConfig,
    pub(crate) models: ModelsConfig,
    pub(crate) native: NativeConfig,
    pub(crate) team: TeamConfig,
    pub(crate) gate: GateConfig,
    pub(crate) hooks: HooksConfig,
    pub(crate) views: ViewsConfig,
    pub(crate) nats: NatsConfig,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Durability {
    /// An acknowledged change survives the loss of power.
    Power,
    /// It survives the death of any process, but not of the machine.
    Process,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogKind {
    Sqlite,
    Nats,
}

/// How a run tells a person who does not look that it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NotifyConfig {
    Bell,
    /// The bell, and a notice on the desktop.
    Desktop,
    Off,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentsConfig {
    /// The command line of agents that a plan does not name; empty means none.
    pub(crate) default: String,
    pub(crate) output_bytes: u64,
    pub(crate) stop_grace_ms: u64,
    pub(crate) patience_seconds: u64,
    /// `[agents.NAME]`: no settings of their own, so neither listed as such nor in variables.
    pub(crate) programs: BTreeMap<String, ProgramConfig>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ModelsConfig {
    /// `provider/model`; empty for the first provider that has a key.
    pub(crate) default: String,
    /// `[models.NAME]`.
    pub(crate) providers: BTreeMap<String, ProviderConfig>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NativeConfig {
    pub(crate) requests_max: u64,
    pub(crate) shell_timeout_seconds: u64,
    pub(crate) shown_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FenceConfig {
    Off,
    On,
    Required,
}

impl FenceConfig {
    pub(crate) fn word(self) -> &'static str {
        match self {
            FenceConfig::Off => "off",
            FenceConfig::On => "on",
            FenceConfig::Required => "required",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TeamConfig {
    pub(crate) trees: TreesConfig,
    pub(crate) cap: u64,
    /// 0 means never.
    pub(crate) stall_seconds: u64,
    pub(crate) answer_seconds: u64,
    /// 0 means none.
    pub(crate) timeout_seconds: u64,
    pub(crate) protected: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TreesConfig {
    Own,
    Shared,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GateConfig {
    pub(crate) commands: Vec<String>,
    pub(crate) timeout_seconds: u64,
    pub(crate) batch: u64,
    pub(crate) env: Vec<String>,
    pub(crate) read: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HooksConfig {
    /// Command lines by event, as [`HOOK_SETTINGS`] names them; none for most.
    pub(crate) commands: BTreeMap<&'static str, Vec<String>>,
    pub(crate) timeout_seconds: u64,
    /// Those of `.claude/settings.json` count.
    pub(crate) claude_settings: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ViewsConfig {
    pub(crate) at: ViewsAt,
}

/// Where the files are that show a team in the formats of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ViewsAt {
    State,
    /// There as well, and in the repository, where git does not see them.
    Repository,
}

impl ViewsAt {
    pub(crate) fn word(self) -> &'static str {
        match self {
            ViewsAt::State => "state",
            ViewsAt::Repository => "repository",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NatsConfig {
    pub(crate) url: String,
    pub(crate) subject_prefix: String,
    pub(crate) credentials: Option<PathBuf>,
}

/// Each event that hooks are called for: its name, and its setting.
pub(crate) const HOOK_SETTINGS: [(&str, &str); 7] = [
    ("TaskCreated", "hooks.TaskCreated"),
    ("TaskCompleted", "hooks.TaskCompleted"),
    ("TeammateIdle", "hooks.TeammateIdle"),
    ("TeammateStarted", "hooks.TeammateStarted"),
    ("TeammateDisappeared", "hooks.TeammateDisappeared"),
    ("PlanSubmitted", "hooks.PlanSubmitted"),
    ("TeamShutdown", "hooks.TeamShutdown"),
];

impl TreesConfig {
    pub(crate) fn word(self) -> &'static str {
        match self {
            TreesConfig::Own => "own",
            TreesConfig::Shared => "shared",
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config {
            durability: Durability::Power,
            log: LogKind::Sqlite,
            lease_seconds: 600,
            idle_exit_seconds: 300,
            shutdown_deadline_seconds: 30,
            agent_teams: true,
            agent_teams_env: String::new(),
            team_mode: "auto".to_owned(),
            playbook: String::new(),
            notify: NotifyConfig::Bell,
            page: true,
            fence: FenceConfig::On,
            fence_write: Vec::new(),
            agents: AgentsConfig {
                default: String::new(),
                output_bytes: 16 * 1024 * 1024,
                stop_grace_ms: 5_000,
                patience_seconds: 600,
                programs: BTreeMap::new(),
            },
            models: ModelsConfig::default(),
            native: NativeConfig {
                requests_max: 1_000,
                shell_timeout_seconds: 120,
                shown_bytes: 16 * 1024,
            },
            team: TeamConfig {
                trees: TreesConfig::Own,
                cap: 5,
                stall_seconds: 600,
                answer_seconds: 60,
                timeout_seconds: 0,
                protected: vec![".shipmate/".to_owned(), ".github/workflows/".to_owned()],
            },
            gate: GateConfig {
                commands: Vec::new(),
                timeout_seconds: 1_800,
                batch: 16,
                env: Vec::new(),
                read: Vec::new(),
            },
            hooks: HooksConfig {
                commands: HOOK_SETTINGS.map(|(event, _)| (event, Vec::new())).into(),
                timeout_seconds: 60,
                claude_settings: true,
            },
            views: ViewsConfig { at: ViewsAt::State },
            nats: NatsConfig {
                url: "nats://127.0.0.1:4222".to_owned(),
                subject_prefix: "shipmate".to_owned(),
                credentials: None,
            },
        }
    }
}

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
        let layer: Layer = toml::from_str(text).map_err(|e| {
            let offset = e.span().map_or(0, |span| span.start);
            let remedy = "`shipmate config --default` shows every setting".to_owned();
            layer::bad(path, text, offset, (e.message().to_owned(), remedy))
        })?;
        layer.apply(path, text, source, self)
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
        _ => number || value == "true" || value == "false",
    };
    match like {
        _ if bare => value,
        toml::Value::Array(_) => format!("[{}]", toml::Value::String(value)),
        _ => toml::Value::String(value).to_string(),
    }
}

impl Config {
    /// Every setting by name, with its value as it would be written in the file.
    pub(crate) fn entries(&self) -> Vec<(&'static str, toml::Value)> {
        let text = |text: &str| toml::Value::String(text.to_owned());
        let number = |n: u64| toml::Value::Integer(i64::try_from(n).unwrap_or(i64::MAX));
        let list = |lines: &[String]| toml::Value::Array(lines.iter().map(|l| text(l)).collect());
        let durability = match self.durability {
            Durability::Power => "power",
            Durability::Process => "process",
        };
        let log = match self.log {
            LogKind::Sqlite => "sqlite",
            LogKind::Nats => "nats",
        };
        let notify = match self.notify {
            NotifyConfig::Bell => "bell",
            NotifyConfig::Desktop => "desktop",
            NotifyConfig::Off => "off",
        };
        let credentials =
            self.nats.credentials.as_deref().map_or(String::new(), |p| p.display().to_string());
        let mut entries = vec![
            ("durability", text(durability)),
            ("log", text(log)),
            ("lease-seconds", number(self.lease_seconds)),
            ("idle-exit-seconds", number(self.idle_exit_seconds)),
            ("shutdown-deadline-seconds", number(self.shutdown_deadline_seconds)),
            ("team-mode", text(&self.team_mode)),
            ("playbook", text(&self.playbook)),
            ("notify", text(notify)),
            ("page", toml::Value::Boolean(self.page)),
            ("fence", text(self.fence.word())),
            ("fence-write", list(&self.fence_write)),
            ("agent-teams", toml::Value::Boolean(self.agent_teams)),
            ("agent-teams-env", text(&self.agent_teams_env)),
            ("agents.default", text(&self.agents.default)),
            ("agents.output-bytes", number(self.agents.output_bytes)),
            ("agents.stop-grace-seconds", seconds(self.agents.stop_grace_ms)),
            ("agents.patience-seconds", number(self.agents.patience_seconds)),
            ("models.default", text(&self.models.default)),
            ("native.requests-max", number(self.native.requests_max)),
            ("native.shell-timeout-seconds", number(self.native.shell_timeout_seconds)),
            ("native.shown-bytes", number(self.native.shown_bytes)),
            ("team.trees", text(self.team.trees.word())),
            ("team.cap", number(self.team.cap)),
            ("team.stall-seconds", number(self.team.stall_seconds)),
            ("team.answer-seconds", number(self.team.answer_seconds)),
            ("team.timeout-seconds", number(self.team.timeout_seconds)),
            ("team.protected", list(&self.team.protected)),
            ("gate.commands", list(&self.gate.commands)),
            ("gate.timeout-seconds", number(self.gate.timeout_seconds)),
            ("gate.batch", number(self.gate.batch)),
            ("gate.env", list(&self.gate.env)),
            ("gate.read", list(&self.gate.read)),
        ];
        let hooks = HOOK_SETTINGS;
        entries.extend(hooks.map(|(event, setting)| (setting, list(&self.hooks.commands[event]))));
        entries.extend([
            ("hooks.timeout-seconds", number(self.hooks.timeout_seconds)),
            ("hooks.claude-settings", toml::Value::Boolean(self.hooks.claude_settings)),
            ("views.at", text(self.views.at.word())),
            ("nats.url", text(&self.nats.url)),
            ("nats.subject-prefix", text(&self.nats.subject_prefix)),
            ("nats.credentials", text(&credentials)),
        ]);
        entries
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

    /// How a team works that is begun with these settings, in a repository.
    pub(crate) fn setup(&self) -> Setup {
        let ms = |seconds: u64| Some(seconds * 1000);
        Setup {
            one_shot: self.mode(|name| std::env::var(name).ok()).mode == TeamMode::Task,
            trees: Some(self.team.trees.word().to_owned()),
            gate: self.gate.commands.clone(),
            gate_timeout_ms: ms(self.gate.timeout_seconds),
            protected: self.team.protected.clone(),
            stall_ms: ms(self.team.stall_seconds),
            answer_ms: ms(self.team.answer_seconds),
            shutdown_ms: ms(self.shutdown_deadline_seconds),
            timeout_ms: ms(self.team.timeout_seconds).filter(|ms| *ms > 0),
            ..Setup::default()
        }
    }
}

/// Seconds as a person would write them.
fn seconds(ms: u64) -> toml::Value {
    match ms % 1000 {
        0 => toml::Value::Integer(i64::try_from(ms / 1000).unwrap_or(i64::MAX)),
        _ => toml::Value::Float(ms as f64 / 1000.0),
    }
}

/// The environment variable that stands above a setting.
pub(crate) fn variable(setting: &str) -> String {
    format!("SHIPMATE_{}", setting.replace(['-', '.'], "_").to_uppercase())
}
