//! What became of the plans of a team: their pieces of work, each with its task on the board.

use std::collections::BTreeMap;

use shipmate_core::State;
use shipmate_core::state::{Status, Task};
use shipmate_model::Name;
use shipmate_model::playbook::{Expect, Playbook};
use shipmate_playbook::work::{self, Item, Work};

use super::Sight;

/// A plan with its pieces.
pub(super) struct Plan<'a> {
    pub(super) id: &'a str,
    pub(super) p: &'a str,
    pub(super) n: &'a str,
    pub(super) title: &'a str,
    pub(super) pieces: Vec<(&'a Item, Option<&'a Task>)>,
}

impl Plan<'_> {
    pub(super) fn completed(&self) -> usize {
        self.tasks().filter(|task| matches!(task.status, Status::Completed { .. })).count()
    }

    pub(super) fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.pieces.iter().filter_map(|(_, task)| *task)
    }

    /// Nothing of it is to be done any more.
    pub(super) fn is_settled(&self) -> bool {
        let over = |task: &Task| {
            let open = matches!(task.status, Status::Pending | Status::InProgress(_));
            !open
        };
        self.pieces.iter().all(|(_, task)| task.is_some_and(over))
    }
}

/// The work of the team as its files have it now; nothing where there is none yet.
pub(super) fn read(sight: &Sight<'_>) -> Work {
    let playbook = sight.playbook();
    let source = playbook.and_then(|playbook| playbook.work.as_ref());
    let read =
        source.zip(sight.ground).map(|(source, ground)| work::read(source, ground, sight.values));
    read.and_then(Result::ok).unwrap_or_default()
}

pub(super) fn of<'a>(sight: &Sight<'a>, work: &'a Work) -> Vec<Plan<'a>> {
    let department = sight.playbook().and_then(|playbook| playbook.department.as_ref());
    let handle = |item: &Item| match department {
        Some(department) => format!("{department}/{}", item.id),
        None => item.id.clone(),
    };
    let mut plans = Vec::new();
    for (id, values) in &work.groups {
        let value = |key: &str| values.get(key).map_or("", String::as_str);
        let own = work.items.iter().filter(|item| item.group.as_ref() == Some(id));
        let pieces = own.map(|item| (item, by_handle(sight.state, &handle(item))));
        plans.push(Plan {
            id,
            p: value("p"),
            n: value("n"),
            title: value("plan_title"),
            pieces: pieces.collect(),
        });
    }
    plans
}

fn by_handle<'a>(state: &'a State, handle: &str) -> Option<&'a Task> {
    state.task(state.by_alias(&handle.parse().ok()?)?)
}

/// Pieces whose tests were seen to fail before the work, by their handles.
pub(super) fn red_first<'a>(
    state: &'a State,
    playbook: &Playbook,
    team: &str,
) -> BTreeMap<&'a str, bool> {
    let is_red = |task: &&Task| {
        let gate = task.spec.gate.as_ref().and_then(|gate| playbook.gates.get(gate));
        let expects_red = gate.is_some_and(|gate| gate.expect == Expect::Red);
        expects_red && looks(playbook, task.spec.gate.as_ref(), &task.spec.metadata)
    };
    let own = state.tasks().iter().filter(|task| task.team.as_str() == team).filter(is_red);
    let pieces = own.filter_map(|task| {
        let piece = task.spec.metadata.get(crate::phases::PIECE)?;
        Some((piece.as_str(), matches!(task.status, Status::Completed { .. })))
    });
    pieces.collect()
}

/// Something is run at the end of this phase.
pub(super) fn has_commands(playbook: &Playbook, phase: &str) -> bool {
    let phase = playbook.phases.iter().find(|one| one.name.as_str() == phase);
    looks(playbook, phase.and_then(|phase| phase.gate.as_ref()), &BTreeMap::new())
}

fn looks(playbook: &Playbook, gate: Option<&Name>, fields: &BTreeMap<String, String>) -> bool {
    gate.is_some_and(|gate| playbook.looks(gate, fields))
}

/// How many plans of a team there are on the board, and how many of them are complete. For views,
/// which look at no files.
pub(super) fn tally(state: &State, team: &str) -> (usize, usize) {
    let mine = |members: &[u32]| {
        let first = members.first().and_then(|id| state.task(*id));
        first.is_some_and(|task| task.team.as_str() == team)
    };
    let groups = state.groups.values().filter(|group| mine(&group.members));
    groups.fold((0, 0), |(done, all), group| (done + usize::from(group.is_done()), all + 1))
}
