//! Whether what somebody hands in is within the limits that every input has.

use std::collections::BTreeMap;

use shipmate_model::event::AgentChoice;
use shipmate_model::files::FileSet;
use shipmate_model::limits::{
    DEPENDENCIES_MAX, METADATA_MAX, PATTERNS_BYTES_MAX, PATTERNS_MAX, SUBJECT_BYTES_MAX, TEAMS_MAX,
    TEXT_BYTES_MAX,
};
use shipmate_model::refusal::Refusal;
use shipmate_model::setup::Setup;

use crate::state::State;

pub(crate) fn check_texts(texts: &[(&'static str, &str, usize)]) -> Result<(), Refusal> {
    for (what, text, limit) in texts {
        if text.len() > *limit {
            let (size, limit) = (text.len(), *limit);
            return Err(Refusal::OverLimit { what, size, limit, unit: "bytes" });
        }
    }
    Ok(())
}

pub(crate) fn check_count(what: &'static str, size: usize, limit: usize) -> Result<(), Refusal> {
    match size > limit {
        true => Err(Refusal::OverLimit { what, size, limit, unit: "entries" }),
        false => Ok(()),
    }
}

pub(crate) fn check_files(what: &'static str, files: &FileSet) -> Result<(), Refusal> {
    check_count(what, files.iter().count(), PATTERNS_MAX)?;
    let size = files.iter().map(|pattern| pattern.as_str().len()).sum();
    let limit = PATTERNS_BYTES_MAX;
    if size > limit {
        return Err(Refusal::OverLimit { what, size, limit, unit: "bytes" });
    }
    Ok(())
}

pub(crate) fn check_dependencies(size: usize) -> Result<(), Refusal> {
    check_count("the list of dependencies", size, DEPENDENCIES_MAX)
}

pub(crate) fn check_metadata(metadata: &BTreeMap<String, String>) -> Result<(), Refusal> {
    check_count("the metadata", metadata.len(), METADATA_MAX)?;
    let size = metadata.iter().map(|(key, value)| key.len() + value.len()).sum();
    if size > TEXT_BYTES_MAX {
        let limit = TEXT_BYTES_MAX;
        return Err(Refusal::OverLimit { what: "the metadata", size, limit, unit: "bytes" });
    }
    Ok(())
}

pub(crate) fn check_setup(setup: &Setup) -> Result<(), Refusal> {
    for line in &setup.gate {
        check_texts(&[("a gate command", line, TEXT_BYTES_MAX)])?;
    }
    check_texts(&[
        ("the agent", &setup.agent, TEXT_BYTES_MAX),
        ("the model", &setup.model, SUBJECT_BYTES_MAX),
    ])?;
    // Nobody could make a tree: every life would end with that.
    if setup.trees.as_ref().is_some_and(|trees| trees.base.is_empty()) {
        return Err(Refusal::Empty { what: "the commit that the team begins at" });
    }
    check_files("the protected paths", &setup.protected)
}

pub(crate) fn check_choice(choice: &AgentChoice) -> Result<(), Refusal> {
    check_texts(&[
        ("the agent", &choice.agent, SUBJECT_BYTES_MAX),
        ("the model", &choice.model, SUBJECT_BYTES_MAX),
        ("the command", &choice.command, TEXT_BYTES_MAX),
    ])
}

/// A tree has room for one more team.
pub(crate) fn require_room_for_team(state: &State) -> Result<(), Refusal> {
    let (size, limit) = (state.teams.len() + 1, TEAMS_MAX);
    if size > limit {
        return Err(Refusal::OverLimit { what: "the tree", size, limit, unit: "teams" });
    }
    Ok(())
}
