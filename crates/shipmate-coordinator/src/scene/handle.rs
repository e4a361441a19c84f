//! Which task somebody means: its number, its handle, or the end of its handle.
//!
//! Task ids of plan files are unique in their plan only. A bare `T3` is taken where one task can be
//! meant, and refused with the candidates where several can.

use shipmate_core::State;
use shipmate_core::state::{Status, Task};
use shipmate_model::{Actor, Alias, Name, Refusal, TaskId};
use shipmate_protocol::refused;
use shipmate_protocol::{Code, Refused};

use super::refusal;

/// `3`, an alias, or the end of one: `T3` of a plan, where it is clear which plan is meant.
pub(crate) fn task_id(
    state: &State,
    actor: &Actor,
    team: &Name,
    text: &str,
) -> Result<TaskId, Refused> {
    if let Ok(id) = text.parse::<TaskId>() {
        return match state.task(id) {
            Some(_) => Ok(id),
            None => Err(refusal(&Refusal::UnknownTask { task: id })),
        };
    }
    let alias: Alias = text.parse().map_err(|e| refusal(&Refusal::BadName(e)))?;
    if let Some(id) = state.by_alias(&alias) {
        return Ok(id);
    }
    match ending_with(state, actor, team, alias.as_str()).as_slice() {
        [task] => Ok(task.id),
        [] => {
            let remedy = "`shipmate task list` names the tasks";
            Err(refused(
                Code::UnknownTask,
                format!("there is no task with the alias {alias}"),
                remedy,
            ))
        }
        several => {
            let named = several.iter().filter_map(|task| task.spec.alias.as_ref());
            let named: Vec<String> = named.map(ToString::to_string).collect();
            let text = format!("{alias} may be any of {}", named.join(", "));
            Err(refused(Code::AmbiguousTask, text, "name one of them in full, or give plan_id"))
        }
    }
}

/// Those that may be meant by the end of an alias: what the asker holds, else what is open in its
/// team, else whatever there is.
fn ending_with<'a>(state: &'a State, actor: &Actor, team: &Name, end: &str) -> Vec<&'a Task> {
    let ends = |task: &&Task| {
        let alias = task.spec.alias.as_ref().map_or("", Alias::as_str);
        alias.strip_suffix(end).is_some_and(|before| before.ends_with('/'))
    };
    let all: Vec<&Task> = state.tasks().iter().filter(ends).collect();
    let mine = |task: &&&Task| match (actor, task.claim()) {
        (Actor::Teammate(me), Some(claim)) => claim.by == *me,
        _ => false,
    };
    let open = |task: &&&Task| {
        let is_open = matches!(task.status, Status::Pending | Status::InProgress(_));
        is_open && task.team == *team
    };
    let held: Vec<&Task> = all.iter().filter(mine).copied().collect();
    if !held.is_empty() {
        return held;
    }
    let free: Vec<&Task> = all.iter().filter(open).copied().collect();
    if free.is_empty() { all } else { free }
}
