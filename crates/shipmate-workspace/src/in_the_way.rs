//! What lies in the user's checkout, is not in git, and would be lost by a merge.
//!
//! Git refuses to write over an untracked file, but takes an ignored one for worthless: it writes
//! over it, and a merge that is taken back then removes it. `git merge --no-overwrite-ignore` is
//! heeded by fast-forwards alone. An ignored file is as often a `.env` with somebody's keys, so
//! every path that the result has and the user's commit has not is looked at before git is started.
//!
//! What remains: an ignored file that somebody writes at such a path between this look and git's
//! own writing. No option of git closes that; for a file that is not ignored git looks itself.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::git::Failure;
use super::interrupted::{Changed, Entry};
use super::repository::Repository;
use super::{Commit, path_text};

/// The mode of a submodule: a folder with files that this repository does not keep.
const SUBMODULE: &str = "160000";

impl Repository {
    /// The files and folders that are where the merge would write, and in no commit of the user's.
    /// A folder ends with a slash.
    pub(super) fn in_the_way(&self, head: &Commit, tree: &str) -> Result<Vec<String>, Failure> {
        let changes = self.entries_changed(head, tree)?;
        let new: Vec<_> = changes.iter().filter(|one| is_new(one)).collect();
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let tracked = Tracked { root: &self.root, index: self.entries_of_index()? };
        let mut found: Vec<_> = new.iter().filter_map(|one| tracked.lost_by(&one.path)).collect();
        found.sort();
        found.dedup();
        Ok(found)
    }
}

/// Git writes a file where the user's commit has none.
fn is_new(one: &Changed) -> bool {
    let is_file = |entry: &Entry| entry.as_ref().is_some_and(|(mode, _)| mode != SUBMODULE);
    match (&one.before, &one.after) {
        (_, None) => false,
        (None, Some(_)) => true,
        // What is in the submodule's folder is not in this repository's commit.
        (Some(_), after) => !is_file(&one.before) && is_file(after),
    }
}

/// What git knows of the checkout. It is known to be as it was committed.
struct Tracked<'a> {
    root: &'a Path,
    index: BTreeMap<Vec<u8>, (String, String)>,
}

impl Tracked<'_> {
    fn at(&self, path: &[u8]) -> PathBuf {
        self.root.join(OsStr::from_bytes(path))
    }

    /// What the user would lose by a new file at this path.
    fn lost_by(&self, path: &[u8]) -> Option<String> {
        // From the top: what is behind a symlink is not in the checkout.
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        for above in ends.map(|end| &path[..end]) {
            match fs::symlink_metadata(self.at(above)) {
                Err(_) => return None,
                Ok(found) if found.is_dir() => {}
                Ok(_) if self.index.contains_key(above) => return None,
                Ok(_) => return Some(path_text(above)),
            }
        }
        match fs::symlink_metadata(self.at(path)) {
            Err(_) => None,
            Ok(found) if found.is_dir() => {
                self.has_untracked(path).then(|| format!("{}/", path_text(path)))
            }
            Ok(_) => (!self.index.contains_key(path)).then(|| path_text(path)),
        }
    }

    /// Whether anything below is in no commit. Empty folders are nothing; one that cannot be read
    /// may hold everything.
    fn has_untracked(&self, folder: &[u8]) -> bool {
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs::read_dir(self.at(&folder)) else { return true };
            for entry in entries {
                let Ok(entry) = entry else { return true };
                let path = [folder.as_slice(), b"/", entry.file_name().as_bytes()].concat();
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(path),
                    Ok(_) if self.index.contains_key(&path) => {}
                    _ => return true,
                }
            }
        }
        false
    }
}
