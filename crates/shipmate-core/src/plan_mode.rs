//! What a teammate in plan mode may do: nothing that counts before its plan is approved.

use shipmate_model::event::{Mode, TaskId};
use shipmate_model::name::{Actor, Address};
use shipmate_model::refusal::Refusal;

use crate::state::State;

/// Work of a teammate in plan mode counts only after its plan was approved.
pub(crate) fn require_approved(state: &State, who: &Address) -> Result<(), Refusal> {
    let teammate = &state.teammates[who];
    if teammate.profile.mode == Mode::Plan && teammate.approved_plan.is_none() {
        return Err(Refusal::PlanNotApproved { who: who.clone() });
    }
    Ok(())
}

/// An approval is for one task: the plan's, or the first that is claimed with it. The next task of
/// a teammate in plan mode needs a plan of its own.
pub(crate) fn bind_to_claim(state: &mut State, who: &Address, task: TaskId) {
    let mate = &state.teammates[who];
    let Some(approved) = mate.approved_plan.filter(|_| !mate.is_lead()) else { return };
    let plan = state.plans.get_mut(&approved);
    let own = plan.is_some_and(|plan| *plan.task.get_or_insert(task) == task);
    if !own {
        state.teammate_mut(who).approved_plan = None;
    }
}

/// A lead in plan mode changes the board by its plan, and by nothing else before that.
pub(crate) fn require_planned(state: &State, by: &Actor) -> Result<(), Refusal> {
    let Actor::Teammate(who) = by else { return Ok(()) };
    let mate = state.require_current(who)?;
    if mate.is_lead() && mate.profile.mode == Mode::Plan && mate.approved_plan.is_none() {
        return Err(Refusal::PlanFirst { who: who.address.clone() });
    }
    Ok(())
}
