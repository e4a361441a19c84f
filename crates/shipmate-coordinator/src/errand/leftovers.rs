//! `shipmate doctor`: what is left on this machine that nothing needs any more, and what a team has
//! left that is gone.
//!
//! Ours is what a log says that a team has made: that of a team that is there, or of one that was
//! deleted. Nothing else is looked at, and what something would be lost with goes only by its name.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use shipmate_core::State;
use shipmate_core::state::{Team, TeamPhase};
use shipmate_log::{AnyLog, Durability, SqliteLog};
use shipmate_model::Name;
use shipmate_process::blocking;
use shipmate_process::regular_file::read_start;
use shipmate_process::remove_folder;
use shipmate_programs::tenancy::Unfinished;
use shipmate_protocol::refused;
use shipmate_protocol::view::{Leftover, TaskStatus};
use shipmate_protocol::{Code, Place, Refused};
use shipmate_workspace::{Intent, Left, Repository};

use super::failed;
use crate::attendance::Attendance;
use crate::board::Board;
use crate::open;
use crate::put_away::{self, MADE, Made};
use crate::settings::Settings;

/// How many commits are named of those that are not merged.
const COMMITS_SHOWN: usize = 3;
/// What is read of what a deleted team had made.
const MADE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// What is to be done with what is found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cleaning<'a> {
    pub(crate) remove: bool,
    /// The names of what goes though something is lost with it.
    pub(crate) force: &'a [String],
}

/// A folder of a deleted team, and what that team had made, or why nobody knows.
struct Deleted {
    folder: PathBuf,
    made: Result<Made, String>,
}

impl Deleted {
    /// This team is the one that was deleted, or one below it.
    fn is_of(&self, team: &str) -> bool {
        let made = self.made.as_ref();
        root_of(&self.folder) == team || made.is_ok_and(|made| made.teams.contains_key(team))
    }
}

/// Everything that deleted teams have made.
struct Gone {
    deleted: Vec<Deleted>,
    /// By teams whose tree of teams goes on.
    within: Vec<Made>,
    /// What is there under the name of one of these is theirs.
    alive: BTreeSet<String>,
}

/// What shipmate has left on this machine that nothing needs any more.
pub(crate) async fn leftovers(
    settings: &Settings,
    boards: &[Rc<Board>],
    crews: &[Rc<Attendance>],
    cleaning: Cleaning<'_>,
) -> Result<Vec<Leftover>, Refused> {
    for crew in crews {
        crew.all_rescued().await;
    }
    let mut found = processes(settings, crews, cleaning.remove).await;
    let on_board = boards.iter().filter(|board| !board.with_state(State::is_over));
    let within = on_board.map(|board| board.with_state(|state| Made::of_gone(state, None)));
    let gone = Gone {
        deleted: recorded(&settings.place).await?,
        within: within.filter(Made::needs_repository).collect(),
        alive: alive(boards),
    };
    found.extend(of_deleted(settings, gone, cleaning).await?);
    for crew in crews {
        found.extend(unfinished(crew).await);
    }
    if let Some(name) =
        cleaning.force.iter().find(|name| !found.iter().any(|left| fits(left, name)))
    {
        let text = format!("nothing that is left over is called {name}");
        return Err(refused(Code::NotLeftOver, text, "`shipmate doctor` names what is"));
    }
    Ok(found)
}

/// What a team has left that is gone, with those below it: what is in no branch of the person's.
pub(crate) async fn left_of(
    settings: &Settings,
    boards: &[Rc<Board>],
    team: &Name,
) -> Result<Vec<Leftover>, Refused> {
    let mut deleted = recorded(&settings.place).await?;
    deleted.retain(|one| root_of(&one.folder) == team.as_str());
    let gone = Gone { deleted, within: Vec::new(), alive: alive(boards) };
    let look = Cleaning { remove: false, force: &[] };
    let mut found = of_deleted(settings, gone, look).await?;
    found.retain(|left| left.precious);
    Ok(found)
}

/// The same for a department: its tree of teams goes on, and its clones are there.
pub(crate) async fn left_of_department(
    settings: &Settings,
    boards: &[Rc<Board>],
    board: &Board,
    team: &Name,
) -> Result<Vec<Leftover>, Refused> {
    let made = board.with_state(|state| Made::of_gone(state, Some(team)));
    let (place, trees) = (settings.place.clone(), settings.place.team(board.root.as_str()));
    let (trees, alive) = (trees.join("trees"), alive(boards));
    let looked = blocking(move || {
        if !made.needs_repository() {
            return Ok(Vec::new());
        }
        let repository = Repository::open(&place.workspace).map_err(|e| e.to_string())?;
        let mut found = unrescued(&repository, &trees, &made);
        made.collect(&repository);
        found.extend(refs(&repository, &[&made], &alive, Cleaning { remove: false, force: &[] })?);
        found.retain(|left| left.precious);
        Ok(found)
    });
    looked.await.map_err(|text| failed(Code::RepositoryUnusable, text))
}

/// The clones of these teams that hold what could not be rescued.
fn unrescued(repository: &Repository, trees: &Path, made: &Made) -> Vec<Leftover> {
    let mut found = Vec::new();
    for path in put_away::clones(trees) {
        let (team, label) = put_away::whose(&path);
        if !made.teams.contains_key(&team) {
            continue;
        }
        let rescued = put_away::open(repository, &path).and_then(|tree| {
            repository.keep_aside(&tree, &team, &label).map_err(|e| e.to_string())
        });
        let why = match rescued {
            Ok(rescued) if rescued.left_out.is_empty() => continue,
            Ok(rescued) => {
                format!("{} has a repository of its own inside", rescued.left_out.join(", "))
            }
            Err(reason) => reason,
        };
        found.push(not_rescued(team, &path, &why));
    }
    found
}

fn not_rescued(team: String, path: &Path, why: &str) -> Leftover {
    Leftover {
        kind: "tree".to_owned(),
        team,
        removed: !path.exists(),
        name: path.display().to_string(),
        why: format!("what is in it could not be rescued: {why}"),
        precious: true,
    }
}

/// The teams that are there, those included whose folder is still to be put away. A department that
/// was deleted is not, though its log is.
fn alive(boards: &[Rc<Board>]) -> BTreeSet<String> {
    let names = boards.iter().flat_map(|board| {
        board.with_state(|state| {
            let is_over = state.is_over();
            let is_there = |team: &Team| is_over || team.phase != TeamPhase::Deleted;
            let there = state.teams.iter().filter(|(_, team)| is_there(team));
            there.map(|(name, _)| name.to_string()).collect::<Vec<_>>()
        })
    });
    names.collect()
}

fn fits(left: &Leftover, name: &str) -> bool {
    left.name == *name || left.name.strip_prefix("refs/heads/") == Some(name)
}

async fn processes(settings: &Settings, crews: &[Rc<Attendance>], remove: bool) -> Vec<Leftover> {
    let mut found = Vec::new();
    for (pid, marker) in shipmate_process::marked(&settings.place.digest()) {
        // The person's own git that merges is left to its end.
        let kept = [
            "coordinator",
            "supervisor",
            "server",
            "line",
            shipmate_workspace::MARKED_AS,
            Intent::MARKED_AS,
        ];
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
    gone: Gone,
    cleaning: Cleaning<'_>,
) -> Result<Vec<Leftover>, Refused> {
    if gone.deleted.is_empty() && gone.within.is_empty() {
        return Ok(Vec::new());
    }
    let place = settings.place.clone();
    let (remove, force) = (cleaning.remove, cleaning.force.to_vec());
    let looked = blocking(move || {
        let Gone { deleted, within, alive } = gone;
        let cleaning = Cleaning { remove, force: &force };
        let repository = Repository::open(&place.workspace).map_err(|e| e.to_string());
        let mut found = trees(&repository, &deleted, cleaning);
        if let Ok(repository) = &repository {
            within.iter().for_each(|made| made.collect(repository));
            let known = deleted.iter().filter_map(|one| one.made.as_ref().ok());
            let known: Vec<&Made> = known.chain(&within).collect();
            found.extend(refs(repository, &known, &alive, cleaning)?);
        }
        let records = records(&deleted, &repository, &found, cleaning);
        found.extend(records);
        Ok(found)
    });
    looked.await.map_err(|text| failed(Code::RepositoryUnusable, text))
}

/// Every deleted team whose folder is there, with what its log says that it has made.
async fn recorded(place: &Place) -> Result<Vec<Deleted>, Refused> {
    let path = put_away::deleted(place);
    let entries = match fs::read_dir(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|e| {
            let text = format!("{}: {e}", path.display());
            refused(Code::StateUnreadable, text, "it must be a folder that you may read")
        })?,
    };
    let mut folders: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    folders.sort_unstable();
    let mut found = Vec::new();
    for folder in folders.into_iter().filter(|folder| folder.is_dir()) {
        let text = read_start(&folder.join(MADE), MADE_BYTES_MAX).ok();
        let made = match text.map(|text| serde_json::from_slice(&text)) {
            Some(Ok(made)) => Ok(made),
            // Put away by an earlier release.
            _ => from_log(&folder).await,
        };
        found.push(Deleted { folder, made });
    }
    Ok(found)
}

async fn from_log(folder: &Path) -> Result<Made, String> {
    let path = folder.join("log.db");
    if !path.exists() {
        return Err(format!("{} is not there", path.display()));
    }
    let log = SqliteLog::open(&path, Durability::Process).map_err(|e| e.to_string())?;
    let folded = open::fold(&mut AnyLog::Sqlite(log)).await;
    folded.map(|(state, _)| Made::of(&state)).map_err(|e| e.to_string())
}

/// Trees that could not be rescued when their team was deleted. Perhaps they can be now.
fn trees(
    repository: &Result<Repository, String>,
    deleted: &[Deleted],
    Cleaning { remove, force }: Cleaning<'_>,
) -> Vec<Leftover> {
    let mut found = Vec::new();
    for one in deleted {
        let trees = one.folder.join("trees");
        let before = put_away::staying(&trees);
        for (path, _) in before.iter().filter(|(path, _)| {
            remove && force.iter().any(|name| path.as_path() == Path::new(name))
        }) {
            drop(remove_folder(path));
        }
        if remove && !before.is_empty() {
            put_away::clear(repository, &trees);
        }
        let told = |(path, why): (PathBuf, String)| not_rescued(root_of(&one.folder), &path, &why);
        found.extend(before.into_iter().map(told));
    }
    found
}

fn refs(
    repository: &Repository,
    made: &[&Made],
    alive: &BTreeSet<String>,
    Cleaning { remove, force }: Cleaning<'_>,
) -> Result<Vec<Leftover>, String> {
    let began = |left: &shipmate_workspace::Leftover| match alive.contains(&left.team) {
        true => Vec::new(),
        false => made.iter().filter_map(|made| made.began(left)).collect(),
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

/// The folders of deleted teams of which nothing else is left that something is lost with, and those
/// of which nobody can say that.
fn records(
    deleted: &[Deleted],
    repository: &Result<Repository, String>,
    found: &[Leftover],
    Cleaning { remove, force }: Cleaning<'_>,
) -> Vec<Leftover> {
    let over = deleted.iter().filter(|one| {
        let own = |left: &&Leftover| one.is_of(&left.team);
        !found.iter().filter(own).any(|left| left.precious && !left.removed)
    });
    let told = over.map(|one| {
        let name = one.folder.display().to_string();
        let unknown = match (&one.made, repository) {
            (Err(reason), _) => Some(format!("its log cannot be read: {reason}")),
            (Ok(made), Err(reason)) if made.needs_repository() => Some(reason.clone()),
            _ => None,
        };
        let goes = remove && (unknown.is_none() || force.contains(&name));
        Leftover {
            kind: "record".to_owned(),
            team: root_of(&one.folder),
            removed: goes && remove_folder(&one.folder).is_ok(),
            name,
            precious: unknown.is_some(),
            why: match unknown {
                Some(reason) => {
                    format!("only it says what the team has left, which is not known: {reason}")
                }
                None => "its log and outputs; nothing else of it is left".to_owned(),
            },
        }
    });
    told.collect()
}

/// The team that a folder below `deleted/` is of: its name without the number.
fn root_of(folder: &Path) -> String {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.rsplit_once('-').map_or(name, |(root, _)| root).to_owned()
}

/// Work in progress of lives that have ended, in trees that wait for their next one.
async fn unfinished(crew: &Attendance) -> Vec<Leftover> {
    let trees = crew.settings.place.team(crew.board.root.as_str()).join("trees");
    let workspace = crew.settings.place.workspace.clone();
    let shown = trees.clone();
    let left = blocking(move || shipmate_programs::tenancy::unfinished(&workspace, &trees)).await;
    let told = |path: &Path, why: String| Leftover {
        kind: "unfinished".to_owned(),
        team: crew.board.root.to_string(),
        name: path.display().to_string(),
        why,
        removed: false,
        precious: false,
    };
    let left = match left {
        Ok(left) => left,
        Err(reason) => {
            let why =
                format!("whether work lies here that was not handed in is not known: {reason}");
            return vec![told(&shown, why)];
        }
    };
    crew.board.with_state(|state| {
        let open = left.into_iter().filter(|left| {
            let task = state.task(left.task);
            let held = task.and_then(|task| task.claim()).is_some_and(|c| c.token == left.token);
            !held && task.is_some_and(|task| task.shown() != TaskStatus::Completed)
        });
        let told = open.map(|Unfinished { tree, task, trouble, .. }| {
            let why = match trouble {
                None => format!("work on task {task} lies here and was not handed in"),
                Some(reason) => {
                    format!("whether work on task {task} lies here is not known: {reason}")
                }
            };
            told(&tree, why)
        });
        told.collect()
    })
}
