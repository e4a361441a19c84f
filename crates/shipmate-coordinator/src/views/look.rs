//! What a screen shows at one moment: cards of tasks, and what waits for somebody's decision.

use std::cmp::Reverse;

use shipmate_core::state::{Decision, State, Status, Task, TeamPhase};
use shipmate_core::{around, behind};
use shipmate_model::pause::APPROVAL;
use shipmate_model::{Name, TaskId, TeammateRef};
use shipmate_protocol::view::{Card, DecisionKind, DecisionView, Look, LookOf};

use super::{planned, questions, row, status};
use crate::signs::Signs;

pub(crate) fn look(
    state: &State,
    here: Option<&Name>,
    of: &LookOf,
    log: &str,
    signs: &Signs,
) -> Look {
    let (cards, more) = match of {
        LookOf::Page { after, max } => {
            let tasks = state.tasks().after(*after as usize);
            let page = tasks.iter().take(*max);
            (page.map(|task| card(state, task)).collect(), *max < tasks.len())
        }
        LookOf::Around { tasks } => {
            let ids = around(state, tasks);
            let tasks = ids.iter().filter_map(|id| state.task(*id));
            (tasks.map(|task| card(state, task)).collect(), false)
        }
    };
    Look { status: status(state, here, log, signs), cards, decisions: decisions(state), more }
}

fn card(state: &State, task: &Task) -> Card {
    let row = row(state, task);
    let spec = &task.spec;
    Card {
        id: row.id,
        subject: row.subject,
        status: row.status,
        stage: row.stage,
        owner: row.owner,
        available: row.available,
        why: row.why,
        blocked_by: row.blocked_by,
        alias: row.alias,
        group: row.group,
        priority: row.priority,
        team: row.team,
        files: spec.files.iter().map(ToString::to_string).collect(),
        role: spec.role.as_ref().map(ToString::to_string),
        assignee: spec.assignee.as_ref().map(ToString::to_string),
        duration_ms: spec.duration_ms,
        path_ms: task.path_ms,
        retries: task.retries,
        retries_max: spec.retries_max,
        last_failure: task.last_failure.clone(),
        created_at: task.created_at,
        changed_at: task.changed_at,
        gate: None,
    }
}

/// Everything that waits for a decision, that behind which most work waits first.
fn decisions(state: &State) -> Vec<DecisionView> {
    let mut found = plans(state);
    for question in questions(state, false) {
        let known = &state.questions[&question.id];
        let (waiting, waiting_ms) = waits(state, &known.who, known.task);
        found.push(DecisionView {
            id: question.id,
            kind: question.kind.into(),
            team: known.who.address.team.to_string(),
            who: question.who,
            task: known.task,
            text: question.text,
            options: question.options,
            work: None,
            at: question.asked_at,
            waiting,
            waiting_ms,
        });
    }
    found.extend(approvals(state));
    found.sort_by_key(|decision| (Reverse((decision.waiting, decision.waiting_ms)), decision.at));
    found
}

fn plans(state: &State) -> Vec<DecisionView> {
    let open = state.plans.iter().filter(|(_, plan)| plan.decision == Decision::Open);
    let view = open.map(|(id, plan)| {
        let work = plan.work.as_deref().map(planned);
        let (waiting, waiting_ms) = match &work {
            Some(work) => {
                let lengths = work.tasks.iter().filter_map(|task| task.duration_ms);
                let length = lengths.fold(0, u64::saturating_add);
                (work.tasks.len(), length)
            }
            None => waits(state, &plan.who, plan.task),
        };
        DecisionView {
            id: *id,
            kind: DecisionKind::Plan,
            team: plan.who.address.team.to_string(),
            who: plan.who.to_string(),
            task: plan.task,
            text: plan.body.clone(),
            options: Vec::new(),
            work: work.map(Box::new),
            at: plan.submitted_at,
            waiting,
            waiting_ms,
        }
    });
    view.collect()
}

/// What waits for whoever asks: the task it is about, or what it has in hand.
fn waits(state: &State, who: &TeammateRef, task: Option<TaskId>) -> (usize, u64) {
    let mate = state.member(&who.address);
    let held = mate.into_iter().flat_map(|mate| mate.holds.iter().copied());
    match task {
        Some(task) => behind(state, [task]),
        None => behind(state, held),
    }
}

/// Teams that a person lets begin their next phase.
fn approvals(state: &State) -> impl Iterator<Item = DecisionView> {
    let active = state.teams.iter().filter(|(_, team)| team.phase == TeamPhase::Active);
    active.filter_map(|(name, team)| {
        let pause = team.paused.as_ref().filter(|pause| pause.approval().is_some())?;
        let text = pause.reason.strip_prefix(APPROVAL).unwrap_or(&pause.reason);
        let waits =
            |task: &&Task| task.team == *name && !matches!(task.status, Status::Completed { .. });
        let held = state.tasks().iter().filter(waits).map(|task| task.id);
        let (waiting, waiting_ms) = behind(state, held);
        Some(DecisionView {
            id: pause.n,
            at: pause.at,
            kind: DecisionKind::Approval,
            team: name.to_string(),
            text: text.to_owned(),
            waiting,
            waiting_ms,
            ..DecisionView::default()
        })
    })
}
