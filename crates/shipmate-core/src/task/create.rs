//! Creating tasks: one, or a whole plan in one command, all of it or none.

use std::collections::{BTreeMap, BTreeSet};

use shipmate_model::command::NewTask;
use shipmate_model::event::{Dependency, Event, TaskId, TaskSpec};
use shipmate_model::files::FileSet;
use shipmate_model::limits::{SUBJECT_BYTES_MAX, TASKS_MAX, TASKS_PER_COMMAND_MAX, TEXT_BYTES_MAX};
use shipmate_model::name::{Actor, Address, Name};
use shipmate_model::playbook::ClaimOrder;
use shipmate_model::refusal::Refusal;

use crate::plan_mode;
use crate::shared::Shared;
use crate::size::{check_dependencies, check_files, check_metadata, check_texts};
use crate::state::{State, Status, Task};
use crate::task::{count, graph};

/// Puts tasks on the board.
///
/// Every reference is checked before anything changes: an unknown id, a circle or
/// a duplicate alias refuses the whole command, so a plan is never half there.
pub(crate) fn decide_create(
    state: &State,
    by: &Actor,
    team: &Name,
    tasks: &[NewTask],
) -> Result<Vec<Event>, Refusal> {
    state.require_active_team(team)?;
    state.require_present(by)?;
    plan_mode::require_planned(state, by)?;
    created(state, team, tasks, &[])
}

/// The tasks of a team that others join in the same step.
pub(crate) fn created(
    state: &State,
    team: &Name,
    tasks: &[NewTask],
    joining: &[&Name],
) -> Result<Vec<Event>, Refusal> {
    if tasks.is_empty() {
        return Err(Refusal::Empty { what: "the list of tasks" });
    }
    let limits = [
        ("the number of tasks in one command", tasks.len(), TASKS_PER_COMMAND_MAX),
        ("the number of tasks on the board", state.tasks.len() + tasks.len(), TASKS_MAX),
    ];
    for (what, size, limit) in limits {
        if size > limit {
            return Err(Refusal::OverLimit { what, size, limit, unit: "tasks" });
        }
    }
    let first = state.tasks.len() as TaskId + 1;
    let mut specs: Vec<TaskSpec> = Vec::with_capacity(tasks.len());
    let mut aliases = BTreeMap::new();
    let groups: BTreeSet<&Name> = tasks.iter().filter_map(|t| t.spec.group.as_ref()).collect();
    for (index, new) in tasks.iter().enumerate() {
        let id = first + index as TaskId;
        let mut spec = new.spec.clone();
        for other in &new.blocked_by_new {
            if *other >= tasks.len() {
                let index = TaskId::try_from(*other).unwrap_or(TaskId::MAX);
                return Err(Refusal::UnknownTask { task: first.saturating_add(index) });
            }
            spec.blocked_by.push(Dependency::Task(first + *other as TaskId));
        }
        spec.blocked_by.sort();
        spec.blocked_by.dedup();
        check_spec(state, team, &spec, joining)?;
        check_references(state, id, &spec, first + tasks.len() as TaskId, &groups)?;
        if let Some(alias) = &spec.alias {
            if let Some(task) = state.by_alias(alias) {
                return Err(Refusal::AliasTaken { alias: alias.clone(), task });
            }
            if let Some(task) = aliases.insert(alias.clone(), id) {
                return Err(Refusal::AliasTaken { alias: alias.clone(), task });
            }
        }
        specs.push(spec);
    }
    refuse_new_cycle(state, first, &specs)?;
    let created = specs.into_iter().enumerate().map(|(index, spec)| Event::TaskCreated {
        task: first + index as TaskId,
        team: team.clone(),
        spec,
    });
    Ok(created.collect())
}

fn check_spec(
    state: &State,
    team: &Name,
    spec: &TaskSpec,
    joining: &[&Name],
) -> Result<(), Refusal> {
    if spec.subject.trim().is_empty() {
        return Err(Refusal::Empty { what: "the subject" });
    }
    check_texts(&[
        ("the subject", &spec.subject, SUBJECT_BYTES_MAX),
        ("the description", &spec.description, TEXT_BYTES_MAX),
        ("the active form", &spec.active_form, SUBJECT_BYTES_MAX),
    ])?;
    check_files("the list of files", &spec.files)?;
    check_dependencies(spec.blocked_by.len())?;
    check_metadata(&spec.metadata)?;
    if let Some(assignee) = spec.assignee.as_ref().filter(|name| !joining.contains(name)) {
        state.require_member(&Address { team: team.clone(), name: assignee.clone() })?;
    }
    Ok(())
}

fn check_references(
    state: &State,
    id: TaskId,
    spec: &TaskSpec,
    end: TaskId,
    groups: &BTreeSet<&Name>,
) -> Result<(), Refusal> {
    for on in &spec.blocked_by {
        match on {
            Dependency::Task(other) if *other == id => {
                return Err(Refusal::SelfDependency { task: id });
            }
            Dependency::Task(other) if *other == 0 || *other >= end => {
                return Err(Refusal::UnknownTask { task: *other });
            }
            Dependency::Group(group)
                if !state.groups.contains_key(group) && !groups.contains(group) =>
            {
                return Err(Refusal::UnknownGroup { group: group.clone() });
            }
            _ => {}
        }
    }
    Ok(())
}

/// A new task can only close a circle through another new one or through a group.
fn refuse_new_cycle(state: &State, first: TaskId, specs: &[TaskSpec]) -> Result<(), Refusal> {
    let in_waited_group = |spec: &TaskSpec| {
        let group = spec.group.as_ref().and_then(|name| state.groups.get(name));
        group.is_some_and(|group| !group.dependents.is_empty())
    };
    let reaches_new = |spec: &TaskSpec| {
        spec.blocked_by.iter().any(|on| match on {
            Dependency::Task(id) => *id >= first,
            Dependency::Group(_) => true,
        })
    };
    if !specs.iter().any(|spec| in_waited_group(spec) || reaches_new(spec)) {
        return Ok(());
    }
    let mut joining: BTreeMap<&Name, Vec<Dependency>> = BTreeMap::new();
    for (index, spec) in specs.iter().enumerate() {
        if let Some(group) = &spec.group {
            joining.entry(group).or_default().push(Dependency::Task(first + index as TaskId));
        }
    }
    let starts = first..first + specs.len() as TaskId;
    graph::refuse_cycle(starts, |node| match node {
        Dependency::Task(id) if *id >= first => specs[(*id - first) as usize].blocked_by.clone(),
        Dependency::Group(name) => {
            let mut members = graph::depends_on(state, node);
            members.extend(joining.get(name).into_iter().flatten().cloned());
            members
        }
        Dependency::Task(_) => graph::depends_on(state, node),
    })
}

pub(crate) fn apply_created(
    state: &mut State,
    at: u64,
    by: &Actor,
    id: TaskId,
    team: &Name,
    spec: &TaskSpec,
) {
    assert_eq!(id as usize, state.tasks.len() + 1, "task ids are dense");
    if let Some(alias) = &spec.alias {
        state.aliases.insert(alias.clone(), id);
    }
    let playbook = state.teams[team].setup.playbook.as_ref();
    let by_number = playbook.is_some_and(|playbook| playbook.order == ClaimOrder::Number);
    let mut task = Task {
        id,
        team: team.clone(),
        spec: spec.clone(),
        created_by: by.clone(),
        created_at: at,
        changed_at: at,
        status: Status::Pending,
        retries: 0,
        last_failure: None,
        failure_by: None,
        same_failures: 0,
        unchanged: false,
        by_number,
        unmet: 0,
        dependents: Vec::new(),
        path_ms: 0,
        set_aside: Vec::new(),
        handed_in: BTreeMap::new(),
        handoff: None,
        granted: FileSet::default(),
        left_out: FileSet::default(),
        scope_question: None,
    };
    task.path_ms =
        task.duration_ms().saturating_add(graph::path_behind(state, spec.group.as_ref()));
    // Dependencies on tasks of the same plan that come later in the log are counted
    // as unmet now and linked when that task appears.
    let known = |on: &&Dependency| match on {
        Dependency::Task(other) => (*other as usize) <= state.tasks.len(),
        Dependency::Group(_) => true,
    };
    let met = spec.blocked_by.iter().filter(known).filter(|on| state.dependency_is_met(on)).count();
    task.unmet = (spec.blocked_by.len() - met) as u32;
    *count(&mut state.team_mut(team).counts, &Status::Pending) += 1;
    if task.is_ready() {
        state.ready.add(task.lane(), task.rank());
    }
    state.ready.want(id, &spec.files);
    state.tasks.push(Shared::new(task));
    link_new(state, id, spec);
    if let Some(group) = &spec.group {
        graph::regroup(state, group, |group| group.members.push(id));
    }
    graph::raise_paths(state, id);
}

fn link_new(state: &mut State, id: TaskId, spec: &TaskSpec) {
    for on in &spec.blocked_by {
        match on {
            Dependency::Task(other) if *other > id => {
                state.forward.entry(*other).or_default().push(id);
            }
            Dependency::Task(other) => state.task_mut(*other).dependents.push(id),
            Dependency::Group(name) => {
                state.groups.entry(name.clone()).or_default().dependents.push(id);
            }
        }
    }
    for waiting in state.forward.remove(&id).unwrap_or_default() {
        let path = state.task(waiting).expect("it waits, so it exists").path_ms;
        let task = state.task_mut(id);
        task.dependents.push(waiting);
        let through = task.duration_ms().saturating_add(path);
        if through > task.path_ms {
            crate::task::retask(state, id, |task| task.path_ms = through);
        }
    }
}
