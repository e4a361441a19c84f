//! What a team runs in each of its trees before they are deleted.

use std::fs;

use shipmate_core::State;
use shipmate_model::setup::Preparation;
use shipmate_process::Marker;
use shipmate_programs::fence::Grounds;
use shipmate_programs::preparation::{self, TreeToPrepare};

use crate::clones::{HOOK_CLONE, MERGE_CLONE, PHASE_CLONE};
use crate::settings::Settings;

/// The teams that have something to run, and what.
pub(super) fn wanted(state: &State) -> Vec<(String, Preparation)> {
    let teams = state.teams.iter().filter_map(|(name, team)| {
        let preparation = &team.setup.trees.as_ref()?.preparation;
        (!preparation.teardown.is_empty()).then(|| (name.to_string(), preparation.clone()))
    });
    teams.collect()
}

/// Runs it in every tree. What fails, by tree, keeps nothing from being deleted.
pub(super) async fn run(
    settings: &Settings,
    root: &str,
    wanted: Vec<(String, Preparation)>,
) -> Vec<(String, String)> {
    let mut failed = Vec::new();
    let trees = settings.place.team(root).join("trees");
    for (team, preparation) in wanted {
        let entries = fs::read_dir(&trees).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        for folder in folders.map(|entry| entry.path()) {
            let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let Some(whose) = whose(name, &team) else { continue };
            let is_gates = [MERGE_CLONE, PHASE_CLONE, HOOK_CLONE].contains(&whose);
            let label = if is_gates { "_gate".to_owned() } else { format!("{team}.{whose}") };
            let grounds = Grounds::of(&settings.place, &settings.agents, root, &label);
            let grounds = grounds.map(|own| own.linking(&settings.place, &preparation.link));
            let marker = Marker::new(&settings.place.digest(), "gate", &team);
            let (Ok(grounds), Ok(marker)) = (grounds, marker) else { continue };
            let order = TreeToPrepare {
                place: settings.place.clone(),
                tree: folder.clone(),
                preparation: preparation.clone(),
                grounds,
                marker,
                program: settings.agents.program.clone(),
                is_gates,
                is_shared: false,
            };
            for reason in preparation::tear_down(&order).await {
                tracing::warn!(tree = name, reason, "the teardown of a tree failed");
                failed.push((name.to_owned(), reason));
            }
        }
    }
    failed
}

/// Whose tree a folder is: `TEAM.NAME`, or `TEAM.NAME.EPOCH` of one that could not have the tree of an earlier
/// life. What else there is lies beside a tree.
fn whose<'n>(folder: &'n str, team: &str) -> Option<&'n str> {
    let rest = folder.strip_prefix(team)?.strip_prefix('.')?;
    match rest.split_once('.') {
        None => Some(rest),
        Some((name, epoch)) => epoch.parse::<u32>().is_ok().then_some(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_that_took_the_place_of_another_is_torn_down_too_and_what_lies_beside_it_is_not() {
        for (folder, of) in [
            ("crew.ana", Some("ana")),
            ("crew.ana.2", Some("ana")),
            ("crew.merge", Some("merge")),
            ("crew.ana.shadow", None),
            ("crew.ana.2.shadow", None),
            ("crew2.ana", None),
        ] {
            assert_eq!(whose(folder, "crew"), of, "{folder}");
        }
    }
}
