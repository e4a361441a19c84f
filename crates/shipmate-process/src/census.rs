//! What `/proc` says about the processes of this machine.
//!
//! Each answer is true of one moment only. Whoever signals a process found here opens a pidfd
//! first and then asks again whether it is still the same one.

use std::fs;
use std::thread;

use rustix::process::Pid;

use crate::marker::MARKER_VARIABLE;

/// How often a process in the middle of exec is looked at before it counts as unmarked.
const EXEC_LOOKS_MAX: u32 = 20_000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) pid: Pid,
    pub(crate) parent: Option<Pid>,
    pub(crate) group: Option<Pid>,
    pub(crate) session: Option<Pid>,
    /// In clock ticks since boot: with the pid it names one process for good.
    pub(crate) born: u64,
    pub(crate) alive: bool,
}

impl Seen {
    pub(crate) fn key(&self) -> (Pid, u64) {
        (self.pid, self.born)
    }
}

/// Everybody, the youngest first, and whether a process went away while they were looked at. The
/// youngest are those that may be gone in a moment.
pub(crate) fn everyone() -> (Vec<Seen>, bool) {
    let Ok(entries) = fs::read_dir("/proc") else { return (Vec::new(), false) };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut listed: Vec<Pid> = pids.filter_map(Pid::from_raw).collect();
    listed.reverse();
    let seen: Vec<Seen> = listed.iter().filter_map(|pid| one(*pid)).collect();
    let vanished = seen.len() < listed.len();
    (seen, vanished)
}

pub(crate) fn one(pid: Pid) -> Option<Seen> {
    let stat = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    parse(pid, &String::from_utf8_lossy(&stat))
}

fn parse(pid: Pid, stat: &str) -> Option<Seen> {
    // The name stands in parentheses and may itself hold spaces and parentheses.
    let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_ascii_whitespace().collect();
    // A process that is being reaped has no group and no session: -1 stands there.
    let positive = |raw: &i32| *raw > 0;
    let pid_at = |at: usize| fields.get(at)?.parse().ok().filter(positive).and_then(Pid::from_raw);
    let ended = matches!(*fields.first()?, "Z" | "X" | "x");
    // A first thread that ended before the others shows as a zombie in front of a live process.
    let threads: u32 = fields.get(17)?.parse().ok()?;
    Some(Seen {
        pid,
        parent: pid_at(1),
        group: pid_at(2),
        session: pid_at(3),
        born: fields.get(19)?.parse().ok()?,
        alive: !ended || threads > 1,
    })
}

/// Whether a process, and what it starts, gains no rights by any program: once so, it stays so.
pub(crate) fn gains_no_rights(pid: Pid) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()));
    status.is_ok_and(|status| status.lines().any(|line| line == "NoNewPrivs:\t1"))
}

/// The marker's text in the environment that a process was started with. None where there is
/// none, where it may not be read, and for a zombie.
pub(crate) fn mark(pid: Pid) -> Option<String> {
    let mut environ = environ(pid)?;
    for _ in 0..EXEC_LOOKS_MAX {
        if !environ.is_empty() {
            break;
        }
        // What was empty before it was through with exec is looked at once more.
        let is_through = !is_in_exec(pid);
        environ = self::environ(pid)?;
        if is_through {
            break;
        }
        thread::yield_now();
    }
    let value = environ
        .split(|b| *b == 0)
        .find_map(|entry| entry.strip_prefix(MARKER_VARIABLE.as_bytes())?.strip_prefix(b"="))?;
    Some(String::from_utf8_lossy(value).into_owned())
}

fn environ(pid: Pid) -> Option<Vec<u8>> {
    fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).ok()
}

/// Whether the process is just becoming another program: it has memory and, for some
/// microseconds, no environment. Somebody else's process would pass for unmarked then.
fn is_in_exec(pid: Pid) -> bool {
    const MEMORY_BYTES: usize = 20;
    const ENVIRON_END: usize = 48;
    let Ok(stat) = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())) else {
        return false;
    };
    let Some((_, fields)) = stat.rsplit_once(')') else { return false };
    let is_zero = |at| fields.split_ascii_whitespace().nth(at) == Some("0");
    !is_zero(MEMORY_BYTES) && is_zero(ENVIRON_END)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "7 (a) b (c) S 3 5 2 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0";

    #[test]
    fn a_process_name_may_hold_parentheses() {
        let seen = parse(Pid::from_raw(7).unwrap(), STAT).unwrap();
        assert_eq!((seen.parent, seen.group), (Pid::from_raw(3), Pid::from_raw(5)));
        assert_eq!((seen.session, seen.born, seen.alive), (Pid::from_raw(2), 4711, true));
    }

    #[test]
    fn a_zombie_is_alive_only_while_it_has_threads() {
        let pid = Pid::from_raw(7).unwrap();
        let zombie = STAT.replace(" S ", " Z ");
        assert!(!parse(pid, &zombie).unwrap().alive);
        assert!(parse(pid, &zombie.replace(" 20 0 1 ", " 20 0 2 ")).unwrap().alive);
    }

    #[test]
    fn this_process_is_among_everyone() {
        let me = rustix::process::getpid();
        assert!(everyone().0.iter().any(|seen| seen.pid == me && seen.alive));
    }
}
