//! Trees that were left in a bad state: what git cannot pass is taken out of its way, and a tree
//! that cannot be used any more is put aside whole.
//!
//! Neither deletes work. A pipe, socket or device has no content; a folder that was closed is
//! opened; and what is put aside keeps its files, its `.git` and its shadow, beside the tree that
//! is made in its place.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};

use super::Commit;
use super::bring_up::BroughtUp;
use super::dot_git::DotGit;
use super::git::Failure;
use super::repository::Repository;
use super::tree::{Tree, alternates_text, beside, cannot, put, remove};

/// What git reads wherever it finds it in a tree, waiting for ever if it is a pipe.
const READ_BY_GIT: [&[u8]; 4] = [b".gitignore", b".gitattributes", b".gitmodules", b".git"];

/// Deeper than people nest folders, and few enough to keep all of them open.
const DEPTH_MAX: u32 = 200;

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What becomes of folders that their owner may not use.
#[derive(Clone, Copy, PartialEq)]
enum Closed {
    OpenUp,
    Leave,
}

#[derive(Clone, Copy)]
struct Inside {
    dot_git: bool,
    depth: u32,
}

/// A tree that was put aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    pub place: PathBuf,
}

impl Tree {
    /// Takes away what git would wait for, and opens folders that were closed to their owner. What
    /// cannot be mended is left for git to complain about.
    pub fn clear_the_way(&self) {
        self.clear(Closed::OpenUp);
    }

    /// The same for somebody who only looks, perhaps while an agent is at work.
    pub(super) fn remove_pipes(&self) {
        self.clear(Closed::Leave);
    }

    fn clear(&self, closed: Closed) {
        if let Ok(root) = rustix::fs::openat(CWD, self.path(), FOLDER, Mode::empty()) {
            clear(&root, closed, Inside { dot_git: false, depth: 0 });
        }
    }

    /// Puts a tree aside, with all that is in it. Nothing when there is none.
    pub fn set_aside(repository: &Repository, path: &Path) -> Result<Option<SetAside>, Failure> {
        if !is_there(path) {
            return Ok(None);
        }
        let numbered = (1..).map(|number| beside(path, &format!("broken-{number}")));
        let free = |place: &PathBuf| !is_there(place) && !is_there(&beside(place, "shadow"));
        let place = numbered.into_iter().find(free).expect("the numbers do not end");
        relocate(repository, path, &place)?;
        Ok(Some(SetAside { place }))
    }

    /// Puts aside what cannot be opened as a tree; an empty folder is just removed.
    pub fn set_aside_if_broken(
        repository: &Repository,
        path: &Path,
    ) -> Result<Option<SetAside>, Failure> {
        let is_whole = || DotGit::open(path).and_then(|git| git.position()).is_ok();
        if !is_there(path) || is_whole() || fs::remove_dir(path).is_ok() {
            return Ok(None);
        }
        Tree::set_aside(repository, path)
    }

    /// As [`Tree::check_out`], in a tree that is made anew where what a gate left in it is in the
    /// way. Only for a tree that holds nobody's work.
    pub fn check_out_afresh(
        &self,
        repository: &Repository,
        commit: &Commit,
    ) -> Result<BroughtUp, Failure> {
        let failure = match self.check_out(commit) {
            Ok(there) => return Ok(there),
            Err(failure) => failure,
        };
        let aside = Tree::set_aside(repository, self.path())?;
        let made = Tree::prepare(repository, self.path(), self.branch(), self.author());
        match (made.and_then(|tree| tree.check_out(commit)), aside) {
            (Ok(there), aside) => {
                // What cannot be deleted is in nobody's way.
                if let Some(SetAside { place }) = aside {
                    drop(remove(&place).and_then(|()| remove(&beside(&place, "shadow"))));
                }
                Ok(there)
            }
            (Err(_), Some(aside)) => {
                aside.put_back(repository, self.path())?;
                Err(failure)
            }
            (Err(_), None) => Err(failure),
        }
    }
}

impl SetAside {
    /// Takes the tree back to its place: making another there was no better.
    pub fn put_back(&self, repository: &Repository, path: &Path) -> Result<(), Failure> {
        remove(path)?;
        remove(&beside(path, "shadow"))?;
        relocate(repository, &self.place, path)
    }
}

/// The shadow first: it has objects that the clone borrows, and is deleted where it lies without a
/// clone.
fn relocate(repository: &Repository, from: &Path, to: &Path) -> Result<(), Failure> {
    let (old, shadow) = (beside(from, "shadow"), beside(to, "shadow"));
    if is_there(&old) {
        fs::rename(&old, &shadow).map_err(cannot("move aside", &old))?;
    }
    fs::rename(from, to).map_err(cannot("move aside", from))?;
    let common = repository.common.join("objects");
    // A clone without its list still has its files.
    let borrowed = alternates_text(&[common.clone(), shadow.join("objects")]);
    let listed = DotGit::open(to).and_then(|git| git.write("objects/info/alternates", &borrowed));
    drop(listed);
    let borrowed = alternates_text(&[common, to.join(".git/objects")]);
    drop(put(&shadow.join("objects/info/alternates"), &borrowed));
    Ok(())
}

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// From the opened folder down, without following links: all of it is an agent's to change.
fn clear(folder: &OwnedFd, closed: Closed, inside: Inside) {
    let Ok(entries) = Dir::read_from(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            known => known,
        };
        match kind {
            FileType::Directory if inside.depth < DEPTH_MAX => {
                if closed == Closed::OpenUp {
                    open_up(folder, name);
                }
                if let Ok(below) = rustix::fs::openat(folder, name, FOLDER, Mode::empty()) {
                    let dot_git = inside.dot_git || name.to_bytes() == b".git";
                    clear(&below, closed, Inside { dot_git, depth: inside.depth + 1 });
                }
            }
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
                if inside.dot_git || READ_BY_GIT.contains(&name.to_bytes()) =>
            {
                let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
            }
            _ => {}
        }
    }
}

/// Lets the owner of a folder list it, enter it and change it.
fn open_up(folder: &OwnedFd, name: &std::ffi::CStr) {
    let own = 0o700;
    if let Ok(handle) = rustix::fs::openat(folder, name, FOLDER | OFlags::PATH, Mode::empty())
        && let Ok(stat) = rustix::fs::fstat(&handle)
        && stat.st_mode & own != own
    {
        // By its handle: the name may be something else by now.
        let path = format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd());
        drop(fs::set_permissions(path, fs::Permissions::from_mode(stat.st_mode & 0o7777 | own)));
    }
}
