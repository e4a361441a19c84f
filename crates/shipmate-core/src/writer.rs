//! A writer: decides commands in batches, ahead of the log.
//!
//! Commands are decided and applied one after the other, so each sees those before
//! it; their records wait until the log confirms them together. Nobody may be
//! answered before that. When the log does not confirm, the state has run ahead of
//! it and must be thrown away: the caller builds a new one from the log and
//! decides the same commands again, which request ids make safe.

use shipmate_model::command::{Act, Command};
use shipmate_model::event::{Event, Record};
use shipmate_model::name::Position;
use shipmate_model::refusal::Refusal;

use crate::apply::apply;
use crate::decide::{Decided, decide, decide_act};
use crate::state::State;

#[derive(Debug, Clone)]
pub struct Writer {
    state: State,
    confirmed: Position,
    pending: Vec<Record>,
    /// What becomes of an event before it is recorded.
    revise: fn(Event) -> Event,
}

/// What becomes of a command once the batch is confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It wrote the records `first..=last`.
    Done {
        first: Position,
        last: Position,
    },
    /// The state already was as asked; nothing was written.
    Unchanged,
    Refused(Refusal),
}

impl Writer {
    /// One over the state that the whole log folds to.
    pub fn new(state: State) -> Writer {
        Writer { confirmed: state.position, state, pending: Vec::new(), revise: |event| event }
    }

    /// Has every event revised before it is recorded and applied: what must not be written down.
    pub fn revised(self, revise: fn(Event) -> Event) -> Writer {
        Writer { revise, ..self }
    }

    /// Another one of the same kind, over this state.
    pub fn anew(&self, state: State) -> Writer {
        Writer::new(state).revised(self.revise)
    }

    /// Includes what is not confirmed yet.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Decides a command at this wall-clock time.
    pub fn handle(&mut self, at: u64, command: &Command) -> Outcome {
        match decide(&self.state, command) {
            Err(refusal) => Outcome::Refused(refusal),
            Ok(Decided::Before { first, last }) => Outcome::Done { first, last },
            Ok(Decided::Events(events)) if events.is_empty() => Outcome::Unchanged,
            Ok(Decided::Events(events)) => self.record(at, command, events),
        }
    }

    /// The same, and then a second act of the same request, decided on what the first
    /// has changed. A second act that is refused leaves the first standing.
    pub fn handle_then(&mut self, at: u64, command: &Command, then: Act) -> Outcome {
        let before = self.state.position;
        let outcome = self.handle(at, command);
        let Outcome::Done { first, .. } = outcome else { return outcome };
        // Carried out in an earlier batch: what followed then is in the log too.
        if first <= before {
            return outcome;
        }
        let (by, req) = (command.by.clone(), command.req.clone());
        let command = Command { by, req, act: then };
        match decide_act(&self.state, &command) {
            Ok(events) if !events.is_empty() => match self.record(at, &command, events) {
                Outcome::Done { last, .. } => Outcome::Done { first, last },
                other => other,
            },
            _ => outcome,
        }
    }

    fn record(&mut self, at: u64, command: &Command, events: Vec<Event>) -> Outcome {
        let first = self.state.position + 1;
        for event in events {
            let n = self.state.position + 1;
            let (by, req) = (command.by.clone(), command.req.clone());
            let event = (self.revise)(event);
            let record = Record { n, at, by, req, event };
            apply(&mut self.state, &record);
            self.pending.push(record);
        }
        Outcome::Done { first, last: self.state.position }
    }

    /// The end the log must have, and what to append to it.
    ///
    /// An empty batch must be appended too before anybody is refused: a refusal
    /// given on a stale view would be a lie.
    pub fn batch(&self) -> (Position, &[Record]) {
        (self.confirmed, &self.pending)
    }

    /// The log has the batch.
    pub fn confirm(&mut self) -> Vec<Record> {
        self.confirmed = self.state.position;
        std::mem::take(&mut self.pending)
    }

    /// Takes in records that another writer appended.
    pub fn catch_up(&mut self, record: &Record) {
        assert!(self.pending.is_empty(), "a writer with a batch under way cannot catch up");
        apply(&mut self.state, record);
        self.confirmed = record.n;
    }
}
