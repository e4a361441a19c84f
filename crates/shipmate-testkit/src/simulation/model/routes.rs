//! Routes and escalations in the account of the log.

use shipmate_model::event::{Event, MessageKind, Recipient, Record, Seat};
use shipmate_model::playbook::Route;
use shipmate_model::{Actor, Address};

use super::{EscalationFacts, Model, TeamFacts};

impl Model {
    pub(super) fn apply_to_routes(&mut self, record: &Record) {
        match &record.event {
            Event::MessageSent {
                to, kind: MessageKind::Message | MessageKind::Handoff(_), ..
            } => self.note_answers(&record.by, to),
            Event::EscalationRaised { escalation, from, to, question, .. } => {
                if let Some(facts) = question.and_then(|id| self.questions.get_mut(&id)) {
                    facts.escalated = true;
                }
                let facts = EscalationFacts { from: from.clone(), to: to.clone(), open: true };
                self.escalations.insert(escalation.unwrap_or(record.n), facts);
            }
            Event::EscalationResolved { escalation } => {
                if let Some(facts) = self.escalations.get_mut(escalation) {
                    facts.open = false;
                }
            }
            _ => {}
        }
    }

    fn note_answers(&mut self, by: &Actor, to: &[Recipient]) {
        let sender = match by {
            Actor::Teammate(who) => Recipient::Member(who.address.clone()),
            Actor::Person => Recipient::Person,
            Actor::Runtime | Actor::Outside => return,
        };
        for recipient in to {
            if let Recipient::Member(own) = &sender {
                self.owed.remove(&(own.clone(), recipient.clone()));
            }
            if let Recipient::Member(who) = recipient {
                self.owed.insert((who.clone(), sender.clone()));
            }
        }
    }

    /// Some team has routes or levels.
    pub(crate) fn has_rules(&self) -> bool {
        let rules = |team: &TeamFacts| !team.routes.is_empty() || !team.levels.is_empty();
        self.teams.values().any(rules)
    }

    /// A route leads from this member to that recipient with this kind; no routes at all do.
    pub(crate) fn is_routed(&self, from: &Address, kind: &str, to: &Recipient) -> bool {
        let own = &self.teams[&from.team];
        let other = match to {
            Recipient::Member(to) => Some(&self.teams[&to.team]),
            Recipient::Person => None,
        };
        let across = matches!(to, Recipient::Member(to) if to.team != from.team);
        let routes = match other {
            Some(other) if own.routes.is_empty() && across => &other.routes,
            _ => &own.routes,
        };
        let answers = kind == "message" && self.owed.contains(&(from.clone(), to.clone()));
        let is_top =
            own.levels.last().is_some_and(|top| self.mates[from].role.as_ref() == Some(top));
        let leads = own.parent.is_none() && self.mates[from].seat == Seat::Lead;
        let reports = *to == Recipient::Person && (is_top || leads);
        let role = self.mates[from].role.as_ref();
        let fits = |route: &Route| {
            let sends = route.from.is_empty() || route.from.iter().any(|own| Some(own) == role);
            let says = route.kinds.is_empty() || route.kinds.iter().any(|own| own.as_str() == kind);
            let reaches = match to {
                Recipient::Person => route.person || route.to.is_empty(),
                Recipient::Member(to) => {
                    let role = self.mates[to].role.as_ref();
                    let named = route.to.iter().any(|own| Some(own) == role);
                    (route.across || !across) && (named || (route.to.is_empty() && !route.person))
                }
            };
            sends && says && reaches
        };
        routes.is_empty() || answers || reports || routes.iter().any(fits)
    }
}
