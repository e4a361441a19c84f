//! Refs of work that has landed go: the team branch has it, and nothing asks for it again.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use shipmate_core::state::Status;
use shipmate_model::Name;
use shipmate_process::blocking;
use shipmate_workspace::Repository;

use crate::crew::Crew;

/// So many have landed since the last time, while a team is at work; one that rests is looked at
/// at once.
const COLLECT_EVERY: usize = 32;

/// How many tasks of each team were completed when its refs were last collected.
pub(super) type Collected = BTreeMap<Name, usize>;

/// Collects where it is time to.
pub(super) async fn collect(crew: &Rc<Crew>, collected: &mut Collected) {
    let due = crew.board.with_state(|state| {
        let teams = state.teams.iter().filter(|(_, team)| team.setup.trees.is_some());
        let due = teams.filter_map(|(name, team)| {
            let before = collected.get(name).copied().unwrap_or_default();
            let fresh = team.counts.completed.saturating_sub(before);
            let is_due = fresh >= COLLECT_EVERY || fresh > 0 && team.counts.in_progress == 0;
            is_due.then(|| (name.clone(), team.setup.branch(name).clone(), team.counts.completed))
        });
        due.collect::<Vec<_>>()
    });
    for (team, branch, count) in due.into_iter().filter(|(team, ..)| crew.is_home(team)) {
        let done: BTreeSet<u32> = crew.board.with_state(|state| {
            let own = state.tasks().iter().filter(|task| task.team == team);
            let done = own.filter(|task| matches!(task.status, Status::Completed { .. }));
            done.map(|task| task.id).collect()
        });
        let (workspace, name) = (crew.settings.place.workspace.clone(), team.to_string());
        let looked = blocking(move || {
            let repository = Repository::open(&workspace).map_err(|e| e.to_string())?;
            let collected = repository.collect(&name, branch.as_str(), |task| done.contains(&task));
            collected.map_err(|e| e.to_string())
        });
        // They are in nobody's way: the next time is soon enough.
        if looked.await.is_ok() {
            collected.insert(team, count);
        }
    }
}
