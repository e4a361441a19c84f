//! A process under watch, whether or not it is a child: told when it is gone, and signalled
//! without ever meeting another process that was given its number.

use std::io;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::census;
use crate::marker::Marker;

#[derive(Debug)]
pub struct Watched {
    pid: Pid,
    fd: AsyncFd<OwnedFd>,
}

impl Watched {
    /// The process that has this number now. None when there is none.
    ///
    /// A number from a record may have passed to another process: use [`Watched::carrying`] then.
    pub fn open(pid: Pid) -> Option<Self> {
        let fd = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        Self::from_pidfd(pid, fd).ok()
    }

    /// The process of this number, if it still carries this marker.
    pub fn carrying(pid: Pid, marker: &Marker) -> Option<Self> {
        let watched = Self::open(pid)?;
        (census::mark(pid)? == marker.to_string()).then_some(watched)
    }

    #[expect(
        deprecated,
        reason = "the new constructor is unsafe because a foreign type may close its descriptor; \
                  OwnedFd does not"
    )]
    pub(crate) fn from_pidfd(pid: Pid, fd: OwnedFd) -> io::Result<Self> {
        Ok(Self { pid, fd: AsyncFd::with_interest(fd, Interest::READABLE)? })
    }

    pub fn pid(&self) -> Pid {
        self.pid
    }

    pub(crate) fn pidfd(&self) -> &OwnedFd {
        self.fd.get_ref()
    }

    /// Returns once the process has ended; a zombie has.
    pub async fn gone(&self) {
        // An error here means that the runtime shuts down, and then nobody waits.
        let _ = self.fd.readable().await;
    }

    /// Sends a signal. That the process has ended meanwhile is no error.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        match pidfd_send_signal(self.fd.get_ref(), signal) {
            Err(rustix::io::Errno::SRCH) | Ok(()) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}
