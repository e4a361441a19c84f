//! First tasks that are given out by name (`dispatch`): an offer, not a bond. One that its member
//! let go, or whose member is not there any more, is anybody's.

use std::rc::Rc;

use shipmate_core::State;
use shipmate_core::state::{Status, Task, Team};
use shipmate_model::command::NewTask;
use shipmate_model::{Act, Address, Name, TaskId};

use crate::phases::Phases;

/// The metadata of a task that was given out so.
const FIRST: &str = "first_task_of";

/// Gives each member the best of the tasks that wait for nothing. The rest is anybody's.
pub(super) fn give(tasks: &mut [NewTask], of_role: &[usize], members: &[Name]) {
    let is_free =
        |task: &NewTask| task.spec.blocked_by.is_empty() && task.blocked_by_new.is_empty();
    let mut free: Vec<usize> = of_role.iter().copied().filter(|at| is_free(&tasks[*at])).collect();
    free.sort_by_key(|at| tasks[*at].spec.priority);
    for (at, name) in free.into_iter().zip(members) {
        let spec = &mut tasks[at].spec;
        spec.assignee = Some(name.clone());
        spec.metadata.insert(FIRST.to_owned(), name.to_string());
    }
}

/// Takes back the offers that came to nothing.
pub(crate) fn take_back(phases: &Rc<Phases>) {
    let position = phases.board.with_state(|state| state.position);
    if phases.memory.offers_seen.replace(position) == position {
        return;
    }
    if !phases.is_home(&phases.board.root) {
        return;
    }
    for task in phases.board.with_state(lapsed) {
        phases.board.tell(Act::AssignTask { task, to: None });
    }
}

fn lapsed(state: &State) -> Vec<TaskId> {
    let gives_out = |team: &Team| team.phase_now().is_some_and(|(_, phase, _)| phase.dispatch);
    if !state.teams.values().any(gives_out) {
        return Vec::new();
    }
    let dispatches = |task: &&Task| state.teams.get(&task.team).is_some_and(gives_out);
    let open = state
        .tasks()
        .iter()
        .filter(|task| task.status == Status::Pending && task.spec.metadata.contains_key(FIRST));
    let lapsed = open.filter(dispatches).filter(|task| {
        let Some(name) = task.spec.assignee.clone() else { return false };
        let who = Address { team: task.team.clone(), name };
        state.member(&who).is_none_or(|mate| {
            mate.last_task == Some(task.id) || (mate.epoch > 0 && !mate.is_running())
        })
    });
    lapsed.map(|task| task.id).collect()
}
