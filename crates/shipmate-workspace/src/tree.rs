//! A teammate's tree: a clone of its own, and the shadow through which the runtime looks at it.
//!
//! Made beside its place and renamed into it, shadow first: a tree that stands has a shadow, and a
//! crash in between leaves only what the next `prepare` removes. What cannot be opened is moved
//! aside rather than deleted, for it may hold work.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{FlockOperation, flock};

use super::dot_git::{DotGit, Position};
use super::git::{Failure, Git, WORK};
use super::repository::Repository;
use super::{Author, Commit};
use shipmate_process::remove_folder;

/// Settings of the user that decide how files look in a tree; none of them names a program.
const TAKEN_OVER: &str =
    r"^core\.(filemode|ignorecase|precomposeunicode|symlinks|autocrlf|eol|excludesfile)$";

/// Ends in the section that the user's settings are added to.
const SHADOW_CONFIG: &str = "
[pack]
	useBitmaps = false
[submodule]
	recurse = false
[uploadpack]
	allowAnySHA1InWant = true
[core]
	bare = false
	commitGraph = false
	multiPackIndex = false
	untrackedCache = false
	splitIndex = false
	attributesFile = /dev/null
";

/// A clone that one teammate (or, in shared mode, all of them) works in.
#[derive(Debug, Clone)]
pub struct Tree {
    path: PathBuf,
    shadow: PathBuf,
    branch: String,
    author: Author,
    /// Commits that were found to be there: they do not go away, and asking costs a process.
    found: Arc<Mutex<BTreeSet<Commit>>>,
    /// Where new objects go instead of into the shadow, while somebody only looks.
    pub(super) objects: Option<PathBuf>,
}

impl Tree {
    /// Opens the tree, or makes it: a clone that borrows the repository's objects, on a branch of
    /// its own, still without files (see [`Tree::bring_up`]).
    pub fn prepare(
        repository: &Repository,
        path: &Path,
        branch: &str,
        author: &Author,
    ) -> Result<Tree, Failure> {
        let parent = path.parent().ok_or_else(|| Failure::BrokenTree {
            tree: path.to_owned(),
            fact: "a tree needs a folder to lie in".to_owned(),
        })?;
        // Only this one: a team's folder that was taken away is not made anew.
        match fs::create_dir(parent) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(cannot("make", parent)(error));
            }
            _ => {}
        }
        let parent = parent.canonicalize().map_err(cannot("open", parent))?;
        let path = parent.join(path.file_name().unwrap_or_default());
        let shadow = beside(&path, "shadow");
        let (branch, author) = (branch.to_owned(), author.clone());
        let tree = Tree { path, shadow, branch, author, found: Arc::default(), objects: None };
        let _lock = lock_trees(&tree.path)?;
        Tree::set_aside_if_broken(repository, &tree.path)?;
        if !tree.path.exists() {
            tree.make(repository)?;
        } else if !tree.shadow.exists() {
            tree.make_shadow(repository)?;
        }
        Ok(tree)
    }

    /// A tree that is there, to look at: nothing is made or mended.
    pub fn at(path: &Path, branch: &str, author: &Author) -> Option<Tree> {
        let (path, shadow) =
            (path.canonicalize().ok()?, beside(path, "shadow").canonicalize().ok()?);
        let (branch, author) = (branch.to_owned(), author.clone());
        Some(Tree { path, shadow, branch, author, found: Arc::default(), objects: None })
    }

    /// A tree that is there, whatever state its clone is in, to rescue what it holds: only a shadow
    /// that is missing is made. The two may have been moved together since they were made.
    pub fn lying(
        repository: &Repository,
        path: &Path,
        branch: &str,
        author: &Author,
    ) -> Result<Tree, Failure> {
        let path = path.canonicalize().map_err(cannot("open", path))?;
        let shadow = beside(&path, "shadow");
        let (branch, author) = (branch.to_owned(), author.clone());
        let tree = Tree { path, shadow, branch, author, found: Arc::default(), objects: None };
        let _lock = lock_trees(&tree.path)?;
        if !tree.shadow.exists() {
            tree.make_shadow(repository)?;
            return Ok(tree);
        }
        let own = repository.common.join("objects");
        let borrowed = [own.clone(), tree.path.join(".git/objects")];
        put(&tree.shadow.join("objects/info/alternates"), &alternates_text(&borrowed))?;
        if let Ok(dot_git) = DotGit::open(&tree.path) {
            let borrowed = [own, tree.shadow.join("objects")];
            // For a person who looks into the clone; we look through the shadow.
            drop(dot_git.write("objects/info/alternates", &alternates_text(&borrowed)));
        }
        Ok(tree)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runtime-owned; agents must be able to read it and must not be able to write it.
    pub fn shadow(&self) -> &Path {
        &self.shadow
    }

    pub fn branch(&self) -> &str {
        &self.branch
    }

    pub fn author(&self) -> &Author {
        &self.author
    }

    /// What the clone has checked out; nothing before the first `bring_up`.
    pub fn head(&self) -> Result<Option<Commit>, Failure> {
        Ok(self.position()?.commit)
    }

    /// The branch and commit that it is at, in words.
    pub fn stands_at(&self) -> Result<String, Failure> {
        let position = self.position()?;
        let branch = position.branch.as_deref().unwrap_or("no branch");
        let commit = position.commit.as_ref().map_or("nothing", |commit| commit.short());
        Ok(format!("{commit} on {branch}"))
    }

    /// Deletes the tree and its shadow; see [`Repository::let_go`].
    pub(super) fn remove(self) -> Result<(), Failure> {
        remove(&self.path)?;
        remove(&self.shadow)
    }

    pub(super) fn position(&self) -> Result<Position, Failure> {
        let position = DotGit::open(&self.path)?.position()?;
        match &position.commit {
            Some(commit) if self.resolve(commit.as_str())?.is_none() => Err(Failure::BrokenTree {
                tree: self.path.clone(),
                fact: format!("its HEAD names {}, which is not there", commit.short()),
            }),
            _ => Ok(position),
        }
    }

    pub(super) fn git(&self) -> Git {
        // Whose lacks it was made by an older release; where it cannot be made git says so.
        let _ = fs::create_dir(self.shadow.join(WORK));
        let git = Git::in_shadow(&self.shadow, &self.path);
        match &self.objects {
            Some(objects) => git.env("GIT_OBJECT_DIRECTORY", objects),
            None => git,
        }
    }

    pub(super) fn resolve(&self, name: &str) -> Result<Option<Commit>, Failure> {
        let known = |commit: &Commit| self.found().contains(commit);
        if let Some(commit) = Commit::parse(name).filter(known) {
            return Ok(Some(commit));
        }
        let name = format!("{name}^{{commit}}");
        let git = self.git().args(["rev-parse", "--verify", "--quiet", "--end-of-options", &name]);
        let output = git.allow(&[0, 1, 128]).run()?;
        let found = (output.code == 0).then(|| output.commit());
        self.found().extend(found.clone());
        Ok(found)
    }

    fn found(&self) -> MutexGuard<'_, BTreeSet<Commit>> {
        // A set is whole after any panic.
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tree_of(&self, commit: &Commit) -> Result<String, Failure> {
        Ok(self.git().args(["rev-parse", "--verify", &format!("{commit}^{{tree}}")]).run()?.text())
    }

    pub(super) fn is_ancestor(&self, old: &Commit, new: &Commit) -> Result<bool, Failure> {
        if old == new {
            return Ok(true);
        }
        let git = self.git().args(["merge-base", "--is-ancestor"]).arg(old).arg(new);
        Ok(git.allow(&[0, 1]).run()?.code == 0)
    }

    pub(super) fn own_branch(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// Is the commit on the teammate's branch, or one that the runtime made from this tree?
    pub(super) fn vouches_for(&self, commit: &Commit) -> Result<bool, Failure> {
        if self.shadow.join("snapshots").join(commit.as_str()).exists() {
            return Ok(true);
        }
        let own = DotGit::open(&self.path)?.read_ref(&self.own_branch())?;
        for tip in [self.position()?.commit, own].into_iter().flatten() {
            if self.resolve(tip.as_str())?.is_some() && self.is_ancestor(commit, &tip)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// One at a time where a tree is changed. Snapshots onto the team's tip need no turn.
    pub(super) fn take_turn(&self) -> Result<File, Failure> {
        lock(&self.shadow.join("turn.lock"))
    }

    /// A path in the shadow that nobody else uses.
    pub(super) fn fresh(&self, name: &str) -> PathBuf {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let work = self.shadow.join(WORK);
        let _ = fs::create_dir(&work);
        work.join(format!("{name}-{}-{number}", std::process::id()))
    }

    fn make(&self, repository: &Repository) -> Result<(), Failure> {
        let making = beside(&self.path, "making");
        remove(&making)?;
        remove(&self.shadow)?;
        let settings = [
            format!("user.name={}", self.author.name),
            format!("user.email={}", self.author.email),
            "commit.gpgSign=false".to_owned(),
            "gc.auto=0".to_owned(),
            "maintenance.auto=false".to_owned(),
            // Work leaves a tree by being submitted; git shows this text when it is pushed.
            "remote.origin.pushurl=no-push-from-here/submit-the-task-instead".to_owned(),
        ];
        let git = repository.git().env("GIT_ALLOW_PROTOCOL", "file");
        let git = git.env("GIT_DEFAULT_REF_FORMAT", "files");
        git.args([
            "clone",
            "--quiet",
            "--shared",
            "--no-reject-shallow",
            "--no-checkout",
            "--template=",
            "--origin=origin",
        ])
        .args(settings.iter().flat_map(|setting| ["--config", setting]))
        .arg("--")
        .arg(&repository.common)
        .arg(&making)
        .run()?;
        let dot_git = making.join(".git");
        put(&dot_git.join("HEAD"), format!("ref: {}\n", self.own_branch()).as_bytes())?;
        let alternates = dot_git.join("objects/info/alternates");
        let borrowed = [repository.common.join("objects"), self.shadow.join("objects")];
        put(&alternates, &alternates_text(&borrowed))?;
        take_over_excludes(repository, &dot_git)?;
        self.make_shadow(repository)?;
        fs::rename(&making, &self.path).map_err(cannot("put in place", &self.path))
    }

    fn make_shadow(&self, repository: &Repository) -> Result<(), Failure> {
        let making = beside(&self.path, "shadow-making");
        remove(&making)?;
        let format = format!("--object-format={}", repository.format);
        let git = repository.git().env("GIT_DEFAULT_REF_FORMAT", "files");
        git.args(["init", "--quiet", "--bare", "--template=", &format, "--"]).arg(&making).run()?;
        let config = making.join("config");
        let mut text = fs::read(&config).map_err(cannot("read", &config))?;
        text.extend(SHADOW_CONFIG.as_bytes());
        for (name, value) in file_settings(repository)? {
            text.extend(
                [b"\t", name.as_bytes(), b" = ", &quoted(value.as_bytes()), b"\n"].concat(),
            );
        }
        put(&config, &text)?;
        let borrowed = [repository.common.join("objects"), self.path.join(".git/objects")];
        put(&making.join("objects/info/alternates"), &alternates_text(&borrowed))?;
        take_over_excludes(repository, &making)?;
        fs::create_dir(making.join("snapshots")).map_err(cannot("make", &making))?;
        if let Ok(shallow) = fs::read(repository.common.join("shallow")) {
            put(&making.join("shallow"), &shallow)?;
        }
        fs::rename(&making, &self.shadow).map_err(cannot("put in place", &self.shadow))
    }
}

/// The user's own ignore file counts in the trees as well.
fn take_over_excludes(repository: &Repository, dot_git: &Path) -> Result<(), Failure> {
    let Ok(excludes) = fs::read(repository.common.join("info/exclude")) else { return Ok(()) };
    let info = dot_git.join("info");
    fs::create_dir_all(&info).map_err(cannot("make", &info))?;
    put(&info.join("exclude"), &excludes)
}

fn file_settings(repository: &Repository) -> Result<Vec<(String, String)>, Failure> {
    let git = repository.git().args(["config", "-z", "--get-regexp", TAKEN_OVER]);
    let output = git.allow(&[0, 1]).run()?;
    let pair = |field: &[u8]| {
        let text = String::from_utf8_lossy(field).into_owned();
        let (key, value) = text.split_once('\n')?;
        Some((key.strip_prefix("core.")?.to_owned(), value.to_owned()))
    };
    Ok(output.fields().filter_map(pair).collect())
}

pub(super) fn alternates_text(paths: &[PathBuf]) -> Vec<u8> {
    let line = |path: &PathBuf| [&quoted(path.as_os_str().as_bytes()), b"\n".as_slice()].concat();
    paths.iter().flat_map(line).collect()
}

/// As git's config and its list of alternates want it: a path may hold a line end.
fn quoted(bytes: &[u8]) -> Vec<u8> {
    let mut text = vec![b'"'];
    for byte in bytes {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', *byte]),
            b'\n' => text.extend(b"\\n"),
            byte => text.push(*byte),
        }
    }
    text.push(b'"');
    text
}

pub(super) fn beside(path: &Path, what: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(what);
    path.with_file_name(name)
}

/// One tree at a time is made of those that lie together. Not in the repository: whoever can read
/// a file can hold its lock.
fn lock_trees(tree: &Path) -> Result<File, Failure> {
    lock(&beside(tree.parent().unwrap_or(tree), "lock"))
}

fn lock(path: &Path) -> Result<File, Failure> {
    let file = File::options().create(true).truncate(false).write(true).open(path);
    let file = file.map_err(cannot("open", path))?;
    flock(&file, FlockOperation::LockExclusive)
        .map_err(|error| cannot("lock", path)(error.into()))?;
    Ok(file)
}

pub(super) fn remove(path: &Path) -> Result<(), Failure> {
    match remove_folder(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(cannot("delete", path)(error))
        }
        _ => Ok(()),
    }
}

pub(super) fn put(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes).map_err(cannot("write", path))
}

pub(super) fn cannot(verb: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Failure + use<> {
    Failure::file(format!("{verb} {}", path.display()))
}
