//! What a tree has beside what is committed: copies of ignored files of the user's checkout (`.env`),
//! and links to folders there (`node_modules`).
//!
//! They are nobody's work: git does not see them in the tree, and a commit that holds one of them is not
//! taken in, so that a copied secret comes to no branch, diff or pack. The list of them lies in the
//! shadow, which no agent can write. Everything in the tree is an agent's to change, also while this
//! works: files are written from the opened folder down, without following links.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::dot_git::DotGit;
use super::git::Failure;
use super::tree::put;
use super::{Commit, Repository, Tree, path_text};

/// More than this is no handful of settings: such a folder is linked.
const COPY_BYTES_MAX: u64 = 256 << 20;
const COPIES_MAX: usize = 10_000;

/// In the shadow: what was put into the tree.
const LIST: &str = "unversioned.json";

/// In a list of what git does not see, what stands behind this line is ours.
const OURS: &str = "# Put here by shipmate from the checkout; never committed.";

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What the user's checkout has for every tree, as paths from its root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unversioned {
    pub copies: Vec<String>,
    pub links: Vec<String>,
    /// What a list names and no tree can have, each with the reason.
    pub left_out: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    ByName,
    Loosely,
}

#[derive(Debug, thiserror::Error)]
pub enum UnversionedFailure {
    #[error(
        "{pattern:?} is no path inside the repository; name a file, a folder or a glob from its root"
    )]
    Outside { pattern: String },
    #[error(
        "{pattern:?} is tracked by git ({path}): every tree has it already; take it out of the list"
    )]
    Tracked { pattern: String, path: String },
    #[error("there is no {path} in {}; put it there, or take it out of the list", root.display())]
    Absent { path: String, root: PathBuf },
    #[error("{path} leads out of the repository, to {}; name a file that lies in it", to.display())]
    LeadsOut { path: String, to: PathBuf },
    #[error(
        "{pattern:?} has {files} files of {megabytes} MB, more than every tree should have a copy of \
         ({COPIES_MAX} files, {} MB); link the folder instead, or name less", COPY_BYTES_MAX >> 20
    )]
    TooLarge { pattern: String, files: usize, megabytes: u64 },
    #[error("{path} cannot be put into the tree: {fact}")]
    InTheWay { path: String, fact: String },
    #[error("{path} cannot be read: {fact}")]
    Unreadable { path: String, fact: String },
    #[error(transparent)]
    Failed(#[from] Failure),
}

impl Repository {
    /// Looks for what these patterns name in the user's checkout. A glob may match nothing; a name must
    /// be there.
    pub fn unversioned(
        &self,
        copy: &[String],
        link: &[String],
    ) -> Result<Unversioned, UnversionedFailure> {
        self.unversioned_by(copy, link, Asked::ByName)
    }

    /// The same for a list that was written for another program: of what it names, what git does not track
    /// and a tree can have.
    pub fn unversioned_loosely(&self, copy: &[String]) -> Result<Unversioned, UnversionedFailure> {
        self.unversioned_by(copy, &[], Asked::Loosely)
    }

    /// What a file of the checkout holds that trees have copies of, and its mode.
    pub fn read_unversioned(&self, path: &str, bytes_max: u64) -> Option<(Vec<u8>, u32)> {
        let (file, about) = self.source(path).ok()?;
        let mut bytes = Vec::new();
        io::Read::take(file, bytes_max).read_to_end(&mut bytes).ok()?;
        Some((bytes, about.mode()))
    }

    /// Puts a file into the checkout that trees get copies of; `making` is where it is made.
    pub fn put_unversioned(
        &self,
        path: &str,
        (bytes, mode): (&[u8], u32),
        making: &Path,
    ) -> Result<(), UnversionedFailure> {
        let path = inside(path)?;
        self.is_untracked(&path, &path)?;
        if Path::new(&path).starts_with(".shipmate") {
            return Err(UnversionedFailure::Outside { pattern: path });
        }
        let root = rustix::fs::openat(CWD, &self.root, FOLDER, Mode::empty());
        let root = root.map_err(|e| in_the_way(".", &e.to_string()))?;
        copy(making, &root, &path, bytes, mode)
    }

    fn unversioned_by(
        &self,
        copy: &[String],
        link: &[String],
        asked: Asked,
    ) -> Result<Unversioned, UnversionedFailure> {
        let (mut copies, mut left_out) = (BTreeSet::new(), Vec::new());
        for pattern in copy {
            let found = self.matching(pattern, asked, &mut left_out);
            copies.extend(fitting(asked, found, &mut left_out)?.unwrap_or_default());
        }
        let links = link.iter().map(|path| self.linkable(path)).collect::<Result<Vec<_>, _>>()?;
        // What lies in a folder that is linked is there already.
        let is_linked = |path: &String| links.iter().any(|link| Path::new(path).starts_with(link));
        copies.retain(|path| !is_linked(path));
        Ok(Unversioned { copies: copies.into_iter().collect(), links, left_out })
    }

    fn matching(
        &self,
        pattern: &str,
        asked: Asked,
        left_out: &mut Vec<String>,
    ) -> Result<Vec<String>, UnversionedFailure> {
        let path = inside(pattern)?;
        if asked == Asked::ByName {
            self.is_untracked(pattern, &path)?;
        }
        let spec = format!(":(top,glob){path}");
        let below = format!(":(top,glob){path}/**");
        let args = ["ls-files", "-z", "--others", "--full-name", "--", &spec, &below];
        let output = self.git().args(args).run()?;
        let own = |path: &String| {
            let state = Path::new(path).starts_with(".shipmate");
            let packages = asked == Asked::Loosely && path.contains("node_modules/");
            !state && !packages
        };
        // A folder with a repository of its own is listed as such.
        let files = output.fields().map(path_text).filter(|path| !path.ends_with('/') && own(path));
        let files: Vec<String> = files.collect();
        if files.is_empty() && !path.contains(['*', '?', '[']) {
            return Err(UnversionedFailure::Absent { path, root: self.root.clone() });
        }
        let (mut bytes, mut fit) = (0, Vec::new());
        for file in files {
            let about = match file.chars().any(char::is_control) {
                true => Err(UnversionedFailure::Outside { pattern: file.clone() }),
                false => self.source(&file).map(|(_, about)| about),
            };
            if let Some(about) = fitting(asked, about, left_out)? {
                bytes += about.len();
                fit.push(file);
            }
        }
        let files = fit;
        if files.len() > COPIES_MAX || bytes > COPY_BYTES_MAX {
            let (pattern, megabytes) = (pattern.to_owned(), bytes >> 20);
            return Err(UnversionedFailure::TooLarge { pattern, files: files.len(), megabytes });
        }
        Ok(files)
    }

    fn linkable(&self, name: &str) -> Result<String, UnversionedFailure> {
        let path = inside(name)?;
        self.is_untracked(name, &path)?;
        match self.root.join(&path).canonicalize() {
            Err(_) => Err(UnversionedFailure::Absent { path, root: self.root.clone() }),
            Ok(to) if !to.starts_with(real(&self.root)) => {
                Err(UnversionedFailure::LeadsOut { path, to })
            }
            Ok(to) if self.is_ours(&to) => {
                Err(UnversionedFailure::Outside { pattern: name.to_owned() })
            }
            Ok(_) => Ok(path),
        }
    }

    /// shipmate's state, or git's.
    fn is_ours(&self, path: &Path) -> bool {
        let root = real(&self.root);
        [".shipmate", ".git"].iter().any(|name| path.starts_with(root.join(name)))
    }

    fn is_untracked(&self, pattern: &str, path: &str) -> Result<(), UnversionedFailure> {
        let spec = format!(":(top,glob){path}");
        let below = format!(":(top,glob){path}/**");
        let args = ["ls-files", "-z", "--cached", "--full-name", "--", &spec, &below];
        let output = self.git().args(args).run()?;
        match output.fields().next().map(path_text) {
            None => Ok(()),
            Some(path) => Err(UnversionedFailure::Tracked { pattern: pattern.to_owned(), path }),
        }
    }

    /// A file of the checkout, followed through links that stay in it.
    fn source(&self, path: &str) -> Result<(File, fs::Metadata), UnversionedFailure> {
        let whole = self.root.join(path);
        let unreadable = |e: io::Error| UnversionedFailure::Unreadable {
            path: path.to_owned(),
            fact: e.to_string(),
        };
        let real_one = whole.canonicalize().map_err(unreadable)?;
        if !real_one.starts_with(real(&self.root)) {
            return Err(UnversionedFailure::LeadsOut { path: path.to_owned(), to: real_one });
        }
        if self.is_ours(&real_one) {
            return Err(UnversionedFailure::Outside { pattern: path.to_owned() });
        }
        let file = shipmate_process::regular_file::open(&real_one).map_err(unreadable)?;
        let about = file.metadata().map_err(unreadable)?;
        Ok((file, about))
    }

    /// Whether commits that are on no branch yet hold what was only put into this tree.
    pub(super) fn holds_unversioned(
        &self,
        tree: &Tree,
        commit: &Commit,
    ) -> Result<Option<String>, Failure> {
        let list = List::read(tree);
        if list.is_empty() {
            return Ok(None);
        }
        let git = tree.git().args(["log", "-z", "--format=", "--name-only", "--no-renames", "-m"]);
        let git = git.args(["--diff-filter=AMT", commit.as_str(), "--not"]);
        let known = self.heads()?;
        let output = known.iter().fold(git, |git, commit| git.arg(commit)).arg("--").run()?;
        let mut paths = output.fields().map(path_text);
        Ok(paths.find(|path| list.has(path)))
    }

    /// What every branch of the user stands on, teams' branches too.
    pub(super) fn heads(&self) -> Result<Vec<Commit>, Failure> {
        let output =
            self.git().args(["for-each-ref", "--format=%(objectname)", "refs/heads/"]).run()?;
        let text = output.text();
        let mut heads: Vec<Commit> = text.lines().filter_map(Commit::parse).collect();
        heads.extend(self.head().ok().map(|head| head.commit));
        heads.sort_unstable();
        heads.dedup();
        Ok(heads)
    }
}

impl Tree {
    /// Puts copies and links into the tree. What is there already and has not changed in the checkout
    /// stays as it is, also where an agent has changed it; in a tree that work is judged in it does not.
    pub fn add_unversioned(
        &self,
        repository: &Repository,
        found: &Unversioned,
        judges: Judges,
    ) -> Result<(), UnversionedFailure> {
        let mut list = List::read(self);
        if found.copies.is_empty() && found.links.is_empty() && list.is_empty() {
            return Ok(());
        }
        let _turn = self.take_turn()?;
        // Before the files: one that is there and not on the list could be committed.
        list.links.extend(found.links.iter().cloned());
        for path in &found.copies {
            list.copies.entry(path.clone()).or_default();
        }
        list.write(self)?;
        self.hide(&list)?;
        let root = rustix::fs::openat(CWD, self.path(), FOLDER, Mode::empty());
        let root = root.map_err(|e| in_the_way(".", &e.to_string()))?;
        for path in &found.copies {
            let (file, about) = repository.source(path)?;
            let now = Stamp::of(&about);
            let placed = Placed::at(&self.path().join(path));
            let is_ours = judges == Judges::No || list.placed.get(path) == placed.as_ref();
            if list.copies.get(path) != Some(&now) || !is_there(&root, path) || !is_ours {
                if judges == Judges::Yes {
                    self.make_way(path)?;
                }
                copy(&self.fresh("copy"), &root, path, file, about.mode())?;
                list.copies.insert(path.clone(), now);
                list.placed
                    .extend(Placed::at(&self.path().join(path)).map(|at| (path.clone(), at)));
            }
        }
        for path in &found.links {
            let to = repository.root.join(path);
            let whole = self.path().join(path);
            if judges == Judges::Yes && fs::read_link(&whole).ok().as_ref() != Some(&to) {
                self.make_way(path)?;
            }
            link(&root, path, &to)?;
        }
        Ok(list.write(self)?)
    }

    /// Removes what an earlier run has left where a copy or a link is to be, and on the way to it; what is
    /// committed stays.
    fn make_way(&self, path: &str) -> Result<(), UnversionedFailure> {
        let mut at = String::new();
        for part in path.split('/') {
            at += if at.is_empty() { "" } else { "/" };
            at += part;
            let whole = self.path().join(&at);
            let Ok(about) = fs::symlink_metadata(&whole) else { return Ok(()) };
            if (about.is_dir() && at != path) || self.has_tracked(&at)? {
                continue;
            }
            let removed = match about.is_dir() {
                true => shipmate_process::remove_folder(&whole),
                false => fs::remove_file(&whole),
            };
            return removed.map_err(|e| in_the_way(path, &e.to_string()));
        }
        Ok(())
    }

    /// Keeps them out of the sight of git, of ours and of the agent's own.
    pub(super) fn hide(&self, list: &List) -> Result<(), Failure> {
        let info = self.shadow().join("info");
        fs::create_dir_all(&info).map_err(super::tree::cannot("make", &info))?;
        let file = info.join("exclude");
        put(&file, &list.hidden_in(&fs::read(&file).unwrap_or_default()))?;
        let dot_git = DotGit::open(self.path())?;
        let old = dot_git.read("info/exclude")?.unwrap_or_default();
        let new = list.hidden_in(&old);
        if new != old {
            dot_git.write("info/exclude", &new)?;
        }
        Ok(())
    }
}

/// When a file was copied, it was like this.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    bytes: u64,
    modified: i64,
}

impl Stamp {
    fn of(about: &fs::Metadata) -> Stamp {
        let modified = about.mtime() * 1_000_000_000 + about.mtime_nsec();
        Stamp { bytes: about.len(), modified }
    }
}

/// Whether work is judged in a tree: then nothing of an earlier run may be left in its copies and links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judges {
    Yes,
    No,
}

/// A copy in a tree. Whoever writes into it moves the time of its last change, and cannot move that back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Placed {
    file: u64,
    changed: i64,
}

impl Placed {
    fn at(path: &Path) -> Option<Placed> {
        let about = fs::symlink_metadata(path).ok()?;
        let changed = about.ctime() * 1_000_000_000 + about.ctime_nsec();
        Some(Placed { file: about.ino(), changed })
    }
}

/// Of what is there now, a link as such; the same each time where nothing is.
pub(super) fn stamp(path: &Path) -> Stamp {
    fs::symlink_metadata(path).map(|about| Stamp::of(&about)).unwrap_or_default()
}

/// What was ever put into a tree.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct List {
    pub(super) copies: BTreeMap<String, Stamp>,
    pub(super) links: BTreeSet<String>,
    /// By a set-up, as they were then: one that an agent changes is its work. A folder has no stamp.
    #[serde(default)]
    pub(super) made: BTreeMap<String, Option<Stamp>>,
    /// The copies as they were put there.
    #[serde(default)]
    placed: BTreeMap<String, Placed>,
}

impl List {
    pub(super) fn read(tree: &Tree) -> List {
        let text = fs::read(tree.shadow().join(LIST)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    pub(super) fn write(&self, tree: &Tree) -> Result<(), Failure> {
        let (path, fresh) = (tree.shadow().join(LIST), tree.fresh("unversioned"));
        put(&fresh, &serde_json::to_vec(self).expect("a list of paths is JSON"))?;
        fs::rename(&fresh, &path).map_err(super::tree::cannot("put in place", &path))
    }

    fn is_empty(&self) -> bool {
        self.copies.is_empty() && self.links.is_empty()
    }

    pub(super) fn has(&self, path: &str) -> bool {
        let is_below = |link: &String| Path::new(path).starts_with(link);
        let below_copy = || self.copies.keys().any(|copy| Path::new(path).starts_with(copy));
        // Something else in the place of a folder that a copy lies in.
        let above_copy = || self.copies.keys().any(|copy| Path::new(copy).starts_with(path));
        self.links.iter().any(is_below) || below_copy() || above_copy()
    }

    /// A list of what git does not see, with these instead of those that were ours before.
    fn hidden_in(&self, old: &[u8]) -> Vec<u8> {
        let at = old.windows(OURS.len()).position(|part| part == OURS.as_bytes());
        let mut text = old[..at.unwrap_or(old.len())].to_vec();
        if text.last().is_some_and(|byte| *byte != b'\n') {
            text.push(b'\n');
        }
        text.extend(OURS.as_bytes());
        text.push(b'\n');
        for path in self.copies.keys().chain(&self.links).chain(self.made.keys()) {
            text.extend(exactly(path).bytes());
            text.push(b'\n');
        }
        text
    }
}

/// What was found; of a list of another program's nothing, and the reason, where no tree can have it.
fn fitting<T>(
    asked: Asked,
    found: Result<T, UnversionedFailure>,
    left_out: &mut Vec<String>,
) -> Result<Option<T>, UnversionedFailure> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(failed @ UnversionedFailure::Failed(_)) => Err(failed),
        Err(unfit) if asked == Asked::Loosely => {
            left_out.push(unfit.to_string());
            Ok(None)
        }
        Err(unfit) => Err(unfit),
    }
}

/// As a list of what git does not see names this path alone.
pub(super) fn exactly(path: &str) -> String {
    let mut text = "/".to_owned();
    for c in path.chars() {
        if "*?[]\\ !#".contains(c) {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

/// A pattern of the list, without what does not matter in it.
fn inside(pattern: &str) -> Result<String, UnversionedFailure> {
    let outside = || UnversionedFailure::Outside { pattern: pattern.to_owned() };
    let trimmed = pattern.trim_end_matches('/');
    let trimmed = trimmed.strip_prefix("./").unwrap_or(trimmed);
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    let first = Path::new(trimmed).components().next();
    let is_git = first.is_some_and(|part| part.as_os_str() == ".git");
    let bad = trimmed.is_empty() || is_git || trimmed.chars().any(char::is_control);
    match !bad && Path::new(trimmed).components().all(plain) {
        true => Ok(trimmed.to_owned()),
        false => Err(outside()),
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn in_the_way(path: &str, fact: &str) -> UnversionedFailure {
    UnversionedFailure::InTheWay { path: path.to_owned(), fact: fact.to_owned() }
}

/// The folder of a file in the tree, made where it is missing, and its last name.
fn folder_of<'p>(root: &OwnedFd, path: &'p str) -> Result<(OwnedFd, &'p str), Errno> {
    let mut folder = root.try_clone().map_err(|_| Errno::MFILE)?;
    let mut rest = path;
    while let Some((part, below)) = rest.split_once('/') {
        match rustix::fs::mkdirat(&folder, part, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        folder = rustix::fs::openat(&folder, part, FOLDER, Mode::empty())?;
        rest = below;
    }
    Ok((folder, rest))
}

fn is_there(root: &OwnedFd, path: &str) -> bool {
    folder_of(root, path).is_ok_and(|(folder, last)| {
        rustix::fs::statat(&folder, last, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    })
}

/// Made in the shadow, which no agent can write, and put in its place whole: nobody finds half a file, and
/// what a kill leaves is in no tree.
fn copy(
    making: &Path,
    root: &OwnedFd,
    path: &str,
    mut from: impl io::Read,
    mode: u32,
) -> Result<(), UnversionedFailure> {
    let failed = |e: io::Error| in_the_way(path, &e.to_string());
    let (folder, last) = folder_of(root, path).map_err(|e| failed(e.into()))?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(mode & 0o777);
    let mut write = || -> io::Result<()> {
        let mut file = File::from(rustix::fs::openat(CWD, making, flags, mode)?);
        io::copy(&mut from, &mut file)?;
        rustix::fs::renameat(CWD, making, &folder, last)?;
        Ok(())
    };
    let written = write();
    if written.is_err() {
        let _ = fs::remove_file(making);
    }
    written.map_err(failed)
}

/// A link that is there stays, wherever it leads: an agent may have made it its own.
fn link(root: &OwnedFd, path: &str, to: &Path) -> Result<(), UnversionedFailure> {
    let failed = |e: Errno| in_the_way(path, &e.to_string());
    let (folder, last) = folder_of(root, path).map_err(failed)?;
    match rustix::fs::symlinkat(to, &folder, last) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(failed(error)),
    }
}
