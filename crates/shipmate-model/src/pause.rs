//! Pauses: why a team or a teammate takes nothing, and who wants it so.
//!
//! What a pause is stands in a field of its record. It is never read out of the reason: a reason is
//! somebody's words, and whoever leads a team may write the very words of the runtime.

use serde::{Deserialize, Serialize};

use crate::name::{Actor, Address, Name, Position};
use crate::status::PauseKind;

/// What a pause is. Only the runtime's own commands lead to another one than `Asked`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseCause {
    /// Whoever the record is by wants it so.
    Asked,
    /// The runtime asks a person to let this phase begin.
    Approval { phase: Name },
    /// The teammate has no budget for what comes next.
    Budget,
    /// The team's time is over.
    TimeOver,
    /// A phase of that team has failed, and its playbook stops the whole tree.
    Halt { team: Name },
    /// The runtime cannot go on: a red base, a merge queue that is stuck, files it cannot write.
    Trouble,
}

impl PauseCause {
    /// Of somebody who pauses in their own words.
    pub fn of(by: &Actor) -> PauseCause {
        match by {
            Actor::Runtime => PauseCause::Trouble,
            Actor::Person | Actor::Outside | Actor::Teammate(_) => PauseCause::Asked,
        }
    }
}

/// A pause that holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// The record that began it, and so the name of the question where it asks one.
    pub n: Position,
    /// Wall clock.
    pub at: u64,
    pub by: Actor,
    pub cause: PauseCause,
    pub reason: String,
}

/// How the reason begins where the runtime asks about a phase. It is for readers; of a record
/// without a cause, from before there were causes, it is all there is.
pub const APPROVAL: &str = "approval: ";

impl Pause {
    /// The phase that a person is asked about.
    pub fn approval(&self) -> Option<&Name> {
        match &self.cause {
            PauseCause::Approval { phase } => Some(phase),
            _ => None,
        }
    }

    /// The reason, with whose words it is where a teammate said them.
    pub fn describe(&self) -> String {
        match &self.by {
            Actor::Teammate(who) => format!("{} says: {}", who.address, self.reason),
            Actor::Person | Actor::Runtime | Actor::Outside => self.reason.clone(),
        }
    }

    /// The same of a teammate that is paused: what it says of itself needs no name.
    pub fn describe_for(&self, who: &Address) -> String {
        match &self.by {
            Actor::Teammate(by) if by.address == *who => self.reason.clone(),
            _ => self.describe(),
        }
    }

    pub fn kind(&self) -> PauseKind {
        match self.cause {
            PauseCause::Asked => PauseKind::Asked,
            PauseCause::Approval { .. } => PauseKind::Approval,
            PauseCause::Budget => PauseKind::Budget,
            PauseCause::TimeOver => PauseKind::TimeOver,
            PauseCause::Halt { .. } => PauseKind::Halt,
            PauseCause::Trouble => PauseKind::Trouble,
        }
    }
}
