//! No more is handed out than the merge queue can take.
//!
//! Agents may be faster than their gate. What they do beyond what the queue lands only grows
//! older there, and conflicts. So new tasks wait while many submissions do. What came back is
//! always taken up again, and work that waits for a person's word about its files is none of the
//! queue's: a team can never wait for itself.

use shipmate_model::limits::{WAITING_MAX_LEAST, WAITING_PER_TEAMMATE_MAX};
use shipmate_model::name::Name;
use shipmate_model::refusal::Refusal;

use crate::state::State;

/// How many submissions wait for their gate, where those are as many as may.
pub fn full_queue(state: &State, team: &Name) -> Option<usize> {
    // Every claim asks: where little waits in the whole tree, a large team is not counted.
    let most = state.submitted.len();
    let enough = most / WAITING_PER_TEAMMATE_MAX + 1;
    if most < WAITING_MAX_LEAST || state.members_of(team).take(enough).count() == enough {
        return None;
    }
    let (mut waiting, mut members) = (0, 0);
    for (_, mate) in state.members_of(team) {
        let asked = |id: &u32| state.task(*id).is_some_and(|task| task.scope_question.is_some());
        waiting += mate.submitted.iter().filter(|id| !asked(id)).count();
        members += 1;
    }
    let limit = (WAITING_PER_TEAMMATE_MAX * members).max(WAITING_MAX_LEAST);
    (waiting >= limit).then_some(waiting)
}

pub(crate) fn require_room(state: &State, team: &Name) -> Result<(), Refusal> {
    match full_queue(state, team) {
        Some(waiting) => Err(Refusal::QueueFull { team: team.clone(), waiting }),
        None => Ok(()),
    }
}
