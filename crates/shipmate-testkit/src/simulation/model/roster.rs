//! Teams and teammates in the account of the log.

use shipmate_model::event::{
    Event, Mode, Record, Seat, ShutdownAnswer, Supervision, Usage, Verification,
};
use shipmate_model::pause::PauseCause;
use shipmate_model::playbook::ClaimOrder;
use shipmate_model::profile::Loss;
use shipmate_model::{Actor, Address, TeammateRef};

use crate::simulation::vocabulary;

use super::{
    BreakerFacts, CourseFacts, LifeFacts, MateFacts, Model, Phase, QuestionFacts, ShutdownFacts,
    ShutdownStage, TeamFacts,
};

impl Model {
    pub(super) fn apply_to_roster(&mut self, record: &Record) {
        match &record.event {
            Event::TeamCreated { team, parent, verification, setup, .. } => {
                let book = setup.playbook.as_deref();
                let levels = book.and_then(|book| book.escalation.as_ref());
                let facts = TeamFacts {
                    parent: parent.clone(),
                    phase: Phase::Active,
                    gate: *verification == Verification::Gate,
                    base: setup.trees.as_ref().map(|trees| trees.base.clone()),
                    paused: false,
                    asks: None,
                    approved: None,
                    lead: None,
                    budget: Default::default(),
                    used: Usage::default(),
                    reserved: Usage::default(),
                    strikes: Default::default(),
                    breaker: BreakerFacts::Closed,
                    course: CourseFacts::of(book),
                    routes: book.map(|book| book.routes.clone()).unwrap_or_default(),
                    levels: levels.map(|rule| rule.levels.clone()).unwrap_or_default(),
                    by_number: book.is_some_and(|book| book.order == ClaimOrder::Number),
                };
                self.teams.insert(team.clone(), facts);
            }
            Event::TeamPaused { team, cause, .. } => {
                let team = self.team_mut(team);
                team.paused = true;
                team.asks = match cause {
                    Some(PauseCause::Approval { phase }) => Some((record.n, phase.clone())),
                    _ => None,
                };
            }
            Event::TeamContinued { team } => {
                let team = self.team_mut(team);
                team.paused = false;
                let phase = team.course.as_ref().map(|course| course.phase().clone());
                let answered = team.asks.take().map(|(_, asked)| asked);
                if answered.is_some() && answered == phase {
                    team.approved = answered;
                }
            }
            Event::TeamDeletionRequested { team } => self.team_mut(team).phase = Phase::Ending,
            Event::TeamDeleted { team } => self.team_mut(team).phase = Phase::Deleted,
            Event::TeamBudgetSet { team, budget } => self.team_mut(team).budget = *budget,
            Event::TeammateAdded { who, profile } => {
                let facts = MateFacts {
                    seat: profile.seat,
                    role: profile.role.clone(),
                    scope: vocabulary::patterns(&profile.scope),
                    command: profile.command.clone(),
                    one_shot: profile.one_shot,
                    mode: profile.mode,
                    tasks_max: profile.tasks_max,
                    epoch: self.mates.get(who).map_or(0, |before| before.epoch),
                    life: LifeFacts::Added,
                    supervision: Supervision::None,
                    paused: false,
                    spent: false,
                    claims: 0,
                    stalls: 0,
                    plan_approved: false,
                    planned: None,
                    shutdown: None,
                    budget: Default::default(),
                    used: Usage::default(),
                    reserved: Usage::default(),
                };
                self.mates.insert(who.clone(), facts);
                if profile.seat == Seat::Lead {
                    self.team_mut(&who.team).lead = Some(who.name.clone());
                }
            }
            Event::TeammateStarted { who, supervision, .. } => self.start(who, *supervision),
            Event::TeammatePaused { who, cause, .. } => {
                let mate = self.mate_mut(who);
                (mate.paused, mate.spent) = (true, *cause == Some(PauseCause::Budget));
            }
            Event::TeammateContinued { who } => {
                let mate = self.mate_mut(who);
                (mate.paused, mate.spent) = (false, false);
            }
            Event::TeammateAgentChanged { who, choice }
            | Event::TeammateFellOver { who, choice, .. } => {
                self.mate_mut(who).command.clone_from(&choice.command);
            }
            Event::TeammateModeChanged { who, mode } => self.mate_mut(who).mode = *mode,
            Event::TeammateDisappeared { who, loss, .. } => {
                self.end(who, LifeFacts::Disappeared);
                let team = self.team_mut(&who.address.team);
                if !matches!(loss, Loss::Host | Loss::Unable) {
                    team.strikes.insert(record.n);
                }
                if let BreakerFacts::HalfOpen(_, probe) = &mut team.breaker
                    && *loss == Loss::Unable
                {
                    probe.take_if(|probe| probe == who);
                }
            }
            Event::TeammateStalled { who, step } => self.mate_mut(&who.address).stalls = *step,
            Event::TeammateStopped { who, .. } => self.end(who, LifeFacts::Stopped),
            Event::TeammateRemoved { who } => {
                self.mate_mut(who).life = LifeFacts::Removed;
                self.owed.retain(|(own, _)| own != who);
                for raised in self.escalations.values_mut().filter(|own| own.from == *who) {
                    raised.open = false;
                }
                let escalated = |own: &&mut QuestionFacts| own.who.address == *who && own.escalated;
                for question in self.questions.values_mut().filter(escalated) {
                    question.open = false;
                }
                let lead = &mut self.team_mut(&who.team).lead;
                if lead.as_ref() == Some(&who.name) {
                    *lead = None;
                }
            }
            Event::TeammateBudgetSet { who, budget } => self.mate_mut(who).budget = *budget,
            _ => self.apply_to_health(record),
        }
    }

    fn apply_to_health(&mut self, record: &Record) {
        match &record.event {
            Event::ShutdownRequested { who, .. } => {
                if let Some(earlier) = self.mate_mut(&who.address).shutdown.replace(record.n)
                    && let Some(facts) = self.shutdowns.get_mut(&earlier)
                {
                    facts.end = ShutdownStage::Closed;
                }
                let facts = ShutdownFacts { who: who.clone(), end: ShutdownStage::Open };
                self.shutdowns.insert(record.n, facts);
            }
            Event::ShutdownAnswered { shutdown, answer } => {
                let rejected = matches!(answer, ShutdownAnswer::Rejected { .. });
                let Some(facts) = self.shutdowns.get_mut(shutdown) else { return };
                // Of a team that is being deleted a rejection is heard, and time still runs.
                let ending = self.teams[&facts.who.address.team].phase == Phase::Ending;
                if rejected && ending {
                    return;
                }
                facts.end = if rejected { ShutdownStage::Closed } else { ShutdownStage::Ending };
                let who = facts.who.address.clone();
                if rejected {
                    self.mate_mut(&who).shutdown = None;
                }
            }
            Event::ShutdownTimedOut { shutdown } => {
                if let Some(facts) = self.shutdowns.get_mut(shutdown) {
                    facts.end = ShutdownStage::Ending;
                }
            }
            Event::BreakerOpened { team } => {
                self.team_mut(team).breaker = BreakerFacts::Open(record.n);
            }
            Event::BreakerHalfOpened { team } => {
                self.team_mut(team).breaker = BreakerFacts::HalfOpen(record.n, None);
            }
            Event::BreakerClosed { team } => {
                let facts = self.team_mut(team);
                facts.breaker = BreakerFacts::Closed;
                facts.strikes.clear();
            }
            Event::BreakerStrikeForgiven { team, strike } => {
                self.team_mut(team).strikes.remove(strike);
            }
            Event::UsageReserved { who, usage } => {
                self.reservations.insert(record.n, (who.clone(), *usage));
                self.sum_reservations();
            }
            Event::UsageRecorded { who, usage, reservation, .. } => {
                if let Some(id) = reservation {
                    self.reservations.remove(id);
                    self.sum_reservations();
                }
                let mate = self.mate_mut(&who.address);
                mate.used = mate.used.plus(usage);
                for team in self.above(&who.address.team) {
                    let facts = self.team_mut(&team);
                    facts.used = facts.used.plus(usage);
                }
            }
            _ => {}
        }
    }

    /// A lead that plans or delegates takes only what is assigned to it.
    pub(crate) fn leads_others(&self, who: &Address) -> bool {
        let mate = &self.mates[who];
        let fills = self.course(&who.team).is_some_and(CourseFacts::is_filled_by_lead);
        mate.seat == Seat::Lead && (fills || matches!(mate.mode, Mode::Plan | Mode::Delegate))
    }

    /// A lead in plan mode makes nothing before its plan is approved.
    pub(crate) fn has_planned(&self, by: &Actor) -> bool {
        let Actor::Teammate(who) = by else { return true };
        let mate = &self.mates[&who.address];
        mate.seat != Seat::Lead || mate.mode != Mode::Plan || mate.plan_approved
    }

    fn start(&mut self, who: &TeammateRef, supervision: Supervision) {
        let mate = self.mate_mut(&who.address);
        mate.epoch = who.epoch;
        mate.life = LifeFacts::Running;
        mate.supervision = supervision;
        mate.plan_approved = false;
        (mate.claims, mate.stalls) = (0, 0);
        if let BreakerFacts::HalfOpen(_, probe @ None) =
            &mut self.team_mut(&who.address.team).breaker
            && supervision != Supervision::OneShot
        {
            *probe = Some(who.clone());
        }
    }

    fn end(&mut self, who: &TeammateRef, life: LifeFacts) {
        let mate = self.mate_mut(&who.address);
        mate.life = life;
        mate.plan_approved = false;
        if let Some(id) = mate.shutdown.take()
            && let Some(facts) = self.shutdowns.get_mut(&id)
        {
            facts.end = ShutdownStage::Closed;
        }
        self.reservations.retain(|_, (holder, _)| holder.address != who.address);
        self.sum_reservations();
        for plan in self.plans.values_mut().filter(|plan| plan.who == *who && !plan.work) {
            plan.open = false;
        }
        let own = self.questions.values_mut().filter(|question| question.who == *who);
        // A submission and an escalation outlive their life, and so does what they wait for.
        for question in own.filter(|own| own.task.is_none() && !own.escalated) {
            question.open = false;
        }
    }

    /// What is reserved is the sum of the open reservations, added up anew each time.
    fn sum_reservations(&mut self) {
        for facts in self.mates.values_mut() {
            facts.reserved = Usage::default();
        }
        for facts in self.teams.values_mut() {
            facts.reserved = Usage::default();
        }
        for (who, usage) in self.reservations.clone().into_values() {
            let mate = self.mate_mut(&who.address);
            mate.reserved = mate.reserved.plus(&usage);
            for team in self.above(&who.address.team) {
                let facts = self.team_mut(&team);
                facts.reserved = facts.reserved.plus(&usage);
            }
        }
    }

    /// Who of a team runs.
    pub(crate) fn running(&self, team: &shipmate_model::Name) -> Vec<TeammateRef> {
        let own = self.mates.iter().filter(|(who, _)| who.team == *team);
        own.filter(|(_, mate)| mate.life == LifeFacts::Running)
            .map(|(who, mate)| TeammateRef { address: who.clone(), epoch: mate.epoch })
            .collect()
    }

    /// Members of a team that can get mail.
    pub(crate) fn reachable(&self, team: &shipmate_model::Name) -> Vec<Address> {
        let own = self.mates.keys().filter(|who| who.team == *team);
        own.filter(|who| self.can_receive(who)).cloned().collect()
    }
}
