//! Whose standing depends on a task, and what waits behind one: for screens that show only what
//! has changed, and for the order in which decisions are asked for.

use std::collections::BTreeSet;

use shipmate_model::event::TaskId;
use shipmate_model::files::Pattern;
use shipmate_model::limits::PATH_STEPS_MAX;

use crate::state::{Stage, State, Status, Task};
use crate::task::graph;

/// With more comparisons for each task of the board it is cheaper to take everybody who wants
/// files.
const COMPARED_MAX: usize = 16;

/// These tasks, and those of which something that is shown depends on them: who waits for them,
/// who wants the files they hold, and whose path to the end goes through them.
pub fn around(state: &State, tasks: &[TaskId]) -> BTreeSet<TaskId> {
    let mut found: BTreeSet<TaskId> = BTreeSet::new();
    // Once each, however many of these tasks have the same.
    let mut patterns = BTreeSet::new();
    for task in tasks.iter().filter_map(|id| state.task(*id)) {
        found.insert(task.id);
        found.extend(waiting(state, task));
        patterns.extend(task.held_files().iter().cloned());
    }
    rivals(state, &patterns, &mut found);
    paths(state, tasks, &mut found);
    found
}

/// Pending tasks that want what these patterns cover.
fn rivals(state: &State, patterns: &BTreeSet<Pattern>, found: &mut BTreeSet<TaskId>) {
    let mut left = state.tasks().len().saturating_mul(COMPARED_MAX);
    for pattern in patterns {
        for id in state.ready.wanting(pattern) {
            if left == 0 {
                found.extend(state.ready.all_wanting());
                return;
            }
            left -= 1;
            let wants = |task: &Task| task.spec.files.iter().any(|own| own.overlaps(pattern));
            if !found.contains(&id) && state.task(id).is_some_and(wants) {
                found.insert(id);
            }
        }
    }
}

/// Unfinished tasks before these: a new task makes their way to the end longer.
fn paths(state: &State, tasks: &[TaskId], found: &mut BTreeSet<TaskId>) {
    let mut next = tasks.to_vec();
    let mut before = Vec::new();
    let mut seen = BTreeSet::new();
    let mut steps = 0;
    while let Some(task) = next.pop().and_then(|id| state.task(id)) {
        graph::blockers(state, task, &mut before);
        for blocker in before.drain(..) {
            steps += 1;
            if steps > PATH_STEPS_MAX {
                next.clear();
                break;
            }
            let is_open = state
                .task(blocker)
                .is_some_and(|task| !matches!(task.status, Status::Completed { .. }));
            if is_open && seen.insert(blocker) {
                next.push(blocker);
            }
        }
    }
    found.append(&mut seen);
}

fn waiting<'a>(state: &'a State, task: &'a Task) -> impl Iterator<Item = TaskId> + 'a {
    let group = task.spec.group.as_ref().and_then(|name| state.groups.get(name));
    let through_group = group.into_iter().flat_map(|group| &group.dependents);
    task.dependents.iter().chain(through_group).copied()
}

/// How many unfinished tasks cannot go on before these do, themselves included, and the work that
/// is left in all of them.
pub fn behind(state: &State, tasks: impl IntoIterator<Item = TaskId>) -> (usize, u64) {
    let mut next: Vec<TaskId> = tasks.into_iter().collect();
    let mut seen = BTreeSet::new();
    let mut work_ms = 0_u64;
    while let Some(id) = next.pop() {
        let Some(task) = state.task(id) else { continue };
        let is_over = matches!(task.status, Status::Completed { .. } | Status::Deleted);
        if is_over || !seen.insert(id) {
            continue;
        }
        // What is handed in has only to land.
        let is_done =
            task.claim().is_some_and(|claim| matches!(claim.stage, Stage::Submitted { .. }));
        if !is_done {
            work_ms = work_ms.saturating_add(task.duration_ms());
        }
        next.extend(waiting(state, task));
    }
    (seen.len(), work_ms)
}
