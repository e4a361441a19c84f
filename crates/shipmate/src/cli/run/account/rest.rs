//! Whether a run has come to rest: everything is done, somebody has to decide, or nothing can go on.

use super::super::report::Outcome;
use super::super::tasks::Status;
use super::{Account, MateLine};
use shipmate_model::Name;

impl Account {
    /// How the run ended, where it is over.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        let counts = self.tasks.counts();
        let (over, all) = (self.phases.over(), counts.done == counts.total);
        if self.is_gone {
            let is_done = match over {
                Some(through) => through && all,
                // A lead that was told so ends its team before the phase is.
                None if self.phases.are_open() => self.led.is_done && all,
                None => counts.total > 0 && all,
            };
            let ended = if is_done { Outcome::Complete } else { Outcome::Stopped };
            return Some(self.stopping.unwrap_or(ended));
        }
        // A playbook may go on without what failed, and is not done for that.
        let is_short = over.is_some_and(|through| !through || !all);
        self.is_over().then_some(match (is_short, counts.done) {
            (false, _) => Outcome::Complete,
            (true, 0) => Outcome::Failed,
            (true, _) => Outcome::Partial,
        })
    }

    /// Every task is completed and nobody runs any more.
    pub(crate) fn is_over(&self) -> bool {
        match self.phases.over() {
            None if self.phases.are_open() => return false,
            Some(_) => return !self.is_attended(),
            None => {}
        }
        let counts = self.tasks.counts();
        counts.total > 0 && counts.done == counts.total && !self.is_attended()
    }

    /// Somebody runs that the runtime has started. A session is not waited for.
    fn is_attended(&self) -> bool {
        self.mates.values().any(|mate| mate.running && !mate.by_hand)
    }

    /// Every task is completed, and only the lead is still there, to say so.
    pub(crate) fn awaits_report(&self) -> bool {
        let counts = self.tasks.counts();
        let running = || self.mates.iter().filter(|(_, mate)| mate.running);
        counts.total > 0
            && counts.done == counts.total
            && running().count() > 0
            && running().all(|(name, mate)| self.led.is_lead(name) && !self.is_silent(mate))
    }

    /// Its account has no room now.
    fn is_parked(&self, mate: &MateLine) -> bool {
        mate.account.as_ref().is_some_and(|account| self.has_no_room(account))
    }

    /// It asks its model nothing, even if it leads.
    fn is_silent(&self, mate: &MateLine) -> bool {
        let closed = |account: &Name| self.full.get(account).is_some_and(|full| full.closed);
        let account = mate.account.as_ref();
        account.is_some_and(|account| self.refused.contains_key(account) || closed(account))
    }

    /// It goes on by itself when its account has room again.
    fn will_go_on(&self, mate: &MateLine) -> bool {
        self.is_parked(mate) && !mate.paused && self.caps.unwrap_or_default().resumes
    }

    /// Room for an account would let something go on, and comes by itself.
    fn waits_for_room(&self) -> bool {
        let resumes = self.caps.unwrap_or_default().resumes && self.paused.is_none();
        let counts = self.tasks.counts();
        let is_work = counts.in_progress + counts.submitted + counts.available > 0;
        // Whoever leads may find more.
        let leads = |(name, mate): (&String, &MateLine)| {
            self.led.leads(name) && self.is_parked(mate) && !mate.paused
        };
        resumes && self.without_room().next().is_some() && (is_work || self.mates.iter().any(leads))
    }

    /// An account has no room, and only a person's word ends that.
    pub(crate) fn waits_for_account(&self) -> bool {
        self.without_room().next().is_some() && !self.caps.unwrap_or_default().resumes
    }

    /// Somebody waits for a budget.
    pub(crate) fn is_spent(&self) -> bool {
        self.mates.values().any(|mate| mate.running && mate.spent)
    }

    /// Tasks that were handed in and land or come back by themselves.
    fn at_the_gate(&self) -> usize {
        // A queue that the runtime has stopped goes on with nothing that is handed in.
        if self.halt().is_some() {
            return 0;
        }
        let waits = self.waiting.values().filter_map(|waits| waits.task);
        let is_handed_in =
            |id: &u32| self.tasks.get(*id).is_some_and(|task| task.status() == Status::Submitted);
        self.tasks.counts().submitted.saturating_sub(waits.filter(is_handed_in).count())
    }

    fn running(&self) -> impl Iterator<Item = (&String, &MateLine)> {
        self.mates.iter().filter(|(_, mate)| mate.running)
    }

    /// It waits for an answer.
    fn asks(&self, name: &str) -> bool {
        self.waiting.values().any(|waits| waits.who == name)
    }

    /// Tasks that somebody works on who waits for no answer.
    fn at_work(&self) -> usize {
        let held = self.running().filter(|(name, _)| self.asks(name));
        let held = held.map(|(_, mate)| mate.held.len()).sum();
        self.tasks.counts().in_progress.saturating_sub(held)
    }

    /// Nobody runs, and what was handed in has landed or come back.
    pub(crate) fn has_stopped(&self) -> bool {
        self.running().next().is_none() && self.at_the_gate() == 0
    }

    /// What a team that is being ended still waits for.
    pub(crate) fn left_to_stop(&self) -> String {
        let names: Vec<&str> = self.running().map(|(name, _)| name.as_str()).collect();
        let running = match names.as_slice() {
            [] => None,
            [one] => Some(format!("{one} ends")),
            [one, two] => Some(format!("{one} and {two} end")),
            many => Some(format!("{} teammates end", many.len())),
        };
        let gate = match self.at_the_gate() {
            0 => None,
            1 => Some("1 task is at the gate".to_owned()),
            count => Some(format!("{count} tasks are at the gate")),
        };
        running.into_iter().chain(gate).collect::<Vec<_>>().join("; ")
    }

    /// Nothing goes on without a person's word: whoever works waits for an answer, and nobody who is
    /// free has something to take.
    pub(crate) fn waits_for_person(&self) -> bool {
        if self.decisions().is_empty() {
            return false;
        }
        let asks = |name: &str| self.asks(name);
        let counts = self.tasks.counts();
        let may_take = self.paused.is_none()
            && counts.available > 0
            && self.nobody_takes != Some(true)
            && self
                .running()
                .any(|(name, mate)| !mate.paused && !asks(name) && !self.is_parked(mate));
        // A lead that is at its plan.
        let plans = counts.total == 0
            && self.running().any(|(name, _)| self.led.is_lead(name) && !asks(name));
        // A lead that may answer in place of the person, once its account has room.
        let leads = |(name, mate): (&String, &MateLine)| {
            self.led.seat() == Some(name.as_str()) && self.will_go_on(mate) && !asks(name)
        };
        let answers = self.waiting.values().all(|waits| waits.for_lead)
            && self.paused.is_none()
            && self.running().any(leads);
        self.at_work() == 0 && self.at_the_gate() == 0 && !may_take && !plans && !answers
    }

    /// Somebody is there or waits for room, tasks could be taken, and nothing is being done.
    pub(crate) fn is_idle(&self) -> bool {
        self.paused.is_none()
            && self.tasks.counts().available > 0
            && self.at_work() == 0
            && self.at_the_gate() == 0
            && (self.running().next().is_some() || !self.full.is_empty())
    }

    /// Whoever asked something may work on meanwhile.
    pub(crate) fn asker_may_go_on(&self) -> bool {
        self.waiting.values().any(|waits| waits.may_go_on)
    }

    /// A lead is there that may still answer instead of the person.
    pub(crate) fn lead_may_answer(&self) -> bool {
        let lead = |name: &str| self.led.seat() == Some(name);
        let leads =
            self.running().any(|(name, mate)| lead(name) && !mate.paused && !self.asks(name));
        leads && self.paused.is_none() && self.waiting.values().all(|waits| waits.for_lead)
    }

    /// A lead is there that hands out the work.
    pub(crate) fn is_led(&self) -> bool {
        self.running().any(|(name, _)| self.led.is_lead(name))
    }

    /// A lead that was there is not any more.
    fn is_gone(&self, lead: Option<&str>) -> bool {
        lead.and_then(|name| self.mates.get(name))
            .is_some_and(|mate| !mate.running && mate.lives > 0)
    }

    /// Nothing is being done and nothing can be, unless somebody decides something.
    pub(crate) fn is_stuck(&self) -> bool {
        let counts = self.tasks.counts();
        let begun = self.mates.values().any(|mate| mate.lives > 0);
        if self.tries_gate && !begun && self.paused.is_none() {
            return false;
        }
        if self.waits_for_room() {
            return false;
        }
        if self.phases.are_open() && counts.in_progress + counts.submitted + counts.available == 0 {
            let gone = counts.total == 0 && self.phases.is_led() && self.is_gone(self.led.seat());
            return self.paused.is_some() || self.phases.all_wait() || gone;
        }
        if counts.total == 0 {
            return self.is_gone(self.led.lead());
        }
        // A queue that the runtime has stopped goes on with nothing that is handed in.
        let nothing_on =
            counts.in_progress == 0 && (counts.submitted == 0 || self.halt().is_some());
        // A lead hands out work and takes none.
        let takes = |(name, mate): (&String, &MateLine)| {
            !mate.spent && !self.is_parked(mate) && !self.led.is_lead(name)
        };
        let nobody = self.nobody_takes == Some(true) || !self.running().any(takes);
        nothing_on
            && counts.done < counts.total
            && (counts.available == 0 || nobody || self.paused.is_some())
    }
}
