//! What a pause is when somebody asks for one.

use shipmate_model::event::Record;
use shipmate_model::name::{Actor, Address, Name};
use shipmate_model::old;
use shipmate_model::pause::{Pause, PauseCause};

use crate::state::{State, Teammate};
use crate::usage;

/// A pause as its record has it.
pub(crate) fn of_record(record: &Record, cause: PauseCause, reason: &str) -> Pause {
    let (by, reason) = (record.by.clone(), reason.to_owned());
    Pause { n: record.n, at: record.at, by, cause, reason }
}

/// What the pause of a teammate is. That its budget is spent counts only as its own word, where it
/// has one: whoever pauses others cannot have a person asked for money in their name.
pub(crate) fn of_teammate(
    state: &State,
    by: &Actor,
    who: &Address,
    mate: &Teammate,
    spent: bool,
) -> PauseCause {
    let is_own = matches!(by, Actor::Teammate(me) if me.address == *who);
    match spent && is_own && usage::is_bounded(state, who, mate) {
        true => PauseCause::Budget,
        false => PauseCause::of(by),
    }
}

/// What a record without a cause means.
pub(crate) fn of_old_record(by: &Actor, reason: &str, phase: Option<&Name>) -> PauseCause {
    let asked = old::approval(by, reason).filter(|asked| Some(asked) == phase);
    asked.map_or_else(|| PauseCause::of(by), |phase| PauseCause::Approval { phase })
}
