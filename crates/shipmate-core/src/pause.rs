//! Pauses: why a team or a teammate takes nothing, and who wants it so.
//!
//! What a pause is stands in a field of its record. It is never read out of the reason: a reason is
//! somebody's words, and whoever leads a team may write the very words of the runtime.

use serde::{Deserialize, Serialize};

use crate::event::Record;
use crate::name::{Actor, Address, Name, Position};
use crate::state::{State, Teammate};
use crate::usage;

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
    pub(crate) fn new(record: &Record, cause: PauseCause, reason: &str) -> Pause {
        let (by, reason) = (record.by.clone(), reason.to_owned());
        Pause { n: record.n, at: record.at, by, cause, reason }
    }

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

    /// The cause in one word.
    pub fn kind(&self) -> &'static str {
        match self.cause {
            PauseCause::Asked => "asked",
            PauseCause::Approval { .. } => "approval",
            PauseCause::Budget => "budget",
            PauseCause::TimeOver => "time_over",
            PauseCause::Halt { .. } => "halt",
            PauseCause::Trouble => "trouble",
        }
    }
}

/// What it is when somebody pauses a team in their own words.
pub(crate) fn of_team(by: &Actor) -> PauseCause {
    match by {
        Actor::Runtime => PauseCause::Trouble,
        Actor::Person | Actor::Outside | Actor::Teammate(_) => PauseCause::Asked,
    }
}

/// The same of a teammate. That its budget is spent counts only as its own word, where it has one:
/// whoever pauses others cannot have a person asked for money in their name.
pub(crate) fn of_teammate(
    state: &State,
    by: &Actor,
    who: &Address,
    mate: &Teammate,
    reason: &str,
) -> PauseCause {
    let is_own = matches!(by, Actor::Teammate(me) if me.address == *who);
    match reason.starts_with(usage::SPENT) && is_own && usage::is_bounded(state, who, mate) {
        true => PauseCause::Budget,
        false => of_team(by),
    }
}

/// What a record without a cause means. No teammate could have meant the runtime's question.
pub(crate) fn of_old_record(by: &Actor, reason: &str, phase: Option<&Name>) -> PauseCause {
    let asks = |phase: &&Name| reason.starts_with(&format!("{APPROVAL}phase {phase} "));
    match (by, phase.filter(asks)) {
        (Actor::Teammate(_), _) | (_, None) => of_team(by),
        (_, Some(phase)) => PauseCause::Approval { phase: phase.clone() },
    }
}
