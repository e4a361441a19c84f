//! Why nothing was started.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnFailure {
    #[error("{program} was not found{place}: install it, or correct its name")]
    Missing { program: String, place: &'static str },
    #[error("{program} may not be executed: run `chmod +x {program}`")]
    NotExecutable { program: PathBuf },
    #[error("the working directory {0} does not exist")]
    NoDirectory(PathBuf),
    #[error(
        "{program} was not started: it must be fenced in, and {why}. Use a newer kernel, or \
         require no fence"
    )]
    NoFence { program: String, why: &'static str },
    #[error("the output file {path} could not be opened: {source}")]
    NoOutput { path: PathBuf, source: io::Error },
    #[error("{program} could not be started: {source}{hint}")]
    System { program: String, source: io::Error, hint: &'static str },
}

impl SpawnFailure {
    /// The machine has no room for it now: the same may succeed a moment later.
    pub fn is_passing(&self) -> bool {
        const ENOMEM: i32 = 12;
        const ENFILE: i32 = 23;
        const EMFILE: i32 = 24;
        let (Self::NoOutput { source, .. } | Self::System { source, .. }) = self else {
            return false;
        };
        let kinds = [
            io::ErrorKind::StorageFull,
            io::ErrorKind::QuotaExceeded,
            io::ErrorKind::WouldBlock,
            io::ErrorKind::OutOfMemory,
        ];
        kinds.contains(&source.kind())
            || matches!(source.raw_os_error(), Some(ENOMEM | ENFILE | EMFILE))
    }

    /// For a program that was found and may be executed.
    pub(crate) fn system(program: &OsStr, source: io::Error) -> Self {
        const ENOEXEC: i32 = 8;
        let hint = match source.raw_os_error() {
            Some(ENOEXEC) => " (a script's first line begins with #!)",
            _ if source.kind() == io::ErrorKind::NotFound => {
                " (the program is there: the interpreter that its first line names is not)"
            }
            _ => "",
        };
        Self::System { program: program.to_string_lossy().into_owned(), source, hint }
    }
}
