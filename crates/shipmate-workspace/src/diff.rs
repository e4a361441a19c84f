//! What work has changed, as a unified diff for a person.
//!
//! Nobody's program runs for it: no external diff, no text conversion, no pager. Attributes are
//! those of the commit that is compared with, so work cannot hide itself by calling its own files
//! binary. Looking at a tree writes nothing that stays: the index and the objects it takes lie in
//! the shadow until the look is over.

use std::fs;
use std::path::PathBuf;

use super::dot_git::DotGit;
use super::git::{Failure, Git};
use super::repository::Repository;
use super::snapshot::Paths;
use super::tree::{Tree, alternates_text, cannot, put, remove};
use super::{Commit, path_text};

/// How much of a diff is shown.
const TEXT_BYTES_MAX: usize = 512 * 1024;
const FILES_MAX: usize = 2_000;
/// The list of files is not longer than this, whatever their names are.
const LIST_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How the folders begin that hold the objects of a look.
pub(super) const LOOKED_AT: &str = "looked-at";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    pub text: String,
    pub files: Vec<FileDifference>,
    /// There is more than is shown, of the text or the files.
    pub is_cut: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileDifference {
    /// As it is called after the change.
    pub path: String,
    pub added: u32,
    pub removed: u32,
    pub is_binary: bool,
}

impl Difference {
    /// Sets another one behind this, within the same limits.
    pub fn append(&mut self, other: Difference) {
        self.text.push_str(&other.text);
        self.files.extend(other.files);
        self.is_cut |= other.is_cut;
        self.limit();
    }

    fn limit(&mut self) {
        if self.text.len() > TEXT_BYTES_MAX {
            let end = self.text.as_bytes()[..TEXT_BYTES_MAX].iter().rposition(|b| *b == b'\n');
            self.text.truncate(end.map_or(0, |end| end + 1));
            self.is_cut = true;
        }
        if self.files.len() > FILES_MAX {
            self.files.truncate(FILES_MAX);
            self.is_cut = true;
        }
    }
}

impl Repository {
    /// The merges that brought a task's work to the team branch since `base`, oldest first, each
    /// with the token of its claim.
    pub fn brought(
        &self,
        team: &str,
        base: &Commit,
        task: u32,
    ) -> Result<Vec<(u64, Commit)>, Failure> {
        let mine = self.merges(team, base)?.into_iter().filter(|merge| merge.key.task == task);
        Ok(mine.map(|merge| (merge.key.token, merge.commit)).collect())
    }

    /// Where work left the team branch; nothing where they share no history.
    pub fn fork(&self, onto: &Commit, work: &Commit) -> Result<Option<Commit>, Failure> {
        let base = self.git().arg("merge-base").arg(onto).arg(work).allow(&[0, 1]).run()?;
        Ok((base.code == 0).then(|| base.commit()))
    }

    /// The first parent; nothing for a commit without one.
    pub fn before(&self, commit: &Commit) -> Result<Option<Commit>, Failure> {
        self.resolve(&format!("{commit}^1"))
    }

    /// The commit as it is kept here, if it is.
    pub fn find(&self, commit: &Commit) -> Result<Option<Commit>, Failure> {
        self.resolve(commit.as_str())
    }

    /// Work that was kept aside under this ref.
    pub fn kept(&self, refname: &str) -> Result<Option<Commit>, Failure> {
        match refname.starts_with("refs/shipmate/") {
            true => self.resolve(refname),
            false => Ok(None),
        }
    }

    /// From one commit to another; from nothing where there is none before.
    pub fn difference(&self, from: Option<&Commit>, to: &Commit) -> Result<Difference, Failure> {
        let from = match from {
            Some(from) => from.to_string(),
            None => self.git().arg("mktree").input(Vec::new()).run()?.text(),
        };
        compare(|| self.git(), &from, to.as_str())
    }
}

impl Tree {
    /// The commit of the team branch that the work in the tree stands on.
    pub fn began_at(&self, tip: &Commit) -> Result<Option<Commit>, Failure> {
        let other = self.merging(&DotGit::open(self.path())?)?;
        // In the middle of a merge the files hold the other side already.
        if let Some(other) = other
            && self.is_ancestor(&other, tip)?
        {
            return Ok(Some(other));
        }
        let Some(head) = self.head()? else { return Ok(None) };
        let base = self.git().arg("merge-base").arg(tip).arg(&head).allow(&[0, 1]).run()?;
        Ok((base.code == 0).then(|| base.commit()))
    }

    /// The tree as it is now, uncommitted and new files included, and folders with a `.git` of
    /// their own, which are left out.
    pub fn difference(
        &self,
        from: &Commit,
        paths: Paths<'_>,
    ) -> Result<(Difference, Vec<String>), Failure> {
        let mut tree = self.clone();
        self.remove_pipes();
        let objects = Objects::beside(self)?;
        tree.objects = Some(objects.0.clone());
        let staged = tree.stage(from, paths)?;
        Ok((compare(|| tree.git(), from.as_str(), &staged.tree)?, staged.left_out))
    }

    /// A commit of the clone, against where it left the team branch.
    pub fn difference_of(
        &self,
        tip: &Commit,
        work: &Commit,
    ) -> Result<Option<(Commit, Difference)>, Failure> {
        let Some(work) = self.resolve(work.as_str())? else { return Ok(None) };
        let base = self.git().arg("merge-base").arg(tip).arg(&work).allow(&[0, 1]).run()?;
        if base.code != 0 {
            return Ok(None);
        }
        let from = base.commit();
        let difference = compare(|| self.git(), from.as_str(), work.as_str())?;
        Ok(Some((from, difference)))
    }
}

/// A folder for objects that is gone when dropped.
struct Objects(PathBuf);

impl Objects {
    fn beside(tree: &Tree) -> Result<Objects, Failure> {
        let objects = Objects(tree.fresh(LOOKED_AT));
        let info = objects.0.join("info");
        fs::create_dir_all(&info).map_err(cannot("make", &info))?;
        let borrowed = [tree.shadow().join("objects")];
        put(&info.join("alternates"), &alternates_text(&borrowed))?;
        Ok(objects)
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        let _ = remove(&self.0);
    }
}

fn compare(git: impl Fn() -> Git, from: &str, to: &str) -> Result<Difference, Failure> {
    let ask = |shown: &[&str], most: usize| {
        let git = git().env("GIT_ATTR_SOURCE", from).args(["diff-tree", "-r", "-M", "-l400"]);
        let git = git.args(["--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short"]);
        let git = git.args(["--full-index", "--src-prefix=a/", "--dst-prefix=b/"]);
        git.args(shown).args([from, to]).most(most).run()
    };
    let listed = ask(&["--numstat", "-z"], LIST_BYTES_MAX)?;
    let patch = ask(&["-p"], TEXT_BYTES_MAX)?;
    let is_cut = listed.stdout.len() > LIST_BYTES_MAX || patch.stdout.len() > TEXT_BYTES_MAX;
    let text = path_text(&patch.stdout);
    let mut difference = Difference { text, files: read_numstat(&listed.stdout), is_cut };
    difference.limit();
    Ok(difference)
}

/// `added TAB removed TAB path NUL`, or for a rename an empty path and then both.
fn read_numstat(stdout: &[u8]) -> Vec<FileDifference> {
    let mut fields = stdout.split(|byte| *byte == 0);
    let mut files = Vec::new();
    while let Some(field) = fields.next() {
        let mut parts = field.splitn(3, |byte| *byte == b'\t');
        let (Some(added), Some(removed), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let path = match path {
            [] => fields.nth(1).unwrap_or_default(),
            path => path,
        };
        let count = |text: &[u8]| path_text(text).parse().ok();
        files.push(FileDifference {
            path: path_text(path),
            added: count(added).unwrap_or_default(),
            removed: count(removed).unwrap_or_default(),
            is_binary: count(added).is_none(),
        });
    }
    files
}
