//! Work between a tree and the team branch: what was taken in, and what has landed.

use super::{Commit, Failure, Repository, Tree, WorkKey};

impl Repository {
    /// The commit that was taken in for a task under one claim.
    pub fn work(&self, key: &WorkKey) -> Result<Option<Commit>, Failure> {
        self.resolve(&format!("refs/shipmate/{}/work/{}-{}", key.team, key.task, key.token))
    }
}

impl Tree {
    /// The team branch has this commit already.
    pub fn has_landed(&self, commit: &Commit, tip: &Commit) -> Result<bool, Failure> {
        self.is_ancestor(commit, tip)
    }
}
