//! What teams leave in the user's repository, and what of it may go.
//!
//! A ref goes by itself only when nothing is lost with it: a team made it, nobody has committed to
//! it since, and its commits are all in a branch of the user's, or, for work that was handed in, on
//! the team branch. One that the user has committed to is told for as long as that is in no other
//! branch. Objects are git's own matter: those that nothing names any more go with the
//! user's next `git gc`.

use std::collections::BTreeSet;
use std::fs;

use super::aside::{Leftover, LeftoverKind};
use super::features::COPY_OF;
use super::git::Failure;
use super::land::COMMITTER;
use super::repository::{Repository, team_ref, work_refs};
use super::{Commit, path_text};

/// A ref of a team that is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub leftover: Leftover,
    /// Each commit that no branch of the user's has: its short id and subject, newest first.
    pub unmerged: Vec<String>,
}

/// Who has made a branch below `shipmate/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    Users,
    /// A team, and the user has committed to it since.
    Both,
    Team,
}

impl Repository {
    /// What of all that lies here was left by teams that are gone. `began` says where each team
    /// began that may have made a ref.
    pub fn left(&self, began: impl Fn(&Leftover) -> Vec<String>) -> Result<Vec<Left>, Failure> {
        let mut theirs = Vec::new();
        for left in self.leftovers()? {
            let mut whose = Whose::Users;
            for base in began(&left) {
                whose = whose.max(match left.kind {
                    LeftoverKind::Branch => self.whose(&base, &left)?,
                    _ => Whose::Team,
                });
            }
            if whose != Whose::Users {
                theirs.push((left, whose));
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
        let mut found = Vec::new();
        for (leftover, whose) in theirs {
            let unmerged = match merged.contains(&leftover.refname) {
                // Nothing would be lost with it, but it may be worked on.
                true if whose == Whose::Both => continue,
                true => Vec::new(),
                false => self.beyond(&leftover.commit, &users)?,
            };
            found.push(Left { leftover, unmerged });
        }
        Ok(found)
    }

    /// Who has committed on this branch since the team began at `base`.
    fn whose(&self, base: &str, left: &Leftover) -> Result<Whose, Failure> {
        // A team without trees makes no branch.
        let Some(base) = Commit::parse(base) else { return Ok(Whose::Users) };
        let git = self.git().args(["rev-list", "--first-parent", "--no-commit-header"]);
        // Of a copy that the user has amended, the trailer is left.
        let format =
            format!("--format=%ce%x00%(trailers:key={COPY_OF},valueonly,unfold,separator=%x2C)");
        let git = git.args([&format, &format!("{base}..{}", left.commit), "--"]);
        let output = git.allow(&[0, 128]).run()?;
        let text = path_text(&output.stdout);
        let commits: Vec<(&str, &str)> =
            text.lines().filter_map(|line| line.split_once('\0')).collect();
        let is_ours = |(email, _): &(&str, &str)| *email == COMMITTER.1;
        let is_copy = |(_, copy): &(&str, &str)| !copy.is_empty();
        Ok(match output.code == 0 {
            true if commits.iter().all(is_ours) => Whose::Team,
            // The branch of a team is begun before anything is on it; that of a feature is not.
            true if left.refname == team_ref(&left.team) => Whose::Both,
            true if commits.iter().any(|one| is_ours(one) || is_copy(one)) => Whose::Both,
            _ => Whose::Users,
        })
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
        let folder = work_refs(team);
        let of_done = |name: &str| {
            name.split_once('-').is_some_and(|(task, _)| task.parse().is_ok_and(&done))
        };
        // A git that was killed has left them: nobody hands in what is done, and one of them would
        // keep all refs from going.
        for entry in fs::read_dir(self.common.join(&folder)).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name.to_str().and_then(|name| name.strip_suffix(".lock")).is_some_and(of_done) {
                drop(fs::remove_file(entry.path()));
            }
        }
        let Some(tip) = self.tip(branch)? else { return Ok(()) };
        let landed = self.merged(&[tip.as_str()], &[&folder])?;
        let is_done = |left: &Leftover| left.refname.strip_prefix(&folder).is_some_and(of_done);
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
        let delete =
            || self.git().args(["update-ref", "--stdin"]).input(input.clone().into_bytes());
        delete().run().map(drop).or_else(|_| {
            Repository::unlock_packed(&self.root);
            delete().run().map(drop)
        })
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
