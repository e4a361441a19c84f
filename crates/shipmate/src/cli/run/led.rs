//! What the records say about the lead of a run: how far its plan has come, what it told the
//! person, and why there will be none. What teammates tell the person is here too.

use std::collections::BTreeSet;

use serde_json::Value;

use super::account::{first_line, text};
use super::progress::EventKind;

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
    pub(super) fn added(&mut self, name: &str, fields: &Value) {
        let profile = &fields["profile"];
        if profile["seat"] == "lead" && !name.contains('/') {
            self.seat = Some(name.to_owned());
            self.hears = profile["hears"] == true;
        }
        if profile["seat"] == "lead" && profile["mode"] == "plan" {
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

    /// It is the lead, and at its plan.
    pub(super) fn plans(&self, name: &str) -> bool {
        self.is_lead(name) && !self.approved
    }

    /// Whether the lead has handed in a plan, and the one it takes the place of.
    pub(super) fn submitted(&mut self, n: u64, who: &str, fields: &Value) -> (bool, Option<u64>) {
        match fields.get("work").is_some() || self.seat.as_deref() == Some(who) {
            true => (true, self.open.replace(n)),
            false => {
                self.others.insert(n);
                (false, None)
            }
        }
    }

    /// Plans that nobody but a person decides.
    pub(super) fn undecided(&mut self) -> BTreeSet<u64> {
        if self.hears { BTreeSet::new() } else { std::mem::take(&mut self.others) }
    }

    /// The lead, if it was its plan that was decided.
    pub(super) fn decided(&mut self, plan: u64, approved: bool) -> Option<String> {
        self.others.remove(&plan);
        self.open.take_if(|open| *open == plan)?;
        self.approved |= approved;
        self.lead.clone().or_else(|| self.seat.clone())
    }

    /// What a person hears of a message of `from` to these members, and to the person where its
    /// fields say so. A report waits for the end of the run, and is shown at once when a later one
    /// takes its place.
    pub(super) fn message(
        &mut self,
        fields: &Value,
        from: &str,
        members: &[String],
    ) -> Option<(EventKind, String)> {
        let kind = &fields["kind"];
        let is_own = self.seat.as_deref() == Some(from) || self.is_lead(from);
        if kind == "work_done" {
            let told =
                |lead: Option<&str>| lead.is_some_and(|lead| members.iter().any(|m| m == lead));
            self.is_done |= told(self.seat()) || told(self.lead());
            return None;
        }
        let to_person =
            fields["to"].as_array().is_some_and(|to| to.iter().any(|to| to == "person"));
        if !to_person || ["person", "runtime"].contains(&from) {
            return None;
        }
        let body = text(fields, "body").to_owned();
        if kind["handoff"] == "no_plan" && self.is_lead(from) {
            self.no_plan = Some(body);
            return None;
        }
        if kind != "message" && kind != "broadcast" {
            return None;
        }
        let shown = match (is_own, self.is_done) {
            (true, true) => self.report.replace(body)?,
            (true, false) => body,
            // All of it is in the inbox; a teammate's page is not the run's.
            (false, _) => format!("{} (shipmate inbox)", first_line(body.trim())),
        };
        Some((EventKind::Health, format!("{from} says: {shown}")))
    }
}
