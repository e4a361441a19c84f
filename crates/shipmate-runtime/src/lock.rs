//! One coordinator per workspace, by locks that the kernel frees on any death.
//!
//! Whoever starts first takes `starting.lock` and waits for it: starts happen one
//! after the other. Then it takes `coordinator.lock` for life. Finding that taken
//! while the socket answers means that somebody serves already; finding it taken
//! without an answer means that the other is ending, and waiting for the lock is
//! right.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use shipmate_protocol::Place;

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

pub(crate) fn acquire(place: &Place, socket: &Path) -> io::Result<Lock> {
    let starting = open(&place.starting_lock())?;
    flock(&starting, FlockOperation::LockExclusive)?;
    let mut coordinator = open(&place.lock())?;
    if flock(&coordinator, FlockOperation::NonBlockingLockExclusive).is_err() {
        if UnixStream::connect(socket).is_ok() {
            return Ok(Lock::Served);
        }
        flock(&coordinator, FlockOperation::LockExclusive)?;
    }
    coordinator.set_len(0)?;
    coordinator.rewind()?;
    coordinator.write_all(std::process::id().to_string().as_bytes())?;
    Ok(Lock::Ours(Held { _coordinator: coordinator, starting: Some(starting) }))
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)
}
