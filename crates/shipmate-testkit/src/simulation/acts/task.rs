//! Acts about tasks.

use std::collections::BTreeMap;

use shipmate_core::state::{Stage, Status};
use shipmate_model::command::NewTask;
use shipmate_model::event::{Dependency, RoleChange, TaskChanges, TaskSpec};
use shipmate_model::setup::{GateRun, Tried};
use shipmate_model::{Act, Handoff, Name, TaskId};

use super::Chooser;
use crate::simulation::vocabulary::{GROUPS, MATES, ROLES, pick_alias, pick_files, pick_name};

fn dependency(c: &mut Chooser<'_>) -> Dependency {
    if c.random.chance(200) {
        let known: Vec<&Name> = c.state.groups.keys().collect();
        return Dependency::Group(match c.random.pick(&known) {
            Some(group) if !c.random.chance(100) => (*group).clone(),
            _ => pick_name(c.random, &GROUPS),
        });
    }
    Dependency::Task(c.task())
}

fn spec(c: &mut Chooser<'_>) -> TaskSpec {
    let none = c.state.tasks().is_empty() || c.random.chance(500);
    let many = if none { 0 } else { c.random.below(3) };
    TaskSpec {
        subject: c.text("task"),
        description: String::new(),
        active_form: String::new(),
        alias: c.random.chance(120).then(|| pick_alias(c.random)),
        group: c.random.chance(250).then(|| pick_name(c.random, &GROUPS)),
        blocked_by: (0..many).map(|_| dependency(c)).collect(),
        files: pick_files(c.random),
        role: c.random.chance(200).then(|| pick_name(c.random, &ROLES)),
        assignee: c.random.chance(80).then(|| pick_name(c.random, &MATES)),
        priority: if c.random.chance(400) { c.random.below(5) as i32 } else { 100 },
        duration_ms: c.random.chance(400).then(|| 1 + c.random.below(100_000)),
        retries_max: c.random.below(4) as u32,
        metadata: BTreeMap::new(),
        gate: None,
        no_change: c.random.chance(200),
    }
}

pub(super) fn create(c: &mut Chooser<'_>) -> Option<Act> {
    // A board that grows without end would be all a seed does.
    if c.state.tasks().len() >= 40 && !c.random.chance(200) {
        return None;
    }
    let team = c.team();
    let many = 1 + c.random.below(5) as usize;
    let mut tasks: Vec<NewTask> = Vec::new();
    for index in 0..many {
        let spec = spec(c);
        let mut blocked_by_new = Vec::new();
        if many > 1 && c.random.chance(400) {
            // Mostly on an earlier one; a later one is allowed and makes circles possible.
            let end = if c.random.chance(800) { index } else { many };
            if end > 0 {
                blocked_by_new.push(c.random.index(end));
            }
        }
        tasks.push(NewTask { spec, blocked_by_new });
    }
    Some(Act::CreateTasks { team, tasks })
}

pub(super) fn update(c: &mut Chooser<'_>) -> Option<Act> {
    let task = c.task();
    let mut changes = TaskChanges::default();
    match c.random.below(7) {
        0 => changes.subject = Some(c.text("renamed")),
        1 => changes.priority = Some(c.random.below(5) as i32),
        2 => changes.duration_ms = Some(1 + c.random.below(200_000)),
        3 => {
            let any = c.random.chance(500);
            let role = pick_name(c.random, &ROLES);
            changes.role = Some(if any { RoleChange::Any } else { RoleChange::Only(role) });
        }
        4 => changes.files = Some(pick_files(c.random)),
        5 => changes.add_blocked_by = vec![dependency(c)],
        _ => {
            let known = c.state.task(task)?.spec.blocked_by.clone();
            let on =
                if c.random.chance(900) { c.random.pick(&known)?.clone() } else { dependency(c) };
            changes.remove_blocked_by = vec![on];
        }
    }
    Some(Act::UpdateTask { task, changes })
}

fn lease_ms(c: &mut Chooser<'_>) -> Option<u64> {
    c.random.chance(600).then(|| c.random.between(1_000, 60_000))
}

pub(super) fn claim(c: &mut Chooser<'_>) -> Option<Act> {
    let own = c.me().map(|me| me.address.team.clone());
    let near = c.state.tasks().iter().filter(|task| own.as_ref() == Some(&task.team));
    let near: Vec<TaskId> =
        near.filter(|task| task.status == Status::Pending).map(|task| task.id).collect();
    let task = match c.random.pick(&near) {
        Some(task) if c.random.chance(700) => *task,
        _ => c.task(),
    };
    Some(Act::ClaimTask { task, lease_ms: lease_ms(c) })
}

pub(super) fn claim_next(c: &mut Chooser<'_>) -> Option<Act> {
    Some(Act::ClaimNext { lease_ms: lease_ms(c) })
}

pub(super) fn renew(c: &mut Chooser<'_>) -> Option<Act> {
    let (task, token) = c.claim()?;
    Some(Act::RenewClaim { task, token })
}

/// Only what must be refused: a lease that did run out is said by a timer.
pub(super) fn expire_late(c: &mut Chooser<'_>) -> Option<Act> {
    let (task, token) = c.claim()?;
    let claim = c.state.task(task)?.claim()?;
    let renewed = claim.token == token && claim.renewal > 0;
    if claim.token == token && !renewed {
        return None;
    }
    Some(Act::ExpireClaim { task, token, renewal: claim.renewal.saturating_sub(1) })
}

pub(super) fn submit(c: &mut Chooser<'_>) -> Option<Act> {
    let (task, token) = c.claim()?;
    let commit = c.random.chance(500).then(|| "c0ffee".to_owned());
    let result = c.text("result");
    let handoff = c
        .random
        .chance(300)
        .then(|| Box::new(Handoff { done: vec![c.text("done")], ..Handoff::default() }));
    Some(Act::SubmitTask { task, token, commit, result, handoff })
}

pub(super) fn complete(c: &mut Chooser<'_>) -> Option<Act> {
    let (task, token) = c.claim()?;
    let token = (c.me().is_some() || c.random.chance(500)).then_some(token);
    Some(Act::CompleteTask { task, token, commit: None, result: c.text("result") })
}

/// A submission, now and then something that is none.
fn submission(c: &mut Chooser<'_>) -> Option<(TaskId, u64)> {
    let submitted = c.state.tasks().iter().filter_map(|task| {
        let claim = task.claim()?;
        matches!(claim.stage, Stage::Submitted { .. }).then_some((task.id, claim.token))
    });
    let submitted: Vec<(TaskId, u64)> = submitted.collect();
    match c.random.pick(&submitted) {
        Some(found) if c.random.chance(800) => Some(*found),
        _ => c.claim(),
    }
}

pub(super) fn ask_scope(c: &mut Chooser<'_>) -> Option<Act> {
    let (task, token) = submission(c)?;
    Some(Act::AskScope { task, token, files: pick_files(c.random), reason: c.text("it changes") })
}

/// The gate on what a team begins with is green.
pub(crate) fn tried_gate(team: Name) -> Act {
    let (commit, output, gate) = ("ba5e".to_owned(), String::new(), Vec::new());
    let (tasks, tried) = (Vec::new(), Tried::Gate);
    Act::ReportGate(GateRun { team, tasks, commit, passed: true, took_ms: 1, output, gate, tried })
}

pub(super) fn report_gate(c: &mut Chooser<'_>) -> Option<Act> {
    let (team, tasks) = (c.team(), vec![c.task()]);
    let (commit, output) = ("5eed".to_owned(), c.text("output"));
    let passed = c.random.chance(500);
    let (gate, tried) = (vec!["true".to_owned()], Tried::Gate);
    Some(Act::ReportGate(GateRun { team, tasks, commit, passed, took_ms: 1, output, gate, tried }))
}

pub(super) fn report_hook(c: &mut Chooser<'_>) -> Option<Act> {
    Some(Act::ReportHook { team: c.team(), hook: "on-claim".to_owned(), note: c.text("note") })
}

pub(super) fn give_back(c: &mut Chooser<'_>) -> Option<Act> {
    let (task, token) = submission(c)?;
    Some(Act::ReturnTask { task, token, reason: c.text("red") })
}

pub(super) fn unchanged(c: &mut Chooser<'_>) -> Option<Act> {
    let (task, token) = submission(c)?;
    Some(Act::ReturnUnchanged { task, token })
}

pub(super) fn fail(c: &mut Chooser<'_>) -> Option<Act> {
    let (task, token) = c.claim()?;
    Some(Act::FailTask { task, token, reason: c.text("failed") })
}

pub(super) fn release(c: &mut Chooser<'_>) -> Option<Act> {
    let (task, token) = c.claim()?;
    let token = c.random.chance(700).then_some(token);
    Some(Act::ReleaseTask { task, token, reason: c.text("given back") })
}

pub(super) fn assign(c: &mut Chooser<'_>) -> Option<Act> {
    let task = c.task();
    let to: Option<Name> = c.random.chance(600).then(|| c.mate().name);
    Some(Act::AssignTask { task, to })
}

pub(super) fn retry(c: &mut Chooser<'_>) -> Option<Act> {
    let failed = c.state.tasks().iter().filter(|t| matches!(t.status, Status::Failed { .. }));
    let failed: Vec<TaskId> = failed.map(|task| task.id).collect();
    let task = if c.random.chance(900) { *c.random.pick(&failed)? } else { c.task() };
    Some(Act::RetryTask { task })
}

/// Landed work is taken back.
pub(super) fn revert(c: &mut Chooser<'_>) -> Option<Act> {
    let landed = c.state.tasks().iter().filter(|t| matches!(t.status, Status::Completed { .. }));
    let landed: Vec<TaskId> = landed.map(|task| task.id).collect();
    let task = if c.random.chance(900) { *c.random.pick(&landed)? } else { c.task() };
    let (commit, reason) = ("0123456".to_owned(), c.text("the suite is red"));
    Some(Act::RevertTask { task, commit, reason })
}

pub(super) fn delete(c: &mut Chooser<'_>) -> Option<Act> {
    Some(Act::DeleteTask { task: c.task() })
}

pub(super) fn set_aside(c: &mut Chooser<'_>) -> Option<Act> {
    let (task, token) = match c.client.and_then(|client| client.ended.last()) {
        Some(ended) if c.random.chance(800) => *ended,
        _ => c.claim()?,
    };
    let commit = c.random.chance(300).then(|| "c0ffee".to_owned());
    Some(Act::SetAsideWork { task, token, work: c.text("branch"), commit, host: None })
}
