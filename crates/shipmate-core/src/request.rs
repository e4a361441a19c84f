//! Requests that can be asked again: the last one of each client is remembered.
//!
//! The answer itself is not kept in the state: it is the records the request
//! wrote, and those are in the log at known positions. Refusals are not remembered
//! either, because a refused request changed nothing and may be decided again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shipmate_model::event::RequestId;
use shipmate_model::limits::CLIENTS_KEPT;
use shipmate_model::name::{Name, Position};
use shipmate_model::refusal::Refusal;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Clients {
    last: BTreeMap<Name, Handled>,
    /// The same by age, so that the longest silent client is forgotten first.
    by_age: BTreeMap<Position, Name>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Handled {
    pub(crate) counter: u64,
    pub(crate) first: Position,
    pub(crate) last: Position,
}

impl Clients {
    /// What became of this request before, if it was asked before.
    pub(crate) fn handled(&self, req: &RequestId) -> Result<Option<Handled>, Refusal> {
        match self.last.get(&req.client) {
            Some(last) if last.counter == req.counter => Ok(Some(*last)),
            Some(last) if last.counter > req.counter => {
                Err(Refusal::StaleRequest { counter: req.counter, last: last.counter })
            }
            _ => Ok(None),
        }
    }

    pub(crate) fn apply(&mut self, req: &RequestId, at: Position) {
        let mut handled = Handled { counter: req.counter, first: at, last: at };
        if let Some(before) = self.last.get(&req.client) {
            self.by_age.remove(&before.last);
            if before.counter == req.counter {
                handled.first = before.first;
            }
        }
        self.last.insert(req.client.clone(), handled);
        self.by_age.insert(at, req.client.clone());
        if self.by_age.len() > CLIENTS_KEPT {
            let (_, oldest) = self.by_age.pop_first().expect("more than the limit is not none");
            self.last.remove(&oldest);
        }
    }
}
