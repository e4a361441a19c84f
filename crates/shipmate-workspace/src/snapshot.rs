//! Add and commit in one step, with an index that nobody shares.
//!
//! Each snapshot fills an index file of its own from a commit, puts the wanted files of the working
//! tree into it and writes a tree. So any number of them at once, in one tree, never hold each
//! other's files. The shadow keeps the last index as a memory of file times, which spares reading
//! unchanged files again; it may be stale, but it is never wrong.
//!
//! Plumbing only: `git add` and `git status` would start a git inside nested repositories, whose
//! config is the agent's.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::clone_index::LeftOut;
use super::dot_git::{DotGit, Lock, Position};
use super::git::{Failure, Git};
use super::land::by;
use super::merging::{MergedTree, merge_trees};
use super::tree::{Tree, cannot, put};
use super::{Commit, path_text};
use shipmate_process::regular_file;

/// Which files of the tree.
#[derive(Debug, Clone, Copy)]
pub enum Paths<'a> {
    All,
    /// Files, folders with all below them, or patterns with `*`, `?` and `**`.
    Named(&'a [String]),
}

/// What the commit stands on.
#[derive(Debug, Clone, Copy)]
pub enum Parent<'a> {
    /// The tree's `HEAD`, which moves along.
    Head,
    /// This commit; nothing moves. The named files are as in the working tree, all others as in
    /// this commit.
    Commit(&'a Commit),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Nothing when no file differs from the parent.
    pub commit: Option<Commit>,
    /// Folders with a `.git` of their own: not in the commit.
    pub left_out: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum SnapshotFailure {
    /// The teammate has to resolve them first.
    #[error("the merge is not finished: {} still has conflict markers; resolve them in the file \
             and submit again", files.join(", "))]
    Conflicts { files: Vec<String> },
    #[error(transparent)]
    Failed(#[from] Failure),
}

impl Tree {
    pub fn snapshot(
        &self,
        paths: Paths<'_>,
        message: &str,
        parent: Parent<'_>,
    ) -> Result<Snapshot, SnapshotFailure> {
        self.clear_the_way();
        match parent {
            Parent::Commit(parent) => Ok(self.snapshot_onto(parent, paths, message)?),
            Parent::Head => {
                let _turn = self.take_turn()?;
                let made = self.snapshot_head(paths, message)?;
                // What is in the tree is somebody's work now, whatever a crash had left there.
                self.arrived();
                Ok(made)
            }
        }
    }

    /// No change against `HEAD`, no merge under way, no nested repository.
    pub fn is_clean(&self) -> Result<bool, Failure> {
        let dot_git = DotGit::open(self.path())?;
        let Some(head) = self.position()?.commit else { return Ok(false) };
        if dot_git.has("MERGE_HEAD") {
            return Ok(false);
        }
        let (_, mut found) = self.compared(&head)?;
        self.forgive_left_out(&mut found, &head);
        Ok(found.is_empty())
    }

    /// Files of a merge under way that still have conflict markers.
    pub fn unfinished_conflicts(&self) -> Result<Vec<String>, Failure> {
        let dot_git = DotGit::open(self.path())?;
        match (self.position()?.commit, self.merging(&dot_git)?) {
            (Some(head), Some(other)) => self.marked_files(&head, &other),
            _ => Ok(Vec::new()),
        }
    }

    fn snapshot_onto(
        &self,
        parent: &Commit,
        paths: Paths<'_>,
        message: &str,
    ) -> Result<Snapshot, Failure> {
        let staged = self.stage(parent, paths)?;
        let left_out = staged.left_out.clone();
        if staged.tree == self.tree_of(parent)? {
            return Ok(Snapshot { commit: None, left_out });
        }
        let commit = self.commit(&staged.tree, &[parent], message)?;
        // The runtime vouches for it: it is on no branch that `take_in` could find it on.
        put(&self.shadow().join("snapshots").join(commit.as_str()), b"")?;
        staged.index.remember(self);
        Ok(Snapshot { commit: Some(commit), left_out })
    }

    pub(super) fn snapshot_head(
        &self,
        paths: Paths<'_>,
        message: &str,
    ) -> Result<Snapshot, SnapshotFailure> {
        let dot_git = DotGit::open(self.path())?;
        let index_lock = dot_git.lock("index")?;
        let position = self.position()?;
        let Some(head) = position.commit.clone() else {
            let fact = "it has no commit yet; bring it up to the team branch".to_owned();
            return Err(Failure::BrokenTree { tree: self.path().to_owned(), fact }.into());
        };
        let merging = self.merging(&dot_git)?;
        if let Some(other) = &merging {
            let files = self.marked_files(&head, other)?;
            if !files.is_empty() {
                return Err(SnapshotFailure::Conflicts { files });
            }
        }
        let staged = match &merging {
            Some(other) => self.stage_merge(&head, other, paths)?,
            None => self.stage(&head, paths)?,
        };
        let left_out = staged.left_out.clone();
        if merging.is_none() && staged.tree == self.tree_of(&head)? {
            // After a crash between branch and index, the clone's index would still be the old one.
            if matches!(paths, Paths::All) {
                staged.index.hand_over(self, index_lock, &head)?;
            }
            return Ok(Snapshot { commit: None, left_out });
        }
        let parents: Vec<_> = [Some(&head), merging.as_ref()].into_iter().flatten().collect();
        let commit = self.commit(&staged.tree, &parents, message)?;
        move_head(&dot_git, &position, &commit)?;
        if merging.is_some() {
            self.forget_merge(&dot_git)?;
        }
        staged.index.hand_over(self, index_lock, &head)?;
        Ok(Snapshot { commit: Some(commit), left_out })
    }

    /// The other side of a merge may have changed files that the agent's git leaves out of the tree:
    /// then they are as the merge has them.
    fn stage_merge(
        &self,
        head: &Commit,
        other: &Commit,
        paths: Paths<'_>,
    ) -> Result<Staged, Failure> {
        let merged = match self.leaves_out(head) {
            Some(_) => self.merge_trees(head.as_str(), other.as_str())?,
            None => None,
        };
        let onto = merged.as_ref().map_or(head.as_str(), |merged| &merged.tree);
        self.stage_onto(onto, paths, head)
    }

    /// Everything in the tree, whatever state its merge is in, as a tree object. Changes nothing.
    pub(super) fn stage(&self, onto: &Commit, paths: Paths<'_>) -> Result<Staged, Failure> {
        self.stage_onto(onto.as_str(), paths, onto)
    }

    fn stage_onto(&self, onto: &str, paths: Paths<'_>, like: &Commit) -> Result<Staged, Failure> {
        let index = self.index_of(onto)?;
        let mut found = self.differences(&index, paths)?;
        self.forgive_left_out(&mut found, like);
        if !found.deleted.is_empty() {
            let gone = |path: &Vec<u8>| [b"0 ", zero(like).as_bytes(), b"\t", path, b"\0"].concat();
            let input = found.deleted.iter().flat_map(gone).collect();
            let git = self.git().index(&index.0).args(["update-index", "-z", "--index-info"]);
            git.input(input).run()?;
        }
        if !found.present.is_empty() {
            let args = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
            let input = found.present.join(&0);
            self.git().index(&index.0).args(args).input(input).run()?;
        }
        let tree = self.git().index(&index.0).arg("write-tree").run()?.text();
        Ok(Staged { index, tree, left_out: found.nested })
    }

    /// The index when the working tree is exactly this commit (ignored files aside), with nothing
    /// left out.
    pub(super) fn is_like(&self, commit: &Commit) -> Result<Option<OwnIndex>, Failure> {
        let (index, found) = self.compared(commit)?;
        Ok(found.is_empty().then_some(index))
    }

    fn compared(&self, commit: &Commit) -> Result<(OwnIndex, Differences), Failure> {
        let index = self.index_of(commit.as_str())?;
        // Reads again the files whose times are unknown, so that only real changes remain.
        let refresh = ["update-index", "-q", "--refresh", "--ignore-submodules"];
        self.git().index(&index.0).args(refresh).allow(&[0, 1]).run()?;
        let found = self.differences(&index, Paths::All)?;
        Ok((index, found))
    }

    /// What the agent's git leaves out of the working tree (a sparse checkout); nothing in nearly
    /// every clone.
    fn leaves_out(&self, like: &Commit) -> Option<LeftOut> {
        // Without a `.git`, nothing says that any is.
        LeftOut::of(&DotGit::open(self.path()).ok()?, like.as_str().len())
    }

    /// A file that is not there because the agent's git leaves it out was not deleted.
    fn forgive_left_out(&self, found: &mut Differences, like: &Commit) {
        if !found.deleted.is_empty()
            && let Some(left_out) = self.leaves_out(like)
        {
            found.deleted.retain(|path| !left_out.has(path));
        }
    }

    /// An index file of this commit or tree, with what is remembered of file times.
    pub(super) fn index_of(&self, what: &str) -> Result<OwnIndex, Failure> {
        let index = OwnIndex::remembered(self)?;
        let read =
            |args: &[&str]| self.git().index(&index.0).arg("read-tree").args(args).arg(what).run();
        if index.0.exists() && read(&["-i", "-m"]).is_ok() {
            return Ok(index);
        }
        let _ = fs::remove_file(&index.0);
        read(&[])?;
        Ok(index)
    }

    pub(super) fn commit(
        &self,
        tree: &str,
        parents: &[&Commit],
        message: &str,
    ) -> Result<Commit, Failure> {
        let git = by(self.git(), self.author()).args(["commit-tree", tree, "-F", "-"]);
        let git = git.args(parents.iter().flat_map(|parent| ["-p", parent.as_str()]));
        Ok(git.input(message.replace('\0', " ").into_bytes()).run()?.commit())
    }

    /// The other side of a merge under way.
    pub(super) fn merging(&self, dot_git: &DotGit) -> Result<Option<Commit>, Failure> {
        let Some(bytes) = dot_git.read("MERGE_HEAD")? else { return Ok(None) };
        let text = path_text(&bytes);
        let Some(commit) = text.lines().next().and_then(Commit::parse) else { return Ok(None) };
        self.resolve(commit.as_str())
    }

    /// Which files conflict is computed again from the two sides: the clone's index is the
    /// agent's to change.
    fn marked_files(&self, head: &Commit, other: &Commit) -> Result<Vec<String>, Failure> {
        let merged = self.merge_trees(head.as_str(), other.as_str())?;
        let stages = merged.map(|merged| merged.stages).unwrap_or_default();
        let files: BTreeSet<_> = stages.into_iter().map(|stage| stage.path).collect();
        let marked =
            files.iter().filter(|file| has_markers(&self.path().join(OsStr::from_bytes(file))));
        Ok(marked.map(|file| path_text(file)).collect())
    }

    pub(super) fn merge_trees(
        &self,
        ours: &str,
        theirs: &str,
    ) -> Result<Option<MergedTree>, Failure> {
        merge_trees(self.git(), ours, theirs)
    }

    fn differences(&self, index: &OwnIndex, paths: Paths<'_>) -> Result<Differences, Failure> {
        self.show_changed()?;
        let specs = match paths {
            Paths::All => Vec::new(),
            Paths::Named(patterns) => patterns.iter().flat_map(|text| pathspecs(text)).collect(),
        };
        let mut found = Differences::default();
        if matches!(paths, Paths::Named(_)) && specs.is_empty() {
            return Ok(found);
        }
        let git = || -> Git { self.git().index(&index.0) };
        let args = ["diff-files", "-z", "--name-status", "--no-renames", "--ignore-submodules=all"];
        let output = git().args(args).arg("--").args(&specs).run()?;
        let mut fields = output.fields();
        while let (Some(letter), Some(path)) = (fields.next(), fields.next()) {
            let list = if letter == b"D" { &mut found.deleted } else { &mut found.present };
            list.push(path.to_owned());
        }
        let args = ["ls-files", "-z", "--others", "--exclude-standard", "--"];
        for path in git().args(args).args(&specs).run()?.fields() {
            match path.strip_suffix(b"/") {
                Some(nested) => found.nested.push(path_text(nested)),
                None => found.present.push(path.to_owned()),
            }
        }
        Ok(found)
    }
}

#[derive(Default)]
struct Differences {
    present: Vec<Vec<u8>>,
    deleted: Vec<Vec<u8>>,
    nested: Vec<String>,
}

impl Differences {
    fn is_empty(&self) -> bool {
        self.present.is_empty() && self.deleted.is_empty() && self.nested.is_empty()
    }
}

#[derive(Debug)]
pub(super) struct Staged {
    pub(super) index: OwnIndex,
    pub(super) tree: String,
    pub(super) left_out: Vec<String>,
}

/// An index file in the shadow that is gone when dropped.
#[derive(Debug)]
pub(super) struct OwnIndex(pub(super) PathBuf);

impl OwnIndex {
    /// A copy keeps the time of the original: git trusts file times older than its index.
    fn remembered(tree: &Tree) -> Result<OwnIndex, Failure> {
        let index = OwnIndex(tree.fresh("index"));
        let Ok(mut last) = File::open(tree.shadow().join("index")) else { return Ok(index) };
        let mut copy = || -> std::io::Result<()> {
            let modified = last.metadata()?.modified()?;
            let mut file = File::create(&index.0)?;
            std::io::copy(&mut last, &mut file)?;
            file.set_modified(modified)
        };
        copy().map_err(cannot("write", &index.0))?;
        Ok(index)
    }

    /// Whoever is last is remembered; a lost memory costs time only.
    pub(super) fn remember(self, tree: &Tree) {
        let _ = fs::rename(&self.0, tree.shadow().join("index"));
    }

    /// Makes it the clone's index; says whether it is still fit to be remembered.
    pub(super) fn show(&self, tree: &Tree, lock: Lock, like: &Commit) -> Result<Fit, Failure> {
        let fit = self.leave_out(tree, like)?;
        let modified = fs::metadata(&self.0).and_then(|metadata| metadata.modified());
        let modified = modified.map_err(cannot("read", &self.0))?;
        let bytes = fs::read(&self.0).map_err(cannot("read", &self.0))?;
        lock.commit(&bytes, Some(modified))?;
        Ok(fit)
    }

    pub(super) fn hand_over(self, tree: &Tree, lock: Lock, like: &Commit) -> Result<(), Failure> {
        if self.show(tree, lock, like)? == Fit::ToRemember {
            self.remember(tree);
        }
        Ok(())
    }

    /// What the clone's index leaves out of the working tree, this one leaves out as well: else the
    /// agent's next commit, and the next hand-in, would take it for deleted.
    fn leave_out(&self, tree: &Tree, like: &Commit) -> Result<Fit, Failure> {
        let Some(left_out) = tree.leaves_out(like) else { return Ok(Fit::ToRemember) };
        let git = || tree.git().index(&self.0);
        let listed = git().args(["ls-files", "--stage", "-z"]).run()?;
        let is_absent = |path: &[u8]| {
            let path = tree.path().join(OsStr::from_bytes(path));
            fs::symlink_metadata(path).is_err()
        };
        // `MODE ID STAGE<tab>PATH`; what conflicts cannot be left out.
        let merged = listed.fields().filter_map(|line| {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            line[..tab].ends_with(b" 0").then(|| &line[tab + 1..])
        });
        let paths: Vec<&[u8]> =
            merged.filter(|path| left_out.has(path) && is_absent(path)).collect();
        if paths.is_empty() {
            return Ok(Fit::ToRemember);
        }
        let git = git().args(["update-index", "-z", "--skip-worktree", "--stdin"]);
        git.input(paths.join(&0)).run()?;
        Ok(Fit::ForTheCloneAlone)
    }
}

/// What an index is good for after it was shown. One that leaves files out would hide what becomes
/// of them from our own comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    ToRemember,
    ForTheCloneAlone,
}

impl Drop for OwnIndex {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

pub(super) fn move_head(dot_git: &DotGit, position: &Position, to: &Commit) -> Result<(), Failure> {
    match &position.branch {
        Some(branch) => dot_git.move_ref(branch, position.commit.as_ref(), to),
        None => dot_git.write("HEAD", format!("{to}\n").as_bytes()),
    }
}

fn zero(like: &Commit) -> String {
    "0".repeat(like.as_str().len())
}

fn has_markers(file: &Path) -> bool {
    const MARKERS: [&[u8]; 2] = [b"<<<<<<< ", b">>>>>>> "];
    let Ok(file) = regular_file::open(file) else { return false };
    let (mut found, mut start) = ([false; 2], Vec::new());
    // Only how lines begin is kept: a file may be longer than there is memory.
    for byte in BufReader::new(file).bytes().map_while(Result::ok) {
        match byte {
            b'\n' => start.clear(),
            byte if start.len() < 8 => start.push(byte),
            _ => continue,
        }
        for (found, marker) in found.iter_mut().zip(MARKERS) {
            *found |= start == marker;
        }
    }
    found == [true; 2]
}

/// `[` is an ordinary character in our patterns and a class in git's.
fn pathspecs(pattern: &str) -> Vec<String> {
    let pattern = pattern.trim_end_matches('/');
    if pattern == "." || pattern == "**" {
        return vec![":(top)".to_owned()];
    }
    if !pattern.contains(['*', '?']) {
        return vec![format!(":(top,literal){pattern}")];
    }
    let escaped = pattern.replace('\\', "\\\\").replace('[', "\\[");
    vec![format!(":(top,glob){escaped}"), format!(":(top,glob){escaped}/**")]
}
