//! Deciding a batch, appending it, and everything that can go wrong in between.

use shipmate_core::{Outcome, State};
use shipmate_log::{AppendFailure, MemoryFault};
use shipmate_model::event::Record;
use shipmate_model::{Act, Refusal};

use super::super::checks::{Check, Confirmed, hold};
use super::super::coordinator::Queued;
use super::super::coverage::Fault;
use super::World;

/// What a coordinator does with its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answers {
    Sent,
    /// The process died in between.
    NeverSent,
}

impl World<'_> {
    /// Decides some of what waits, on a view that may be old.
    pub(super) fn decide(&mut self, who: usize) {
        if self.coordinators[who].suspended {
            return;
        }
        if self.coordinators[who].batch.is_empty() && !self.random.chance(self.rates.lag) {
            self.coordinators[who].catch_up(&self.checker.records);
        }
        let many = 1 + self.random.index(4);
        for _ in 0..many {
            let Some(queued) = self.coordinators[who].queue.pop_front() else { break };
            let at = self.wall_ms;
            // The whole comparison is dear and `decide` only borrows the state: now and then.
            let before = self.random.chance(10).then(|| self.coordinators[who].writer.clone());
            let position = self.coordinators[who].writer.state().position;
            let refused = matches!(self.coordinators[who].decide(at, queued), Outcome::Refused(_));
            let after = &self.coordinators[who].writer;
            let same = after.state().position == position
                && before.is_none_or(|before| before.state() == after.state());
            assert!(!refused || same, "G4: a refused command changes nothing");
        }
    }

    /// Appends the batch once and answers everybody in it.
    pub(super) fn append(&mut self, who: usize) -> Check {
        if self.coordinators[who].batch.is_empty() || self.coordinators[who].suspended {
            return Ok(());
        }
        if self.random.chance(self.rates.crash) {
            self.coverage.fault(Fault::CrashBeforeAppend);
            return self.crash(who, "dies before its append");
        }
        let (end, records) = self.coordinators[who].writer.batch();
        let written: Vec<Record> = records.to_vec();
        let lines: Vec<String> = written
            .iter()
            .map(|record| serde_json::to_string(record).expect("a record is data"))
            .collect();
        if !lines.is_empty() && self.log.end_now() == end {
            self.inject_fault();
        }
        match self.coordinators[who].log.append_now(end, &lines) {
            Ok(_) => {
                self.check_batch(who, end, &written)?;
                if self.random.chance(self.rates.crash) {
                    self.coverage.fault(Fault::CrashBeforeAnswer);
                    self.finish_batch(who, Answers::NeverSent);
                    return self.crash(who, "dies before it answers");
                }
                self.finish_batch(who, Answers::Sent);
                Ok(())
            }
            Err(AppendFailure::Conflict { .. }) => {
                let refusals = written.is_empty();
                let fault = if refusals { Fault::ConflictOfARefusal } else { Fault::Conflict };
                self.coverage.fault(fault);
                self.trace.note(|| format!("     coordinator {who} meets a conflict"));
                self.start_over(who)
            }
            Err(AppendFailure::Unconfirmed(_) | AppendFailure::Broken(_)) => {
                let stored = self.log.end_now() > end;
                let fault =
                    if stored { Fault::UnconfirmedStored } else { Fault::UnconfirmedNotStored };
                self.coverage.fault(fault);
                self.trace.note(|| {
                    format!("     coordinator {who} gets no confirmation, stored: {stored}")
                });
                if stored {
                    self.check_batch(who, end, &written)?;
                }
                let handle = self.log.clone();
                self.coordinators[who].log = handle;
                self.start_over(who)
            }
            Err(AppendFailure::Full(_)) => {
                self.coverage.fault(Fault::DiskFull);
                self.trace.note(|| format!("     coordinator {who} finds the disk full"));
                hold("G2", self.log.end_now() == end, || "a full disk took records".to_owned())?;
                let batch = std::mem::take(&mut self.coordinators[who].batch);
                self.lose(batch.into_iter().map(|(queued, _)| queued));
                self.start_over(who)
            }
            Err(failure @ AppendFailure::TooLarge { .. }) => {
                hold("G12", false, || failure.to_string())
            }
        }
    }

    fn inject_fault(&mut self) {
        if self.random.chance(self.rates.unconfirmed) {
            let stored = self.random.chance(500);
            self.log.inject(if stored {
                MemoryFault::LoseAnswer
            } else {
                MemoryFault::LoseRequest
            });
        } else if self.random.chance(self.rates.full) {
            self.log.inject(MemoryFault::Full);
        } else if self.random.chance(self.rates.broken) {
            self.coverage.fault(Fault::BrokenHandle);
            self.log.inject(MemoryFault::Break);
        }
    }

    /// The log has the batch: reads it back and checks it.
    fn check_batch(&mut self, who: usize, end: u64, written: &[Record]) -> Check {
        let lines = self.log.read_now(end, usize::MAX);
        let mut stored: Vec<Record> = Vec::with_capacity(lines.len());
        for line in &lines {
            match serde_json::from_str(&line.text) {
                Ok(record) => stored.push(record),
                Err(error) => return hold("replay", false, || format!("{}: {error}", line.text)),
            }
        }
        hold("replay", stored == written, || "records do not read back as written".to_owned())?;
        let coordinator = &self.coordinators[who];
        for (queued, outcome) in &coordinator.batch {
            self.coverage.command(&queued.command.act, outcome);
            if matches!(outcome, Outcome::Refused(Refusal::Renewed { .. })) {
                self.coverage.fault(Fault::ExpiryAfterRenewal);
            }
            let number = self.coverage.commands;
            self.trace.note(|| line_of(number, who, queued, outcome));
        }
        let model = &self.checker.model;
        let confirmed: Vec<Confirmed<'_>> = coordinator
            .batch
            .iter()
            .map(|(queued, outcome)| {
                let waited_ms = match &queued.command.act {
                    Act::ExpireClaim { task, .. } => {
                        model.hold(*task).and_then(|claim| coordinator.known_for_ms(claim.since))
                    }
                    _ => None,
                };
                let (command, then) = (&queued.command, queued.then.as_ref());
                Confirmed { command, then, outcome, waited_ms }
            })
            .collect();
        for record in &stored {
            if let shipmate_model::Event::TeammateAdded { who, .. } = &record.event
                && model.mates.contains_key(who)
            {
                self.coverage.fault(Fault::RemovedNameCameBack);
            }
        }
        self.checker.batch(&confirmed, &stored)?;
        for record in &stored {
            self.see(record);
        }
        Ok(())
    }

    fn finish_batch(&mut self, who: usize, answers: Answers) {
        let coordinator = &mut self.coordinators[who];
        coordinator.writer.confirm();
        coordinator.note_heard();
        for (queued, outcome) in std::mem::take(&mut coordinator.batch) {
            let Some(at) = queued.client else { continue };
            if answers == Answers::NeverSent {
                self.lose([queued]);
            } else if self.random.chance(self.rates.lost_answer) {
                self.coverage.fault(Fault::LostAnswer);
                self.lose([queued]);
            } else {
                let client = &mut self.clients[at];
                client.answered(&queued.command, &outcome, &self.checker.records);
            }
        }
    }

    /// These will not be answered; whoever waits for one will ask again.
    fn lose(&mut self, queued: impl IntoIterator<Item = Queued>) {
        for lost in queued {
            let Some(at) = lost.client else { continue };
            let client = &mut self.clients[at];
            if client.waits_for(&lost.command.req)
                && let Some(pending) = &mut client.pending
            {
                pending.lost = true;
            }
        }
    }

    /// The state has run ahead of the log: build it anew and decide the same commands again.
    fn start_over(&mut self, who: usize) -> Check {
        let state = self.checker.reference.clone();
        self.coordinators[who].replace(state);
        Ok(())
    }

    /// A coordinator dies with all it had in memory, and another process takes its place.
    fn crash(&mut self, who: usize, how: &str) -> Check {
        self.trace.note(|| format!("     coordinator {who} {how}"));
        let coordinator = &mut self.coordinators[who];
        let batch = std::mem::take(&mut coordinator.batch);
        let queue = std::mem::take(&mut coordinator.queue);
        self.lose(batch.into_iter().map(|(queued, _)| queued).chain(queue));
        let state = self.restored_state();
        self.checker.compare("a restarted coordinator", &state)?;
        if self.random.chance(200) {
            // A reboot: the clock begins anew.
            self.coordinators[who].clock_ms = self.random.below(1_000);
        }
        self.coordinators[who].begin(state);
        Ok(())
    }

    fn restored_state(&mut self) -> State {
        if self.random.chance(600)
            && let Some(snapshot) = self.log.load_snapshot_now()
        {
            self.coverage.fault(Fault::RestartFromSnapshot);
            let state: State =
                serde_json::from_str(&snapshot.text).expect("a snapshot can be read back");
            let mut state = state.restore();
            self.fold_tail(&mut state);
            return state;
        }
        self.coverage.fault(Fault::RestartFromWholeLog);
        self.fold_whole_log()
    }
}

fn line_of(number: u64, who: usize, queued: &Queued, outcome: &Outcome) -> String {
    let by = &queued.command.by;
    let act = format!("{:?}", queued.command.act);
    let act: String = act.chars().take(300).collect();
    let became = match outcome {
        Outcome::Done { first, last } => format!("records {first} to {last}"),
        Outcome::Unchanged => "unchanged".to_owned(),
        Outcome::Refused(refusal) => format!("refused: {refusal}"),
    };
    let then = queued.then.as_ref().map_or_else(String::new, |then| format!(", then {then:?}"));
    format!("{number:>4} {by} {act}{then} -> {became} (coordinator {who})")
}
