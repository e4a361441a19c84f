//! The whole state against the account of the log, by looking at all of it.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use shipmate_core::state::{BreakerPhase, Life, Stage, Status, Task, Team, TeamPhase, Teammate};
use shipmate_core::{State, available, available_for};
use shipmate_model::event::{MessageId, Recipient};
use shipmate_model::limits::{CLOSED_KEPT, INBOX_MAX, OPEN_MAX};
use shipmate_model::pause::PauseCause;
use shipmate_model::{Name, Position, TaskId, TeammateRef};

use super::{Check, hold};
use crate::simulation::model::{
    BreakerFacts, Fate, LifeFacts, Model, Phase, StageFacts, StatusFacts, TaskFacts,
};
use crate::simulation::vocabulary;

/// G12: no list outgrows its limit.
pub(super) fn g12_everything_is_bounded(state: &State) -> Check {
    let full = state.teammates.iter().find(|(_, mate)| mate.inbox.len() > INBOX_MAX);
    hold("G12", full.is_none() && state.person_inbox.len() <= INBOX_MAX, || {
        format!("an inbox is over its limit: {:?}", full.map(|(who, _)| who))
    })?;
    let lists =
        [state.plans.len(), state.questions.len(), state.shutdowns.len(), state.escalations.len()];
    hold("G12", lists.iter().all(|len| *len <= CLOSED_KEPT + OPEN_MAX), || {
        format!("plans, questions, shutdowns and escalations are {lists:?}")
    })
}

fn same_status(facts: &TaskFacts, task: &Task) -> bool {
    match (&facts.status, &task.status) {
        (StatusFacts::Pending, Status::Pending)
        | (StatusFacts::Completed, Status::Completed { .. })
        | (StatusFacts::Failed, Status::Failed { .. })
        | (StatusFacts::Deleted, Status::Deleted) => true,
        (StatusFacts::Held(hold), Status::InProgress(claim)) => {
            let stage = match claim.stage {
                Stage::Claimed => StageFacts::Claimed,
                Stage::Submitted { .. } => StageFacts::Submitted,
                Stage::Returned { .. } => StageFacts::Returned,
            };
            hold.by == claim.by
                && hold.token == claim.token
                && hold.renewal == claim.renewal
                && hold.lease_ms == claim.lease_ms
                && hold.stage == stage
        }
        _ => false,
    }
}

pub(super) fn the_board_is_as_the_log_says(model: &Model, state: &State) -> Check {
    hold("replay", model.tasks.len() == state.tasks().len(), || "tasks are missing".to_owned())?;
    for (facts, task) in model.tasks.iter().zip(state.tasks().iter()) {
        let id = facts.id;
        hold("replay", same_status(facts, task), || {
            format!("task {id} is {:?}, and the log says {:?}", task.status, facts.status)
        })?;
        hold("dependencies", task.is_unblocked() == model.unmet(facts).is_empty(), || {
            format!(
                "task {id} is unblocked: {}, unmet: {:?}",
                task.is_unblocked(),
                model.unmet(facts)
            )
        })?;
        let blockers: BTreeSet<_> = task.spec.blocked_by.iter().cloned().collect();
        let same = blockers == facts.blocked_by
            && task.spec.assignee == facts.assignee
            && task.spec.group == facts.group
            && task.spec.role == facts.role
            && task.spec.priority == facts.priority
            && task.retries == facts.retries
            && task.scope_question == facts.asks
            && vocabulary::paths(&task.granted) == facts.granted
            && task.set_aside.len() == facts.set_aside;
        hold("replay", same, || format!("task {id} is {task:?}, and the log says {facts:?}"))?;
        if let Some(alias) = &facts.alias {
            let named = (facts.status != StatusFacts::Deleted).then_some(id);
            let found = state.by_alias(alias);
            hold("aliases", named.is_none() || found == named, || {
                format!("{alias} finds {found:?} and not {id}")
            })?;
        }
    }
    for (name, team) in &state.teams {
        let own = |status: fn(&StatusFacts) -> bool| {
            let tasks = model.tasks.iter().filter(|task| task.team == *name);
            tasks.filter(|task| status(&task.status)).count()
        };
        let counts = team.counts;
        let same = counts.pending == own(|s| *s == StatusFacts::Pending)
            && counts.in_progress == own(|s| matches!(s, StatusFacts::Held(_)))
            && counts.completed == own(|s| *s == StatusFacts::Completed)
            && counts.failed == own(|s| *s == StatusFacts::Failed)
            && counts.deleted == own(|s| *s == StatusFacts::Deleted);
        hold("replay", same, || format!("the tasks of {name} were counted as {counts:?}"))?;
    }
    Ok(())
}

fn spent(mate: &Teammate) -> bool {
    mate.paused.as_ref().is_some_and(|pause| pause.cause == PauseCause::Budget)
}

fn asks(team: &Team) -> Option<(Position, Name)> {
    let pause = team.paused.as_ref()?;
    Some((pause.n, pause.approval()?.clone()))
}

pub(super) fn the_roster_is_as_the_log_says(model: &Model, state: &State) -> Check {
    for (who, facts) in &model.mates {
        let mate = &state.teammates[who];
        let life = match mate.life {
            Life::Added => LifeFacts::Added,
            Life::Running => LifeFacts::Running,
            Life::Disappeared { .. } => LifeFacts::Disappeared,
            Life::Stopped { .. } => LifeFacts::Stopped,
            Life::Removed => LifeFacts::Removed,
        };
        let held = |stage: StageFacts| -> BTreeSet<TaskId> {
            let own = model.held().filter(|(_, hold)| hold.by.address == *who);
            own.filter(|(_, hold)| hold.stage == stage).map(|(task, _)| task.id).collect()
        };
        let same = mate.epoch == facts.epoch
            && life == facts.life
            && mate.holds == held(StageFacts::Claimed)
            && mate.returned == held(StageFacts::Returned)
            && mate.submitted == held(StageFacts::Submitted)
            && mate.shutdown == facts.shutdown
            && mate.usage == facts.used
            && mate.reserved == facts.reserved
            && mate.paused.is_some() == facts.paused
            && spent(mate) == facts.spent
            && mate.stalls == facts.stalls
            && mate.claims == facts.claims
            && mate.approved_plan.is_some() == facts.plan_approved
            && mate.profile.mode == facts.mode;
        hold("replay", same, || format!("{who} is {mate:?}, and the log says {facts:?}"))?;
        hold("idle", mate.idle.is_some() || !mate.holds.is_empty(), || {
            format!("{who} holds no task and gives no reason")
        })?;
    }
    for (name, facts) in &model.teams {
        let team = &state.teams[name];
        let phase = match team.phase {
            TeamPhase::Active => Phase::Active,
            TeamPhase::Ending => Phase::Ending,
            TeamPhase::Deleted => Phase::Deleted,
        };
        let breaker = match team.breaker.phase.clone() {
            BreakerPhase::Closed => BreakerFacts::Closed,
            BreakerPhase::Open { at } => BreakerFacts::Open(at),
            BreakerPhase::HalfOpen { at, probe } => BreakerFacts::HalfOpen(at, probe),
        };
        let same = phase == facts.phase
            && breaker == facts.breaker
            && team.breaker.strikes == facts.strikes
            && team.lead == facts.lead
            && team.paused.is_some() == facts.paused
            && asks(team) == facts.asks
            && team.usage == facts.used
            && team.reserved == facts.reserved;
        hold("replay", same, || format!("{name} is {team:?}, and the log says {facts:?}"))?;
        // The end of a tree is one: children wait for whoever still runs above them.
        let ending = |team: &&Name| model.teams[*team].phase == Phase::Ending;
        let above = model.above(name);
        let top = above.iter().take_while(ending).last();
        let stuck = top
            .is_some_and(|top| model.below(top).iter().all(|team| model.running(team).is_empty()));
        hold("team end", !stuck, || format!("nobody of {name} runs and it does not end"))?;
    }
    Ok(())
}

/// G3: a letter without a fate is in its inbox, and nothing else is.
pub(super) fn g3_each_letter_is_where_the_log_says(model: &Model, state: &State) -> Check {
    let waiting =
        |to: &Recipient| -> BTreeSet<MessageId> { model.waiting_for(to).into_iter().collect() };
    let person = waiting(&Recipient::Person);
    hold("G3", state.person_inbox == person, || {
        format!("the person's inbox is {:?} and not {person:?}", state.person_inbox)
    })?;
    for (who, mate) in &state.teammates {
        let expected = waiting(&Recipient::Member(who.clone()));
        hold("G3", mate.inbox == expected, || {
            format!("the inbox of {who} is {:?} and not {expected:?}", mate.inbox)
        })?;
    }
    let unread: BTreeSet<(MessageId, Recipient)> = state
        .messages
        .iter()
        .flat_map(|(id, message)| message.waiting.keys().map(|to| (*id, to.clone())))
        .collect();
    let expected = model.letters.iter().filter(|(_, fate)| **fate == Fate::Waiting);
    hold("G3", unread.iter().eq(expected.map(|(letter, _)| letter)), || {
        "the messages kept are not those that wait".to_owned()
    })
}

/// The one of those that are takeable which is taken: what came back, what was left half done, the best.
pub(super) fn first_taken(
    model: &Model,
    state: &State,
    who: &TeammateRef,
    all: &[TaskId],
) -> Option<TaskId> {
    let first = *all.first()?;
    let came_back = model.hold(first).is_some();
    let half_done = model.accounts.half_done.get(&who.address).copied();
    let others = model.half_done_by_others(state, who);
    let first = match came_back {
        true => Some(first),
        false => all.iter().copied().find(|id| !others.contains(id)),
    };
    half_done.filter(|id| !came_back && all.contains(id)).or(first)
}

/// What a life could take now, best first, by looking at every task.
pub(super) fn takeable(model: &Model, state: &State, who: &TeammateRef) -> Vec<TaskId> {
    let returned = model.held().filter(|(_, hold)| hold.by == *who);
    let returned = returned.filter(|(_, hold)| hold.stage == StageFacts::Returned);
    let mut found: Vec<TaskId> = returned.map(|(task, _)| task.id).collect();
    found.sort_unstable();
    let own = |task: &&TaskFacts| {
        !model.leads_others(&who.address)
            || model.takes_all(&who.address)
            || task.assignee.as_ref() == Some(&who.address.name)
    };
    let fresh = model.tasks.iter().filter(|task| model.may_take(who, task)).filter(own);
    let mut fresh: Vec<_> = fresh.map(|task| rank(model, task, state)).collect();
    fresh.sort_unstable();
    found.extend(fresh.into_iter().map(|(_, _, id)| id));
    found
}

/// The path behind a task is the core's own figure; the order by it is not.
fn rank(model: &Model, task: &TaskFacts, state: &State) -> (i32, Reverse<u64>, TaskId) {
    let path_ms = state.task(task.id).map_or(0, |task| task.path_ms);
    let path_ms = if model.teams[&task.team].by_number { 0 } else { path_ms };
    (task.priority, Reverse(path_ms), task.id)
}

pub(super) fn the_best_next_task_is_the_best_of_all(model: &Model, state: &State) -> Check {
    for (address, mate) in &model.mates {
        if mate.life != LifeFacts::Running {
            continue;
        }
        let who = TeammateRef { address: address.clone(), epoch: mate.epoch };
        let (all, found) = (takeable(model, state, &who), available_for(state, &who, 1000));
        hold("best", all == found, || format!("{who} could take {all:?} and is shown {found:?}"))?;
    }
    let free = model.tasks.iter().filter(|task| {
        task.status == StatusFacts::Pending && model.teams[&task.team].phase == Phase::Active
    });
    let free = free.filter(|task| model.unmet(task).is_empty() && model.file_rival(task).is_none());
    let mut free: Vec<_> = free.map(|task| rank(model, task, state)).collect();
    free.sort_unstable();
    let all: Vec<TaskId> = free.into_iter().map(|(_, _, id)| id).collect();
    let found = available(state, 1000);
    hold("best", all == found, || format!("{all:?} are free and {found:?} are shown"))?;
    paths_cover_their_dependents(state)
}

/// The path behind a task is at least its own length plus that of whatever waits for it.
fn paths_cover_their_dependents(state: &State) -> Check {
    for task in state.tasks().iter().filter(|task| task.status == Status::Pending) {
        let own = task.spec.duration_ms.unwrap_or(60_000);
        let waiting = task.dependents.iter().filter_map(|id| state.task(*id));
        let longest = waiting.map(|next| next.path_ms).max().unwrap_or(0);
        hold("paths", task.path_ms >= own + longest, || {
            format!(
                "task {} has {} ms behind it and needs {own} + {longest}",
                task.id, task.path_ms
            )
        })?;
    }
    Ok(())
}

/// What is owed is looked for in lists that are kept; a look at all teammates finds nobody else.
pub(super) fn nobody_is_overlooked(state: &State) -> Check {
    let found = shipmate_core::nobody_is_overlooked(state);
    hold("index", found, || "a list of teammates is not what they are".to_owned())
}

/// A snapshot is text; restored, with all that is derived, it is the same state.
pub(super) fn a_snapshot_restores_the_state(state: &State) -> Check {
    let text = serde_json::to_string(state).expect("a state is data");
    let restored: State = match serde_json::from_str(&text) {
        Ok(restored) => restored,
        Err(error) => return hold("snapshot", false, || format!("cannot be read back: {error}")),
    };
    hold("snapshot", restored.restore() == *state, || "the restored state differs".to_owned())
}
