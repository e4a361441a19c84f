//! Guarantees about lives: fencing, leases, the breaker, budgets and the end of a team.

use shipmate_model::event::{Budget, Event, Record, Supervision, Usage};
use shipmate_model::{Act, Actor, TeammateRef};

use super::{Check, Confirmed, hold};
use crate::simulation::model::{BreakerFacts, LifeFacts, Model, Phase, ShutdownStage, StageFacts};

/// Two disappearances open the breaker; the number is the design's, not the core's.
const STRIKES: usize = 2;

/// G5: a teammate acts only while its life is current. Late work is set aside by anybody.
pub(super) fn g5_the_actor_is_current(model: &Model, records: &[Record]) -> Check {
    let Some(first) = records.first() else { return Ok(()) };
    if matches!(first.event, Event::TaskWorkSetAside { .. }) {
        return Ok(());
    }
    let Actor::Teammate(who) = &first.by else { return Ok(()) };
    hold("G5", model.is_current(who), || {
        let mate = model.mates.get(&who.address).map(|mate| (mate.epoch, mate.life));
        format!("{who} did {:?}, and that name is {mate:?}", first.event)
    })
}

fn subject(event: &Event) -> Option<&TeammateRef> {
    match event {
        // A question about a submission is about a life that may have ended.
        Event::QuestionAsked { task: Some(_), .. } => None,
        Event::TeammateIdle { who, .. }
        | Event::TeammateStalled { who, .. }
        | Event::TeammateSession { who, .. }
        | Event::TeammateDisappeared { who, .. }
        | Event::TeammateStopped { who, .. }
        | Event::PlanSubmitted { who, .. }
        | Event::QuestionAsked { who, .. }
        | Event::ShutdownRequested { who, .. }
        | Event::UsageReserved { who, .. }
        | Event::UsageRecorded { who, .. }
        | Event::TaskClaimed { by: who, .. } => Some(who),
        _ => None,
    }
}

/// G5: what is said about a life is about the present one; answers reach the life that asked.
pub(super) fn g5_the_subject_is_current(model: &Model, record: &Record) -> Check {
    let event = &record.event;
    if let Some(who) = subject(event) {
        // An escalation that comes to the person outlives the life that raised it.
        let climbs = record.by == Actor::Runtime && matches!(event, Event::QuestionAsked { .. });
        let current = match climbs {
            true => model.mates.get(&who.address).is_some_and(|mate| mate.epoch == who.epoch),
            false => model.is_current(who),
        };
        return hold("G5", current, || format!("{event:?} is about an old life"));
    }
    match event {
        Event::TeammateStarted { who, .. } => {
            let before = model.mates.get(&who.address);
            let next = before.is_some_and(|mate| {
                mate.epoch + 1 == who.epoch
                    && !matches!(mate.life, LifeFacts::Running | LifeFacts::Removed)
            });
            hold("G5", next, || format!("{who} started after {before:?}"))
        }
        Event::PlanApproved { plan } | Event::PlanRejected { plan, .. } => {
            let open = model.plans.get(plan);
            let open = open.is_some_and(|p| p.open && (p.work || model.is_current(&p.who)));
            hold("G5", open, || format!("plan {plan} was decided and is not open"))
        }
        Event::QuestionAnswered { question, .. } => {
            hold("G5", model.answerable(*question).is_some(), || {
                format!("question {question} was answered and is not open")
            })
        }
        Event::ShutdownAnswered { shutdown, .. } | Event::ShutdownTimedOut { shutdown } => {
            let open = model.shutdowns.get(shutdown);
            let open =
                open.is_some_and(|s| s.end == ShutdownStage::Open && model.is_current(&s.who));
            hold("G5", open, || format!("shutdown {shutdown} went on and is not open"))
        }
        _ => Ok(()),
    }
}

/// Stalls are said one after the other, and nobody is given up before its lead was told.
pub(super) fn stalls_go_step_by_step(
    model: &Model,
    one: &Confirmed<'_>,
    records: &[Record],
) -> Check {
    for record in records {
        let (who, right) = match (&record.event, &one.command.act) {
            (Event::TeammateStalled { who, step }, _) => {
                let stalls = model.mates[&who.address].stalls;
                (who, if *step == 0 { stalls > 0 } else { *step == stalls + 1 && *step <= 2 })
            }
            (Event::TeammateDisappeared { who, .. }, Act::ReportStalled { .. }) => {
                (who, model.mates[&who.address].stalls == 2)
            }
            _ => continue,
        };
        hold("stalls", right, || {
            format!("{:?} after {} stalls", record.event, model.mates[&who.address].stalls)
        })?;
    }
    Ok(())
}

/// Nobody claims in a paused team, and the runtime starts nobody there.
pub(super) fn a_paused_team_rests(model: &Model, record: &Record) -> Check {
    let team = match &record.event {
        Event::TaskClaimed { by, .. } => &by.address.team,
        Event::TeammateStarted { who, supervision, .. } if *supervision != Supervision::None => {
            &who.address.team
        }
        _ => return Ok(()),
    };
    hold("pause", !model.teams[team].paused, || format!("{:?} in a paused team", record.event))
}

/// G10: a lease ends only when its observer has waited all of it on its own clock.
pub(super) fn g10_no_lease_ends_early(model: &Model, one: &Confirmed<'_>) -> Check {
    let Act::ExpireClaim { task, token, renewal } = &one.command.act else { return Ok(()) };
    let Some(claim) = model.hold(*task) else { return Ok(()) };
    hold("G10", claim.token == *token && claim.renewal == *renewal, || {
        format!("task {task} expired for renewal {renewal} of {token}, and has {claim:?}")
    })?;
    let lease_ms = claim.lease_ms.unwrap_or(u64::MAX);
    let waited_ms = one.waited_ms.unwrap_or(0);
    hold("G10", waited_ms >= lease_ms, || {
        format!("the lease of task {task} is {lease_ms} ms and ended after {waited_ms} ms")
    })
}

pub(super) fn the_breaker_is_legal(model: &Model, record: &Record) -> Check {
    let state = |team| model.teams.get(team).map(|facts| (&facts.breaker, &facts.strikes));
    let legal = match &record.event {
        Event::BreakerOpened { team } => match state(team) {
            Some((BreakerFacts::Closed, strikes)) => strikes.len() >= STRIKES,
            Some((BreakerFacts::HalfOpen(..), _)) => true,
            _ => false,
        },
        Event::BreakerHalfOpened { team } => {
            matches!(state(team), Some((BreakerFacts::Open(_), _)))
        }
        Event::BreakerClosed { team } => {
            // A person's word ends what it holds back.
            let by_person = record.by == Actor::Person;
            by_person || matches!(state(team), Some((BreakerFacts::HalfOpen(..), _)))
        }
        Event::BreakerStrikeForgiven { team, strike } => {
            state(team).is_some_and(|(_, strikes)| strikes.contains(strike))
        }
        Event::TeammateStarted { who, supervision, .. } => match state(&who.address.team) {
            Some((BreakerFacts::Closed | BreakerFacts::HalfOpen(_, None), _)) => true,
            _ => *supervision == Supervision::OneShot,
        },
        _ => true,
    };
    hold("breaker", legal, || format!("{:?} while {:?}", record.event, model.teams))
}

pub(super) fn two_strikes_open_the_breaker(model: &Model, records: &[Record]) -> Check {
    for record in records {
        let Event::TeammateDisappeared { who, .. } = &record.event else { continue };
        let team = &model.teams[&who.address.team];
        hold(
            "breaker",
            team.strikes.len() < STRIKES || team.breaker != BreakerFacts::Closed,
            || format!("{} strikes and the breaker is closed", team.strikes.len()),
        )?;
    }
    Ok(())
}

pub(super) fn reservations_stay_in_the_budget(model: &Model, record: &Record) -> Check {
    let Event::UsageReserved { who, usage } = &record.event else { return Ok(()) };
    let within = |budget: Budget, used: &Usage| {
        let after = used.plus(usage);
        budget.tokens_max.is_none_or(|max| after.tokens() <= max)
            && budget.cost_micros_max.is_none_or(|max| after.cost_micros <= max)
    };
    let mate = &model.mates[&who.address];
    hold("budget", within(mate.budget, &mate.used.plus(&mate.reserved)), || {
        format!("{who} reserved {usage:?} over its budget {:?}", mate.budget)
    })?;
    for name in model.above(&who.address.team) {
        let team = &model.teams[&name];
        hold("budget", within(team.budget, &team.used.plus(&team.reserved)), || {
            format!("{who} reserved {usage:?} over the budget of {name} {:?}", team.budget)
        })?;
    }
    Ok(())
}

/// A life that ended, or was never begun again, holds nothing but what waits for a gate.
pub(super) fn an_ended_life_holds_nothing(model: &Model, records: &[Record]) -> Check {
    for record in records {
        let (Event::TeammateDisappeared { who, .. } | Event::TeammateStopped { who, .. }) =
            &record.event
        else {
            continue;
        };
        let held = model.held().find(|(_, claim)| {
            claim.by.address == who.address && claim.stage != StageFacts::Submitted
        });
        hold("end of life", held.is_none(), || format!("{who} ended and holds {held:?}"))?;
    }
    Ok(())
}

/// A team is gone when nobody of it runs and nobody works on its tasks.
pub(super) fn a_deleted_team_is_empty(model: &Model, record: &Record) -> Check {
    match &record.event {
        Event::TeamDeleted { team } => {
            let running = model.running(team);
            hold("team end", running.is_empty(), || format!("{team} ended, {running:?} run"))?;
            hold("team end", model.teams[team].phase == Phase::Ending, || {
                format!("{team} was deleted while {:?}", model.teams[team].phase)
            })?;
            let held = model
                .held()
                .find(|(task, claim)| task.team == *team && claim.stage != StageFacts::Submitted);
            hold("team end", held.is_none(), || format!("{team} ended with {held:?}"))?;
            let below = model.below(team).into_iter().filter(|name| name != team);
            let left: Vec<_> = below.collect();
            hold("team end", left.is_empty(), || format!("{team} ended before {left:?}"))
        }
        Event::TeamCreated { parent: Some(parent), team, .. } => {
            let active = model.teams.get(parent).is_some_and(|p| p.phase == Phase::Active);
            hold("team end", active, || format!("{team} was created below {parent}"))
        }
        Event::TaskCreated { team, .. } => {
            let active = model.teams.get(team).is_some_and(|t| t.phase == Phase::Active);
            hold("team end", active, || format!("a task was created in {team}"))
        }
        _ => Ok(()),
    }
}
