//! `shipmate team update`: the branch that the user has checked out into the team branch.
//!
//! Only objects are made here; the team branch moves by `advance`, when the gate has passed.

use super::deliver::UserMergeFailure;
use super::land::by;
use super::merging::merge_trees;
use super::repository::Repository;
use super::{Author, Commit};

/// What bringing the user's branch to the team would come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlannedUpdate {
    Ready(ReadyUpdate),
    /// The team has all of it already.
    UpToDate {
        branch: String,
    },
    Conflict {
        branch: String,
        files: Vec<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyUpdate {
    /// The user's branch.
    pub branch: String,
    /// Where the team branch stands, and the commit that it can move to.
    pub tip: Commit,
    pub commit: Commit,
}

impl Repository {
    pub fn plan_update(&self, team: &str) -> Result<PlannedUpdate, UserMergeFailure> {
        let (tip, head, branch) = self.team_and_checkout(team)?;
        if self.is_ancestor(&head, &tip)? {
            return Ok(PlannedUpdate::UpToDate { branch });
        }
        let git = self.git().env("GIT_ATTR_SOURCE", &tip);
        let tried = merge_trees(git, tip.as_str(), head.as_str())?;
        let tried = tried.ok_or_else(|| UserMergeFailure::Unrelated { team: team.to_owned() })?;
        if !tried.clean {
            return Ok(PlannedUpdate::Conflict { branch, files: tried.conflicts() });
        }
        let text = format!("Bring {branch} to team {team}\n\nShipmate-Team: {team}\n");
        let author = Author { name: "shipmate".to_owned(), email: "shipmate@localhost".to_owned() };
        let git = by(self.git(), &author).args(["commit-tree", &tried.tree, "-F", "-"]);
        let git = git.args(["-p", tip.as_str(), "-p", head.as_str()]);
        let commit = git.input(text.into_bytes()).run()?.commit();
        Ok(PlannedUpdate::Ready(ReadyUpdate { branch, tip, commit }))
    }
}
