//! Every setting, once: its name, where it is kept, its default and what is asked of a value. The
//! order is that in which they are shown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::Source;
use super::agents::{self, ProgramConfig};
use super::models::{self, ProviderConfig};
use super::value::{
    Kind, Written, Wrong, absolute, any_line, choices, command, host, pattern, prefix, unreadable,
    url, variable,
};

type Key<'a> = Spanned<DeString<'a>>;

/// One file on its way into the settings.
pub(super) struct File<'a> {
    /// Where it lies; paths in it are from there.
    pub(super) folder: &'a Path,
    pub(super) source: Source,
    pub(super) sources: &'a mut BTreeMap<&'static str, Source>,
}

/// The settings of one table of a file, and those of the tables below it.
pub(super) trait Table {
    const KEYS: &'static [&'static str];

    /// Every setting by name, with its value as it would be written in the file.
    fn entries(&self) -> Vec<(&'static str, toml::Value)>;

    fn read(&mut self, key: Key<'_>, value: Written<'_>, file: &mut File<'_>) -> Result<(), Wrong>;

    /// Takes over what a file says.
    fn take(&mut self, table: DeTable<'_>, file: &mut File<'_>) -> Result<(), Wrong> {
        table.into_iter().try_for_each(|(key, value)| self.read(key, value, file))
    }
}

/// A struct for each table: `"key" field: Type = default, rule;`, then the `tables` below it, then
/// what is kept `beside` settings. What is none of its keys goes to the function behind `else`.
macro_rules! settings {
    ($($(#[$doc:meta])* $table:ident $prefix:literal else $else:path {
        $($(#[$about:meta])* $key:literal $field:ident: $kind:ty = $default:expr, $rule:expr;)*
        $(tables { $($sub:ident: $sub_table:ty,)* })?
        $(beside { $($(#[$more:meta])* $other:ident: $type:ty,)* })?
    })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) struct $table {
            $($(#[$about])* pub(crate) $field: $kind,)*
            $($(pub(crate) $sub: $sub_table,)*)?
            $($($(#[$more])* pub(crate) $other: $type,)*)?
        }

        impl Default for $table {
            fn default() -> Self {
                $table {
                    $($field: $default,)*
                    $($($sub: Default::default(),)*)?
                    $($($other: Default::default(),)*)?
                }
            }
        }

        impl Table for $table {
            const KEYS: &'static [&'static str] = &[$($key,)* $($(stringify!($sub),)*)?];

            #[allow(unused_mut, reason = "most have no tables below them")]
            fn entries(&self) -> Vec<(&'static str, toml::Value)> {
                let mut entries = vec![$((concat!($prefix, $key), self.$field.written()),)*];
                $($(entries.extend(self.$sub.entries());)*)?
                entries
            }

            fn read(
                &mut self,
                key: Key<'_>,
                value: Written<'_>,
                file: &mut File<'_>,
            ) -> Result<(), Wrong> {
                $($(if key.get_ref() == stringify!($sub) {
                    return self.$sub.take(table(stringify!($sub), value)?, file);
                })*)?
                let name = match key.get_ref().as_ref() {
                    $($key => {
                        let name = concat!($prefix, $key);
                        self.$field = <$kind>::read(name, value, $rule, file.folder)?;
                        name
                    })*
                    _ => return $else(self, key, value, file),
                };
                file.sources.insert(name, file.source);
                Ok(())
            }
        }
    )*};
}

choices! {
    Durability {
        /// An acknowledged change survives the loss of power.
        Power = "power",
        /// It survives the death of any process, but not of the machine.
        Process = "process",
    }

    LogKind { Sqlite = "sqlite", Nats = "nats" }

    /// How a run tells a person who does not look that it waits.
    NotifyConfig {
        Bell = "bell",
        /// The bell, and a notice on the desktop.
        Desktop = "desktop",
        Off = "off",
    }

    FenceConfig { Off = "off", On = "on", Required = "required" }

    TreesConfig { Own = "own", Shared = "shared" }

    /// Where the files are that show a team in the formats of others.
    ViewsAt {
        State = "state",
        /// There as well, and in the repository, where git does not see them.
        Repository = "repository",
    }
}

settings! {
    /// What is in force, after all layers.
    Config "" else unknown {
        "durability" durability: Durability = Durability::Power, ();
        "log" log: LogKind = LogKind::Sqlite, ();
        "lease-seconds" lease_seconds: u64 = 600, 1..=86_400;
        /// 0 means never.
        "idle-exit-seconds" idle_exit_seconds: u64 = 300, 0..=604_800;
        "shutdown-deadline-seconds" shutdown_deadline_seconds: u64 = 30, 1..=86_400;
        /// `auto`, `teammate` or `task`; anything else is told where the mode is decided.
        "team-mode" team_mode: String = "auto".to_owned(), any_line;
        /// The playbook of runs that name none; empty: as the repository's files say. `none`: none.
        "playbook" playbook: String = String::new(), any_line;
        "notify" notify: NotifyConfig = NotifyConfig::Bell, ();
        /// `run` serves the page.
        "page" page: bool = true, ();
        "fence" fence: FenceConfig = FenceConfig::On, ();
        "fence-write" fence_write: Vec<String> = Vec::new(), absolute;
        "agent-teams" agent_teams: bool = true, ();
        /// A variable that has to switch teams on; empty for none.
        "agent-teams-env" agent_teams_env: String = String::new(), variable;
        tables {
            agents: AgentsConfig,
            models: ModelsConfig,
            native: NativeConfig,
            team: TeamConfig,
            trees: TreesTable,
            accounts: AccountsConfig,
            gate: GateConfig,
            hooks: HooksConfig,
            views: ViewsConfig,
            nats: NatsConfig,
            hosts: HostsConfig,
        }
    }

    AgentsConfig "agents." else program {
        /// The command line of agents that a plan does not name; empty means none.
        "default" default: String = String::new(), any_line;
        "output-bytes" output_bytes: u64 = 16 * 1024 * 1024, 4_096..=1 << 40;
        "stop-grace-seconds" stop_grace: Duration = Duration::from_secs(5), 600.0;
        "patience-seconds" patience_seconds: u64 = 600, 1..=86_400;
        beside {
            /// `[agents.NAME]`: no settings of their own, so neither listed as such nor in variables.
            programs: BTreeMap<String, ProgramConfig>,
        }
    }

    ModelsConfig "models." else provider {
        /// `provider/model`; empty for the first provider that has a key.
        "default" default: String = String::new(), any_line;
        beside {
            /// `[models.NAME]`.
            providers: BTreeMap<String, ProviderConfig>,
        }
    }

    NativeConfig "native." else unknown {
        "requests-max" requests_max: u64 = 1_000, 1..=100_000;
        "shell-timeout-seconds" shell_timeout_seconds: u64 = 120, 1..=86_400;
        "shown-bytes" shown_bytes: u64 = 16 * 1024, 1_024..=1 << 20;
    }

    TeamConfig "team." else unknown {
        "trees" trees: TreesConfig = TreesConfig::Own, ();
        "cap" cap: u64 = 5, 1..=1_000;
        /// 0 means never.
        "stall-seconds" stall_seconds: u64 = 600, 0..=86_400;
        "answer-seconds" answer_seconds: u64 = 60, 1..=3_600;
        /// 0 means none.
        "timeout-seconds" timeout_seconds: u64 = 0, 0..=604_800;
        "protected" protected: Vec<String> =
            vec![".shipmate/".to_owned(), ".github/workflows/".to_owned()], pattern;
    }

    /// What a tree gets beyond what is committed.
    TreesTable "trees." else unknown {
        "copy" copy: Vec<String> = Vec::new(), pattern;
        "link" link: Vec<String> = Vec::new(), pattern;
        "setup" setup: Vec<String> = Vec::new(), command;
        /// None: those that are known.
        "lock-files" lock_files: Vec<String> = Vec::new(), pattern;
        "ports" ports: u64 = 0, 0..=100;
        "env" env: BTreeMap<String, String> = BTreeMap::new(), any_line;
        "teardown" teardown: Vec<String> = Vec::new(), command;
        "timeout-seconds" timeout_seconds: u64 = 900, 1..=86_400;
        /// Files of other programs count where nothing is said here.
        "detect" detect: bool = true, ();
    }

    /// How much of an account's windows a team may use, in per cent.
    AccountsConfig "accounts." else unknown {
        "soft-cap" soft_cap: u64 = 90, 1..=100;
        "hard-cap" hard_cap: u64 = 98, 1..=100;
        "lead-reserve" lead_reserve: u64 = 3, 0..=50;
        "escrow" escrow: bool = true, ();
        "auto-resume" auto_resume: bool = true, ();
    }

    GateConfig "gate." else unknown {
        "commands" commands: Vec<String> = Vec::new(), command;
        "timeout-seconds" timeout_seconds: u64 = 1_800, 1..=86_400;
        "batch" batch: u64 = 16, 1..=256;
        "env" env: Vec<String> = Vec::new(), variable;
        "read" read: Vec<String> = Vec::new(), absolute;
    }

    /// Command lines for each event, none for most.
    HooksConfig "hooks." else unknown {
        "TaskCreated" task_created: Vec<String> = Vec::new(), command;
        "TaskCompleted" task_completed: Vec<String> = Vec::new(), command;
        "TeammateIdle" teammate_idle: Vec<String> = Vec::new(), command;
        "TeammateStarted" teammate_started: Vec<String> = Vec::new(), command;
        "TeammateDisappeared" teammate_disappeared: Vec<String> = Vec::new(), command;
        "PlanSubmitted" plan_submitted: Vec<String> = Vec::new(), command;
        "TeamShutdown" team_shutdown: Vec<String> = Vec::new(), command;
        "timeout-seconds" timeout_seconds: u64 = 60, 1..=3_600;
        /// Those of `.claude/settings.json` count.
        "claude-settings" claude_settings: bool = true, ();
    }

    ViewsConfig "views." else unknown {
        "at" at: ViewsAt = ViewsAt::State, ();
    }

    NatsConfig "nats." else unknown {
        "url" url: String = "nats://127.0.0.1:4222".to_owned(), url;
        "subject-prefix" subject_prefix: String = "shipmate".to_owned(), prefix;
        "credentials" credentials: Option<PathBuf> = None, ();
        /// On how many servers a stream that is created is kept.
        "replicas" replicas: u64 = 1, 1..=5;
    }

    HostsConfig "hosts." else unknown {
        /// How long a host may give no sign before it counts as lost; taken when this machine becomes the
        /// first host.
        "lease-seconds" lease_seconds: u64 = 30, 3..=3_600;
        /// Which machines get the files that trees have copies of.
        "copy-to" copy_to: Vec<String> = Vec::new(), host;
    }
}

impl HooksConfig {
    /// By the names of their events.
    pub(crate) fn commands(&self) -> [(&'static str, &Vec<String>); 7] {
        [
            ("TaskCreated", &self.task_created),
            ("TaskCompleted", &self.task_completed),
            ("TeammateIdle", &self.teammate_idle),
            ("TeammateStarted", &self.teammate_started),
            ("TeammateDisappeared", &self.teammate_disappeared),
            ("PlanSubmitted", &self.plan_submitted),
            ("TeamShutdown", &self.team_shutdown),
        ]
    }
}

/// The nearest file's table counts as a whole.
fn program(
    config: &mut AgentsConfig,
    key: Key<'_>,
    value: Written<'_>,
    file: &mut File<'_>,
) -> Result<(), Wrong> {
    let program = agents::program(&key, value, file.folder, file.source)?;
    config.programs.insert(key.into_inner().into_owned(), program);
    Ok(())
}

/// The nearest file's table counts as a whole.
fn provider(
    config: &mut ModelsConfig,
    key: Key<'_>,
    value: Written<'_>,
    file: &mut File<'_>,
) -> Result<(), Wrong> {
    let provider = models::provider(&key, value, file.folder, file.source)?;
    config.providers.insert(key.into_inner().into_owned(), provider);
    Ok(())
}

fn unknown<T: Table>(
    _: &mut T,
    key: Key<'_>,
    _: Written<'_>,
    _: &mut File<'_>,
) -> Result<(), Wrong> {
    let e: toml::de::Error = serde::de::Error::unknown_field(key.get_ref(), T::KEYS);
    let (_, mistake) = unreadable(&e);
    Err((key.span().start, mistake))
}

fn table<'a>(name: &str, value: Written<'a>) -> Result<DeTable<'a>, Wrong> {
    let at = value.span().start;
    match value.into_inner() {
        DeValue::Table(table) => Ok(table),
        other => {
            let fact = format!("invalid type: {}, expected the table [{name}]", other.type_str());
            Err((at, (fact, format!("write [{name}] on a line, and its settings below it"))))
        }
    }
}
