//! The very end of a playbook: what was written about it is brought up to date once more, when
//! those that were sent away have stopped and what they left behind is known.

use std::rc::Rc;

use shipmate_core::state::Course;
use shipmate_core::state::Teammate;
use shipmate_model::Name;

use super::artifact;
use super::branch;
use super::push;
use super::stage::Stage;
use crate::phases::Phases;

/// Once a playbook is over and nobody runs any more, what those that were sent away left behind
/// goes into the files too.
pub(crate) fn end(phases: &Rc<Phases>) {
    let over = phases.board.with_state(|state| {
        let root = state.teams.get(&phases.board.root).and_then(|team| team.course.as_ref());
        root.is_some_and(Course::is_over) && !state.teammates.values().any(Teammate::is_running)
    });
    if over && phases.is_home(&phases.board.root) && !phases.memory.ended.replace(true) {
        let this = Rc::clone(phases);
        phases.beside(async move { close(&this).await });
    }
}

/// Writes what the playbook of the whole tree writes, as things stand when nobody is left.
pub(crate) async fn close(phases: &Rc<Phases>) {
    phases.all_rescued().await;
    let writing = phases.memory.writing.lock().await;
    if let Err(text) =
        artifact::commit(phases, &family(phases, &phases.board.root), artifact::Due::All).await
    {
        tracing::warn!(reason = ?text, "what a playbook writes at its end is not written");
    }
    // What was just written is to be where the rest is.
    if let Some(stage) = Stage::of(phases, &phases.board.root) {
        push::push(phases, &stage).await;
        branch::bring_up(phases).await;
    }
    drop(writing);
}

/// A team with those that share its branch and whose files follow from it, as they stand: itself;
/// once it is over, the one above; and for that one, all below it first.
pub(super) fn family(phases: &Phases, team: &Name) -> Vec<Stage> {
    let names = phases.board.with_state(|state| {
        let Some(found) = state.teams.get(team) else { return Vec::new() };
        let below = state.teams.iter().filter(|(_, other)| other.parent.as_ref() == Some(team));
        let mut names: Vec<Name> = below.map(|(name, _)| name.clone()).collect();
        names.push(team.clone());
        let over = found.course.as_ref().is_some_and(Course::is_over);
        names.extend(found.parent.clone().filter(|_| over));
        names
    });
    names.iter().filter_map(|name| Stage::of(phases, name)).collect()
}
