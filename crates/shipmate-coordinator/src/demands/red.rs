//! Tests first: tests that pass without the work they are for show nothing.
//!
//! The tests that a piece of work brings are put alone onto the tree as it was before that work,
//! or as a phase left it; there they have to fail.

use std::collections::BTreeSet;

use shipmate_core::State;
use shipmate_core::state::Status;
use shipmate_model::Name;
use shipmate_model::files::{FileSet, Pattern};
use shipmate_model::playbook::Red;
use shipmate_playbook::fill::is_test as is_test_file;
use shipmate_programs::tenancy::author;
use shipmate_workspace::{Commit, Repository};

/// The commit on which tests are seen to fail, and the tests.
pub(crate) struct Bare {
    pub(crate) commit: Commit,
    pub(crate) tests: BTreeSet<String>,
    /// Those that were not there before: each can be asked to fail by itself.
    pub(crate) new: BTreeSet<String>,
}

/// A commit like the first with the tests of the second; nothing where no test has changed.
pub(crate) fn bare(
    repository: &Repository,
    red: &Red,
    (before, after): (&Commit, &Commit),
) -> Result<Option<Bare>, String> {
    let text = |e: &dyn std::fmt::Display| e.to_string();
    let patterns: Result<Vec<Pattern>, _> = red.files.iter().map(|file| file.parse()).collect();
    let wanted = FileSet::new(patterns.map_err(|e| text(&e))?);
    let changed = repository.changed_between(before, after).map_err(|e| text(&e))?;
    let is_test = |path: &String| path.parse().is_ok_and(|path: Pattern| wanted.covers(&path));
    let tests: BTreeSet<String> = changed.into_iter().filter(is_test).collect();
    if tests.is_empty() {
        return Ok(None);
    }
    let there: BTreeSet<String> =
        repository.files_of(before).map_err(|e| text(&e))?.into_iter().collect();
    let is_new = |path: &&String| is_test_file(path) && !there.contains(*path);
    let new = tests.iter().filter(is_new).cloned().collect();
    let commit =
        repository.with_files_of(before, after, |path| tests.contains(path), &author("shipmate"));
    Ok(Some(Bare { commit: commit.map_err(|e| text(&e))?, tests, new }))
}

impl Bare {
    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> = self.tests.iter().map(String::as_str).collect();
        names.join(", ")
    }

    /// Why these tests, which pass on it, are not enough.
    pub(crate) fn passes(&self, red: &Red, tests: &str) -> String {
        let place = match &red.on {
            Some(phase) => format!("as phase {phase} left it"),
            None => "as it was before".to_owned(),
        };
        format!(
            "{tests} passes without the work it is for, on the branch {place} ({}): write tests that \
             fail until the work is done",
            red.commands.join("; ")
        )
    }
}

/// Where a phase left the team's branch: the last work that had landed by then, or where the
/// team began.
pub(crate) fn left_by(state: &State, team: &Name, phase: &Name) -> Option<Commit> {
    let found = state.teams.get(team)?;
    let mut past = found.course.iter().flat_map(|course| &course.past).rev();
    let ended = past.find(|past| past.phase == *phase).map(|past| past.ended_at);
    let own = state.tasks().iter().filter(|task| task.team == *team);
    let landed = own.filter_map(|task| match &task.status {
        Status::Completed { commit: Some(commit), .. } => Some((task.changed_at, task.id, commit)),
        _ => None,
    });
    let last = landed.filter(|(at, ..)| ended.is_some_and(|ended| *at <= ended)).max();
    let base = || Some(found.setup.trees.as_ref()?.base.clone());
    Commit::parse(&last.map(|(.., commit)| commit.clone()).or_else(base)?)
}
