//! What a pause is when somebody asks for one.

use shipmate_model::event::Record;
use shipmate_model::name::{Actor, Address, Name};
use shipmate_model::pause::{APPROVAL, Pause, PauseCause};

use crate::state::{State, Teammate};
use crate::usage;

/// A pause as its record has it.
pub(crate) fn of_record(record: &Record, cause: PauseCause, reason: &str) -> Pause {
    let (by, reason) = (record.by.clone(), reason.to_owned());
    Pause { n: record.n, at: record.at, by, cause, reason }
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
    match reason.starts_with(shipmate_model::usage::SPENT)
        && is_own
        && usage::is_bounded(state, who, mate)
    {
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
