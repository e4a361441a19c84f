//! `shipmate merge`: the team branch into the branch that the user has checked out.
//!
//! The only thing here that touches the user's checkout, and so it runs as the user's own git:
//! their identity, config and hooks. It is tried without a working tree first; a conflict is known
//! before anything has changed.

use std::path::Path;

use super::git::{Failure, Git};
use super::merging::merge_trees;
use super::repository::{Repository, team_ref};
use super::{Commit, path_text};

const DIRTY_SHOWN_MAX: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserMerge {
    Merged {
        branch: String,
        commit: Commit,
    },
    /// The branch has all of it already.
    AlreadyMerged {
        branch: String,
    },
    /// Nothing was changed.
    Conflict {
        branch: String,
        files: Vec<String>,
        text: String,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum UserMergeFailure {
    #[error("there is no branch shipmate/{team}; `shipmate team list` names the teams")]
    NoSuchTeam { team: String },
    #[error(
        "no branch is checked out (HEAD is detached); switch to the branch that shall get \
             the work: git switch <branch>"
    )]
    Detached,
    #[error(
        "the branch shipmate/{team} itself is checked out; switch to the branch that shall \
             get the work: git switch <branch>"
    )]
    OnTeamBranch { team: String },
    #[error("{} uncommitted: commit or stash first (git stash)", files.join(", "))]
    Dirty { files: Vec<String> },
    #[error("a merge, rebase or cherry-pick is under way in {at}; finish or abort it first")]
    UnderWay { at: String },
    #[error(
        "the branch shares no history with shipmate/{team}; switch to the branch the team \
             started from"
    )]
    Unrelated { team: String },
    /// A hook or a setting of the user's said no. Everything is as before.
    #[error("git did not merge, and nothing was changed: {said}")]
    Refused { said: String },
    #[error(transparent)]
    Failed(#[from] Failure),
}

impl Repository {
    pub fn merge_into_user(&self, team: &str) -> Result<UserMerge, UserMergeFailure> {
        let name = || team.to_owned();
        let tip = self.tip(team)?.ok_or_else(|| UserMergeFailure::NoSuchTeam { team: name() })?;
        let head = self.head()?;
        let branch = head.branch.ok_or(UserMergeFailure::Detached)?;
        if format!("refs/heads/{branch}") == team_ref(team) {
            return Err(UserMergeFailure::OnTeamBranch { team: name() });
        }
        if self.is_ancestor(&tip, &head.commit)? {
            return Ok(UserMerge::AlreadyMerged { branch });
        }
        self.check_checkout()?;
        let tried = merge_trees(self.git(), head.commit.as_str(), tip.as_str())?;
        let tried = tried.ok_or_else(|| UserMergeFailure::Unrelated { team: name() })?;
        if !tried.clean {
            let (files, text) = (tried.conflicts(), tried.text);
            return Ok(UserMerge::Conflict { branch, files, text });
        }
        let subject = format!("Merge the work of team {team}");
        let args = ["merge", "--no-ff", "--no-edit", "--no-squash", "--commit", "-m", &subject];
        let merged = Git::of_user(&self.root).args(args).arg(team_ref(team)).run();
        let commit = self.head()?.commit;
        match merged {
            Ok(_) => Ok(UserMerge::Merged { branch, commit }),
            // A hook that runs after the merge may fail; the merge has happened.
            Err(_) if commit != head.commit => Ok(UserMerge::Merged { branch, commit }),
            Err(Failure::Git { said, .. }) => {
                if self.resolve("MERGE_HEAD")?.is_some() {
                    Git::of_user(&self.root).args(["merge", "--abort"]).run()?;
                }
                Err(UserMergeFailure::Refused { said })
            }
            Err(failure) => Err(failure.into()),
        }
    }

    /// Pushes the team's branch under a name to a remote, as the user's own git would. Repeating it
    /// changes nothing.
    pub fn push(&self, team: &str, remote: &str, branch: &str) -> Result<(), Failure> {
        let spec = format!("{}:refs/heads/{branch}", team_ref(team));
        Git::of_user(&self.root).args(["push", "--quiet", "--", remote, &spec]).run().map(drop)
    }

    /// Untracked files may be there: git itself refuses to overwrite them.
    fn check_checkout(&self) -> Result<(), UserMergeFailure> {
        let folder = self.git().args(["rev-parse", "--absolute-git-dir"]).run()?.text();
        let marks =
            ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"];
        if marks.iter().any(|mark| Path::new(&folder).join(mark).exists()) {
            return Err(UserMergeFailure::UnderWay { at: self.root.display().to_string() });
        }
        let status = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=no"];
        let status = self.git().args(status).arg("--ignore-submodules=dirty").run()?;
        let files = status.fields().map(|field| path_text(&field[3..]));
        let files: Vec<_> = files.take(DIRTY_SHOWN_MAX).collect();
        if files.is_empty() { Ok(()) } else { Err(UserMergeFailure::Dirty { files }) }
    }
}
