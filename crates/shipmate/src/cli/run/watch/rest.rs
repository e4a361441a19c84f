//! When a watched run ends without being done: nothing can go on, or only by the word of a person who
//! is not there.

use std::time::{Duration, Instant};

use shipmate_protocol::Code;
use shipmate_protocol::verbs;

use super::super::decide::approve_teammate_plan;
use super::super::report::Outcome;
use super::Watcher;
use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// How long a run must look stuck before it is ended: between two lives it does for a moment.
pub(super) const STUCK_FOR: Duration = Duration::from_secs(2);
/// How often the coordinator must have answered meanwhile, each time after its part of that time.
const STUCK_LOOKS: u32 = 10;
/// How long a lead may take to report on work that is done, or to find somebody for work that
/// nobody is left for.
pub(super) const REPORT_WITHIN: Duration = Duration::from_secs(120);
/// How long a lead may take to answer what its teammates ask, where no person is there.
const LEAD_ANSWERS_WITHIN: Duration = Duration::from_secs(600);
/// How long whoever asked something must have said nothing: it may work on meanwhile.
const ASKER_QUIET_FOR: Duration = Duration::from_secs(60);
/// Why a team is paused whose run this command ends.
const ENDED: &str = "the run was ended";

/// A run that looks stuck.
///
/// A clock alone cannot tell: while the coordinator stands still, what it is about to record does
/// not come, however long that takes. So the time is counted in parts, and after each of them the
/// coordinator must answer.
#[derive(Debug)]
pub(super) struct Stuck {
    /// When the present part of the time began.
    since: Instant,
    /// How many parts are over.
    looks: u32,
}

impl Stuck {
    fn begin() -> Stuck {
        Stuck { since: Instant::now(), looks: 0 }
    }
}

impl Watcher<'_> {
    /// How long until the coordinator is asked whether a run that looks stuck still does.
    pub(super) fn until_stuck_look(&self) -> Option<Duration> {
        let stuck = self.stuck.as_ref()?;
        Some(self.stuck_part().saturating_sub(stuck.since.elapsed()))
    }

    /// A lead may still find somebody for the work.
    fn stuck_part(&self) -> Duration {
        let all = if self.account.is_led() { REPORT_WITHIN } else { STUCK_FOR };
        all / STUCK_LOOKS
    }

    /// How long a run waits for a person where none is there.
    pub(super) fn waits_for(&self) -> Duration {
        let least = match self.account.lead_may_answer() {
            true => LEAD_ANSWERS_WITHIN,
            false if self.account.asker_may_go_on() => ASKER_QUIET_FOR,
            false => STUCK_FOR,
        };
        least.max(self.how.patience)
    }

    /// Whether whoever asked has said something new, and so goes on meanwhile.
    fn goes_on(&mut self, session: &mut Session) -> Result<bool, Failure> {
        let status = session.ask(verbs::Status)?;
        let words = status.teammates.into_iter().map(|mate| mate.last_words).collect();
        let may_go_on = self.account.asker_may_go_on();
        Ok(may_go_on && std::mem::replace(&mut self.last_words, words) != self.last_words)
    }

    /// Asks, once after each news, whether somebody who is there can take what is on the board, and whose
    /// account has room for it: only the coordinator knows.
    pub(super) fn notice_idle(&mut self, session: &mut Session) -> Result<(), Failure> {
        if !self.account.is_idle() {
            self.idle_since = None;
            return Ok(());
        }
        let since = *self.idle_since.get_or_insert_with(Instant::now);
        if since.elapsed() < STUCK_FOR || self.account.nobody_takes.is_some() {
            return Ok(());
        }
        let status = session.ask(verbs::Status)?;
        self.account.nobody_takes = Some(status.nobody_takes);
        self.events.extend(self.account.see_accounts(&status.accounts));
        Ok(())
    }

    /// Whether the run ends because only a person can let it go on, and none is there. The team is
    /// left as it is, paused: whoever asked waits for the answer.
    pub(super) fn notice_waiting(&mut self, session: &mut Session) -> Result<bool, Failure> {
        // What the runtime found wrong is no question, unless somebody asks something beside it.
        let halted = self.account.halt().is_some() && self.account.waiting.is_empty();
        let somebody = session.screen.width.is_some() && !session.screen.json;
        let says_yes = self.begun.yes && !self.account.led.others.is_empty();
        if (somebody && !says_yes) || halted || !self.account.waits_for_person() {
            self.waits_since = None;
            return Ok(false);
        }
        if self.waits_since.is_none() {
            self.goes_on(session)?;
        }
        let since = *self.waits_since.get_or_insert_with(Instant::now);
        if since.elapsed() < self.waits_for() {
            return Ok(false);
        }
        if self.goes_on(session)? {
            self.waits_since = Some(Instant::now());
            return Ok(false);
        }
        if says_yes {
            for plan in self.account.led.others.clone() {
                approve_teammate_plan(plan, session)?;
                self.account.led.others.remove(&plan);
                let text = format!("plan {plan} was approved by --yes: the lead left it open");
                self.account.add_deviation(None, &text);
            }
            self.waits_since = None;
            return Ok(false);
        }
        // Who waits for an account alone goes on once that is let go on.
        let asked = !self.account.waiting.is_empty() || !self.account.waits_for_account();
        if self.account.paused.is_none() && asked {
            let reason = "the run ended: it waits for an answer".to_owned();
            session.ask(verbs::TeamPause { reason })?;
        }
        Ok(true)
    }

    /// Ends a run in which nothing can happen any more, unless somebody is there to decide.
    pub(super) fn notice_stuck(&mut self, session: &mut Session) -> Result<(), Failure> {
        // Whoever paused it may let it go on; what the runtime found wrong nobody may see.
        let pause = self.account.paused.as_ref();
        let person = pause.is_some_and(|pause| self.live.is_some() || !pause.is_halt());
        // At a terminal a budget may still be raised.
        let person = person || self.account.is_spent() || self.account.waits_for_account();
        if !self.account.is_stuck() || person || !self.account.waiting.is_empty() {
            self.stuck = None;
            return Ok(());
        }
        let looks = self.stuck.get_or_insert_with(Stuck::begin).looks + 1;
        if self.until_stuck_look() > Some(Duration::ZERO) {
            return Ok(());
        }
        let status = session.ask(verbs::Status)?;
        self.events.extend(self.account.see_accounts(&status.accounts));
        self.stuck = Some(Stuck { since: Instant::now(), looks });
        // What it has recorded by now may say that somebody begins.
        if looks < STUCK_LOOKS || self.account.position < status.position {
            return Ok(());
        }
        self.stuck = None;
        // The runtime may have paused for another reason, and a gate may run for long.
        if self.account.tasks.counts().submitted > 0 && status.queue.is_some() {
            return Ok(());
        }
        let outcome = if self.account.done() > 0 { Outcome::Partial } else { Outcome::Failed };
        self.shut_down(session, outcome)
    }

    pub(super) fn shut_down(
        &mut self,
        session: &mut Session,
        outcome: Outcome,
    ) -> Result<(), Failure> {
        let deadline_ms = session.config()?.config.shutdown_deadline_seconds * 1000;
        // Nobody new may begin while the others end.
        let reason = ENDED.to_owned();
        if outcome == Outcome::Stopped {
            session.ask(verbs::TeamPause { reason: reason.clone() })?;
        }
        match session.ask(verbs::Shutdown { name: None, reason, deadline_ms }) {
            Err(failure) if failure.refused().is_some_and(|r| r.code == Code::NobodyRuns) => {}
            Err(failure) => return Err(failure),
            Ok(_) => {}
        }
        self.account.stopping = Some(outcome);
        Ok(())
    }
}
