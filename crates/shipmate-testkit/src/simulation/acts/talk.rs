//! Acts about messages, plans, questions, shutdowns, the breaker and usage.

use shipmate_core::escalation::{ESCALATION, RESOLUTION};
use shipmate_core::state::{BreakerPhase, Decision, ShutdownEnd};
use shipmate_model::command::{Probe, To, Verdict, Whom};
use shipmate_model::event::{
    MessageId, MessageKind, QuestionKind, Recipient, ShutdownAnswer, Usage,
};
use shipmate_model::{Act, Actor, Draft, DraftTask, DraftTeammate, Name, Position};

use super::Chooser;
use crate::simulation::vocabulary::{self, MATES, ROLES, pick_alias, pick_files, pick_name};

/// Trouble that climbs, or the answer to trouble that lies here.
pub(super) fn escalate(c: &mut Chooser<'_>) -> Option<Act> {
    let own = own_inbox(c);
    let lies = c.state.escalations.values().filter(|raised| raised.open && raised.to == own);
    let lies: Vec<_> = lies.map(|raised| raised.from.clone()).collect();
    let (to, kind) = match c.random.pick(&lies) {
        Some(from) if !c.random.chance(200) => (To::Address(from.clone()), RESOLUTION),
        _ if c.random.chance(200) => (To::Person, ESCALATION),
        _ => (To::Address(c.mate()), ESCALATION),
    };
    let kind = MessageKind::Handoff(vocabulary::name(kind));
    Some(Act::SendMessage { to, kind, body: c.text("trouble"), reply_to: None })
}

/// Only what changes nothing or must be refused: that a level is late is said by a timer.
pub(super) fn raise_escalation(c: &mut Chooser<'_>) -> Option<Act> {
    let known = c.state.escalations.keys().next_back().copied();
    let escalation = known.filter(|_| c.random.chance(700)).unwrap_or(0);
    Some(Act::RaiseEscalation { escalation, asked: 0 })
}

/// Whoever is in a team cannot write as one who is not.
pub(super) fn take_in(c: &mut Chooser<'_>) -> Option<Act> {
    Some(Act::TakeIn { to: c.mate(), body: c.text("dropped"), line_end: 1 })
}

pub(super) fn add_note(c: &mut Chooser<'_>) -> Option<Act> {
    let task = c.random.chance(300).then(|| c.task());
    let text = if c.random.chance(100) { String::new() } else { c.text("found") };
    Some(Act::AddNote { team: c.team(), text, task })
}

pub(super) fn remove_note(c: &mut Chooser<'_>) -> Option<Act> {
    let team = c.team();
    let newest = c.state.notes_of(&team).next().map(|note| note.id);
    Some(Act::RemoveNote { note: newest.filter(|_| c.random.chance(900)).unwrap_or(1) })
}

pub(super) fn send(c: &mut Chooser<'_>) -> Option<Act> {
    let to = match c.random.below(10) {
        0 if c.random.chance(300) => To::Name(vocabulary::name("lead")),
        0..3 => To::Name(pick_name(c.random, &MATES)),
        3..6 => To::Address(c.mate()),
        6 => To::Person,
        7..9 => To::All { team: None },
        _ => To::All { team: Some(c.team()) },
    };
    let kind = match c.random.below(20) {
        0 => MessageKind::Notice,
        1 => MessageKind::ShutdownRequest,
        2..5 => MessageKind::Handoff(vocabulary::name("review")),
        _ => MessageKind::Message,
    };
    let body = if c.random.chance(15) { String::new() } else { c.text("words") };
    let read = c.client.map_or(&[][..], |client| client.read.as_slice());
    let reply_to = c.random.pick(read).copied();
    Some(Act::SendMessage { to, kind, body, reply_to })
}

pub(super) fn read_inbox(c: &mut Chooser<'_>) -> Option<Act> {
    let max = if c.random.chance(600) { c.random.index(4) } else { 100 };
    Some(Act::ReadInbox { max })
}

/// Some letters of one's own inbox, or of anybody's, now and then one that was read.
fn letters(c: &mut Chooser<'_>, whose: &Recipient) -> Vec<MessageId> {
    let inbox: Vec<MessageId> = match whose {
        Recipient::Person => c.state.person_inbox.iter().copied().collect(),
        Recipient::Member(who) => {
            c.state.teammates.get(who).map_or_else(Vec::new, |m| m.inbox.iter().copied().collect())
        }
    };
    let mut some: Vec<MessageId> =
        inbox.into_iter().filter(|_| c.random.chance(600)).take(4).collect();
    if let Some(client) = c.client
        && c.random.chance(c.stale)
    {
        some.extend(c.random.pick(&client.read));
    }
    some
}

fn own_inbox(c: &Chooser<'_>) -> Recipient {
    match c.client.map(|client| &client.who) {
        Some(Actor::Teammate(who)) => Recipient::Member(who.address.clone()),
        _ => Recipient::Person,
    }
}

pub(super) fn take_inbox(c: &mut Chooser<'_>) -> Option<Act> {
    Some(Act::TakeInbox { max: c.random.index(4) })
}

pub(super) fn inject(c: &mut Chooser<'_>) -> Option<Act> {
    let inbox = own_inbox(c);
    let messages = letters(c, &inbox);
    let turn = c.random.below(50);
    (!messages.is_empty() || c.random.chance(50)).then_some(Act::InjectMessages { messages, turn })
}

pub(super) fn acknowledge(c: &mut Chooser<'_>) -> Option<Act> {
    let inbox = own_inbox(c);
    let messages = letters(c, &inbox);
    (!messages.is_empty() || c.random.chance(50)).then_some(Act::AcknowledgeMessages { messages })
}

pub(super) fn expire_messages(c: &mut Chooser<'_>) -> Option<Act> {
    let to = if c.random.chance(100) { Recipient::Person } else { Recipient::Member(c.mate()) };
    let messages = letters(c, &to);
    let reason = c.text("too old");
    (!messages.is_empty() || c.random.chance(100)).then_some(Act::ExpireMessages {
        to,
        messages,
        reason,
    })
}

pub(super) fn submit_plan(c: &mut Chooser<'_>) -> Option<Act> {
    let task = c.random.chance(300).then(|| c.task());
    let work = c.random.chance(400).then(|| Box::new(draft(c)));
    Some(Act::SubmitPlan { task, body: c.text("plan"), work })
}

/// What a lead may plan: small, and often enough in order.
fn draft(c: &mut Chooser<'_>) -> Draft {
    let many = c.random.below(4) as usize;
    let mut tasks: Vec<DraftTask> = Vec::new();
    for index in 0..many {
        let files = pick_files(c.random).iter().map(ToString::to_string).collect();
        let before = (index > 0 && c.random.chance(700)).then(|| tasks[index - 1].key.clone());
        let role = c.random.chance(100).then(|| pick_name(c.random, &ROLES).to_string());
        tasks.push(DraftTask {
            key: pick_alias(c.random).to_string(),
            subject: c.text("planned"),
            files,
            blocked_by: before.into_iter().collect(),
            role,
            ..DraftTask::default()
        });
    }
    let mates = 0..c.random.below(3);
    let teammates = mates.map(|_| DraftTeammate {
        name: pick_name(c.random, &MATES).to_string(),
        hears: true,
        ..DraftTeammate::default()
    });
    let teammates = teammates.collect();
    let single = c.random.chance(300).then(|| "it is small".to_owned());
    Draft { tasks, teammates, single, problems: Vec::new() }
}

pub(super) fn decide_plan(c: &mut Chooser<'_>) -> Option<Act> {
    let open = c.state.plans.iter().filter(|(_, plan)| plan.decision == Decision::Open);
    let open: Vec<Position> = open.map(|(id, _)| *id).collect();
    let all: Vec<Position> = c.state.plans.keys().copied().collect();
    let from = if c.random.chance(850) { &open } else { &all };
    let plan = *c.random.pick(from)?;
    let verdict = if c.random.chance(600) {
        Verdict::Approve
    } else {
        Verdict::Reject { feedback: c.text("no"), unworkable: false }
    };
    Some(Act::DecidePlan { plan, verdict })
}

pub(super) fn ask(c: &mut Chooser<'_>) -> Option<Act> {
    let kind = match c.random.below(3) {
        0 => QuestionKind::Permission,
        1 => QuestionKind::Scope,
        _ => QuestionKind::Question,
    };
    let options = if c.random.chance(400) { vec!["yes".into(), "no".into()] } else { Vec::new() };
    let text = if c.random.chance(20) { " ".to_owned() } else { c.text("may I") };
    Some(Act::Ask { kind, text, options })
}

pub(super) fn answer(c: &mut Chooser<'_>) -> Option<Act> {
    let open = c.state.questions.iter().filter(|(_, question)| question.is_open());
    let open: Vec<Position> = open.map(|(id, _)| *id).collect();
    let all: Vec<Position> = c.state.questions.keys().copied().collect();
    let from = if c.random.chance(850) { &open } else { &all };
    let question = *c.random.pick(from)?;
    let options = c.state.questions.get(&question).map_or(&[][..], |asked| &asked.options);
    let answer = match c.random.pick(options) {
        Some(option) if c.random.chance(900) => option.clone(),
        _ => "perhaps".to_owned(),
    };
    Some(Act::Answer { question, answer })
}

pub(super) fn withdraw(c: &mut Chooser<'_>) -> Option<Act> {
    let all: Vec<Position> = c.state.questions.keys().copied().collect();
    let question = *c.random.pick(&all)?;
    Some(Act::WithdrawQuestion { question, reason: c.text("never mind") })
}

pub(super) fn request_shutdown(c: &mut Chooser<'_>) -> Option<Act> {
    let whom = if c.random.chance(150) { Whom::Team(c.team()) } else { Whom::Teammate(c.life()) };
    let deadline_ms = c.random.below(120_000);
    Some(Act::RequestShutdown { whom, reason: c.text("enough"), deadline_ms })
}

pub(super) fn answer_shutdown(c: &mut Chooser<'_>) -> Option<Act> {
    let me = c.me().cloned();
    let own = c.state.shutdowns.iter().filter(|(_, request)| me.as_ref() == Some(&request.who));
    let own: Vec<Position> = own.map(|(id, _)| *id).collect();
    let all: Vec<Position> = c.state.shutdowns.keys().copied().collect();
    let from = if c.random.chance(950) { &own } else { &all };
    let shutdown = *c.random.pick(from)?;
    let answer = match c.random.below(4) {
        0 => ShutdownAnswer::InProgress { pending: vec![c.text("left")] },
        1 => ShutdownAnswer::Error { reason: c.text("error") },
        2 => ShutdownAnswer::Rejected { reason: c.text("busy") },
        _ => ShutdownAnswer::Clean,
    };
    Some(Act::AnswerShutdown { shutdown, answer })
}

pub(super) fn expire_shutdown(c: &mut Chooser<'_>) -> Option<Act> {
    let open = c.state.shutdowns.iter();
    let open = open.filter(|(_, s)| !matches!(s.end, ShutdownEnd::Closed { .. }));
    let open: Vec<Position> = open.map(|(id, _)| *id).collect();
    let shutdown = *c.random.pick(&open)?;
    Some(Act::ExpireShutdown { shutdown })
}

pub(super) fn forgive(c: &mut Chooser<'_>) -> Option<Act> {
    let team = c.team();
    let strikes = c.state.teams.get(&team).map(|team| team.breaker.strikes.clone());
    let strikes: Vec<Position> = strikes.into_iter().flatten().collect();
    let strike = match c.random.pick(&strikes) {
        Some(strike) => *strike,
        None if c.random.chance(100) => c.random.below(c.state.position + 1),
        None => return None,
    };
    Some(Act::ForgiveStrike { team, strike })
}

/// A team with its breaker in a phase, and since when; at times an older moment.
fn breaker(c: &mut Chooser<'_>, at: fn(&BreakerPhase) -> Option<Position>) -> Option<(Name, u64)> {
    let teams = c.state.teams.iter();
    let there: Vec<(Name, Position)> =
        teams.filter_map(|(name, team)| Some((name.clone(), at(&team.breaker.phase)?))).collect();
    let (team, since) = match c.random.pick(&there) {
        Some(found) => found.clone(),
        None if c.random.chance(100) => (c.team(), c.state.position),
        None => return None,
    };
    let late = c.random.chance(c.stale);
    Some((team, if late { since.saturating_sub(1) } else { since }))
}

pub(super) fn probe(c: &mut Chooser<'_>) -> Option<Act> {
    let (team, opened) = breaker(c, |phase| match phase {
        BreakerPhase::Open { at } => Some(*at),
        _ => None,
    })?;
    Some(Act::ProbeBreaker { team, opened })
}

pub(super) fn report_probe(c: &mut Chooser<'_>) -> Option<Act> {
    let (team, half_opened) = breaker(c, |phase| match phase {
        BreakerPhase::HalfOpen { at, .. } => Some(*at),
        _ => None,
    })?;
    let result = if c.random.chance(600) { Probe::Answered } else { Probe::Silent };
    Some(Act::ReportProbe { team, half_opened, result })
}

fn usage(c: &mut Chooser<'_>) -> Usage {
    Usage {
        tokens_in: c.random.below(2_000),
        tokens_out: c.random.below(500),
        tokens_cached: c.random.below(500),
        cost_micros: c.random.below(2_000),
        ..Usage::default()
    }
}

pub(super) fn reserve(c: &mut Chooser<'_>) -> Option<Act> {
    Some(Act::ReserveUsage { usage: usage(c) })
}

pub(super) fn report_usage(c: &mut Chooser<'_>) -> Option<Act> {
    let usage = usage(c);
    let task = c.random.chance(300).then(|| c.task());
    let known = c.client.map_or(&[][..], |client| client.reservations.as_slice());
    let reservation = if c.random.chance(700) { c.random.pick(known).copied() } else { None };
    Some(Act::ReportUsage { usage, task, reservation })
}
