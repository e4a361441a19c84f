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
            // `TEAM.NAME`; what has more parts lies beside a tree.
            let Some(whose) = name.strip_prefix(&format!("{team}.")) else { continue };
            if whose.contains('.') {
                continue;
            }
            let is_gates = [MERGE_CLONE, PHASE_CLONE, HOOK_CLONE].contains(&whose);
            let label = if is_gates { "_gate".to_owned() } else { name.to_owned() };
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
                is_fresh: false,
            };
            for reason in preparation::tear_down(&order).await {
                tracing::warn!(tree = name, reason, "the teardown of a tree failed");
                failed.push((name.to_owned(), reason));
            }
        }
    }
    failed
}
