//! Work that changes nothing: done only if somebody says why.
//!
//! The gate on an unchanged tree is green by definition, so it says nothing about such work. An
//! agent that only prints something has not done its task: it comes back once, and then it has
//! failed. Research and reviews say so (`no_change`), or come with a result.

use shipmate_model::event::{Event, Mode, ReleaseCause, TaskId, Token};
use shipmate_model::name::{Actor, Name};
use shipmate_model::refusal::Refusal;

use crate::mail;
use crate::state::{Stage, State, Task, TeamPhase};
use crate::task::finish::{is_holder_there, tell_holder};
use crate::task::{graph, require_claim};

const REASON: &str = "nothing was changed, and no reason was given. Make the change; if none is \
                      needed, say why: with a result (TaskUpdate, `shipmate task submit --result`) \
                      or in the file that SHIPMATE_RESULT names";

/// Whether what is handed in for this task must change something in order to count as done.
pub fn must_change(state: &State, task: &Task) -> bool {
    let Some(claim) = task.claim() else { return false };
    let Stage::Submitted { result, .. } = &claim.stage else { return false };
    let mate = &state.teammates[&claim.by.address];
    let may_write = !matches!(mate.profile.mode, Mode::ReadOnly | Mode::Delegate);
    // Without a repository nobody knows what was changed.
    let has_trees = state.teams[&task.team].setup.trees.is_some();
    // A gate of its own is about the task: it may be done already, where the gate looks at anything.
    let playbook = state.lineage(&task.team).find_map(|team| team.setup.playbook.as_deref());
    let fields = &task.spec.metadata;
    let looks = |gate: &Name| playbook.is_none_or(|playbook| playbook.looks(gate, fields));
    let may_stay = task.spec.no_change || task.spec.gate.as_ref().is_some_and(looks);
    has_trees && may_write && !may_stay && result.trim().is_empty()
}

/// Gives a submission back that changes nothing, once; then its task has failed.
pub(crate) fn decide_unchanged(
    state: &State,
    by: &Actor,
    id: TaskId,
    token: Token,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "return a task")?;
    let task = state.require_task(id)?;
    let claim = require_claim(task, token)?;
    if !matches!(claim.stage, Stage::Submitted { .. }) {
        return Err(Refusal::NotSubmitted { task: id });
    }
    // A person may have said meanwhile that it need not.
    if !must_change(state, task) {
        return Ok(Vec::new());
    }
    let subject = &task.spec.subject;
    let is_gone = state.teams[&task.team].phase == TeamPhase::Deleted;
    if task.unchanged || is_gone {
        let often =
            if task.unchanged { "nothing was changed, twice" } else { "nothing was changed" };
        let reason = format!("{often}, and no reason was given");
        let waiting = graph::dependents_clause(state, task);
        let text = format!("task {id} ({subject}) failed: {reason}{waiting}");
        let mut events = vec![Event::TaskFailed { task: id, token, reason }];
        events.extend(mail::tell_lead(state, &task.team, text));
        return Ok(events);
    }
    // Once, however few attempts the task has: the first time nobody was asked for a reason.
    let reason = REASON.to_owned();
    if !is_holder_there(state, claim) {
        let cause = ReleaseCause::Unchanged;
        return Ok(vec![Event::TaskReleased { task: id, token, cause, reason }]);
    }
    let mut events = vec![Event::TaskReturned { task: id, token, reason, unchanged: true }];
    events.extend(tell_holder(state, task, claim, &format!(": {REASON}")));
    Ok(events)
}
