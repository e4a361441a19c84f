//! Work that must not be lost, and the refs that a finished team leaves behind.

use super::dot_git::DotGit;
use super::git::Failure;
use super::repository::{Repository, team_ref};
use super::snapshot::Paths;
use super::tree::Tree;
use super::{Commit, path_text};

/// The mode of a submodule's entry.
const SUBMODULE: &str = "160000";

/// Where a clone has the repositories of the submodules that are checked out in it.
const MODULES: &str = "modules";

/// Rescued work, safe in the user's repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub refname: String,
    pub commit: Commit,
    /// What it changes against the team branch.
    pub files: Vec<String>,
}

/// What came of a rescue.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "what is left out is in the tree alone"]
pub struct Rescued {
    /// Nothing where there was nothing to rescue.
    pub kept: Option<Kept>,
    /// Folders with a `.git` of their own: not rescued, whether anything else was or not. Bringing
    /// the tree up would delete them.
    pub left_out: Vec<String>,
}

/// What rescued work is kept under.
#[derive(Clone, Copy)]
pub(super) struct Label<'a> {
    pub(super) team: &'a str,
    pub(super) text: &'a str,
    /// Of what beside the work itself: a branch, say.
    part: Option<&'a str>,
}

impl<'a> Label<'a> {
    pub(super) fn and<'b>(self, part: &'b str) -> Label<'b>
    where
        'a: 'b,
    {
        Label { part: Some(part), ..self }
    }

    pub(super) fn of(team: &'a str, text: &'a str) -> Label<'a> {
        Label { team, text, part: None }
    }

    pub(super) fn refname(self, number: u32) -> String {
        let mut name = format!("refs/shipmate/{}/aside/{}", self.team, self.text);
        name.extend(self.part.map(|part| format!("-{part}")));
        name.extend((number > 1).then(|| format!("-{number}")));
        name
    }
}

/// What the team has, beside what is on a branch.
#[derive(Clone, Copy)]
enum Has<'a> {
    /// All that was brought in to be handed in.
    BroughtIn,
    /// What it was handed: what was brought in may never have got there.
    HandedIn(&'a [Commit]),
}

/// What becomes of the tree.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    ItStays,
    /// With the logs and the index of its clone.
    ItGoes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftoverKind {
    /// A branch under `shipmate/`.
    Branch,
    /// Work that was submitted.
    Work,
    /// Work that was rescued.
    Aside,
    Other,
}

/// A ref that shipmate made in the user's repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    pub refname: String,
    pub commit: Commit,
    pub team: String,
    pub kind: LeftoverKind,
}

#[derive(Debug, thiserror::Error)]
pub enum RemoveFailure {
    #[error("{refname} is checked out in {at}; switch that checkout to another branch first")]
    CheckedOut { refname: String, at: String },
    #[error("{refname} has moved since it was listed; look at it again")]
    Moved { refname: String },
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// Why a tree stays.
#[derive(Debug, thiserror::Error)]
pub enum LetGoFailure {
    #[error("{} has a repository of its own inside, which cannot be rescued", folders.join(", "))]
    Nested { folders: Vec<String> },
    #[error("its submodules are checked out, and what was changed in them cannot be rescued")]
    Submodules,
    #[error(transparent)]
    Failed(#[from] Failure),
}

impl Repository {
    /// Rescues what is in a tree and not on the team branch: commits, changes, and new files that
    /// are not ignored, as one commit under `refs/shipmate/<team>/aside/<label>`, and the clone's
    /// other branches, tags, stashes and refs beside it. Nothing in the tree changes. Nothing to
    /// rescue, nothing made.
    ///
    /// A label that holds other work already gets a number: nothing is overwritten.
    pub fn keep_aside(&self, tree: &Tree, team: &str, label: &str) -> Result<Rescued, Failure> {
        self.rescue(tree, Label::of(team, label), Has::BroughtIn, Then::ItStays)
    }

    /// The same for what a life left that was replaced, also where it was brought in to be handed in and
    /// is none of the commits that the team was handed.
    pub fn keep_late(
        &self,
        tree: &Tree,
        team: &str,
        label: &str,
        handed_in: &[Commit],
    ) -> Result<Rescued, Failure> {
        self.rescue(tree, Label::of(team, label), Has::HandedIn(handed_in), Then::ItStays)
    }

    fn rescue(
        &self,
        tree: &Tree,
        label: Label<'_>,
        has: Has<'_>,
        then: Then,
    ) -> Result<Rescued, Failure> {
        let Label { team, text, .. } = label;
        let tip = match self.tip(team)? {
            Some(tip) => tip,
            None => self.head()?.commit,
        };
        tree.clear_the_way();
        // A clone with an unreadable HEAD still has its files.
        let head = tree.position().ok().and_then(|position| position.commit);
        let onto = head.unwrap_or_else(|| tip.clone());
        let mut staged = tree.stage(&onto, Paths::All)?;
        let commit = if staged.tree != tree.tree_of(&onto)? {
            Some(tree.commit(&staged.tree, &[&onto], &format!("kept aside: {text}\n"))?)
        } else if tree.is_ancestor(&onto, &tip)? || self.has(&onto, team, has)? {
            None
        } else {
            Some(onto.clone())
        };
        let kept = commit.map(|commit| self.keep_work(tree, label, &tip, commit)).transpose()?;
        // Without a `.git` there are no branches.
        if let Ok(dot_git) = DotGit::open(tree.path()) {
            self.keep_names(tree, label, &tip, dot_git.names()?)?;
            if then == Then::ItGoes {
                self.keep_logged(tree, label, &tip, dot_git.logged())?;
                self.keep_staged(tree, label, &onto, &staged, &dot_git)?;
            }
            if dot_git.has(MODULES) {
                staged.left_out.extend(tree.new_submodules(&tip, &staged.tree)?);
            }
        }
        Ok(Rescued { kept, left_out: staged.left_out })
    }

    fn keep_work(
        &self,
        tree: &Tree,
        label: Label<'_>,
        tip: &Commit,
        commit: Commit,
    ) -> Result<Kept, Failure> {
        let refname = self.keep(tree, label, &commit)?;
        let commit = self.resolve(&refname)?.unwrap_or(commit);
        let files = self.changed(tip, &commit)?.into_iter().map(|change| change.path).collect();
        Ok(Kept { refname, commit, files })
    }

    /// The only way in which a teammate's tree goes: what is in it and nowhere else is rescued
    /// first, its files, commits (also those that only a log of the clone leads to), every ref and
    /// what is staged; ignored files go with it. What cannot be rescued keeps the tree there.
    /// Repeating it after a crash rescues nothing twice.
    pub fn let_go(&self, tree: Tree, team: &str, label: &str) -> Result<(), LetGoFailure> {
        let has_submodules = DotGit::open(tree.path()).is_ok_and(|dot_git| dot_git.has(MODULES));
        let label = Label::of(team, label);
        let folders = self.rescue(&tree, label, Has::BroughtIn, Then::ItGoes)?.left_out;
        if has_submodules {
            return Err(LetGoFailure::Submodules);
        }
        if !folders.is_empty() {
            return Err(LetGoFailure::Nested { folders });
        }
        Ok(tree.remove()?)
    }

    /// A branch has this commit, or what the team has beside it.
    fn has(&self, commit: &Commit, team: &str, has: Has<'_>) -> Result<bool, Failure> {
        let mut known = Vec::new();
        match has {
            Has::BroughtIn => known.push(format!("--glob=refs/shipmate/{team}/work")),
            Has::HandedIn(commits) => {
                for commit in commits {
                    known.extend(self.resolve(commit.as_str())?.map(|known| known.to_string()));
                }
            }
        }
        let git = self.git().args(["rev-list", "--max-count=1"]).arg(commit);
        // To git it is a failure when the commit is not here at all.
        let output = git.args(["--not", "--branches"]).args(&known).allow(&[0, 128]).run()?;
        Ok(output.code == 0 && output.stdout.is_empty())
    }

    pub(super) fn keep(
        &self,
        tree: &Tree,
        label: Label<'_>,
        commit: &Commit,
    ) -> Result<String, Failure> {
        let commit = &self.without_unversioned(tree, commit)?;
        let mut number = 1;
        loop {
            let name = label.refname(number);
            match self.resolve(&name)? {
                None => {
                    self.fetch_from(tree, commit, &name)?;
                    return Ok(name);
                }
                // Rescued again after a crash: the same files on the same commit.
                Some(found) if self.is_same_work(tree, &found, commit)? => return Ok(name),
                Some(_) => number += 1,
            }
        }
    }

    fn is_same_work(&self, tree: &Tree, old: &Commit, new: &Commit) -> Result<bool, Failure> {
        let about = ["rev-list", "--no-walk", "--no-commit-header", "--format=%T %P"];
        let old = self.git().args(about).arg(old).run()?.text();
        Ok(old == tree.git().args(about).arg(new).run()?.text())
    }

    /// All that shipmate has made here, of any team.
    pub fn leftovers(&self) -> Result<Vec<Leftover>, Failure> {
        let format = "--format=%(refname)%00%(objectname)";
        let git =
            self.git().args(["for-each-ref", format, "refs/shipmate/", "refs/heads/shipmate/"]);
        let text = path_text(&git.run()?.stdout);
        Ok(text.lines().filter_map(read_leftover).collect())
    }

    /// Removes one, unless it has moved or is checked out.
    pub fn remove(&self, leftover: &Leftover) -> Result<(), RemoveFailure> {
        let refname = leftover.refname.clone();
        if let Some(at) = self.checkout_of(&refname)? {
            return Err(RemoveFailure::CheckedOut { refname, at: at.display().to_string() });
        }
        let git = self.git().args(["update-ref", "--no-deref", "-d", &refname]);
        let Err(failure) = git.arg(&leftover.commit).run() else { return Ok(()) };
        match self.resolve(&refname)? {
            None => Ok(()),
            Some(found) if found == leftover.commit => Err(failure.into()),
            Some(_) => Err(RemoveFailure::Moved { refname }),
        }
    }
}

impl Tree {
    /// The submodules that a tree object has and the commit does not: without its entry, the folder
    /// of one is a repository like any other.
    fn new_submodules(&self, than: &Commit, tree: &str) -> Result<Vec<String>, Failure> {
        let git = self.git().args(["diff-tree", "-r", "-z", "--raw", "--no-renames"]);
        let output = git.arg(than).args([tree, "--"]).run()?;
        let (mut fields, mut found) = (output.fields(), Vec::new());
        while let (Some(change), Some(path)) = (fields.next(), fields.next()) {
            let change = path_text(change);
            let mut modes = change.trim_start_matches(':').split(' ');
            if modes.next() != Some(SUBMODULE) && modes.next() == Some(SUBMODULE) {
                found.push(path_text(path));
            }
        }
        Ok(found)
    }
}

fn read_leftover(line: &str) -> Option<Leftover> {
    let (refname, commit) = line.split_once('\0')?;
    let (team, kind) = match refname.strip_prefix(&team_ref("")) {
        // A feature's branch is `<team>.<feature>`.
        Some(branch) => (branch.split('.').next()?, LeftoverKind::Branch),
        None => {
            let (team, rest) = refname.strip_prefix("refs/shipmate/")?.split_once('/')?;
            let kind = match rest.split('/').next() {
                Some("work") => LeftoverKind::Work,
                Some("aside") => LeftoverKind::Aside,
                _ => LeftoverKind::Other,
            };
            (team, kind)
        }
    };
    let (refname, team) = (refname.to_owned(), team.to_owned());
    Some(Leftover { refname, commit: Commit::parse(commit)?, team, kind })
}
