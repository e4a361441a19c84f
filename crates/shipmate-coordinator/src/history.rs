//! What the log answers: records as they are, the way of a message, the state as it once was.

use serde_json::value::RawValue;
use shipmate_core::state::State;
use shipmate_log::AnyLog;
use shipmate_log::Log as _;
use shipmate_model::event::{Event, Recipient};
use shipmate_model::{Actor, Record};
use shipmate_protocol::view::{
    DeliveryState, DeliveryStep, DeliveryTrace, InboxMessage, MessageTrace,
};
use shipmate_protocol::{Code, Refused, refused};

use crate::open::{self, read_refusal};

/// Most records one answer carries, and how many are read at once: a record may be large.
const RECORDS_MAX: usize = 10_000;
const RECORDS_AT_ONCE: usize = 64;
/// After how many bytes a page of the log ends.
pub(crate) const LOG_BYTES: usize = 4 * 1024 * 1024;

/// The messages that a request has handed out, if that is what it did.
pub(crate) fn handed_out(records: &[Record]) -> Option<&[u64]> {
    match records {
        [
            Record {
                event:
                    Event::MessageAcknowledged { messages, .. } | Event::MessageOffered { messages, .. },
                ..
            },
        ] => Some(messages),
        _ => None,
    }
}

/// The texts of messages that may have left the state already.
pub(crate) async fn bodies(
    log: &mut AnyLog,
    messages: &[u64],
) -> Result<Vec<InboxMessage>, Refused> {
    let mut found = Vec::with_capacity(messages.len());
    for id in messages {
        found.push(message(&one(log, *id).await?));
    }
    Ok(found)
}

async fn one(log: &mut AnyLog, position: u64) -> Result<Record, Refused> {
    let none = || refused(Code::UnknownMessage, format!("there is no record {position}"), "");
    let before = position.checked_sub(1).ok_or_else(none)?;
    let page = log.read(before, 1).await.map_err(|e| read_refusal(&e))?;
    let entry = page.into_iter().next().ok_or_else(none)?;
    open::parse(&entry.text, entry.position).map_err(|e| read_refusal(&e))
}

fn message(record: &Record) -> InboxMessage {
    let Event::MessageSent { kind, body, reply_to, .. } = &record.event else {
        unreachable!("an inbox holds positions of messages")
    };
    let from = if kind.is_by_runtime() { Actor::Runtime } else { record.by.clone() };
    InboxMessage {
        id: record.n,
        from: from.to_string(),
        kind: kind.word().to_owned(),
        body: body.clone(),
        reply_to: *reply_to,
        sent_at: record.at,
    }
}

/// Records as they are stored, for `log` and for those who follow. Fewer than `max` come once
/// there are so many bytes; none means that there are none.
pub(crate) async fn records(
    log: &mut AnyLog,
    after: u64,
    max: usize,
    bytes_max: usize,
) -> Result<Vec<Box<RawValue>>, Refused> {
    let max = max.min(RECORDS_MAX);
    let (mut found, mut bytes) = (Vec::new(), 0);
    while found.len() < max && bytes < bytes_max {
        let next = after + found.len() as u64;
        let page = log.read(next, (max - found.len()).min(RECORDS_AT_ONCE)).await;
        let page = page.map_err(|e| read_refusal(&e))?;
        if page.is_empty() {
            break;
        }
        for entry in page {
            if bytes >= bytes_max {
                break;
            }
            bytes += entry.text.len();
            let record = RawValue::from_string(entry.text);
            let damaged = |e| refused(Code::LogDamaged, format!("a record is not JSON: {e}"), "");
            found.push(record.map_err(damaged)?);
        }
    }
    Ok(found)
}

/// Follows one message through the log.
pub(crate) async fn trace(log: &mut AnyLog, id: u64) -> Result<MessageTrace, Refused> {
    let sent = one(log, id).await?;
    let Event::MessageSent { to, .. } = &sent.event else {
        let remedy = "`shipmate log` shows records; messages are the message.sent ones";
        return Err(refused(Code::UnknownMessage, format!("record {id} is not a message"), remedy));
    };
    let queued = |to: &Recipient| DeliveryTrace {
        to: to.to_string(),
        state: DeliveryState::Queued,
        steps: vec![step(DeliveryState::Queued, &sent, None)],
    };
    let mut trace = MessageTrace { message: message(&sent), to: to.iter().map(queued).collect() };
    let mut at = id;
    let mut open = to.len();
    while open > 0 {
        let page = log.read(at, 4096).await.map_err(|e| read_refusal(&e))?;
        if page.is_empty() {
            break;
        }
        for entry in &page {
            at = entry.position;
            // Most records are not about messages; do not parse those.
            if entry.text.contains("\"message.") {
                let record =
                    open::parse(&entry.text, entry.position).map_err(|e| read_refusal(&e))?;
                open -= follow(&mut trace, &record, id);
            }
        }
    }
    Ok(trace)
}

/// Adds a record's step to the trace; how many deliveries ended with it.
fn follow(trace: &mut MessageTrace, record: &Record, id: u64) -> usize {
    let (to, messages, word, detail) = match &record.event {
        Event::MessageOffered { to, messages } => (to, messages, DeliveryState::Offered, None),
        Event::MessageInjected { to, messages, turn } => {
            (to, messages, DeliveryState::Injected, Some(format!("turn {turn}")))
        }
        Event::MessageAcknowledged { to, messages } => {
            (to, messages, DeliveryState::Acknowledged, None)
        }
        Event::MessageExpired { to, messages, reason } => {
            (to, messages, DeliveryState::Expired, Some(reason.clone()))
        }
        Event::MessageBounced { to, messages, reason } => {
            (to, messages, DeliveryState::Bounced, Some(reason.clone()))
        }
        _ => return 0,
    };
    if !messages.contains(&id) {
        return 0;
    }
    let to = to.to_string();
    let ends = matches!(
        word,
        DeliveryState::Acknowledged | DeliveryState::Expired | DeliveryState::Bounced
    );
    for delivery in trace.to.iter_mut().filter(|delivery| delivery.to == to) {
        delivery.state = word;
        delivery.steps.push(step(word, record, detail.clone()));
    }
    usize::from(ends)
}

fn step(state: DeliveryState, record: &Record, detail: Option<String>) -> DeliveryStep {
    DeliveryStep { state, position: record.n, at: record.at, detail }
}

/// The state as of a position.
pub(crate) async fn at(log: &mut AnyLog, position: u64, end: u64) -> Result<State, Refused> {
    if position > end || position == 0 {
        let message = format!("the log has records 1 to {end}");
        return Err(refused(Code::UnknownRecord, message, "name one of those"));
    }
    let mut state = State::default();
    open::fold_from(log, &mut state, position).await.map_err(|e| read_refusal(&e))?;
    Ok(state)
}
