//! The user's repository: opening it, what it is like, and where its team branches stand.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::git::{Failure, Git};
use super::in_use::{Whose, is_in_use};
use super::{Commit, path_text};

/// `merge-tree --write-tree` came with this one.
const GIT_MIN: (u32, u32) = (2, 38);
const DIRTY_SHOWN_MAX: usize = 20;

/// A repository of the user. Cheap to clone; holds no handle.
#[derive(Debug, Clone)]
pub struct Repository {
    pub(super) root: PathBuf,
    /// The `.git` that all worktrees of the repository share.
    pub(super) common: PathBuf,
    pub(super) format: String,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenFailure {
    #[error("git was not found; install git 2.38 or newer and see that it is on the PATH")]
    GitMissing,
    #[error("git {found} is too old: shipmate needs git 2.38 or newer")]
    GitTooOld { found: String },
    #[error("{} does not exist; name the folder of a git repository", at.display())]
    NoSuchFolder { at: PathBuf },
    #[error("{} is not in a git repository; go to one, or name one with --workspace", at.display())]
    NotARepository { at: PathBuf },
    #[error("{} is a bare repository without files; use a clone of it", at.display())]
    Bare { at: PathBuf },
    #[error("{} is inside a .git folder; go to the folder with the files", at.display())]
    InsideGitFolder { at: PathBuf },
    #[error("the repository {} has no commit yet, and a team needs one to start from", at.display())]
    NoCommits { at: PathBuf },
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// What the user has checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub commit: Commit,
    /// Nothing when detached.
    pub branch: Option<String>,
}

/// What a team should know before it starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Condition {
    /// Changed, staged and untracked files: the team does not see them. The first 20.
    pub dirty: Vec<String>,
    pub dirty_count: usize,
    /// Submodules are empty folders in the teammates' trees; their pointers are kept as they are.
    pub submodules: bool,
    /// Files kept in LFS are pointers in the teammates' trees.
    pub lfs: bool,
    pub shallow: bool,
    /// Objects may be missing here, and the teammates' trees do not download any.
    pub partial: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum BeginFailure {
    #[error("the branch {branch} exists already at {} and not at {}; merge it, delete it \
             (git branch -D {branch}) or choose another team name", found.short(), base.short())]
    Exists { branch: String, found: Commit, base: Commit },
    #[error(
        "the branch {branch} cannot be made: {said}; a branch named `shipmate` or one below \
             {branch} stands in its way: rename it (git branch -m)"
    )]
    NameTaken { branch: String, said: String },
    #[error(transparent)]
    Failed(#[from] Failure),
}

impl Repository {
    pub fn open(workspace: &Path) -> Result<Repository, OpenFailure> {
        let repository = Repository::open_empty(workspace)?;
        match repository.resolve("HEAD")? {
            Some(_) => Ok(repository),
            None => Err(OpenFailure::NoCommits { at: repository.root }),
        }
    }

    /// The same where nothing may have been committed yet: the code comes from another machine.
    pub fn open_empty(workspace: &Path) -> Result<Repository, OpenFailure> {
        check_version()?;
        let at = workspace.canonicalize();
        let at = at.map_err(|_| OpenFailure::NoSuchFolder { at: workspace.to_owned() })?;
        let question = ["rev-parse", "--is-bare-repository", "--is-inside-git-dir"];
        let answer = match Git::in_repository(&at).args(question).run() {
            Err(Failure::Git { said, .. }) if said.contains("not a git repository") => {
                return Err(OpenFailure::NotARepository { at });
            }
            // What `safe.bareRepository` makes of a bare one.
            Err(Failure::Git { said, .. }) if said.contains("cannot use bare repository") => {
                return Err(OpenFailure::Bare { at });
            }
            other => other?.text(),
        };
        match answer.split_once('\n').unwrap_or_default() {
            // In the `.git` of an ordinary repository both can be true or only the second.
            ("true", _) if !at.components().any(|part| part.as_os_str() == ".git") => {
                return Err(OpenFailure::Bare { at });
            }
            ("true", _) | (_, "true") => return Err(OpenFailure::InsideGitFolder { at }),
            _ => {}
        }
        let path = |option: &str| -> Result<PathBuf, Failure> {
            let output = Git::in_repository(&at).args(["rev-parse", option]).run()?;
            let bytes = output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout);
            Ok(at.join(OsStr::from_bytes(bytes)))
        };
        let root = path("--show-toplevel")?;
        let common = path("--git-common-dir")?;
        let common =
            common.canonicalize().map_err(Failure::file(format!("open {}", common.display())))?;
        let format = Git::in_repository(&root).args(["rev-parse", "--show-object-format"]).run()?;
        Ok(Repository { root, common, format: format.text() })
    }

    /// The folder with the user's files.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The git folder of this checkout.
    pub(super) fn git_dir(&self) -> Result<PathBuf, Failure> {
        let output = self.git().args(["rev-parse", "--absolute-git-dir"]).run()?;
        let bytes = output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout);
        Ok(PathBuf::from(OsStr::from_bytes(bytes)))
    }

    pub fn head(&self) -> Result<Head, Failure> {
        let branch = self.git().args(["symbolic-ref", "--quiet", "--short", "HEAD"]);
        let branch = branch.allow(&[0, 1]).run()?;
        let commit = self.git().args(["rev-parse", "--verify", "HEAD^{commit}"]).run()?.commit();
        Ok(Head { commit, branch: (branch.code == 0).then(|| branch.text()) })
    }

    pub fn condition(&self) -> Result<Condition, Failure> {
        let status = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal"];
        let status = self.git().args(status).run()?;
        let mut dirty: Vec<_> = status.fields().map(|field| path_text(&field[3..])).collect();
        let dirty_count = dirty.len();
        dirty.truncate(DIRTY_SHOWN_MAX);
        let yes = |args: &[&str]| -> Result<bool, Failure> {
            Ok(self.git().args(args).allow(&[0, 1, 128]).run()?.code == 0)
        };
        let lfs =
            ["grep", "-q", "-F", "-e", "filter=lfs", "HEAD", "--", ":(glob)**/.gitattributes"];
        let shallow = self.git().args(["rev-parse", "--is-shallow-repository"]).run()?.text();
        Ok(Condition {
            dirty,
            dirty_count,
            submodules: yes(&["cat-file", "-e", "HEAD:.gitmodules"])?,
            lfs: yes(&lfs)?,
            shallow: shallow == "true",
            partial: yes(&["config", "--get-regexp", r"^remote\..*\.promisor$"])?,
        })
    }

    /// Makes the team branch. Doing it again with the same base changes nothing.
    pub fn begin(&self, team: &str, base: &Commit) -> Result<(), BeginFailure> {
        let made = self.create_ref(&team_ref(team), base, "shipmate: the team begins");
        let Err(failure) = made else { return Ok(()) };
        let branch = format!("shipmate/{team}");
        match (self.tip(team)?, failure) {
            (Some(found), _) if found == *base => Ok(()),
            (Some(found), _) => Err(BeginFailure::Exists { branch, found, base: base.clone() }),
            (None, Failure::Git { said, .. }) if said.contains("' exists; cannot create") => {
                Err(BeginFailure::NameTaken { branch, said })
            }
            (None, failure) => Err(failure.into()),
        }
    }

    /// Where the team branch stands; nothing when there is none.
    pub fn tip(&self, team: &str) -> Result<Option<Commit>, Failure> {
        self.resolve(&team_ref(team))
    }

    /// What changes when a team's branch moves, where refs are files.
    pub fn branch_file(&self, team: &str) -> PathBuf {
        self.common.join(team_ref(team))
    }

    pub(super) fn git(&self) -> Git {
        Git::in_repository(&self.root)
    }

    pub(super) fn resolve(&self, name: &str) -> Result<Option<Commit>, Failure> {
        let name = format!("{name}^{{commit}}");
        let output =
            self.git().args(["rev-parse", "--verify", "--quiet", "--end-of-options", &name]);
        let output = output.allow(&[0, 1]).run()?;
        Ok((output.code == 0).then(|| output.commit()))
    }

    pub(super) fn tree_of(&self, commit: &Commit) -> Result<String, Failure> {
        Ok(self.git().args(["rev-parse", "--verify", &format!("{commit}^{{tree}}")]).run()?.text())
    }

    pub(super) fn is_ancestor(&self, old: &Commit, new: &Commit) -> Result<bool, Failure> {
        let git = self.git().args(["merge-base", "--is-ancestor"]).arg(old).arg(new);
        Ok(git.allow(&[0, 1]).run()?.code == 0)
    }

    pub(super) fn create_ref(&self, name: &str, at: &Commit, why: &str) -> Result<(), Failure> {
        self.move_ref(name, &self.nothing(), at.as_str(), why)
    }

    pub(super) fn move_ref(
        &self,
        name: &str,
        from: &str,
        to: &str,
        why: &str,
    ) -> Result<(), Failure> {
        self.git().args(["update-ref", "--no-deref", "-m", why, name, to, from]).run()?;
        Ok(())
    }

    /// Takes away locks on a team's refs. Only for one that has ended: whoever left them was killed.
    pub fn unlock(&self, team: &str) {
        unlock_below(&self.common.join("refs/shipmate").join(team));
        // There rarely is one.
        drop(std::fs::remove_file(self.common.join(format!("{}.lock", team_ref(team)))));
    }

    /// Takes away the lock on packed refs that a git of ours left which was killed while it deleted
    /// refs. That of a git which is alive stays, whoever has started it.
    pub fn unlock_packed(workspace: &Path) {
        const LOCK: &str = "packed-refs.lock";
        let own = workspace.join(".git");
        if own.is_dir() && !own.join(LOCK).exists() {
            return;
        }
        let Ok(repository) = Repository::open(workspace) else { return };
        let lock = repository.common.join(LOCK);
        let mut folders = repository.other_checkouts().unwrap_or_default();
        folders.extend([repository.root.clone(), repository.common.clone()]);
        if lock.exists() && !is_in_use(&folders, &lock, Whose::Anybodys) {
            drop(std::fs::remove_file(lock));
        }
    }

    /// The user's other checkouts of this repository.
    pub fn other_checkouts(&self) -> Result<Vec<PathBuf>, Failure> {
        let paths = self.checkouts()?.into_iter().map(|(path, _)| path);
        Ok(paths.filter(|path| *path != self.root).collect())
    }

    /// The id that stands for "no such ref".
    pub(super) fn nothing(&self) -> String {
        "0".repeat(if self.format == "sha256" { 64 } else { 40 })
    }

    /// The checkout of the user that stands on this branch, if any.
    pub(super) fn checkout_of(&self, name: &str) -> Result<Option<PathBuf>, Failure> {
        let on = |(_, branch): &(PathBuf, Vec<u8>)| branch == name.as_bytes();
        Ok(self.checkouts()?.into_iter().find(on).map(|(path, _)| path))
    }

    /// The user's checkouts, each with its branch; none where it is detached.
    fn checkouts(&self) -> Result<Vec<(PathBuf, Vec<u8>)>, Failure> {
        let list = self.git().args(["worktree", "list", "--porcelain", "-z"]).run()?;
        let mut found: Vec<(PathBuf, Vec<u8>)> = Vec::new();
        for field in list.fields() {
            if let Some(path) = field.strip_prefix(b"worktree ") {
                found.push((PathBuf::from(OsStr::from_bytes(path)), Vec::new()));
            } else if let (Some(branch), Some((_, of))) =
                (field.strip_prefix(b"branch "), found.last_mut())
            {
                *of = branch.to_vec();
            }
        }
        Ok(found)
    }
}

/// Where work that was handed in to a team is kept, each piece by its task and token.
pub(super) fn work_refs(team: &str) -> String {
    format!("refs/shipmate/{team}/work/")
}

pub(super) fn team_ref(team: &str) -> String {
    format!("refs/heads/shipmate/{team}")
}

fn check_version() -> Result<(), OpenFailure> {
    let output = match std::process::Command::new("git").arg("--version").output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(OpenFailure::GitMissing);
        }
        other => other.map_err(Failure::file("start git"))?,
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let found = text.split_whitespace().nth(2).unwrap_or("of an unknown version");
    let mut numbers = found.split('.').map_while(|number| number.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version < GIT_MIN {
        return Err(OpenFailure::GitTooOld { found: found.to_owned() });
    }
    Ok(())
}

fn unlock_below(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            unlock_below(&path);
        } else if path.extension().is_some_and(|end| end == "lock") {
            drop(std::fs::remove_file(path));
        }
    }
}
