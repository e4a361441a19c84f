//! One coordinator per workspace, by locks that the kernel frees on any death.
//!
//! Whoever starts first takes `starting.lock` and waits for it: starts happen one
//! after the other. Then it takes `coordinator.lock` for life. Finding that taken
//! while the socket answers means that somebody serves already; finding it taken
//! without an answer means that the other is ending, and waiting for the lock is
//! right.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use shipmate_protocol::{Place, socket};

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
    flock(&starting, FlockOperation::LockExclusive)?;
    let coordinator = open(&place.lock())?;
    if flock(&coordinator, FlockOperation::NonBlockingLockExclusive).is_err() {
        // One whose queue is full listens too.
        let answered = socket::connect(path).map_or_else(|e| e.kind(), |_| io::ErrorKind::Other);
        if matches!(answered, io::ErrorKind::Other | io::ErrorKind::WouldBlock) {
            return Ok(Lock::Served);
        }
        flock(&coordinator, FlockOperation::LockExclusive)?;
    }
    // Written over what is there: a disk without space has room for that. A coordinator that
    // cannot say who it is serves all the same.
    let pid = std::process::id().to_string();
    let written = coordinator.write_all_at(pid.as_bytes(), 0);
    drop(written.and_then(|()| coordinator.set_len(pid.len() as u64)));
    Ok(Lock::Ours(Held { _coordinator: coordinator, starting: Some(starting) }))
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)
}
