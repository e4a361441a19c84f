//! When everything in a running phase has come to rest, so that the runtime should look at its end.

use shipmate_model::name::{Address, Name};
use shipmate_model::playbook::Department;
use shipmate_model::profile::StartRule;

use crate::staff;
use crate::state::{
    Counts, Course, Standing, State, Status, Task, Team, TeamPhase, Teammate, is_led_by,
    waiting_for_an_answer,
};
use crate::task::graph;

pub(crate) fn is_settled(state: &State, name: &Name, team: &Team) -> bool {
    let Some((playbook, phase, course)) = team.phase_now() else { return false };
    let Standing::Running { failed_before, awaits, .. } = &course.standing else { return false };
    if phase.departments && !playbook.departments.iter().all(|d| is_through_or_stopped(state, d)) {
        return false;
    }
    if phase.alone && others_run(state, name, team.lead.as_ref()) {
        return false;
    }
    if team.counts.in_progress > 0 {
        return false;
    }
    let counts = state.counts_for(name);
    if counts.in_progress > 0 {
        return false;
    }
    let failed = counts.failed > failed_before.len();
    if !awaits.is_empty() && !failed {
        return false;
    }
    let nothing_open = || !state.ready.open_pools().any(|pool| state.works_for(&pool.team, name));
    let stuck = || nothing_open() && (failed || graph::all_hopeless(state, name));
    if counts.pending > 0 && !stuck() {
        return false;
    }
    !phase.lead_plans
        || lead_has_planned(state, name, team, counts)
        || no_plan(state, name).is_some()
}

/// The tasks of a team that failed in the phase that runs.
pub fn failed<'a>(state: &'a State, name: &Name) -> Vec<&'a Task> {
    let course = state.teams.get(name).and_then(|team| team.course.as_ref());
    let Some(Standing::Running { failed_before, .. }) = course.map(|course| &course.standing)
    else {
        return Vec::new();
    };
    let own = state.tasks().iter().filter(|task| {
        matches!(task.status, Status::Failed { .. })
            && !failed_before.contains(&task.id)
            && state.works_for(&task.team, name)
    });
    own.collect()
}

fn is_through_or_stopped(state: &State, department: &Department) -> bool {
    let team = state.teams.get(&department.team);
    team.is_some_and(|team| {
        let over = team.course.as_ref().is_none_or(Course::is_over);
        // What its people leave behind is part of what became of it.
        (over && !others_run(state, &department.team, None)) || team.phase != TeamPhase::Active
    })
}

/// Somebody that the runtime started is still there.
fn others_run(state: &State, name: &Name, lead: Option<&Name>) -> bool {
    state.members_of(name).any(|(who, mate)| {
        mate.is_running()
            && mate.profile.start == StartRule::WhenNeeded
            && lead.is_none_or(|lead| *lead != who.name)
    })
}

fn lead_of<'a>(state: &'a State, name: &Name, team: &Team) -> Option<(Address, &'a Teammate)> {
    let lead = Address { team: name.clone(), name: team.lead.clone()? };
    let mate = state.member(&lead)?;
    Some((lead, mate))
}

/// It has put tasks on the board, and nothing it was told is unread.
fn lead_has_planned(state: &State, name: &Name, team: &Team, counts: Counts) -> bool {
    let unread = lead_of(state, name, team).is_some_and(|(_, mate)| !mate.inbox.is_empty());
    counts.are_done() && !unread
}

/// Why nothing will come onto the board of a phase that its lead plans: the lead has said that it
/// is idle after all it was told, or no life of it will begin any more.
///
/// A lead that somebody else starts, pauses or stops is theirs to start again.
pub fn no_plan(state: &State, name: &Name) -> Option<String> {
    let team = state.teams.get(name)?;
    let (lead, mate) = lead_of(state, name, team)?;
    let is_ours = mate.profile.start == StartRule::WhenNeeded
        && mate.paused.is_none()
        && !mate.dismissed
        && mate.shutdown.is_none();
    if !is_led_by(state, &lead) || !is_ours {
        return None;
    }
    let counts = state.counts_for(name);
    if counts.open() > 0 || counts.are_done() {
        return None;
    }
    // A team below that has phases of its own is not waited for in this one.
    let apart = |below: &Name| !state.works_for(below, name);
    let below = state.teams.iter().any(|(below, found)| {
        found.parent.as_ref() == Some(name) && found.phase == TeamPhase::Active && apart(below)
    });
    let busy = |(who, mate): (&Address, &Teammate)| {
        (*who != lead && mate.is_running() && !mate.inbox.is_empty())
            || staff::is_callable(state, &state.teams[&who.team], mate)
    };
    let asks = || {
        let waiting = waiting_for_an_answer(state);
        waiting.iter().any(|who| state.works_for(&who.address.team, name))
    };
    let mut workers = state.workers_of(name).flat_map(|team| state.members_of(team));
    if below || workers.any(busy) || asks() {
        return None;
    }
    let made = if counts.deleted > 0 { "left no task: all were deleted" } else { "made no task" };
    match mate.is_running() {
        true if mate.told || !mate.inbox.is_empty() => None,
        true => Some(format!("{lead} has heard the goal and {made}")),
        false => Some(format!("{lead} is gone and has {made}")),
    }
}
