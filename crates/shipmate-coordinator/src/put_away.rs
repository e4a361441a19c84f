//! The end of a team's folder: what its teammates left is brought to safety, then their trees go
//! and the rest is kept under `deleted/`.
//!
//! It may be killed anywhere and begun again: the folder stays where it is until everything that
//! can be rescued is, and then moves in one step. A tree that could not be rescued moves along, with
//! the reason in a file beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shipmate_core::State;
use shipmate_core::state::TeamPhase;
use shipmate_model::Name;
use shipmate_process::regular_file::read_start;
use shipmate_process::remove_folder;
use shipmate_programs::tenancy::{author, tree_label};
use shipmate_protocol::Place;
use shipmate_workspace::{Leftover, LeftoverKind, Repository, Tree};

use crate::clones::{HOOK_CLONE, MERGE_CLONE, PHASE_CLONE};
use crate::phases::artifact::placed;

/// What earlier releases called them; a teammate may be called so.
const OLD_CLONES: [&str; 2] = ["merge", "phase"];

/// What a tree of teams has made in the repository, as its log says.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Made {
    pub(crate) teams: BTreeMap<String, MadeTeam>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct MadeTeam {
    /// The commit its branch began at.
    base: String,
    /// The team whose branch its work landed on.
    #[serde(default)]
    branch: String,
    /// What `merge --branches` may have made a branch of.
    features: BTreeSet<String>,
}

impl Made {
    pub(crate) fn of(state: &State) -> Made {
        let base = |name: &Name| {
            let trees = state.teams[name].setup.trees.as_ref();
            trees.map(|trees| trees.base.clone()).unwrap_or_default()
        };
        let team = |name: &Name| MadeTeam {
            base: base(name),
            branch: state.teams[name].setup.branch(name).to_string(),
            features: BTreeSet::new(),
        };
        let mut teams: BTreeMap<String, MadeTeam> =
            state.teams.keys().map(|name| (name.to_string(), team(name))).collect();
        for task in state.tasks().iter() {
            let lands = state.teams[&task.team].setup.branch(&task.team);
            if let Some(team) = teams.get_mut(lands.as_str()) {
                team.features.insert(feature(task));
            }
        }
        Made { teams }
    }

    /// What teams have made that were deleted while the tree they stand in goes on: this one and
    /// those below it, or all.
    pub(crate) fn of_gone(state: &State, top: Option<&Name>) -> Made {
        let is_below = |name: &Name| {
            let parent = |name: &&Name| state.teams.get(*name)?.parent.as_ref();
            top.is_none_or(|top| std::iter::successors(Some(name), parent).any(|name| name == top))
        };
        let is_gone = |name: &Name| state.teams[name].phase == TeamPhase::Deleted && is_below(name);
        let mut made = Made::of(state);
        made.teams.retain(|name, _| name.parse().is_ok_and(|name: Name| is_gone(&name)));
        made
    }

    /// Where the team began that made this; nothing if none of these did.
    pub(crate) fn began(&self, left: &Leftover) -> Option<String> {
        let team = self.teams.get(&left.team)?;
        let own_branch = || team.branch.is_empty() || team.branch == left.team;
        let feature = left.refname.strip_prefix(&format!("refs/heads/shipmate/{}.", left.team));
        let is_made = match (left.kind, feature) {
            (LeftoverKind::Branch, Some(feature)) => team.features.contains(feature),
            (LeftoverKind::Branch, None) => own_branch(),
            _ => true,
        };
        is_made.then(|| team.base.clone())
    }

    /// Some of these teams work in a repository.
    pub(crate) fn needs_repository(&self) -> bool {
        self.teams.values().any(|team| !team.base.is_empty())
    }

    /// Drops the refs of work that is on the branch of its team.
    pub(crate) fn collect(&self, repository: &Repository) {
        for (name, team) in &self.teams {
            // What is not dropped is listed.
            drop(repository.collect(name, &team.branch, |_| true));
        }
    }
}

/// What a task's own branch is called after the team's name.
pub(crate) fn feature(task: &shipmate_core::state::Task) -> String {
    let own = || format!("task-{}", task.id);
    task.spec.group.as_ref().map_or_else(own, ToString::to_string)
}

/// Where the folder of a deleted team says what it has made.
pub(crate) const MADE: &str = "made.json";

/// Puts the folder of a tree of teams away whose log is closed. The text says why it is still there.
pub(crate) fn put_away(place: &Place, root: &str, made: &Made) -> Result<(), String> {
    let from = place.team(root);
    let named = |path: &Path, e: std::io::Error| format!("{}: {e}", path.display());
    placed::clear(&place.workspace, &from)?;
    let trees = from.join("trees");
    if trees.exists() {
        let repository = Repository::open(&place.workspace).map_err(|e| e.to_string());
        clear(&repository, &trees);
        if let Ok(repository) = &repository {
            made.teams.keys().for_each(|team| repository.unlock(team));
            made.collect(repository);
            // What is not removed is listed by `doctor`.
            let left = repository.left(|left| made.began(left).into_iter().collect());
            drop(left.and_then(|left| repository.remove_merged(&left)));
        }
    }
    drop(fs::remove_dir_all(from.join("hooks")));
    // Not written, the log says it.
    drop(fs::write(from.join(MADE), serde_json::to_vec(made).expect("what was made is JSON")));
    let folder = deleted(place);
    match fs::create_dir(&folder) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(named(&folder, e)),
        _ => {}
    }
    let free = (1..).map(|n| folder.join(format!("{root}-{n}"))).find(|to| !to.exists());
    let to = free.expect("some number is free");
    fs::rename(&from, &to).map_err(|e| named(&to, e))?;
    if let Ok(repository) = Repository::open(&place.workspace) {
        for (path, _) in staying(&to.join("trees")) {
            // Its parts name each other by where they lay.
            drop(open(&repository, &path));
        }
    }
    Ok(())
}

pub(crate) fn deleted(place: &Place) -> PathBuf {
    place.state().join("deleted")
}

/// Lets go of every clone in a folder of trees; what could not be rescued stays.
pub(crate) fn clear(repository: &Result<Repository, String>, trees: &Path) {
    let mut stays: Vec<String> = Vec::new();
    for path in clones(trees) {
        let let_go = repository.as_ref().map_err(Clone::clone).and_then(|repository| {
            let tree = open(repository, &path)?;
            let (team, label) = whose(&path);
            repository.let_go(tree, &team, &label).map_err(|e| e.to_string())
        });
        let reason = path.with_added_extension(STAYS);
        match let_go {
            Ok(()) => drop(fs::remove_file(reason)),
            Err(text) => {
                tracing::warn!(?path, reason = ?text, "a tree stays");
                drop(fs::write(reason, text));
                stays.extend(path.file_name().and_then(|name| Some(name.to_str()?.to_owned())));
            }
        }
    }
    // Clones of the runtime, notes and half-made things: nothing of them is anybody's.
    for entry in fs::read_dir(trees).into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let kept = |stays: &String| name == *stays || name.starts_with(&format!("{stays}."));
        if !stays.iter().any(kept) {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            drop(match is_folder {
                true => remove_folder(&entry.path()),
                false => fs::remove_file(entry.path()),
            });
        }
    }
    // Only where nothing is in it.
    drop(fs::remove_dir(trees));
}

/// The end of the name of the file that says why a tree stays, and what is read of it.
const STAYS: &str = "stays";
const WHY_BYTES_MAX: u64 = 64 * 1024;

/// The trees that could not be rescued, each with the reason.
pub(crate) fn staying(trees: &Path) -> Vec<(PathBuf, String)> {
    let reason = |path: PathBuf| {
        let text = read_start(&path.with_added_extension(STAYS), WHY_BYTES_MAX);
        (path, String::from_utf8_lossy(&text.unwrap_or_default()).into_owned())
    };
    clones(trees).into_iter().map(reason).collect()
}

/// The clones of teammates in a folder of trees. Those of the runtime hold nothing of their own.
pub(crate) fn clones(trees: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(trees).into_iter().flatten().filter_map(Result::ok);
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let ours = folders.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_part = [".shadow", ".making", ".shadow-making"].iter().any(|e| name.ends_with(e));
        let whose = name.split('.').nth(1).unwrap_or_default();
        let is_runtimes = [MERGE_CLONE, PHASE_CLONE, HOOK_CLONE].contains(&whose)
            || OLD_CLONES.contains(&whose) && tree_label(path).is_none() && !has_lived(trees, name);
        !is_part && !is_runtimes
    });
    let mut ours: Vec<PathBuf> = ours.collect();
    ours.sort_unstable();
    ours
}

/// Somebody has worked in a clone of this name: then a life is beside the trees.
fn has_lived(trees: &Path, name: &str) -> bool {
    let mut parts = name.splitn(3, '.');
    let (team, mate) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let life = format!("{team}.{mate}@");
    let lives = fs::read_dir(trees.with_file_name("lives")).into_iter().flatten();
    let mut names =
        lives.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()));
    names.any(|name| name.starts_with(&life))
}

/// The team of a clone, and what its work is kept under: the task it is for, or whose tree it is.
pub(crate) fn whose(path: &Path) -> (String, String) {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (team, rest) = name.split_once('.').unwrap_or((&name, "tree"));
    (team.to_owned(), tree_label(path).unwrap_or_else(|| rest.replace('.', "-")))
}

pub(crate) fn open(repository: &Repository, path: &Path) -> Result<Tree, String> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let branch = name.split('.').nth(1).unwrap_or("tree");
    Tree::lying(repository, path, branch, &author(branch)).map_err(|e| e.to_string())
}
