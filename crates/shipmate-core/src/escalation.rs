//! Escalations: trouble climbs one level at a time, and an answer comes down.
//!
//! An escalation lies with one level until that level answers it. A level that does not answer in
//! its time is passed over once; one whose answers did not help is passed over when it has had its
//! turns; above the last level is the person, who is asked a question. The task behind it stays
//! with whoever holds it: waiting for an answer is no stall.

use shipmate_model::event::{
    EscalationId, Event, MessageId, MessageKind, QuestionId, QuestionKind, Recipient, TaskId,
};
use shipmate_model::files::FileSet;
use shipmate_model::limits::OPEN_MAX;
use shipmate_model::name::{Actor, Address, Name, Position};
use shipmate_model::playbook::{Escalation, Playbook};
use shipmate_model::refusal::Refusal;

use crate::kept::forget_oldest;
use crate::mail;
use crate::route::role_of;
use crate::state::{Question, Raised, State, TeamPhase, Teammate, current};

/// The kinds of handoff that this is about.
pub const ESCALATION: &str = "escalation";
pub const RESOLUTION: &str = "escalation_resolution";

fn rule<'a>(state: &'a State, team: &Name) -> Option<(&'a Playbook, &'a Escalation)> {
    let book = state.teams.get(team)?.setup.playbook.as_deref()?;
    Some((book, book.escalation.as_ref()?))
}

/// The role above: the next level, or for a role beside the levels the one it reports to.
fn role_above<'a>(book: &'a Playbook, rule: &'a Escalation, role: &Name) -> Option<&'a Name> {
    match rule.levels.iter().position(|level| level == role) {
        Some(at) => rule.levels.get(at + 1),
        None => book.roles.get(role)?.reports_to.as_ref(),
    }
}

/// Who is asked next: the level above that somebody is there for, or the person.
fn above(state: &State, team: &Name, role: &Name) -> Recipient {
    let Some((book, rule)) = rule(state, team) else { return Recipient::Person };
    let mut at = role;
    // Each level once: a role that reports to itself leads nowhere.
    for _ in 0..=rule.levels.len() {
        let Some(next) = role_above(book, rule, at) else { break };
        if let Some(found) = of_role(state, team, next) {
            return Recipient::Member(found);
        }
        at = next;
    }
    Recipient::Person
}

/// The first of this role that can be written to, in the team or in one above it.
fn of_role(state: &State, team: &Name, role: &Name) -> Option<Address> {
    let mut here = Some(team);
    while let Some(team) = here {
        let reads = |who: &Address, mate: &Teammate| {
            mate.can_receive() && !mate.profile.one_shot && role_of(state, who) == Some(role)
        };
        if let Some((who, _)) = state.members_of(team).find(|(who, mate)| reads(who, mate)) {
            return Some(who.clone());
        }
        here = state.teams[team].parent.as_ref();
    }
    None
}

/// A handoff that is an escalation or the answer to one, where the team has levels.
pub(crate) fn decide(
    state: &State,
    by: &Actor,
    kind: &MessageKind,
    to: &[Recipient],
    body: &str,
    reply_to: Option<MessageId>,
) -> Option<Result<Vec<Event>, Refusal>> {
    let MessageKind::Handoff(kind) = kind else { return None };
    match (kind.as_str(), by) {
        (ESCALATION, Actor::Teammate(who)) => {
            rule(state, &who.address.team)?;
            Some(decide_raise(state, &who.address, to, body))
        }
        (RESOLUTION, _) => {
            let team = match to {
                [Recipient::Member(to)] => &to.team,
                _ => state.root.as_ref()?,
            };
            rule(state, team)?;
            Some(decide_resolve(state, by, to, body, reply_to))
        }
        _ => None,
    }
}

fn decide_raise(
    state: &State,
    from: &Address,
    to: &[Recipient],
    body: &str,
) -> Result<Vec<Event>, Refusal> {
    let role = role_of(state, from).cloned();
    let next = role.as_ref().map(|role| above(state, &from.team, role));
    let Some(next) = next else {
        let up = "nobody: it has no role".to_owned();
        return Err(Refusal::NotOneUp { who: from.clone(), role, up });
    };
    // Of several in the same role any will do.
    let same_role = |to: &Recipient| match (to, &next) {
        (Recipient::Member(to), Recipient::Member(next)) => {
            role_of(state, to) == role_of(state, next)
        }
        (to, next) => to == next,
    };
    let [to] = to else {
        return Err(Refusal::NotOneUp { who: from.clone(), role, up: next.to_string() });
    };
    if !same_role(to) {
        return Err(Refusal::NotOneUp { who: from.clone(), role, up: next.to_string() });
    }
    let task = state.teammates[from].holds.first().copied();
    let mut earlier = state.escalations.iter().rev();
    let earlier = earlier.find(|(_, raised)| raised.from == *from && raised.task == task);
    let (escalation, to) = match earlier {
        Some((id, raised)) if raised.open => {
            let with = raised.to.to_string();
            return Err(Refusal::AlreadyEscalated { escalation: *id, with });
        }
        Some((id, raised)) => (Some(*id), again(state, raised, to)),
        None => (None, to.clone()),
    };
    let open = state.escalations.values().filter(|raised| raised.open).count();
    if open >= OPEN_MAX {
        let (size, what) = (open + 1, "the list of escalations");
        return Err(Refusal::OverLimit { what, size, limit: OPEN_MAX, unit: "entries" });
    }
    Ok(raise(state, escalation, from, task, to, body, 0))
}

/// A level that has answered as often as it may is passed over.
fn again(state: &State, raised: &Raised, to: &Recipient) -> Recipient {
    let trips = rule(state, &raised.from.team).map_or(0, |(_, rule)| rule.round_trips_max);
    match &raised.to {
        Recipient::Person => Recipient::Person,
        Recipient::Member(last) if raised.answers >= trips => match role_of(state, last) {
            Some(role) => above(state, &raised.from.team, role),
            None => Recipient::Person,
        },
        // It goes on where it was, which may be higher than where it began.
        Recipient::Member(last) if state.member(last).is_some_and(Teammate::can_receive) => {
            raised.to.clone()
        }
        Recipient::Member(_) => to.clone(),
    }
}

/// The records of an escalation that comes to lie with somebody; `before` others come first.
fn raise(
    state: &State,
    escalation: Option<EscalationId>,
    from: &Address,
    task: Option<TaskId>,
    to: Recipient,
    body: &str,
    before: usize,
) -> Vec<Event> {
    let at = state.position + 1 + before as u64;
    let mut events = Vec::new();
    let question = (to == Recipient::Person).then_some(at);
    if question.is_some() {
        let who = current(from, &state.teammates[from]);
        let (kind, text) = (QuestionKind::Question, body.to_owned());
        let (options, files, owner) = (Vec::new(), FileSet::default(), None);
        events.push(Event::QuestionAsked { who, kind, text, options, task: None, files, owner });
    }
    let id = escalation.unwrap_or(at + events.len() as u64);
    let (from, body) = (from.clone(), body.to_owned());
    let kind = match question {
        Some(_) => MessageKind::Question,
        None => MessageKind::Handoff(name(ESCALATION)),
    };
    let text = match question {
        Some(question) => format!("{from} needs a decision (question {question}): {body}"),
        None => body.clone(),
    };
    let told = mail::to_one(state, to.clone(), kind, text, None);
    events.push(Event::EscalationRaised { escalation, from, to, task, question, body });
    let mut told: Vec<Event> = told.into_iter().collect();
    mail::reply_to(&mut told, question.unwrap_or(id));
    events.extend(told);
    events
}

fn name(kind: &str) -> Name {
    kind.parse().expect("the kinds of an escalation are names")
}

/// The answer of whoever it lies with, to whoever raised it.
fn decide_resolve(
    state: &State,
    by: &Actor,
    to: &[Recipient],
    body: &str,
    reply_to: Option<MessageId>,
) -> Result<Vec<Event>, Refusal> {
    let own = match by {
        Actor::Teammate(who) => Recipient::Member(who.address.clone()),
        _ => Recipient::Person,
    };
    let none =
        || Refusal::NoEscalation { with: own.to_string(), of: shipmate_model::refusal::list(to) };
    let [Recipient::Member(down)] = to else { return Err(none()) };
    let lies = |(_, raised): &(&EscalationId, &Raised)| {
        raised.open && raised.from == *down && raised.to == own
    };
    let mut open = state.escalations.iter().filter(lies);
    let named = |(id, _): &(&EscalationId, &Raised)| reply_to == Some(**id);
    let found = open.clone().find(named).or_else(|| open.next());
    let Some((id, raised)) = found else { return Err(none()) };
    let kind = MessageKind::Handoff(name(RESOLUTION));
    let (to, body) = (vec![Recipient::Member(down.clone())], body.to_owned());
    let mut events = Vec::new();
    let is_open = |id: &QuestionId| state.questions.get(id).is_some_and(Question::is_open);
    if let Some(question) = raised.question.filter(is_open) {
        events.push(Event::QuestionAnswered { question, answer: body.clone() });
    }
    events.push(Event::MessageSent {
        to,
        kind,
        body,
        reply_to: Some(*id),
        epoch: None,
        line_end: None,
    });
    events.push(Event::EscalationResolved { escalation: *id });
    Ok(events)
}

/// A level has not answered in its time: the next one is asked.
pub(crate) fn decide_pass(
    state: &State,
    by: &Actor,
    id: EscalationId,
    asked: Position,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "pass an escalation on")?;
    let unknown = || Refusal::UnknownEscalation { escalation: id };
    let raised = state.escalations.get(&id).ok_or_else(unknown)?;
    let Recipient::Member(late) = &raised.to else { return Ok(Vec::new()) };
    if !raised.open || raised.asked != asked {
        return Ok(Vec::new());
    }
    let role = role_of(state, late).or_else(|| role_of(state, &raised.from));
    let to = role.map_or(Recipient::Person, |role| above(state, &raised.from.team, role));
    let seconds = rule(state, &raised.from.team).map_or(0, |(_, rule)| rule.level_ms / 1000);
    let text =
        format!("{late} did not answer escalation {id} within {seconds} s; it lies with {to}");
    let mut events = raise(state, Some(id), &raised.from, raised.task, to, &raised.body, 0);
    for who in [&raised.from, late] {
        events.extend(mail::notice(state, who, text.clone()));
    }
    Ok(events)
}

/// A phase has failed for good: whoever is above the lead hears of it.
pub(crate) fn of_failure(
    state: &State,
    team: &Name,
    reason: &str,
    evidence: &[String],
    before: usize,
) -> Vec<Event> {
    let Some((book, _)) = rule(state, team) else { return Vec::new() };
    let lead = state.teams[team].lead.clone();
    let Some(lead) = lead.map(|name| Address { team: team.clone(), name }) else {
        return Vec::new();
    };
    let Some(role) = role_of(state, &lead) else { return Vec::new() };
    let already = |raised: &Raised| raised.open && raised.from == lead;
    if state.escalations.values().any(already) {
        return Vec::new();
    }
    let to = above(state, team, role);
    let up = match &to {
        Recipient::Member(to) => role_of(state, to).map_or("lead", Name::as_str),
        Recipient::Person => "person",
    };
    let evidence: Vec<String> = evidence.iter().map(|text| quoted(text)).collect();
    let body = format!(
        "{{\"type\":\"{ESCALATION}\",\"from\":{},\"to\":{},\"issue\":{},\"evidence\":[{}],\
         \"recommendation\":{},\"severity\":\"blocking\"}}",
        quoted(role.as_str()),
        quoted(up),
        quoted(reason),
        evidence.join(","),
        quoted(&format!("decide how {} goes on: mend the cause and run it again", book.name)),
    );
    raise(state, None, &lead, None, to, &body, before)
}

/// A text as JSON writes it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if u32::from(c) < 0x20 => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The time that a level has left runs while its team does.
pub(crate) fn watched(state: &State) -> impl Iterator<Item = (EscalationId, Position, u64)> + '_ {
    state.escalations.iter().filter_map(|(id, raised)| {
        let (_, rule) = rule(state, &raised.from.team)?;
        let team = &state.teams[&raised.from.team];
        let runs = raised.open && raised.to != Recipient::Person && team.phase == TeamPhase::Active;
        let there = state.member(&raised.from).is_some();
        (runs && there).then_some((*id, raised.asked, rule.level_ms))
    })
}

#[derive(Debug)]
pub(crate) struct Fresh<'a> {
    pub(crate) from: &'a Address,
    pub(crate) to: &'a Recipient,
    pub(crate) task: Option<TaskId>,
    pub(crate) question: Option<QuestionId>,
    pub(crate) body: &'a str,
}

pub(crate) fn apply_raised(
    state: &mut State,
    at: Position,
    id: Option<EscalationId>,
    fresh: Fresh<'_>,
) {
    let id = id.unwrap_or(at);
    let earlier = state.escalations.get(&id);
    let answers = earlier.filter(|earlier| earlier.to == *fresh.to).map_or(0, |e| e.answers);
    let raised = Raised {
        from: fresh.from.clone(),
        task: fresh.task,
        body: fresh.body.to_owned(),
        to: fresh.to.clone(),
        asked: at,
        question: fresh.question,
        answers,
        open: true,
    };
    state.escalations.insert(id, raised);
    forget_oldest(&mut state.escalations, |raised| !raised.open);
}

pub(crate) fn apply_resolved(state: &mut State, id: EscalationId) {
    let raised = state.escalations.get_mut(&id).expect("what is resolved was raised");
    (raised.open, raised.answers) = (false, raised.answers + 1);
}
