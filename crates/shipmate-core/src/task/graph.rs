//! Dependencies: what blocks what, circles, and the longest path behind a task.
//!
//! A group is one node: tasks depend on it and it depends on its members, so a
//! plan-level dependency is one edge and never all × all.

use std::collections::{BTreeMap, VecDeque};

use shipmate_model::event::{Dependency, TaskId};
use shipmate_model::limits::PATH_STEPS_MAX;
use shipmate_model::name::Name;
use shipmate_model::refusal::{Refusal, list};

use crate::state::{Group, State, Status, Task};
use crate::task::retask;

/// What keeps a task from being taken, in words for a refusal.
pub(crate) fn open_blockers(state: &State, task: &Task) -> Vec<String> {
    let unmet = task.spec.blocked_by.iter().filter(|on| !state.dependency_is_met(on));
    unmet
        .map(|on| match on {
            Dependency::Task(id) => {
                let blocker = state.task(*id).expect("a dependency names a task that exists");
                match blocker.status {
                    Status::Failed { .. } => format!("{id} (failed)"),
                    Status::Deleted => format!("{id} (deleted)"),
                    _ => id.to_string(),
                }
            }
            Dependency::Group(name) => {
                let group = &state.groups[name];
                let counted = group.members.len() - group.deleted;
                let is_failed = |id: &&TaskId| {
                    state
                        .task(**id)
                        .is_some_and(|task| matches!(task.status, Status::Failed { .. }))
                };
                let failed = match group.members.iter().filter(is_failed).count() {
                    0 => String::new(),
                    n => format!(", {n} failed"),
                };
                format!("group {name} ({} of {counted} completed{failed})", group.completed)
            }
        })
        .collect()
}

/// For the message about a task that will not be completed.
pub(crate) fn dependents_clause(state: &State, task: &Task) -> String {
    // A deleted or failed last member leaves its group undone for ever.
    let group = task.spec.group.as_ref().map(|name| &state.groups[name]);
    let left = |group: &&Group| group.completed + group.deleted + 1 == group.members.len();
    let stuck = |group: &&Group| {
        matches!(task.status, Status::InProgress(_)) || group.completed == 0 && left(group)
    };
    let through_group = group.filter(stuck).into_iter().flat_map(|group| &group.dependents);
    let waiting: Vec<TaskId> = task
        .dependents
        .iter()
        .chain(through_group)
        .filter(|id| state.task(**id).is_some_and(|t| t.status == Status::Pending))
        .copied()
        .collect();
    if waiting.is_empty() {
        return String::new();
    }
    format!("; still blocked by it: {}", list(&waiting))
}

/// Refuses dependencies that would close a circle, given what each node depends on.
///
/// Walks from `starts` with its own stack: a chain of 100,000 tasks is a plan, not
/// a reason to overflow.
pub(crate) fn refuse_cycle<'a>(
    starts: impl IntoIterator<Item = TaskId>,
    depends_on: impl Fn(&Dependency) -> Vec<Dependency> + 'a,
) -> Result<(), Refusal> {
    #[derive(PartialEq)]
    enum Mark {
        Open,
        Done,
    }
    let mut marks: BTreeMap<Dependency, Mark> = BTreeMap::new();
    for start in starts {
        let start = Dependency::Task(start);
        if marks.contains_key(&start) {
            continue;
        }
        let mut path = vec![(start.clone(), depends_on(&start).into_iter())];
        marks.insert(start, Mark::Open);
        while let Some((node, next)) = path.last_mut() {
            let Some(below) = next.next() else {
                marks.insert(node.clone(), Mark::Done);
                path.pop();
                continue;
            };
            match marks.get(&below) {
                Some(Mark::Done) => {}
                Some(Mark::Open) => return Err(circle(&path, &below)),
                None => {
                    marks.insert(below.clone(), Mark::Open);
                    let next = depends_on(&below).into_iter();
                    path.push((below, next));
                }
            }
        }
    }
    Ok(())
}

fn circle<T>(path: &[(Dependency, T)], closes_at: &Dependency) -> Refusal {
    let from = path.iter().position(|(node, _)| node == closes_at).unwrap_or(0);
    let mut tasks: Vec<TaskId> = path[from..]
        .iter()
        .filter_map(|(node, _)| match node {
            Dependency::Task(id) => Some(*id),
            Dependency::Group(_) => None,
        })
        .collect();
    if let [only] = tasks[..] {
        return Refusal::SelfDependency { task: only };
    }
    tasks.extend(tasks.first().copied());
    Refusal::Cycle { tasks }
}

/// What an existing node depends on. Completed tasks end the walk: nothing waits
/// behind them any more.
pub(crate) fn depends_on(state: &State, node: &Dependency) -> Vec<Dependency> {
    match node {
        Dependency::Task(id) => match state.task(*id) {
            Some(task) if !matches!(task.status, Status::Completed { .. }) => {
                task.spec.blocked_by.clone()
            }
            _ => Vec::new(),
        },
        Dependency::Group(name) => state.groups.get(name).map_or_else(Vec::new, |group| {
            group.members.iter().map(|id| Dependency::Task(*id)).collect()
        }),
    }
}

/// Records that `task` waits for `on`.
pub(crate) fn link(state: &mut State, task: TaskId, on: &Dependency) {
    match on {
        Dependency::Task(id) => state.task_mut(*id).dependents.push(task),
        Dependency::Group(name) => {
            let group = state.groups.get_mut(name).expect("a dependency names a known group");
            group.dependents.push(task);
        }
    }
    if !state.dependency_is_met(on) {
        retask(state, task, |task| task.unmet += 1);
    }
}

/// Undoes `link`.
pub(crate) fn unlink(state: &mut State, task: TaskId, on: &Dependency) {
    match on {
        Dependency::Task(id) => state.task_mut(*id).dependents.retain(|other| *other != task),
        Dependency::Group(name) => {
            let group = state.groups.get_mut(name).expect("a dependency names a known group");
            group.dependents.retain(|other| *other != task);
        }
    }
    if !state.dependency_is_met(on) {
        retask(state, task, |task| task.unmet -= 1);
    }
}

/// A completed task frees its dependents.
pub(crate) fn unblock_dependents(state: &mut State, id: TaskId) {
    let dependents = std::mem::take(&mut state.task_mut(id).dependents);
    for dependent in &dependents {
        retask(state, *dependent, |task| task.unmet -= 1);
    }
    state.task_mut(id).dependents = dependents;
}

/// A task whose work was taken back blocks its dependents again.
pub(crate) fn block_dependents(state: &mut State, id: TaskId) {
    let dependents = state.task_mut(id).dependents.clone();
    for dependent in dependents {
        retask(state, dependent, |task| task.unmet += 1);
    }
}

/// Whether whatever is pending in a team waits for something that failed or was deleted: nobody
/// will ever take it, unless somebody decides otherwise.
pub(crate) fn all_hopeless(state: &State, team: &Name) -> bool {
    let mut known = BTreeMap::new();
    let pending =
        |task: &&Task| task.status == Status::Pending && state.works_for(&task.team, team);
    let mut all = state.tasks().iter().filter(pending);
    all.all(|task| is_hopeless(state, task.id, &mut known))
}

fn is_hopeless(state: &State, id: TaskId, known: &mut BTreeMap<TaskId, bool>) -> bool {
    // A stack of its own: a chain of tasks may be long. What is on the way is taken for hopeful,
    // which ends a walk that comes back to itself.
    let gone = |task: &Task| matches!(task.status, Status::Failed { .. } | Status::Deleted);
    let mut path = vec![id];
    while let Some(task) = path.last().and_then(|at| state.task(*at)) {
        known.entry(task.id).or_insert(false);
        let mut before = Vec::new();
        blockers(state, task, &mut before);
        let is_open = |on: &&TaskId| {
            let task = state.task(**on);
            task.is_some_and(|task| task.status == Status::Pending) && !known.contains_key(*on)
        };
        if let Some(next) = before.iter().find(is_open) {
            path.push(*next);
            continue;
        }
        let is_lost = |on: &TaskId| {
            state.task(*on).is_some_and(gone) || known.get(on).copied().unwrap_or_default()
        };
        known.insert(task.id, before.iter().any(is_lost));
        path.pop();
    }
    known[&id]
}

/// Changes a group; when that makes it done or undone, its dependents follow.
pub(crate) fn regroup(state: &mut State, name: &Name, change: impl FnOnce(&mut Group)) {
    let group = state.groups.entry(name.clone()).or_default();
    let was_done = group.is_done();
    change(group);
    let is_done = group.is_done();
    if was_done == is_done {
        return;
    }
    let dependents = group.dependents.clone();
    for dependent in dependents {
        retask(state, dependent, |task| {
            if is_done {
                task.unmet -= 1;
            } else {
                task.unmet += 1;
            }
        });
    }
}

/// Raises the path of everything `task` waits for, as far as it grows.
pub(crate) fn raise_paths(state: &mut State, task: TaskId) {
    let mut queue = VecDeque::from([task]);
    let mut steps = 0;
    let mut before_it = Vec::new();
    while let Some(id) = queue.pop_front() {
        let task = state.task(id).expect("only known tasks are queued");
        let length = task.path_ms;
        blockers(state, task, &mut before_it);
        for blocker in before_it.drain(..) {
            steps += 1;
            if steps > PATH_STEPS_MAX {
                return;
            }
            // A later task of the same plan is linked, with its path, when it appears.
            let Some(before) = state.task(blocker) else { continue };
            let through = before.duration_ms().saturating_add(length);
            if through > before.path_ms && !matches!(before.status, Status::Completed { .. }) {
                if before.is_ready() {
                    retask(state, blocker, |task| task.path_ms = through);
                } else {
                    state.task_mut(blocker).path_ms = through;
                }
                queue.push_back(blocker);
            }
        }
    }
}

pub(crate) fn blockers(state: &State, task: &Task, found: &mut Vec<TaskId>) {
    for on in &task.spec.blocked_by {
        match on {
            Dependency::Task(id) => found.push(*id),
            Dependency::Group(name) => {
                found.extend(state.groups[name].members.iter().take(PATH_STEPS_MAX));
            }
        }
    }
}

/// The longest path behind a task that joins a group others wait for.
pub(crate) fn path_behind(state: &State, group: Option<&Name>) -> u64 {
    let waiting = group.and_then(|name| state.groups.get(name)).map(|group| &group.dependents);
    let paths = waiting.into_iter().flatten().filter_map(|id| state.task(*id));
    paths.map(|task| task.path_ms).max().unwrap_or(0)
}
