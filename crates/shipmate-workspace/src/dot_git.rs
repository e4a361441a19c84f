//! A clone's `.git`, read and written by file: the runtime's only direct touch of it.
//!
//! Everything in there is an agent's to change, also while the runtime works. So every access goes
//! from the opened folder down, component by component, without following symlinks, and opens only
//! regular files without waiting (a named pipe would hold the runtime for ever). Writing keeps to
//! git's own protocol (`<file>.lock` made exclusively, then renamed), so that a git of the agent at
//! the same moment loses nothing.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::Commit;
use super::git::Failure;

/// `packed-refs` of a repository with a hundred thousand tags has 10 MB.
pub(super) const FILE_BYTES_MAX: u64 = 32 << 20;

/// A hundred thousand moves of a branch; of a longer log only the end is read.
const LOG_BYTES_MAX: u64 = 16 << 20;

/// Nobody has moved more branches than this.
const LOGS_MAX: usize = 1_000;

/// A lock this old belongs to a git that died: its work under a lock takes moments.
const LOCK_IS_STALE_AFTER: Duration = Duration::from_secs(60);

/// A branch of more parts than this is nobody's.
const REF_DEPTH_MAX: usize = 16;

/// What was fetched, which is nobody's work here.
const FETCHED: &str = "refs/remotes/";

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

#[derive(Debug)]
pub(super) struct DotGit {
    folder: OwnedFd,
    tree: PathBuf,
}

/// Where the clone's `HEAD` stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Position {
    /// `refs/heads/…`, or nothing when detached.
    pub(super) branch: Option<String>,
    /// Nothing before the first commit.
    pub(super) commit: Option<Commit>,
}

impl DotGit {
    pub(super) fn open(tree: &Path) -> Result<DotGit, Failure> {
        let open = || {
            let root = rustix::fs::openat(CWD, tree, FOLDER, Mode::empty())?;
            rustix::fs::openat(&root, ".git", FOLDER, Mode::empty())
        };
        let broken = |error: Errno| Failure::BrokenTree {
            tree: tree.to_owned(),
            fact: format!("its .git folder cannot be opened ({error})"),
        };
        Ok(DotGit { folder: open().map_err(broken)?, tree: tree.to_owned() })
    }

    pub(super) fn position(&self) -> Result<Position, Failure> {
        let head = self.read("HEAD")?.ok_or_else(|| self.broken("HEAD is missing"))?;
        let head = text(&head);
        let Some(branch) = head.strip_prefix("ref: ") else {
            let commit = Commit::parse(head).ok_or_else(|| self.broken("HEAD is not readable"))?;
            return Ok(Position { branch: None, commit: Some(commit) });
        };
        if !is_plain_ref(branch) {
            return Err(self.broken("HEAD names no branch"));
        }
        Ok(Position { branch: Some(branch.to_owned()), commit: self.read_ref(branch)? })
    }

    pub(super) fn read_ref(&self, name: &str) -> Result<Option<Commit>, Failure> {
        if let Some(bytes) = self.read(name)? {
            let commit = Commit::parse(text(&bytes));
            return commit.map(Some).ok_or_else(|| self.broken(&format!("{name} is no commit id")));
        }
        let packed = self.read("packed-refs")?.unwrap_or_default();
        let lines = packed.split(|byte| *byte == b'\n').filter_map(|l| str::from_utf8(l).ok());
        let mut entries = lines.filter_map(|line| line.split_once(' '));
        Ok(entries.find(|(_, found)| *found == name).and_then(|(id, _)| Commit::parse(id)))
    }

    /// Everything that a ref of the clone names, with that name: branches, tags, stashes, notes and
    /// whatever else an agent has made, but not what was fetched. A tag may name an object that is
    /// no commit.
    pub(super) fn names(&self) -> Result<Vec<(String, Commit)>, Failure> {
        let mut names = self.files_below("refs");
        let packed = self.read("packed-refs")?.unwrap_or_default();
        let packed = packed.split(|byte| *byte == b'\n').filter_map(|l| str::from_utf8(l).ok());
        names.extend(packed.filter_map(|line| Some(line.split_once(' ')?.1.to_owned())));
        names.retain(|name| !name.starts_with(FETCHED));
        names.sort_unstable();
        names.dedup();
        let mut found = Vec::new();
        for name in names.into_iter().filter(|name| is_plain_ref(name)) {
            // What is no commit id is nobody's work.
            found.extend(self.read_ref(&name).ok().flatten().map(|commit| (name, commit)));
        }
        // All but the last stash are in its log alone.
        let stashes = self.read("logs/refs/stash")?.unwrap_or_default();
        let stashes = stashes.split(|byte| *byte == b'\n').filter_map(|l| str::from_utf8(l).ok());
        let stashes = stashes.filter_map(|line| Commit::parse(line.split(' ').nth(1)?));
        found.extend(stashes.map(|commit| ("refs/stash".to_owned(), commit)));
        Ok(found)
    }

    /// What the logs of the clone say that its `HEAD` and its refs have been at, newest first in
    /// each, those of fetched refs left out.
    pub(super) fn logged(&self) -> Vec<Commit> {
        let mut logs = self.files_below("logs");
        // Of further checkouts that an agent has made of its clone.
        let others = self.files_below("worktrees").into_iter();
        logs.extend(others.filter(|path| path.contains("/logs/")));
        logs.retain(|path| !path.starts_with(&format!("logs/{FETCHED}")));
        // `logs/HEAD` comes first: it has most of what the others have.
        logs.sort_unstable();
        let mut found = Vec::new();
        for path in logs.into_iter().take(LOGS_MAX) {
            let Ok(Some(bytes)) = self.read_end(&path, LOG_BYTES_MAX) else { continue };
            for line in bytes.split(|byte| *byte == b'\n').rev() {
                // `OLD NEW WHO WHEN<tab>WHY`; only the ids are plain text for sure.
                let mut ids = line.splitn(3, |byte| *byte == b' ');
                let ids = [ids.next(), ids.next()].into_iter().flatten().rev();
                found.extend(ids.filter_map(|id| Commit::parse(str::from_utf8(id).ok()?)));
            }
        }
        let mut seen = BTreeSet::new();
        found.retain(|commit| seen.insert(commit.clone()));
        found
    }

    fn files_below(&self, folder: &str) -> Vec<String> {
        let mut found = Vec::new();
        if let Ok((below, _)) = self.folder_of(&format!("{folder}/"), Missing::Fails) {
            list(below.as_fd(), folder, REF_DEPTH_MAX, &mut found);
        }
        found
    }

    /// Moves a ref from one value to another; `Busy` when a git of the agent moved it meanwhile.
    pub(super) fn move_ref(
        &self,
        name: &str,
        from: Option<&Commit>,
        to: &Commit,
    ) -> Result<(), Failure> {
        let lock = self.lock(name)?;
        if self.read_ref(name)?.as_ref() != from {
            return Err(Failure::Busy { lock: lock.shown.clone() });
        }
        lock.commit(format!("{to}\n").as_bytes(), None)
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        self.lock(name)?.commit(bytes, None)
    }

    /// Nothing when the file is not there.
    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        self.read_part(name, SeekFrom::Start(0), FILE_BYTES_MAX)
    }

    pub(super) fn read_start(&self, name: &str, bytes: u64) -> Result<Option<Vec<u8>>, Failure> {
        self.read_part(name, SeekFrom::Start(0), bytes)
    }

    fn read_end(&self, name: &str, bytes: u64) -> Result<Option<Vec<u8>>, Failure> {
        let back = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.read_part(name, SeekFrom::End(-back), bytes)
    }

    fn read_part(&self, name: &str, from: SeekFrom, most: u64) -> Result<Option<Vec<u8>>, Failure> {
        let read = || -> Result<Vec<u8>, Errno> {
            let (folder, last) = self.folder_of(name, Missing::Fails)?;
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&folder, last, flags, Mode::empty())?;
            let stat = rustix::fs::fstat(&file)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                return Err(Errno::ISDIR);
            }
            let (mut file, mut bytes) = (File::from(file), Vec::new());
            // A file that is shorter than its asked-for end is read from its start.
            let _ = file.seek(from);
            file.take(most)
                .read_to_end(&mut bytes)
                .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
            Ok(bytes)
        };
        match read() {
            Ok(bytes) => Ok(Some(bytes)),
            // A folder `refs/heads/a` is no ref `refs/heads/a`.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ISDIR) => Ok(None),
            Err(error) => Err(self.broken(&format!(".git/{name} cannot be read ({error})"))),
        }
    }

    /// A file whose name begins so.
    pub(super) fn has_like(&self, start: &str) -> bool {
        let entries = rustix::fs::Dir::read_from(&self.folder).into_iter().flatten();
        let mut names = entries.filter_map(Result::ok).map(|entry| entry.file_name().to_owned());
        names.any(|name| name.to_bytes().starts_with(start.as_bytes()))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.folder_of(name, Missing::Fails).is_ok_and(|(folder, last)| {
            rustix::fs::statat(&folder, last, AtFlags::SYMLINK_NOFOLLOW).is_ok()
        })
    }

    /// Takes a file or folder out, into the runtime's own folder, where it can be deleted safely.
    pub(super) fn take_out(&self, name: &str, bin: &Path) -> Result<(), Failure> {
        let Ok((folder, last)) = self.folder_of(name, Missing::Fails) else { return Ok(()) };
        match rustix::fs::unlinkat(&folder, last, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(_) => {}
        }
        rustix::fs::renameat(&folder, last, CWD, bin)
            .map_err(|error| self.broken(&format!(".git/{name} cannot be removed ({error})")))?;
        shipmate_process::remove_folder(bin)
            .map_err(Failure::file(format!("delete {}", bin.display())))
    }

    /// Takes git's lock of one file. A lock left by a dead git is taken over after a minute.
    pub(super) fn lock(&self, name: &str) -> Result<Lock, Failure> {
        let lock_name = format!("{name}.lock");
        let shown = || self.tree.join(".git").join(&lock_name);
        let failed = |error: Errno| Failure::File {
            what: format!("write {}", shown().display()),
            source: error.into(),
        };
        let (folder, last) = self.folder_of(name, Missing::IsMade).map_err(failed)?;
        let lock_last = format!("{last}.lock");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o644);
        let make = || rustix::fs::openat(&folder, &*lock_last, flags, mode);
        let file = match make() {
            Err(Errno::EXIST) if is_stale(folder.as_fd(), &lock_last) => {
                rustix::fs::unlinkat(&folder, &*lock_last, AtFlags::empty()).map_err(failed)?;
                make()
            }
            other => other,
        };
        let file = match file {
            Ok(file) => File::from(file),
            Err(Errno::EXIST) => return Err(Failure::Busy { lock: shown() }),
            Err(error) => return Err(failed(error)),
        };
        let last = last.to_owned();
        Ok(Lock { file, folder, last, lock_last, shown: shown(), done: false })
    }

    fn broken(&self, fact: &str) -> Failure {
        Failure::BrokenTree { tree: self.tree.clone(), fact: fact.to_owned() }
    }

    fn folder_of<'n>(&self, name: &'n str, missing: Missing) -> Result<(OwnedFd, &'n str), Errno> {
        let mut folder = self.folder.try_clone().map_err(|_| Errno::MFILE)?;
        let mut rest = name;
        while let Some((part, below)) = rest.split_once('/') {
            if missing == Missing::IsMade {
                match rustix::fs::mkdirat(&folder, part, Mode::from_raw_mode(0o755)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error),
                }
            }
            folder = rustix::fs::openat(&folder, part, FOLDER, Mode::empty())?;
            rest = below;
        }
        Ok((folder, rest))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Missing {
    Fails,
    IsMade,
}

/// A held `<file>.lock`; gone when dropped, or renamed over its file when committed.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    folder: OwnedFd,
    last: String,
    lock_last: String,
    shown: PathBuf,
    done: bool,
}

impl Lock {
    /// `modified` is kept where git compares times: an index must not look newer than it is.
    pub(super) fn commit(
        mut self,
        bytes: &[u8],
        modified: Option<SystemTime>,
    ) -> Result<(), Failure> {
        let mut put = || -> io::Result<()> {
            self.file.write_all(bytes)?;
            match modified {
                Some(modified) => self.file.set_modified(modified)?,
                // A ref that a power cut empties would cost the whole tree; an index is made anew.
                None => self.file.sync_data()?,
            }
            rustix::fs::renameat(&self.folder, &*self.lock_last, &self.folder, &*self.last)?;
            Ok(())
        };
        put().map_err(Failure::file(format!("write {}", self.shown.display())))?;
        self.done = true;
        Ok(())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if !self.done {
            let _ = rustix::fs::unlinkat(&self.folder, &*self.lock_last, AtFlags::empty());
        }
    }
}

fn is_stale(folder: BorrowedFd<'_>, name: &str) -> bool {
    let Ok(stat) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
        return true;
    };
    let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
    let made = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    made.elapsed().is_ok_and(|age| age > LOCK_IS_STALE_AFTER)
}

/// The files at and below a folder, each by its path.
fn list(folder: BorrowedFd<'_>, path: &str, depth: usize, found: &mut Vec<String>) {
    let Ok(entries) = rustix::fs::Dir::read_from(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        let Some(name) = entry.file_name().to_str().ok().filter(|name| !name.starts_with('.'))
        else {
            continue;
        };
        let below = format!("{path}/{name}");
        match rustix::fs::openat(folder, name, FOLDER, Mode::empty()) {
            Ok(next) if depth > 0 => list(next.as_fd(), &below, depth - 1, found),
            Ok(_) => {}
            Err(_) => found.push(below),
        }
    }
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap_or_default().trim_end()
}

/// A name that stays below `refs/` whatever it is made of.
fn is_plain_ref(name: &str) -> bool {
    let parts = || name.split('/');
    name.starts_with("refs/")
        && parts().all(|part| !part.is_empty() && part != "." && part != "..")
        && !name.contains('\0')
}
