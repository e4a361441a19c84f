//! What teams leave in the user's repository, and what of it may go.
//!
//! A ref goes by itself only when nothing is lost with it: a team made it, nobody has committed to
//! it since, and its commits are all in a branch of the user's, or, for work that was handed in, on
//! the team branch. Objects are git's own matter: those that nothing names any more go with the
//! user's next `git gc`.

use std::collections::BTreeSet;

use super::aside::{Leftover, LeftoverKind};
use super::git::Failure;
use super::land::COMMITTER;
use super::repository::{Repository, team_ref};
use super::{Commit, path_text};

/// A ref of a team that is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub leftover: Leftover,
    /// Each commit that no branch of the user's has: its short id and subject, newest first.
    pub unmerged: Vec<String>,
}

impl Repository {
    /// What of all that lies here was left by teams that are gone. `began` says where each team
    /// began that may have made a ref.
    pub fn left(&self, began: impl Fn(&Leftover) -> Vec<String>) -> Result<Vec<Left>, Failure> {
        let mut theirs = Vec::new();
        for left in self.leftovers()? {
            let is_branch = left.kind == LeftoverKind::Branch;
            let mut is_theirs = false;
            for base in began(&left) {
                is_theirs |= !is_branch || self.is_untouched(&base, &left.commit)?;
            }
            if is_theirs {
                theirs.push(left);
            }
        }
        if theirs.is_empty() {
            return Ok(Vec::new());
        }
        let heads = self.git().args(["for-each-ref", "--format=%(refname)", "refs/heads"]);
        let heads = path_text(&heads.run()?.stdout);
        // One below `shipmate/` may go itself, whoever made it.
        let is_users = |name: &&str| !name.starts_with(&team_ref(""));
        let users: Vec<&str> = heads.lines().filter(is_users).collect();
        let merged = self.merged(&users, &["refs/shipmate/", "refs/heads/shipmate/"])?;
        let left = theirs.into_iter().map(|leftover| {
            let unmerged = match merged.contains(&leftover.refname) {
                true => Vec::new(),
                false => self.beyond(&leftover.commit, &users)?,
            };
            Ok(Left { leftover, unmerged })
        });
        left.collect()
    }

    /// Nobody but the runtime has committed on this line since `base`.
    fn is_untouched(&self, base: &str, tip: &Commit) -> Result<bool, Failure> {
        let Some(base) = Commit::parse(base) else { return Ok(false) };
        let git = self.git().args(["rev-list", "--first-parent", "--no-commit-header"]);
        let git = git.args(["--format=%ce", &format!("{base}..{tip}"), "--"]);
        let output = git.allow(&[0, 128]).run()?;
        let text = path_text(&output.stdout);
        Ok(output.code == 0 && text.lines().all(|email| email == COMMITTER.1))
    }

    /// The refs below these folders that one of the commits has all of.
    pub(super) fn merged(
        &self,
        into: &[&str],
        below: &[&str],
    ) -> Result<BTreeSet<String>, Failure> {
        if into.is_empty() {
            return Ok(BTreeSet::new());
        }
        let git = self.git().args(["for-each-ref", "--format=%(refname)"]);
        let git = git.args(into.iter().map(|into| format!("--merged={into}"))).args(below);
        let text = path_text(&git.run()?.stdout);
        Ok(text.lines().map(str::to_owned).collect())
    }

    fn beyond(&self, tip: &Commit, users: &[&str]) -> Result<Vec<String>, Failure> {
        let git = self.git().args(["rev-list", "--no-commit-header", "--format=%h %s"]);
        let output = git.arg(tip).arg("--not").args(users).arg("--").run()?;
        Ok(path_text(&output.stdout).lines().map(str::to_owned).collect())
    }

    /// Drops the refs of work that has landed on the team branch, of tasks that are `done`: all in
    /// one step, however many there are.
    pub fn collect(
        &self,
        team: &str,
        branch: &str,
        done: impl Fn(u32) -> bool,
    ) -> Result<(), Failure> {
        let Some(tip) = self.tip(branch)? else { return Ok(()) };
        let folder = format!("refs/shipmate/{team}/work/");
        let landed = self.merged(&[tip.as_str()], &[&folder])?;
        let is_done = |left: &Leftover| {
            let task = left.refname.strip_prefix(&folder).and_then(|name| name.split_once('-'));
            task.is_some_and(|(task, _)| task.parse().is_ok_and(&done))
        };
        let all = self.leftovers()?.into_iter();
        let over: Vec<_> =
            all.filter(|left| landed.contains(&left.refname) && is_done(left)).collect();
        self.drop_refs(&over)
    }

    /// Drops refs that are not branches, if all of them are still where they were.
    pub(super) fn drop_refs(&self, refs: &[Leftover]) -> Result<(), Failure> {
        if refs.is_empty() {
            return Ok(());
        }
        let line = |left: &Leftover| format!("delete {} {}\n", left.refname, left.commit);
        let input: String = refs.iter().map(line).collect();
        self.git().args(["update-ref", "--stdin"]).input(input.into_bytes()).run().map(drop)
    }

    /// Removes what nothing is lost with; the names of what is gone then.
    pub fn remove_merged(&self, left: &[Left]) -> Result<Vec<String>, Failure> {
        let merged = left.iter().filter(|left| left.unmerged.is_empty()).map(|left| &left.leftover);
        let (branches, refs): (Vec<_>, Vec<_>) =
            merged.cloned().partition(|left| left.kind == LeftoverKind::Branch);
        // One that has moved meanwhile keeps the rest from going in one step.
        let mut gone: Vec<Leftover> = match self.drop_refs(&refs) {
            Ok(()) => refs,
            Err(_) => refs.into_iter().filter(|left| self.remove(left).is_ok()).collect(),
        };
        gone.extend(branches.into_iter().filter(|left| self.remove(left).is_ok()));
        Ok(gone.into_iter().map(|left| left.refname).collect())
    }
}
