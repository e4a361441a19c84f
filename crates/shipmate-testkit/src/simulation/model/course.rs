//! Phases in the account of the log: where each team is in its playbook.

use std::collections::BTreeMap;

use shipmate_model::event::{Event, Record};
use shipmate_model::phase::PhaseEnd;
use shipmate_model::playbook::Playbook;
use shipmate_model::{Address, Name, Position};

use super::Model;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CourseFacts {
    filled: Vec<bool>,
    /// In their order, and whether each may be left out.
    pub(crate) phases: Vec<(Name, bool)>,
    pub(crate) at: usize,
    pub(crate) standing: StandingFacts,
    /// How often each has begun.
    pub(crate) begun: BTreeMap<Name, u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StandingFacts {
    Waiting,
    Running(Position),
    LeftToLead(Position),
    Over,
}

impl CourseFacts {
    /// Simulated playbooks have no departments: every phase is the team's.
    pub(crate) fn of(playbook: Option<&Playbook>) -> Option<CourseFacts> {
        let phases: Vec<_> =
            playbook?.phases.iter().map(|phase| (phase.name.clone(), phase.optional)).collect();
        let filled = playbook?.phases.iter().map(|phase| phase.lead_plans).collect();
        let (at, begun) = (0, BTreeMap::new());
        (!phases.is_empty()).then_some(CourseFacts {
            phases,
            filled,
            at,
            standing: StandingFacts::Waiting,
            begun,
        })
    }

    pub(crate) fn phase(&self) -> &Name {
        &self.phases[self.at].0
    }

    /// The lead puts the tasks of this phase on the board.
    pub(crate) fn is_filled_by_lead(&self) -> bool {
        self.filled[self.at]
    }

    pub(crate) fn is_optional(&self) -> bool {
        self.phases[self.at].1
    }

    /// The round that runs, or the one that would begin.
    pub(crate) fn round(&self) -> u32 {
        let begun = self.begun.get(self.phase()).copied().unwrap_or(0);
        if self.standing == StandingFacts::Waiting { begun + 1 } else { begun }
    }

    /// This phase is the one it is in or waits for.
    pub(crate) fn is_at(&self, phase: &Name, round: u32) -> bool {
        self.standing != StandingFacts::Over && self.phase() == phase && self.round() == round
    }

    fn end(&mut self, end: &PhaseEnd) {
        let next = match end {
            PhaseEnd::Failed { .. } => None,
            PhaseEnd::Back { to, .. } => self.phases.iter().position(|(name, _)| name == to),
            _ => Some(self.at + 1).filter(|next| *next < self.phases.len()),
        };
        match next {
            Some(next) => (self.at, self.standing) = (next, StandingFacts::Waiting),
            None => self.standing = StandingFacts::Over,
        }
    }
}

impl Model {
    pub(super) fn apply_to_course(&mut self, record: &Record) {
        let (Event::PhaseWaits { team, .. }
        | Event::PhaseBegan { team, .. }
        | Event::PhaseLeftToLead { team, .. }
        | Event::PhaseEnded { team, .. }) = &record.event
        else {
            return;
        };
        let course = self.team_mut(team).course.as_mut();
        let course = course.expect("checked before: the team has a playbook");
        match &record.event {
            Event::PhaseBegan { phase, .. } => {
                *course.begun.entry(phase.clone()).or_default() += 1;
                course.standing = StandingFacts::Running(record.n);
            }
            Event::PhaseLeftToLead { .. } => {
                course.standing = StandingFacts::LeftToLead(record.n);
            }
            Event::PhaseEnded { end, .. } => course.end(end),
            _ => {}
        }
    }

    pub(crate) fn course(&self, team: &Name) -> Option<&CourseFacts> {
        self.teams.get(team)?.course.as_ref()
    }

    /// Everything that is left in this team is its lead's, and this is the lead.
    pub(crate) fn takes_all(&self, who: &Address) -> bool {
        let left = |course: &CourseFacts| matches!(course.standing, StandingFacts::LeftToLead(_));
        self.course(&who.team).is_some_and(left)
            && self.mates[who].seat == shipmate_model::event::Seat::Lead
    }
}
