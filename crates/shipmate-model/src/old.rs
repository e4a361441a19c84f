//! What records of earlier releases mean, where a field says it in newer ones.
//!
//! This is the only place that reads a meaning out of somebody's words, and only where the record has
//! nothing else.

use crate::event::{Event, Record};
use crate::name::{Actor, Address, Name};
use crate::pause::{APPROVAL, Pause, PauseCause};
use crate::usage::SPENT;

/// The phase that a pause without a cause asks a person about. No teammate could have meant the
/// runtime's question.
pub fn approval(by: &Actor, reason: &str) -> Option<Name> {
    let asked = reason.strip_prefix(APPROVAL)?.strip_prefix("phase ")?;
    let phase = asked.split(' ').next()?.parse().ok();
    phase.filter(|_| !matches!(by, Actor::Teammate(_)))
}

/// A teammate says of itself that it has no budget left.
pub fn is_spent(by: &Actor, who: &Address, reason: &str) -> bool {
    reason.starts_with(SPENT) && matches!(by, Actor::Teammate(me) if me.address == *who)
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

impl Pause {
    /// The pause that begins with a record, as far as the record alone can tell. None where none
    /// does.
    pub fn of_record(record: &Record) -> Option<Pause> {
        let by = &record.by;
        let (reason, cause) = match &record.event {
            Event::TeamPaused { reason, cause, .. } => {
                let asks = approval(by, reason).map(|phase| PauseCause::Approval { phase });
                (reason, cause.clone().or(asks))
            }
            Event::TeammatePaused { who, reason, cause } => {
                let spent = is_spent(by, who, reason).then_some(PauseCause::Budget);
                (reason, cause.clone().or(spent))
            }
            _ => return None,
        };
        let cause = cause.unwrap_or_else(|| PauseCause::of(by));
        let (by, reason) = (by.clone(), reason.clone());
        Some(Pause { n: record.n, at: record.at, by, cause, reason })
    }
}
