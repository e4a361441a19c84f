//! Guarantees about tasks: one holder, current tokens, the plan respected.

use shipmate_core::State;
use shipmate_model::event::{Event, Record, ReleaseCause, Seat, TaskId, Token};
use shipmate_model::{Act, Actor, Command};

use super::{Check, hold};
use crate::simulation::model::{Hold, Model, Phase, StageFacts, StatusFacts, is_blamed};

/// G1: between a claim and its end there is no other claim on the task, tokens only grow, and a
/// task is completed once.
pub(super) fn g1_one_holder(model: &Model, record: &Record) -> Check {
    match &record.event {
        Event::TaskClaimed { task, by, .. } => {
            let Some(facts) = model.task(*task) else {
                return hold("G1", false, || format!("task {task} was claimed and does not exist"));
            };
            let free = match &facts.status {
                StatusFacts::Pending => true,
                // What a gate sent back is taken up again by whoever submitted it.
                StatusFacts::Held(hold) => hold.stage == StageFacts::Returned && hold.by == *by,
                _ => false,
            };
            hold("G1", free, || format!("task {task} was claimed while {:?}", facts.status))?;
            hold("G1", record.n > facts.last_token, || {
                format!("token {} of task {task} is not above {}", record.n, facts.last_token)
            })?;
            hold("G1", facts.completions == 0, || format!("completed task {task} was claimed"))
        }
        Event::TaskCompleted { task, .. } => {
            let done = model.task(*task).map_or(1, |facts| facts.completions);
            hold("G1", done == 0 && model.hold(*task).is_some(), || {
                format!("task {task} was completed {} times", done + 1)
            })
        }
        Event::TaskCreated { task, .. } => {
            hold("G1", *task as usize == model.tasks.len() + 1, || {
                format!("task {task} was created after {} others", model.tasks.len())
            })
        }
        _ => Ok(()),
    }
}

fn token_of(event: &Event) -> Option<(TaskId, Token)> {
    match event {
        Event::TaskRenewed { task, token, .. }
        | Event::TaskSubmitted { task, token, .. }
        | Event::TaskCompleted { task, token, .. }
        | Event::TaskReturned { task, token, .. }
        | Event::TaskReleased { task, token, .. }
        | Event::TaskFailed { task, token, .. } => Some((*task, *token)),
        _ => None,
    }
}

/// G5: whatever happens to a claim carries its current token and comes from whoever may do it;
/// late work carries any other.
pub(super) fn g5_the_token_is_current(model: &Model, record: &Record) -> Check {
    if let Event::TaskWorkSetAside { task, token, commit, .. } = &record.event {
        let current = model.hold(*task).map(|hold| hold.token);
        let told = model.task(*task).map(|facts| &facts.told);
        let is_known =
            commit.as_ref().is_some_and(|commit| told.is_some_and(|it| it.contains(commit)));
        hold("late work", !is_known, || {
            format!(
                "{commit:?} of task {task} was handed in or told before, and is told as late work"
            )
        })?;
        return hold("G5", current != Some(*token), || {
            format!("work under the current token {token} of task {task} was set aside")
        });
    }
    let Some((task, token)) = token_of(&record.event) else { return Ok(()) };
    let Some(claim) = model.hold(task).filter(|claim| claim.token == token) else {
        return hold("G5", false, || {
            format!("{:?} was accepted, and the claim is {:?}", record.event, model.hold(task))
        });
    };
    hold("G5", may_act(model, &record.by, claim, &record.event), || {
        format!("{} did {:?} to a claim of {}", record.by, record.event, claim.by)
    })?;
    let in_stage = match &record.event {
        Event::TaskRenewed { renewal, .. } => *renewal == claim.renewal + 1,
        Event::TaskSubmitted { .. } => claim.stage != StageFacts::Submitted,
        Event::TaskReturned { .. } => claim.stage == StageFacts::Submitted,
        Event::TaskReleased { cause: ReleaseCause::Expired, .. } => {
            claim.stage != StageFacts::Submitted && claim.lease_ms.is_some()
        }
        _ => true,
    };
    hold("G5", in_stage, || format!("{:?} does not fit {claim:?}", record.event))
}

fn may_act(model: &Model, by: &Actor, claim: &Hold, event: &Event) -> bool {
    let Actor::Teammate(who) = by else { return true };
    let own = claim.by == *who;
    match event {
        // A life that ends gives back what it holds, whoever ends it.
        Event::TaskReleased { cause: ReleaseCause::HolderGone, .. } => true,
        Event::TaskReleased { cause: ReleaseCause::Reassigned, .. } => {
            model.manages(by, &claim.by.address.team)
        }
        // A lead that ends its team may itself have ended earlier in the same command.
        Event::TaskFailed { .. } => own || model.mates[&who.address].seat == Seat::Lead,
        // A lead that refuses what a submission asks for sends it back.
        Event::TaskReturned { .. } | Event::TaskReleased { cause: ReleaseCause::Failed, .. } => {
            own || model.manages(by, &claim.by.address.team)
        }
        _ => own,
    }
}

/// With a gate no teammate's word completes a task; without one a submission does at once.
pub(super) fn g5_a_gate_decides(model: &Model, records: &[Record]) -> Check {
    let completes = |id: TaskId| {
        let same =
            |event: &Event| matches!(event, Event::TaskCompleted { task, .. } if *task == id);
        records.iter().any(|record| same(&record.event))
    };
    for record in records {
        let (task, submitted) = match &record.event {
            Event::TaskSubmitted { task, .. } => (*task, true),
            Event::TaskCompleted { task, .. } => (*task, false),
            _ => continue,
        };
        let Some(facts) = model.task(task) else { continue };
        let gate = model.teams[&facts.team].gate;
        let right = match (submitted, &record.by) {
            (true, _) => completes(task) != gate,
            (false, Actor::Teammate(_)) => !gate,
            (false, _) => true,
        };
        hold("G5", right, || format!("{:?} in {}, gate: {gate}", record.event, facts.team))?;
    }
    Ok(())
}

/// No claim before its dependencies, outside its role, against its assignment, or on files that
/// are in use.
pub(super) fn a_claim_respects_the_plan(model: &Model, record: &Record) -> Check {
    let Event::TaskClaimed { task, by, .. } = &record.event else { return Ok(()) };
    let Some(facts) = model.task(*task) else { return Ok(()) };
    if let Some(rival) = model.twin_of_files(facts) {
        return hold("files", false, || {
            format!("task {task} was claimed while task {rival} holds files of it")
        });
    }
    if facts.status != StatusFacts::Pending {
        return Ok(());
    }
    let unmet = model.unmet(facts);
    hold("dependencies", unmet.is_empty(), || {
        format!("task {task} was claimed and waits for {unmet:?}")
    })?;
    hold("roles", model.may_take(by, facts), || format!("{by} may not take task {task}"))?;
    hold("hands", model.has_free_hands(by), || format!("{by} claimed task {task}, hands full"))
}

pub(super) fn hands_have_a_limit(model: &Model, record: &Record) -> Check {
    let Event::TaskClaimed { by, .. } = &record.event else { return Ok(()) };
    let (held, limit) = (model.in_hand(by), model.mates[&by.address].tasks_max as usize);
    hold("hands", held <= limit, || format!("{by} holds {held} tasks of {limit}"))
}

/// An attempt that may be repeated is, and one too many fails.
pub(super) fn retries_have_a_limit(model: &Model, record: &Record) -> Check {
    let (task, goes_on) = match &record.event {
        Event::TaskReturned { task, .. } => (*task, true),
        Event::TaskReleased { task, cause, .. } if is_blamed(*cause) => (*task, true),
        Event::TaskFailed { task, .. } => (*task, false),
        _ => return Ok(()),
    };
    let Some(facts) = model.task(task) else { return Ok(()) };
    // What changed nothing twice has failed, whatever is left; and in a team that is gone nobody could try
    // it again.
    let is_gone = model.teams.get(&facts.team).is_none_or(|team| team.phase == Phase::Deleted);
    let right = (facts.retries < facts.retries_max) == goes_on
        || (!goes_on && (facts.unchanged || is_gone));
    hold("retries", right, || {
        format!("task {task} came back {} of {} times", facts.retries + 1, facts.retries_max)
    })
}

/// An alias names one task of the board.
pub(super) fn handles_are_unique(model: &Model, record: &Record) -> Check {
    let Event::TaskCreated { task, spec, .. } = &record.event else { return Ok(()) };
    let Some(alias) = &spec.alias else { return Ok(()) };
    let others = model.tasks.iter().filter(|other| other.status != StatusFacts::Deleted);
    let twin = others.filter(|other| other.alias.as_ref() == Some(alias)).map(|t| t.id).next();
    hold("aliases", twin.is_none(), || format!("tasks {task} and {twin:?} are both {alias}"))
}

/// Whoever asks for the next task gets the best: what came back to it first, then by priority,
/// the longest path behind it, and id.
pub(super) fn g1_the_best_task_is_claimed(
    model: &Model,
    reference: &State,
    command: &Command,
    records: &[Record],
) -> Check {
    let (Act::ClaimNext { .. }, Actor::Teammate(who)) = (&command.act, &command.by) else {
        return Ok(());
    };
    let all = super::state::takeable(model, reference, who);
    let best = super::state::first_taken(model, reference, who, &all);
    let claimed = records.iter().find_map(|record| match &record.event {
        Event::TaskClaimed { task, .. } => Some(*task),
        _ => None,
    });
    hold("best", claimed == best, || {
        format!("{who} got {claimed:?} and the best for it was {best:?}")
    })
}
