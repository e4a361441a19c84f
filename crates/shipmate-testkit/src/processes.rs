//! The processes of a workspace as `/proc` shows them, and how they are ended and awaited.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use shipmate_protocol::Place;

/// So long is looked at a thread that works and works, or that waits for a processor.
const LOOK_FOR: Duration = Duration::from_secs(120);

/// A live process that carries a workspace's marker.
#[derive(Debug, Clone)]
pub struct Marked {
    pub pid: u32,
    /// `agent`, `supervisor`, `gate`, `hook`, `coordinator`, or `tool` for what a supervisor runs.
    pub kind: String,
    /// `team.name@epoch` for agents and supervisors.
    pub label: String,
    /// The claim it works on, for an agent.
    pub token: Option<u64>,
    pub words: String,
}

/// Everybody who carries the marker of the workspace with this digest.
#[must_use]
pub fn marked(digest: &str) -> Vec<Marked> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| read(pid, digest)).collect()
}

fn read(pid: u32, digest: &str) -> Option<Marked> {
    let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let value = |name: &str| {
        let mut entries = environ.split(|byte| *byte == 0);
        let found =
            entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
        found.map(|value| String::from_utf8_lossy(value).into_owned())
    };
    let marker = value("SHIPMATE_LIFE")?;
    let mut parts = marker.split(':');
    if parts.next() != Some(digest) {
        return None;
    }
    let (kind, label) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let token = value("SHIPMATE_TASK_TOKEN").and_then(|text| text.parse().ok());
    let words = words(pid);
    // What a supervisor runs, a git say, carries its marker too.
    let kind = match kind.as_str() {
        "supervisor" if !words.split(' ').any(|word| word == "supervise") => "tool".to_owned(),
        _ => kind,
    };
    Some(Marked { pid, kind, label, token, words })
}

/// Every live git whose folder is this one or below it.
#[must_use]
pub fn gits(below: &Path) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_git = |pid: &u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let folder = fs::read_link(format!("/proc/{pid}/cwd"));
        name.starts_with("git") && folder.is_ok_and(|folder| folder.starts_with(below))
    };
    pids.filter(is_git).collect()
}

/// The command line of a process; empty for one that is gone.
#[must_use]
pub fn words(pid: u32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).trim_end_matches('\0').replace('\0', " ")
}

/// The coordinator that holds the workspace's lock, if it is alive.
#[must_use]
pub fn coordinator(place: &Place) -> Option<u32> {
    let pid: u32 = fs::read_to_string(place.lock()).ok()?.trim().parse().ok()?;
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let own = place.workspace.as_os_str().as_encoded_bytes();
    words.split(|byte| *byte == 0).any(|word| word == own).then_some(pid)
}

/// One that is gone already needs no signal.
pub fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// Stops a process, and waits until each of its threads stands still: the signal is not enough, because a
/// thread goes on until it is next on its way back from the kernel.
///
/// # Panics
/// Where a thread goes on for minutes.
pub fn freeze(pid: u32) {
    signal(pid, Signal::STOP);
    let end = Instant::now() + LOOK_FOR;
    let goes_on = |task: fs::DirEntry| state(&task.path()).is_some_and(|it| !"TtZX".contains(it));
    let tasks = || fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    while tasks().any(goes_on) {
        assert!(Instant::now() < end, "process {pid} was to stand still: {}", words(pid));
        std::thread::yield_now();
    }
}

/// What a process or a thread does, as a letter; nothing of one that is gone.
fn state(folder: &Path) -> Option<char> {
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
}

/// Wakes whoever a tracer has left stopped: these threads, and everybody of the workspace with this
/// digest, of whom the tracer may have said nothing yet. A stop that it gave on its way out comes
/// when that thread is next on a processor: until it sleeps it may still be to come.
pub fn let_go_on(threads: &BTreeSet<u32>, digest: &str) {
    let (mut safe, end) = (BTreeSet::new(), Instant::now() + LOOK_FOR);
    while Instant::now() < end {
        let all = threads.iter().copied().chain(marked(digest).into_iter().map(|one| one.pid));
        let mut left = false;
        for pid in all.filter(|pid| !safe.contains(pid)).collect::<Vec<_>>() {
            match state(Path::new(&format!("/proc/{pid}"))) {
                Some(state @ ('T' | 'R' | 't')) => {
                    left = true;
                    if state == 'T' {
                        signal(pid, Signal::CONT);
                    }
                }
                _ => drop(safe.insert(pid)),
            }
        }
        if !left {
            return;
        }
        std::thread::yield_now();
    }
}

pub fn kill(pid: u32) {
    signal(pid, Signal::KILL);
}

/// Waits until a process has ended; false if it has not by then.
#[must_use]
pub fn ends(pid: u32, limit: Duration) -> bool {
    let Some(own) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return true };
    let Ok(watched) = pidfd_open(own, PidfdFlags::empty()) else { return true };
    let end = Instant::now() + limit;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).expect("a limit is short");
        match poll(&mut [PollFd::new(&watched, PollFlags::IN)], Some(&left)) {
            Ok(count) => return count == 1,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return !Path::new(&format!("/proc/{pid}")).exists(),
        }
    }
}
