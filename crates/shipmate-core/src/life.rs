//! The end of a life, and all that ends with it.

use shipmate_model::event::{Event, Loss, Outcome, ReleaseCause, ShutdownId, StartRule};
use shipmate_model::limits::BARREN_MAX;
use shipmate_model::name::{Actor, Position, TeammateRef};

use crate::account;
use crate::breaker;
use crate::ending;
use crate::mail;
use crate::state::{BreakerPhase, Decision, Life, ShutdownEnd, State, Teammate};
use crate::task::end_attempt;
use crate::usage;
use crate::withdrawal;

/// The end of a life, and all that ends with it.
pub(crate) fn stop(
    state: &State,
    who: &TeammateRef,
    teammate: &Teammate,
    outcome: Outcome,
) -> Vec<Event> {
    let mut events = end_life(state, who, teammate, outcome);
    events.extend(ending::ended_with(state, &who.address));
    events
}

/// The same without asking whether its team is over with it.
pub(crate) fn end_life(
    state: &State,
    who: &TeammateRef,
    teammate: &Teammate,
    outcome: Outcome,
) -> Vec<Event> {
    let stopped = Event::TeammateStopped { who: who.clone(), outcome };
    let mut events = usage::settle_open(state, who, teammate);
    events.extend(match teammate.switches {
        // The name goes on with another agent, and takes up first what this one gives back.
        true => {
            let reason = "its holder goes on with another agent";
            let mut events = release_all(state, teammate, ReleaseCause::GivenBack, reason);
            events.push(stopped);
            events
        }
        false => {
            let cause = ReleaseCause::HolderGone;
            let released = release_all(state, teammate, cause, "its holder stopped");
            [stopped].into_iter().chain(released).collect()
        }
    });
    // Sent away by somebody it does not come back, whatever its profile says.
    let sent_away = teammate.shutdown.and_then(|id| state.shutdowns.get(&id));
    let sent_away = sent_away.is_some_and(|asked| asked.by != Actor::Runtime);
    if !teammate.comes_back() || (sent_away && teammate.profile.start != StartRule::Session) {
        events.extend(mail::bounce_all(state, &who.address, "it stopped"));
    } else {
        // What was meant for this life must not bring on the next.
        events.extend(mail::expire_control(state, &who.address, "it stopped"));
    }
    events
}

/// Gives back what a life held. Submitted work stays: it is at its gate already.
pub(crate) fn release_all(
    state: &State,
    teammate: &Teammate,
    cause: ReleaseCause,
    reason: &str,
) -> Vec<Event> {
    let held = teammate.holds.iter().chain(&teammate.returned);
    held.flat_map(|id| {
        let task = state.task(*id).expect("a held task exists");
        end_attempt(state, task, cause, reason)
    })
    .collect()
}

/// Marks a life as over. Its open questions and plans are withdrawn: an answer
/// could reach nobody.
pub(crate) fn apply_ended(state: &mut State, who: &TeammateRef, life: Life, idle: String) {
    let teammate = state.teammate_mut(&who.address);
    teammate.life = life;
    teammate.idle = Some(idle);
    teammate.leaving = false;
    teammate.approved_plan = None;
    account::apply_switched(teammate);
    let shutdown = teammate.shutdown.take();
    let stopped = matches!(teammate.life, Life::Stopped { .. });
    let reserved = teammate.reserved;
    usage::reserve(state, &who.address, |all| all.minus(&reserved));
    state.reservations.retain(|_, (address, _)| *address != who.address);
    if let Some(id) = shutdown {
        let asked_by = state.shutdowns.get(&id).map(|request| request.by.clone());
        state.teammate_mut(&who.address).dismissed =
            stopped && asked_by.is_some_and(|by| by != Actor::Runtime);
        close(state, id, "the teammate ended");
    }
    for plan in state.plans.values_mut() {
        if plan.who == *who && withdrawal::plan_ends_with_life(plan) {
            plan.decision = Decision::Withdrawn;
        }
    }
    let own = state.questions.iter().filter(|(_, question)| question.who == *who);
    let ended = own.filter(|(id, question)| withdrawal::ends_with_life(state, **id, question));
    for id in ended.map(|(id, _)| *id).collect::<Vec<_>>() {
        withdrawal::apply_withdrawn(state, id);
    }
}

pub(crate) fn apply_disappeared(
    state: &mut State,
    at: Position,
    who: &TeammateRef,
    reason: &str,
    loss: Loss,
) {
    let life = Life::Disappeared { reason: reason.to_owned() };
    apply_ended(state, who, life, format!("disappeared: {reason}"));
    let teammate = state.teammate_mut(&who.address);
    if loss == Loss::Unable {
        teammate.barren = BARREN_MAX;
    } else if is_barren(teammate, loss) {
        teammate.barren += 1;
    }
    let breaker = &mut state.team_mut(&who.address.team).breaker;
    if breaker::counts(loss) {
        breaker.strikes.insert(at);
    }
    // It has shown nothing about the others: the next one is tried.
    if let BreakerPhase::HalfOpen { probe, .. } = &mut breaker.phase
        && loss == Loss::Unable
    {
        probe.take_if(|probe| probe == who);
    }
}

/// Whether the runtime starts somebody no more by itself, once this life is lost.
pub(crate) fn is_given_up_after(teammate: &Teammate, loss: Loss) -> bool {
    let lives = teammate.barren + u32::from(is_barren(teammate, loss));
    let starts = teammate.profile.start == StartRule::WhenNeeded;
    loss == Loss::Unable || (starts && is_barren(teammate, loss) && lives == BARREN_MAX)
}

/// A life that brought nothing, by its own word or by its record.
pub(crate) fn is_barren(teammate: &Teammate, loss: Loss) -> bool {
    match loss {
        Loss::Host | Loss::Unable => false,
        Loss::Broken => true,
        Loss::Died | Loss::Hung | Loss::Silent => teammate.claims == 0,
    }
}

pub(crate) fn close(state: &mut State, id: ShutdownId, how: &str) {
    if let Some(request) = state.shutdowns.get_mut(&id) {
        request.end = ShutdownEnd::Closed { how: how.to_owned() };
    }
}
