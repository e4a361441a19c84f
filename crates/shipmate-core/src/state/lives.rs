//! What is known of lives and open requests by looking at the state alone.

use std::collections::BTreeSet;

use shipmate_model::event::{EscalationId, QuestionId, Supervision};
use shipmate_model::name::{Address, Name, TeammateRef};

use super::{Decision, Raised, State, Teammate};

pub(crate) fn current(address: &Address, teammate: &Teammate) -> TeammateRef {
    TeammateRef { address: address.clone(), epoch: teammate.epoch }
}

/// Its end is a process that the runtime sees ending.
pub(crate) fn ends_by_process(teammate: &Teammate) -> bool {
    teammate.supervision != Supervision::None
}

/// Somebody wants work to go on: whoever was sent away or given up may be started again.
pub(crate) fn recall(state: &mut State, team: &Name) {
    let members: Vec<Address> = state.members_of(team).map(|(who, _)| who.clone()).collect();
    for who in members {
        let mate = state.teammate_mut(&who);
        (mate.dismissed, mate.barren) = (false, 0);
    }
}

/// Those whose next step is somebody else's: their silence is no stall.
pub(crate) fn waiting_for_an_answer(state: &State) -> BTreeSet<TeammateRef> {
    let asked = state.questions.values().filter(|asked| asked.is_open() && asked.task.is_none());
    let plans = state.plans.values().filter(|plan| plan.decision == Decision::Open);
    let raised =
        state.escalations.values().filter(|raised| raised.open).filter_map(|raised| {
            state.member(&raised.from).map(|mate| current(&raised.from, mate))
        });
    let asked = asked.map(|asked| asked.who.clone());
    asked.chain(plans.map(|plan| plan.who.clone())).chain(raised).collect()
}

/// The person has answered the question that an escalation came to.
pub(crate) fn answered(state: &State, question: QuestionId) -> Option<(EscalationId, &Raised)> {
    let is_it = |(_, raised): &(&EscalationId, &Raised)| raised.question == Some(question);
    state.escalations.iter().find(is_it).map(|(id, raised)| (*id, raised))
}

/// Whoever raised it is no member any more.
pub(crate) fn forget(state: &mut State, who: &Address) {
    for raised in state.escalations.values_mut().filter(|raised| raised.from == *who) {
        raised.open = false;
        let asked = raised.question.and_then(|id| state.questions.get_mut(&id));
        if let Some(question) = asked.filter(|question| question.is_open()) {
            question.withdrawn = true;
        }
    }
}
