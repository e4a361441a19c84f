//! A playbook: a way of working as data, recorded with the team that works by it.
//!
//! Everything here was checked before it was recorded; nothing a teammate writes can change
//! it. Texts may hold `{placeholders}`, which the runtime fills in when a phase begins. What
//! follows from it lies with its subject: `phase` goes from phase to phase, `message` keeps to
//! the routes, `escalation` climbs the levels.

mod gate;
mod talk;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::files::FileSet;
use crate::name::Name;
use crate::profile::Mode;

pub use gate::{Artifact, Coverage, Expect, Gate, Listed, Red};
pub use talk::{Escalation, Field, Kind, Route, Shape};

/// The metadata of a task that says which piece of work it is about.
pub const PIECE: &str = "piece";

/// A way of working.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Playbook {
    pub name: Name,
    /// What placeholders stand for in this run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    pub roles: BTreeMap<Name, Role>,
    /// In their order. A team goes through those of its level.
    pub phases: Vec<Phase>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub departments: Vec<Department>,
    /// What must have passed between departments, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub crossings: BTreeMap<Name, Crossing>,
    /// Which of them this team is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub department: Option<Name>,
    /// Phases that are left out of this run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skip: Vec<Name>,
    /// Where the work comes from that tasks are made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Source>,
    /// Who may write to whom; empty: everybody to everybody.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<Name, Kind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalation>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gates: BTreeMap<Name, Gate>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    #[serde(default)]
    pub order: ClaimOrder,
    #[serde(default, skip_serializing_if = "Counted::is_default")]
    pub counted: Counted,
    #[serde(default)]
    pub shutdown: ShutdownOrder,
    #[serde(default, skip_serializing_if = "CommitRule::is_default")]
    pub commit: CommitRule,
    /// When one agent does better than a team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single: Option<Single>,
    /// How long there is a team; from then on the lead does what is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<Cap>,
}

/// The time of a team, counted from a phase on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cap {
    pub ms: u64,
    /// The phase with whose beginning it begins; absent: the first that begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Name>,
    /// How long the others have to stop when it is over.
    pub shutdown_ms: u64,
}

/// How work is committed, and where it goes at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommitRule {
    /// The subject of a task's commit on the team's branch; empty: `task N: SUBJECT`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// A branch of the person's that follows the team's, and the name under which that is pushed;
    /// empty: its own.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub branch: String,
    /// The remote it is pushed to when the last phase is done; empty: nowhere.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub push: String,
    /// A pull request is opened for it then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pull_request: bool,
    /// How often a push is tried again.
    pub retries: u32,
}

impl CommitRule {
    fn is_default(&self) -> bool {
        *self == CommitRule::default()
    }
}

/// Less work than this is for one agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Single {
    /// Pieces (or groups, where the work has them) that wait for none of each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub independent_min: Option<u32>,
    /// Files of all pieces together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_min: Option<u32>,
    /// Files of the largest piece, where there are only two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_each_min: Option<u32>,
    /// Minutes of all pieces together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes_min: Option<u32>,
    /// What a file takes, where a piece does not say how long it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes_per_file: Option<u32>,
    /// What each teammate costs in planning and words, against what working side by side saves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead_minutes: Option<u32>,
}

/// What a member of a role is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Role {
    /// Where it is.
    pub level: Level,
    /// It leads the team; one role of a level.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lead: bool,
    /// A program or a command; empty: as for anybody.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// Another model for some work; the first that fits counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub upgrades: Vec<Upgrade>,
    /// The team's tools that it has; empty: all that its mode allows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    pub mode: Mode,
    /// What it is told about its role.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// What it may write; empty: anywhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
    /// Protected paths that it may write all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub may: Vec<String>,
    /// What a member is called after the piece of work that is its own; empty: after the role.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub named: String,
    /// What its members are called, with placeholders; empty: as the role is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub called: String,
    /// How many there are at most.
    pub cap: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reports_to: Option<Name>,
    /// A life for each task, and nobody to write to.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub one_shot: bool,
    /// When its plan has to be approved before it writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_when: Option<Weight>,
    /// What a plan has to meet: shown to whoever decides it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub criteria: String,
    /// A gate that has to pass in its own tree before it begins a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before_claim: Option<Name>,
}

/// A model for work of some weight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upgrade {
    pub model: String,
    pub when: Weight,
}

/// Work that weighs more than usual: one of these is enough.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Weight {
    /// So many files or more: those it names, and what is in the folders it names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_min: Option<u32>,
    /// It touches one of these.
    #[serde(skip_serializing_if = "FileSet::is_empty")]
    pub touches: FileSet,
    /// One of these words is in its subject or description.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// Its files lie in so many modules or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modules_min: Option<u32>,
    /// It has one of these fields.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub having: Vec<String>,
    /// Its files meet those of another piece.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
}

/// A stretch of the work with its own tasks, people and gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    pub name: Name,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    #[serde(default)]
    pub level: Level,
    /// What must be there before it begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entry: Vec<Condition>,
    /// It may be left out: when it is asked for, or when there is nothing for it to do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// Left out where all of this holds already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unless: Vec<Condition>,
    /// Left out where one agent works alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_team: bool,
    /// It is gone through only when a later one goes back to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_call: bool,
    /// A person is shown what it will be, and lets it begin.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approval: bool,
    /// Pieces of work that failed and are tried again when it begins anew: a list of handles in a
    /// file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redo: Option<Listed>,
    /// Tasks whose work is taken back from the branch at its end: a list of handles in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverts: Option<Listed>,
    /// What it makes. Where all of it is there when it begins, it has been done already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub makes: Vec<Condition>,
    /// It is done anew even where what it makes is there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Roles that join the team when it begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<Name>,
    /// The departments work in it, each through its own phases.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub departments: bool,
    /// The lead's mode from here on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead_mode: Option<Mode>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskTemplate>,
    /// The lead is told the goal, and puts the tasks on the board itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lead_plans: bool,
    /// Whoever joins is given its first task by name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dispatch: bool,
    /// Runs on the team's branch when the tasks are done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Name>,
    /// What must hold at its end, beyond its tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exit: Vec<Condition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// When its time is over.
    #[serde(default)]
    pub late: Trouble,
    /// When a task fails, or its gate or exit says no.
    #[serde(default)]
    pub failed: Trouble,
    /// Everybody but the lead is asked to stop at its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dismiss: bool,
    /// Everybody but the lead is asked to stop when it begins, and it lasts until they have.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
}

/// Which teams go through a phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The departments, or the one team where there are none.
    #[default]
    Team,
    /// The team above the departments.
    Root,
}

/// What becomes of a phase in trouble.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// The team stops, what is done is kept, and whoever it reports to is told.
    #[default]
    Stop,
    /// The next phase begins all the same.
    GoOn,
    /// Everybody else stops; the lead does what is left, with its hands free.
    Lead,
    /// An earlier phase begins again, so often at most; after that, `then`.
    Back {
        to: Name,
        rounds: u32,
        #[serde(default, skip_serializing_if = "is_stop")]
        then: Box<Trouble>,
    },
    /// The team stops, and every team of the run waits for the person.
    Halt,
}

fn is_stop(trouble: &Trouble) -> bool {
    *trouble == Trouble::Stop
}

/// What tasks of a phase are made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskTemplate {
    pub id: Name,
    #[serde(default)]
    pub each: Each,
    /// Only for pieces of work that have this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub having: Option<String>,
    /// Only in these departments; empty: in all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<Name>,
    /// Only where all of these departments take part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<Name>,
    /// Only when these hold as the phase begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub when: Vec<Condition>,
    /// Only for pieces of work that weigh as much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Weight>,
    /// Only from this round on, or only in the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<RoundRule>,
    pub subject: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Who does it: a role, or the lead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Name>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lead: bool,
    /// Absent for `each = item`: the item's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<String>>,
    /// Templates of the same phase that come first, for the same piece of work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Name>,
    /// Another gate than the team's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Name>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries_max: Option<u32>,
    /// Its work may be done without any change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_change: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Each {
    /// One task.
    #[default]
    Once,
    /// A task for each piece of work, waiting for each other as the pieces do.
    Item,
    /// A task for each group of work: a plan, say.
    Group,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundRule {
    First,
    Later,
}

/// Something that can be looked up on the team's branch, or in the team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// A file, or at least one of a pattern, and what it holds.
    File { path: String, test: Test },
    /// A department is through with all its phases.
    Department { name: Name },
    /// An earlier phase is over, or was left out.
    Phase { name: Name },
    /// What must pass between departments has passed.
    Crossing { name: Name },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// It is there and not empty.
    Exists,
    /// It is JSON, or lines of JSON.
    Json,
    /// A line of JSON has this key, and one of these values; none: any but nothing.
    Line { which: Which, key: String, is: Vec<String> },
    /// No block of what the team has written is longer: an unindented line and those below it.
    LinesMax(u32),
    /// No line that the team has written holds one of these.
    Lacks(Vec<String>),
    /// The team has changed at least one.
    Changed,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    First,
    #[default]
    Any,
    /// Every line after the first.
    Rest,
    All,
}

/// A team below the run's, with its own lead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Department {
    pub name: Name,
    /// The team's own name, with placeholders filled in.
    pub team: Name,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Departments that must be through before it begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Name>,
    /// And what else must be there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entry: Vec<Condition>,
    /// What it must leave alone.
    #[serde(default, skip_serializing_if = "FileSet::is_empty")]
    pub denies: FileSet,
    /// Its values for placeholders.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// Phases it does not go through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<Name>,
}

/// What must pass from departments to others. It counts only where all of them take part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Crossing {
    /// Empty: all that take part.
    pub of: Vec<Name>,
    /// They must be through with all their phases.
    pub through: bool,
    pub needs: Vec<Condition>,
}

/// Where pieces of work are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub format: SourceFormat,
    /// Files or patterns, on the team's branch.
    pub files: Vec<String>,
    /// `leave-out`: what is wrong in it is left out; else it is refused as a whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub malformed: String,
    /// `refuse`: pieces that could be worked on side by side must not share files.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub overlap: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceFormat {
    /// A header and tasks, one JSON object a line.
    PlanLines,
    /// `.harness/features.json`.
    Features,
    /// A table in Markdown: File, Change, Layer, Agent.
    Layers,
}

/// Which available task is taken first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimOrder {
    /// Priority, then the longest path behind it, then the number.
    #[default]
    Path,
    /// Priority, then the number.
    Number,
}

/// What the runtime counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counted {
    /// How often the same gate failure may come back before the lead has to see it.
    pub same_failure_max: Option<u32>,
    /// How often a file may be asked for by two before they are proposed to be one.
    pub contested_max: Option<u32>,
}

impl Counted {
    fn is_default(&self) -> bool {
        *self == Counted::default()
    }
}

/// In which order everybody is asked to stop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShutdownOrder {
    #[default]
    Together,
    /// One after the other: the next is asked when this one has answered, or its time is over.
    InTurn,
}

impl Playbook {
    /// The same as one of its departments works by it.
    pub fn of_department(&self, own: &Department) -> Playbook {
        let mut playbook = self.clone();
        playbook.department = Some(own.name.clone());
        playbook.values.insert("department".to_owned(), own.name.to_string());
        playbook.values.extend(own.values.clone());
        playbook
    }

    pub fn phase(&self, name: &Name) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.name == *name)
    }

    /// The level of the team that works by it.
    pub fn level(&self) -> Level {
        match (&self.department, self.departments.is_empty()) {
            (None, false) => Level::Root,
            _ => Level::Team,
        }
    }

    /// The phases that its team goes through, in their order.
    pub fn course(&self) -> impl Iterator<Item = &Phase> {
        let own = self.own_department();
        let without = own.map(|own| own.without.as_slice()).unwrap_or_default();
        let level = (!self.departments.is_empty()).then(|| self.level());
        self.phases.iter().filter(move |phase| {
            level.is_none_or(|level| phase.level == level) && !without.contains(&phase.name)
        })
    }

    /// Whether all of these departments take part.
    pub fn has_departments(&self, names: &[Name]) -> bool {
        names.iter().all(|name| self.departments.iter().any(|own| own.name == *name))
    }

    /// What the runtime writes for its team.
    pub fn own_artifacts(&self) -> impl Iterator<Item = &Artifact> {
        let level = (!self.departments.is_empty()).then(|| self.level());
        self.artifacts
            .iter()
            .filter(move |one| one.level.is_none() || level.is_none() || one.level == level)
    }

    pub fn own_department(&self) -> Option<&Department> {
        let own = self.department.as_ref()?;
        self.departments.iter().find(|department| department.name == *own)
    }

    /// The role that leads its team.
    pub fn lead(&self) -> Option<(&Name, &Role)> {
        let level = self.level();
        self.roles
            .iter()
            .find(|(_, role)| role.lead && (self.departments.is_empty() || role.level == level))
    }

    /// The role of whoever does not lead, where there is one alone.
    pub fn member(&self) -> Option<(&Name, &Role)> {
        let mut members = self.roles.iter().filter(|(_, role)| !role.lead);
        members.next().filter(|_| members.next().is_none())
    }

    pub fn role(&self, name: Option<&Name>) -> Option<&Role> {
        self.roles.get(name?)
    }
}
