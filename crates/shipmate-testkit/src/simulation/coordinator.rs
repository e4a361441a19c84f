//! A simulated coordinator: a writer, a clock of its own, timers, a queue and a handle of the log.
//!
//! It decides a batch, appends it once and answers, as the real one does. Deciding and appending
//! are two steps of the simulation, so that another coordinator may come between them.

use std::collections::VecDeque;

use shipmate_core::{Observed, Outcome, Outstanding, State, Writer, outstanding};
use shipmate_log::MemoryLog;
use shipmate_model::event::{Record, Supervision};
use shipmate_model::{Act, Command, Position, TeammateRef};

use crate::Random;

#[derive(Debug)]
pub(crate) struct Coordinator {
    pub(crate) writer: Writer,
    pub(crate) log: MemoryLog,
    /// Monotonic, with its own beginning; stands still while the machine is suspended.
    pub(crate) clock_ms: u64,
    pub(crate) suspended: bool,
    pub(crate) queue: VecDeque<Queued>,
    /// Decided, and not appended yet.
    pub(crate) batch: Vec<(Queued, Outcome)>,
    /// Timers that went off and have not been carried out.
    pub(crate) late: Vec<Act>,
    observed: Observed,
    /// Up to where it knew the log, and since when on its clock; grows in both.
    heard: Vec<(Position, u64)>,
}

#[derive(Debug, Clone)]
pub(crate) struct Queued {
    pub(crate) command: Command,
    pub(crate) then: Option<Act>,
    /// Whose request it is; none for the runtime's own commands.
    pub(crate) client: Option<usize>,
}

impl Coordinator {
    pub(crate) fn new(log: MemoryLog, clock_ms: u64) -> Coordinator {
        Coordinator {
            writer: Writer::new(State::default()),
            log,
            clock_ms,
            suspended: false,
            queue: VecDeque::new(),
            batch: Vec::new(),
            late: Vec::new(),
            observed: Observed::default(),
            heard: Vec::new(),
        }
    }

    /// The process begins again: it knows the log up to here, and has seen nothing before now.
    pub(crate) fn begin(&mut self, state: State) {
        self.log = self.log.clone();
        self.observed = Observed::default();
        self.heard.clear();
        self.late.clear();
        self.queue.clear();
        self.batch.clear();
        self.replace(state);
    }

    /// The writer ran ahead of the log: it goes on from this state, and its commands are decided
    /// again in their order.
    pub(crate) fn replace(&mut self, state: State) {
        self.writer = Writer::new(state);
        for (queued, _) in self.batch.drain(..).rev() {
            self.queue.push_front(queued);
        }
        self.note_heard();
    }

    pub(crate) fn catch_up(&mut self, log: &[Record]) {
        assert!(self.batch.is_empty(), "a batch under way is appended first");
        for record in &log[self.writer.state().position as usize..] {
            self.writer.catch_up(record);
        }
        self.note_heard();
    }

    pub(crate) fn note_heard(&mut self) {
        let (known, _) = self.writer.batch();
        if self.heard.last().is_none_or(|(before, _)| known > *before) {
            self.heard.push((known, self.clock_ms));
        }
    }

    /// How long it has known this record, on its own clock.
    pub(crate) fn known_for_ms(&self, position: Position) -> Option<u64> {
        let (_, since_ms) = self.heard.iter().find(|(known, _)| *known >= position)?;
        Some(self.clock_ms - since_ms)
    }

    /// What it would do now: looks at the clock and at what is connected to it.
    pub(crate) fn look(&mut self) -> Outstanding {
        let state = self.writer.state();
        let running = state.teammates.iter().filter(|(_, mate)| mate.is_running());
        let there = running.filter(|(_, mate)| mate.supervision != Supervision::None);
        self.observed.present = there
            .map(|(who, mate)| TeammateRef { address: who.clone(), epoch: mate.epoch })
            .collect();
        self.observed.look(state, self.clock_ms);
        outstanding(state, &self.observed, self.clock_ms)
    }

    /// A supervisor shows that its agent goes on, is asked for a sign of life or gives one.
    pub(crate) fn hear(&mut self, random: &mut Random) {
        let lives: Vec<TeammateRef> = self.observed.present.iter().cloned().collect();
        let Some(who) = random.pick(&lives).cloned() else { return };
        match random.below(6) {
            0..4 => *self.observed.progress.entry(who).or_default() += 1,
            4 => drop(self.observed.asked.insert(who, random.below(1_000))),
            _ => drop(self.observed.asked.remove(&who)),
        }
    }

    pub(crate) fn decide(&mut self, at: u64, queued: Queued) -> &Outcome {
        let outcome = match &queued.then {
            Some(then) => self.writer.handle_then(at, &queued.command, then.clone()),
            None => self.writer.handle(at, &queued.command),
        };
        self.batch.push((queued, outcome));
        &self.batch[self.batch.len() - 1].1
    }
}
