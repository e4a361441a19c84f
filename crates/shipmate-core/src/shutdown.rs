//! Shutdown: a request with a deadline, an answer, and an end that is always seen.
//!
//! A request is bound to one life. Whatever becomes of it is recorded: clean, with
//! work left, in error, rejected, or out of time. For a teammate with a process
//! behind it the runtime reports the end; otherwise the answer is the end.

use shipmate_model::command::Whom;
use shipmate_model::event::{Event, MessageKind, Outcome, Recipient, ShutdownAnswer, ShutdownId};
use shipmate_model::limits::TEXT_BYTES_MAX;
use shipmate_model::name::{Actor, Address, Name, TeammateRef};
use shipmate_model::pause::PauseCause;
use shipmate_model::playbook::ShutdownOrder;
use shipmate_model::profile::StartRule;
use shipmate_model::refusal::Refusal;

use crate::kept::forget_oldest;
use crate::life::{self, close};
use crate::mail;
use crate::size::check_texts;
use crate::state::{
    Shutdown, ShutdownEnd, State, Team, TeamPhase, Teammate, current, ends_by_process,
};

/// Why somebody is asked to stop, in words that others know; the reason may say more.
pub(crate) const PHASE_COMPLETE: &str = "phase_complete";

pub(crate) fn decide_request(
    state: &State,
    by: &Actor,
    whom: &Whom,
    reason: &str,
    deadline_ms: u64,
) -> Result<Vec<Event>, Refusal> {
    check_texts(&[("the reason", reason, TEXT_BYTES_MAX / 2)])?;
    match whom {
        Whom::Teammate(who) => {
            state.require_manager(by, &who.address.team, "shut a teammate down")?;
            let mate = state.require_current(who)?;
            if mate.shutdown.is_some() {
                return Err(Refusal::ShuttingDown { who: who.address.clone() });
            }
            Ok(ask(state, &who.address, mate, reason, deadline_ms, state.position + 1))
        }
        Whom::Team(team) => {
            state.require_team(team)?;
            state.require_manager(by, team, "shut the team down")?;
            let own = |who: &Address| matches!(by, Actor::Teammate(me) if me.address == *who);
            let further = state.further_teams(team).map(|(name, _)| name);
            let teams: Vec<&Name> = [team].into_iter().chain(further).collect();
            let running = teams.iter().flat_map(|team| state.members_of(team));
            let running: Vec<(&Address, &Teammate)> =
                running.filter(|(who, mate)| mate.is_running() && !own(who)).collect();
            if running.is_empty() {
                return Err(Refusal::NobodyRuns { team: team.clone() });
            }
            let unasked = running.into_iter().filter(|(_, mate)| mate.shutdown.is_none());
            let mut events = Vec::new();
            // What they leave must not bring others to life: until it is continued, nobody starts.
            for team in teams {
                let mut members = state.members_of(team);
                let starters = members.any(|(_, mate)| mate.profile.start == StartRule::WhenNeeded);
                if starters && state.teams[team].paused.is_none() {
                    let (reason, cause) =
                        (format!("shut down: {reason}"), Some(PauseCause::of(by)));
                    events.push(Event::TeamPaused { team: team.clone(), reason, cause });
                }
            }
            for (who, mate) in unasked {
                let id = state.position + 1 + events.len() as u64;
                events.extend(ask(state, who, mate, reason, deadline_ms, id));
            }
            Ok(events)
        }
    }
}

/// One request, as a fact and as control in the inbox that names it. Nobody is asked
/// twice. `id` is the position that the first of these events will have.
pub(crate) fn ask(
    state: &State,
    who: &Address,
    mate: &Teammate,
    reason: &str,
    deadline_ms: u64,
    id: ShutdownId,
) -> Vec<Event> {
    if mate.shutdown.is_some() && deadline_ms > 0 {
        return Vec::new();
    }
    let who = current(who, mate);
    let text = format!("shutdown requested: {reason}; answer within {deadline_ms} ms");
    let told = mail::control(state, &who, MessageKind::ShutdownRequest, text);
    let mut events = vec![Event::ShutdownRequested { who, reason: reason.to_owned(), deadline_ms }];
    events.extend(told);
    mail::reply_to(&mut events, id);
    events
}

pub(crate) fn apply_requested(
    state: &mut State,
    id: ShutdownId,
    by: &Actor,
    who: &TeammateRef,
    reason: &str,
    deadline_ms: u64,
) {
    if let Some(earlier) = state.teammate_mut(&who.address).shutdown.replace(id) {
        close(state, earlier, "asked again");
    }
    let (who, by, reason) = (who.clone(), by.clone(), reason.to_owned());
    let (end, rejected) = (ShutdownEnd::Open, None);
    state.shutdowns.insert(id, Shutdown { who, by, reason, deadline_ms, rejected, end });
    forget_oldest(&mut state.shutdowns, |s| matches!(s.end, ShutdownEnd::Closed { .. }));
}

/// Its people are asked one after the other.
pub(crate) fn is_in_turn(team: &Team) -> bool {
    let playbook = team.setup.playbook.as_ref();
    playbook.is_some_and(|playbook| playbook.shutdown == ShutdownOrder::InTurn)
}

fn require_open(state: &State, id: ShutdownId) -> Result<&Shutdown, Refusal> {
    match state.shutdowns.get(&id) {
        Some(found) if found.end == ShutdownEnd::Open => Ok(found),
        _ => Err(Refusal::UnknownShutdown { shutdown: id }),
    }
}

pub(crate) fn decide_answer(
    state: &State,
    by: &Actor,
    id: ShutdownId,
    answer: &ShutdownAnswer,
) -> Result<Vec<Event>, Refusal> {
    let (who, mate) = state.require_teammate(by, "answer a shutdown request")?;
    let request = require_open(state, id)?;
    if request.who != *who {
        return Err(Refusal::NotTheirs { by: by.clone(), what: "answer another's shutdown" });
    }
    let pending = match answer {
        ShutdownAnswer::InProgress { pending } => pending.join("\n"),
        ShutdownAnswer::Error { reason } | ShutdownAnswer::Rejected { reason } => reason.clone(),
        ShutdownAnswer::Clean => String::new(),
    };
    check_texts(&[("the answer", &pending, TEXT_BYTES_MAX / 2)])?;
    let mut events = vec![Event::ShutdownAnswered { shutdown: id, answer: answer.clone() }];
    let (outcome, word) = match answer {
        ShutdownAnswer::Clean => (Some(Outcome::Clean), "stops"),
        ShutdownAnswer::InProgress { pending } => {
            (Some(Outcome::InProgress { pending: pending.clone() }), "stops with work left")
        }
        ShutdownAnswer::Error { reason } => {
            (Some(Outcome::Error { reason: reason.clone() }), "stops in error")
        }
        ShutdownAnswer::Rejected { .. } => (None, "refuses to stop"),
    };
    let text = if pending.is_empty() {
        format!("{who} {word}")
    } else {
        format!("{who} {word}: {pending}")
    };
    // That it went as the runtime asked for needs nobody's attention: the record says it.
    if *answer != ShutdownAnswer::Clean || request.by != Actor::Runtime {
        events.extend(reply(state, &request.by, &who.address, text));
    }
    if let Some(outcome) = outcome.filter(|_| !ends_by_process(mate)) {
        events.extend(life::stop(state, who, mate, outcome));
    }
    Ok(events)
}

/// The answer goes to whoever asked, or to the lead when that was the runtime.
fn reply(state: &State, asked_by: &Actor, who: &Address, text: String) -> Option<Event> {
    let kind = MessageKind::ShutdownResponse;
    match asked_by {
        Actor::Person => mail::to_one(state, Recipient::Person, kind, text, None),
        Actor::Teammate(lead) if state.require_current(lead).is_ok() => {
            let to = Recipient::Member(lead.address.clone());
            mail::to_one(state, to, kind, text, None)
        }
        _ => mail::tell_lead_about(state, &who.team, Some(who), text),
    }
}

/// The deadline passed on the observer's clock.
pub(crate) fn decide_expire(
    state: &State,
    by: &Actor,
    id: ShutdownId,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "end a shutdown request")?;
    let request = require_open(state, id)?;
    let mut events = vec![Event::ShutdownTimedOut { shutdown: id }];
    let mate = state.require_current(&request.who)?;
    if request.rejected.is_none() && !ends_by_process(mate) {
        let outcome = out_of_time(request.deadline_ms);
        events.extend(life::stop(state, &request.who, mate, outcome));
    }
    Ok(events)
}

/// A rejection closes the request, unless the team is being deleted: then it is
/// heard, and the deadline still runs.
pub(crate) fn apply_answered(state: &mut State, id: ShutdownId, answer: &ShutdownAnswer) {
    let request = state.shutdowns.get_mut(&id).expect("an answered request was made");
    if let ShutdownAnswer::Rejected { reason } = answer {
        let team = &state.teams[&request.who.address.team];
        if team.phase == TeamPhase::Ending {
            return;
        }
        request.rejected = Some(reason.clone());
        // Whoever comes next waits until somebody has said something to its concern.
        if !is_in_turn(team) || request.by != Actor::Runtime {
            stay(state, id);
        }
    } else {
        request.end = ShutdownEnd::Ending { outcome: outcome(answer) };
    }
}

/// The rejection stands: it is not asked again until it has had another task.
fn stay(state: &mut State, id: ShutdownId) {
    let request = state.shutdowns.get_mut(&id).expect("a rejected request was made");
    let reason = request.rejected.as_deref().unwrap_or_default();
    request.end = ShutdownEnd::Closed { how: format!("rejected: {reason}") };
    let who = request.who.address.clone();
    let mate = state.teammate_mut(&who);
    mate.shutdown = None;
    // Who is busy with a task has not said what it wants without one.
    mate.stays = mate.holds.is_empty();
}

/// A word of the lead or the person settles the concern of whoever did not want to stop.
pub(crate) fn apply_word(state: &mut State, from: &Actor, to: &[Recipient]) {
    for recipient in to {
        let Recipient::Member(who) = recipient else { continue };
        let settles = match from {
            Actor::Person => true,
            Actor::Runtime | Actor::Outside => false,
            Actor::Teammate(by) => {
                let lead = state.teams[&who.team].lead.as_ref();
                by.address.team == who.team && lead == Some(&by.address.name)
            }
        };
        let Some(id) = state.teammates[who].shutdown.filter(|_| settles) else { continue };
        let held =
            |request: &Shutdown| request.rejected.is_some() && request.end == ShutdownEnd::Open;
        let ending = state.teams[&who.team].phase == TeamPhase::Ending;
        if !ending && state.shutdowns.get(&id).is_some_and(held) {
            stay(state, id);
        }
    }
}

fn outcome(answer: &ShutdownAnswer) -> Outcome {
    match answer {
        ShutdownAnswer::InProgress { pending } => Outcome::InProgress { pending: pending.clone() },
        ShutdownAnswer::Error { reason } => Outcome::Error { reason: reason.clone() },
        ShutdownAnswer::Clean | ShutdownAnswer::Rejected { .. } => Outcome::Clean,
    }
}

pub(crate) fn apply_timed_out(state: &mut State, id: ShutdownId) {
    let request = state.shutdowns.get_mut(&id).expect("a timed out request was made");
    if request.rejected.is_some() {
        return stay(state, id);
    }
    request.end = ShutdownEnd::Ending { outcome: out_of_time(request.deadline_ms) };
}

/// Without a deadline it was never asked.
fn out_of_time(deadline_ms: u64) -> Outcome {
    if deadline_ms == 0 { Outcome::Forced } else { Outcome::TimedOut }
}
