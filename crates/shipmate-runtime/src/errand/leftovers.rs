//! `shipmate doctor`: what is left on this machine that nothing needs any more.

use std::collections::BTreeSet;

use shipmate_process::Marker;
use shipmate_protocol::Refused;
use shipmate_protocol::view::Leftover;

use super::failed;
use crate::crew::Crew;
use crate::settings::Settings;
use crate::supervisor::off_the_thread;
use crate::workspace::Repository;

/// What shipmate has left on this machine that nothing needs any more.
pub(super) async fn leftovers(
    settings: &Settings,
    own: BTreeSet<String>,
    owns: impl Fn(&Marker) -> bool,
    remove: bool,
) -> Result<Vec<Leftover>, Refused> {
    let mut found = Vec::new();
    let folders = settings.place.teams().read_dir().into_iter().flatten();
    let roots: Vec<String> =
        folders.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    // Another tree of teams knows its own departments, and only it: what may be one's is left.
    let alone = roots.iter().all(|root| own.contains(root));
    for (pid, marker) in shipmate_process::marked(&settings.place.digest()) {
        let team = marker.label().split('.').next().unwrap_or_default();
        let anothers = !alone && !own.contains(team);
        let ours = matches!(marker.kind(), "coordinator" | "supervisor") || owns(&marker);
        if ours || anothers {
            continue;
        }
        if remove {
            shipmate_process::sweep(&marker, settings.agents.stop_grace).await;
        }
        found.push(Leftover {
            kind: "process".to_owned(),
            team: team.to_owned(),
            name: pid.as_raw_nonzero().to_string(),
            why: format!("{} {} has nobody any more", marker.kind(), marker.label()),
            removed: remove,
        });
    }
    if !alone {
        return Ok(found);
    }
    let workspace = settings.place.workspace.clone();
    let refs = off_the_thread(move || {
        let Ok(repository) = Repository::open(&workspace) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        let left = repository.leftovers().map_err(|e| e.to_string())?;
        for left in left.into_iter().filter(|left| !own.contains(&left.team)) {
            let removed = remove && repository.remove(&left).is_ok();
            found.push(Leftover {
                kind: format!("{:?}", left.kind).to_lowercase(),
                name: left.refname,
                why: format!("the team {} is gone; it is at {}", left.team, left.commit.short()),
                team: left.team,
                removed,
            });
        }
        Ok(found)
    });
    found.extend(refs.await.map_err(|text| failed("NoRepository", text))?);
    Ok(found)
}

/// Work in progress of lives that have ended, in trees that wait for their next one.
pub(super) async fn unfinished(crew: &Crew) -> Vec<Leftover> {
    let trees = crew.settings.place.team(crew.board.root.as_str()).join("trees");
    let workspace = crew.settings.place.workspace.clone();
    let left = off_the_thread(move || Ok(crate::supervisor::unfinished(&workspace, &trees)));
    let left = left.await.unwrap_or_default();
    crew.board.with_state(|state| {
        let open = left.into_iter().filter(|(_, task, token)| {
            let task = state.task(*task);
            let held = task.and_then(|task| task.claim()).is_some_and(|c| c.token == *token);
            !held && task.is_some_and(|task| task.status_word() != "completed")
        });
        let told = open.map(|(path, task, _)| Leftover {
            kind: "unfinished".to_owned(),
            team: crew.board.root.to_string(),
            name: path.display().to_string(),
            why: format!("work on task {task} lies here and was not handed in"),
            removed: false,
        });
        told.collect()
    })
}
