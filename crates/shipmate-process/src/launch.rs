//! What happens between fork and exec, without `unsafe`: a process that sets itself up and then
//! becomes the program.
//!
//! The program that wants it gives its own path and a subcommand to [`Launcher::through`]; that
//! subcommand calls [`exec_tree`]. The launched process dies when the thread that spawned it ends
//! (the kernel counts threads), so trees are spawned from a thread that lives as long as they do.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::{Resource, Rlimit, Signal, getpid, getppid, set_child_subreaper, setrlimit};

use crate::environment::PARENT_VARIABLE;
use crate::fence::{FENCE_VARIABLE, Fence};

/// How a tree's main process is started.
#[derive(Clone, Debug, Default)]
pub struct Launcher {
    prefix: Vec<OsString>,
}

impl Launcher {
    /// The program is started as it is. It outlives a parent that is killed.
    pub fn direct() -> Self {
        Self::default()
    }

    /// The program is started by `program args… argv…`, which ends in [`exec_tree`].
    pub fn through(program: PathBuf, args: Vec<OsString>) -> Self {
        let mut prefix = vec![program.into_os_string()];
        prefix.extend(args);
        Self { prefix }
    }

    pub(crate) fn is_direct(&self) -> bool {
        self.prefix.is_empty()
    }

    pub(crate) fn command(&self, argv: &[OsString]) -> Command {
        let mut all = self.prefix.iter().chain(argv);
        let mut command = Command::new(all.next().expect("a program has at least one word"));
        command.args(all).env_remove(PARENT_VARIABLE).env_remove(FENCE_VARIABLE);
        if !self.is_direct() {
            command.env(PARENT_VARIABLE, getpid().as_raw_nonzero().to_string());
        }
        command
    }
}

/// Becomes the program `argv`, bound to die with its parent and behind the fence that it was
/// given. Returns only when that failed.
pub fn exec_tree(argv: Vec<OsString>) -> io::Error {
    let Some((program, args)) = argv.split_first() else {
        return io::Error::new(io::ErrorKind::InvalidInput, "no program was named");
    };
    // Fails where it is the first of a group already, as when a person's shell starts it.
    let _ = rustix::process::setsid();
    // What somebody's shell had open when it started us is not the program's.
    close_inherited();
    // Before the death signal: building a fence may change credentials, which forgets it.
    let mut temp = None;
    if let Some(fence) = env::var_os(FENCE_VARIABLE) {
        match Fence::from_variable(&fence).close() {
            Ok(own) => temp = own,
            Err(error) => {
                return io::Error::new(error.kind(), format!("no fence could be built: {error}"));
            }
        }
    }
    if let Err(errno) = rustix::process::set_parent_process_death_signal(Some(Signal::KILL)) {
        return errno.into();
    }
    // The parent may have gone before the request above took hold; then nothing will be sent.
    let expected = env::var(PARENT_VARIABLE).ok().and_then(|pid| pid.parse::<i32>().ok());
    let parent = getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    if expected.is_some_and(|expected| expected != parent) {
        return io::Error::new(io::ErrorKind::NotFound, "the process that asked for it has ended");
    }
    let mut command = Command::new(program);
    if let Some(temp) = temp {
        command.envs(["TMPDIR", "TMP", "TEMP"].map(|name| (name, temp.clone())));
    }
    command.args(args).env_remove(PARENT_VARIABLE).env_remove(FENCE_VARIABLE).exec()
}

/// Marks all that was open when this process began, but for the three streams, to be closed where
/// it becomes or starts another.
pub fn close_inherited() {
    close_fds::set_fds_cloexec(3, &[]);
}

/// Makes the orphans of all descendants children of this process, so that none gets away.
pub fn become_subreaper() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// What is in this process's memory, tokens too, goes into no file when it dies, nor that of what
/// it starts.
pub fn leave_no_core() {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    // One that is at nothing already stays so.
    let _ = setrlimit(Resource::Core, none);
}
