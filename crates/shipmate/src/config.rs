//! Settings: defaults, then the user's file, then the project's file, then the environment.
//!
//! A file is either read completely or refused with its line: an unknown key is a mistake that
//! would otherwise show itself weeks later. The commented default file is part of the binary and
//! is the documentation of every setting; a test holds that its values are the defaults here.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

/// The commented default file, as `shipmate config --default` prints it.
pub(crate) const DEFAULT_FILE: &str = include_str!("../default-config.toml");

const LEASE_SECONDS: RangeInclusive<u64> = 1..=86_400;
const IDLE_EXIT_SECONDS: RangeInclusive<u64> = 0..=604_800;
const SHUTDOWN_DEADLINE_SECONDS: RangeInclusive<u64> = 1..=86_400;

/// What is in force, after all layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) durability: Durability,
    pub(crate) log: LogKind,
    pub(crate) nats: NatsConfig,
    pub(crate) lease_seconds: u64,
    /// 0 means never.
    pub(crate) idle_exit_seconds: u64,
    pub(crate) shutdown_deadline_seconds: u64,
    pub(crate) agent_teams: bool,
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NatsConfig {
    pub(crate) url: String,
    pub(crate) subject_prefix: String,
    pub(crate) credentials: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            durability: Durability::Power,
            log: LogKind::Sqlite,
            nats: NatsConfig {
                url: "nats://127.0.0.1:4222".to_owned(),
                subject_prefix: "shipmate".to_owned(),
                credentials: None,
            },
            lease_seconds: 600,
            idle_exit_seconds: 300,
            shutdown_deadline_seconds: 30,
            agent_teams: true,
        }
    }
}

/// Where a value in force comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Default,
    User,
    Project,
    Environment,
}

impl Source {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Source::Default => "default",
            Source::User => "user file",
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

/// One file as it is written: everything optional, nothing unknown.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Layer {
    durability: Option<Durability>,
    log: Option<LogKind>,
    lease_seconds: Option<Spanned<u64>>,
    idle_exit_seconds: Option<Spanned<u64>>,
    shutdown_deadline_seconds: Option<Spanned<u64>>,
    agent_teams: Option<bool>,
    #[serde(default)]
    nats: NatsLayer,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct NatsLayer {
    url: Option<Spanned<String>>,
    subject_prefix: Option<Spanned<String>>,
    credentials: Option<String>,
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
    loaded.read(project, Source::Project)?;
    loaded.environment(|name| std::env::var(name).ok())?;
    Ok(loaded)
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
        let at = |offset: usize, fact: String, remedy: &str| BadConfig {
            place: format!("{}:{}", path.display(), line_and_column(text, offset)),
            fact,
            remedy: remedy.to_owned(),
        };
        let layer: Layer = toml::from_str(text).map_err(|e| {
            let offset = e.span().map_or(0, |span| span.start);
            at(offset, e.message().to_owned(), "`shipmate config --default` shows every setting")
        })?;

        let set = &mut self.sources;
        let config = &mut self.config;
        take(set, "durability", source, layer.durability, &mut config.durability);
        take(set, "log", source, layer.log, &mut config.log);
        take(set, "agent-teams", source, layer.agent_teams, &mut config.agent_teams);
        let numbers = [
            ("lease-seconds", layer.lease_seconds, LEASE_SECONDS, &mut config.lease_seconds),
            (
                "idle-exit-seconds",
                layer.idle_exit_seconds,
                IDLE_EXIT_SECONDS,
                &mut config.idle_exit_seconds,
            ),
            (
                "shutdown-deadline-seconds",
                layer.shutdown_deadline_seconds,
                SHUTDOWN_DEADLINE_SECONDS,
                &mut config.shutdown_deadline_seconds,
            ),
        ];
        for (name, value, range, into) in numbers {
            let Some(value) = value else { continue };
            let number = in_range(name, *value.get_ref(), &range)
                .map_err(|(fact, remedy)| at(value.span().start, fact, &remedy))?;
            take(set, name, source, Some(number), into);
        }
        for (name, value, check, into) in [
            ("nats.url", layer.nats.url, bad_url as Check, &mut config.nats.url),
            ("nats.subject-prefix", layer.nats.subject_prefix, bad_prefix, {
                &mut config.nats.subject_prefix
            }),
        ] {
            let Some(value) = value else { continue };
            if let Some((fact, remedy)) = check(value.get_ref()) {
                return Err(at(value.span().start, fact, remedy));
            }
            take(set, name, source, Some(value.into_inner()), into);
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let credentials = layer.nats.credentials.map(|file| credentials(folder, &file));
        take(set, "nats.credentials", source, credentials, &mut config.nats.credentials);
        Ok(())
    }

    /// Variables are read like a file with one line, so that they get the same checks.
    fn environment(&mut self, get: impl Fn(&str) -> Option<String>) -> Result<(), BadConfig> {
        for (setting, _) in self.config.entries() {
            let variable = variable(setting);
            let Some(value) = get(&variable).filter(|value| !value.is_empty()) else { continue };
            let (table, key) = setting.split_once('.').unwrap_or(("", setting));
            let table = if table.is_empty() { String::new() } else { format!("[{table}]\n") };
            let bare = value.parse::<u64>().is_ok() || value == "true" || value == "false";
            let value = if bare { value } else { toml::Value::String(value).to_string() };
            let text = format!("{table}{key} = {value}\n");
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

impl Config {
    /// Every setting by name, with its value as it would be written in the file.
    pub(crate) fn entries(&self) -> Vec<(&'static str, toml::Value)> {
        let text = |text: &str| toml::Value::String(text.to_owned());
        let number = |n: u64| toml::Value::Integer(i64::try_from(n).unwrap_or(i64::MAX));
        let durability = match self.durability {
            Durability::Power => "power",
            Durability::Process => "process",
        };
        let log = match self.log {
            LogKind::Sqlite => "sqlite",
            LogKind::Nats => "nats",
        };
        let credentials =
            self.nats.credentials.as_deref().map_or(String::new(), |p| p.display().to_string());
        vec![
            ("durability", text(durability)),
            ("log", text(log)),
            ("lease-seconds", number(self.lease_seconds)),
            ("idle-exit-seconds", number(self.idle_exit_seconds)),
            ("shutdown-deadline-seconds", number(self.shutdown_deadline_seconds)),
            ("agent-teams", toml::Value::Boolean(self.agent_teams)),
            ("nats.url", text(&self.nats.url)),
            ("nats.subject-prefix", text(&self.nats.subject_prefix)),
            ("nats.credentials", text(&credentials)),
        ]
    }
}

/// The environment variable that stands above a setting.
pub(crate) fn variable(setting: &str) -> String {
    format!("SHIPMATE_{}", setting.replace(['-', '.'], "_").to_uppercase())
}

type Check = fn(&str) -> Option<(String, &'static str)>;

fn take<T>(
    set: &mut BTreeMap<&'static str, Source>,
    name: &'static str,
    source: Source,
    value: Option<T>,
    into: &mut T,
) {
    if let Some(value) = value {
        *into = value;
        set.insert(name, source);
    }
}

fn in_range(name: &str, n: u64, range: &RangeInclusive<u64>) -> Result<u64, (String, String)> {
    if range.contains(&n) {
        return Ok(n);
    }
    let (low, high) = (range.start(), range.end());
    Err((
        format!("{name} is {n}, and its range is {low} to {high}"),
        format!("write a number from {low} to {high}"),
    ))
}

fn bad_url(url: &str) -> Option<(String, &'static str)> {
    let known = url.starts_with("nats://") || url.starts_with("tls://");
    (!known)
        .then(|| (format!("{url:?} is not the address of a NATS server"), "write nats://HOST:PORT"))
}

fn bad_prefix(prefix: &str) -> Option<(String, &'static str)> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let good = !prefix.is_empty() && prefix.len() <= 64 && prefix.bytes().all(plain);
    (!good).then(|| {
        let fact = format!("{prefix:?} cannot begin a subject");
        (fact, "use letters, digits, '_' and '-', at most 64")
    })
}

fn credentials(folder: &Path, file: &str) -> Option<PathBuf> {
    (!file.is_empty()).then(|| folder.join(file))
}

fn line_and_column(text: &str, offset: usize) -> String {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("{line}:{column}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Loaded, String> {
        let mut loaded = Loaded { config: Config::default(), sources: BTreeMap::new() };
        let read = loaded.layer(Path::new("/w/config.toml"), text, Source::Project);
        read.map(|()| loaded).map_err(|bad| bad.to_string())
    }

    #[test]
    fn the_default_file_states_the_defaults() {
        let uncommented: String = DEFAULT_FILE
            .lines()
            .map(|line| match line.strip_prefix('#') {
                Some(setting) if !setting.starts_with(' ') => format!("{setting}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        let loaded = read(&uncommented).unwrap();
        assert_eq!(loaded.config, Config::default());
        for (setting, _) in loaded.config.entries() {
            assert_eq!(loaded.source(setting), Source::Project, "{setting} is not in the file");
        }
        assert_eq!(read(DEFAULT_FILE).unwrap().config, Config::default());
    }

    #[test]
    fn a_mistake_is_named_with_its_line_and_remedy() {
        for (text, told) in [
            ("\nleese-seconds = 1\n", "/w/config.toml:2:1: unknown field `leese-seconds`"),
            ("[nats]\nuri = \"a\"\n", "/w/config.toml:2:1: unknown field `uri`"),
            ("lease-seconds = 0\n", "1:17: lease-seconds is 0, and its range is 1 to 86400"),
            ("durability = \"disk\"\n", "1:14: unknown variant `disk`, expected `power`"),
            ("log = \n", "/w/config.toml:1:"),
            ("lease-seconds = \"x\"\n", "1:17: invalid type: string \"x\", expected u64"),
            ("[nats]\nurl = \"http://a\"\n", "2:7: \"http://a\" is not the address"),
            ("[nats]\nsubject-prefix = \"a.b\"\n", "2:18: \"a.b\" cannot begin a subject"),
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.contains(told), "{text:?} was told {refused:?}");
            assert!(refused.contains("\n  "), "{refused:?} has no remedy");
        }
    }

    #[test]
    fn the_environment_stands_above_the_files_and_is_checked_like_them() {
        let mut loaded = read("lease-seconds = 5\nidle-exit-seconds = 7\n").unwrap();
        let vars = [("SHIPMATE_LEASE_SECONDS", "9"), ("SHIPMATE_NATS_URL", "tls://h:1")];
        let get = |name: &str| {
            vars.iter().find(|(var, _)| *var == name).map(|(_, value)| (*value).to_owned())
        };
        loaded.environment(get).unwrap();
        assert_eq!(loaded.config.lease_seconds, 9);
        assert_eq!(loaded.config.idle_exit_seconds, 7);
        assert_eq!(loaded.config.nats.url, "tls://h:1");
        assert_eq!(loaded.source("lease-seconds"), Source::Environment);
        assert_eq!(loaded.source("log"), Source::Default);

        let bad = loaded.environment(|name| (name == "SHIPMATE_LOG").then(|| "files".to_owned()));
        let told = bad.unwrap_err().to_string();
        assert!(
            told.starts_with("the environment variable SHIPMATE_LOG: unknown variant"),
            "{told}"
        );
    }

    #[test]
    fn credentials_lie_beside_the_file_that_names_them() {
        let loaded = read("[nats]\ncredentials = \"team.creds\"\n").unwrap();
        assert_eq!(loaded.config.nats.credentials, Some("/w/team.creds".into()));
    }
}
