//! Where the tools may go: anywhere to read, but for what is hidden; in the tree and the agent's
//! own folder to write.
//!
//! What must hold: a file is written where the real path of its folder says, with no link
//! followed on the way: folders are opened one by one, so that nobody who exchanges one for a
//! link meanwhile leads a write out of the tree. What is read is judged once it is open, by the
//! path that it has then. Neither ever waits for a pipe or a device.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};

const PROC: i64 = 0x9fa0;

/// How a change outside the tree is asked for.
pub(super) const ASK: &str = "For a file elsewhere in the repository, ask the lead with \
                              SendMessage: name the path and why (a scope request).";

#[derive(Debug, Clone)]
pub(super) struct Grounds {
    /// As it was given; paths for the supervisor begin with it.
    tree: PathBuf,
    real_tree: PathBuf,
    real_scratch: PathBuf,
    hidden: Vec<PathBuf>,
    /// What of the hidden is not.
    open: Vec<PathBuf>,
}

/// A place that may be written: a folder by its real path below a root, and a name in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    root: PathBuf,
    folders: PathBuf,
    name: PathBuf,
    /// For the supervisor.
    pub(super) path: PathBuf,
}

/// A file that was opened to be read.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) facts: Metadata,
    /// Its path without links.
    pub(super) real: PathBuf,
}

fn real_or_same(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

impl Grounds {
    pub(super) fn new(tree: &Path, scratch: &Path, hidden: &[PathBuf], write: &[PathBuf]) -> Self {
        let (real_tree, real_scratch) = (real_or_same(tree), real_or_same(scratch));
        let mut open: Vec<PathBuf> = write.iter().map(|path| real_or_same(path)).collect();
        open.extend([real_tree.clone(), real_scratch.clone()]);
        let hidden = hidden.iter().map(|path| real_or_same(path)).collect();
        Self { tree: tree.to_owned(), real_tree, real_scratch, hidden, open }
    }

    pub(super) fn tree(&self) -> &Path {
        &self.tree
    }

    /// The path that a model means, without `.` and `..`.
    pub(super) fn meant(&self, text: &str) -> Result<PathBuf, String> {
        if text.is_empty() {
            return Err("the path is empty: give one, relative to your tree".to_owned());
        }
        if text.contains('\0') {
            return Err(format!("{text:?} holds a NUL byte: no path does"));
        }
        if text.starts_with('~') {
            return Err(format!("{text}: ~ is not expanded here; write the whole path"));
        }
        let mut path = PathBuf::new();
        for part in self.tree.join(text).components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => drop(path.pop()),
                other => path.push(other),
            }
        }
        Ok(path)
    }

    /// As models and people are shown it.
    pub(super) fn shown(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.real_tree).or_else(|_| path.strip_prefix(&self.tree));
        match inside {
            Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
            Ok(rest) => rest.display().to_string(),
            Err(_) => path.display().to_string(),
        }
    }

    /// As the supervisor is asked about it: real, and below the tree as it was given.
    pub(super) fn asked(&self, path: &Path) -> PathBuf {
        let real = match resolve(path) {
            Ok(real) => real,
            Err(_) => path.to_owned(),
        };
        match real.strip_prefix(&self.real_tree) {
            Ok(rest) => self.tree.join(rest),
            Err(_) => real,
        }
    }

    /// Refuses what is hidden, by a real path.
    pub(super) fn check_visible(&self, real: &Path) -> Result<(), String> {
        if self.is_hidden(real) {
            let path = self.shown(real);
            return Err(format!("{path} is not for teammates to read: work in your own tree"));
        }
        Ok(())
    }

    fn is_hidden(&self, real: &Path) -> bool {
        let below = |paths: &[PathBuf]| paths.iter().any(|path| real.starts_with(path));
        below(&self.hidden) && !below(&self.open)
    }

    /// Whether a search goes there: what is hidden is passed by, but for the way to what is not.
    pub(super) fn is_on_the_way(&self, real: &Path) -> bool {
        !self.is_hidden(real) || self.open.iter().any(|open| open.starts_with(real))
    }

    pub(super) fn open_to_read(&self, path: &Path) -> Result<Opened, String> {
        let shown = self.shown(path);
        let failed = |error: io::Error| format!("{shown} could not be read: {error}");
        // Before it is opened: some devices act when they are.
        check_regular(&fs::metadata(path).map_err(failed)?, &shown)?;
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let flags = flags.bits().cast_signed();
        let file = File::options().read(true).custom_flags(flags).open(path).map_err(failed)?;
        let facts = file.metadata().map_err(failed)?;
        check_regular(&facts, &shown)?;
        check_not_proc(&file, &shown)?;
        let own = format!("/proc/self/fd/{}", file.as_raw_fd());
        let real = fs::read_link(own).map_err(failed)?;
        self.check_visible(&real)?;
        Ok(Opened { file, facts, real })
    }

    /// A folder to be listed or searched, by its real path.
    pub(super) fn folder_to_read(&self, path: &Path) -> Result<PathBuf, String> {
        let shown = self.shown(path);
        let failed = |error: io::Error| format!("{shown} could not be read: {error}");
        let real = path.canonicalize().map_err(failed)?;
        check_not_proc(&File::open(&real).map_err(failed)?, &shown)?;
        self.check_visible(&real)?;
        Ok(real)
    }

    /// Where a write to this path goes.
    pub(super) fn target(&self, text: &str) -> Result<Target, String> {
        let meant = self.meant(text)?;
        let shown = self.shown(&meant);
        let real = resolve(&meant).map_err(|why| format!("{shown}: {why}"))?;
        let roots = [&self.real_tree, &self.real_scratch];
        let Some(root) = roots.into_iter().find(|root| real.starts_with(root)) else {
            let tree = self.tree.display();
            let inside = meant.starts_with(&self.tree) || meant.starts_with(&self.real_tree);
            let fact = if inside {
                format!("{shown} leads by a link to {}, outside your tree", real.display())
            } else {
                format!("{shown} is outside your tree {tree}")
            };
            return Err(format!("{fact}: nothing is written there. {ASK}"));
        };
        let rest = real.strip_prefix(root).expect("it begins with its root");
        if rest.components().any(|part| part.as_os_str() == ".git") {
            return Err(format!("{shown} is git's own: change it with git, through bash"));
        }
        let Some(name) = rest.file_name() else {
            return Err(format!("{shown} is a folder: name a file in it"));
        };
        let folders = rest.parent().unwrap_or(Path::new("")).to_owned();
        let path = if root == &self.real_tree { self.tree.join(rest) } else { real.clone() };
        Ok(Target { root: root.clone(), folders, name: name.into(), path })
    }
}

impl Target {
    pub(super) fn name(&self) -> &OsStr {
        self.name.as_os_str()
    }

    pub(super) fn real(&self) -> PathBuf {
        self.root.join(&self.folders).join(&self.name)
    }

    /// Opens its folder, step by step, and creates what of it is not there.
    pub(super) fn folder(&self) -> io::Result<OwnedFd> {
        let open = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut at = rustix::fs::openat(CWD, &self.root, open, Mode::empty())?;
        for part in self.folders.components() {
            let part = part.as_os_str();
            let found = match rustix::fs::openat(&at, part, open, Mode::empty()) {
                Err(rustix::io::Errno::NOENT) => {
                    match rustix::fs::mkdirat(&at, part, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                        Err(errno) => return Err(errno.into()),
                    }
                    rustix::fs::openat(&at, part, open, Mode::empty())?
                }
                other => other?,
            };
            at = found;
        }
        Ok(at)
    }

    /// The file that is there now.
    pub(super) fn open(&self) -> io::Result<Option<File>> {
        let path = self.real();
        let found = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            found => found?,
        };
        if found.is_dir() {
            return Err(io::Error::other("it is a folder"));
        }
        if !found.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(self.folder()?, self.name(), flags, Mode::empty())?;
        let file = File::from(file);
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        Ok(Some(file))
    }
}

/// The path without links, as far as it exists.
fn resolve(path: &Path) -> Result<PathBuf, String> {
    let mut there = path.to_owned();
    let mut rest = Vec::new();
    loop {
        match there.canonicalize() {
            Ok(mut real) => {
                real.extend(rest.into_iter().rev());
                return Ok(real);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if there.symlink_metadata().is_ok() {
                    let at = there.display();
                    return Err(format!(
                        "{at} is a link to nothing: remove it, or name its target"
                    ));
                }
                let (Some(name), true) = (there.file_name().map(PathBuf::from), there.pop()) else {
                    return Err(error.to_string());
                };
                rest.push(name);
            }
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                return Err("a part of the path is a file, not a folder".to_owned());
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn check_regular(facts: &Metadata, shown: &str) -> Result<(), String> {
    let kind = facts.file_type();
    let what = if kind.is_file() || kind.is_dir() {
        return Ok(());
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(format!("{shown} is {what}, not a file: only files and folders can be read"))
}

/// This process's own files there hold what no model should see.
fn check_not_proc(file: &File, shown: &str) -> Result<(), String> {
    let kind = rustix::fs::fstatfs(file).map_err(|errno| format!("{shown}: {errno}"))?.f_type;
    if kind == PROC {
        return Err(format!("{shown} is the kernel's, not a file: look at it through bash"));
    }
    Ok(())
}
