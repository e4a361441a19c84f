//! `shipmate merge`: the team's work comes to the person.

use std::rc::Rc;

use shipmate_core::Name;
use shipmate_protocol::Refused;
use shipmate_protocol::view::Merged;

use super::failed;
use crate::crew::Crew;
use crate::open::refused;
use crate::put_away::feature;
use crate::supervisor::off_the_thread;
use crate::workspace::{Commit, Feature, FeatureBranch, Repository, UserMerge};

/// Brings the team's work to the person.
pub(super) async fn merge(crew: &Rc<Crew>, team: &Name, branches: bool) -> Result<Merged, Refused> {
    let no_trees = || {
        let text = format!("team {team} works without a repository");
        refused("NoTrees", text, "its work is in the workspace itself (--trees none)")
    };
    let (base, tasks, features) = crew
        .board
        .with_state(|state| {
            let base = state.teams.get(team)?.setup.trees.as_ref()?.base.clone();
            // Departments land on the branch of the team above them.
            let lands = |own: &Name| state.teams[own].setup.branch(own) == team;
            let done = state.tasks().iter().filter(|task| lands(&task.team));
            let done = done.filter(|task| task.status_word() == "completed");
            let mut features: std::collections::BTreeMap<String, Vec<u32>> = Default::default();
            let mut tasks = Vec::new();
            for task in done {
                features.entry(feature(task)).or_default().push(task.id);
                tasks.push(task.id);
            }
            Some((base, tasks, features))
        })
        .ok_or_else(no_trees)?;
    if tasks.is_empty() {
        let text = format!("no task of team {team} is completed yet");
        return Err(refused("NothingDone", text, "`shipmate status` shows how far they are"));
    }
    let base = Commit::parse(&base).ok_or_else(no_trees)?;
    let (workspace, name) = (crew.settings.place.workspace.clone(), team.to_string());
    let work = move || {
        let repository = Repository::open(&workspace).map_err(|e| e.to_string())?;
        let mut merged = Merged { branch: format!("shipmate/{name}"), tasks, ..Merged::default() };
        if branches {
            let features: Vec<Feature> =
                features.into_iter().map(|(name, tasks)| Feature { name, tasks }).collect();
            let made = repository.feature_branches(&name, &base, &features);
            for branch in made.map_err(|e| e.to_string())? {
                note_feature(&mut merged, branch);
            }
            return Ok(merged);
        }
        match repository.merge_into_user(&name).map_err(|e| e.to_string())? {
            UserMerge::Merged { branch, commit } => {
                merged.commit = Some(commit.to_string());
                merged.notes.push(format!("merged into {branch}"));
            }
            UserMerge::AlreadyMerged { branch } => {
                merged.notes.push(format!("{branch} has all of it already"));
            }
            UserMerge::Conflict { branch, files, .. } => {
                return Err(format!(
                    "it conflicts with {branch} in {}; nothing was changed: merge shipmate/{name} \
                     by hand, or bring {branch} to the team first",
                    files.join(", ")
                ));
            }
        }
        Ok(merged)
    };
    off_the_thread(work).await.map_err(|text| failed("NotMerged", text))
}

fn note_feature(merged: &mut Merged, branch: FeatureBranch) {
    match branch {
        FeatureBranch::Made { branch, .. } => merged.branches.push(branch),
        FeatureBranch::Exists { branch, .. } => {
            merged.notes.push(format!("{branch} exists and holds something else: delete it first"));
        }
        FeatureBranch::Empty { feature } => merged.notes.push(format!("{feature} changed nothing")),
        FeatureBranch::Needs { feature, task, features, files } => merged.notes.push(format!(
            "{feature} has no branch: task {task} needs {} first (in {})",
            features.join(", "),
            files.join(", ")
        )),
    }
}
