//! The processes of a workspace, as `/proc` shows them, and how tests end and await them.

use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

/// A live process that carries a marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marked {
    pub(crate) pid: u32,
    /// `agent`, `supervisor`, `gate`, `hook` or `coordinator`.
    pub(crate) kind: String,
    /// `team.name@epoch` for agents and supervisors.
    pub(crate) label: String,
    pub(crate) words: String,
}

/// Everybody who carries a marker of the workspace with this digest.
pub(crate) fn marked(digest: &str) -> Vec<Marked> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut found: Vec<Marked> = pids.filter_map(|pid: u32| read(pid, digest)).collect();
    found.sort_by_key(|one| one.pid);
    found
}

fn read(pid: u32, digest: &str) -> Option<Marked> {
    let environ = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut entries = environ.split(|byte| *byte == 0);
    let marker = entries.find_map(|entry| entry.strip_prefix(b"SHIPMATE_LIFE="))?;
    let marker = String::from_utf8_lossy(marker).into_owned();
    let mut parts = marker.split(':');
    if parts.next() != Some(digest) {
        return None;
    }
    let (kind, label) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = String::from_utf8_lossy(&words).replace('\0', " ");
    Some(Marked { pid, kind, label, words })
}

pub(crate) fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid as i32).unwrap();
    // One that is gone already needs no signal.
    let _ = kill_process(pid, signal);
}

/// Kills a process and waits until it is gone.
pub(crate) fn kill(pid: u32) {
    let Some(watched) = watch(pid) else { return };
    signal(pid, Signal::KILL);
    gone(&watched);
}

pub(crate) fn watch(pid: u32) -> Option<rustix::fd::OwnedFd> {
    pidfd_open(Pid::from_raw(pid as i32)?, PidfdFlags::empty()).ok()
}

/// Waits until the process behind a pidfd has ended.
pub(crate) fn gone(watched: &rustix::fd::OwnedFd) {
    // Only a test that fails waits so long.
    let limit = Timespec { tv_sec: 300, tv_nsec: 0 };
    let ended = poll(&mut [PollFd::new(watched, PollFlags::IN)], Some(&limit)).unwrap();
    assert_eq!(ended, 1, "the process did not end");
}

#[allow(dead_code, reason = "not every test needs it")]
pub(crate) fn is_alive(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
        && std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| !stat[stat.rfind(')').unwrap()..].starts_with(") Z"))
}
