//! The work that a lead plans: as it hands it in, and as it is recorded once it holds.
//!
//! A draft is what a model wrote, in its own words: nothing in it is checked. What is
//! recorded has names, patterns and dependencies that hold among themselves, so that an
//! approval can turn it into teammates and tasks in one step.

pub mod precedence;

use serde::{Deserialize, Serialize};

use crate::definition::Definition;
use crate::host::Place;
use crate::id::PlanId;
use crate::limits::PLANNED_TASKS_MAX;
use crate::name::Name;
use crate::profile::{AgentChoice, Mode, Profile};
use crate::task::{NewTask, TaskSpec};
use precedence::Precedence;

/// What a lead hands in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    pub tasks: Vec<DraftTask>,
    pub teammates: Vec<DraftTeammate>,
    /// Why one teammate is enough.
    pub single: Option<String>,
    /// What is wrong with it that only the outside knows, such as a program that is not there.
    pub problems: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DraftTask {
    pub key: String,
    pub subject: String,
    pub description: String,
    pub files: Vec<String>,
    /// Keys of the same plan.
    pub blocked_by: Vec<String>,
    pub role: Option<String>,
    pub assignee: Option<String>,
    pub priority: Option<i32>,
    pub duration_ms: Option<u64>,
    pub no_change: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DraftTeammate {
    pub name: String,
    pub role: Option<String>,
    pub agent: String,
    pub model: String,
    pub command: String,
    pub scope: Vec<String>,
    pub mode: Mode,
    pub hears: bool,
    pub place: Place,
    pub definition: Option<Box<Definition>>,
    pub fallback: Option<Box<AgentChoice>>,
}

impl Draft {
    /// How many of its tasks can be worked on at the same time at most. One that is too large is
    /// refused anyway, and not weighed before.
    pub fn width(&self) -> usize {
        match self.tasks.len() > PLANNED_TASKS_MAX {
            true => 1,
            false => self.precedence().width(),
        }
    }

    /// Which tasks come before which. Keys that nobody has are left out.
    pub fn precedence(&self) -> Precedence {
        let at = |key: &String| self.tasks.iter().position(|task| task.key == *key);
        let before = |task: &DraftTask| task.blocked_by.iter().filter_map(at).collect();
        Precedence::new(self.tasks.iter().map(before).collect())
    }
}

/// Work that holds together. It outlives the life that planned it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedWork {
    pub tasks: Vec<PlannedTask>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub teammates: Vec<PlannedTeammate>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTask {
    /// How the plan names it.
    pub key: String,
    pub spec: TaskSpec,
    /// Places in the same list of the tasks it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTeammate {
    pub name: Name,
    pub profile: Profile,
}

impl PlannedWork {
    pub fn new_tasks(&self) -> Vec<NewTask> {
        let new = |task: &PlannedTask| NewTask {
            spec: task.spec.clone(),
            blocked_by_new: task.after.clone(),
        };
        self.tasks.iter().map(new).collect()
    }

    fn precedence(&self) -> Precedence {
        Precedence::new(self.tasks.iter().map(|task| task.after.clone()).collect())
    }

    /// How many of its tasks can be worked on at the same time at most.
    pub fn width(&self) -> usize {
        self.precedence().width()
    }

    /// The tasks of its longest path, by their places, and how long that is.
    pub fn critical_path(&self) -> (Vec<usize>, u64) {
        let usual = crate::limits::DURATION_DEFAULT_MS;
        let lengths: Vec<u64> =
            self.tasks.iter().map(|task| task.spec.duration_ms.unwrap_or(usual)).collect();
        self.precedence().longest(&lengths)
    }
}

/// The answer to a plan that is approved.
pub fn approval_words(id: PlanId, has_work: bool) -> String {
    match has_work {
        false => format!("plan {id} is approved"),
        true => format!(
            "plan {id} is approved: its teammates and tasks are there, and you are in delegate mode"
        ),
    }
}
