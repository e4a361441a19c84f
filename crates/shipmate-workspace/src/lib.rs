//! The git side of a team: the user's repository, the teammates' trees, and the way between them.
//!
//! The user's repository is the only truth: the team branch is `refs/heads/shipmate/<team>`, work
//! arrives under `refs/shipmate/<team>/`. The user's checkout (branch, index, files) is touched by
//! [`Repository::merge_into_user`] alone. A teammate's [`Tree`] is a clone of its own that borrows
//! the repository's objects.
//!
//! **No git of the runtime runs with an agent's config or hooks.** An agent may write everything in
//! its clone, `.git/config` included, and many keys there name programs (`core.fsmonitor`,
//! `core.sshCommand`, `filter.*`, `diff.*`, `merge.*`, `gpg.program`, `include.path`, …). A list of
//! overrides would be a race with git's next release, so the runtime never opens the clone's `.git`
//! as a repository at all. Beside each tree lies its *shadow* (`<tree>.shadow`), a git folder that
//! the runtime owns and no agent can write. It borrows the objects of the repository and of the
//! clone, and every call sets `GIT_DIR` to it, `GIT_WORK_TREE` to the tree, and the system's and
//! the user's config to nothing. Through it trees are read, compared, committed and checked out,
//! and it is the remote from which work is fetched: `git upload-pack` runs in the shadow, not in
//! the clone. What remains of the agent's in these calls is data:
//!
//! - Objects, also through alternates the agent may have added. Whatever enters the repository is
//!   hashed and checked (`fetch.fsckObjects`). Derived files (commit graph, multi-pack index,
//!   bitmaps) could lie about ancestry and are not read.
//! - `.gitattributes` and `.gitignore` in the tree. Attributes may name filters and drivers, but no
//!   config defines any. So files kept in LFS are pointers in a tree.
//! - `HEAD`, refs, logs and `MERGE_HEAD` of the clone, which are read as text, never followed through
//!   a symlink, and believed only as far as the named commit exists. Its index is read by file too,
//!   for what a sparse checkout leaves out and, when the clone goes, for what is staged.
//! - Folders with a `.git` of their own. Commands that would start a git inside of them (`status`,
//!   `add`) are not used on a tree; they are reported, never added.
//!
//! Writing into a clone (refs, `HEAD`, index) happens by file, relative to opened folders and
//! without following symlinks, so a link planted there cannot aim the runtime at another file. New
//! objects go to the shadow, from which the clone borrows: agents need to read, not write, both.
//!
//! All calls block; callers use their own threads for them. Between machines commits travel as files
//! (`pack`). Deliberately absent: pushing, remotes other than the clones, and any library that would
//! be a second git.

mod aside;
mod bring_up;
mod clone_index;
mod deliver;
mod diff;
mod dot_git;
mod features;
mod files;
mod follow;
mod git;
mod in_the_way;
mod in_use;
mod interrupted;
mod land;
mod left;
mod mend;
mod merging;
mod only_here;
mod pack;
mod repository;
mod revert;
mod secrets;
mod set_up;
mod snapshot;
mod touched;
mod tree;
mod unversioned;
mod update;
mod work;

use std::fmt;

pub use aside::{Kept, Leftover, LeftoverKind, LetGoFailure, RemoveFailure, Rescued};
pub use bring_up::{BroughtUp, Keep};
pub use deliver::{
    LandedWorkStands, LookFor, MissingFrom, PlannedMerge, ReadyMerge, UserMergeFailure,
};
pub use diff::{Difference, FileDifference};
pub use features::{Feature, FeatureBranch};
pub use git::Failure;
pub use git::{MARKED_AS, hide_from_every_git, mark_every_git};
pub use interrupted::{Begun, Intent, Settled};
pub use land::{
    AdvanceFailure, Change, ChangeKind, EntryKind, LandedWork, MergeText, Merged, TakeInFailure,
};
pub use left::Left;
pub use mend::SetAside;
pub use pack::{Aside, Stands, UnpackFailure};
pub use repository::{BeginFailure, Condition, Head, OpenFailure, Repository};
pub use snapshot::{Parent, Paths, Snapshot, SnapshotFailure};
pub use tree::Tree;
pub use unversioned::{Judges, Unversioned, UnversionedFailure};
pub use update::{PlannedUpdate, ReadyUpdate};
pub use work::clear_locks;

/// The full id of a commit, SHA-1 or SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Commit(String);

impl Commit {
    /// Only a full lowercase id: an abbreviation or a branch name could mean something else later.
    pub fn parse(text: &str) -> Option<Commit> {
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let fits = matches!(text.len(), 40 | 64) && text.bytes().all(hex);
        fits.then(|| Commit(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Enough of it for a person.
    pub fn short(&self) -> &str {
        &self.0[..12]
    }
}

impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<std::ffi::OsStr> for Commit {
    fn as_ref(&self) -> &std::ffi::OsStr {
        self.0.as_ref()
    }
}

/// Who a commit is by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    pub name: String,
    pub email: String,
}

/// One piece of submitted work: a task under one claim.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkKey {
    pub team: String,
    pub task: u32,
    pub token: u64,
}

impl WorkKey {
    /// Where the work is kept in the user's repository.
    /// The ref that the work lies under.
    pub fn refname(&self) -> String {
        format!("{}{}-{}", repository::work_refs(&self.team), self.task, self.token)
    }
}

/// Paths are shown to people and compared with scopes; bytes that are no text become marks.
fn path_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
