//! `shipmate doctor`: what is left on this machine that nothing needs any more, and what a team has
//! left that is gone.
//!
//! Ours is what a log says that a team has made: that of a team that is there, or of one that was
//! deleted. Nothing else is looked at, and what something would be lost with goes only by its name.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use shipmate_log::{AnyLog, Durability, SqliteLog};
use shipmate_protocol::view::Leftover;
use shipmate_protocol::{Answer, Place, Refused};

use super::failed;
use crate::board::Board;
use crate::crew::Crew;
use crate::open::{self, refused};
use crate::put_away::{self, MADE, Made};
use crate::settings::Settings;
use crate::supervisor::off_the_thread;
use crate::workspace::{self, Intent, Left, Repository};

/// How many commits are named of those that are not merged.
const COMMITS_SHOWN: usize = 3;

/// What is to be done with what is found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cleaning<'a> {
    pub(crate) remove: bool,
    /// The names of what goes though something is lost with it.
    pub(crate) force: &'a [String],
}

/// A folder of a deleted team, and what that team had made.
struct Deleted {
    folder: PathBuf,
    made: Made,
}

/// What shipmate has left on this machine that nothing needs any more.
pub(crate) async fn leftovers(
    settings: &Settings,
    boards: &[Rc<Board>],
    cleaning: Cleaning<'_>,
) -> Result<Answer, Refused> {
    let crews: Vec<Rc<Crew>> = boards.iter().filter_map(|b| b.crew.borrow().clone()).collect();
    for crew in &crews {
        crew.all_rescued().await;
    }
    let mut found = processes(settings, &crews, cleaning.remove).await;
    let alive: BTreeSet<String> = boards
        .iter()
        .flat_map(|board| {
            board
                .with_state(|state| state.teams.keys().map(ToString::to_string).collect::<Vec<_>>())
        })
        .collect();
    found.extend(of_deleted(settings, &alive, cleaning).await?);
    for crew in &crews {
        found.extend(unfinished(crew).await);
    }
    if let Some(name) =
        cleaning.force.iter().find(|name| !found.iter().any(|left| fits(left, name)))
    {
        let text = format!("nothing that is left over is called {name}");
        return Err(refused("NotLeftOver", text, "`shipmate doctor` names what is"));
    }
    Ok(Answer::Leftovers(found))
}

/// What a team has left that is gone: what is in no branch of the person's.
pub(crate) async fn left_of(settings: &Settings, team: &str) -> Result<Answer, Refused> {
    let look = Cleaning { remove: false, force: &[] };
    let found = of_deleted(settings, &BTreeSet::new(), look).await?;
    let own = |left: &Leftover| left.team == team && left.precious;
    Ok(Answer::Leftovers(found.into_iter().filter(own).collect()))
}

fn fits(left: &Leftover, name: &str) -> bool {
    left.name == *name || left.name.strip_prefix("refs/heads/") == Some(name)
}

async fn processes(settings: &Settings, crews: &[Rc<Crew>], remove: bool) -> Vec<Leftover> {
    let mut found = Vec::new();
    for (pid, marker) in shipmate_process::marked(&settings.place.digest()) {
        // The person's own git that merges is left to its end.
        let kept = ["coordinator", "supervisor", workspace::MARKED_AS, Intent::MARKED_AS];
        let ours = kept.contains(&marker.kind()) || crews.iter().any(|crew| crew.owns(&marker));
        if ours {
            continue;
        }
        if remove {
            shipmate_process::sweep(&marker, settings.agents.stop_grace).await;
        }
        found.push(Leftover {
            kind: "process".to_owned(),
            team: marker.label().split('.').next().unwrap_or_default().to_owned(),
            name: pid.as_raw_nonzero().to_string(),
            why: format!("{} {} has nobody any more", marker.kind(), marker.label()),
            removed: remove,
            precious: false,
        });
    }
    found
}

/// What teams that were deleted have left: refs, trees that could not be rescued, their folders.
async fn of_deleted(
    settings: &Settings,
    alive: &BTreeSet<String>,
    cleaning: Cleaning<'_>,
) -> Result<Vec<Leftover>, Refused> {
    let deleted = recorded(&settings.place).await;
    if deleted.is_empty() {
        return Ok(Vec::new());
    }
    let (place, alive) = (settings.place.clone(), alive.clone());
    let (remove, force) = (cleaning.remove, cleaning.force.to_vec());
    let looked = off_the_thread(move || {
        let repository = Repository::open(&place.workspace).map_err(|e| e.to_string());
        let mut found = trees(&repository, &deleted, remove, &force);
        if let Ok(repository) = &repository {
            found.extend(refs(repository, &deleted, &alive, remove, &force)?);
        }
        let records = records(&deleted, &found, remove);
        found.extend(records);
        Ok(found)
    });
    looked.await.map_err(|text| failed("RepositoryUnusable", text))
}

/// Every deleted team whose folder is there, with what its log says that it has made.
async fn recorded(place: &Place) -> Vec<Deleted> {
    let entries = fs::read_dir(put_away::deleted(place)).into_iter().flatten();
    let mut folders: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    folders.sort_unstable();
    let mut found = Vec::new();
    for folder in folders.into_iter().filter(|folder| folder.is_dir()) {
        let made = match fs::read(folder.join(MADE)).ok().map(|text| serde_json::from_slice(&text))
        {
            Some(Ok(made)) => made,
            // Put away by an earlier release.
            _ => from_log(&folder).await.unwrap_or_default(),
        };
        found.push(Deleted { folder, made });
    }
    found
}

async fn from_log(folder: &Path) -> Option<Made> {
    let path = folder.join("log.db");
    let log = path.exists().then(|| SqliteLog::open(&path, Durability::Process).ok())??;
    let (state, _) = open::fold(&mut AnyLog::Sqlite(log)).await.ok()?;
    Some(Made::of(&state))
}

/// Trees that could not be rescued when their team was deleted. Perhaps they can be now.
fn trees(
    repository: &Result<Repository, String>,
    deleted: &[Deleted],
    remove: bool,
    force: &[String],
) -> Vec<Leftover> {
    let mut found = Vec::new();
    for one in deleted {
        let trees = one.folder.join("trees");
        let before = put_away::staying(&trees);
        for (path, _) in before.iter().filter(|(path, _)| {
            remove && force.iter().any(|name| path.as_path() == Path::new(name))
        }) {
            drop(fs::remove_dir_all(path));
        }
        if remove && !before.is_empty() {
            put_away::clear(repository, &trees);
        }
        found.extend(before.into_iter().map(|(path, why)| Leftover {
            kind: "tree".to_owned(),
            team: root_of(&one.folder),
            removed: !path.exists(),
            name: path.display().to_string(),
            why: format!("what is in it could not be rescued: {why}"),
            precious: true,
        }));
    }
    found
}

fn refs(
    repository: &Repository,
    deleted: &[Deleted],
    alive: &BTreeSet<String>,
    remove: bool,
    force: &[String],
) -> Result<Vec<Leftover>, String> {
    let began = |left: &workspace::Leftover| match alive.contains(&left.team) {
        true => Vec::new(),
        false => deleted.iter().filter_map(|one| one.made.began(left)).collect(),
    };
    let left = repository.left(began).map_err(|e| e.to_string())?;
    let merged = match remove {
        true => repository.remove_merged(&left).map_err(|e| e.to_string())?,
        false => Vec::new(),
    };
    let told = left.into_iter().map(|one| {
        let mut told = tell(&one);
        let forced = remove && told.precious && force.iter().any(|name| fits(&told, name));
        told.removed =
            merged.contains(&told.name) || forced && repository.remove(&one.leftover).is_ok();
        told
    });
    Ok(told.collect())
}

fn tell(left: &Left) -> Leftover {
    let Left { leftover, unmerged } = left;
    let why = match unmerged.as_slice() {
        [] => format!("all of it is in a branch of yours; it is at {}", leftover.commit.short()),
        commits => {
            let count = commits.len();
            let shown = commits[..count.min(COMMITS_SHOWN)].join("; ");
            let more = if count > COMMITS_SHOWN { "; …" } else { "" };
            let plural = if count == 1 { "" } else { "s" };
            format!("NOT merged, {count} commit{plural}: {shown}{more}")
        }
    };
    Leftover {
        kind: format!("{:?}", leftover.kind).to_lowercase(),
        team: leftover.team.clone(),
        name: leftover.refname.clone(),
        why,
        removed: false,
        precious: !unmerged.is_empty(),
    }
}

/// The folders of deleted teams of which nothing else is left that something is lost with.
fn records(deleted: &[Deleted], found: &[Leftover], remove: bool) -> Vec<Leftover> {
    let over = deleted.iter().filter(|one| {
        let root = root_of(&one.folder);
        let own = |left: &&Leftover| left.team == root || one.made.teams.contains_key(&left.team);
        !found.iter().filter(own).any(|left| left.precious && !left.removed)
    });
    let told = over.map(|one| Leftover {
        kind: "record".to_owned(),
        team: root_of(&one.folder),
        name: one.folder.display().to_string(),
        why: "its log and outputs; nothing else of it is left".to_owned(),
        removed: remove && fs::remove_dir_all(&one.folder).is_ok(),
        precious: false,
    });
    told.collect()
}

/// The team that a folder below `deleted/` is of: its name without the number.
fn root_of(folder: &Path) -> String {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.rsplit_once('-').map_or(name, |(root, _)| root).to_owned()
}

/// Work in progress of lives that have ended, in trees that wait for their next one.
async fn unfinished(crew: &Crew) -> Vec<Leftover> {
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
            precious: false,
        });
        told.collect()
    })
}
