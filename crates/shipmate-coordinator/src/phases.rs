//! Phases: what takes a team through its playbook.
//!
//! `engine` carries out what the core owes: it looks whether a phase can begin, makes its tasks from
//! templates and the work that was read, and looks at its end. Nothing here knows any particular
//! playbook; formats of files have their readers in `shipmate-playbook` and their writers in
//! `artifact`.

mod alone;
mod approval;
pub(crate) mod artifact;
pub(crate) mod branch;
pub(crate) mod closing;
mod condition;
pub(crate) mod dispatch;
pub(crate) mod engine;
pub(crate) mod gates;
pub(crate) mod leading;
mod outside;
pub(crate) mod part;
mod posts;
pub(crate) mod proof;
mod push;
pub(crate) mod red;
mod revert;
mod single;
mod staff;
mod tasks;

pub(crate) use shipmate_model::playbook::PIECE;
use shipmate_model::setup::Setup;
use shipmate_playbook::fill;

use crate::merge::Submission;

/// The subject of the commit with which a submission lands.
pub(crate) fn commit_subject(setup: &Setup, one: &Submission) -> String {
    let rule = setup.playbook.as_ref().map(|playbook| (&playbook.commit.message, playbook));
    let Some((message, playbook)) = rule.filter(|(message, _)| !message.is_empty()) else {
        return format!("task {}: {}", one.task, one.subject);
    };
    let mut values = playbook.values.clone();
    for (key, value) in [
        ("task", one.task.to_string()),
        ("id", one.alias.clone()),
        ("subject", one.subject.clone()),
        ("teammate", one.who.address.name.to_string()),
        ("team", one.team.to_string()),
    ] {
        values.insert(key.to_owned(), value);
    }
    fill::fill(message, &values)
}

/// A playbook that comes with shipmate, for tests.
#[cfg(test)]
pub(crate) fn builtin(name: &str) -> shipmate_playbook::compile::Compiled {
    let (_, text) = shipmate_playbook::BUILTIN.iter().find(|(own, _)| *own == name).unwrap();
    shipmate_playbook::compile::compile(name, text).unwrap()
}
