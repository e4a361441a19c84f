//! What a playbook demands of a task: what its role may, what its gate runs, what has to be shown.
//!
//! Everything here follows from the state and the files alone, for whoever orders, merges or ends a
//! phase.

pub(crate) mod condition;
pub(crate) mod gates;
pub(crate) mod red;
pub(crate) mod requirements;
pub(crate) mod role_brief;

use shipmate_model::setup::Setup;
use shipmate_playbook::fill;

use crate::submission::Submission;

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
