//! The branch that a playbook names (`commit.branch`): made when its first phase begins, and moved
//! forward with whatever comes to the team's own.
//!
//! It is the person's from its first moment on. One that holds anything else, or that somebody has
//! checked out, is left as it is, and that is told once.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use shipmate_core::State;
use shipmate_model::Act;
use shipmate_playbook::fill::fill;
use shipmate_playbook::fill::placeholders;
use shipmate_playbook::project_files::ProjectFiles;
use shipmate_process::blocking;

use super::stage::Stage;
use crate::phases::Phases;

/// What a branch was last moved for.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    running: Cell<bool>,
    seen: Cell<Option<Moved>>,
    /// Why it was left as it is.
    told: RefCell<Option<String>>,
}

/// When this changes, something may have come to the team's branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moved {
    completed: usize,
    phases: usize,
    written: u64,
}

/// Lets the branch follow, one pass at a time: what changes meanwhile is in the next one.
pub(crate) fn follow(phases: &Rc<Phases>) {
    let now = phases.board.with_state(|state| moved(phases, state));
    let is_news = now.is_some() && phases.followed.seen.get() != now;
    if !is_news || !phases.is_home(&phases.board.root) || phases.followed.running.replace(true) {
        return;
    }
    phases.followed.seen.set(now);
    let this = Rc::clone(phases);
    phases.beside(async move {
        bring_up(&this).await;
        this.followed.running.set(false);
        this.board.look();
    });
}

/// Nothing before the first phase has begun, or where no branch is named.
fn moved(phases: &Phases, state: &State) -> Option<Moved> {
    let root = state.teams.get(&phases.board.root)?;
    let playbook = root.setup.playbook.as_ref()?;
    let begun = root.course.as_ref().is_some_and(|course| !course.rounds.is_empty());
    if playbook.commit.branch.is_empty() || root.setup.trees.is_none() || !begun {
        return None;
    }
    let courses = state.teams.values().filter_map(|team| team.course.as_ref());
    Some(Moved {
        completed: state.teams.values().map(|team| team.counts.completed).sum(),
        phases: courses.map(|course| course.past.len()).sum(),
        written: phases.memory.nudges(),
    })
}

/// Moves the branch to where the team's is.
pub(crate) async fn bring_up(phases: &Rc<Phases>) {
    let Some(stage) = Stage::of(phases, &phases.board.root) else { return };
    let Some(name) = name(&stage) else { return };
    let why = match move_to_tip(phases, &stage, &name).await {
        Ok(why) => why,
        Err(text) => Some(text),
    };
    let Some(why) = why else { return };
    let note = format!("the branch {name} is left as it is: {why}");
    if phases.followed.told.replace(Some(note.clone())).as_ref() != Some(&note) {
        let (team, hook) = (stage.team.clone(), "branch".to_owned());
        phases.board.tell(Act::ReportHook { team, hook, note });
    }
}

/// What the playbook calls it; nothing where a part of the name is not known.
fn name(stage: &Stage) -> Option<String> {
    let name = fill(&stage.playbook.commit.branch, &stage.values);
    let own = crate::team_branch::branch(stage.setup.branch(&stage.team));
    (!name.is_empty() && !name.contains(['{', '}']) && name != own).then_some(name)
}

/// Which branch is not made because a part of its name is not known, and how to give it; said once,
/// when the first phase of the run begins.
pub(super) fn unnamed(phases: &Phases, stage: &Stage) -> Option<String> {
    let is_first = stage.team == phases.board.root && stage.course.rounds.is_empty();
    if !is_first || stage.setup.trees.is_none() {
        return None;
    }
    let name = fill(&stage.playbook.commit.branch, &stage.values);
    let missing = placeholders(&name).into_iter().map(|key| format!("--set {key}=…"));
    let missing: Vec<String> = missing.collect();
    let given = missing.join(" ");
    (!missing.is_empty())
        .then(|| format!("no branch {name}: a part of its name is missing ({given})"))
}

async fn move_to_tip(
    phases: &Rc<Phases>,
    stage: &Stage,
    name: &str,
) -> Result<Option<String>, String> {
    let ProjectFiles::Branch { repository, tip } = stage.ground(phases).await? else {
        return Ok(None);
    };
    let name = name.to_owned();
    blocking(move || repository.follow(&name, &tip).map_err(|e| e.to_string())).await
}
