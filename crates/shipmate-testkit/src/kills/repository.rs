//! What is the user's in their repository, as it was and as it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::scene::{LIMIT, Scene, TEAM};
use crate::processes;

/// What git leaves beside a merge, commit or fetch that is over.
const USUAL: [&str; 5] = ["ORIG_HEAD", "FETCH_HEAD", "packed-refs", "COMMIT_EDITMSG", "logs"];

/// Everything of the user's that a command may change, or may not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    /// What is checked out: the branch and its commit.
    pub(super) branch: String,
    pub(super) commit: String,
    /// Refs that are not a team's; without the branch that is checked out.
    refs: BTreeMap<String, String>,
    index: String,
    config: String,
    /// Files of the checkout, shipmate's own folder aside.
    files: BTreeMap<String, Vec<u8>>,
    /// What lies in `.git` itself.
    names: Vec<String>,
}

impl Repository {
    pub(super) fn read(scene: &Scene) -> Result<Repository, String> {
        let branch = scene.git(&["symbolic-ref", "HEAD"])?.trim().to_owned();
        let commit = scene.git(&["rev-parse", "HEAD"])?.trim().to_owned();
        let listed = scene.git(&["for-each-ref", "--format=%(refname) %(objectname)"])?;
        let refs = listed.lines().filter_map(|line| line.split_once(' '));
        let refs = refs.filter(|(name, _)| {
            *name != branch
                && !name.starts_with("refs/shipmate/")
                && !name.starts_with("refs/heads/shipmate/")
        });
        let refs = refs.map(|(name, at)| (name.to_owned(), at.to_owned())).collect();
        let index = scene.git(&["ls-files", "--stage"])?;
        let folder = scene.place.workspace.join(".git");
        let config = fs::read_to_string(folder.join("config")).map_err(|e| e.to_string())?;
        let mut files = BTreeMap::new();
        read_files(&scene.place.workspace, "", &mut files);
        let entries = fs::read_dir(&folder).map_err(|e| e.to_string())?.flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.retain(|name| !USUAL.contains(&name.as_str()));
        names.sort();
        Ok(Repository { branch, commit, refs, index, config, files, names })
    }

    /// What is other than before. Nothing of it may be, unless the team's work was merged.
    pub(super) fn differences(&self, before: &Repository) -> Vec<String> {
        let mut found = Vec::new();
        let mut differ = |what: &str, now: String, then: String| {
            if now != then {
                found.push(format!("{what} was {then}, is {now}"));
            }
        };
        differ("the branch", self.branch.clone(), before.branch.clone());
        differ("HEAD", self.commit.clone(), before.commit.clone());
        differ("refs", format!("{:?}", self.refs), format!("{:?}", before.refs));
        differ("the index", self.index.clone(), before.index.clone());
        differ("the config", self.config.clone(), before.config.clone());
        differ(".git", self.names.join(" "), before.names.join(" "));
        let names =
            |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>().join(" ");
        differ("files", names(&self.files), names(&before.files));
        for (name, text) in &self.files {
            if before.files.get(name).is_some_and(|then| then != text) {
                found.push(format!("{name} has another content"));
            }
        }
        found
    }

    /// Nothing of the user's is other than before but what the merge of the team's work changes.
    pub(super) fn merged(&self, scene: &Scene, before: &Repository) -> Result<Vec<String>, String> {
        let team = format!("refs/heads/shipmate/{TEAM}");
        let tip = scene.git(&["rev-parse", &team])?.trim().to_owned();
        let parents = scene.git(&["log", "-1", "--format=%P", &self.commit])?.trim().to_owned();
        if parents != format!("{} {tip}", before.commit) {
            return Ok(vec![format!("HEAD {} has the parents {parents}", self.commit)]);
        }
        let expected = scene.git(&["merge-tree", "--write-tree", &before.commit, &tip])?;
        let tree = scene.git(&["rev-parse", &format!("{}^{{tree}}", self.commit)])?;
        let mut found = Vec::new();
        if expected.trim() != tree.trim() {
            found.push(format!("the merge holds {}, not {}", tree.trim(), expected.trim()));
        }
        let dirty = scene.git(&["status", "--porcelain", "--untracked-files=no"])?;
        if !dirty.is_empty() {
            found.push(format!("the checkout differs from the merge: {dirty}"));
        }
        let like = Repository {
            commit: before.commit.clone(),
            index: before.index.clone(),
            files: self.files.clone(),
            ..self.clone()
        };
        let then = Repository { files: self.files.clone(), ..before.clone() };
        found.extend(like.differences(&then));
        for (name, text) in &before.files {
            if self.files.get(name) != Some(text) {
                found.push(format!("{name} is not as it was"));
            }
        }
        Ok(found)
    }
}

/// What is amiss when nobody is at it any more. A git at work has locks and files of its own: it
/// ends first, and what is there then counts.
pub(super) fn settled(
    scene: &Scene,
    look: impl Fn() -> Result<Vec<String>, String>,
) -> Result<Vec<String>, String> {
    loop {
        let found = look()?;
        if found.is_empty() {
            return Ok(found);
        }
        let at_work = processes::gits(&scene.root);
        if at_work.is_empty() {
            // Made by one that had begun and ended between the two looks, it is gone by now.
            let now = look()?;
            return Ok(found.into_iter().filter(|one| now.contains(one)).collect());
        }
        for pid in at_work {
            if !processes::ends(pid, LIMIT) {
                return Ok(vec![format!("git {pid} does not end: {}", processes::words(pid))]);
            }
        }
    }
}

/// Locks, and the marks of a merge or rebase that is under way. A lock of a team's own ref is in
/// nobody's way before that ref is written again: see [`locked_refs`].
pub(super) fn unfinished(scene: &Scene) -> Vec<String> {
    let folder = scene.place.workspace.join(".git");
    let (_, mut found) = locks(&folder);
    let marks = ["MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD"];
    for mark in marks.iter().chain(&["rebase-merge", "rebase-apply", "sequencer", "AUTO_MERGE"]) {
        if folder.join(mark).exists() {
            found.push(format!(".git/{mark} is there"));
        }
    }
    found
}

/// Locks of refs that are a team's.
pub(super) fn locked_refs(scene: &Scene) -> Vec<String> {
    locks(&scene.place.workspace.join(".git")).0
}

fn locks(folder: &Path) -> (Vec<String>, Vec<String>) {
    let mut found = Vec::new();
    find_locks(folder, &mut found);
    let of_team =
        |text: &String| text.contains("/refs/shipmate/") || text.contains("/refs/heads/shipmate/");
    found.into_iter().partition(of_team)
}

fn find_locks(below: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(below).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            find_locks(&path, found);
        } else if path.extension().is_some_and(|end| end == "lock") {
            found.push(format!("{} is left", path.display()));
        }
    }
}

fn read_files(folder: &Path, prefix: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        if [".git", ".shipmate/state", ".shipmate/.gitignore"].contains(&path.as_str()) {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            read_files(&entry.path(), &path, files);
        } else {
            files.insert(path, fs::read(entry.path()).unwrap_or_default());
        }
    }
}
