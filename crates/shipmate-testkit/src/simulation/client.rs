//! A simulated client: a person's program or one life of a teammate.
//!
//! It asks one thing at a time, asks again what was not answered, and remembers what it was told,
//! also after that has become wrong: an old client of a name that was started again goes on.

use shipmate_core::Outcome;
use shipmate_model::event::{Event, MessageId, Record, RequestId, ReservationId, TaskId, Token};
use shipmate_model::{Act, Actor, Command, Name, Position};

#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) id: Name,
    pub(crate) who: Actor,
    counter: u64,
    pub(crate) pending: Option<Pending>,
    /// Claims it believes to hold.
    pub(crate) claims: Vec<(TaskId, Token)>,
    /// Claims it knows to have ended.
    pub(crate) ended: Vec<(TaskId, Token)>,
    pub(crate) read: Vec<MessageId>,
    pub(crate) reservations: Vec<ReservationId>,
    /// What it was told is done: the ledger that the log must agree with.
    pub(crate) acknowledged: Vec<(RequestId, Position, Position)>,
    /// What it was told is refused.
    pub(crate) refused: Vec<RequestId>,
}

#[derive(Debug, Clone)]
pub(crate) struct Pending {
    pub(crate) command: Command,
    /// What the same request asks for once that is done.
    pub(crate) then: Option<Act>,
    /// No answer will come: the coordinator died, or its answer got lost.
    pub(crate) lost: bool,
}

impl Client {
    pub(crate) fn new(id: Name, who: Actor) -> Client {
        Client {
            id,
            who,
            counter: 0,
            pending: None,
            claims: Vec::new(),
            ended: Vec::new(),
            read: Vec::new(),
            reservations: Vec::new(),
            acknowledged: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// The next request with this act, and perhaps one to follow it.
    pub(crate) fn ask(&mut self, act: Act, then: Option<Act>) -> Command {
        self.counter += 1;
        let req = Some(RequestId { client: self.id.clone(), counter: self.counter });
        // What a person's programs say is not the person's word.
        let by = match (&act, &self.who) {
            (Act::TakeIn { .. }, Actor::Person) => Actor::Outside,
            (_, who) => who.clone(),
        };
        let command = Command { by, req, act };
        self.pending = Some(Pending { command: command.clone(), then, lost: false });
        command
    }

    pub(crate) fn waits_for(&self, req: &Option<RequestId>) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.command.req == *req)
    }

    /// An answer arrived. One to an earlier request is no news.
    pub(crate) fn answered(&mut self, command: &Command, outcome: &Outcome, log: &[Record]) {
        if !self.waits_for(&command.req) {
            return;
        }
        self.pending = None;
        if matches!(outcome, Outcome::Refused(_)) {
            self.refused.extend(command.req.clone());
        }
        if let (Outcome::Done { first, last }, Some(req)) = (outcome, &command.req) {
            self.acknowledged.push((req.clone(), *first, *last));
            for record in &log[*first as usize - 1..*last as usize] {
                self.learn(record);
            }
        }
    }

    fn learn(&mut self, record: &Record) {
        match &record.event {
            Event::TaskClaimed { task, .. } => {
                self.end(*task);
                self.claims.push((*task, record.n));
            }
            Event::TaskCompleted { task, .. }
            | Event::TaskReleased { task, .. }
            | Event::TaskFailed { task, .. } => self.end(*task),
            Event::MessageAcknowledged { messages, .. } => self.read.extend(messages),
            Event::UsageReserved { .. } => self.reservations.push(record.n),
            _ => {}
        }
    }

    fn end(&mut self, task: TaskId) {
        let over = |(id, _): &(TaskId, Token)| *id == task;
        self.ended.extend(self.claims.iter().copied().filter(over));
        self.claims.retain(|claim| !over(claim));
    }
}
