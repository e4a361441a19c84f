//! G2: what was acknowledged is in the log exactly once.

use shipmate_model::event::Record;
use shipmate_model::{Command, Position};

use super::{Check, hold};
use crate::simulation::model::Model;

/// An answer says where its records are; they follow the end of the log and are all there.
pub(super) fn g2_an_answer_names_records_of_the_log(
    first: Position,
    next: Position,
    size: usize,
    appended: usize,
) -> Check {
    hold("G2", first == next && size <= appended && size > 0, || {
        format!(
            "an answer names {size} records from {first}, and {appended} were appended at {next}"
        )
    })
}

/// Each record carries the request and the actor of its command, and no request has two commands.
pub(super) fn g2_no_request_is_carried_out_twice(
    model: &Model,
    command: &Command,
    records: &[Record],
) -> Check {
    for record in records {
        hold("G2", record.req == command.req && record.by == command.by, || {
            format!("record {} does not carry its request {:?}", record.n, command.req)
        })?;
    }
    let Some(req) = &command.req else { return Ok(()) };
    hold("G2", !model.requests.contains_key(req), || {
        format!("request {} of {} was carried out twice", req.counter, req.client)
    })
}

/// A request that was carried out before is answered with what it wrote then.
pub(super) fn g2_a_repeated_request_gets_its_own_records(
    records: &[Record],
    command: &Command,
    first: Position,
    last: Position,
) -> Check {
    let own = |n: Position| {
        let record = records.get((n as usize).checked_sub(1)?)?;
        Some(record.req == command.req && record.req.is_some())
    };
    let inside = (first..=last).all(|n| own(n) == Some(true));
    let alone = own(first.saturating_sub(1)) != Some(true) && own(last + 1) != Some(true);
    hold("G2", inside && alone, || {
        format!("request {:?} was answered with records {first} to {last}", command.req)
    })
}
