//! `shipmate merge`: the team branch into the branch that the user has checked out.
//!
//! The only thing here that touches the user's checkout, and so it runs as the user's own git:
//! their identity, config and hooks. It is tried without a working tree first; a conflict is known
//! before anything has changed. What is about to happen is written down before git is started, and
//! git runs apart from this process: whoever is killed, the next coordinator finds out what has
//! become of it.

use std::fs;
use std::path::Path;

use shipmate_process::Marker;

use super::git::{Failure, Git};
use super::interrupted::{Begun, Intent, Settled};
use super::land::by;
use super::merging::merge_trees;
use super::repository::{Repository, team_ref};
use super::{Author, Commit, path_text};

const DIRTY_SHOWN_MAX: usize = 20;
const SAID_BYTES_MAX: usize = 4 * 1024;

/// What a merge into the user's branch would come to. Nothing was changed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlannedMerge {
    Ready(ReadyMerge),
    /// The branch has all of it already.
    AlreadyMerged {
        branch: String,
    },
    Conflict {
        branch: String,
        files: Vec<String>,
        text: String,
    },
}

/// A merge that has no conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyMerge {
    pub team: String,
    pub branch: String,
    /// Where the user's branch and the team's stand.
    pub head: Commit,
    pub tip: Commit,
    /// What the files will be.
    pub tree: String,
    /// The files will be what they are on the team's branch.
    pub is_the_teams: bool,
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
    /// Plan it again.
    #[error("{branch} or shipmate/{team} has moved meanwhile; merge again")]
    Moved { branch: String, team: String },
    /// A hook or a setting of the user's said no. Everything is as before.
    #[error("git did not merge, and nothing was changed: {said}")]
    Refused { said: String },
    #[error(transparent)]
    Failed(#[from] Failure),
}

impl Repository {
    /// Looks whether the team branch can be merged into the branch that is checked out.
    pub fn plan_merge(&self, team: &str) -> Result<PlannedMerge, UserMergeFailure> {
        let name = || team.to_owned();
        let tip = self.tip(team)?.ok_or_else(|| UserMergeFailure::NoSuchTeam { team: name() })?;
        let head = self.head()?;
        let branch = head.branch.ok_or(UserMergeFailure::Detached)?;
        if format!("refs/heads/{branch}") == team_ref(team) {
            return Err(UserMergeFailure::OnTeamBranch { team: name() });
        }
        if self.is_ancestor(&tip, &head.commit)? {
            return Ok(PlannedMerge::AlreadyMerged { branch });
        }
        self.check_checkout()?;
        let tried = merge_trees(self.git(), head.commit.as_str(), tip.as_str())?;
        let tried = tried.ok_or_else(|| UserMergeFailure::Unrelated { team: name() })?;
        if !tried.clean {
            let (files, text) = (tried.conflicts(), tried.text);
            return Ok(PlannedMerge::Conflict { branch, files, text });
        }
        let (tree, head) = (tried.tree, head.commit);
        let is_the_teams = tree == self.tree_of(&tip)?;
        Ok(PlannedMerge::Ready(ReadyMerge { team: name(), branch, head, tip, tree, is_the_teams }))
    }

    /// A commit with the files that the merge will give, to look at; no branch has it.
    pub fn commit_of(&self, ready: &ReadyMerge) -> Result<Commit, Failure> {
        let author = Author { name: "shipmate".to_owned(), email: "shipmate@localhost".to_owned() };
        let git = by(self.git(), &author).args(["commit-tree", &ready.tree, "-m", "to be merged"]);
        let git = git.args(["-p", ready.head.as_str(), "-p", ready.tip.as_str()]);
        Ok(git.run()?.commit())
    }

    /// Merges what was planned, as the user's own git would. `folder` keeps what is about to
    /// happen and what git says; the one before must be settled ([`Repository::settle`]).
    pub fn merge_into_user(
        &self,
        ready: &ReadyMerge,
        folder: &Path,
        digest: &str,
    ) -> Result<Commit, UserMergeFailure> {
        let head = self.head()?;
        let stands = head.branch.as_ref() == Some(&ready.branch) && head.commit == ready.head;
        if !stands || self.tip(&ready.team)?.as_ref() != Some(&ready.tip) {
            let (branch, team) = (ready.branch.clone(), ready.team.clone());
            return Err(UserMergeFailure::Moved { branch, team });
        }
        self.check_checkout()?;
        let marker = Marker::new(digest, Intent::MARKED_AS, &ready.team)
            .map_err(|e| UserMergeFailure::Refused { said: e.to_string() })?
            .to_string();
        let mut intent = Intent {
            team: ready.team.clone(),
            branch: ready.branch.clone(),
            head: ready.head.to_string(),
            tip: ready.tip.to_string(),
            tree: ready.tree.clone(),
            marker,
            pid: None,
        };
        intent.write(folder)?;
        let subject = format!("Merge the work of team {}", ready.team);
        let args = ["merge", "--no-ff", "--no-edit", "--no-squash", "--commit", "-m", &subject];
        let output = folder.join("output");
        let git = Git::of_user(&self.root).args(args).arg(&ready.tip);
        let mut git = match git.start_apart(&output, &intent.marker) {
            Ok(git) => git,
            Err(failure) => {
                Intent::remove(folder)?;
                return Err(failure.into());
            }
        };
        intent.pid = Some(git.id());
        intent.write(folder)?;
        let status = git.wait().map_err(Failure::file("wait for git"))?;
        let settled = self.settle(&intent, Begun::Now, folder)?;
        if let Settled::Merged(commit) = settled {
            return Ok(commit);
        }
        let text = fs::read(&output).map(|bytes| path_text(&bytes)).unwrap_or_default();
        let said = match text.trim() {
            "" => status.to_string(),
            text => crate::hooks::evidence::tail(text, SAID_BYTES_MAX).to_owned(),
        };
        Err(UserMergeFailure::Refused { said })
    }

    /// Pushes the team's branch under a name to a remote, as the user's own git would. Repeating it
    /// changes nothing.
    pub fn push(&self, team: &str, remote: &str, branch: &str) -> Result<(), Failure> {
        let spec = format!("{}:refs/heads/{branch}", team_ref(team));
        Git::of_user(&self.root).args(["push", "--quiet", "--", remote, &spec]).run().map(drop)
    }

    /// Untracked files may be there: git itself refuses to overwrite them.
    fn check_checkout(&self) -> Result<(), UserMergeFailure> {
        let folder = self.git_dir()?;
        let marks =
            ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"];
        if marks.iter().any(|mark| folder.join(mark).exists()) {
            return Err(UserMergeFailure::UnderWay { at: self.root.display().to_string() });
        }
        let status = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=no"];
        let status = self.git().args(status).arg("--ignore-submodules=dirty").run()?;
        let files = status.fields().map(|field| path_text(&field[3..]));
        let files: Vec<_> = files.take(DIRTY_SHOWN_MAX).collect();
        if files.is_empty() { Ok(()) } else { Err(UserMergeFailure::Dirty { files }) }
    }
}
