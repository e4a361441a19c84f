//! G3: order, exactly once, nothing lost on the way.

use std::collections::BTreeSet;

use shipmate_model::event::{Event, MessageId, MessageKind, Recipient, Record};
use shipmate_model::{Act, Actor, Command};

use super::{Check, hold};
use crate::simulation::model::{Fate, LifeFacts, Model};

fn reader(by: &Actor) -> Option<Recipient> {
    match by {
        Actor::Person => Some(Recipient::Person),
        Actor::Teammate(who) => Some(Recipient::Member(who.address.clone())),
        Actor::Runtime | Actor::Outside => None,
    }
}

/// Reading an inbox takes the oldest letters, in order, as many as were asked for.
pub(super) fn g3_reading_takes_the_oldest(
    model: &Model,
    command: &Command,
    records: &[Record],
) -> Check {
    let Act::ReadInbox { max } = &command.act else { return Ok(()) };
    let Some(to) = reader(&command.by) else { return Ok(()) };
    let mut oldest = model.waiting_for(&to);
    oldest.truncate(*max);
    let read = records.iter().find_map(|record| match &record.event {
        Event::MessageAcknowledged { messages, .. } => Some(messages),
        _ => None,
    });
    hold("G3", read == Some(&oldest), || {
        format!("{to} read {read:?} and the oldest {max} were {oldest:?}")
    })
}

/// An inbox is only said to be empty when it is.
pub(super) fn g3_an_empty_answer_means_an_empty_inbox(model: &Model, command: &Command) -> Check {
    let Act::ReadInbox { max } = &command.act else { return Ok(()) };
    let Some(to) = reader(&command.by) else { return Ok(()) };
    let waiting = model.waiting_for(&to).len();
    hold("G3", waiting == 0 || *max == 0, || format!("{to} was told of no mail, {waiting} wait"))
}

/// A letter that was read, expired or bounced never is again, and lists are in order.
pub(super) fn g3_letters_have_one_fate(model: &Model, record: &Record) -> Check {
    let (to, messages) = match &record.event {
        Event::MessageAcknowledged { to, messages }
        | Event::MessageExpired { to, messages, .. }
        | Event::MessageBounced { to, messages, .. }
        | Event::MessageOffered { to, messages }
        | Event::MessageInjected { to, messages, .. } => (to, messages),
        _ => return Ok(()),
    };
    let mut once: BTreeSet<MessageId> = BTreeSet::new();
    for id in messages {
        let fate = model.letters.get(&(*id, to.clone()));
        hold("G3", fate == Some(&Fate::Waiting) && once.insert(*id), || {
            format!("{:?}, and the fate of letter {id} to {to} was {fate:?}", record.event)
        })?;
    }
    Ok(())
}

/// A message lies with members that can still get it, each once; a broadcast with all of the team
/// but its sender.
pub(super) fn g3_mail_goes_to_those_who_can_get_it(model: &Model, record: &Record) -> Check {
    let Event::MessageSent { to, kind, .. } = &record.event else { return Ok(()) };
    let distinct: BTreeSet<&Recipient> = to.iter().collect();
    hold("G3", distinct.len() == to.len() && !to.is_empty(), || {
        format!("message {} goes to {to:?}", record.n)
    })?;
    let mut team = None;
    for recipient in to {
        let Recipient::Member(who) = recipient else { continue };
        team = Some(who.team.clone());
        hold("G3", model.can_receive(who), || {
            let life = model.mates.get(who).map(|mate| mate.life);
            format!("message {} ({kind:?}) lies with {who}, who is {life:?}", record.n)
        })?;
    }
    if let (MessageKind::Broadcast, Some(team)) = (kind, team) {
        let own = |who: &_| matches!(&record.by, Actor::Teammate(me) if me.address == *who);
        let all = model.reachable(&team).into_iter();
        let all = all.filter(|who| !own(who) && !model.mates[who].one_shot);
        let all: BTreeSet<Recipient> = all.map(Recipient::Member).collect();
        hold("G3", all.iter().eq(distinct.iter().copied()), || {
            format!("broadcast {} went to {to:?} and not to {all:?}", record.n)
        })?;
    }
    Ok(())
}

/// G5: control reaches the life it was meant for or nobody, and ends with it.
pub(super) fn g5_control_ends_with_its_epoch(model: &Model, record: &Record) -> Check {
    match &record.event {
        Event::MessageSent { to, epoch: Some(epoch), .. } => {
            let current = |to: &Recipient| match to {
                Recipient::Member(who) => {
                    model.mates[who].epoch == *epoch && model.mates[who].life == LifeFacts::Running
                }
                Recipient::Person => false,
            };
            hold("G5", to.iter().all(current), || {
                format!("control {} for epoch {epoch} went to {to:?}", record.n)
            })
        }
        Event::MessageAcknowledged { to: Recipient::Member(who), messages }
        | Event::MessageOffered { to: Recipient::Member(who), messages }
        | Event::MessageInjected { to: Recipient::Member(who), messages, .. } => {
            let now = model.mates[who].epoch;
            let meant = |id: &MessageId| model.messages.get(id).and_then(|message| message.epoch);
            let late = messages.iter().find(|id| meant(id).is_some_and(|epoch| epoch != now));
            hold("G5", late.is_none(), || {
                format!("{who}@{now} was given control {late:?} of an earlier life")
            })
        }
        Event::TeammateStarted { who, .. } => {
            let waiting = model.waiting_for(&Recipient::Member(who.address.clone()));
            let control = waiting.iter().find(|id| model.messages[id].epoch.is_some());
            hold("G5", control.is_none(), || {
                format!("{who} starts with control {control:?} of an earlier life")
            })
        }
        _ => Ok(()),
    }
}

/// Mail of somebody who will read no more has gone back or expired.
pub(super) fn g3_nobody_leaves_with_mail(model: &Model, records: &[Record]) -> Check {
    for record in records {
        let who = match &record.event {
            Event::TeammateRemoved { who } => who,
            Event::TeammateStopped { who, .. } => &who.address,
            _ => continue,
        };
        let left = model.waiting_for(&Recipient::Member(who.clone()));
        hold("G3", left.is_empty(), || format!("{who} left with unread mail {left:?}"))?;
    }
    Ok(())
}

/// A task that fails is told to the lead or, without one, to the person.
pub(super) fn a_failure_is_told(records: &[Record]) -> Check {
    let failed = records.iter().filter(|r| matches!(r.event, Event::TaskFailed { .. })).count();
    let told = records
        .iter()
        .filter(|r| matches!(&r.event, Event::MessageSent { kind: MessageKind::Notice, .. }))
        .count();
    hold("told", told >= failed, || format!("{failed} tasks failed and {told} notices went out"))
}
