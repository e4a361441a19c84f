//! Tasks: what is to be done, by whom, after what, in which files.
//!
//! An agent submits; `completed` follows only when the team's verification is
//! satisfied, and only then are dependents free. Whatever an agent does with a
//! task carries the token of its claim, and a stale one is refused by name.

pub(crate) mod around;
pub(crate) mod change;
pub(crate) mod claim;
pub(crate) mod create;
pub(crate) mod failure;
pub(crate) mod finish;
pub(crate) mod graph;
pub(crate) mod late;
pub(crate) mod owner;
pub(crate) mod room;
pub(crate) mod scope;
pub(crate) mod unchanged;
pub(crate) mod why;

use shipmate_model::event::{Event, ReleaseCause, TaskId, Token};
use shipmate_model::files::FileSet;
use shipmate_model::name::Actor;
use shipmate_model::refusal::Refusal;

use crate::mail;
use crate::state::{Claim, Counts, Course, Stage, State, Status, Task, TeamPhase};

/// Changes a task and keeps every index that depends on it.
///
/// All changes of status, claim, dependencies met, rank, role, assignee and files
/// go through here: the task is taken out of the indexes as it was and put back as
/// it is, so no path can forget one.
pub(crate) fn retask(state: &mut State, id: TaskId, change: impl FnOnce(&mut Task)) {
    leave(state, id);
    let wanted = state.task_mut(id).wanted_files().cloned();
    change(state.task_mut(id));
    rewant(state, id, wanted.as_ref());
    enter(state, id);
}

/// Most changes leave alone what a task wants.
fn rewant(state: &mut State, id: TaskId, wanted: Option<&FileSet>) {
    let now = state.tasks[id as usize - 1].wanted_files();
    if now == wanted {
        return;
    }
    if let Some(files) = wanted {
        state.ready.unwant(id, files);
    }
    if let Some(files) = now {
        state.ready.want(id, files);
    }
}

fn leave(state: &mut State, id: TaskId) {
    let task = &state.tasks[id as usize - 1];
    if task.is_ready() {
        state.ready.remove(&task.lane(), task.rank());
    }
    let team = state.teams.get_mut(&task.team).expect("a task's team exists");
    *count(&mut team.counts, &task.status) -= 1;
    if let Status::InProgress(claim) = &task.status {
        state.ready.free(id);
        state.leased.remove(&id);
        state.submitted.remove(&id);
        state.index.note(&claim.by.address);
        let holder = state.teammates.get_mut(&claim.by.address).expect("a holder is a member");
        holder.holds.remove(&id);
        holder.submitted.remove(&id);
        holder.returned.remove(&id);
        if holder.holds.is_empty() && holder.idle.is_none() {
            holder.idle = Some("no task".to_owned());
        }
    }
}

fn enter(state: &mut State, id: TaskId) {
    let task = &state.tasks[id as usize - 1];
    if task.is_ready() {
        state.ready.add(task.lane(), task.rank());
    }
    let team = state.teams.get_mut(&task.team).expect("a task's team exists");
    *count(&mut team.counts, &task.status) += 1;
    // What is tried again and fails again fails in the phase that runs then.
    if !matches!(task.status, Status::Failed { .. }) {
        let above = state.course_team(&state.tasks[id as usize - 1].team);
        let course = state.teams.get_mut(&above).and_then(|team| team.course.as_mut());
        if let Some(before) = course.and_then(Course::failed_before_mut) {
            before.remove(&id);
        }
    }
    let task = &state.tasks[id as usize - 1];
    if let Status::InProgress(claim) = &task.status {
        state.ready.hold(id, &task.held_files());
        state.index.note(&claim.by.address);
        let holder = state.teammates.get_mut(&claim.by.address).expect("a holder is a member");
        match claim.stage {
            Stage::Claimed => {
                holder.holds.insert(id);
                holder.idle = None;
                if claim.lease_ms.is_some() {
                    state.leased.insert(id);
                }
            }
            Stage::Submitted { .. } => {
                holder.submitted.insert(id);
                state.submitted.insert(id);
            }
            Stage::Returned { .. } => {
                holder.returned.insert(id);
                if claim.lease_ms.is_some() {
                    state.leased.insert(id);
                }
            }
        }
    }
}

pub(crate) fn count<'a>(counts: &'a mut Counts, status: &Status) -> &'a mut usize {
    match status {
        Status::Pending => &mut counts.pending,
        Status::InProgress(_) => &mut counts.in_progress,
        Status::Completed { .. } => &mut counts.completed,
        Status::Failed { .. } => &mut counts.failed,
        Status::Deleted => &mut counts.deleted,
    }
}

/// The claim this token stands for, if it still stands.
pub(crate) fn require_claim(task: &Task, token: Token) -> Result<&Claim, Refusal> {
    match &task.status {
        Status::InProgress(claim) if claim.token == token => Ok(claim),
        Status::InProgress(claim) => {
            let (now, status) = (Some(claim.by.clone()), task.status_word());
            Err(Refusal::StaleClaim { task: task.id, token, now, status })
        }
        _ => {
            let status = task.status_word();
            Err(Refusal::StaleClaim { task: task.id, token, now: None, status })
        }
    }
}

/// The claim, and that this actor is the one who holds it.
pub(crate) fn require_holder<'a>(
    state: &State,
    by: &Actor,
    task: &'a Task,
    token: Token,
    what: &'static str,
) -> Result<&'a Claim, Refusal> {
    let claim = require_claim(task, token)?;
    match by {
        Actor::Teammate(who) => {
            state.require_current(who)?;
            if claim.by != *who {
                return Err(Refusal::AlreadyClaimed { task: task.id, by: claim.by.clone() });
            }
        }
        Actor::Runtime => {}
        Actor::Person | Actor::Outside => return Err(Refusal::NotTheirs { by: by.clone(), what }),
    }
    Ok(claim)
}

/// The end of an attempt: back to the board, or failed when the retries are used up.
pub(crate) fn end_attempt(
    state: &State,
    task: &Task,
    cause: ReleaseCause,
    reason: &str,
) -> Vec<Event> {
    let claim = task.claim().expect("an attempt that ends is in progress");
    let token = claim.token;
    let reason = reason.to_owned();
    // In a team that is gone nobody could take it up.
    let is_gone = state.teams[&task.team].phase == TeamPhase::Deleted;
    if !is_gone && (!cause.costs_a_retry() || task.retries < task.spec.retries_max) {
        return vec![Event::TaskReleased { task: task.id, token, cause, reason }];
    }
    let attempts = match task.retries + 1 {
        1 => "1 attempt".to_owned(),
        n => format!("{n} attempts"),
    };
    let (id, subject) = (task.id, &task.spec.subject);
    let waiting = graph::dependents_clause(state, task);
    let text = format!("task {id} ({subject}) failed after {attempts}: {reason}{waiting}");
    let mut events = vec![Event::TaskFailed { task: task.id, token, reason }];
    let gone = (cause == ReleaseCause::HolderGone).then_some(&claim.by.address);
    events.extend(mail::tell_lead_about(state, &task.team, gone, text));
    events
}
