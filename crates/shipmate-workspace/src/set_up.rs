//! What a set-up makes in a tree is nobody's work: what was there before is noted, and what came is hidden
//! from git and from what is handed in. Where work is in the tree nothing is taken back: nobody could tell
//! what is whose.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

use super::git::Failure;
use super::tree::put;
use super::unversioned::{List, Stamp, exactly, stamp};
use super::{Tree, path_text};

/// In the shadow, while a set-up is under way: what was untracked before.
const BEGUN: &str = "set-up-begun.json";

/// In the shadow, which goes where the tree goes: what the set-up that succeeded last depended on.
const SET_UP: &str = "set-up";

/// In the shadow of a tree that many share, once its set-up has succeeded.
const WORKED_IN: &str = "worked-in";

const BELOW_MAX: usize = 1_000;

/// A folder in which a set-up made more files than this is hidden as one.
const FOLDER_FILES: usize = 200;

impl Tree {
    /// Committed files of these names that lie in a folder, the first thousand of them.
    pub fn committed_below(&self, names: &[&str]) -> Result<Vec<String>, Failure> {
        let Some(head) = self.head()? else { return Ok(Vec::new()) };
        let index = self.index_of(head.as_str())?;
        let git = self.git().index(&index.0).args(["ls-files", "-z", "--cached", "--"]);
        let git = names.iter().fold(git, |git, name| git.arg(format!(":(top,glob)*/**/{name}")));
        Ok(git.run()?.fields().take(BELOW_MAX).map(path_text).collect())
    }

    /// Files that nobody has committed and nobody ignores.
    pub fn untracked(&self) -> Result<BTreeSet<String>, Failure> {
        let Some(head) = self.head()? else { return Ok(BTreeSet::new()) };
        let index = self.index_of(head.as_str())?;
        let args = ["ls-files", "-z", "--others", "--exclude-standard"];
        let output = self.git().index(&index.0).args(args).run()?;
        Ok(output.fields().map(path_text).collect())
    }

    /// Notes that a set-up begins in a tree without work: whatever becomes of it, what it makes is settled.
    pub fn begin_set_up(&self) -> Result<(), Failure> {
        let before = serde_json::to_vec(&self.untracked()?).expect("a list of paths is JSON");
        put(&self.shadow().join(BEGUN), &before)
    }

    /// Removes what is on no commit, ignored or made by a set-up, so that a set-up finds what a new tree has:
    /// copies and links stay.
    pub fn remove_uncommitted(&self) -> Result<(), Failure> {
        let Some(head) = self.head()? else { return Ok(()) };
        let _turn = self.take_turn()?;
        let mut list = List::read(self);
        let index = self.index_of(head.as_str())?;
        let clean = || {
            let git = self.git().index(&index.0).args(["clean", "-ffdxq"]);
            let kept = list.copies.keys().chain(&list.links);
            kept.fold(git, |git, path| git.arg("-e").arg(exactly(path))).run()
        };
        if clean().is_err() {
            // A folder that may not be written, most likely.
            shipmate_process::open_folders(self.path());
            clean()?;
        }
        list.made.clear();
        list.write(self)?;
        self.hide(&list)
    }

    /// What the set-up that succeeded last in this tree depended on.
    pub fn set_up_key(&self) -> Option<String> {
        fs::read_to_string(self.shadow().join(SET_UP)).ok()
    }

    /// Keeps that, or that there is none.
    pub fn keep_set_up_key(&self, key: Option<&str>) -> Result<(), Failure> {
        let file = self.shadow().join(SET_UP);
        match key {
            Some(key) => put(&file, key.as_bytes()),
            None => match fs::remove_file(&file) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    Err(super::tree::cannot("remove", &file)(e))
                }
                _ => Ok(()),
            },
        }
    }

    /// Notes that somebody may have worked here, in a tree that many share: from now on what a set-up makes
    /// cannot be told from work.
    pub fn keep_worked_in(&self) -> Result<(), Failure> {
        put(&self.shadow().join(WORKED_IN), b"")
    }

    pub fn is_worked_in(&self) -> bool {
        self.shadow().join(WORKED_IN).exists()
    }

    /// What a set-up that failed has made stays as it is: work is begun in its tree all the same.
    pub fn forget_set_up(&self) -> Result<(), Failure> {
        let begun = self.shadow().join(BEGUN);
        match fs::remove_file(&begun) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(super::tree::cannot("remove", &begun)(e))
            }
            _ => Ok(()),
        }
    }

    /// A set-up has begun here and was not settled.
    pub fn is_set_up_under_way(&self) -> bool {
        self.shadow().join(BEGUN).exists()
    }

    /// After a set-up in a tree without work: what it has made is nobody's work and is not seen, what it
    /// has changed is as it was committed. Gives the files that it had changed.
    pub fn settle_set_up(&self) -> Result<Vec<String>, Failure> {
        let begun = self.shadow().join(BEGUN);
        let Ok(before) = fs::read(&begun) else { return Ok(Vec::new()) };
        let before: BTreeSet<String> = serde_json::from_slice(&before).unwrap_or_default();
        let after = self.untracked()?;
        let plain = |path: &&String| !path.chars().any(char::is_control);
        let made: BTreeSet<&String> = after.difference(&before).filter(plain).collect();
        let _turn = self.take_turn()?;
        let mut list = List::read(self);
        // One that ran again may have written them anew.
        for (path, was) in list.made.iter_mut().filter(|(_, was)| was.is_some()) {
            *was = Some(stamp(&self.path().join(path)));
        }
        let top_of = |path: &String| path.split_once('/').map(|(top, _)| top.to_owned());
        let mut folders: BTreeMap<String, usize> = BTreeMap::new();
        for top in made.iter().filter_map(|path| top_of(path)) {
            *folders.entry(top).or_default() += 1;
        }
        // A folder full of packages is one name, as it would be in a .gitignore.
        folders.retain(|_, files| *files > FOLDER_FILES);
        for top in before.iter().filter_map(top_of) {
            folders.remove(&top);
        }
        let mut whole = BTreeSet::new();
        for top in folders.into_keys() {
            if !self.has_tracked(&top)? {
                whole.insert(top);
            }
        }
        for path in made {
            if !top_of(path).is_some_and(|top| whole.contains(&top)) {
                list.made.insert(path.clone(), Some(stamp(&self.path().join(path))));
            }
        }
        list.made.extend(whole.into_iter().map(|top| (top, None)));
        if !list.made.is_empty() {
            list.write(self)?;
            self.hide(&list)?;
        }
        let Some(head) = self.head()? else { return Ok(Vec::new()) };
        let index = self.index_of(head.as_str())?;
        let args = ["diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=all"];
        let changed = self.git().index(&index.0).args(args).run()?;
        let changed: Vec<String> = changed.fields().map(path_text).collect();
        if !changed.is_empty() {
            self.git().index(&index.0).args(["read-tree", "--reset", "-u"]).arg(&head).run()?;
        }
        fs::remove_file(&begun).map_err(super::tree::cannot("remove", &begun))?;
        Ok(changed)
    }

    pub(super) fn has_tracked(&self, folder: &str) -> Result<bool, Failure> {
        let Some(head) = self.head()? else { return Ok(false) };
        let args = ["ls-tree", "-z", "--name-only", "--full-tree", head.as_str(), "--", folder];
        Ok(self.git().args(args).run()?.fields().next().is_some())
    }

    /// What a set-up made and an agent has changed since is work, and is seen.
    pub(super) fn show_changed(&self) -> Result<(), Failure> {
        let mut list = List::read(self);
        let known = list.made.len();
        let same = |path: &String, was: &mut Option<Stamp>| {
            was.as_ref().is_none_or(|was| *was == stamp(&self.path().join(path)))
        };
        list.made.retain(same);
        match list.made.len() < known {
            true => {
                list.write(self)?;
                self.hide(&list)
            }
            false => Ok(()),
        }
    }
}
