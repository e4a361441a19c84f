//! What the processes do: take a task, work, hand in, answer, hang, die.

use shipmate_core::state::ShutdownEnd;
use shipmate_model::event::{Event, ShutdownAnswer};
use shipmate_model::profile::Loss;
use shipmate_model::{Act, Actor, TeammateRef};

use super::super::checks::Check;
use super::super::coverage::Fault;
use super::Crew;

impl Crew<'_> {
    fn pick_process(&mut self) -> Option<TeammateRef> {
        let all: Vec<TeammateRef> = self.processes.keys().cloned().collect();
        self.random.pick(&all).cloned()
    }

    /// One process makes one step.
    pub(super) fn work(&mut self) -> Check {
        let Some(who) = self.pick_process() else { return Ok(()) };
        let process = self.processes[&who].clone();
        if process.ending {
            // It takes its time to end; a hung one is ended by force in the end.
            return if self.random.chance(500) { self.gone(&who) } else { Ok(()) };
        }
        if process.hung || !self.up {
            return Ok(());
        }
        *self.observed.progress.entry(who.clone()).or_default() += 1;
        let by = Actor::Teammate(who.clone());
        if self.answer_shutdown(&who)? {
            return Ok(());
        }
        match process.holds {
            None => {
                let outcome = self.give(by, Act::ClaimNext { lease_ms: None })?;
                let claimed =
                    self.records_of(&outcome).iter().find_map(|record| match &record.event {
                        Event::TaskClaimed { task, .. } => Some((*task, record.n)),
                        _ => None,
                    });
                self.processes.get_mut(&who).expect("it runs").holds = claimed;
                self.one_shot_ends(&who)
            }
            Some((task, token)) => {
                let reason = "it did not work".to_owned();
                let act = match self.random.below(20) {
                    0 => Act::FailTask { task, token, reason },
                    1 => Act::ReleaseTask { task, token: Some(token), reason },
                    2..8 => return Ok(()),
                    _ => {
                        let result = String::new();
                        Act::SubmitTask { task, token, commit: None, result, handoff: None }
                    }
                };
                self.give(by, act)?;
                self.processes.get_mut(&who).expect("it runs").holds = None;
                self.one_shot_ends(&who)
            }
        }
    }

    /// A one-shot agent goes when it has nothing in its hands.
    fn one_shot_ends(&mut self, who: &TeammateRef) -> Check {
        use shipmate_model::event::Supervision::OneShot;
        let idle = self.processes[who].holds.is_none();
        if self.writer.state().teammates[&who.address].supervision == OneShot && idle {
            return self.gone(who);
        }
        Ok(())
    }

    /// Answers what it was asked; says whether it was asked.
    fn answer_shutdown(&mut self, who: &TeammateRef) -> Result<bool, super::Breach> {
        let open = self.writer.state().shutdowns.iter();
        let mut open =
            open.filter(|(_, asked)| asked.who == *who && asked.end == ShutdownEnd::Open);
        let Some(shutdown) = open.next().map(|(id, _)| *id) else { return Ok(false) };
        let by = Actor::Teammate(who.clone());
        let answer = match self.random.below(10) {
            0 => return self.gone(who).map(|()| true),
            1 if self.faults => ShutdownAnswer::Rejected { reason: "not yet".to_owned() },
            2 => ShutdownAnswer::InProgress { pending: vec!["a test".to_owned()] },
            3 if self.faults => return Ok(true),
            _ => ShutdownAnswer::Clean,
        };
        self.give(by, Act::AnswerShutdown { shutdown, answer })?;
        Ok(true)
    }

    /// The process is no more; a coordinator that runs notices at once.
    pub(super) fn gone(&mut self, who: &TeammateRef) -> Check {
        self.processes.remove(who);
        if !self.up {
            return Ok(());
        }
        self.observed.present.remove(who);
        match shipmate_core::ended(self.writer.state(), who, "its process ended") {
            Some(act) => self.give(Actor::Runtime, act).map(drop),
            None => Ok(()),
        }
    }

    pub(super) fn kill_one(&mut self) -> Check {
        let Some(who) = self.pick_process() else { return Ok(()) };
        self.coverage.fault(Fault::ProcessKilled);
        self.trace.note(|| format!("crew the process of {who} is killed"));
        self.gone(&who)
    }

    pub(super) fn hang_one(&mut self) -> Check {
        if let Some(who) = self.pick_process() {
            self.coverage.fault(Fault::ProcessHung);
            self.trace.note(|| format!("crew the process of {who} hangs"));
            self.processes.get_mut(&who).expect("it was picked").hung = true;
        }
        Ok(())
    }

    /// Everything on the machine is gone at once.
    pub(super) fn lose_host(&mut self) -> Check {
        self.coverage.fault(Fault::HostLost);
        self.trace.note(|| "crew the machine goes down".to_owned());
        self.up = false;
        self.processes.clear();
        Ok(())
    }

    pub(super) fn lose_coordinator(&mut self) -> Check {
        self.coverage.fault(Fault::CrewCoordinatorDied);
        self.trace.note(|| "crew the coordinator dies".to_owned());
        self.up = false;
        Ok(())
    }
}

/// What a supervised life that went with its machine is reported as.
pub(super) fn with_host(act: Act) -> Act {
    match act {
        Act::ReportDisappeared { who, reason, .. } => {
            Act::ReportDisappeared { who, reason, loss: Loss::Host }
        }
        act => act,
    }
}
