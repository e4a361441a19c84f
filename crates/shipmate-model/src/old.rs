//! What records of earlier releases mean, where a field says it in newer ones.
//!
//! This is the only place that reads a meaning out of somebody's words, and only where the record has
//! nothing else.

use crate::event::{Event, Record};
use crate::name::{Actor, Address, Name};
use crate::pause::{APPROVAL, Pause, PauseCause};
use crate::profile::Loss;
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

/// A life was given up because its supervisor did not answer.
pub fn is_silence(loss: Loss, reason: &str) -> bool {
    loss == Loss::Silent || (loss == Loss::Died && reason == Loss::SILENT)
}

/// A list of another program's was taken as far as it fits.
pub fn copied_what_fits(from: &str) -> bool {
    from.contains(".worktreeinclude")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_record_tells_of_silence_in_its_reason_alone() {
        assert!(is_silence(Loss::Silent, "whatever"));
        assert!(is_silence(Loss::Died, Loss::SILENT));
        assert!(!is_silence(Loss::Died, "its process ended"));
        assert!(!is_silence(Loss::Broken, Loss::SILENT));
    }
}
