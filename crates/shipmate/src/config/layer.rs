//! One file of settings as it is written: everything optional, nothing unknown, and each value
//! checked where it stands, so that a mistake is told with its line.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::agents::{AgentsLayer, ProgramConfig, ProgramLayer};
use super::models::{ModelsLayer, ProviderConfig};
use super::{
    BadConfig, Config, Durability, FenceConfig, HOOK_SETTINGS, Loaded, LogKind, NotifyConfig,
    Source, TreesConfig, ViewsAt,
};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Layer {
    durability: Option<Durability>,
    log: Option<LogKind>,
    lease_seconds: Option<Spanned<u64>>,
    idle_exit_seconds: Option<Spanned<u64>>,
    shutdown_deadline_seconds: Option<Spanned<u64>>,
    agent_teams: Option<bool>,
    agent_teams_env: Option<Spanned<String>>,
    team_mode: Option<Spanned<String>>,
    playbook: Option<Spanned<String>>,
    notify: Option<NotifyConfig>,
    page: Option<bool>,
    fence: Option<FenceConfig>,
    fence_write: Option<Lines>,
    #[serde(default)]
    agents: AgentsLayer,
    #[serde(default)]
    models: ModelsLayer,
    #[serde(default)]
    native: NativeLayer,
    #[serde(default)]
    team: TeamLayer,
    #[serde(default)]
    gate: GateLayer,
    #[serde(default)]
    hooks: HooksLayer,
    #[serde(default)]
    views: ViewsLayer,
    #[serde(default)]
    nats: NatsLayer,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct NativeLayer {
    requests_max: Option<Spanned<u64>>,
    shell_timeout_seconds: Option<Spanned<u64>>,
    shown_bytes: Option<Spanned<u64>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct TeamLayer {
    trees: Option<TreesConfig>,
    cap: Option<Spanned<u64>>,
    stall_seconds: Option<Spanned<u64>>,
    answer_seconds: Option<Spanned<u64>>,
    timeout_seconds: Option<Spanned<u64>>,
    protected: Option<Lines>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct GateLayer {
    commands: Option<Lines>,
    timeout_seconds: Option<Spanned<u64>>,
    batch: Option<Spanned<u64>>,
    env: Option<Lines>,
    read: Option<Lines>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct HooksLayer {
    task_created: Option<Lines>,
    task_completed: Option<Lines>,
    teammate_idle: Option<Lines>,
    teammate_started: Option<Lines>,
    teammate_disappeared: Option<Lines>,
    plan_submitted: Option<Lines>,
    team_shutdown: Option<Lines>,
    #[serde(rename = "timeout-seconds")]
    timeout_seconds: Option<Spanned<u64>>,
    #[serde(rename = "claude-settings")]
    claude_settings: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ViewsLayer {
    at: Option<ViewsAt>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct NatsLayer {
    url: Option<Spanned<String>>,
    subject_prefix: Option<Spanned<String>>,
    credentials: Option<String>,
}

type Lines = Vec<Spanned<String>>;
/// What is wrong with a value, and what to write instead.
type Mistake = (String, String);
type Check = fn(&str, &str) -> Result<(), Mistake>;

const STOP_GRACE_SECONDS_MAX: f64 = 600.0;
const LINE_BYTES_MAX: usize = 64 * 1024;
const PATTERN_BYTES_MAX: usize = 1024;

impl Layer {
    /// Takes over what this file says.
    pub(super) fn apply(
        self,
        path: &Path,
        text: &str,
        source: Source,
        loaded: &mut Loaded,
    ) -> Result<(), BadConfig> {
        let mut taking = Taking { path, text, source, loaded };
        taking.take("durability", self.durability, |config| &mut config.durability);
        taking.take("log", self.log, |config| &mut config.log);
        taking.take("agent-teams", self.agent_teams, |config| &mut config.agent_teams);
        taking.text("agent-teams-env", self.agent_teams_env, variable, |config| {
            &mut config.agent_teams_env
        })?;
        taking.text("team-mode", self.team_mode, any_line, |config| &mut config.team_mode)?;
        taking.take("notify", self.notify, |config| &mut config.notify);
        taking.take("page", self.page, |config| &mut config.page);
        taking.take("fence", self.fence, |config| &mut config.fence);
        taking
            .lines("fence-write", self.fence_write, absolute, |config| &mut config.fence_write)?;
        taking.text("playbook", self.playbook, any_line, |config| &mut config.playbook)?;
        taking.number("lease-seconds", self.lease_seconds, 1..=86_400, |c| &mut c.lease_seconds)?;
        taking.number("idle-exit-seconds", self.idle_exit_seconds, 0..=604_800, |config| {
            &mut config.idle_exit_seconds
        })?;
        let deadline = self.shutdown_deadline_seconds;
        taking.number("shutdown-deadline-seconds", deadline, 1..=86_400, |config| {
            &mut config.shutdown_deadline_seconds
        })?;
        taking.agents(self.agents)?;
        taking.models(self.models)?;
        taking.native(self.native)?;
        taking.team(self.team)?;
        taking.gate(self.gate)?;
        taking.hooks(self.hooks)?;
        taking.take("views.at", self.views.at, |config| &mut config.views.at);
        taking.nats(self.nats)
    }
}

/// One file on its way into the settings.
struct Taking<'a> {
    path: &'a Path,
    text: &'a str,
    source: Source,
    loaded: &'a mut Loaded,
}

impl Taking<'_> {
    fn agents(&mut self, layer: AgentsLayer) -> Result<(), BadConfig> {
        self.text("agents.default", layer.default, any_line, |config| &mut config.agents.default)?;
        self.number("agents.output-bytes", layer.output_bytes, 4_096..=1 << 40, |config| {
            &mut config.agents.output_bytes
        })?;
        self.number("agents.patience-seconds", layer.patience_seconds, 1..=86_400, |config| {
            &mut config.agents.patience_seconds
        })?;
        for (name, program) in layer.programs {
            self.program(&name, program)?;
        }
        let Some(grace) = layer.stop_grace_seconds else { return Ok(()) };
        let (name, max) = ("agents.stop-grace-seconds", STOP_GRACE_SECONDS_MAX);
        let (at, seconds) = (grace.span().start, *grace.get_ref());
        if !(0.0..=max).contains(&seconds) {
            let fact = format!("{name} is {seconds}, and its range is 0 to {max}");
            let remedy = format!("write a number from 0 to {max}; it may have a fraction");
            return Err(self.bad(at, (fact, remedy)));
        }
        let ms = (seconds * 1000.0).round() as u64;
        self.take(name, Some(ms), |config| &mut config.agents.stop_grace_ms);
        Ok(())
    }

    /// The nearest file's table counts as a whole.
    fn program(&mut self, name: &Spanned<String>, layer: ProgramLayer) -> Result<(), BadConfig> {
        let (at, name) = (name.span().start, name.get_ref());
        agent_name(name).map_err(|found| self.bad(at, found))?;
        let program = layer.program.map(Spanned::into_inner).unwrap_or_default();
        for word in layer.args.iter().flatten().chain([&program]) {
            any_line(&format!("agents.{name}"), word).map_err(|found| self.bad(at, found))?;
        }
        let variable = |name: &str| name.is_empty() || name.contains(['=', '\0']);
        if let Some(bad) = layer.env.keys().find(|name| variable(name)) {
            let fact = format!("agents.{name}.env holds {bad:?}, which is no name of a variable");
            return Err(self.bad(at, (fact, "write NAME = \"value\"".to_owned())));
        }
        // A path is from the file that names it, a bare name from PATH.
        let program = match self.path.parent() {
            Some(folder) if program.contains('/') => {
                // Its components leave out every `.`.
                let path: PathBuf = folder.join(program).components().collect();
                path.display().to_string()
            }
            _ => program,
        };
        let (args, protocol, env) = (layer.args, layer.protocol, layer.env);
        let config = ProgramConfig { program, args, protocol, env, source: self.source };
        self.loaded.config.agents.programs.insert(name.clone(), config);
        Ok(())
    }

    fn models(&mut self, layer: ModelsLayer) -> Result<(), BadConfig> {
        self.text("models.default", layer.default, any_line, |config| &mut config.models.default)?;
        for (name, mut layer) in layer.providers {
            let (at, name) = (name.span().start, name.into_inner());
            agent_name(&name).map_err(|found| self.bad(at, found))?;
            if let Some(variable) = &layer.key_variable {
                let setting = format!("models.{name}.key-variable");
                self::variable(&setting, variable).map_err(|found| self.bad(at, found))?;
            }
            let recorded = layer.protocol == Some(super::models::ProtocolConfig::Recorded);
            match &mut layer.base_url {
                // A file is from the one that names it.
                Some(file) if recorded => {
                    let folder = self.path.parent().unwrap_or(Path::new(""));
                    *file = folder.join(&*file).display().to_string();
                }
                Some(url) if !url.starts_with("http://") && !url.starts_with("https://") => {
                    let fact = format!("models.{name}.base-url is {url:?}, which is no URL");
                    return Err(self.bad(at, (fact, "write https://HOST/PATH".to_owned())));
                }
                _ => {}
            }
            let provider = ProviderConfig { layer, source: self.source };
            self.loaded.config.models.providers.insert(name, provider);
        }
        Ok(())
    }

    fn native(&mut self, layer: NativeLayer) -> Result<(), BadConfig> {
        self.number("native.requests-max", layer.requests_max, 1..=100_000, |config| {
            &mut config.native.requests_max
        })?;
        let seconds = layer.shell_timeout_seconds;
        self.number("native.shell-timeout-seconds", seconds, 1..=86_400, |config| {
            &mut config.native.shell_timeout_seconds
        })?;
        self.number("native.shown-bytes", layer.shown_bytes, 1_024..=1 << 20, |config| {
            &mut config.native.shown_bytes
        })
    }

    fn team(&mut self, layer: TeamLayer) -> Result<(), BadConfig> {
        self.take("team.trees", layer.trees, |config| &mut config.team.trees);
        self.number("team.cap", layer.cap, 1..=1_000, |config| &mut config.team.cap)?;
        self.number("team.stall-seconds", layer.stall_seconds, 0..=86_400, |config| {
            &mut config.team.stall_seconds
        })?;
        self.number("team.answer-seconds", layer.answer_seconds, 1..=3_600, |config| {
            &mut config.team.answer_seconds
        })?;
        self.number("team.timeout-seconds", layer.timeout_seconds, 0..=604_800, |config| {
            &mut config.team.timeout_seconds
        })?;
        self.lines("team.protected", layer.protected, pattern, |c| &mut c.team.protected)
    }

    fn gate(&mut self, layer: GateLayer) -> Result<(), BadConfig> {
        self.lines("gate.commands", layer.commands, command, |config| &mut config.gate.commands)?;
        self.number("gate.timeout-seconds", layer.timeout_seconds, 1..=86_400, |config| {
            &mut config.gate.timeout_seconds
        })?;
        self.number("gate.batch", layer.batch, 1..=256, |config| &mut config.gate.batch)?;
        self.lines("gate.env", layer.env, variable, |config| &mut config.gate.env)?;
        self.lines("gate.read", layer.read, absolute, |config| &mut config.gate.read)
    }

    fn hooks(&mut self, layer: HooksLayer) -> Result<(), BadConfig> {
        let written = [
            layer.task_created,
            layer.task_completed,
            layer.teammate_idle,
            layer.teammate_started,
            layer.teammate_disappeared,
            layer.plan_submitted,
            layer.team_shutdown,
        ];
        for ((event, setting), lines) in HOOK_SETTINGS.into_iter().zip(written) {
            self.lines(setting, lines, command, |config| {
                config.hooks.commands.entry(event).or_default()
            })?;
        }
        self.take("hooks.claude-settings", layer.claude_settings, |config| {
            &mut config.hooks.claude_settings
        });
        self.number("hooks.timeout-seconds", layer.timeout_seconds, 1..=3_600, |config| {
            &mut config.hooks.timeout_seconds
        })
    }

    fn nats(&mut self, layer: NatsLayer) -> Result<(), BadConfig> {
        self.text("nats.url", layer.url, url, |config| &mut config.nats.url)?;
        self.text("nats.subject-prefix", layer.subject_prefix, prefix, |config| {
            &mut config.nats.subject_prefix
        })?;
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let beside = |file: String| (!file.is_empty()).then(|| folder.join(file));
        self.take("nats.credentials", layer.credentials.map(beside), |config| {
            &mut config.nats.credentials
        });
        Ok(())
    }

    fn take<T>(
        &mut self,
        name: &'static str,
        value: Option<T>,
        into: impl FnOnce(&mut Config) -> &mut T,
    ) {
        if let Some(value) = value {
            *into(&mut self.loaded.config) = value;
            self.loaded.sources.insert(name, self.source);
        }
    }

    fn number(
        &mut self,
        name: &'static str,
        value: Option<Spanned<u64>>,
        range: RangeInclusive<u64>,
        into: impl FnOnce(&mut Config) -> &mut u64,
    ) -> Result<(), BadConfig> {
        if let Some(value) = &value
            && !range.contains(value.get_ref())
        {
            let (low, high) = (range.start(), range.end());
            let fact = format!("{name} is {}, and its range is {low} to {high}", value.get_ref());
            let remedy = format!("write a number from {low} to {high}");
            return Err(self.bad(value.span().start, (fact, remedy)));
        }
        self.take(name, value.map(Spanned::into_inner), into);
        Ok(())
    }

    fn text(
        &mut self,
        name: &'static str,
        value: Option<Spanned<String>>,
        check: Check,
        into: impl FnOnce(&mut Config) -> &mut String,
    ) -> Result<(), BadConfig> {
        if let Some(value) = &value {
            check(name, value.get_ref()).map_err(|found| self.bad(value.span().start, found))?;
        }
        self.take(name, value.map(Spanned::into_inner), into);
        Ok(())
    }

    fn lines(
        &mut self,
        name: &'static str,
        lines: Option<Lines>,
        check: Check,
        into: impl FnOnce(&mut Config) -> &mut Vec<String>,
    ) -> Result<(), BadConfig> {
        for line in lines.iter().flatten() {
            check(name, line.get_ref()).map_err(|found| self.bad(line.span().start, found))?;
        }
        let lines = lines.map(|lines| lines.into_iter().map(Spanned::into_inner).collect());
        self.take(name, lines, into);
        Ok(())
    }

    fn bad(&self, offset: usize, mistake: Mistake) -> BadConfig {
        bad(self.path, self.text, offset, mistake)
    }
}

/// A mistake, with the line and column of a file where it stands.
pub(super) fn bad(path: &Path, text: &str, offset: usize, (fact, remedy): Mistake) -> BadConfig {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    BadConfig { place: format!("{}:{line}:{column}", path.display()), fact, remedy }
}

/// A command line, or none.
fn any_line(name: &str, line: &str) -> Result<(), Mistake> {
    if line.len() > LINE_BYTES_MAX || line.contains('\0') {
        let fact = format!("{name} is longer than {LINE_BYTES_MAX} bytes, or holds a zero byte");
        return Err((fact, "put it into a script and name that".to_owned()));
    }
    Ok(())
}

fn command(name: &str, line: &str) -> Result<(), Mistake> {
    if line.trim().is_empty() {
        let fact = format!("{name} holds an empty command line");
        return Err((fact, "write the command, or take the line away".to_owned()));
    }
    any_line(name, line)
}

/// The name of an environment variable, or none.
fn variable(name: &str, variable: &str) -> Result<(), Mistake> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if variable.len() > 256 || !variable.bytes().all(plain) {
        let fact = format!("{name} is {variable:?}, which is no name of a variable");
        return Err((fact, "use letters, digits and '_'; empty for none".to_owned()));
    }
    Ok(())
}

/// A word for a program; some mean something else already.
fn agent_name(name: &str) -> Result<(), Mistake> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let fits = name.len() <= 64 && name.bytes().all(plain) && !name.starts_with(['-', '_']);
    if name.is_empty() || !fits {
        let fact = format!("{name:?} cannot name an agent program");
        return Err((fact, "use letters, digits, '_' and '-', at most 64".to_owned()));
    }
    if ["command", "inline", "native"].contains(&name) {
        let fact = format!("the name {name} is taken: it is how a teammate is run");
        return Err((fact, "choose another name".to_owned()));
    }
    Ok(())
}

/// A folder or file of this machine; `~/` is the home folder.
fn absolute(name: &str, path: &str) -> Result<(), Mistake> {
    match path.starts_with('/') || path.starts_with("~/") {
        true => any_line(name, path),
        false => Err((
            format!("{name} holds {path:?}, which begins neither with / nor with ~/"),
            "write a whole path".to_owned(),
        )),
    }
}

/// The same that the board takes, said here with its line.
fn pattern(name: &str, pattern: &str) -> Result<(), Mistake> {
    let climbs = pattern.split('/').any(|part| part == "..");
    let bad = pattern.is_empty() || pattern.starts_with('/') || climbs;
    if bad || pattern.len() > PATTERN_BYTES_MAX || pattern.chars().any(char::is_control) {
        let fact = format!("{name} holds {pattern:?}, which is no path inside the repository");
        return Err((fact, "write a folder, a file or a glob, from its root".to_owned()));
    }
    Ok(())
}

fn url(_: &str, url: &str) -> Result<(), Mistake> {
    match url.starts_with("nats://") || url.starts_with("tls://") {
        true => Ok(()),
        false => Err((
            format!("{url:?} is not the address of a NATS server"),
            "write nats://HOST:PORT".to_owned(),
        )),
    }
}

fn prefix(_: &str, prefix: &str) -> Result<(), Mistake> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    match !prefix.is_empty() && prefix.len() <= 64 && prefix.bytes().all(plain) {
        true => Ok(()),
        false => Err((
            format!("{prefix:?} cannot begin a subject"),
            "use letters, digits, '_' and '-', at most 64".to_owned(),
        )),
    }
}
