//! Where a team is in its playbook.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use shipmate_model::event::TaskId;
use shipmate_model::name::{Address, Name, Position};
use shipmate_model::phase::PhaseEnd;
use shipmate_model::playbook::{Phase, Playbook};
use shipmate_model::setup::Setup;

use super::{State, Team};

/// Where a team is in its playbook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Course {
    pub phase: Name,
    /// Which time it is, counted from 1.
    pub round: u32,
    pub standing: Standing,
    /// How often each phase has begun.
    pub rounds: BTreeMap<Name, u32>,
    pub past: Vec<Past>,
    /// Why the lead does all that is left, in every phase to come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<String>,
    /// The phase that a person was last asked about, and let begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<Name>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Waiting {
        missing: Vec<String>,
    },
    Running {
        began: Position,
        /// Wall clock.
        #[serde(default)]
        began_at: u64,
        /// Failed tasks that are not this phase's failures: they had failed when it began, or
        /// their work was taken back since.
        failed_before: BTreeSet<TaskId>,
        /// Everybody else has stopped, and the lead does what is left.
        left_to_lead: Option<Position>,
        /// What some of its work waits for, which is not on the board yet.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        awaits: Vec<String>,
    },
    /// Through, or stopped for good.
    Over,
}

/// A phase that is behind the team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    pub phase: Name,
    pub round: u32,
    pub end: PhaseEnd,
    /// Wall clock; the beginning is absent where it never began.
    #[serde(default)]
    pub began_at: Option<u64>,
    #[serde(default)]
    pub ended_at: u64,
}

impl Course {
    pub(crate) fn of(setup: &Setup) -> Option<Course> {
        let first = setup.playbook.as_ref()?.course().next()?;
        Some(Course {
            phase: first.name.clone(),
            round: 1,
            standing: Standing::Waiting { missing: Vec::new() },
            rounds: BTreeMap::new(),
            past: Vec::new(),
            alone: None,
            approved: None,
        })
    }

    pub fn is_over(&self) -> bool {
        self.standing == Standing::Over
    }

    /// It went through all its phases, and the last of them did not fail.
    pub fn is_through(&self) -> bool {
        let failed = |past: &Past| matches!(past.end, PhaseEnd::Failed { .. });
        self.is_over() && !self.past.iter().any(failed)
    }

    /// What it waits for: all of it, or some work of a phase that runs.
    pub fn awaits(&self) -> Option<&[String]> {
        match &self.standing {
            Standing::Waiting { missing } => Some(missing),
            Standing::Running { awaits, .. } if !awaits.is_empty() => Some(awaits),
            _ => None,
        }
    }

    pub fn is_left_to_lead(&self) -> bool {
        self.alone.is_some()
            || matches!(self.standing, Standing::Running { left_to_lead: Some(_), .. })
    }

    /// Where a phase runs.
    pub(crate) fn failed_before_mut(&mut self) -> Option<&mut BTreeSet<TaskId>> {
        match &mut self.standing {
            Standing::Running { failed_before, .. } => Some(failed_before),
            _ => None,
        }
    }

    /// How often a phase has sent the team back to another.
    pub(crate) fn backs(&self, from: &Name, to: &Name) -> u32 {
        let back = |past: &&Past| {
            past.phase == *from
                && matches!(&past.end, PhaseEnd::Back { to: there, .. } if there == to)
        };
        self.past.iter().filter(back).count() as u32
    }

    /// How a phase last ended.
    pub fn end_of(&self, phase: &Name) -> Option<&PhaseEnd> {
        self.past.iter().rev().find(|past| past.phase == *phase).map(|past| &past.end)
    }
}

impl Team {
    /// The phase it is in or waits for.
    pub fn phase_now(&self) -> Option<(&Playbook, &Phase, &Course)> {
        let (playbook, course) = (self.setup.playbook.as_deref()?, self.course.as_ref()?);
        Some((playbook, playbook.phase(&course.phase)?, course))
    }

    pub(crate) fn is_left_to_lead(&self) -> bool {
        self.course.as_ref().is_some_and(Course::is_left_to_lead)
    }
}

/// This one is to put tasks on the board in the phase that runs.
pub(crate) fn is_led_by(state: &State, who: &Address) -> bool {
    let Some(team) = state.teams.get(&who.team) else { return false };
    let now = team.phase_now().is_some_and(|(_, phase, course)| {
        phase.lead_plans && matches!(course.standing, Standing::Running { .. })
    });
    now && team.lead.as_ref() == Some(&who.name)
}
