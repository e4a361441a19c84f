//! A playbook as it is written: the keys of the file, one struct a table.
//!
//! Only the form is held here, and every key may be missing: `read` tells of keys and types that
//! do not fit, `compile` of what is missing or means nothing, `check` of what does not fit
//! together. A key that is added here is known to all of them.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Visitor};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) about: String,
    pub(super) order: Option<String>,
    pub(super) shutdown: Option<String>,
    pub(super) select: Select,
    pub(super) single: Option<Single>,
    pub(super) values: BTreeMap<String, String>,
    pub(super) protected: Vec<String>,
    pub(super) minutes: Option<u64>,
    pub(super) shutdown_seconds: Option<u64>,
    pub(super) cap: Option<Cap>,
    pub(super) config: Option<Config>,
    pub(super) roles: BTreeMap<String, Role>,
    pub(super) departments: Vec<Department>,
    pub(super) crossings: BTreeMap<String, Crossing>,
    pub(super) phases: Vec<Phase>,
    pub(super) work: Option<Work>,
    pub(super) routes: Vec<Route>,
    pub(super) kinds: BTreeMap<String, Kind>,
    pub(super) escalation: Option<Escalation>,
    pub(super) gates: BTreeMap<String, Gate>,
    pub(super) artifacts: Vec<Artifact>,
    pub(super) limits: Limits,
    pub(super) commit: Commit,
}

/// How work is committed, and where it goes at the end.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Commit {
    pub(super) message: String,
    pub(super) branch: String,
    pub(super) push: String,
    pub(super) pull_request: bool,
    pub(super) retries: Option<u32>,
}

/// When the playbook is chosen by itself.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Select {
    /// One of these is in the repository.
    pub(super) files: Vec<String>,
    /// The environment variable that has to be on.
    pub(super) env: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Single {
    pub(super) independent_min: Option<u32>,
    pub(super) files_min: Option<u32>,
    pub(super) files_each_min: Option<u32>,
    pub(super) minutes_min: Option<u32>,
    pub(super) minutes_per_file: Option<u32>,
    pub(super) overhead_minutes: Option<u32>,
}

/// How long there is a team.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Cap {
    pub(super) minutes: Option<u64>,
    pub(super) seconds: Option<u64>,
    pub(super) from: Option<String>,
    pub(super) shutdown_seconds: Option<u64>,
}

/// A file of the project that has some of the values.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Config {
    pub(super) file: String,
    /// A value, and where in the file it is: `commands.test.full`.
    pub(super) values: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Role {
    pub(super) level: Option<String>,
    pub(super) lead: bool,
    pub(super) agent: String,
    pub(super) model: String,
    pub(super) upgrades: Vec<Upgrade>,
    pub(super) tools: Vec<String>,
    pub(super) mode: Option<String>,
    pub(super) prompt: String,
    pub(super) scope: Vec<String>,
    pub(super) may: Vec<String>,
    pub(super) named: String,
    pub(super) called: String,
    pub(super) cap: Option<u32>,
    pub(super) reports_to: Option<String>,
    pub(super) one_shot: bool,
    pub(super) plan_when: Option<Weight>,
    pub(super) criteria: String,
    pub(super) before_claim: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Upgrade {
    pub(super) model: String,
    pub(super) when: Weight,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Weight {
    pub(super) files_min: Option<u32>,
    pub(super) touches: Vec<String>,
    pub(super) words: Vec<String>,
    pub(super) modules_min: Option<u32>,
    pub(super) having: Vec<String>,
    pub(super) shared: bool,
    pub(super) always: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Department {
    pub(super) name: String,
    pub(super) team: Option<String>,
    pub(super) description: String,
    pub(super) after: Vec<String>,
    pub(super) entry: Vec<OrText<Condition>>,
    pub(super) denies: Vec<String>,
    pub(super) values: BTreeMap<String, String>,
    pub(super) without: Vec<String>,
}

/// What must pass between departments; of all where none is named.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Crossing {
    pub(super) of: Vec<String>,
    pub(super) through: bool,
    pub(super) needs: Vec<OrText<Condition>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Phase {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) level: Option<String>,
    pub(super) entry: Vec<OrText<Condition>>,
    pub(super) optional: bool,
    pub(super) unless: Vec<OrText<Condition>>,
    pub(super) for_team: bool,
    pub(super) on_call: bool,
    pub(super) approval: bool,
    pub(super) redo: Option<Listed>,
    pub(super) reverts: Option<Listed>,
    pub(super) makes: Vec<OrText<Condition>>,
    pub(super) again: bool,
    pub(super) roles: Vec<String>,
    pub(super) departments: bool,
    pub(super) lead_mode: Option<String>,
    pub(super) lead_plans: bool,
    pub(super) dispatch: bool,
    pub(super) deliberation: Option<Deliberation>,
    pub(super) tasks: Vec<Task>,
    pub(super) gate: Option<String>,
    pub(super) exit: Vec<OrText<Condition>>,
    pub(super) minutes: Option<u64>,
    pub(super) seconds: Option<u64>,
    pub(super) late: Option<OrText<Back>>,
    pub(super) failed: Option<OrText<Back>>,
    pub(super) dismiss: bool,
    pub(super) alone: bool,
}

/// Proposals, critique and a verdict; `deliberation` makes tasks of it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Deliberation {
    pub(super) question: String,
    pub(super) by: Vec<String>,
    pub(super) critics: Vec<String>,
    pub(super) judge: Option<String>,
    pub(super) folder: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Back {
    pub(super) back: String,
    pub(super) rounds: Option<u32>,
    pub(super) then: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Task {
    pub(super) id: String,
    pub(super) each: Option<String>,
    pub(super) having: Option<String>,
    pub(super) only: Vec<String>,
    pub(super) with: Vec<String>,
    pub(super) when: Vec<OrText<Condition>>,
    pub(super) weight: Option<Weight>,
    pub(super) round: Option<String>,
    pub(super) subject: String,
    pub(super) description: String,
    pub(super) role: Option<String>,
    pub(super) lead: bool,
    pub(super) files: Option<Vec<String>>,
    pub(super) needs: Vec<String>,
    pub(super) gate: Option<String>,
    pub(super) retries: Option<u32>,
    pub(super) no_change: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Condition {
    pub(super) file: Option<String>,
    pub(super) json: bool,
    pub(super) line: Option<String>,
    pub(super) key: Option<String>,
    pub(super) is: Option<OrText<Vec<String>>>,
    pub(super) lines_max: Option<u32>,
    pub(super) lacks: Option<OrText<Vec<String>>>,
    pub(super) changed: bool,
    pub(super) department: Option<String>,
    pub(super) phase: Option<String>,
    pub(super) crossing: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Work {
    pub(super) format: String,
    pub(super) files: Vec<String>,
    pub(super) malformed: String,
    pub(super) overlap: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Route {
    pub(super) from: Vec<String>,
    pub(super) to: Vec<String>,
    pub(super) kinds: Vec<String>,
    pub(super) across: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Kind {
    pub(super) about: String,
    /// `text`, `number`, `flag`, `any`, a list of texts (one of them), `[text]`, a table; `?` at
    /// the end of a key: it may be left out.
    pub(super) fields: toml::Table,
    /// It goes by this file and is never sent.
    pub(super) file: Option<String>,
    /// Only the runtime has it.
    pub(super) internal: bool,
    pub(super) keep: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Escalation {
    pub(super) levels: Vec<String>,
    pub(super) seconds: Option<u64>,
    pub(super) round_trips: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Gate {
    pub(super) commands: Vec<String>,
    pub(super) expect: Option<String>,
    pub(super) needs: Vec<String>,
    pub(super) otherwise: Option<String>,
    pub(super) exit: Vec<OrText<Condition>>,
    pub(super) finds: BTreeMap<String, Vec<String>>,
    pub(super) coverage: Option<Coverage>,
    pub(super) red: Option<Red>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Red {
    pub(super) commands: Vec<String>,
    pub(super) files: Vec<String>,
    pub(super) on: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Coverage {
    pub(super) files: Vec<String>,
    pub(super) target: String,
}

/// A list in a file of JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Listed {
    pub(super) file: String,
    pub(super) key: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Artifact {
    pub(super) format: String,
    pub(super) path: String,
    pub(super) on: Option<String>,
    pub(super) level: Option<String>,
    pub(super) live: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Limits {
    pub(super) same_failure: Option<u32>,
    pub(super) contested: Option<u32>,
}

/// A text, or something longer in its place.
#[derive(Debug)]
pub(super) enum OrText<T> {
    Text(String),
    Long(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OrText<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<OrText<T>, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = OrText<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or something longer in its place")
            }

            fn visit_str<E>(self, text: &str) -> Result<OrText<T>, E> {
                Ok(OrText::Text(text.to_owned()))
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                from: D,
            ) -> Result<OrText<T>, D::Error> {
                T::deserialize(from).map(OrText::Long)
            }
        }
        from.deserialize_newtype_struct("OrText", Either(PhantomData))
    }
}
