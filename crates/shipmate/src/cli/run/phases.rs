//! How far a run is in its playbook, folded from its records.
//!
//! The run is over when its first team has gone through its phases; departments below it are
//! told of, and do not end it.

use std::collections::BTreeMap;

use serde::Serialize;
use shipmate_model::phase::PhaseEnd;
use shipmate_model::playbook::Playbook;
use shipmate_model::status::PhaseState;
use shipmate_model::{Event, Name};

use super::progress::{EventKind, EventText};

/// The phases of all teams of a run.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    root: Option<Name>,
    teams: BTreeMap<Name, Course>,
    pub(crate) ended: Vec<PhaseLine>,
}

#[derive(Debug, Default)]
struct Course {
    /// Its phases in order, each with whether the lead makes its tasks.
    all: Vec<(Name, bool)>,
    now: Option<Name>,
    begun: bool,
    /// What was said about the phase that waits.
    waits: Option<String>,
    /// Something is missing that cannot come from outside.
    is_held_up: bool,
    over: Option<bool>,
}

impl Course {
    /// Which of its phases the team is in.
    fn place(&self) -> Option<usize> {
        self.all.iter().position(|(name, _)| self.now.as_ref() == Some(name))
    }
}

/// A phase that is over.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PhaseLine {
    pub(crate) team: Name,
    pub(crate) phase: Name,
    pub(crate) round: u32,
    pub(crate) end: PhaseState,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) why: String,
}

impl Phases {
    pub(crate) fn created(&mut self, team: &Name, playbook: Option<&Playbook>) {
        self.root.get_or_insert_with(|| team.clone());
        let Some(playbook) = playbook else { return };
        let all = playbook.course().map(|phase| (phase.name.clone(), phase.lead_plans)).collect();
        self.teams.insert(team.clone(), Course { all, ..Course::default() });
    }

    /// What a person should hear of a record about a phase.
    pub(crate) fn take(&mut self, event: &Event) -> EventText {
        let (Event::PhaseWaits { team, phase, .. }
        | Event::PhaseBegan { team, phase, .. }
        | Event::PhaseLeftToLead { team, phase, .. }
        | Event::PhaseEnded { team, phase, .. }) = event
        else {
            return None;
        };
        let shown = match self.root.as_ref() == Some(team) {
            true => format!("phase {phase}"),
            false => format!("{team}: phase {phase}"),
        };
        let course = self.teams.entry(team.clone()).or_default();
        match event {
            Event::PhaseWaits { missing, outside, .. } => {
                course.is_held_up = !missing.is_empty() && !outside;
                let text = match missing.as_slice() {
                    [] => format!("{shown} has what it waited for"),
                    missing => format!("{shown} waits: {}", missing.join("; ")),
                };
                course.waits = Some(text.clone()).filter(|_| !missing.is_empty());
                Some((EventKind::Health, text))
            }
            Event::PhaseBegan { round, notes, .. } => {
                course.now = Some(phase.clone());
                course.waits = None;
                course.begun = true;
                course.is_held_up = false;
                let again = if *round > 1 { format!(", round {round}") } else { String::new() };
                let notes: String = notes.iter().map(|note| format!("\n  {note}")).collect();
                Some((EventKind::Step, format!("{shown} begins{again}{notes}")))
            }
            // Before any phase has begun nothing fell back: it is work for one from the start.
            Event::PhaseLeftToLead { reason, .. } if !course.begun => {
                Some((EventKind::Step, format!("one agent does it all: {reason}")))
            }
            Event::PhaseLeftToLead { reason, .. } => {
                Some((EventKind::Fallback, format!("{shown} is left to the lead: {reason}")))
            }
            Event::PhaseEnded { round, end, .. } => {
                course.now = None;
                course.waits = None;
                let (end, words, why) = match end {
                    PhaseEnd::Done { note } => (PhaseState::Done, "is done", note),
                    PhaseEnd::Skipped { reason } => (PhaseState::Skipped, "is left out", reason),
                    PhaseEnd::Back { reason, .. } => (PhaseState::Back, "goes back", reason),
                    PhaseEnd::Passed { reason } => {
                        (PhaseState::Passed, "failed, and the team goes on", reason)
                    }
                    PhaseEnd::Failed { reason } => (PhaseState::Failed, "failed", reason),
                };
                match end {
                    PhaseState::Failed => course.over = Some(false),
                    PhaseState::Back => {}
                    _ if course.all.last().is_some_and(|(last, _)| last == phase) => {
                        course.over = Some(true)
                    }
                    _ => {}
                }
                let is_step = matches!(end, PhaseState::Done | PhaseState::Skipped);
                let kind = if is_step { EventKind::Step } else { EventKind::Health };
                let (team, phase, why) = (team.clone(), phase.clone(), why.clone());
                let reason = if why.is_empty() { String::new() } else { format!(": {why}") };
                self.ended.push(PhaseLine { team, phase, round: *round, end, why });
                Some((kind, format!("{shown} {words}{reason}")))
            }
            _ => None,
        }
    }

    pub(crate) fn root(&self) -> Option<&Name> {
        self.root.as_ref()
    }

    /// Whether the run has a playbook that is not over yet.
    pub(crate) fn are_open(&self) -> bool {
        self.root_course().is_some_and(|course| course.over.is_none())
    }

    /// The run went through its playbook (true) or stopped in it.
    pub(crate) fn over(&self) -> Option<bool> {
        self.root_course()?.over
    }

    /// Every phase that could go on waits for something.
    pub(crate) fn all_wait(&self) -> bool {
        let open = || self.teams.iter().filter(|(_, course)| course.over.is_none());
        let waits = |course: &Course| course.now.is_none() && course.is_held_up;
        // The team above the departments waits for them, in a phase of its own.
        let is_above = |team: &Name| self.root.as_ref() == Some(team) && open().count() > 1;
        open().all(|(team, course)| waits(course) || is_above(team))
    }

    /// What phases still wait for.
    pub(crate) fn waits(&self) -> impl Iterator<Item = &String> {
        self.teams.values().filter_map(|course| course.waits.as_ref())
    }

    /// The run's team is in a phase whose tasks its lead makes.
    pub(crate) fn is_led(&self) -> bool {
        let is_led = |course: &Course| course.place().is_some_and(|at| course.all[at].1);
        self.root_course().is_some_and(is_led)
    }

    /// The phase that the run's team is in, and what it waits for.
    pub(crate) fn now(&self) -> Option<String> {
        let course = self.root_course()?;
        let at = course.place()?;
        Some(format!("phase {} ({}/{})", course.all[at].0, at + 1, course.all.len()))
    }

    fn root_course(&self) -> Option<&Course> {
        self.teams.get(self.root.as_ref()?)
    }
}
