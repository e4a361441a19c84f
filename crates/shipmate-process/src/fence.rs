//! The fence: a tree writes only where it was told, and does not read what is hidden from it.
//!
//! Landlock, applied by the launcher to itself before it becomes the program. It holds for
//! everything the program starts, cannot be taken off again, and a fence inside a fence adds to
//! it. What must hold: a fence that is required and cannot be had whole starts nothing.
//!
//! Landlock knows no rule that denies. So where something is hidden, everything beside the way to
//! it is opened for reading, as it stands at that moment: what is created later right in a folder
//! on that way is not readable either. What is hidden below a place that may be written is not
//! hidden. Names, sizes and modes of hidden files can still be seen.
//!
//! A fenced process uses the network, goes on using what was open before, and gains no rights by
//! a set-user-id program such as `sudo`. Where the kernel has it (Linux 6.12), it signals nothing
//! outside and reaches no abstract socket there. It changes no limits or priorities of others. Of
//! root's powers it keeps those over files and users: the others lead around any fence. Renaming a
//! file needs the right to write in its folder: a single file in the list can be written, not
//! replaced.
//!
//! Deliberately absent: rights on device ioctls. And Landlock has none on sockets that are files:
//! whatever listens there and does as it is told (a container engine, a service manager) is in
//! reach, unless the process may mount: then all but the named ones are covered. [`sockets`] finds
//! those there are.

mod calls;
mod freeze;
pub(crate) mod sockets;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::{env, fmt, fs, thread};

use landlock::{
    ABI, AccessFs, LandlockStatus, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope, path_beneath_rules,
};
use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, no_new_privs, remove_capability_from_bounding_set};

use crate::environment::PARENT_VARIABLE;

/// The fence on its way to the launcher; the program does not get it.
pub(crate) const FENCE_VARIABLE: &str = "SHIPMATE_LAUNCH_FENCE";

/// What every program opens for writing, or may: without `/dev/null` not even git starts.
const DEVICES: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"];

/// What of root's powers stays inside: those that installing and testing want.
const POWERS_KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// What the lines of the variable begin with.
const WRITE: u8 = b'+';
const HIDDEN: u8 = b'-';
const READ: u8 = b'~';
const FREEZE: u8 = b'=';
const TEMP: u8 = b'/';
const REACH: u8 = b'@';

/// The first that also covers emptying a file (Linux 6.2). Later ones add no way to write files.
const WHOLE: ABI = ABI::V3;

/// Where a tree may write, and what it may not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fence {
    /// Files, and folders with all below them. What does not exist when the tree starts is
    /// left out.
    pub write: Vec<PathBuf>,
    /// Files, and folders with all below them, that are not read either, but for what `write`
    /// lists. What does not exist when the tree starts is left out.
    pub hidden: Vec<PathBuf>,
    /// Of what is hidden, what may be read after all.
    pub read: Vec<PathBuf>,
    /// Modes, owners and times of what is outside stay as they are too. Where [`covers`] says
    /// that it can be had.
    pub freeze: bool,
    /// Its own folder for temporary files, which `write` lists too: `TMPDIR` names it, and where
    /// the system lets a process arrange that, `/tmp` and `/var/tmp` are this folder.
    pub temp: Option<PathBuf>,
    /// Sockets that stay in reach where others can be covered; those below `write` do anyway.
    pub reach: Vec<PathBuf>,
    /// Rather start nothing than without a whole fence.
    pub required: bool,
}

/// How much of a fence around files this machine's kernel builds. In text `full`, `partial` or
/// `none`, as records have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Landlock is not there or not switched on.
    None,
    /// Linux 5.13 to 6.1: files outside can be emptied though not written, or nothing can be
    /// moved between folders.
    Partial,
    Full,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Partial => "partial",
            Self::Full => "full",
        })
    }
}

/// What a fence here would be. Asks the kernel once.
pub fn achieved() -> Level {
    static ACHIEVED: OnceLock<Level> = OnceLock::new();
    // A thread that fences itself in and ends: nothing else finds out as much, and the rest of
    // this process stays free.
    *ACHIEVED.get_or_init(|| {
        let tried = thread::spawn(|| Fence::default().restrict()).join();
        tried.ok().and_then(Result::ok).unwrap_or(Level::None)
    })
}

/// Whether sockets outside are covered here, and `/tmp` is a folder of the tree's own: whether
/// trees that this program starts may mount. Asks the kernel once.
pub fn covers() -> bool {
    static COVERS: OnceLock<bool> = OnceLock::new();
    *COVERS.get_or_init(|| match () {
        // Inside another fence nothing can be mounted.
        () if no_new_privs().unwrap_or(true) => false,
        // A thread with mounts of its own, which end with it.
        () if geteuid().is_root() => {
            thread::spawn(|| freeze::freeze(&Fence::default()).is_ok()).join().unwrap_or(false)
        }
        () => covers_by_user(),
    })
}

/// Others than root do it in a process without a second thread, and find out at the last step.
fn covers_by_user() -> bool {
    const WORD: &str = "covered";
    let fence = Fence { freeze: true, required: true, ..Fence::default() };
    let Ok(program) = env::current_exe() else { return false };
    let mut command = Command::new(program);
    command.args(["exec-tree", "echo", WORD]).env(FENCE_VARIABLE, fence.to_variable());
    command.current_dir("/").env_remove(PARENT_VARIABLE).stdin(Stdio::null());
    command.output().is_ok_and(|said| said.stdout.trim_ascii() == WORD.as_bytes())
}

impl Fence {
    /// Why a tree may not start behind this fence, if so.
    pub(crate) fn lacks(&self) -> Option<&'static str> {
        if self.required { missing(achieved()) } else { None }
    }

    /// Fences this thread in, and what it becomes by exec. Gives what its environment says about
    /// temporary files from then on.
    pub(crate) fn close(&self) -> io::Result<Option<PathBuf>> {
        let mut temp = self.temp.clone();
        // Inside another fence nothing can be mounted, and that fence may have seen to it.
        if self.freeze && !no_new_privs().unwrap_or(false) {
            match freeze::freeze(self) {
                // A short path: sockets made there have little room for theirs.
                Ok(true) => temp = Some(freeze::TEMP.into()),
                Ok(false) => {}
                // It was found that it can be had, and is recorded so.
                Err(error) => return Err(error),
            }
        }
        shed_powers();
        let is_inside = no_new_privs().unwrap_or(false);
        let unsupported = |why: String| io::Error::new(io::ErrorKind::Unsupported, why);
        let level = match self.restrict() {
            // So many are around it already that the kernel takes no further one.
            Err(_) if is_inside && !self.required => Level::None,
            built => built.map_err(|error| unsupported(error.to_string()))?,
        };
        calls::refuse()?;
        match missing(level) {
            Some(why) if self.required => Err(unsupported(why.to_owned())),
            _ => Ok(temp),
        }
    }

    /// Does something behind this fence, Landlock's part of it, and comes back: on a thread of its
    /// own. What that starts stays behind it.
    pub fn within<T: Send>(&self, act: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let fenced = || {
                shed_powers();
                self.restrict().map_err(io::Error::other)?;
                calls::refuse()?;
                act()
            };
            // A panic of `act` goes on here.
            scope.spawn(fenced).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn restrict(&self) -> Result<Level, RulesetError> {
        let write = AccessFs::from_write(WHOLE);
        // Who may make a device may write to a disk beside its files.
        let inside = !(AccessFs::MakeBlock | AccessFs::MakeChar);
        let hidden: Vec<PathBuf> =
            self.hidden.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
        let mut all = write;
        let mut readable = Vec::new();
        if !hidden.is_empty() {
            all |= AccessFs::ReadFile;
            beside(Path::new("/"), &hidden, &mut readable);
        }
        // Without anything hidden nothing is said about reading.
        let again = if hidden.is_empty() { &[][..] } else { &self.read };
        let status = Ruleset::default()
            .handle_access(all)?
            .scope(Scope::Signal | Scope::AbstractUnixSocket)?
            .create()?
            .add_rules(path_beneath_rules(DEVICES, all & inside))?
            .add_rules(path_beneath_rules(readable, all & AccessFs::ReadFile))?
            .add_rules(path_beneath_rules(again, all & AccessFs::ReadFile))?
            .add_rules(path_beneath_rules(&self.write, all & inside))?
            .restrict_self()?;
        // Not `FullyEnforced`: that would also ask for the scopes, and this is about files.
        Ok(match (status.ruleset, status.landlock) {
            (RulesetStatus::NotEnforced, _) => Level::None,
            (_, LandlockStatus::Available { effective_abi, .. }) if effective_abi >= WHOLE => {
                Level::Full
            }
            _ => Level::Partial,
        })
    }

    /// One line per path after the first, with `%` and line ends escaped.
    pub(crate) fn to_variable(&self) -> OsString {
        let mut text = if self.required { "required" } else { "wanted" }.to_owned().into_bytes();
        if self.freeze {
            text.extend([b'\n', FREEZE]);
        }
        let write = self.write.iter().map(|path| (WRITE, path));
        let hidden = self.hidden.iter().map(|path| (HIDDEN, path));
        let read = self.read.iter().map(|path| (READ, path));
        let temp = self.temp.iter().map(|path| (TEMP, path));
        let reach = self.reach.iter().map(|path| (REACH, path));
        for (mark, path) in write.chain(hidden).chain(read).chain(temp).chain(reach) {
            text.extend([b'\n', mark]);
            for byte in path.as_os_str().as_bytes() {
                match byte {
                    b'%' => text.extend(b"%%"),
                    b'\n' => text.extend(b"%n"),
                    byte => text.push(*byte),
                }
            }
        }
        OsString::from_vec(text)
    }

    pub(crate) fn from_variable(text: &OsStr) -> Self {
        let mut lines = text.as_bytes().split(|byte| *byte == b'\n');
        let mut fence = Self { required: lines.next() != Some(b"wanted"), ..Self::default() };
        for line in lines {
            match line.split_first() {
                Some((&WRITE, path)) => fence.write.push(unescaped(path)),
                Some((&HIDDEN, path)) => fence.hidden.push(unescaped(path)),
                Some((&READ, path)) => fence.read.push(unescaped(path)),
                Some((&TEMP, path)) if !path.is_empty() => fence.temp = Some(unescaped(path)),
                Some((&REACH, path)) => fence.reach.push(unescaped(path)),
                Some((&FREEZE, b"")) => fence.freeze = true,
                _ => fence.required = true,
            }
        }
        fence
    }
}

fn unescaped(text: &[u8]) -> PathBuf {
    let mut path = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' if bytes.next() == Some(&b'n') => path.push(b'\n'),
            byte => path.push(*byte),
        }
    }
    PathBuf::from(OsString::from_vec(path))
}

/// Nothing to shed where the user is not root, and nothing to be done where it may not.
fn shed_powers() {
    let shed = CapabilitySet::all() - POWERS_KEPT;
    for power in shed.iter() {
        let _ = remove_capability_from_bounding_set(power);
    }
}

/// All that stands beside the way from `folder` to what is hidden. Links are left out: what they
/// lead to is found where it is. So are disks: root reads any file there.
fn beside(folder: &Path, hidden: &[PathBuf], found: &mut Vec<PathBuf>) {
    if hidden.iter().any(|path| path == folder) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_symlink() || kind.is_block_device() {
            continue;
        }
        let on_the_way = hidden.iter().any(|hidden| hidden.starts_with(&path));
        if on_the_way || (kind.is_dir() && path.starts_with("/dev")) {
            beside(&path, hidden, found);
        } else {
            found.push(path);
        }
    }
}

fn missing(level: Level) -> Option<&'static str> {
    match level {
        Level::Full => None,
        Level::Partial => Some("this kernel's Landlock is too old for a whole fence (Linux 6.2)"),
        Level::None => Some("this kernel has no Landlock, or it is not switched on"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_arrives_as_it_was_sent() {
        let odd = OsString::from_vec(b"/a\nb/%n%/\xff".to_vec());
        let lists = [vec![], vec![PathBuf::from("/x")], vec![PathBuf::from(odd), "/y".into()]];
        for write in &lists {
            for (hidden, required) in lists.iter().zip([true, false, true]) {
                let (write, hidden) = (write.clone(), hidden.clone());
                let (read, reach, temp) = (hidden.clone(), write.clone(), hidden.last().cloned());
                let fence = Fence { write, hidden, read, required, freeze: !required, temp, reach };
                assert_eq!(Fence::from_variable(&fence.to_variable()), fence);
            }
        }
    }

    #[test]
    fn what_cannot_be_read_is_a_required_fence_around_nothing_else() {
        for text in ["", "wanted\n/", "wanted\n"] {
            let fence = Fence::from_variable(OsStr::new(text));
            assert_eq!(fence, Fence { required: true, ..Fence::default() }, "{text:?}");
        }
    }

    #[test]
    fn asking_leaves_this_process_free() {
        achieved();
        let path = std::env::temp_dir().join(format!("shipmate-fence-{}", std::process::id()));
        std::fs::write(&path, "free").unwrap();
        std::fs::remove_file(&path).unwrap();
    }
}
