//! What is said about playbooks: those there are, what one says, what is wrong with one.
//!
//! Nothing here changes anything, and anybody may ask. But what a playbook's text says is looked
//! for in the workspace, so only a person may give a text that is not there.

mod description;

use std::collections::BTreeMap;
use std::path::Path;

use shipmate_model::Actor;
use shipmate_process::blocking;
use shipmate_protocol::problem::Problem;
use shipmate_protocol::refused;
use shipmate_protocol::verbs::PlaybookFile;
use shipmate_protocol::view::{PlaybookChecked, PlaybookRow, PlaybookView};
use shipmate_protocol::{Code, Place, Refused};

use super::compile::{Compiled, compile, compile_in};
use super::find::{BUILTIN, Found, find, given, own_playbooks, shown};
use super::project_files::ProjectFiles;
use super::schema;

/// All that can be used here. Reads files, so it does not keep the coordinator; so do the others.
pub async fn playbooks(place: &Place) -> Result<Vec<PlaybookRow>, Refused> {
    let place = place.clone();
    beside(move || Ok(list(&place))).await
}

pub async fn playbook(
    place: &Place,
    by: &Actor,
    file: PlaybookFile,
) -> Result<PlaybookView, Refused> {
    require_named(by, std::slice::from_ref(&file))?;
    let place = place.clone();
    beside(move || show(&given(&file, &place.project())?, &place.workspace)).await
}

/// Everything that is wrong with these.
pub async fn checked(
    place: &Place,
    by: &Actor,
    files: Vec<PlaybookFile>,
) -> Result<Vec<PlaybookChecked>, Refused> {
    require_named(by, &files)?;
    let place = place.clone();
    beside(move || files.iter().map(|file| check(file, &place)).collect()).await
}

fn require_named(by: &Actor, files: &[PlaybookFile]) -> Result<(), Refused> {
    if *by == Actor::Person || files.iter().all(|file| file.text.is_none()) {
        return Ok(());
    }
    let text = format!("{by} may not give the text of a playbook: that is for a person");
    Err(refused(Code::NotAllowed, text, "name one of `shipmate playbook list`"))
}

async fn beside<T: Send + 'static>(
    look: impl FnOnce() -> Result<T, Refused> + Send + 'static,
) -> Result<T, Refused> {
    let looked = blocking(move || Ok(look())).await;
    looked.unwrap_or_else(|text| Err(refused(Code::Bug, text, "")))
}

/// The project's own, then those that come with shipmate and have no namesake there.
fn list(place: &Place) -> Vec<PlaybookRow> {
    let project = place.project();
    let own = own_playbooks(&project);
    let builtin = BUILTIN.iter().map(|(name, _)| (*name).to_owned());
    let builtin = builtin.filter(|name| !own.contains(name));
    let mut rows = Vec::new();
    for name in own.iter().cloned().chain(builtin) {
        rows.push(match find(&name, &project) {
            Ok(found) => row(&found, &compile(&found.file, &found.text), &place.workspace),
            // What cannot be read keeps nobody from the others.
            Err(_) => PlaybookRow { file: shown(&name), name, problems: 1, ..Default::default() },
        });
    }
    rows
}

fn row(found: &Found, compiled: &Result<Compiled, Vec<Problem>>, workspace: &Path) -> PlaybookRow {
    let mut row = PlaybookRow {
        name: found.name.clone(),
        file: if found.builtin { "built in".to_owned() } else { found.file.clone() },
        ..PlaybookRow::default()
    };
    match compiled {
        Ok(compiled) => {
            row.title.clone_from(&compiled.title);
            row.about.clone_from(&compiled.about);
            row.selected_by.clone_from(&compiled.select_files);
            row.env.clone_from(&compiled.select_env);
            let there = |path: &&String| is_there(workspace, path);
            row.found = compiled.select_files.iter().find(there).cloned();
        }
        Err(problems) => row.problems = problems.len(),
    }
    row
}

fn is_there(workspace: &Path, path: &str) -> bool {
    match path.contains(['*', '?']) {
        true => {
            ProjectFiles::Folder(workspace.to_owned()).find(path).is_ok_and(|all| !all.is_empty())
        }
        false => workspace.join(path).exists(),
    }
}

fn show(found: &Found, workspace: &Path) -> Result<PlaybookView, Refused> {
    let compiled = compile(&found.file, &found.text);
    let row = row(found, &compiled, workspace);
    let compiled = compiled.map_err(|problems| super::find::bad(&found.name, &problems))?;
    let schemas = compiled.playbook.kinds.iter();
    let schemas: BTreeMap<_, _> = schemas
        .map(|(name, kind)| (name.to_string(), schema::document(name.as_str(), kind)))
        .collect();
    Ok(PlaybookView {
        row,
        toml: found.text.clone(),
        parts: description::parts(&compiled),
        schemas,
    })
}

fn check(file: &PlaybookFile, place: &Place) -> Result<PlaybookChecked, Refused> {
    let found = given(file, &place.project())?;
    let problems = compile_in(&found.file, &found.text, Some(&place.workspace));
    let problems = problems.err().unwrap_or_default();
    let problems = problems.into_iter().map(Into::into).collect();
    Ok(PlaybookChecked { file: found.file, problems })
}
