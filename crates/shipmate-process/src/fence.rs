//! The fence: a tree reads everywhere and writes only where it was told.
//!
//! Landlock, applied by the launcher to itself before it becomes the program. It holds for
//! everything the program starts and cannot be taken off again. What must hold: a fence that is
//! required and cannot be had whole starts nothing.
//!
//! It is about files only. A fenced process reads whatever its user may, uses the network, sends
//! signals and goes on writing to what was open before; and it gains no rights by a set-user-id
//! program such as `sudo`. Renaming a file needs the right to write in its folder: a single file
//! in the list can be written, not replaced.
//!
//! Deliberately absent: rights on device ioctls and on unix sockets. Terminals, graphics cards
//! and the coordinator's socket stay as they are.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread;

use landlock::{
    ABI, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus,
    path_beneath_rules,
};

/// The fence on its way to the launcher; the program does not get it.
pub(crate) const FENCE_VARIABLE: &str = "SHIPMATE_FENCE";

/// What every program opens for writing, or may: without `/dev/null` not even git starts.
const DEVICES: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"];

/// The first that also covers emptying a file (Linux 6.2). Later ones add no way to write files.
const WHOLE: ABI = ABI::V3;

/// Where a tree may write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fence {
    /// Files, and folders with all below them. What does not exist when the tree starts is
    /// left out.
    pub write: Vec<PathBuf>,
    /// Rather start nothing than without a whole fence.
    pub required: bool,
}

/// How much of a fence this machine's kernel builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Landlock is not there or not switched on.
    None,
    /// Linux 5.13 to 6.1: files outside can be emptied though not written, or nothing can be
    /// moved between folders.
    Partial,
    Full,
}

/// What a fence here would be. Asks the kernel once.
pub fn achieved() -> Level {
    static ACHIEVED: OnceLock<Level> = OnceLock::new();
    // A thread that fences itself in and ends: nothing else finds out as much, and the rest of
    // this process stays free.
    *ACHIEVED.get_or_init(|| {
        let tried = thread::spawn(|| restrict(&[])).join();
        tried.ok().and_then(Result::ok).unwrap_or(Level::None)
    })
}

impl Fence {
    /// Why a tree may not start behind this fence, if so.
    pub(crate) fn lacks(&self) -> Option<&'static str> {
        if self.required { missing(achieved()) } else { None }
    }

    /// Fences this thread in, and what it becomes by exec.
    pub(crate) fn close(&self) -> io::Result<()> {
        let built = restrict(&self.write);
        let lacks = match &built {
            Ok(level) => missing(*level).map(str::to_owned),
            Err(error) => Some(error.to_string()),
        };
        match lacks {
            Some(why) if self.required => Err(io::Error::new(io::ErrorKind::Unsupported, why)),
            _ => Ok(()),
        }
    }

    /// One line per path after the first, with `%` and line ends escaped.
    pub(crate) fn to_variable(&self) -> OsString {
        let mut text = if self.required { "required" } else { "wanted" }.to_owned().into_bytes();
        for path in &self.write {
            text.push(b'\n');
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
        let required = lines.next() != Some(b"wanted");
        let write = lines.map(|line| {
            let mut path = Vec::with_capacity(line.len());
            let mut bytes = line.iter();
            while let Some(byte) = bytes.next() {
                match byte {
                    b'%' if bytes.next() == Some(&b'n') => path.push(b'\n'),
                    byte => path.push(*byte),
                }
            }
            PathBuf::from(OsString::from_vec(path))
        });
        Self { write: write.collect(), required }
    }
}

fn missing(level: Level) -> Option<&'static str> {
    match level {
        Level::Full => None,
        Level::Partial => Some("this kernel's Landlock is too old for a whole fence (Linux 6.2)"),
        Level::None => Some("this kernel has no Landlock, or it is not switched on"),
    }
}

fn restrict(write: &[PathBuf]) -> Result<Level, RulesetError> {
    let access = AccessFs::from_write(WHOLE);
    let status = Ruleset::default()
        .handle_access(access)?
        .create()?
        .add_rules(path_beneath_rules(DEVICES, access))?
        .add_rules(path_beneath_rules(write, access))?
        .restrict_self()?;
    Ok(match status.ruleset {
        RulesetStatus::FullyEnforced => Level::Full,
        RulesetStatus::PartiallyEnforced => Level::Partial,
        RulesetStatus::NotEnforced => Level::None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_arrives_as_it_was_sent() {
        let odd = OsString::from_vec(b"/a\nb/%n%/\xff".to_vec());
        for write in [vec![], vec![PathBuf::from("/x")], vec![PathBuf::from(odd), "/y".into()]] {
            for required in [true, false] {
                let fence = Fence { write: write.clone(), required };
                assert_eq!(Fence::from_variable(&fence.to_variable()), fence);
            }
        }
    }

    #[test]
    fn what_cannot_be_read_is_a_required_fence_around_nothing_else() {
        let fence = Fence::from_variable(OsStr::new(""));
        assert_eq!(fence, Fence { write: vec![], required: true });
    }

    #[test]
    fn asking_leaves_this_process_free() {
        achieved();
        let path = std::env::temp_dir().join(format!("shipmate-fence-{}", std::process::id()));
        std::fs::write(&path, "free").unwrap();
        std::fs::remove_file(&path).unwrap();
    }
}
