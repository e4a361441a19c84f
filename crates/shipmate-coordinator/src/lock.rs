//! One coordinator per workspace, by locks that the kernel frees on any death.
//!
//! Whoever starts first takes `starting.lock` and waits for it: starts happen one
//! after the other. Then it takes `coordinator.lock` for life. Finding that taken
//! while the socket answers means that somebody serves already; finding it taken
//! without an answer means that the other is ending, and waiting for the lock is
//! right; but not for ever, for whoever started this has given up by then.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use shipmate_protocol::{Place, socket};

/// Longer than a client waits for a start.
const LOCK_WITHIN: Duration = Duration::from_secs(60);

/// Held for life; the file says who holds it.
#[derive(Debug)]
pub(crate) struct Held {
    _coordinator: File,
    starting: Option<File>,
}

impl Held {
    /// The socket answers now: the next starter may look.
    pub(crate) fn started(&mut self) {
        self.starting = None;
    }
}

pub(crate) enum Lock {
    Ours(Held),
    /// Somebody else serves this workspace.
    Served,
}

pub(crate) fn acquire(place: &Place, path: &Path) -> io::Result<Lock> {
    let starting = open(&place.starting_lock())?;
    let starting = locked(starting)?;
    let mut coordinator = open(&place.lock())?;
    if flock(&coordinator, FlockOperation::NonBlockingLockExclusive).is_err() {
        // One whose queue is full listens too.
        let answered = socket::connect(path).map_or_else(|e| e.kind(), |_| io::ErrorKind::Other);
        if matches!(answered, io::ErrorKind::Other | io::ErrorKind::WouldBlock) {
            return Ok(Lock::Served);
        }
        coordinator = locked(coordinator)?;
    }
    // Written over what is there: a disk without space has room for that. A coordinator that
    // cannot say who it is serves all the same.
    let pid = std::process::id().to_string();
    let written = coordinator.write_all_at(pid.as_bytes(), 0);
    drop(written.and_then(|()| coordinator.set_len(pid.len() as u64)));
    Ok(Lock::Ours(Held { _coordinator: coordinator, starting: Some(starting) }))
}

/// Waits for a lock, with an end: the thread that waits goes on until this process exits.
fn locked(file: File) -> io::Result<File> {
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
        return Ok(file);
    }
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let taken = flock(&file, FlockOperation::LockExclusive);
        // Nobody takes it any more when the time is up: dropping it frees the lock.
        drop(tell.send(taken.map(|()| file)));
    });
    match told.recv_timeout(LOCK_WITHIN) {
        Ok(taken) => Ok(taken?),
        Err(_) => {
            let text = "another coordinator has it and does not listen\n  end it with `shipmate \
                        coordinator stop`";
            Err(io::Error::new(io::ErrorKind::TimedOut, text))
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)
}
