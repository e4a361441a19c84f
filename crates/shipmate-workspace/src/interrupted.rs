//! A merge into the user's branch that somebody was killed in: finished, or undone.
//!
//! Before the user's git is started it is written down what it is to do. Who finds that note waits
//! for the git, if it is still at work, and then sees what has become of it. Where the branch has
//! moved, what is left of the merge goes (`MERGE_HEAD`); where it has not, the files are put back.
//! Git itself may have been killed in the middle of writing them. So each file of the merge is
//! looked at: what is as before, as after, or the beginning of after was written by git and loses
//! nothing by being put back. Everything else is the user's, and so is a merge that they have begun
//! themselves: neither is touched.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shipmate_process::Pid;

use super::git::Failure;
use super::in_use::{Whose, is_in_use};
use super::repository::Repository;
use super::{Commit, path_text};

/// What `shipmate merge` is about to do in the user's checkout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    pub team: String,
    /// The user's branch, and where it stood.
    pub branch: String,
    pub head: String,
    pub tip: String,
    /// What the files were to be.
    pub tree: String,
    /// What the user's git and its hooks carry.
    pub marker: String,
    /// Unknown for the moment in which git is started.
    pub pid: Option<u32>,
}

/// When the merge was begun: by this very call, or who knows when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    Now,
    Before,
}

/// What has become of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    Merged(Commit),
    /// Everything is as it was before.
    Undone,
    /// The user has gone on from there.
    LeftAlone,
}

impl Intent {
    /// The kind of the marker on the user's git.
    pub const MARKED_AS: &'static str = "merge";

    fn path(folder: &Path) -> PathBuf {
        folder.join("intent.json")
    }

    /// The merge that was begun and is not known to have ended.
    pub fn read(folder: &Path) -> Option<Intent> {
        let text = fs::read(Intent::path(folder)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        let (path, fresh) = (Intent::path(folder), folder.join("intent.new"));
        let text = serde_json::to_vec(self).expect("an intent is JSON");
        let written = || {
            fs::create_dir_all(folder)?;
            let mut file = fs::File::create(&fresh)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&fresh, &path)
        };
        written().map_err(Failure::file(format!("write {}", path.display())))
    }

    pub(super) fn remove(folder: &Path) -> Result<(), Failure> {
        let path = Intent::path(folder);
        fs::remove_file(&path).map_err(Failure::file(format!("remove {}", path.display())))
    }

    /// The user's git, while it is there. What its hooks have left running is not waited for.
    pub fn at_work(&self) -> Option<Pid> {
        let digest = self.marker.split(':').next()?;
        let marked = shipmate_process::marked(digest).into_iter();
        let mut own = marked.filter(|(_, marker)| marker.to_string() == self.marker);
        let pid = self.pid.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        own.find(|(found, _)| pid.is_none_or(|pid| pid == *found)).map(|(found, _)| found)
    }
}

impl Repository {
    /// Brings a merge to its end whose git has ended, and forgets it.
    pub fn settle(&self, intent: &Intent, begun: Begun, folder: &Path) -> Result<Settled, Failure> {
        let settled = self.settled(intent, begun, folder)?;
        Intent::remove(folder)?;
        Ok(settled)
    }

    fn settled(&self, intent: &Intent, begun: Begun, folder: &Path) -> Result<Settled, Failure> {
        let commits = (Commit::parse(&intent.head), Commit::parse(&intent.tip));
        let (Some(before), Some(tip)) = commits else { return Ok(Settled::LeftAlone) };
        let head = self.head()?;
        if head.branch.as_ref() != Some(&intent.branch) {
            return Ok(Settled::LeftAlone);
        }
        let merging = self.resolve("MERGE_HEAD")?;
        if merging.as_ref().is_some_and(|merging| *merging != tip) {
            return Ok(Settled::LeftAlone);
        }
        let end_merge = |how: &str| self.git().args(["merge", how]).run().map(drop);
        if self.is_ancestor(&tip, &head.commit)? {
            self.clear_locks(&intent.branch)?;
            if merging.is_some() {
                end_merge("--quit")?;
            }
            self.clear_leftovers()?;
            return Ok(Settled::Merged(head.commit));
        }
        // Ours had no conflict: whoever has one there has merged by hand.
        let unmerged = self.git().args(["ls-files", "--unmerged", "-z"]).run()?;
        if head.commit != before || !unmerged.stdout.is_empty() {
            return Ok(Settled::LeftAlone);
        }
        self.clear_locks(&intent.branch)?;
        if merging.is_some() {
            let untouched = || -> Result<bool, Failure> {
                Ok(self.git().arg("write-tree").run()?.text() == intent.tree)
            };
            if (begun == Begun::Now || untouched()?) && end_merge("--abort").is_ok() {
                return Ok(Settled::Undone);
            }
        }
        let undone = self.undo(&before, &intent.tree, folder)?;
        if undone || merging.is_some() {
            end_merge("--quit")?;
        }
        Ok(Settled::Undone)
    }

    /// Git takes away `MERGE_HEAD` first and may be killed before the rest. What belongs to
    /// something else that the user has begun is none of it.
    fn clear_leftovers(&self) -> Result<(), Failure> {
        const OTHERS: [&str; 4] =
            ["CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"];
        let folder = self.git_dir()?;
        if OTHERS.iter().any(|name| folder.join(name).exists()) {
            return Ok(());
        }
        for name in ["MERGE_RR", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE"] {
            // There rarely is one.
            drop(fs::remove_file(folder.join(name)));
        }
        Ok(())
    }

    /// Puts back what a git that was killed has written; says whether there was anything.
    fn undo(&self, before: &Commit, after: &str, folder: &Path) -> Result<bool, Failure> {
        let changes = self.entries_changed(before, after)?;
        let index = self.entries_of_index()?;
        let differ_before = self.differing(before.as_str(), folder)?;
        let differ_after = self.differing(after, folder)?;
        let (mut entries, mut written, mut added) = (Vec::new(), Vec::new(), Vec::new());
        for Changed { path, before, after: new } in &changes {
            let file = self.root.join(std::ffi::OsStr::from_bytes(path));
            let is_there = fs::symlink_metadata(&file).is_ok_and(|found| !found.is_dir());
            let is = |entry: &Entry, differ: &BTreeSet<Vec<u8>>| match entry {
                None => !is_there,
                Some(_) => is_there && !differ.contains(path),
            };
            let is_before = is(before, &differ_before);
            let from_git = !is_there
                || is(new, &differ_after)
                || (new.is_some() && self.is_begun(&file, after, path)?);
            let staged = index.get(path);
            let staged_by_git = staged == before.as_ref() || staged == new.as_ref();
            if !staged_by_git || (!is_before && !from_git) {
                continue;
            }
            if staged != before.as_ref() {
                let gone = ("0".to_owned(), "0".repeat(after.len()));
                let (mode, id) = before.as_ref().unwrap_or(&gone);
                entries.extend_from_slice(format!("{mode} {id}\t").as_bytes());
                entries.extend_from_slice(path);
                entries.push(0);
            }
            match before {
                _ if is_before => {}
                Some(_) => written.push((path, file)),
                None => added.push(file),
            }
        }
        let found = !entries.is_empty() || !written.is_empty() || !added.is_empty();
        if !entries.is_empty() {
            self.git().args(["update-index", "-z", "--index-info"]).input(entries).run()?;
        }
        for file in added {
            fs::remove_file(&file).map_err(Failure::file(format!("remove {}", file.display())))?;
            // Folders that are empty now were made for it.
            let above = file.ancestors().skip(1).take_while(|folder| *folder != self.root);
            for folder in above {
                if fs::remove_dir(folder).is_err() {
                    break;
                }
            }
        }
        // A folder that is still in its place has something of the user's in it.
        let written = written.iter().filter(|(_, file)| !file.is_dir());
        let written: Vec<u8> =
            written.flat_map(|(path, _)| [path.as_slice(), &b"\0"[..]].concat()).collect();
        if !written.is_empty() {
            let git = self.git().args(["checkout-index", "--force", "-u", "-z", "--stdin"]);
            git.input(written).run()?;
        }
        Ok(found)
    }

    /// A file that git has begun to write.
    fn is_begun(&self, file: &Path, tree: &str, path: &[u8]) -> Result<bool, Failure> {
        let Ok(found) = fs::read(file) else { return Ok(false) };
        let name = [tree.as_bytes(), b":", path].concat();
        let git = self.git().args(["cat-file", "--filters"]);
        let whole = git.arg(std::ffi::OsStr::from_bytes(&name)).run()?.stdout;
        Ok(whole.starts_with(&found))
    }

    pub(super) fn entries_changed(
        &self,
        before: &Commit,
        after: &str,
    ) -> Result<Vec<Changed>, Failure> {
        let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev"];
        let output = self.git().args(args).arg(before).arg(after).run()?;
        let mut fields = output.fields();
        let mut found = Vec::new();
        while let (Some(raw), Some(path)) = (fields.next(), fields.next()) {
            let raw = path_text(raw);
            let words: Vec<&str> = raw.trim_start_matches(':').split(' ').collect();
            let [old_mode, new_mode, old, new, _] = words[..] else { continue };
            let entry =
                |mode: &str, id: &str| (mode != "000000").then(|| (mode.to_owned(), id.to_owned()));
            let (before, after) = (entry(old_mode, old), entry(new_mode, new));
            found.push(Changed { path: path.to_owned(), before, after });
        }
        Ok(found)
    }

    pub(super) fn entries_of_index(&self) -> Result<BTreeMap<Vec<u8>, (String, String)>, Failure> {
        let output = self.git().args(["ls-files", "--stage", "-z"]).run()?;
        let entries = output.fields().filter_map(|field| {
            let at = field.iter().position(|byte| *byte == b'\t')?;
            let words = path_text(&field[..at]);
            let mut words = words.split(' ').map(str::to_owned);
            Some((field[at + 1..].to_owned(), (words.next()?, words.next()?)))
        });
        Ok(entries.collect())
    }

    /// The files of a tree that are not so in the checkout.
    fn differing(&self, tree: &str, folder: &Path) -> Result<BTreeSet<Vec<u8>>, Failure> {
        let index = folder.join("index");
        let git = || self.git().index(&index);
        git().args(["read-tree", tree]).run()?;
        git().args(["update-index", "-q", "--refresh"]).allow(&[0, 1]).run()?;
        let output = git().args(["diff-files", "--name-only", "-z"]).run()?;
        let _ = fs::remove_file(&index);
        Ok(output.fields().map(<[u8]>::to_owned).collect())
    }

    /// Removes the locks that a git which was killed in a merge has left.
    fn clear_locks(&self, branch: &str) -> Result<(), Failure> {
        let folder = self.git_dir()?;
        let names = ["index", "HEAD", "ORIG_HEAD", "MERGE_HEAD", "AUTO_MERGE"];
        let own = names.map(|name| folder.join(format!("{name}.lock")));
        let branch = self.common.join(format!("refs/heads/{branch}.lock"));
        for lock in own.into_iter().chain([branch]).filter(|lock| lock.exists()) {
            if is_in_use(std::slice::from_ref(&self.root), &lock, Whose::TheUsers) {
                return Err(Failure::Busy { lock });
            }
            fs::remove_file(&lock).map_err(Failure::file(format!("remove {}", lock.display())))?;
        }
        Ok(())
    }
}

/// Mode and id; nothing where there is no such file.
pub(super) type Entry = Option<(String, String)>;

pub(super) struct Changed {
    pub(super) path: Vec<u8>,
    pub(super) before: Entry,
    pub(super) after: Entry,
}
