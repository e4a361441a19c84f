//! Calls by which a process changes another one of the same user, and which Landlock does not know:
//! limits, priorities, how it is scheduled. A limit on another's processor time kills it. And leases:
//! whoever can read a file has everybody else wait who opens it.
//!
//! A filter of the kernel's (seccomp) refuses them for every process but the caller itself. It
//! cannot tell one's own number from another's, so whoever names itself by number is refused too.
//!
//! Deliberately absent: `sched_setaffinity`, by which programs place their own threads by number.

use std::io;

use seccompiler::{apply_filter, sock_filter};

/// A kind of processor, and the numbers of the calls there, in the order of [`CALLS`].
const PROCESSORS: [(u32, [u32; 8]); 3] = [
    // x86-64, and 32-bit programs on it.
    (0xc000_003e, [302, 141, 251, 144, 142, 314, 72, 72]),
    (0x4000_0003, [340, 97, 289, 156, 154, 351, 55, 221]),
    // 64-bit ARM.
    (0xc000_00b7, [261, 140, 30, 119, 118, 274, 25, 25]),
];

/// When a call is allowed, by the numbers and values of its arguments.
enum Allowed {
    /// Where each has this value.
    Where(&'static [(u32, u32)]),
    /// Where the first is 0, the caller, or the second, an address, is none: then it only asks.
    OwnOrAsks(u32, u32),
    Unless(u32, u32),
}

const CALLS: [Allowed; 8] = [
    // prlimit64
    Allowed::OwnOrAsks(0, 2),
    // setpriority and ioprio_set: of a process, and that the caller.
    Allowed::Where(&[(0, 0), (1, 0)]),
    Allowed::Where(&[(0, 1), (1, 0)]),
    // sched_setscheduler, sched_setparam, sched_setattr
    Allowed::Where(&[(0, 0)]),
    Allowed::Where(&[(0, 0)]),
    Allowed::Where(&[(0, 0)]),
    // fcntl in its two forms, with F_SETLEASE.
    Allowed::Unless(1, 1024),
    Allowed::Unless(1, 1024),
];

/// For this thread and what it starts, which gains no rights by any program from here on.
pub(super) fn refuse() -> io::Result<()> {
    apply_filter(&filter()).map_err(io::Error::other)
}

fn filter() -> Vec<sock_filter> {
    let mut all = vec![load(4)];
    for (processor, numbers) in PROCESSORS {
        // Numbers above are those of another form of x86-64, which is hardly built in.
        let mut body = vec![load(0), below(0x4000_0000, 1), ends(NO_SUCH_CALL)];
        for (number, allowed) in numbers.into_iter().zip(&CALLS) {
            let checks = checks(allowed);
            body.push(unless(number, checks.len()));
            body.extend(checks);
        }
        body.push(ends(ALLOW));
        all.push(unless(processor, body.len()));
        all.extend(body);
    }
    all.push(ends(ALLOW));
    all
}

/// What a call is held to: the last two are its ends, allowed and refused.
fn checks(allowed: &Allowed) -> Vec<sock_filter> {
    // Numbers have 32 bits, addresses 64.
    let low = |argument: u32| load(16 + 8 * argument);
    let high = |argument: u32| load(20 + 8 * argument);
    let mut all = Vec::new();
    match *allowed {
        Allowed::Where(values) => {
            for (at, (argument, value)) in values.iter().enumerate() {
                // Past the checks that are left, and past where it is allowed.
                let left = 2 * (values.len() - at - 1);
                all.extend([low(*argument), unless(*value, left + 1)]);
            }
        }
        Allowed::OwnOrAsks(process, change) => {
            // Past the four below, to where it is allowed.
            all.extend([low(process), when(0, 4)]);
            all.extend([low(change), unless(0, 3), high(change), unless(0, 1)]);
        }
        Allowed::Unless(argument, value) => all.extend([low(argument), when(value, 1)]),
    }
    all.extend([ends(ALLOW), ends(REFUSE)]);
    all
}

const ALLOW: u32 = 0x7fff_0000;
/// With `EPERM`.
const REFUSE: u32 = 0x0005_0001;
/// With `ENOSYS`.
const NO_SUCH_CALL: u32 = 0x0005_0026;

/// Loads 32 bits of what is known of the call: its number, the processor, its arguments.
fn load(at: u32) -> sock_filter {
    sock_filter { code: 0x20, jt: 0, jf: 0, k: at }
}

/// Goes on where the loaded value is this one, and skips so many otherwise.
fn unless(value: u32, skipped: usize) -> sock_filter {
    let skipped = u8::try_from(skipped).expect("a filter is short");
    sock_filter { code: 0x15, jt: 0, jf: skipped, k: value }
}

/// Skips so many where the loaded value is this one.
fn when(value: u32, skipped: u8) -> sock_filter {
    sock_filter { code: 0x15, jt: skipped, jf: 0, k: value }
}

/// Skips so many where the loaded value is less.
fn below(value: u32, skipped: u8) -> sock_filter {
    sock_filter { code: 0x35, jt: 0, jf: skipped, k: value }
}

fn ends(how: u32) -> sock_filter {
    sock_filter { code: 0x06, jt: 0, jf: 0, k: how }
}

#[cfg(test)]
mod tests {
    use rustix::process::{
        Pid, Resource, Rlimit, getpid, getuid, prlimit, setpriority_process, setpriority_user,
    };

    use super::*;

    #[test]
    fn a_thread_changes_its_own_limits_and_nobody_elses() {
        let other = Pid::from_child(&std::process::Command::new("true").spawn().unwrap());
        let limit = || Rlimit { current: Some(1 << 20), maximum: Some(1 << 20) };
        std::thread::spawn(move || {
            refuse().unwrap();
            prlimit(None, Resource::Core, limit()).unwrap();
            for process in [other, getpid()] {
                prlimit(Some(process), Resource::Core, limit()).unwrap_err();
                setpriority_process(Some(process), 19).unwrap_err();
            }
            setpriority_user(getuid(), 19).unwrap_err();
            setpriority_process(None, 5).unwrap();
        })
        .join()
        .unwrap();
    }
}
