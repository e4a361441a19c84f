//! What is put into inboxes, and what leaves them: words of the runtime, and the end of somebody's mail.
//!
//! A full inbox never makes a command fail: what is told stands in the log as well.

use std::collections::BTreeMap;

use shipmate_model::event::{Event, MessageId, MessageKind, Recipient};
use shipmate_model::limits::{INBOX_MAX, TEXT_BYTES_MAX};
use shipmate_model::name::{Actor, Address, Name, Position, TeammateRef};
use shipmate_model::refusal::Refusal;

use crate::state::{Delivery, Message, State, Teammate};

/// There is room for so many more unread messages.
pub(crate) fn has_room(state: &State, recipient: &Recipient, more: usize) -> bool {
    let unread = match recipient {
        // Whoever joins with the same command has read nothing and has nothing to read.
        Recipient::Member(who) => state.teammates.get(who).map_or(0, |mate| mate.inbox.len()),
        Recipient::Person => state.person_inbox.len(),
    };
    unread + more <= INBOX_MAX
}

/// Tells a team's lead, or the person where there is none, what happened.
pub(crate) fn tell_lead(state: &State, team: &Name, text: String) -> Option<Event> {
    tell_lead_about(state, team, None, text)
}

/// The same about somebody: of its own end a lead is not the one to tell.
pub(crate) fn tell_lead_about(
    state: &State,
    team: &Name,
    about: Option<&Address>,
    text: String,
) -> Option<Event> {
    to_one(state, lead_for(state, team, about), MessageKind::Notice, text, None)
}

/// Asks somebody's lead something, or the person where it is the lead itself.
pub(crate) fn tell_lead_as(
    state: &State,
    who: &Address,
    kind: MessageKind,
    text: String,
) -> Option<Event> {
    to_one(state, lead_for(state, &who.team, Some(who)), kind, text, None)
}

fn lead_for(state: &State, team: &Name, about: Option<&Address>) -> Recipient {
    let lead = state.lead_of(team);
    let told = |lead: &Address| about != Some(lead) && state.teammates[lead].can_receive();
    lead.filter(told).map_or(Recipient::Person, Recipient::Member)
}

/// A word from the runtime to a member. A full inbox does not get it: the fact is
/// in the log, and a notice must never make a command fail.
pub(crate) fn notice(state: &State, who: &Address, text: String) -> Option<Event> {
    mail(state, who, MessageKind::Notice, text)
}

/// The same of another kind.
pub(crate) fn mail(state: &State, who: &Address, kind: MessageKind, text: String) -> Option<Event> {
    let can_receive = state.teammates[who].can_receive();
    can_receive.then(|| to_one(state, Recipient::Member(who.clone()), kind, text, None)).flatten()
}

/// The same, bound to one life.
pub(crate) fn control_notice(state: &State, who: &TeammateRef, text: String) -> Option<Event> {
    control(state, who, MessageKind::Notice, text)
}

pub(crate) fn control(
    state: &State,
    who: &TeammateRef,
    kind: MessageKind,
    text: String,
) -> Option<Event> {
    state.require_current(who).ok()?;
    to_one(state, Recipient::Member(who.address.clone()), kind, text, Some(who.epoch))
}

pub(crate) fn to_one(
    state: &State,
    to: Recipient,
    kind: MessageKind,
    body: String,
    epoch: Option<u32>,
) -> Option<Event> {
    require_room(state, &to).ok()?;
    let mut body = body;
    if body.len() > TEXT_BYTES_MAX {
        let end = (0..=TEXT_BYTES_MAX).rev().find(|at| body.is_char_boundary(*at)).unwrap_or(0);
        body.truncate(end);
    }
    Some(Event::MessageSent { to: vec![to], kind, body, reply_to: None, epoch, line_end: None })
}

/// Makes the messages among these events name what they are about.
pub(crate) fn reply_to(events: &mut [Event], id: Position) {
    for event in events {
        if let Event::MessageSent { reply_to, .. } = event {
            *reply_to = Some(id);
        }
    }
}

/// Control that was meant for the life that ends.
pub(crate) fn expire_control(state: &State, who: &Address, reason: &str) -> Vec<Event> {
    let bound = |id: &&MessageId| state.messages[id].epoch.is_some();
    let messages: Vec<_> = state.teammates[who].inbox.iter().filter(bound).copied().collect();
    if messages.is_empty() {
        return Vec::new();
    }
    let to = Recipient::Member(who.clone());
    vec![Event::MessageExpired { to, messages, reason: reason.to_owned() }]
}

/// Nobody will read this inbox any more: its mail goes back to whoever sent it.
pub(crate) fn bounce_all(state: &State, who: &Address, reason: &str) -> Vec<Event> {
    let mut events = expire_control(state, who, reason);
    let mut by_sender: BTreeMap<&Actor, Vec<MessageId>> = BTreeMap::new();
    for id in &state.teammates[who].inbox {
        let message = &state.messages[id];
        if message.epoch.is_none() {
            by_sender.entry(&message.from).or_default().push(*id);
        }
    }
    for (sender, messages) in by_sender {
        let ids = messages.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let text = format!("{who} did not read your message {ids}: {reason}");
        let (to, reason) = (Recipient::Member(who.clone()), reason.to_owned());
        events.push(Event::MessageBounced { to, messages, reason });
        let back = match sender {
            Actor::Person => Some(Recipient::Person),
            Actor::Teammate(from) if from.address != *who => state
                .member(&from.address)
                .is_some_and(Teammate::can_receive)
                .then(|| Recipient::Member(from.address.clone())),
            _ => None,
        };
        events.extend(back.and_then(|to| to_one(state, to, MessageKind::Bounce, text, None)));
    }
    events
}

pub(crate) fn apply_sent(state: &mut State, id: Position, message: Message) {
    for recipient in message.waiting.keys() {
        match recipient {
            Recipient::Person => state.person_inbox.insert(id),
            Recipient::Member(who) => {
                let mate = state.teammates.get_mut(who).expect("a recipient is a member");
                mate.told = true;
                mate.inbox.insert(id)
            }
        };
    }
    state.messages.insert(id, message);
}

pub(crate) fn apply_progress(
    state: &mut State,
    to: &Recipient,
    messages: &[MessageId],
    delivery: &Delivery,
) {
    for id in messages {
        let message = state.messages.get_mut(id).expect("a message in an inbox is kept");
        message.waiting.insert(to.clone(), delivery.clone());
    }
}

/// A new life has seen nothing yet: what its predecessor was handed and did not read
/// is handed over again.
pub(crate) fn requeue(state: &mut State, who: &Address) {
    let to = Recipient::Member(who.clone());
    for id in &state.teammates[who].inbox {
        let message = state.messages.get_mut(id).expect("a message in an inbox is kept");
        message.waiting.insert(to.clone(), Delivery::Queued);
    }
}

/// Read, expired or bounced: out of this inbox, and forgotten when out of all.
pub(crate) fn apply_done(state: &mut State, to: &Recipient, messages: &[MessageId]) {
    for id in messages {
        match to {
            Recipient::Person => state.person_inbox.remove(id),
            Recipient::Member(who) => state.teammate_mut(who).inbox.remove(id),
        };
        let message = state.messages.get_mut(id).expect("a message in an inbox is kept");
        message.waiting.remove(to);
        if message.waiting.is_empty() {
            state.messages.remove(id);
        }
    }
}

pub(crate) fn require_room(state: &State, recipient: &Recipient) -> Result<(), Refusal> {
    if !has_room(state, recipient, 1) {
        return Err(Refusal::InboxFull { who: recipient.to_string(), limit: INBOX_MAX });
    }
    Ok(())
}
