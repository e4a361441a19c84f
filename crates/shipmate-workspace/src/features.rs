//! One branch per feature, each with the changes of its tasks alone.
//!
//! A feature's branch is `shipmate/<team>.<feature>`: git cannot have branches below
//! `shipmate/<team>` while that is a branch itself, and a team's name holds no dot. The commits get
//! the times of the merges they come from, so the same tasks give the same commits, and a branch
//! made earlier is extended rather than replaced.

use super::git::{Failure, Git};
use super::land::{LandedWork, by};
use super::merging::{MergedTree, merge_trees};
use super::repository::Repository;
use super::{Author, Commit};

/// The trailer that names the merge which a commit is made from.
pub(super) const COPY_OF: &str = "Shipmate-Copy-Of";

#[derive(Debug, Clone)]
pub struct Feature {
    pub name: String,
    pub tasks: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeatureBranch {
    Made {
        feature: String,
        branch: String,
        commit: Commit,
    },
    /// None of its tasks has landed.
    Empty {
        feature: String,
    },
    /// A change does not apply without those of other features. No branch was made.
    Needs {
        feature: String,
        task: u32,
        features: Vec<String>,
        files: Vec<String>,
    },
    /// The branch holds something else. Delete it (`git branch -D`) to have it made anew.
    Exists {
        feature: String,
        branch: String,
        commit: Commit,
    },
}

impl Repository {
    /// Lays each feature's tasks, in the order they landed, onto `base`.
    pub fn feature_branches(
        &self,
        team: &str,
        base: &Commit,
        features: &[Feature],
    ) -> Result<Vec<FeatureBranch>, Failure> {
        let log = self.log(team, base)?;
        features.iter().map(|one| self.feature_branch(team, base, one, features, &log)).collect()
    }

    fn feature_branch(
        &self,
        team: &str,
        base: &Commit,
        one: &Feature,
        all: &[Feature],
        log: &[LandedWork],
    ) -> Result<FeatureBranch, Failure> {
        let feature = one.name.clone();
        let mut at = base.clone();
        for (index, work) in log.iter().enumerate() {
            if !one.tasks.contains(&work.task) {
                continue;
            }
            let merged = self.apply(&at, &work.commit)?;
            if !merged.clean {
                let (task, files) = (work.task, merged.conflicts());
                let features = needed(one, all, &log[..index], &files);
                return Ok(FeatureBranch::Needs { feature, task, features, files });
            }
            if merged.tree != self.tree_of(&at)? {
                at = self.copy(work, &merged.tree, &at)?;
            }
        }
        if at == *base {
            return Ok(FeatureBranch::Empty { feature });
        }
        let branch = format!("shipmate/{team}.{feature}");
        let name = format!("refs/heads/{branch}");
        let why = "shipmate: one feature's work";
        match self.resolve(&name)? {
            None => self.create_ref(&name, &at, why)?,
            Some(found) if found == at => {}
            Some(found) if self.is_ancestor(&found, &at)? && self.checkout_of(&name)?.is_none() => {
                self.move_ref(&name, found.as_str(), at.as_str(), why)?;
            }
            Some(commit) => return Ok(FeatureBranch::Exists { feature, branch, commit }),
        }
        Ok(FeatureBranch::Made { feature, branch, commit: at })
    }

    /// The change of one merge, onto another commit. The three trees get a history of their own
    /// for it: `merge-tree --merge-base` is newer than the oldest git we accept.
    fn apply(&self, onto: &Commit, merge: &Commit) -> Result<MergedTree, Failure> {
        let bare = |tree: &str, parent: Option<&str>| -> Result<String, Failure> {
            let git = self.dated(merge)?.args(["commit-tree", tree, "-m", "x"]);
            Ok(git.args(parent.iter().flat_map(|parent| ["-p", parent])).run()?.text())
        };
        let before = bare(&format!("{merge}^1^{{tree}}"), None)?;
        let ours = bare(&format!("{onto}^{{tree}}"), Some(&before))?;
        let theirs = bare(&format!("{merge}^{{tree}}"), Some(&before))?;
        let merged = merge_trees(self.git().env("GIT_ATTR_SOURCE", onto), &ours, &theirs)?;
        Ok(merged.expect("both have the same parent"))
    }

    fn copy(&self, work: &LandedWork, tree: &str, onto: &Commit) -> Result<Commit, Failure> {
        let message = format!("{}\n\n{COPY_OF}: {}\n", work.subject.trim_end(), work.commit);
        let git = self.dated(&work.commit)?.args(["commit-tree", tree, "-F", "-", "-p"]);
        Ok(git.arg(onto).input(message.into_bytes()).run()?.commit())
    }

    /// Author and times of a merge, for commits made from it.
    pub(super) fn dated(&self, merge: &Commit) -> Result<Git, Failure> {
        let args = ["rev-list", "--no-walk", "--no-commit-header", "--format=%an%n%ae%n%at"];
        let text = self.git().args(args).arg(merge).run()?.text();
        let mut lines = text.lines().map(str::to_owned);
        let mut line = || lines.next().unwrap_or_default();
        let author = Author { name: line(), email: line() };
        let date = format!("{} +0000", line());
        let git = by(self.git(), &author);
        Ok(git.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date))
    }
}

/// The other features whose earlier work touched the files that do not fit.
fn needed(one: &Feature, all: &[Feature], earlier: &[LandedWork], files: &[String]) -> Vec<String> {
    let touches = |work: &&LandedWork| work.files.iter().any(|file| files.contains(file));
    let tasks: Vec<u32> = earlier.iter().filter(touches).map(|work| work.task).collect();
    let others = all.iter().filter(|other| other.name != one.name);
    let needed = others.filter(|other| other.tasks.iter().any(|task| tasks.contains(task)));
    needed.map(|other| other.name.clone()).collect()
}
