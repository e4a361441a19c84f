//! The end of planned work: whoever leads hears of it once, and is asked for a report.
//!
//! Only of a team that works by its lead's plan, or whose lead only delegates. What ends is found
//! in the events of one command, so nothing has to be remembered: a task that is retried or added
//! opens the work again, and its end is told again.

use std::collections::{BTreeMap, BTreeSet};

use shipmate_model::event::{Event, MessageKind, Mode, Recipient, TaskId};
use shipmate_model::name::{Address, Name};

use crate::mail;
use crate::state::{State, Status, Task};

/// Tasks that are listed; beyond that the board tells.
const LISTED_MAX: usize = 50;
/// How much of a task's result is shown.
const RESULT_CHARS_MAX: usize = 160;

/// What the leads are told of the work that ends with these events.
pub(crate) fn told(state: &State, events: &[Event]) -> Vec<Event> {
    let mut ends: BTreeMap<Name, BTreeSet<TaskId>> = BTreeMap::new();
    for event in events {
        let (Event::TaskCompleted { task, .. }
        | Event::TaskFailed { task, .. }
        | Event::TaskDeleted { task }) = event
        else {
            continue;
        };
        let Some(found) = state.task(*task).filter(|task| is_open(task)) else { continue };
        // What a lead's further teams do is the lead's work too, and ends with the last of it.
        let led = state.lead_of(&found.team).map(|lead| lead.team);
        ends.entry(led.unwrap_or_else(|| found.team.clone())).or_default().insert(*task);
    }
    ends.into_iter().filter_map(|(team, ended)| tell(state, &team, &ended, events)).collect()
}

fn is_open(task: &Task) -> bool {
    matches!(task.status, Status::Pending | Status::InProgress(_))
}

fn tell(state: &State, name: &Name, ended: &BTreeSet<TaskId>, events: &[Event]) -> Option<Event> {
    let team = &state.teams[name];
    let lead = Address { team: name.clone(), name: team.lead.clone()? };
    let mate = &state.teammates[&lead];
    let leads = mate.profile.mode != Mode::Plan && mate.leads_others(team);
    let leads_all = leads || !team.plan.is_empty();
    // Between two phases nothing is done yet, unless the lead itself planned this one.
    let plans = |(_, phase, _): (_, &shipmate_model::playbook::Phase, _)| phase.lead_plans;
    let leads_all = leads_all && team.phase_now().is_none_or(plans);
    if !leads_all || !mate.profile.hears || !mate.can_receive() {
        return None;
    }
    let led = |team: &Name| state.lead_of(team).is_some_and(|own| own == lead);
    let open: usize =
        state.teams.iter().filter(|(team, _)| led(team)).map(|(_, team)| team.counts.open()).sum();
    if open > ended.len() {
        return None;
    }
    let now = |event: &Event| match event {
        Event::TaskCompleted { task, result, .. } => Some((*task, Some(result.clone()))),
        Event::TaskFailed { task, .. } => Some((*task, None)),
        _ => None,
    };
    let now: BTreeMap<TaskId, Option<String>> = events.iter().filter_map(now).collect();
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    let deleted = |event: &Event| match event {
        Event::TaskDeleted { task } => Some(*task),
        _ => None,
    };
    let deleted: BTreeSet<TaskId> = events.iter().filter_map(deleted).collect();
    let own = state.tasks().iter().filter(|task| led(&task.team));
    for task in own.filter(|task| !deleted.contains(&task.id)) {
        let result = match (now.get(&task.id), &task.status) {
            (Some(Some(result)), _) | (None, Status::Completed { result, .. }) => result,
            (Some(None), _) | (None, Status::Failed { .. }) => {
                failed.push(task.id);
                continue;
            }
            _ => continue,
        };
        let result: String =
            result.lines().next().unwrap_or_default().chars().take(RESULT_CHARS_MAX).collect();
        let result = if result.is_empty() { result } else { format!(": {result}") };
        done.push(format!("- task {} ({}){result}", task.id, task.spec.subject));
    }
    if done.is_empty() && failed.is_empty() {
        return None;
    }
    let to = Recipient::Member(lead);
    mail::to_one(state, to, MessageKind::WorkDone, words(done, &failed), None)
}

fn words(done: Vec<String>, failed: &[TaskId]) -> String {
    let mut text = match failed {
        [] => "All tasks are completed:".to_owned(),
        failed => format!(
            "No task is left to do. Failed: {}. You may retry or replace what failed; otherwise \
             report. Completed:",
            shipmate_model::refusal::list(failed)
        ),
    };
    let more = done.len().saturating_sub(LISTED_MAX);
    for line in done.into_iter().take(LISTED_MAX) {
        text.push('\n');
        text.push_str(&line);
    }
    if more > 0 {
        text.push_str(&format!("\n- and {more} more (TaskList)"));
    }
    text.push_str(
        "\nReport to the person in a few sentences what was done and what is left: SendMessage to \
         \"person\". Then end your turn.",
    );
    text
}
