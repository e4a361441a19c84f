//! `shipmate coordinator`: run it here, stop it, or say whether it runs.
//!
//! Nobody has to use these: the coordinator starts when a command needs it and ends when nobody
//! does. They are for looking after it, and for running it under a supervisor of one's own.

use std::process::ExitCode;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use shipmate_protocol::{ClientFailure, Place, Welcome, socket};

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::session::{Globals, Session, place};
use crate::config;
use crate::time::parse_duration_ms;

/// How long the system may take to end a process that has no say in it.
const KILLED_WITHIN: Duration = Duration::from_secs(5);

/// The coordinator of this workspace: run, stop, status
#[derive(clap::Subcommand, Debug)]
pub(crate) enum CoordinatorCommand {
    Run(RunArgs),
    Stop(StopArgs),
    Status(StatusArgs),
}

/// Run the coordinator in this process until it is idle or stopped
///
/// Prints `ready` when it listens. Commands start one by themselves; this is for a supervisor of
/// your own, with idle-exit-seconds = 0. What it does is traced in `.shipmate/state/trace.log`, as much
/// as SHIPMATE_TRACE says: off, error, warn, info (the default), debug or trace.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate coordinator run
  SHIPMATE_TRACE=debug shipmate coordinator run")]
pub(crate) struct RunArgs {
    /// Serve only a workspace that has state: none is made. Commands start it so, because the workspace may
    /// be removed at the same moment.
    #[arg(long, hide = true)]
    existing: bool,
}

/// Stop the coordinator; the next command starts another
///
/// Nothing is lost: what was acknowledged is in the log, and clients that wait ask the next one.
/// One that does not end by itself, because it hangs or is stopped, is ended.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  shipmate coordinator stop")]
pub(crate) struct StopArgs {
    /// How long it has to end by itself
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ms, default_value = "10s")]
    deadline: u64,
}

/// Say whether the coordinator runs, and which release it is
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  shipmate coordinator status --json")]
pub(crate) struct StatusArgs {}

/// Told on standard output in one line, because whoever started this reads one.
pub(crate) fn run_here(args: &RunArgs, globals: &Globals) -> Result<ExitCode, Failure> {
    let place = place(globals.workspace.as_deref())?;
    match config::load(&place.config()) {
        Ok(loaded) => Ok(crate::coordinator::run(&place, &loaded.config, !args.existing)),
        Err(bad) => {
            println!("{}", bad.to_string().replace('\n', "\\n"));
            Ok(Exit::Usage.into())
        }
    }
}

pub(crate) fn run(command: &CoordinatorCommand, session: Session) -> Result<(), Failure> {
    match command {
        CoordinatorCommand::Run(_) => Err(Failure::Bug("run is not asked of itself".to_owned())),
        CoordinatorCommand::Stop(args) => stop(args, &session),
        CoordinatorCommand::Status(_) => status(&session),
    }
}

/// Who serves this workspace, if anybody does.
pub(crate) fn running(session: &Session) -> Result<Option<Welcome>, ClientFailure> {
    match session.without_starting().welcome() {
        Ok(welcome) => Ok(Some(welcome)),
        Err(ClientFailure::NotRunning(_)) => Ok(None),
        Err(failure) => Err(failure),
    }
}

fn status(session: &Session) -> Result<(), Failure> {
    let running = running(session)?;
    if session.screen.json {
        return session.screen.json(&match &running {
            Some(Welcome { pid, version, protocol, .. }) => serde_json::json!({
                "running": true, "pid": pid, "version": version, "protocol": protocol
            }),
            None => serde_json::json!({ "running": false }),
        });
    }
    session.screen.line(&match running {
        Some(welcome) => format!(
            "running: process {}, release {}, protocol {}",
            welcome.pid, welcome.version, welcome.protocol
        ),
        None => "not running; the next command starts it".to_owned(),
    })
}

fn stop(args: &StopArgs, session: &Session) -> Result<(), Failure> {
    // Not by asking it: one that hangs, or is of another release, gives no answer.
    let Some(pid) = found(&session.place) else {
        return match session.screen.json {
            true => session.screen.json(&serde_json::json!({ "unchanged": true })),
            false => session.screen.line("not running"),
        };
    };
    end(pid, Duration::from_millis(args.deadline))?;
    match session.screen.json {
        true => session.screen.json(&serde_json::json!({ "stopped": pid })),
        false => session.screen.line(&format!("stopped the coordinator, process {pid}")),
    }
}

/// The coordinator's process, whatever state it is in.
pub(crate) fn found(place: &Place) -> Option<u32> {
    listening(place).or_else(|| socket::holder_of(&place.lock()))
}

/// The process that has the workspace's socket; the kernel knows it, and that it is ours.
fn listening(place: &Place) -> Option<u32> {
    socket::listener_of(&socket::connect(&place.socket()).ok()?)
}

/// Asks a process to end, waits until it has, and ends it where it does not.
pub(crate) fn end(pid: u32, deadline: Duration) -> Result<(), Failure> {
    let unstoppable = |reason: &str| {
        Failure::Client(ClientFailure::Connection(format!(
            "the coordinator, process {pid}, cannot be stopped: {reason}"
        )))
    };
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let raw = raw.ok_or_else(|| unstoppable("it has no process number"))?;
    let ended = Ended::of(raw);
    let send = |signal| match rustix::process::kill_process(raw, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(e) => Err(unstoppable(&e.to_string())),
    };
    // A process that is stopped ends only when it goes on.
    send(Signal::TERM)?;
    send(Signal::CONT)?;
    if ended.within(deadline) {
        return Ok(());
    }
    // Nothing acknowledged is lost: that is in the log.
    send(Signal::KILL)?;
    if ended.within(KILLED_WITHIN) {
        return Ok(());
    }
    Err(unstoppable("the system does not end it; it may wait for a disk that does not answer"))
}

/// Watches the end of a process that is no child of ours.
#[cfg(target_os = "linux")]
struct Ended(Option<rustix::fd::OwnedFd>);

#[cfg(target_os = "linux")]
impl Ended {
    /// Taken before the signal: the number of an ended process may belong to another.
    fn of(pid: rustix::process::Pid) -> Ended {
        Ended(rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok())
    }

    fn within(&self, deadline: Duration) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let Some(fd) = &self.0 else { return true };
        let mut watched = [PollFd::new(fd, PollFlags::IN)];
        let seconds = i64::try_from(deadline.as_secs()).unwrap_or(i64::MAX);
        let limit = Timespec { tv_sec: seconds, tv_nsec: deadline.subsec_nanos().into() };
        matches!(poll(&mut watched, Some(&limit)), Ok(ready) if ready > 0)
    }
}

/// Elsewhere there is no handle on a stranger's process: it is looked for until it is gone.
#[cfg(not(target_os = "linux"))]
struct Ended(rustix::process::Pid);

#[cfg(not(target_os = "linux"))]
impl Ended {
    fn of(pid: rustix::process::Pid) -> Ended {
        Ended(pid)
    }

    fn within(&self, deadline: Duration) -> bool {
        let (_never, wait) = std::sync::mpsc::channel::<()>();
        let start = std::time::Instant::now();
        while start.elapsed() < deadline {
            if rustix::process::test_kill_process(self.0).is_err() {
                return true;
            }
            drop(wait.recv_timeout(Duration::from_millis(5)));
        }
        false
    }
}
