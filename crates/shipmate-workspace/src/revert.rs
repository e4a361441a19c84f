//! Landed work taken back: commits on top that undo what merges brought, and nothing else.
//!
//! History is never rewritten: who has the branch already can follow it.

use super::git::Failure;
use super::land::by;
use super::merging::merge_trees;
use super::{Author, Commit, Repository};

impl Repository {
    /// Takes the changes of merges back from a commit, the last merge first. Nothing where none
    /// of them is in it any more; the files that stand in the way where later work has changed
    /// them too.
    pub fn revert(
        &self,
        onto: &Commit,
        merges: &[Commit],
        author: &Author,
        message: &str,
    ) -> Result<Result<Option<Commit>, Vec<String>>, Failure> {
        let mut at = onto.clone();
        for merge in merges {
            let bare = |tree: &str, parent: Option<&str>| -> Result<String, Failure> {
                let git = self.dated(merge)?.args(["commit-tree", tree, "-m", "x"]);
                Ok(git.args(parent.iter().flat_map(|parent| ["-p", parent])).run()?.text())
            };
            let with = bare(&format!("{merge}^{{tree}}"), None)?;
            let ours = bare(&format!("{at}^{{tree}}"), Some(&with))?;
            let without = bare(&format!("{merge}^1^{{tree}}"), Some(&with))?;
            let merged = merge_trees(self.git().env("GIT_ATTR_SOURCE", &at), &ours, &without)?;
            let merged = merged.expect("both have the same parent");
            if !merged.clean {
                return Ok(Err(merged.conflicts()));
            }
            if merged.tree != self.tree_of(&at)? {
                let text = format!("{}\n\nShipmate-Reverts: {merge}\n", message.trim_end());
                let git = by(self.git(), author).args(["commit-tree", &merged.tree, "-F", "-"]);
                let git = git.args(["-p", at.as_str()]);
                at = git.input(text.into_bytes()).run()?.commit();
            }
        }
        Ok(Ok((at != *onto).then_some(at)))
    }
}
