//! Files that trees get copies of, on their way from the home to a machine that the person lets them go to
//! (`hosts.copy-to`).
//!
//! They go over the line between hosts, closed to the server, and into no log and no store. The key follows from
//! the one that all machines share: another of them could open what it overheard. There they lie in the
//! checkout, and are copied from it as anybody's are; what somebody has put there by hand stays.

use std::collections::BTreeMap;
use std::fs;
use std::rc::Rc;

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};
use shipmate_model::Name;
use shipmate_model::setup::Preparation;
use shipmate_process::blocking;
use shipmate_programs::preparation;
use shipmate_workspace::Repository;

use super::Crew;
use crate::copied::{BYTES_MAX, Marks, marks, register};
use crate::host::{Here, Question};

#[derive(Serialize, Deserialize)]
struct Sent {
    path: String,
    mode: u32,
    text: String,
}

fn preparation_of(crew: &Crew, team: &Name) -> Option<Preparation> {
    crew.board.with_state(|state| {
        let preparation = &state.teams.get(team)?.setup.trees.as_ref()?.preparation;
        Some(preparation.clone()).filter(|preparation| !preparation.copy.is_empty())
    })
}

/// Gets from the home what is to be copied and is new. Where nothing comes, trees get what is here, and say
/// what is not.
pub(crate) async fn fetch(crew: &Rc<Crew>, here: &Here, team: &Name) {
    let home = crew.board.with_state(|state| {
        let home = state.home.as_ref().filter(|home| **home != here.file.name)?;
        Some(state.hosts.get(home)?.spec.place.clone())
    });
    let (Some(home), Some(_)) = (home, preparation_of(crew, team)) else { return };
    let _in_turn = crew.code.lock().await;
    if let Err(reason) = bring(crew, here, team, &home).await {
        tracing::warn!(reason, "copied files did not come");
    }
}

async fn bring(crew: &Crew, here: &Here, team: &Name, home: &str) -> Result<(), String> {
    let register = register(&crew.settings.place);
    let mut marks = marks(&crew.settings.place);
    let came = |marks: &Marks, path: &String, mark: &String| {
        marks.get(path).is_some_and(|known| known.contains(mark))
    };
    let mut known = there(crew, here, marks.keys().cloned().collect()).await?;
    known.retain(|path, mark| came(&marks, path, mark));
    let (root, host) = (crew.board.root.clone(), here.file.name.clone());
    let question = Question::Copies { root, team: team.clone(), host, known };
    let answer = here.ask(home, &question).await.map_err(|unheard| unheard.to_string())?;
    if answer.is_empty() {
        return Ok(());
    }
    let words = here.opened(&answer).ok_or("what came was not for this machine")?;
    let sent: Vec<Sent> = serde_json::from_slice(&words).map_err(|e| e.to_string())?;
    let now = there(crew, here, sent.iter().map(|one| one.path.clone()).collect()).await?;
    let mut put = Vec::new();
    for Sent { path, mode, text } in sent {
        // Another one than what came before is somebody's own.
        if now.get(&path).is_none_or(|mark| came(&marks, &path, mark)) {
            let bytes = BASE64.decode(text.as_bytes()).map_err(|e| e.to_string())?;
            let last = marks.entry(path.clone()).or_default();
            last.drain(..last.len().saturating_sub(1));
            last.push(here.mark(&bytes));
            put.push((path, bytes, mode));
        }
    }
    // Before the files: of one that is there it is known that it came.
    let text = serde_json::to_vec(&marks).expect("marks are JSON");
    fs::write(&register, text).map_err(|e| format!("{}: {e}", register.display()))?;
    let making = crew.settings.place.state().join("copied.new");
    in_checkout(crew, move |repository| {
        for (path, bytes, mode) in put {
            drop(fs::remove_file(&making));
            let put = repository.put_unversioned(&path, (&bytes, mode), &making);
            put.map_err(|e| e.to_string())?;
        }
        Ok(())
    })
    .await
}

/// The marks of what lies in the checkout.
async fn there(
    crew: &Crew,
    here: &Here,
    paths: Vec<String>,
) -> Result<BTreeMap<String, String>, String> {
    let read = in_checkout(crew, move |repository| {
        let read = |path: String| {
            let (bytes, _) = repository.read_unversioned(&path, BYTES_MAX as u64 + 1)?;
            Some((path, bytes))
        };
        Ok(paths.into_iter().filter_map(read).collect::<Vec<_>>())
    });
    Ok(read.await?.into_iter().map(|(path, bytes)| (path, here.mark(&bytes))).collect())
}

async fn in_checkout<T: Send + 'static>(
    crew: &Crew,
    work: impl FnOnce(&Repository) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let workspace = crew.settings.place.workspace.clone();
    blocking(move || work(&Repository::open_empty(&workspace).map_err(|e| e.to_string())?)).await
}

/// What a machine gets that asks for them: nothing where it may not have them.
pub(crate) async fn give(
    crew: &Rc<Crew>,
    here: &Here,
    (team, host): (&Name, &Name),
    known: &BTreeMap<String, String>,
) -> Vec<u8> {
    if let Err(reason) = crew.settings.agents.renew(&crew.settings.place) {
        tracing::warn!(reason, "the configuration cannot be read");
    }
    let is_there =
        crew.board.with_state(|state| state.hosts.get(host).is_some_and(|h| h.is_there()));
    let may = is_there && crew.settings.agents.copy_to.iter().any(|name| *name == host.as_str());
    let Some(preparation) = preparation_of(crew, team).filter(|_| may) else { return Vec::new() };
    let workspace = &crew.settings.place.workspace;
    let copies = match preparation::copies(workspace, &preparation, BYTES_MAX).await {
        Ok(copies) => copies,
        Err(reason) => {
            tracing::warn!(reason, %host, "copied files did not go to another machine");
            return Vec::new();
        }
    };
    let is_news = |one: &preparation::Copied| known.get(&one.path) != Some(&here.mark(&one.bytes));
    let news = copies.into_iter().filter(is_news).map(|one| Sent {
        path: one.path,
        mode: one.mode,
        text: BASE64.encode(&one.bytes),
    });
    let words = serde_json::to_vec(&news.collect::<Vec<_>>()).expect("files are JSON");
    here.closed(host, words).unwrap_or_default()
}
