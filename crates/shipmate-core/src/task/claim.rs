//! Claiming: who may take which task, and for how long.
//!
//! A lease instead of a lock: a teammate is a process that may die or a model
//! that may forget, and the team must not wait for either.

use std::collections::BTreeSet;

use shipmate_model::event::{Event, ReleaseCause, Supervision, TaskId, Token};
use shipmate_model::files::FileSet;
use shipmate_model::limits::{LEASE_DEFAULT_MS, LEASE_MAX_MS};
use shipmate_model::name::{Actor, Position, TeammateRef};
use shipmate_model::refusal::Refusal;

use crate::account;
use crate::plan_mode;
use crate::ready::{LaneKey, Pool, Rank, Taken};
use crate::state::{Claim, Stage, State, Status, Task, TeamPhase, Teammate};
use crate::task::room::require_room;
use crate::task::{end_attempt, graph, require_claim, require_holder, retask};
use crate::usage;

/// Gives a task to a teammate. Safe to repeat: the holder extends its lease.
pub(crate) fn decide_claim(
    state: &State,
    by: &Actor,
    id: TaskId,
    lease_ms: Option<u64>,
) -> Result<Vec<Event>, Refusal> {
    let (who, teammate) = state.require_teammate(by, "claim tasks")?;
    let task = state.require_task(id)?;
    match &task.status {
        Status::Pending => {}
        Status::InProgress(claim) if claim.by == *who => {
            return claim_own(state, who, teammate, task, claim, lease_ms);
        }
        Status::InProgress(claim) => {
            return Err(Refusal::AlreadyClaimed { task: id, by: claim.by.clone() });
        }
        _ => return Err(Refusal::NotPending { task: id, status: task.status_word() }),
    }
    require_free_hands(state, who, teammate)?;
    require_money(state, who, teammate)?;
    account::require_room(state, &who.address, teammate)?;
    require_room(state, &who.address.team)?;
    if task.team != who.address.team {
        return Err(Refusal::OtherTeam { task: id, team: task.team.clone() });
    }
    if task.unmet > 0 {
        return Err(Refusal::Blocked { task: id, on: graph::open_blockers(state, task) });
    }
    let takes_all = teammate.is_lead() && state.teams[&task.team].is_left_to_lead();
    if let Some(role) = task.spec.role.as_ref().filter(|_| !takes_all)
        && teammate.profile.role.as_ref() != Some(role)
    {
        let (who, has) = (who.address.clone(), teammate.profile.role.clone());
        return Err(Refusal::OtherRole { task: id, role: role.clone(), who, has });
    }
    if let Some(assignee) = task.spec.assignee.as_ref().filter(|_| !takes_all)
        && *assignee != who.address.name
    {
        return Err(Refusal::AssignedElsewhere { task: id, assignee: assignee.clone() });
    }
    if !in_scope(&teammate.profile.scope, &task.spec.files) {
        return Err(Refusal::OutsideScope { task: id, who: who.address.clone() });
    }
    if let Some(holder) = state.ready.holders(&task.spec.files).next() {
        let by = state.tasks[holder as usize - 1].claim().expect("a holder holds").by.clone();
        return Err(Refusal::FilesHeld { task: id, holder, by });
    }
    Ok(vec![claimed(id, who, teammate, lease_ms)])
}

/// Nobody sees it when a claimer without a supervisor goes: its claim always has a lease.
fn claimed(task: TaskId, who: &TeammateRef, teammate: &Teammate, lease_ms: Option<u64>) -> Event {
    let unseen = teammate.supervision == Supervision::None;
    let lease_ms = lease_ms.or(unseen.then_some(LEASE_DEFAULT_MS)).map(|ms| ms.min(LEASE_MAX_MS));
    Event::TaskClaimed { task, by: who.clone(), lease_ms }
}

/// The holder asks again: a returned task is taken up, a claimed one renewed.
fn claim_own(
    state: &State,
    who: &TeammateRef,
    teammate: &Teammate,
    task: &Task,
    claim: &Claim,
    lease_ms: Option<u64>,
) -> Result<Vec<Event>, Refusal> {
    match claim.stage {
        Stage::Claimed => {
            let renewal = claim.renewal + 1;
            Ok(vec![Event::TaskRenewed { task: task.id, token: claim.token, renewal }])
        }
        Stage::Submitted { .. } => Err(Refusal::AlreadySubmitted { task: task.id }),
        Stage::Returned { .. } => {
            require_free_hands(state, who, teammate)?;
            require_money(state, who, teammate)?;
            Ok(vec![claimed(task.id, who, teammate, lease_ms)])
        }
    }
}

/// Takes the best task there is for this teammate: what a gate sent back to it
/// first, then by priority, longest path behind it, and id.
pub(crate) fn decide_claim_next(
    state: &State,
    by: &Actor,
    lease_ms: Option<u64>,
) -> Result<Vec<Event>, Refusal> {
    let (who, teammate) = state.require_teammate(by, "claim tasks")?;
    require_free_hands(state, who, teammate)?;
    // What lies half done in its tree comes before what is new.
    let own = || teammate.parked_task.filter(|id| decide_claim(state, by, *id, lease_ms).is_ok());
    let fresh = || own().or_else(|| best(state, who, teammate));
    let best = teammate.returned.first().copied().or_else(fresh);
    let Some(task) = best else {
        let waiting = state.teams[&who.address.team].counts.pending;
        return Err(Refusal::NothingAvailable { who: who.address.clone(), waiting });
    };
    if teammate.returned.is_empty() {
        account::require_room(state, &who.address, teammate)?;
        require_room(state, &who.address.team)?;
    }
    // Last: who waits for a task is told that it cannot pay for it when there is one, not before.
    require_money(state, who, teammate)?;
    Ok(vec![claimed(task, who, teammate, lease_ms)])
}

fn best(state: &State, who: &TeammateRef, teammate: &Teammate) -> Option<TaskId> {
    let best = best_of_all(state, who, teammate)?;
    let others = account::half_done_by_others(state, who, teammate).into_iter();
    let may_take = |(other, id): &(TeammateRef, TaskId)| {
        decide_claim(state, &Actor::Teammate(other.clone()), *id, None).is_ok()
    };
    let others: BTreeSet<TaskId> = others.filter(may_take).map(|(_, id)| id).collect();
    if !others.contains(&best) {
        return Some(best);
    }
    let more = available_for(state, who, others.len() + 1);
    more.into_iter().find(|id| !others.contains(id))
}

fn best_of_all(state: &State, who: &TeammateRef, teammate: &Teammate) -> Option<TaskId> {
    let scope = &teammate.profile.scope;
    state.ready.best(&pools(state, who, teammate), |files| in_scope(scope, files))
}

/// A task without files is for everybody; what it writes is looked at when it is submitted.
pub(crate) fn in_scope(scope: &FileSet, files: &FileSet) -> bool {
    scope.is_empty() || files.iter().all(|pattern| scope.contains(pattern))
}

/// Some task that this teammate could take beside those that others are about to.
pub(crate) fn another_for<'a>(
    state: &'a State,
    who: &TeammateRef,
    teammate: &Teammate,
    taken: &Taken<'_>,
) -> Option<(&'a LaneKey, Rank)> {
    let (scope, pools) = (&teammate.profile.scope, pools(state, who, teammate));
    state.ready.another(&pools, taken, |own| in_scope(scope, own))
}

/// What this teammate could take now, best first.
pub fn available_for(state: &State, who: &TeammateRef, max: usize) -> Vec<TaskId> {
    let Some(teammate) = state.teammates.get(&who.address) else { return Vec::new() };
    let mut found: Vec<TaskId> = teammate.returned.iter().copied().take(max).collect();
    let scope = &teammate.profile.scope;
    let rest = max - found.len();
    found.extend(state.ready.available(&pools(state, who, teammate), rest, |f| in_scope(scope, f)));
    found
}

/// What anybody could take now, best first.
pub fn available(state: &State, max: usize) -> Vec<TaskId> {
    let active = |pool: &&Pool| state.teams[&pool.team].phase == TeamPhase::Active;
    let pools: Vec<Pool> = state.ready.open_pools().filter(active).cloned().collect();
    state.ready.available(&pools, max, |_| true)
}

fn pools(state: &State, who: &TeammateRef, teammate: &Teammate) -> Vec<Pool> {
    let team = &who.address.team;
    if teammate.is_lead() && state.teams[team].is_left_to_lead() {
        return state.ready.open_pools().filter(|pool| pool.team == *team).cloned().collect();
    }
    let pool = |role: Option<_>, assignee: Option<_>| Pool { team: team.clone(), role, assignee };
    let own = || Some(who.address.name.clone());
    if teammate.leads_others(&state.teams[team]) {
        let role = teammate.profile.role.clone().map(|role| pool(Some(role), own()));
        return role.into_iter().chain([pool(None, own())]).collect();
    }
    let mut pools = vec![pool(None, None), pool(None, own())];
    if let Some(role) = &teammate.profile.role {
        pools.extend([pool(Some(role.clone()), None), pool(Some(role.clone()), own())]);
    }
    pools
}

fn require_free_hands(
    state: &State,
    who: &TeammateRef,
    teammate: &Teammate,
) -> Result<(), Refusal> {
    let team = state.require_active_team(&who.address.team)?;
    let address = || who.address.clone();
    if let Some(pause) = &team.paused {
        let (team, reason) = (who.address.team.clone(), pause.describe());
        return Err(Refusal::TeamPaused { team, reason });
    }
    if teammate.supervision == Supervision::OneShot && teammate.claims > 0 {
        return Err(Refusal::OneShotDone { who: address() });
    }
    if let Some(pause) = &teammate.paused {
        let reason = pause.describe_for(&who.address);
        return Err(Refusal::Paused { who: address(), reason });
    }
    account::require_open(state, &who.address, teammate)?;
    if teammate.shutdown.is_some() {
        return Err(Refusal::ShuttingDown { who: address() });
    }
    if teammate.holds.len() >= teammate.profile.tasks_max as usize {
        return Err(Refusal::HoldsEnough {
            who: address(),
            held: teammate.holds.len(),
            limit: teammate.profile.tasks_max,
            tasks: teammate.holds.iter().copied().collect(),
        });
    }
    Ok(())
}

fn require_money(state: &State, who: &TeammateRef, teammate: &Teammate) -> Result<(), Refusal> {
    usage::require_budget(state, &who.address, teammate, &Default::default())
}

pub(crate) fn decide_renew(
    state: &State,
    by: &Actor,
    id: TaskId,
    token: Token,
) -> Result<Vec<Event>, Refusal> {
    let task = state.require_task(id)?;
    let claim = require_holder(state, by, task, token, "renew a claim")?;
    Ok(vec![Event::TaskRenewed { task: id, token, renewal: claim.renewal + 1 }])
}

/// The lease ran out on the observer's clock. Only the last renewal can run out.
pub(crate) fn decide_expire(
    state: &State,
    by: &Actor,
    id: TaskId,
    token: Token,
    renewal: u32,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "end a lease")?;
    let task = state.require_task(id)?;
    let claim = require_claim(task, token)?;
    if claim.renewal != renewal {
        return Err(Refusal::Renewed { task: id, renewal: claim.renewal });
    }
    if matches!(claim.stage, Stage::Submitted { .. }) {
        return Err(Refusal::AlreadySubmitted { task: id });
    }
    Ok(end_attempt(state, task, ReleaseCause::Expired, "its lease ran out"))
}

pub(crate) fn apply_claimed(
    state: &mut State,
    token: Position,
    at: u64,
    id: TaskId,
    by: &TeammateRef,
    lease_ms: Option<u64>,
) {
    let holder = state.teammate_mut(&by.address);
    holder.claims += 1;
    (holder.stalls, holder.stays, holder.parked_task) = (0, false, None);
    retask(state, id, |task| {
        // Whoever takes up again what a gate sent back goes on with the same work, and what came with it.
        let before = task.claim().filter(|before| is_returned(before) && before.by == *by);
        if let (Some(before), Some(handed)) = (before.map(|before| before.token), &mut task.handoff)
            && handed.token == before
        {
            handed.token = token;
        }
        let by = by.clone();
        let claim = Claim { by, token, lease_ms, renewal: 0, stage: Stage::Claimed };
        task.status = Status::InProgress(claim);
        task.changed_at = at;
    });
    plan_mode::bind_to_claim(state, &by.address, id);
    // What an earlier attempt waited for is of no use to this one.
    let asked = state.task_mut(id).scope_question.take();
    if let Some(question) = asked.and_then(|asked| state.questions.get_mut(&asked)) {
        question.withdrawn = true;
    }
}

fn is_returned(claim: &Claim) -> bool {
    matches!(claim.stage, Stage::Returned { .. })
}

pub(crate) fn apply_renewed(state: &mut State, id: TaskId, renewal: u32) {
    match &mut state.task_mut(id).status {
        Status::InProgress(claim) => claim.renewal = renewal,
        _ => unreachable!("only a claim that stands is renewed"),
    }
}
