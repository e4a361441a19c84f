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

const FILES_SHOWN_MAX: usize = 20;
const SAID_BYTES_MAX: usize = 4 * 1024;

/// What git advises when a hook said no. The merge is taken back by then: there is none to complete.
const ADVICE: &str = "Not committing merge; use 'git commit' to complete the merge.";

/// Whether what landed can still be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandedWorkStands {
    /// Nothing is known to be missing where it was looked for.
    There,
    /// The team branch is gone, and the branch that is checked out has all that was on it.
    MergedAndGone { branch: String },
    /// It was looked for `last`, the newest of what landed, in vain.
    Missing { last: Commit, team_branch: MissingFrom },
}

/// Where work that landed is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookFor {
    OnTeamBranch,
    /// Or on the branch that is checked out.
    OnEither,
}

/// Why work that landed is not on the team branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingFrom {
    Gone,
    Moved,
}

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
    /// Not in git, ignored or not. The first ones, and how many more there are.
    #[error(
        "in your checkout, but not in git, and the merge would write over it: {}{}; nothing was \
             changed. Move it away (or delete it), then merge again; where it should not be on \
             shipmate/{team} at all, have it removed there first", files.join(", "), and_more(*more)
    )]
    InTheWay { team: String, files: Vec<String>, more: usize },
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
    /// A hook or a setting of the user's said no, and the merge was taken back.
    #[error("git did not merge, and nothing was changed; it said: {said}")]
    Refused { said: String },
    /// The same, but a hook has changed files on its way.
    #[error(
        "git did not merge, and {branch} is where it was, but not as they were before, changed by \
             a hook or by somebody meanwhile, are {}{} (see `git status`); git said: {said}",
        files.join(", "), and_more(*more)
    )]
    LeftChanges { branch: String, files: Vec<String>, more: usize, said: String },
    /// Somebody has gone on in the checkout before the merge could be taken back.
    #[error(
        "git did not merge, and something else was done in {at} meanwhile, which was left alone: \
             `git status` shows it; git said: {said}"
    )]
    LeftAlone { at: String, said: String },
    /// Git has ended; what it has done is neither finished nor taken back.
    #[error(
        "git has ended, and what it did cannot be finished or taken back yet: {failure}; nothing \
             more is changed: make room if the disk is full, and the next `shipmate merge` does it"
    )]
    Unsettled { failure: Failure },
    /// Before git was started.
    #[error("{0}; nothing was changed")]
    Failed(#[from] Failure),
}

fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" and {more} more") }
}

/// The first of them, and how many more there are.
fn some(mut files: Vec<String>) -> (Vec<String>, usize) {
    let more = files.len().saturating_sub(FILES_SHOWN_MAX);
    files.truncate(FILES_SHOWN_MAX);
    (files, more)
}

impl Repository {
    /// Looks whether the work that is on record as landed is still there: somebody may have moved
    /// or deleted the team branch by hand.
    pub fn landed_work_stands(
        &self,
        team: &str,
        base: &Commit,
        landed: &[Commit],
        look_for: LookFor,
    ) -> Result<LandedWorkStands, Failure> {
        let (tip, head) = (self.tip(team)?, self.head()?);
        let with_head = look_for == LookFor::OnEither;
        let has: Vec<&Commit> = tip.iter().chain(with_head.then_some(&head.commit)).collect();
        let all = self.newest_outside(landed, &has)?;
        if all.is_none() && tip.is_some() {
            return Ok(LandedWorkStands::There);
        }
        // A person may have completed a task with a commit of another branch.
        let brought = |one: &&Commit| self.has_brought_work(team, base, one);
        let brought: Vec<Commit> = landed.iter().filter(brought).cloned().collect();
        let team_branch = if tip.is_some() { MissingFrom::Moved } else { MissingFrom::Gone };
        // A commit that is nowhere any more may have been the newest.
        let is_known = !landed.is_empty() && brought.len() == landed.len();
        Ok(match (self.newest_outside(&brought, &has)?, head.branch) {
            (Some(last), _) => LandedWorkStands::Missing { last, team_branch },
            (None, Some(branch)) if tip.is_none() && with_head && is_known => {
                LandedWorkStands::MergedAndGone { branch }
            }
            (None, _) => LandedWorkStands::There,
        })
    }

    /// The newest of the commits, if one of them is not in the history of the others.
    fn newest_outside(&self, of: &[Commit], has: &[&Commit]) -> Result<Option<Commit>, Failure> {
        if of.is_empty() {
            return Ok(None);
        }
        let of = of.iter().map(|one| format!("{one}\n"));
        let names: String = of.chain(has.iter().map(|one| format!("^{one}\n"))).collect();
        // A commit that another machine has, or that nobody ever made, says nothing here.
        let args = ["rev-list", "--ignore-missing", "--topo-order", "--max-count=1", "--stdin"];
        let found = self.git().args(args).input(names.into_bytes()).run()?;
        Ok(Commit::parse(&found.text()))
    }

    /// Where the team branch stands, then the commit and the branch that the user has checked out.
    pub(super) fn team_and_checkout(
        &self,
        team: &str,
    ) -> Result<(Commit, Commit, String), UserMergeFailure> {
        let name = || team.to_owned();
        let tip = self.tip(team)?.ok_or_else(|| UserMergeFailure::NoSuchTeam { team: name() })?;
        let head = self.head()?;
        let branch = head.branch.ok_or(UserMergeFailure::Detached)?;
        match format!("refs/heads/{branch}") == team_ref(team) {
            true => Err(UserMergeFailure::OnTeamBranch { team: name() }),
            false => Ok((tip, head.commit, branch)),
        }
    }

    /// Looks whether the team branch can be merged into the branch that is checked out.
    pub fn plan_merge(&self, team: &str) -> Result<PlannedMerge, UserMergeFailure> {
        let (tip, head, branch) = self.team_and_checkout(team)?;
        if self.is_ancestor(&tip, &head)? {
            return Ok(PlannedMerge::AlreadyMerged { branch });
        }
        self.check_checkout()?;
        let name = || team.to_owned();
        let tried = merge_trees(self.git(), head.as_str(), tip.as_str())?;
        let tried = tried.ok_or_else(|| UserMergeFailure::Unrelated { team: name() })?;
        if !tried.clean {
            let (files, text) = (tried.conflicts(), tried.text);
            return Ok(PlannedMerge::Conflict { branch, files, text });
        }
        let tree = tried.tree;
        self.check_in_the_way(team, &head, &tree)?;
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
        // Again: the gate may have taken an hour since the plan.
        self.check_in_the_way(&ready.team, &ready.head, &ready.tree)?;
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
        // It says whom to wait for if this process dies; git itself is waited for without it.
        let _ = intent.write(folder);
        let unsettled = |failure| UserMergeFailure::Unsettled { failure };
        let status = git.wait().map_err(Failure::file("wait for git")).map_err(unsettled)?;
        let settled = self.settle(&intent, Begun::Now, folder).map_err(unsettled)?;
        let text = fs::read(&output).map(|bytes| path_text(&bytes)).unwrap_or_default();
        let said = match without_advice(&text) {
            text if text.is_empty() => status.to_string(),
            text => shipmate_process::tail(&text, SAID_BYTES_MAX).to_owned(),
        };
        match settled {
            Settled::Merged(commit) => Ok(commit),
            Settled::LeftAlone => {
                let at = self.root.display().to_string();
                Err(UserMergeFailure::LeftAlone { at, said })
            }
            Settled::Undone => Err(self.taken_back(ready, said).unwrap_or_else(unsettled)),
        }
    }

    /// What to say of a merge that was taken back: a hook may have changed files before it failed,
    /// and what it changed is not git's to put back.
    fn taken_back(&self, ready: &ReadyMerge, said: String) -> Result<UserMergeFailure, Failure> {
        let mut files = self.uncommitted()?;
        files.extend(self.in_the_way(&ready.head, &ready.tree)?);
        if files.is_empty() {
            return Ok(UserMergeFailure::Refused { said });
        }
        let (branch, (files, more)) = (ready.branch.clone(), some(files));
        Ok(UserMergeFailure::LeftChanges { branch, files, more, said })
    }

    /// Where it can be pushed to, by the names that the user gave.
    pub fn remotes(&self) -> Result<Vec<String>, Failure> {
        let listed = self.git().arg("remote").run()?.text();
        Ok(listed.lines().map(str::to_owned).collect())
    }

    /// Pushes the team's branch under a name to a remote, as the user's own git would. Repeating it
    /// changes nothing.
    pub fn push(&self, team: &str, remote: &str, branch: &str) -> Result<(), Failure> {
        let spec = format!("{}:refs/heads/{branch}", team_ref(team));
        Git::of_user(&self.root).args(["push", "--quiet", "--", remote, &spec]).run().map(drop)
    }

    /// Untracked files may be there, where the merge writes nothing.
    fn check_checkout(&self) -> Result<(), UserMergeFailure> {
        let folder = self.git_dir()?;
        let marks =
            ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"];
        if marks.iter().any(|mark| folder.join(mark).exists()) {
            return Err(UserMergeFailure::UnderWay { at: self.root.display().to_string() });
        }
        let (files, _) = some(self.uncommitted()?);
        if files.is_empty() { Ok(()) } else { Err(UserMergeFailure::Dirty { files }) }
    }

    /// The files that git keeps and that are not as they were committed.
    fn uncommitted(&self) -> Result<Vec<String>, Failure> {
        let status = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=no"];
        let status = self.git().args(status).arg("--ignore-submodules=dirty").run()?;
        Ok(status.fields().map(|field| path_text(&field[3..])).collect())
    }

    fn check_in_the_way(
        &self,
        team: &str,
        head: &Commit,
        tree: &str,
    ) -> Result<(), UserMergeFailure> {
        let (files, more) = some(self.in_the_way(head, tree)?);
        match files.is_empty() {
            true => Ok(()),
            false => Err(UserMergeFailure::InTheWay { team: team.to_owned(), files, more }),
        }
    }
}

/// Only about what is shown: nothing is decided by it.
fn without_advice(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| *line != ADVICE).collect();
    lines.join("\n").trim().to_owned()
}
