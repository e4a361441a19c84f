//! A playbook as it is written: the keys of the file, one struct a table.
//!
//! Only the form is held here. What the values mean together is checked in `compile`.

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct File {
    pub(super) name: String,
    #[serde(default)]
    pub(super) title: String,
    #[serde(default)]
    pub(super) about: String,
    #[serde(default)]
    pub(super) order: Option<String>,
    #[serde(default)]
    pub(super) shutdown: Option<String>,
    #[serde(default)]
    pub(super) select: Select,
    #[serde(default)]
    pub(super) single: Option<Single>,
    #[serde(default)]
    pub(super) values: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) protected: Vec<String>,
    #[serde(default)]
    pub(super) minutes: Option<u64>,
    #[serde(default)]
    pub(super) shutdown_seconds: Option<u64>,
    #[serde(default)]
    pub(super) roles: BTreeMap<String, Role>,
    #[serde(default)]
    pub(super) departments: Vec<Department>,
    #[serde(default)]
    pub(super) phases: Vec<Phase>,
    #[serde(default)]
    pub(super) work: Option<Work>,
    #[serde(default)]
    pub(super) routes: Vec<Route>,
    #[serde(default)]
    pub(super) kinds: BTreeMap<String, Kind>,
    #[serde(default)]
    pub(super) escalation: Option<Escalation>,
    #[serde(default)]
    pub(super) gates: BTreeMap<String, Gate>,
    #[serde(default)]
    pub(super) artifacts: Vec<Artifact>,
    #[serde(default)]
    pub(super) limits: Limits,
    #[serde(default)]
    pub(super) commit: Commit,
}

/// How work is committed, and where it goes at the end.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct Commit {
    pub(super) message: String,
    pub(super) branch: String,
    pub(super) push: String,
    pub(super) retries: Option<u32>,
}

/// When the playbook is chosen by itself.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct Select {
    /// One of these is in the repository.
    pub(super) files: Vec<String>,
    /// The environment variable that has to be on.
    pub(super) env: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct Single {
    pub(super) independent_min: Option<u32>,
    pub(super) files_min: Option<u32>,
    pub(super) files_each_min: Option<u32>,
    pub(super) minutes_min: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
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
    pub(super) cap: Option<u32>,
    pub(super) reports_to: Option<String>,
    pub(super) one_shot: bool,
    pub(super) plan_when: Option<Weight>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Upgrade {
    pub(super) model: String,
    pub(super) when: Weight,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct Weight {
    pub(super) files_min: Option<u32>,
    pub(super) touches: Vec<String>,
    pub(super) words: Vec<String>,
    pub(super) always: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Department {
    pub(super) name: String,
    #[serde(default)]
    pub(super) team: Option<String>,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) after: Vec<String>,
    #[serde(default)]
    pub(super) entry: Vec<Condition>,
    #[serde(default)]
    pub(super) denies: Vec<String>,
    #[serde(default)]
    pub(super) values: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) without: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Phase {
    pub(super) name: String,
    #[serde(default)]
    pub(super) title: String,
    #[serde(default)]
    pub(super) level: Option<String>,
    #[serde(default)]
    pub(super) entry: Vec<Condition>,
    #[serde(default)]
    pub(super) optional: bool,
    #[serde(default)]
    pub(super) makes: Vec<Condition>,
    #[serde(default)]
    pub(super) roles: Vec<String>,
    #[serde(default)]
    pub(super) departments: bool,
    #[serde(default)]
    pub(super) lead_mode: Option<String>,
    #[serde(default)]
    pub(super) lead_plans: bool,
    #[serde(default)]
    pub(super) tasks: Vec<Task>,
    #[serde(default)]
    pub(super) gate: Option<String>,
    #[serde(default)]
    pub(super) exit: Vec<Condition>,
    #[serde(default)]
    pub(super) minutes: Option<u64>,
    #[serde(default)]
    pub(super) seconds: Option<u64>,
    #[serde(default)]
    pub(super) late: Option<Trouble>,
    #[serde(default)]
    pub(super) failed: Option<Trouble>,
    #[serde(default)]
    pub(super) dismiss: bool,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Trouble {
    Word(String),
    Back { back: String, rounds: u32 },
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Task {
    pub(super) id: String,
    #[serde(default)]
    pub(super) each: Option<String>,
    #[serde(default)]
    pub(super) having: Option<String>,
    #[serde(default)]
    pub(super) round: Option<String>,
    pub(super) subject: String,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) role: Option<String>,
    #[serde(default)]
    pub(super) lead: bool,
    #[serde(default)]
    pub(super) files: Option<Vec<String>>,
    #[serde(default)]
    pub(super) needs: Vec<String>,
    #[serde(default)]
    pub(super) gate: Option<String>,
    #[serde(default)]
    pub(super) retries: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Condition {
    Path(String),
    Table(ConditionTable),
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct ConditionTable {
    pub(super) file: Option<String>,
    pub(super) json: bool,
    pub(super) line: Option<String>,
    pub(super) key: Option<String>,
    pub(super) is: Option<Texts>,
    pub(super) department: Option<String>,
    pub(super) phase: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Texts {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Work {
    pub(super) format: String,
    pub(super) files: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct Route {
    pub(super) from: Vec<String>,
    pub(super) to: Vec<String>,
    pub(super) kinds: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct Kind {
    pub(super) about: String,
    /// `text`, `number`, `flag`, `any`, a list of texts (one of them), `[text]`, a table; `?` at
    /// the end of a key: it may be left out.
    pub(super) fields: toml::Table,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Escalation {
    pub(super) levels: Vec<String>,
    pub(super) seconds: u64,
    pub(super) round_trips: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Gate {
    #[serde(default)]
    pub(super) commands: Vec<String>,
    #[serde(default)]
    pub(super) expect: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Artifact {
    pub(super) format: String,
    pub(super) path: String,
    #[serde(default)]
    pub(super) on: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct Limits {
    pub(super) same_failure: Option<u32>,
    pub(super) contested: Option<u32>,
}
