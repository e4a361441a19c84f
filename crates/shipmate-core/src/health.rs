//! Health: lives that end unasked, and the breaker that stops starting new ones.
//!
//! The core measures no time. An observer watches on its own clock and says when a
//! strike is old, when an open breaker may be probed and whether the probe
//! answered; each names the position it is about, so a late word changes nothing.

use crate::command::Probe;
use crate::event::{Event, Supervision};
use crate::limits::{STRIKES_MAX, TEXT_BYTES_MAX};
use crate::message;
use crate::name::{Actor, Name, Position, TeammateRef};
use crate::refusal::Refusal;
use crate::state::{BreakerPhase, State};
use crate::task::create::check_texts;
use crate::teammate;

/// The runtime saw a process or connection go. What it held is free again, once.
pub(crate) fn decide_disappeared(
    state: &State,
    by: &Actor,
    who: &TeammateRef,
    reason: &str,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "report that a teammate disappeared")?;
    let found = state.require_current(who)?;
    check_texts(&[("the reason", reason, TEXT_BYTES_MAX)])?;
    let mut events =
        vec![Event::TeammateDisappeared { who: who.clone(), reason: reason.to_owned() }];
    events.extend(teammate::release_all(state, found, "its holder disappeared"));
    let team = &who.address.team;
    let over = crate::team::ended_with(state, &who.address);
    if over.contains(&Event::TeamDeleted { team: team.clone() }) {
        events.extend(message::bounce_all(state, &who.address, "its team ended"));
    } else {
        events.extend(message::expire_control(state, &who.address, "its life ended"));
    }
    let text = format!("{who} disappeared: {reason}");
    events.extend(message::tell_lead_about(state, team, Some(&who.address), text));
    let breaker = &state.teams[team].breaker;
    let opens = match &breaker.phase {
        BreakerPhase::Closed => breaker.strikes.len() + 1 >= STRIKES_MAX,
        BreakerPhase::HalfOpen { probe, .. } => probe.as_ref() == Some(who),
        BreakerPhase::Open { .. } => false,
    };
    if opens {
        events.push(Event::BreakerOpened { team: team.clone() });
    }
    events.extend(over);
    Ok(events)
}

pub(crate) fn require_breaker(
    state: &State,
    team: &Name,
    supervision: Supervision,
) -> Result<(), Refusal> {
    if supervision == Supervision::OneShot {
        return Ok(());
    }
    let breaker = &state.teams[team].breaker;
    match &breaker.phase {
        BreakerPhase::Closed | BreakerPhase::HalfOpen { probe: None, .. } => Ok(()),
        BreakerPhase::Open { .. } => Err(Refusal::BreakerOpen { team: team.clone() }),
        BreakerPhase::HalfOpen { .. } => Err(Refusal::BreakerProbing { team: team.clone() }),
    }
}

/// The first one started after the breaker half-opened is the probe.
pub(crate) fn note_probe(state: &mut State, who: &TeammateRef) {
    let one_shot = state.teammates[&who.address].supervision == Supervision::OneShot;
    let breaker = &mut state.team_mut(&who.address.team).breaker;
    if let BreakerPhase::HalfOpen { probe: probe @ None, .. } = &mut breaker.phase
        && !one_shot
    {
        *probe = Some(who.clone());
    }
}

pub(crate) fn decide_forgive(
    state: &State,
    by: &Actor,
    team: &Name,
    strike: Position,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "forgive a strike")?;
    if !state.require_team(team)?.breaker.strikes.contains(&strike) {
        return Err(Refusal::BreakerElsewhere { team: team.clone() });
    }
    Ok(vec![Event::BreakerStrikeForgiven { team: team.clone(), strike }])
}

pub(crate) fn decide_probe(
    state: &State,
    by: &Actor,
    team: &Name,
    opened: Position,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "probe a breaker")?;
    match state.require_team(team)?.breaker.phase {
        BreakerPhase::Open { at } if at == opened => {
            Ok(vec![Event::BreakerHalfOpened { team: team.clone() }])
        }
        _ => Err(Refusal::BreakerElsewhere { team: team.clone() }),
    }
}

pub(crate) fn decide_probed(
    state: &State,
    by: &Actor,
    team: &Name,
    half_opened: Position,
    result: Probe,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "report a probe")?;
    let team = team.clone();
    match state.require_team(&team)?.breaker.phase {
        BreakerPhase::HalfOpen { at, .. } if at == half_opened => Ok(vec![match result {
            Probe::Answered => Event::BreakerClosed { team },
            Probe::Silent => Event::BreakerOpened { team },
        }]),
        _ => Err(Refusal::BreakerElsewhere { team }),
    }
}

pub(crate) fn apply_breaker(state: &mut State, team: &Name, phase: BreakerPhase) {
    let breaker = &mut state.team_mut(team).breaker;
    if phase == BreakerPhase::Closed {
        breaker.strikes.clear();
    }
    breaker.phase = phase;
}
