//! What is to be started: a line for a shell, or a program with its arguments.
//!
//! A shell line runs with `pipefail` wherever a shell on this machine has it: without it
//! `cargo test | tail` succeeds when the tests fail, and a gate behind it never closes.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rustix::fs::{Access, access};

use crate::failure::SpawnFailure;

#[derive(Clone, Debug)]
pub enum Program {
    /// A line for `bash -o pipefail -c`, or `sh` where there is no bash.
    Shell(String),
    /// A program and its arguments. The first is looked up in `PATH` unless it contains a `/`.
    Argv(Vec<OsString>),
}

#[derive(Clone, Copy)]
enum Shell {
    Bash,
    ShWithPipefail,
    Sh,
}

fn shell() -> Shell {
    static SHELL: OnceLock<Shell> = OnceLock::new();
    *SHELL.get_or_init(|| {
        let runs = |shell: &str| {
            let mut command = Command::new(shell);
            command.args(["-o", "pipefail", "-c", ":"]).stdin(Stdio::null());
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        if runs("bash") {
            Shell::Bash
        } else if runs("sh") {
            Shell::ShWithPipefail
        } else {
            Shell::Sh
        }
    })
}

/// Whether a [`Program::Shell`] line fails when any part of a pipe fails. Where it is false, a
/// gate that pipes a test run into another program cannot be trusted.
pub fn has_pipefail() -> bool {
    !matches!(shell(), Shell::Sh)
}

impl Program {
    pub(crate) fn argv(&self) -> Vec<OsString> {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect();
        match self {
            Self::Argv(argv) => argv.clone(),
            Self::Shell(line) => match shell() {
                Shell::Bash => words(&["bash", "-o", "pipefail", "-c", line]),
                Shell::ShWithPipefail => words(&["sh", "-o", "pipefail", "-c", line]),
                Shell::Sh => words(&["sh", "-c", line]),
            },
        }
    }
}

/// Refuses what could not be started, in words. Behind a launcher the system's own error would
/// only show as that launcher's exit code.
pub(crate) fn check(
    program: &OsStr,
    cwd: &Path,
    search: Option<&OsStr>,
) -> Result<(), SpawnFailure> {
    let named = program.to_string_lossy().into_owned();
    let candidates: Vec<PathBuf> = if named.contains('/') {
        vec![cwd.join(program)]
    } else {
        let folders = env::split_paths(search.unwrap_or_default());
        folders.map(|folder| cwd.join(folder).join(program)).collect()
    };
    let mut there = candidates.iter().filter(|path| path.is_file()).peekable();
    let Some(first) = there.peek().map(|path| path.to_path_buf()) else {
        let place = if named.contains('/') { "" } else { " in PATH" };
        return Err(SpawnFailure::Missing { program: named, place });
    };
    if there.any(|path| access(path, Access::EXEC_OK).is_ok()) {
        return Ok(());
    }
    Err(SpawnFailure::NotExecutable { program: first })
}
