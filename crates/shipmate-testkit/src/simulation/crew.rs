//! A crew: teammates that the runtime starts, their processes, a gate, and everything dying.
//!
//! `world` asks whether whatever is asked in whatever order keeps the guarantees. Here a simulated
//! runtime carries out what the state is owed, as the real one does: a life is recorded before it
//! is spawned, lives are found again by their locks, what ends is reported by what it was asked.
//! Processes hang, die one by one or all at once, and coordinators die in between. Then nothing
//! goes wrong any more, and the board must drain and everybody be let go: a crew that waits for
//! itself is as broken as one that does a thing twice.

mod plan;
mod runtime;
mod workers;

use std::collections::{BTreeMap, BTreeSet};

use shipmate_core::{Observed, Outcome, State, Writer};
use shipmate_model::command::Command;
use shipmate_model::event::{Record, TaskId, Token};
use shipmate_model::{Act, Actor, TeammateRef};

use super::Trace;
use super::checks::{Breach, Check, Checker, Confirmed, hold};
use super::coverage::Coverage;
use super::model::{LifeFacts, StandingFacts, StatusFacts};
use crate::Random;

/// So many rounds without a fault are enough for any of the simulated plans.
const ROUNDS_TO_DRAIN: u64 = 2_000;

#[derive(Debug)]
pub(super) struct Crew<'a> {
    random: Random,
    writer: Writer,
    observed: Observed,
    clock_ms: u64,
    /// The coordinator's process runs.
    up: bool,
    /// Things still go wrong.
    faults: bool,
    processes: BTreeMap<TeammateRef, Process>,
    /// Lives whose supervisor ever ran: their locks lie on the disk.
    begun: BTreeSet<TeammateRef>,
    checker: Checker,
    coverage: Coverage,
    trace: &'a mut Trace,
}

/// A supervisor with its agent.
#[derive(Debug, Clone, Default)]
struct Process {
    holds: Option<(TaskId, Token)>,
    /// It does nothing any more and ends only when it is ended.
    hung: bool,
    /// It was told to end.
    ending: bool,
}

impl<'a> Crew<'a> {
    pub(super) fn new(seed: u64, trace: &'a mut Trace) -> Crew<'a> {
        Crew {
            random: Random::new(seed ^ 0xc4e3),
            writer: Writer::new(State::default()),
            observed: Observed::default(),
            clock_ms: 1_000,
            up: true,
            faults: true,
            processes: BTreeMap::new(),
            begun: BTreeSet::new(),
            checker: Checker::new(seed),
            coverage: Coverage::default(),
            trace,
        }
    }

    pub(super) fn run(mut self) -> Result<Coverage, Breach> {
        self.found()?;
        let calm = self.random.chance(100);
        let steps = if calm { 0 } else { self.random.between(50, 400) };
        for _ in 0..steps {
            self.step()?;
        }
        self.faults = false;
        self.mend()?;
        for _ in 0..ROUNDS_TO_DRAIN {
            if self.is_over() {
                self.checker.whole_state()?;
                return Ok(self.coverage);
            }
            self.round()?;
        }
        let state = self.writer.state();
        let open = state
            .tasks()
            .iter()
            .filter(|task| task.shown() != shipmate_model::status::TaskStatus::Completed);
        let open: Vec<_> = open.map(|task| (task.id, &task.status, &task.spec)).collect();
        hold("progress", false, || {
            format!("the crew does not come to its end: {open:?} {:?}", state.teammates)
        })?;
        Ok(self.coverage)
    }

    fn step(&mut self) -> Check {
        match self.random.below(100) {
            0..40 => self.work(),
            40..70 => self.carry_out(),
            70..80 => self.person(),
            80..90 => {
                self.clock_ms += [10, 1_000, 30_000, 120_000][self.random.index(4)];
                Ok(())
            }
            90..95 => self.kill_one(),
            95..97 => self.hang_one(),
            97 => self.lose_coordinator(),
            98 if self.random.chance(300) => self.lose_host(),
            _ => self.restart(),
        }
    }

    /// Everybody moves once, and time passes.
    fn round(&mut self) -> Check {
        for _ in 0..=self.processes.len() {
            self.work()?;
        }
        self.person()?;
        self.clock_ms += 5_000;
        self.carry_out()
    }

    /// Whoever looks after the crew undoes what was done by hand, and says that it goes on.
    fn mend(&mut self) -> Check {
        self.restart()?;
        let state = self.writer.state();
        let paused: Vec<_> =
            state.teammates.iter().filter(|(_, mate)| mate.paused.is_some()).collect();
        let paused: Vec<_> = paused.into_iter().map(|(who, _)| who.clone()).collect();
        for who in paused {
            self.give(Actor::Person, Act::ContinueTeammate { who })?;
        }
        Ok(())
    }

    /// Every task is completed or the playbook through, nobody runs but the lead, and no process is left.
    fn is_over(&self) -> bool {
        let model = &self.checker.model;
        let open = |status: &StatusFacts| !matches!(status, StatusFacts::Completed);
        let runs = model.mates.iter().filter(|(_, mate)| mate.life == LifeFacts::Running);
        // What a playbook that is over leaves behind is nobody's task any more.
        let over = match model.course(&Self::team()) {
            Some(course) => course.standing == StandingFacts::Over,
            None => !model.tasks.iter().any(|task| open(&task.status)),
        };
        self.processes.is_empty()
            && over
            && runs.map(|(who, _)| who).all(|who| who.name.as_str() == "lia")
    }

    /// A command through the writer and every check; says what became of it.
    fn give(&mut self, by: Actor, act: Act) -> Result<Outcome, Breach> {
        let command = Command { by, req: None, act };
        let outcome = self.writer.handle(self.clock_ms, &command);
        let records = self.writer.confirm();
        self.coverage.command(&command.act, &outcome);
        self.trace.note(|| {
            let act: String = format!("{:?}", command.act).chars().take(200).collect();
            format!("crew {} {act} -> {outcome:?}", command.by)
        });
        let read: Vec<Record> = records
            .iter()
            .map(|record| serde_json::to_string(record).expect("a record is data"))
            .map(|text| serde_json::from_str(&text).expect("what was written can be read"))
            .collect();
        // Leases are the other world's business.
        let waited_ms = Some(u64::MAX);
        let one = Confirmed { command: &command, then: None, outcome: &outcome, waited_ms };
        self.checker.batch(&[one], &read)?;
        for record in &records {
            self.coverage.event(&record.event);
        }
        Ok(outcome)
    }

    /// The records of a command that was carried out.
    fn records_of(&self, outcome: &Outcome) -> &[Record] {
        match outcome {
            Outcome::Done { first, last } => {
                &self.checker.records[*first as usize - 1..*last as usize]
            }
            _ => &[],
        }
    }
}
