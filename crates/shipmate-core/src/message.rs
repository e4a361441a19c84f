//! Messages: accepted once durable, in order per sender, read exactly once.
//!
//! A message lies with a name and waits for whichever life reads it; control is
//! bound to one epoch and ends with it. A broadcast is one record: everybody has
//! it or nobody. Who sent a message is who acted, never a field of the request.

use std::collections::BTreeSet;

use shipmate_model::command::To;
use shipmate_model::event::{Event, MessageId, MessageKind, Recipient};
use shipmate_model::limits::TEXT_BYTES_MAX;
use shipmate_model::name::{Actor, Address, Name};
use shipmate_model::refusal::Refusal;

use crate::escalation;
use crate::mail::require_room;
use crate::route;
use crate::size::check_texts;
use crate::state::{Delivery, State, TeamPhase};

const BY_HAND: &str = "send that kind of message by hand: it comes with the decision";

pub(crate) fn decide_send(
    state: &State,
    by: &Actor,
    to: &To,
    kind: &MessageKind,
    body: &str,
    reply_to: Option<MessageId>,
) -> Result<Vec<Event>, Refusal> {
    state.require_present(by)?;
    if body.is_empty() {
        return Err(Refusal::Empty { what: "the message" });
    }
    check_texts(&[("the message", body, TEXT_BYTES_MAX)])?;
    // The other kinds carry a decision and are sent by deciding it.
    let kind = match (kind, to) {
        (MessageKind::Handoff(name), _) if MessageKind::is_reserved(name) => {
            return Err(Refusal::NotTheirs { by: by.clone(), what: BY_HAND });
        }
        (MessageKind::Message, To::All { .. }) => MessageKind::Broadcast,
        (MessageKind::Message | MessageKind::Handoff(_), _) => kind.clone(),
        _ => {
            return Err(Refusal::NotTheirs { by: by.clone(), what: BY_HAND });
        }
    };
    let to = resolve(state, by, to)?;
    for recipient in &to {
        require_room(state, recipient)?;
    }
    if let Some(decided) = escalation::decide(state, by, &kind, &to, body, reply_to) {
        return decided;
    }
    route::require(state, by, &kind, &to)?;
    Ok(vec![Event::MessageSent {
        to,
        kind,
        body: body.to_owned(),
        reply_to,
        epoch: None,
        line_end: None,
    }])
}

/// A word from outside is plain mail to one member, whatever the playbook's routes: nobody is bound
/// to answer it, and it decides nothing.
pub(crate) fn decide_take_in(
    state: &State,
    by: &Actor,
    to: &Address,
    body: &str,
    line_end: u64,
) -> Result<Vec<Event>, Refusal> {
    if *by != Actor::Outside {
        return Err(Refusal::NotTheirs { by: by.clone(), what: "bring in mail from outside" });
    }
    if body.is_empty() {
        return Err(Refusal::Empty { what: "the message" });
    }
    check_texts(&[("the message", body, TEXT_BYTES_MAX)])?;
    let to = one_member(state, to.clone())?;
    for recipient in &to {
        require_room(state, recipient)?;
    }
    let (kind, body, line_end) = (MessageKind::Message, body.to_owned(), Some(line_end));
    Ok(vec![Event::MessageSent { to, kind, body, reply_to: None, epoch: None, line_end }])
}

fn resolve(state: &State, by: &Actor, to: &To) -> Result<Vec<Recipient>, Refusal> {
    let own_team = match by {
        Actor::Teammate(who) => Some(&who.address.team),
        _ => state.root.as_ref(),
    };
    match to {
        To::Person => Ok(vec![Recipient::Person]),
        To::Address(address) => match state.member(address) {
            Some(_) => one_member(state, address.clone()),
            None => {
                let found = of_role(state, &address.team, &address.name);
                one_member(state, found.unwrap_or_else(|| address.clone()))
            }
        },
        To::Name(name) => {
            let near = own_team.map(|team| Address { team: team.clone(), name: name.clone() });
            if let Some(near) = near.filter(|near| state.member(near).is_some()) {
                return one_member(state, near);
            }
            if let Some(found) = own_team.and_then(|team| of_role(state, team, name)) {
                return one_member(state, found);
            }
            let mut found = named(state, name);
            match found.len() {
                0 => {
                    let (name, members) = (name.to_string(), state.members());
                    Err(Refusal::UnknownTeammate { name, members })
                }
                1 => one_member(state, found.remove(0)),
                _ => Err(Refusal::AmbiguousTeammate { name: name.clone(), members: found }),
            }
        }
        To::All { team } => {
            let Some(team) = team.as_ref().or(own_team) else {
                return Err(Refusal::Empty { what: "the team to send to" });
            };
            state.require_team(team)?;
            let others = state.members_of(team).filter(|(address, mate)| {
                mate.can_receive()
                    && !mate.profile.one_shot
                    && !matches!(by, Actor::Teammate(me) if me.address == **address)
            });
            let found: Vec<_> = others.map(|(who, _)| Recipient::Member(who.clone())).collect();
            if found.is_empty() {
                return Err(Refusal::NobodyElse { team: team.clone() });
            }
            Ok(found)
        }
    }
}

/// The one member of a team with this role. Models write to `lead` or `senior` whatever whoever
/// that is may be called.
fn of_role(state: &State, team: &Name, role: &Name) -> Option<Address> {
    let lead = state.teams.get(team)?.lead.clone().filter(|_| role.as_str() == "lead");
    if let Some(name) = lead {
        return Some(Address { team: team.clone(), name });
    }
    let members = state.members_of(team).map(|(who, _)| who);
    let mut found = members.filter(|who| route::role_of(state, who) == Some(role));
    let one = found.next()?.clone();
    found.next().is_none().then_some(one)
}

fn named(state: &State, name: &Name) -> Vec<Address> {
    let named = state.teammates.keys().filter(|who| who.name == *name);
    named.filter(|who| state.member(who).is_some()).cloned().collect()
}

fn one_member(state: &State, address: Address) -> Result<Vec<Recipient>, Refusal> {
    let mate = state.require_member(&address)?;
    if mate.profile.one_shot {
        return Err(Refusal::NoInbox { who: address });
    }
    let reads = mate.can_receive();
    if !reads || state.teams[&address.team].phase == TeamPhase::Deleted {
        let members = state.members();
        return Err(Refusal::Stopped { who: address, members });
    }
    Ok(vec![Recipient::Member(address)])
}

fn inbox<'a>(state: &'a State, recipient: &Recipient) -> &'a BTreeSet<MessageId> {
    match recipient {
        Recipient::Person => &state.person_inbox,
        Recipient::Member(address) => &state.teammates[address].inbox,
    }
}

/// Hands over the oldest unread messages and marks them read, in one step.
pub(crate) fn decide_read(state: &State, by: &Actor, max: usize) -> Result<Vec<Event>, Refusal> {
    let to = require_reader(state, by)?;
    let messages: Vec<MessageId> = inbox(state, &to).iter().copied().take(max).collect();
    if messages.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![Event::MessageAcknowledged { to, messages }])
}

fn require_reader(state: &State, by: &Actor) -> Result<Recipient, Refusal> {
    match by {
        Actor::Person => Ok(Recipient::Person),
        Actor::Teammate(who) => {
            state.require_current(who)?;
            Ok(Recipient::Member(who.address.clone()))
        }
        Actor::Runtime | Actor::Outside => {
            Err(Refusal::NotTheirs { by: by.clone(), what: "read mail" })
        }
    }
}

/// The messages in order, each once: a client may name one twice.
fn require_in_inbox(
    state: &State,
    to: &Recipient,
    messages: &[MessageId],
) -> Result<Vec<MessageId>, Refusal> {
    let inbox = inbox(state, to);
    let once: BTreeSet<MessageId> = messages.iter().copied().collect();
    match once.iter().find(|id| !inbox.contains(id)) {
        Some(message) => Err(Refusal::NotInInbox { message: *message, who: to.to_string() }),
        None if once.is_empty() => Err(Refusal::Empty { what: "the list of messages" }),
        None => Ok(once.into_iter().collect()),
    }
}

/// Hands a supervisor what its agent has not been handed; reading is the agent's.
pub(crate) fn decide_take(state: &State, by: &Actor, max: usize) -> Result<Vec<Event>, Refusal> {
    let (who, _) = state.require_teammate(by, "take its mail")?;
    let messages = untaken(state, &who.address, max);
    if messages.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![Event::MessageOffered { to: Recipient::Member(who.address.clone()), messages }])
}

/// The oldest messages that this member's supervisor was not handed.
pub fn untaken(state: &State, who: &Address, max: usize) -> Vec<MessageId> {
    let Some(mate) = state.teammates.get(who) else { return Vec::new() };
    let to = Recipient::Member(who.clone());
    let queued = |id: &&MessageId| state.messages[*id].waiting.get(&to) == Some(&Delivery::Queued);
    mate.inbox.iter().filter(queued).take(max).copied().collect()
}

pub(crate) fn decide_inject(
    state: &State,
    by: &Actor,
    messages: &[MessageId],
    turn: u64,
) -> Result<Vec<Event>, Refusal> {
    let to = require_reader(state, by)?;
    let messages = require_in_inbox(state, &to, messages)?;
    Ok(vec![Event::MessageInjected { to, messages, turn }])
}

pub(crate) fn decide_acknowledge(
    state: &State,
    by: &Actor,
    messages: &[MessageId],
) -> Result<Vec<Event>, Refusal> {
    let to = require_reader(state, by)?;
    let messages = require_in_inbox(state, &to, messages)?;
    Ok(vec![Event::MessageAcknowledged { to, messages }])
}

pub(crate) fn decide_expire(
    state: &State,
    by: &Actor,
    to: &Recipient,
    messages: &[MessageId],
    reason: &str,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "let messages expire")?;
    if let Recipient::Member(who) = to {
        state.require_member(who)?;
    }
    let messages = require_in_inbox(state, to, messages)?;
    let (to, reason) = (to.clone(), reason.to_owned());
    Ok(vec![Event::MessageExpired { to, messages, reason }])
}
