//! Files on the branch that follow the tasks, not only the phases.
//!
//! What changes while a pass is under way is in the next one; nothing is asked for by the clock.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use shipmate_core::State;
use shipmate_core::state::{Task, Team};
use shipmate_model::{Act, Name};

use super::{Due, commit, features};
use crate::phases::Phases;
use crate::phases::stage::Stage;

/// What the files on the branches were last made from.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    running: Cell<bool>,
    seen: Cell<u64>,
    made_from: RefCell<BTreeMap<Name, u64>>,
}

/// When this of a task changes, a file that follows it is written anew.
fn trace(task: &Task, into: &mut DefaultHasher) {
    let holder = task.claim().map(|claim| claim.by.address.name.as_str());
    (features::word(task), holder, task.retries, &task.spec.metadata).hash(into);
}

/// Follows the tasks with the files that do, one pass at a time: what changes meanwhile is in the
/// next one.
pub(crate) fn keep(phases: &Rc<Phases>) {
    let position = phases.board.with_state(|state| state.position);
    if phases.kept.seen.get() == position || phases.kept.running.get() {
        return;
    }
    phases.kept.seen.set(position);
    let changed = phases.board.with_state(|state| changed(state, &phases.kept.made_from.borrow()));
    let changed: Vec<_> = changed.into_iter().filter(|(team, _)| phases.is_home(team)).collect();
    if changed.is_empty() {
        return;
    }
    phases.kept.running.set(true);
    let this = Rc::clone(phases);
    phases.beside(async move {
        for (team, trace) in changed {
            this.kept.made_from.borrow_mut().insert(team.clone(), trace);
            let stage: Vec<Stage> = Stage::of(&this, &team).into_iter().collect();
            if let Err(text) = commit(&this, &stage, Due::Live).await {
                let reason = format!("what the playbook writes cannot be written: {text}");
                this.board.tell(Act::PauseTeam { team, reason });
            }
        }
        this.kept.running.set(false);
        this.board.look();
    });
}

/// Writes what is behind the tasks of a team, for somebody who is about to read it there.
pub(crate) async fn settle(phases: &Rc<Phases>, team: &Name) -> Result<(), String> {
    let changed = phases.board.with_state(|state| changed(state, &phases.kept.made_from.borrow()));
    if !phases.kept.running.get() && !changed.iter().any(|(name, _)| name == team) {
        return Ok(());
    }
    let stage: Vec<Stage> = Stage::of(phases, team).into_iter().collect();
    commit(phases, &stage, Due::Live).await
}

fn changed(state: &State, before: &BTreeMap<Name, u64>) -> Vec<(Name, u64)> {
    let follows = |team: &Team| {
        let book = team.setup.playbook.as_ref();
        book.is_some_and(|book| book.own_artifacts().any(|one| one.live && one.on_branch))
    };
    let teams = state.teams.iter().filter(|(_, team)| team.paused.is_none() && follows(team));
    let found = teams.filter_map(|(name, team)| {
        let mut own = state.tasks().iter().filter(|task| task.team == *name).peekable();
        own.peek()?;
        let mut now = DefaultHasher::new();
        own.for_each(|task| trace(task, &mut now));
        team.kept.len().hash(&mut now);
        Some((name.clone(), now.finish()))
    });
    found.filter(|(name, now)| before.get(name) != Some(now)).collect()
}
