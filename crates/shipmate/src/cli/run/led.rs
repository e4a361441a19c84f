//! What the records say about the lead of a run: how far its plan has come, what it told the
//! person, and why there will be none. What teammates tell the person is here too.

use std::collections::BTreeSet;

use shipmate_model::event::{MessageKind, Mode, Profile, Seat};

use super::progress::{EventKind, EventText};
use crate::cli::screen::first_line;

/// What a lead hands over that makes no plan.
const NO_PLAN: &str = "no_plan";

#[derive(Debug, Clone, Default)]
pub(crate) struct Led {
    lead: Option<String>,
    /// Who leads the run's team, with a plan to hand in or without.
    seat: Option<String>,
    /// The plan that waits to be decided.
    pub(crate) open: Option<u64>,
    /// Plans of teammates that wait to be decided.
    pub(crate) others: BTreeSet<u64>,
    /// Whoever leads can be talked to, and decides its teammates' plans.
    hears: bool,
    approved: bool,
    /// Why no plan comes.
    pub(crate) no_plan: Option<String>,
    /// The work is done: the lead was told so, or the playbook is over.
    pub(crate) is_done: bool,
    /// What it told the person after that.
    pub(crate) report: Option<String>,
}

impl Led {
    pub(super) fn added(&mut self, name: &str, profile: &Profile) {
        if profile.seat == Seat::Lead && !name.contains('/') {
            self.seat = Some(name.to_owned());
            self.hears = profile.hears;
        }
        if profile.seat == Seat::Lead && profile.mode == Mode::Plan {
            self.lead = Some(name.to_owned());
        }
    }

    pub(super) fn lead(&self) -> Option<&str> {
        self.lead.as_deref()
    }

    pub(super) fn seat(&self) -> Option<&str> {
        self.seat.as_deref()
    }

    pub(super) fn is_lead(&self, name: &str) -> bool {
        self.lead.as_deref() == Some(name)
    }

    /// It leads, with a plan to hand in or without.
    pub(super) fn leads(&self, name: &str) -> bool {
        self.seat() == Some(name) || self.is_lead(name)
    }

    /// It is the lead, and at its plan.
    pub(super) fn plans(&self, name: &str) -> bool {
        self.is_lead(name) && !self.approved
    }

    /// Somebody has handed in a plan; gives the one that a plan of the lead takes the place of.
    pub(super) fn submitted(&mut self, n: u64, is_leads: bool) -> Option<u64> {
        if is_leads {
            return self.open.replace(n);
        }
        self.others.insert(n);
        None
    }

    /// Plans that nobody but a person decides.
    pub(super) fn undecided(&self) -> BTreeSet<u64> {
        if self.hears { BTreeSet::new() } else { self.others.clone() }
    }

    /// The lead, if it was its plan that was decided.
    pub(super) fn decided(&mut self, plan: u64, approved: bool) -> Option<String> {
        self.others.remove(&plan);
        self.open.take_if(|open| *open == plan)?;
        self.approved |= approved;
        self.lead.clone().or_else(|| self.seat.clone())
    }

    /// What a person hears of a message that `from` sent them. A report waits for the end of the
    /// run, and is shown at once when a later one takes its place.
    pub(super) fn describe_message(
        &mut self,
        from: &str,
        kind: &MessageKind,
        body: &str,
    ) -> EventText {
        let body = body.to_owned();
        match kind {
            MessageKind::Handoff(name) if name.as_str() == NO_PLAN && self.is_lead(from) => {
                self.no_plan = Some(body);
                return None;
            }
            MessageKind::Message | MessageKind::Broadcast => {}
            _ => return None,
        }
        let shown = match (self.leads(from), self.is_done) {
            (true, true) => self.report.replace(body)?,
            (true, false) => body,
            // All of it is in the inbox; a teammate's page is not the run's.
            (false, _) => format!("{} (shipmate inbox)", first_line(body.trim())),
        };
        Some((EventKind::Health, format!("{from} says: {shown}")))
    }
}
