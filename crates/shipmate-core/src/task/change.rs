//! Changing a task that exists: its words, its dependencies, who it is for.

use std::collections::BTreeMap;

use shipmate_model::command::{Again, NewTask};
use shipmate_model::event::{Dependency, Event, ReleaseCause, RoleChange, TaskChanges, TaskId};
use shipmate_model::files::FileSet;
use shipmate_model::limits::{SUBJECT_BYTES_MAX, TEXT_BYTES_MAX};
use shipmate_model::name::{Actor, Address, Name};
use shipmate_model::playbook::PIECE;
use shipmate_model::refusal::Refusal;

use crate::mail;
use crate::size::{self, check_files, check_metadata, check_texts};
use crate::state::{Course, State, Status, recall};
use crate::task::{end_attempt, graph, retask, scope};

/// Changes words, order, files or dependencies.
///
/// Whoever made or holds the task may; a lead or person always may. Files of a
/// task in progress stay as they are: others may already have relied on them.
pub(crate) fn decide_update(
    state: &State,
    by: &Actor,
    id: TaskId,
    changes: &TaskChanges,
) -> Result<Vec<Event>, Refusal> {
    let task = state.require_task(id)?;
    state.require_present(by)?;
    let own = same_name(&task.created_by, by)
        || task.claim().is_some_and(|claim| *by == Actor::Teammate(claim.by.clone()));
    if !own {
        state.require_manager(by, &task.team, "change another's task")?;
    }
    if *changes == TaskChanges::default() {
        return Err(Refusal::Empty { what: "the list of changes" });
    }
    if matches!(task.status, Status::Completed { .. } | Status::Deleted) {
        return Err(Refusal::NotPending { task: id, status: task.status_word() });
    }
    let shapes_work = changes.files.is_some()
        || changes.role.is_some()
        || !changes.add_blocked_by.is_empty()
        || !changes.remove_blocked_by.is_empty();
    if shapes_work && task.status != Status::Pending {
        return Err(Refusal::NotPending { task: id, status: task.status_word() });
    }
    let text = |text: &'_ Option<String>| text.clone().unwrap_or_default();
    check_texts(&[
        ("the subject", &text(&changes.subject), SUBJECT_BYTES_MAX),
        ("the description", &text(&changes.description), TEXT_BYTES_MAX),
        ("the active form", &text(&changes.active_form), SUBJECT_BYTES_MAX),
    ])?;
    if changes.subject.as_ref().is_some_and(|subject| subject.trim().is_empty()) {
        return Err(Refusal::Empty { what: "the subject" });
    }
    // Gates are made of these: whoever has to pass one does not choose it.
    let book = state.teams.get(&task.team).and_then(|team| team.setup.playbook.as_ref());
    let of_gates =
        |key: &String| book.is_some_and(|book| key == PIECE || book.values.contains_key(key));
    if matches!(by, Actor::Teammate(_)) && changes.metadata.keys().any(of_gates) {
        let what = "change metadata that the playbook goes by";
        return Err(Refusal::NotTheirs { by: by.clone(), what });
    }
    let mut metadata = task.spec.metadata.clone();
    metadata.extend(changes.metadata.clone());
    check_metadata(&metadata)?;
    check_files("the list of files", changes.files.as_ref().unwrap_or(&task.spec.files))?;
    size::check_dependencies(task.spec.blocked_by.len() + changes.add_blocked_by.len())?;
    check_dependencies(state, id, changes)?;
    Ok(vec![Event::TaskUpdated { task: id, changes: changes.clone() }])
}

/// A name's next life goes on with what the last one made.
fn same_name(creator: &Actor, by: &Actor) -> bool {
    match (creator, by) {
        (Actor::Teammate(creator), Actor::Teammate(by)) => creator.address == by.address,
        _ => creator == by,
    }
}

fn check_dependencies(state: &State, id: TaskId, changes: &TaskChanges) -> Result<(), Refusal> {
    let task = state.require_task(id)?;
    for on in &changes.remove_blocked_by {
        if !task.spec.blocked_by.contains(on) {
            return Err(Refusal::NoSuchDependency { task: id, on: on.clone() });
        }
    }
    for on in &changes.add_blocked_by {
        match on {
            Dependency::Task(other) if *other == id => {
                return Err(Refusal::SelfDependency { task: id });
            }
            Dependency::Task(other) => drop(state.require_task(*other)?),
            Dependency::Group(group) if !state.groups.contains_key(group) => {
                return Err(Refusal::UnknownGroup { group: group.clone() });
            }
            Dependency::Group(_) => {}
        }
    }
    if changes.add_blocked_by.is_empty() {
        return Ok(());
    }
    graph::refuse_cycle([id], |node| {
        let mut next = graph::depends_on(state, node);
        if *node == Dependency::Task(id) {
            next.extend(changes.add_blocked_by.iter().cloned());
        }
        next
    })
}

pub(crate) fn apply_updated(state: &mut State, at: u64, id: TaskId, changes: &TaskChanges) {
    for on in &changes.remove_blocked_by {
        if state.task_mut(id).spec.blocked_by.contains(on) {
            graph::unlink(state, id, on);
            state.task_mut(id).spec.blocked_by.retain(|other| other != on);
        }
    }
    for on in &changes.add_blocked_by {
        if !state.task_mut(id).spec.blocked_by.contains(on) {
            state.task_mut(id).spec.blocked_by.push(on.clone());
            graph::link(state, id, on);
        }
    }
    retask(state, id, |task| {
        task.changed_at = at;
        let spec = &mut task.spec;
        let set = |to: &mut String, from: &Option<String>| {
            if let Some(text) = from {
                to.clone_from(text);
            }
        };
        set(&mut spec.subject, &changes.subject);
        set(&mut spec.description, &changes.description);
        set(&mut spec.active_form, &changes.active_form);
        spec.priority = changes.priority.unwrap_or(spec.priority);
        if let Some(files) = &changes.files {
            spec.files = files.clone();
            scope::take_back(task);
        }
        let spec = &mut task.spec;
        match &changes.role {
            Some(RoleChange::Any) => spec.role = None,
            Some(RoleChange::Only(role)) => spec.role = Some(role.clone()),
            None => {}
        }
        for (key, value) in &changes.metadata {
            if value.is_empty() {
                spec.metadata.remove(key);
            } else {
                spec.metadata.insert(key.clone(), value.clone());
            }
        }
        if let Some(duration) = changes.duration_ms {
            let behind = task.path_ms
                - task.spec.duration_ms.unwrap_or(shipmate_model::limits::DURATION_DEFAULT_MS);
            task.spec.duration_ms = Some(duration);
            task.path_ms = duration.saturating_add(behind);
        }
    });
    graph::raise_paths(state, id);
}

/// Makes a task one teammate's, or anybody's. A task in progress is taken from its
/// holder, whose token ends with that.
pub(crate) fn decide_assign(
    state: &State,
    by: &Actor,
    id: TaskId,
    to: Option<&Name>,
) -> Result<Vec<Event>, Refusal> {
    let task = state.require_task(id)?;
    state.require_manager(by, &task.team, "assign tasks")?;
    if let Some(name) = to {
        state.require_member(&Address { team: task.team.clone(), name: name.clone() })?;
    }
    let mut events = Vec::new();
    match &task.status {
        Status::Pending | Status::Failed { .. } => {}
        Status::InProgress(claim) if to == Some(&claim.by.address.name) => {}
        Status::InProgress(claim) => {
            events = end_attempt(state, task, ReleaseCause::Reassigned, "it was reassigned");
            let text = format!("task {id} ({}) was reassigned", task.spec.subject);
            events.extend(mail::control_notice(state, &claim.by, text));
        }
        _ => return Err(Refusal::NotPending { task: id, status: task.status_word() }),
    }
    events.push(Event::TaskAssigned { task: id, to: to.cloned() });
    Ok(events)
}

pub(crate) fn apply_assigned(state: &mut State, at: u64, id: TaskId, to: Option<&Name>) {
    // Whoever left it half done goes on with it no more.
    let is_other = |who: &Address| to.is_some_and(|to| *to != who.name);
    for (_, mate) in state.teammates.iter_mut().filter(|(who, _)| is_other(who)) {
        mate.parked_task.take_if(|parked| *parked == id);
    }
    retask(state, id, |task| {
        task.spec.assignee = to.cloned();
        task.changed_at = at;
    });
}

/// Puts a failed task back on the board with its retries renewed.
pub(crate) fn decide_retry(state: &State, by: &Actor, id: TaskId) -> Result<Vec<Event>, Refusal> {
    let task = state.require_task(id)?;
    state.require_manager(by, &task.team, "retry a failed task")?;
    state.require_team(&task.team)?;
    if !matches!(task.status, Status::Failed { .. }) {
        return Err(Refusal::NotFailed { task: id, status: task.status_word() });
    }
    Ok(vec![Event::TaskRetried { task: id }])
}

pub(crate) fn apply_retried(state: &mut State, at: u64, id: TaskId) {
    retask(state, id, |task| {
        task.status = Status::Pending;
        (task.retries, task.same_failures, task.unchanged) = (0, 0, false);
        // What was refused may be asked for again.
        task.left_out = FileSet::default();
        task.changed_at = at;
    });
    let team = state.task_mut(id).team.clone();
    recall(state, &team);
}

/// Its landed work is gone from the branch: whatever waits for it waits again.
pub(crate) fn decide_revert(
    state: &State,
    by: &Actor,
    id: TaskId,
    commit: &str,
    reason: &str,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "take back landed work")?;
    let task = state.require_task(id)?;
    if !matches!(task.status, Status::Completed { .. }) {
        // Safe to repeat: it was taken back before.
        return Ok(Vec::new());
    }
    check_texts(&[
        ("the reason", reason, TEXT_BYTES_MAX),
        ("the commit", commit, SUBJECT_BYTES_MAX),
    ])?;
    let waiting = graph::dependents_clause(state, task);
    let text = format!("task {id} ({}) was taken back: {reason}{waiting}", task.spec.subject);
    let (commit, reason) = (commit.to_owned(), reason.to_owned());
    let mut events = Vec::new();
    // While it was completed, what it had waited for may have come to wait for it.
    let comes_back = |on: &&Dependency| {
        let next = |node: &Dependency| match *node == Dependency::Task(id) {
            true => vec![(*on).clone()],
            false => graph::depends_on(state, node),
        };
        graph::refuse_cycle([id], next).is_err()
    };
    let remove_blocked_by: Vec<Dependency> =
        task.spec.blocked_by.iter().filter(comes_back).cloned().collect();
    if !remove_blocked_by.is_empty() {
        let changes = TaskChanges { remove_blocked_by, ..TaskChanges::default() };
        events.push(Event::TaskUpdated { task: id, changes });
    }
    events.push(Event::TaskReverted { task: id, commit, reason });
    events.extend(mail::tell_lead(state, &task.team, text));
    Ok(events)
}

pub(crate) fn apply_reverted(state: &mut State, at: u64, by: &Actor, id: TaskId, reason: &str) {
    retask(state, id, |task| {
        task.status = Status::Failed { reason: reason.to_owned() };
        task.last_failure = Some(reason.to_owned());
        task.failure_by = super::finish::teammate(by);
        task.changed_at = at;
    });
    // The phase that takes work back has not failed with it.
    let team = state.course_team(&state.tasks[id as usize - 1].team);
    let course = state.team_mut(&team).course.as_mut();
    if let Some(before) = course.and_then(Course::failed_before_mut) {
        before.insert(id);
    }
    graph::block_dependents(state, id);
    if let Some(group) = state.task_mut(id).spec.group.clone() {
        graph::regroup(state, &group, |group| group.completed -= 1);
    }
    // What came to wait for it while it was completed has raised no path.
    let task = state.task(id).expect("it was just reverted");
    let waiting = task.dependents.iter().filter_map(|next| state.task(*next));
    let longest = waiting.map(|next| next.path_ms).max().unwrap_or(0);
    let behind = longest.max(graph::path_behind(state, task.spec.group.as_ref()));
    let path_ms = task.duration_ms().saturating_add(behind).max(task.path_ms);
    retask(state, id, |task| task.path_ms = path_ms);
    graph::raise_paths(state, id);
}

/// Failed tasks that a phase tries again, with what is other than before. New tasks begin at
/// `first`; what waits for what has been checked by whoever read it, and is checked again.
pub(crate) fn again(
    state: &State,
    team: &Name,
    all: &[Again],
    first: TaskId,
    new: &[NewTask],
) -> Result<Vec<Event>, Refusal> {
    let mut events = Vec::new();
    let mut waits: BTreeMap<TaskId, Vec<Dependency>> = BTreeMap::new();
    for one in all {
        let task = state.require_task(one.task)?;
        if !matches!(task.status, Status::Failed { .. }) || task.team != *team {
            return Err(Refusal::NotFailed { task: one.task, status: task.status_word() });
        }
        let mut changes = one.changes.clone();
        let later = one.blocked_by_new.iter().map(|at| Dependency::Task(first + *at as TaskId));
        changes.add_blocked_by.extend(later);
        check_files("the list of files", changes.files.as_ref().unwrap_or(&task.spec.files))?;
        size::check_dependencies(task.spec.blocked_by.len() + changes.add_blocked_by.len())?;
        let removed = |on: &&Dependency| !changes.remove_blocked_by.contains(on);
        let kept = task.spec.blocked_by.iter().filter(removed);
        waits.insert(one.task, kept.chain(&changes.add_blocked_by).cloned().collect());
        events.push(Event::TaskRetried { task: one.task });
        if changes != TaskChanges::default() {
            events.push(Event::TaskUpdated { task: one.task, changes });
        }
    }
    for (at, one) in new.iter().enumerate() {
        let later = one.blocked_by_new.iter().map(|at| Dependency::Task(first + *at as TaskId));
        let on = one.spec.blocked_by.iter().cloned().chain(later).collect();
        waits.insert(first + at as TaskId, on);
    }
    let starts: Vec<TaskId> = waits.keys().copied().collect();
    graph::refuse_cycle(starts, |node| match node {
        Dependency::Task(id) if waits.contains_key(id) => waits[id].clone(),
        other => graph::depends_on(state, other),
    })?;
    Ok(events)
}

/// Takes a task off the board. What depends on it stays blocked, and the lead is told.
pub(crate) fn decide_delete(state: &State, by: &Actor, id: TaskId) -> Result<Vec<Event>, Refusal> {
    let task = state.require_task(id)?;
    state.require_present(by)?;
    if !same_name(&task.created_by, by) {
        state.require_manager(by, &task.team, "delete another's task")?;
    }
    match &task.status {
        Status::Pending | Status::Failed { .. } => {}
        Status::InProgress(claim) => {
            return Err(Refusal::AlreadyClaimed { task: id, by: claim.by.clone() });
        }
        _ => return Err(Refusal::NotPending { task: id, status: task.status_word() }),
    }
    let mut events = vec![Event::TaskDeleted { task: id }];
    let waiting = graph::dependents_clause(state, task);
    if !waiting.is_empty() {
        let text = format!("task {id} ({}) was deleted{waiting}", task.spec.subject);
        events.extend(mail::tell_lead(state, &task.team, text));
    }
    Ok(events)
}

pub(crate) fn apply_deleted(state: &mut State, at: u64, id: TaskId) {
    retask(state, id, |task| {
        task.status = Status::Deleted;
        task.changed_at = at;
    });
    if let Some(alias) = state.task_mut(id).spec.alias.clone() {
        state.aliases.remove(&alias);
    }
    if let Some(group) = state.task_mut(id).spec.group.clone() {
        graph::regroup(state, &group, |group| group.deleted += 1);
    }
}
