//! The end of a team: its mail goes back, and its open tasks go with it.

use std::collections::BTreeSet;

use shipmate_model::event::{Event, TaskId};
use shipmate_model::name::{Address, Name};
use shipmate_model::refusal::list;

use crate::mail;
use crate::state::{Stage, State, Status, Task, Team, TeamPhase};

/// The end of a team. Mail of members that will never be started again goes back;
/// of those that ran until now it went back with their lives. Where the team above it goes on, its
/// open tasks go with it: nobody could take them any more, and others may wait for them.
pub(crate) fn gone(
    state: &State,
    team: &Name,
    leaving: Option<&Address>,
    ending: &[Name],
) -> Vec<Event> {
    let waiting = state
        .members_of(team)
        .filter(|(who, mate)| mate.can_receive() && !mate.is_running() && leaving != Some(*who));
    let mut events: Vec<Event> =
        waiting.flat_map(|(who, _)| mail::bounce_all(state, who, "its team ended")).collect();
    let stays =
        |name: &Name, team: &Team| team.phase == TeamPhase::Active && !ending.contains(name);
    if let Some(above) = state.nearest_above(team, stays) {
        events.extend(open_tasks_go(state, team, &above));
    }
    events.push(Event::TeamDeleted { team: team.clone() });
    events
}

/// The open tasks of a team that is gone, and one word about what waits for them.
fn open_tasks_go(state: &State, team: &Name, above: &Name) -> Vec<Event> {
    let own = state.tasks().iter().filter(|task| task.team == *team && is_left_open(task));
    let going: BTreeSet<TaskId> = own.map(|task| task.id).collect();
    let tasks = || going.iter().filter_map(|id| state.task(*id));
    // A group of which nothing is left is never done.
    let groups: BTreeSet<&Name> = tasks().filter_map(|task| task.spec.group.as_ref()).collect();
    let is_left = |id: &TaskId| {
        let is_there = state.task(*id).is_some_and(|task| task.status != Status::Deleted);
        is_there && !going.contains(id)
    };
    let groups = groups.into_iter().filter_map(|name| state.groups.get(name));
    let stuck = groups.filter(|group| !group.members.iter().any(is_left));
    let mut waiting: BTreeSet<TaskId> =
        stuck.flat_map(|group| &group.dependents).copied().collect();
    waiting.extend(tasks().flat_map(|task| &task.dependents));
    let is_pending = |id: &TaskId| state.task(*id).is_some_and(|t| t.status == Status::Pending);
    let waiting: Vec<TaskId> =
        waiting.difference(&going).copied().filter(|id| is_pending(id)).collect();
    let mut events: Vec<Event> =
        going.iter().map(|task| Event::TaskDeleted { task: *task }).collect();
    if !waiting.is_empty() {
        let (gone, waiting) = (going.into_iter().collect::<Vec<_>>(), list(&waiting));
        let text = format!(
            "with team {team} went its open tasks {}; still blocked by them: {waiting}",
            list(&gone)
        );
        events.extend(mail::tell_lead(state, above, text));
    }
    events
}

/// Whoever holds a task of a team that ends has let go of it by then; what was handed in is judged.
fn is_left_open(task: &Task) -> bool {
    match &task.status {
        Status::Pending => true,
        Status::InProgress(claim) => matches!(claim.stage, Stage::Claimed | Stage::Returned { .. }),
        _ => false,
    }
}

/// A team and all below it, parents first.
pub(crate) fn subtree(state: &State, team: &Name) -> Vec<Name> {
    let mut found = vec![team.clone()];
    let mut next = 0;
    while next < found.len() {
        let parent = found[next].clone();
        let below = state.teams.iter().filter(|(_, team)| {
            team.parent.as_ref() == Some(&parent) && team.phase != TeamPhase::Deleted
        });
        found.extend(below.map(|(name, _)| name.clone()));
        next += 1;
    }
    found
}

/// The teams that are over once `leaving` no longer runs, children first: a team
/// is never gone before those below it.
pub(crate) fn ended_with(state: &State, leaving: &Address) -> Vec<Event> {
    let Some(root) = &state.root else { return Vec::new() };
    let mut alive: BTreeSet<&Name> = BTreeSet::new();
    let mut over = Vec::new();
    let all = subtree(state, root);
    for name in all.iter().rev() {
        let team = &state.teams[name];
        let runs = state.members_of(name).any(|(who, mate)| mate.is_running() && who != leaving);
        if team.phase == TeamPhase::Ending && !runs && !alive.contains(name) {
            over.extend(gone(state, name, Some(leaving), &[]));
        } else if team.phase != TeamPhase::Deleted {
            alive.extend(team.parent.as_ref());
        }
    }
    over
}
