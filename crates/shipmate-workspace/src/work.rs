//! Work between a tree and the team branch: what was taken in, and what has landed.

use std::fs;
use std::path::Path;

use super::diff::LOOKED_AT;
use super::dot_git::DotGit;
use super::git::WORK;
use super::repository::work_refs;
use super::{Commit, Failure, Leftover, LeftoverKind, Repository, Tree, WorkKey};

impl Repository {
    /// The commit that was taken in for a task under one claim.
    pub fn work(&self, key: &WorkKey) -> Result<Option<Commit>, Failure> {
        self.resolve(&key.refname())
    }

    /// What was last handed in for a task, under whichever claim.
    pub fn last_work(&self, team: &str, task: u32) -> Result<Option<Commit>, Failure> {
        let folder = work_refs(team);
        let format = "--format=%(refname)";
        let output =
            self.git().args(["for-each-ref", format, &format!("{folder}{task}-*")]).run()?;
        let text = output.text();
        let tokens = text.lines().filter_map(|name| {
            let token = name.strip_prefix(&folder)?.strip_prefix(&format!("{task}-"))?;
            token.parse::<u64>().ok()
        });
        let Some(token) = tokens.max() else { return Ok(None) };
        self.work(&WorkKey { team: team.to_owned(), task, token })
    }

    /// Removes the branch of an earlier team if the user's branch has all of it; otherwise
    /// says where it stands.
    pub fn drop_if_merged(&self, team: &str) -> Result<Option<Commit>, Failure> {
        let Some(tip) = self.tip(team)? else { return Ok(None) };
        let own = |left: &Leftover| left.team == team && left.kind == LeftoverKind::Branch;
        let left = self.leftovers()?.into_iter().find(|left| own(left) && left.commit == tip);
        let merged = self.is_ancestor(&tip, &self.head()?.commit)?;
        match left.filter(|_| merged).map(|left| self.remove(&left)) {
            Some(Ok(())) => Ok(None),
            _ => Ok(Some(tip)),
        }
    }
}

impl Repository {
    /// What was handed in to an earlier team of this name is kept aside: the tasks of the next one
    /// have the same numbers, and nothing of it is theirs.
    pub fn retire(&self, team: &str) -> Result<(), Failure> {
        let own = |left: &Leftover| left.team == team && left.kind == LeftoverKind::Work;
        // What the user's branch has needs nobody's attention.
        let head = self.head()?.commit;
        let merged = self.merged(&[head.as_str()], &[&work_refs(team)])?;
        let of = |left: &Leftover| own(left) && merged.contains(&left.refname);
        self.drop_refs(&self.leftovers()?.into_iter().filter(of).collect::<Vec<_>>())?;
        for left in self.leftovers()?.into_iter().filter(own) {
            let name = left.refname.rsplit('/').next().unwrap_or_default();
            let short = left.commit.short();
            let aside = format!("refs/shipmate/{team}/aside/earlier-{name}-{short}");
            self.git().args(["update-ref", "--no-deref", &aside]).arg(&left.commit).run()?;
            // Where it cannot be removed it has moved: somebody is at it.
            drop(self.remove(&left));
        }
        Ok(())
    }
}

impl Tree {
    /// The team branch has this commit already.
    pub fn has_landed(&self, commit: &Commit, tip: &Commit) -> Result<bool, Failure> {
        self.is_ancestor(commit, tip)
    }
}

/// Removes the locks that a killed git left in a tree, and what it was writing. Only for a
/// tree in which nobody works: everything that did is known to be gone.
pub fn clear_locks(tree: &Path) {
    let shadow = tree.with_added_extension("shadow");
    let left = |name: &str| name.starts_with("index-") || name.ends_with(".lock");
    // What this process itself has there is in use: it looks at the tree.
    let own = format!("-{}-", std::process::id());
    let folders = [shadow.join(WORK), shadow.clone()];
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| !name.contains(&own)) else { continue };
        // What cannot be removed is in nobody's way: names there are never used again.
        if name.starts_with(LOOKED_AT) {
            drop(shipmate_process::remove_folder(&entry.path()));
        } else if left(name) {
            drop(fs::remove_file(entry.path()));
        }
    }
    let Ok(dot_git) = DotGit::open(tree) else { return };
    for lock in ["index.lock", "HEAD.lock", "packed-refs.lock"] {
        drop(dot_git.take_out(lock, &shadow.join("bin-of-locks")));
    }
}
