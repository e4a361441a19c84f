//! The coordinator as a process: this program, invoked by itself.
//!
//! It tells whoever started it `ready`, or the reason why not, in one line on its
//! standard output, and then lets go of the terminal: it outlives that command.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use shipmate_coordinator::{Current, Settings, Store};
// Who makes a machine a host writes the files that the next coordinator begins with.
pub(crate) use shipmate_coordinator::{HostFile, Nats, copied, host};
/// What a repository seems to need, and what is missing of it.
pub(crate) mod proposal {
    pub(crate) use shipmate_programs::preparation::others::find as others;
    pub(crate) use shipmate_programs::preparation::proposal::{Proposal, propose};
    pub(crate) use shipmate_programs::preparation::wanting;
}
use shipmate_programs::around::Around;
pub(crate) use shipmate_programs::definitions;
use shipmate_programs::{Agents, FenceSetting, Models, Native, ProgramSetting, ProviderSetting};
use shipmate_protocol::native::{Limits, Price};
use shipmate_protocol::{Answer, Ask, Place, Refused};

use crate::config::{
    self, Config, Durability, FenceConfig, LogKind, ProgramConfig, ProviderConfig, ViewsAt, whole,
};

/// A century: long enough to be never, short enough to add to a clock.
const NEVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Without `makes_state` only a workspace whose state is there is served.
pub(crate) fn run(place: &Place, config: &Config, makes_state: bool) -> ExitCode {
    // A session of its own, so that closing the terminal does not end it. Fails when
    // a shell made it the leader of a group, which serves as well.
    let _ = rustix::process::setsid();
    crate::trace::begin(&place.state());
    let settings = match settings(place, config) {
        Ok(settings) => Settings { makes_state, ..settings },
        Err(reason) => {
            println!("{}", reason.replace('\n', "\\n"));
            return ExitCode::FAILURE;
        }
    };
    match shipmate_coordinator::run(settings, || let_go(place)) {
        Ok(ended) => {
            tracing::info!(?ended, "the coordinator has ended");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            tracing::error!(?reason, "the coordinator has failed");
            // One line, because whoever started it reads one.
            println!("{}", reason.replace('\n', "\\n"));
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// Answers where nothing was ever kept, without a coordinator. A configuration that cannot be
/// read is the coordinator's to refuse.
pub(crate) fn without_state(
    place: &Place,
    team: Option<&str>,
    ask: &Ask,
) -> Option<Result<Answer, Refused>> {
    let loaded = config::load(&place.config()).ok()?;
    let settings = settings(place, &loaded.config).ok()?;
    shipmate_coordinator::answer_without_state(&settings, team, ask)
}

/// The agents that people have defined for other programs.
pub(crate) fn definitions_here(
    place: &Place,
    config: &Config,
) -> std::io::Result<definitions::All> {
    let (workspace, around) = (&*place.workspace, &Around::here());
    let agents = &agents(config)?;
    Ok(definitions::all(&definitions::Search { workspace, agents, around, agent: None }))
}

/// What a fence here would be, and the sockets that it would leave in reach.
pub(crate) fn fence_here(place: &Place) -> (String, Vec<PathBuf>) {
    shipmate_programs::fence::here(place)
}

fn settings(place: &Place, config: &Config) -> Result<Settings, String> {
    let host = HostFile::read(place)?;
    Ok(Settings {
        place: place.clone(),
        makes_state: true,
        store: match &host {
            Some(host) => Store::Nats(Box::new(host.server.clone())),
            None => store(config),
        },
        host,
        idle_exit: idle_exit(config),
        agents: Current::read(place, read)?,
    })
}

/// What agents go by, as the files and the environment have it now.
fn read(place: &Place) -> Result<Agents, String> {
    let loaded = config::load(&place.config()).map_err(|bad| bad.to_string())?;
    agents(&loaded.config).map_err(|e| format!("the path of this program is unknown: {e}"))
}

fn agents(config: &Config) -> std::io::Result<Agents> {
    let hooks = config.hooks.commands().into_iter().filter(|(_, lines)| !lines.is_empty());
    Ok(Agents {
        shown: config.shown(),
        program: std::env::current_exe()?,
        output_bytes_max: config.agents.output_bytes,
        stop_grace: config.agents.stop_grace,
        patience: Duration::from_secs(config.agents.patience_seconds),
        hooks: hooks.map(|(event, lines)| (event.to_owned(), lines.clone())).collect(),
        hook_timeout: Duration::from_secs(config.hooks.timeout_seconds),
        claude_hooks: config.hooks.claude_settings,
        views_in_repository: config.views.at == ViewsAt::Repository,
        batch_max: usize::try_from(config.gate.batch).unwrap_or(usize::MAX),
        default: config.agents.default.clone(),
        programs: config.agents.programs.iter().map(program).collect(),
        native: native(config),
        fence: match config.fence {
            FenceConfig::Off => FenceSetting::Off,
            FenceConfig::On => FenceSetting::On,
            FenceConfig::Required => FenceSetting::Required,
        },
        fence_write: config.fence_write.iter().map(whole).collect(),
        gate_env: config.gate.env.clone(),
        gate_read: config.gate.read.iter().map(whole).collect(),
        copy_to: config.hosts.copy_to.clone(),
    })
}

fn native(config: &Config) -> Native {
    let own = &config.native;
    Native {
        models: Models {
            default: config.models.default.clone(),
            providers: config.models.providers.iter().map(provider).collect(),
        },
        limits: Limits {
            requests_max: u32::try_from(own.requests_max).unwrap_or(u32::MAX),
            shell_timeout_ms: own.shell_timeout_seconds * 1000,
            output_bytes_max: usize::try_from(own.shown_bytes).unwrap_or(usize::MAX),
        },
    }
}

fn provider((name, config): (&String, &ProviderConfig)) -> (String, ProviderSetting) {
    let layer = &config.layer;
    let micros = |dollars: f64| (dollars.max(0.0) * 1e6).round() as u64;
    let setting = ProviderSetting {
        protocol: layer.protocol.map_or("", |protocol| protocol.word()).to_owned(),
        base_url: layer.base_url.clone().unwrap_or_default(),
        key_variable: layer.key_variable.clone(),
        model: layer.model.clone().unwrap_or_default(),
        context_tokens: layer.context_tokens,
        output_tokens: layer.output_tokens,
        thinking_tokens: layer.thinking_tokens,
        price: layer.price.map(|price| Price {
            input: micros(price.input),
            output: micros(price.output),
            cache_read: micros(price.cache_read),
            cache_write: micros(price.cache_write),
        }),
    };
    (name.clone(), setting)
}

fn program((name, config): (&String, &ProgramConfig)) -> (String, ProgramSetting) {
    // A folder that is named for everybody is each one's own.
    let value = |value: &String| match value.starts_with("~/") {
        true => whole(value).display().to_string(),
        false => value.clone(),
    };
    let env = config.env.iter().map(|(name, text)| (name.clone(), value(text))).collect();
    let setting = ProgramSetting {
        like: config.like.clone(),
        program: config.program.clone(),
        args: config.args.clone(),
        protocol: config.protocol.map_or("", |protocol| protocol.word()).to_owned(),
        env,
    };
    (name.clone(), setting)
}

fn store(config: &Config) -> Store {
    match config.log {
        LogKind::Sqlite => Store::Sqlite(match config.durability {
            Durability::Power => shipmate_coordinator::Durability::Power,
            Durability::Process => shipmate_coordinator::Durability::Process,
        }),
        LogKind::Nats => Store::Nats(Box::new(nats(config))),
    }
}

/// The server that the configuration names.
pub(crate) fn nats(config: &Config) -> Nats {
    Nats {
        url: config.nats.url.clone(),
        stream: config.nats.subject_prefix.clone(),
        subject_prefix: config.nats.subject_prefix.clone(),
        credentials: config.nats.credentials.clone(),
        replicas: usize::try_from(config.nats.replicas).unwrap_or(1),
        ..Nats::default()
    }
}

fn idle_exit(config: &Config) -> Duration {
    match config.idle_exit_seconds {
        0 => NEVER,
        seconds => Duration::from_secs(seconds),
    }
}

/// Says that it listens and leaves the starter's output: from here on, words for
/// people go to a file in the state folder.
fn let_go(place: &Place) {
    println!("ready");
    let (version, pid) = (env!("CARGO_PKG_VERSION"), std::process::id());
    tracing::info!(version, pid, "the coordinator listens");
    drop(std::io::stdout().flush());
    if let Ok(null) = OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&null);
    }
    let log = place.state().join("coordinator.log");
    let mut options = OpenOptions::new();
    if let Ok(file) = options.create(true).append(true).mode(0o600).open(log) {
        let _ = rustix::stdio::dup2_stderr(&file);
    }
}
