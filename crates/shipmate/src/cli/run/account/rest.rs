//! Whether a run has come to rest: everything is done, somebody has to decide, or nothing can go on.

use super::{Account, PausedBy};

impl Account {
    /// Every task is completed and nobody runs any more.
    pub(crate) fn is_over(&self) -> bool {
        match self.phases.over() {
            None if self.phases.are_open() => return false,
            Some(_) => return !self.mates.values().any(|mate| mate.running),
            None => {}
        }
        let counts = self.tasks.counts();
        counts.total > 0
            && counts.done == counts.total
            && !self.mates.values().any(|mate| mate.running)
    }

    /// Every task is completed, and only the lead is still there, to say so.
    pub(crate) fn awaits_report(&self) -> bool {
        let counts = self.tasks.counts();
        let running = || self.mates.iter().filter(|(_, mate)| mate.running);
        counts.total > 0
            && counts.done == counts.total
            && running().count() > 0
            && running().all(|(name, _)| self.led.is_lead(name))
    }

    /// Somebody waits for a budget.
    pub(crate) fn is_spent(&self) -> bool {
        self.mates.values().any(|mate| mate.running && mate.spent)
    }

    /// A lead that was there is not any more.
    fn is_gone(&self, lead: Option<&str>) -> bool {
        lead.and_then(|name| self.mates.get(name))
            .is_some_and(|mate| !mate.running && mate.lives > 0)
    }

    /// Nothing is being done and nothing can be, unless somebody decides something.
    pub(crate) fn is_stuck(&self) -> bool {
        let counts = self.tasks.counts();
        if self.phases.are_open() && counts.in_progress + counts.submitted + counts.available == 0 {
            let gone = counts.total == 0 && self.phases.is_led() && self.is_gone(self.led.seat());
            return self.paused.is_some() || self.phases.all_wait() || gone;
        }
        if counts.total == 0 {
            return self.is_gone(self.led.lead());
        }
        // A queue that the runtime has stopped goes on with nothing that is handed in.
        let halted = self.paused.as_ref().is_some_and(|pause| pause.by == PausedBy::Runtime);
        let nothing_on = counts.in_progress == 0 && (counts.submitted == 0 || halted);
        let nobody = !self.mates.values().any(|mate| mate.running && !mate.spent);
        nothing_on
            && counts.done < counts.total
            && (counts.available == 0 || nobody || self.paused.is_some())
    }
}
