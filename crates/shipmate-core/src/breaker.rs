//! The circuit breaker of a team: after two losses close together only one-shot agents are started,
//! until one teammate has answered again.
//!
//! An observer says when a strike is old, when an open breaker may be probed and whether the probe
//! answered; each names the position it is about, so a late word changes nothing.

use shipmate_model::command::Probe;
use shipmate_model::event::{Event, Loss, Supervision};
use shipmate_model::name::{Actor, Name, Position, TeammateRef};
use shipmate_model::refusal::Refusal;

use crate::state::{BreakerPhase, State};

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

/// A person's word ends what the breaker holds back.
pub(crate) fn close_breaker(state: &State, team: &Name) -> Vec<Event> {
    match state.teams[team].breaker.phase {
        BreakerPhase::Closed => Vec::new(),
        _ => vec![Event::BreakerClosed { team: team.clone() }],
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

/// It says something about the health of a team.
pub(crate) fn counts(loss: Loss) -> bool {
    !matches!(loss, Loss::Host | Loss::Unable)
}
