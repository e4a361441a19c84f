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
pub struct File {
    pub name: String,
    pub title: String,
    pub about: String,
    pub order: Option<String>,
    pub shutdown: Option<String>,
    pub select: Select,
    pub single: Option<Single>,
    pub values: BTreeMap<String, String>,
    pub protected: Vec<String>,
    pub minutes: Option<u64>,
    pub shutdown_seconds: Option<u64>,
    pub cap: Option<Cap>,
    pub config: Option<Config>,
    pub roles: BTreeMap<String, Role>,
    pub departments: Vec<Department>,
    pub crossings: BTreeMap<String, Crossing>,
    pub phases: Vec<Phase>,
    pub work: Option<Work>,
    pub routes: Vec<Route>,
    pub kinds: BTreeMap<String, Kind>,
    pub escalation: Option<Escalation>,
    pub gates: BTreeMap<String, Gate>,
    pub artifacts: Vec<Artifact>,
    pub limits: Limits,
    pub commit: Commit,
}

/// How work is committed, and where it goes at the end.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Commit {
    pub message: String,
    pub branch: String,
    pub push: String,
    pub pull_request: bool,
    pub retries: Option<u32>,
}

/// When the playbook is chosen by itself.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Select {
    /// One of these is in the repository.
    pub files: Vec<String>,
    /// The environment variable that has to be on.
    pub env: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Single {
    pub independent_min: Option<u32>,
    pub files_min: Option<u32>,
    pub files_each_min: Option<u32>,
    pub minutes_min: Option<u32>,
    pub minutes_per_file: Option<u32>,
    pub overhead_minutes: Option<u32>,
}

/// How long there is a team.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Cap {
    pub minutes: Option<u64>,
    pub seconds: Option<u64>,
    pub from: Option<String>,
    pub shutdown_seconds: Option<u64>,
}

/// A file of the project that has some of the values.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Config {
    pub file: String,
    /// A value, and where in the file it is: `commands.test.full`.
    pub values: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Role {
    pub level: Option<String>,
    pub lead: bool,
    pub agent: String,
    pub model: String,
    pub upgrades: Vec<Upgrade>,
    pub tools: Vec<String>,
    pub mode: Option<String>,
    pub prompt: String,
    pub scope: Vec<String>,
    pub may: Vec<String>,
    pub named: String,
    pub called: String,
    pub cap: Option<u32>,
    pub reports_to: Option<String>,
    pub one_shot: bool,
    pub plan_when: Option<Weight>,
    pub criteria: String,
    pub before_claim: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Upgrade {
    pub model: String,
    pub when: Weight,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Weight {
    pub files_min: Option<u32>,
    pub touches: Vec<String>,
    pub words: Vec<String>,
    pub modules_min: Option<u32>,
    pub having: Vec<String>,
    pub shared: bool,
    pub always: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Department {
    pub name: String,
    pub team: Option<String>,
    pub description: String,
    pub after: Vec<String>,
    pub entry: Vec<OrText<Condition>>,
    pub denies: Vec<String>,
    pub values: BTreeMap<String, String>,
    pub without: Vec<String>,
}

/// What must pass between departments; of all where none is named.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Crossing {
    pub of: Vec<String>,
    pub through: bool,
    pub needs: Vec<OrText<Condition>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Phase {
    pub name: String,
    pub title: String,
    pub level: Option<String>,
    pub entry: Vec<OrText<Condition>>,
    pub optional: bool,
    pub unless: Vec<OrText<Condition>>,
    pub for_team: bool,
    pub on_call: bool,
    pub approval: bool,
    pub redo: Option<Listed>,
    pub reverts: Option<Listed>,
    pub makes: Vec<OrText<Condition>>,
    pub again: bool,
    pub roles: Vec<String>,
    pub departments: bool,
    pub lead_mode: Option<String>,
    pub lead_plans: bool,
    pub dispatch: bool,
    pub deliberation: Option<Deliberation>,
    pub tasks: Vec<Task>,
    pub gate: Option<String>,
    pub exit: Vec<OrText<Condition>>,
    pub minutes: Option<u64>,
    pub seconds: Option<u64>,
    pub late: Option<OrText<Back>>,
    pub failed: Option<OrText<Back>>,
    pub dismiss: bool,
    pub alone: bool,
}

/// Proposals, critique and a verdict; `deliberation` makes tasks of it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Deliberation {
    pub question: String,
    pub by: Vec<String>,
    pub critics: Vec<String>,
    pub judge: Option<String>,
    pub folder: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Back {
    pub back: String,
    pub rounds: Option<u32>,
    pub then: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Task {
    pub id: String,
    pub each: Option<String>,
    pub having: Option<String>,
    pub only: Vec<String>,
    pub with: Vec<String>,
    pub when: Vec<OrText<Condition>>,
    pub weight: Option<Weight>,
    pub round: Option<String>,
    pub subject: String,
    pub description: String,
    pub role: Option<String>,
    pub lead: bool,
    pub files: Option<Vec<String>>,
    pub needs: Vec<String>,
    pub gate: Option<String>,
    pub retries: Option<u32>,
    pub no_change: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Condition {
    pub file: Option<String>,
    pub json: bool,
    pub line: Option<String>,
    pub key: Option<String>,
    pub is: Option<OrText<Vec<String>>>,
    pub lines_max: Option<u32>,
    pub lacks: Option<OrText<Vec<String>>>,
    pub changed: bool,
    pub department: Option<String>,
    pub phase: Option<String>,
    pub crossing: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Work {
    pub format: String,
    pub files: Vec<String>,
    pub malformed: String,
    pub overlap: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Route {
    pub from: Vec<String>,
    pub to: Vec<String>,
    pub kinds: Vec<String>,
    pub across: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Kind {
    pub about: String,
    /// `text`, `number`, `flag`, `any`, a list of texts (one of them), `[text]`, a table; `?` at
    /// the end of a key: it may be left out.
    pub fields: toml::Table,
    /// It goes by this file and is never sent.
    pub file: Option<String>,
    /// Only the runtime has it.
    pub internal: bool,
    pub keep: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Escalation {
    pub levels: Vec<String>,
    pub seconds: Option<u64>,
    pub round_trips: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Gate {
    pub commands: Vec<String>,
    pub expect: Option<String>,
    pub needs: Vec<String>,
    pub otherwise: Option<String>,
    pub exit: Vec<OrText<Condition>>,
    pub finds: BTreeMap<String, Vec<String>>,
    pub coverage: Option<Coverage>,
    pub red: Option<Red>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Red {
    pub commands: Vec<String>,
    pub files: Vec<String>,
    pub on: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Coverage {
    pub files: Vec<String>,
    pub target: String,
}

/// A list in a file of JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Listed {
    pub file: String,
    pub key: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Artifact {
    pub format: String,
    pub path: String,
    pub on: Option<String>,
    pub level: Option<String>,
    pub live: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Limits {
    pub same_failure: Option<u32>,
    pub contested: Option<u32>,
}

/// A text, or something longer in its place.
#[derive(Debug)]
pub enum OrText<T> {
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
