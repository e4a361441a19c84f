//! A running process with all its offspring.
//!
//! The main process is not reaped before the rest of its tree is gone: while it is a zombie its
//! number, which is also its group's, cannot pass to a stranger.

use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Child;
use std::thread;
use std::time::Duration;

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, pidfd_open,
    waitid,
};
use tokio::net::unix::pipe;
use tokio::sync::watch;

use crate::capture::Captured;
use crate::failure::SpawnFailure;
use crate::fence::{FENCE_VARIABLE, Fence};
use crate::marker::MARKER_VARIABLE;
use crate::program;
use crate::pump::Activity;
use crate::registry::{self, Enrolled};
use crate::spec::Spec;
use crate::streams::{Flow, Streams};
use crate::sweep::{self, Scope};
use crate::watched::Watched;

/// How a main process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    /// 0 where the status is not to be had, because this process ignores SIGCHLD.
    Signal(i32),
}

impl Exit {
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// What is known once nothing of a tree is alive.
#[derive(Debug)]
pub struct Ended {
    /// The main process's end. SIGKILL if it is among `remaining`.
    pub exit: Exit,
    /// How many processes besides the main one had to be ended.
    pub left_behind: usize,
    /// Processes that did not go even after SIGKILL; empty but for a hung kernel or a forker that
    /// could not be outrun.
    pub remaining: Vec<Pid>,
    /// Empty unless the output was captured.
    pub stdout: Captured,
    /// Empty unless the output was captured.
    pub stderr: Captured,
    /// How many bytes of output are in no file.
    pub dropped: u64,
}

/// A running process and its offspring. Dropping it kills them, without waiting.
#[derive(Debug)]
pub struct Tree {
    child: Option<Child>,
    main: Watched,
    scope: Scope,
    _enrolled: Enrolled,
    flow: Flow,
}

impl Tree {
    /// Starts it. Wants a tokio runtime, of any flavour.
    pub fn spawn(spec: Spec) -> Result<Self, SpawnFailure> {
        let argv = spec.program.argv();
        let named = argv.first().cloned().unwrap_or_default();
        if !spec.cwd.is_dir() {
            return Err(SpawnFailure::NoDirectory(spec.cwd));
        }
        program::check(&named, &spec.cwd, spec.search_path().as_deref())?;
        assert!(spec.fence.is_none() || !spec.launcher.is_direct(), "a launcher builds the fence");
        if let Some(why) = spec.fence.as_ref().and_then(Fence::lacks) {
            let program = named.to_string_lossy().into_owned();
            return Err(SpawnFailure::NoFence { program, why });
        }

        let mut command = spec.launcher.command(&argv);
        command.current_dir(&spec.cwd).envs(crate::environment::newer());
        // A launcher makes a session of its own, whose processes cannot join a group of ours.
        if spec.launcher.is_direct() {
            command.process_group(0);
        }
        for name in &spec.env_remove {
            command.env_remove(name);
        }
        command.envs(spec.env.iter().map(|(name, value)| (name, value)));
        command.env(MARKER_VARIABLE, spec.marker.to_string());
        match &spec.fence {
            Some(fence) => command.env(FENCE_VARIABLE, fence.to_variable()),
            None => command.env_remove(FENCE_VARIABLE),
        };

        let streams = Streams::open(spec.stdin, &spec.output, &named, &mut command)?;
        let mut trees = registry::lock();
        let child = command.spawn().map_err(|source| SpawnFailure::system(&named, source))?;
        let pid = Pid::from_child(&child);
        let enrolled = Enrolled::enter(&mut trees, pid);
        drop(trees);
        // It holds copies of the child's ends, and a pipe ends only when the last is closed.
        drop(command);

        let (marker, distrusts) = (spec.marker.to_string(), spec.distrusts);
        let scope = Scope { marker, main: Some(pid), distrusts };
        let watched = pidfd_open(pid, PidfdFlags::empty())
            .map_err(io::Error::from)
            .and_then(|fd| Watched::from_pidfd(pid, fd));
        let main = match watched {
            Ok(main) => main,
            Err(source) => {
                sweep::strike(&scope);
                reap_later(child);
                return Err(SpawnFailure::system(&named, source));
            }
        };
        Ok(Self { child: Some(child), main, scope, _enrolled: enrolled, flow: streams.start() })
    }

    pub fn pid(&self) -> Pid {
        self.main.pid()
    }

    /// The writing end of a [`crate::Stdin::Piped`]; dropping it is the end of input.
    pub fn take_stdin(&mut self) -> Option<pipe::Sender> {
        self.flow.stdin.take()
    }

    /// The reading end of an [`crate::Output::Stream`].
    pub fn take_stdout(&mut self) -> Option<pipe::Receiver> {
        self.flow.stdout.take()
    }

    /// What the tree has printed so far, where this crate keeps it.
    pub fn activity(&self) -> watch::Receiver<Activity> {
        self.flow.activity.clone()
    }

    /// Sends a signal to the main process's group, such as SIGINT for a turn to be broken off.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        match kill_process_group(self.pid(), signal) {
            Err(rustix::io::Errno::SRCH) | Ok(()) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Returns as soon as the main process has ended, whoever may still hold its pipes. Safe to
    /// ask again.
    pub async fn exited(&self) -> Exit {
        loop {
            if let Some(exit) = self.peek() {
                return exit;
            }
            self.main.gone().await;
        }
    }

    fn peek(&self) -> Option<Exit> {
        // NOWAIT leaves the zombie in place.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::PidFd(self.main.pidfd().as_fd()), options) {
            Ok(status) => Some(exit_of(&status?)),
            // Where SIGCHLD is ignored the kernel keeps no status.
            Err(_) => Some(Exit::Signal(0)),
        }
    }

    /// Ends everything: SIGTERM, and SIGKILL after the grace. Nothing of the tree is alive when
    /// it returns.
    pub async fn stop(mut self, grace: Duration) -> Ended {
        let swept = sweep::end(&self.scope, grace).await;
        let exit = self.peek().unwrap_or(Exit::Signal(Signal::KILL.as_raw()));
        let kept = self.flow.finish().await;
        if let Some(child) = self.child.take() {
            reap_later(child);
        }
        Ended {
            exit,
            left_behind: swept.ended,
            remaining: swept.remaining,
            stdout: kept.stdout,
            stderr: kept.stderr,
            dropped: kept.dropped,
        }
    }

    /// Ends at once what a main process that has exited left behind.
    pub async fn clean(self) -> Ended {
        self.stop(Duration::ZERO).await
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            sweep::strike(&self.scope);
            reap_later(child);
        }
    }
}

/// Takes the exit status of a child that is dead or was just killed.
fn reap_later(mut child: Child) {
    if !matches!(child.try_wait(), Ok(Some(_))) {
        thread::spawn(move || child.wait());
    }
}

fn exit_of(status: &WaitIdStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or_default()),
    }
}
