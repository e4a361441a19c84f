//! What is sent keeps to the routes, and trouble climbs and is answered as its playbook says.

use shipmate_core::State;
use shipmate_model::Actor;
use shipmate_model::event::{Event, MessageKind, Recipient, Record};

use super::{Check, hold};
use crate::simulation::model::Model;

pub(super) fn mail_keeps_to_its_routes(model: &Model, record: &Record) -> Check {
    let (Event::MessageSent { to, kind, .. }, Actor::Teammate(from)) = (&record.event, &record.by)
    else {
        return Ok(());
    };
    let word = match kind {
        MessageKind::Message | MessageKind::Broadcast => "message",
        // They have their own rule.
        MessageKind::Handoff(kind) if kind.as_str().starts_with("escalation") => return Ok(()),
        MessageKind::Handoff(kind) => kind.as_str(),
        _ => return Ok(()),
    };
    for recipient in to {
        hold("routes", model.is_routed(&from.address, word, recipient), || {
            format!("{from} sent {word} to {recipient}, and no route leads there")
        })?;
        let Recipient::Member(who) = recipient else { continue };
        hold("routes", !model.mates[who].one_shot, || format!("{who} is one-shot and got mail"))?;
    }
    Ok(())
}

/// An open escalation moves only by the runtime's hand; an answer is to an open one, by whoever
/// it lies with.
pub(super) fn trouble_climbs_and_answers_come_down(model: &Model, record: &Record) -> Check {
    match &record.event {
        Event::EscalationRaised { escalation, from, to, .. } => {
            let known = escalation.and_then(|id| model.escalations.get(&id));
            let open = known.is_some_and(|known| known.open);
            hold("escalation", !open || record.by == Actor::Runtime, || {
                format!("{from} raised {escalation:?} again, which is open")
            })?;
            hold("escalation", *to != Recipient::Member(from.clone()), || {
                format!("{from} was asked about its own trouble")
            })
        }
        Event::EscalationResolved { escalation } => {
            let Some(known) = model.escalations.get(escalation) else {
                return hold("escalation", false, || format!("{escalation} was never raised"));
            };
            let by = match &record.by {
                Actor::Teammate(who) => Recipient::Member(who.address.clone()),
                _ => Recipient::Person,
            };
            // A lead may answer the question that was put to the person.
            let theirs = known.to == by || known.to == Recipient::Person;
            hold("escalation", known.open && theirs, || {
                format!("{} answered {escalation}, which is {known:?}", record.by)
            })
        }
        _ => Ok(()),
    }
}

pub(super) fn trouble_lies_where_the_log_says(model: &Model, state: &State) -> Check {
    for (id, raised) in &state.escalations {
        let known = model.escalations.get(id);
        let same = known.is_some_and(|known| {
            known.from == raised.from && known.to == raised.to && known.open == raised.open
        });
        hold("replay", same, || {
            format!("escalation {id} is {raised:?}, and the log says {known:?}")
        })?;
    }
    let open = model.escalations.iter().filter(|(_, known)| known.open);
    let lost = open.map(|(id, _)| id).find(|id| !state.escalations.contains_key(id));
    hold("replay", lost.is_none(), || format!("escalation {lost:?} is open and forgotten"))
}
