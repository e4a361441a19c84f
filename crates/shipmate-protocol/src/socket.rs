//! The coordinator's socket: made and reached under a path of any length, shared with nobody
//! but processes of this user, and never waited for without an end.
//!
//! A coordinator may be stopped, or hang. Whoever waits for it asks on a second connection
//! whether it still answers anybody: a request may take as long as it needs, a coordinator that
//! answers nobody may not.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

/// Longest socket path the system takes (`sun_path` less its final zero).
const PATH_BYTES_MAX: usize = 107;

/// How often a full queue is tried before the person is told, and as often after it.
const QUEUE_TRIES: u32 = 20;

/// Any answer to this says that the coordinator answers. It names no protocol, so that it is
/// refused at once, and it holds no token.
const PROBE: &[u8] = b"{\"protocol\":0,\"version\":\"probe\"}\n";

/// A coordinator that answered is asked again after this many times as long, because what takes so
/// long is a wait by its nature: somebody who waits for a day asks hardly ever.
const PROBE_GROWTH: u32 = 10;

/// At least this often, so that also a wait of days ends when the coordinator hangs.
const PROBE_AFTER_MAX: Duration = Duration::from_secs(300);

/// How long a coordinator may stay silent.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Silence after which it is asked whether it is there, for the first time.
    pub probe_after: Duration,
    /// After this much more, the person is told.
    pub tell_after: Duration,
    /// After this much more, whoever asked gives up.
    pub give_up_after: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            probe_after: Duration::from_secs(3),
            tell_after: Duration::from_secs(2),
            give_up_after: Duration::from_secs(25),
        }
    }
}

/// A coordinator that answers nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    pub pid: Option<u32>,
    pub cause: SilenceCause,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SilenceCause {
    /// It listens and says nothing: stopped, or it hangs.
    NoAnswer,
    /// It has the workspace's lock and no socket: it begins, it ends, or somebody removed that.
    NoSocket,
    /// It is the one that was started just now.
    Starts,
}

impl std::fmt::Display for Silence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.cause {
            SilenceCause::NoAnswer => "does not answer",
            SilenceCause::NoSocket => "has the workspace's lock and does not listen",
            SilenceCause::Starts => "is still starting",
        };
        match (self.pid, self.cause) {
            (Some(pid), _) => write!(f, "the coordinator, process {pid}, {what}"),
            (None, SilenceCause::NoSocket) => {
                f.write_str("a coordinator is starting or ending, and none listens")
            }
            (None, _) => write!(f, "the coordinator {what}"),
        }
    }
}

/// Whoever can replace a socket gets the tokens that are sent to it: the folder that somebody has
/// named for it must be this user's or root's, and nobody else may write in it.
///
/// # Errors
/// `PermissionDenied` where it is not, with what to do about it.
pub fn require_own_folder() -> io::Result<()> {
    let Some(folder) = runtime_dir() else { return Ok(()) };
    let denied = |why: String| {
        let text = format!("{}: {why}", folder.display());
        io::Error::new(ErrorKind::PermissionDenied, text)
    };
    let found = match std::fs::metadata(&folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if !is_ours(found.uid()) {
        let remedy = "name a folder of yours with SHIPMATE_RUNTIME_DIR";
        return Err(denied(format!("it belongs to user {}: {remedy}", found.uid())));
    }
    if found.mode() & 0o022 != 0 {
        let remedy = "`chmod 700` it, or name a folder of yours with SHIPMATE_RUNTIME_DIR";
        return Err(denied(format!("others can write there: {remedy}")));
    }
    Ok(())
}

/// The folder for sockets that the environment names.
pub(crate) fn runtime_dir() -> Option<PathBuf> {
    std::env::var_os("SHIPMATE_RUNTIME_DIR").map(PathBuf::from)
}

/// A process of this user may do as this one does, and root may anyway.
pub fn is_ours(uid: u32) -> bool {
    uid == rustix::process::getuid().as_raw() || uid == 0
}

/// Connects without waiting: a full queue of a coordinator that takes nobody is `WouldBlock`.
/// The stream does not block either.
///
/// # Errors
/// The system's, and `PermissionDenied` where another user listens, or could: it would get a token.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    require_own_folder()?;
    let (_folder, short) = within_reach(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(short)?)?;
    let peer = rustix::net::sockopt::socket_peercred(&socket)?.uid.as_raw();
    if !is_ours(peer) {
        let text =
            format!("user {peer} listens there, not you: remove that file if it is not yours");
        return Err(io::Error::new(ErrorKind::PermissionDenied, text));
    }
    Ok(UnixStream::from(socket))
}

/// The same, for as long as the coordinator may stay silent where its queue is full. A queue
/// cannot be watched, so it is tried once in a while.
pub(crate) fn connect_in_time(
    path: &Path,
    patience: Patience,
    tell: fn(Silence),
) -> io::Result<UnixStream> {
    let within = [patience.probe_after + patience.tell_after, patience.give_up_after];
    for (n, within) in within.into_iter().enumerate() {
        if n > 0 {
            tell(Silence { pid: None, cause: SilenceCause::NoAnswer });
        }
        for _ in 0..QUEUE_TRIES {
            match connect(path) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => ready(&[], within / QUEUE_TRIES)?,
                connected => return connected,
            };
        }
    }
    Err(ErrorKind::TimedOut.into())
}

/// # Errors
/// The system's.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    let (_folder, short) = within_reach(path)?;
    UnixListener::bind(short)
}

/// The process that listens at the other end, as the kernel knows it.
pub fn listener_of(stream: &UnixStream) -> Option<u32> {
    let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
}

/// The process that has a coordinator's lock, where it listens no more or not yet. What the file
/// says is believed only of a process that has it open.
pub fn holder_of(lock: &Path) -> Option<u32> {
    let file = std::fs::File::open(lock).ok()?;
    if rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockShared).is_ok() {
        return None;
    }
    let pid: u32 = std::fs::read_to_string(lock).ok()?.trim().parse().ok()?;
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let mut open = open.flatten().filter_map(|fd| std::fs::read_link(fd.path()).ok());
    open.any(|path| path == lock).then_some(pid)
}

/// A name for the path that is short enough for as long as the folder is held.
fn within_reach(path: &Path) -> io::Result<(Option<OwnedFd>, PathBuf)> {
    if path.as_os_str().len() <= PATH_BYTES_MAX {
        return Ok((None, path.to_owned()));
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok((None, path.to_owned()));
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags, Mode::empty())?;
    let short = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
    Ok((Some(folder), short))
}

/// A connection whose reads and writes fail with `TimedOut` when the coordinator answers nobody.
#[derive(Debug)]
pub(crate) struct Patient {
    stream: UnixStream,
    path: PathBuf,
    patience: Patience,
    tell: fn(Silence),
}

impl Patient {
    /// `stream` must not block.
    pub(crate) fn new(
        stream: UnixStream,
        path: &Path,
        patience: Patience,
        tell: fn(Silence),
    ) -> Patient {
        Patient { stream, path: path.to_owned(), patience, tell }
    }

    pub(crate) fn silence(&self) -> Silence {
        Silence { pid: listener_of(&self.stream), cause: SilenceCause::NoAnswer }
    }

    /// Waits until the stream is ready, or nobody is there who could make it so.
    fn wait(&self, wanted: PollFlags) -> io::Result<()> {
        let mut probe_after = self.patience.probe_after;
        while !ready(&[(&self.stream, wanted)], probe_after)? {
            // None where its queue is full or its socket gone: it has until the end to answer.
            let probe = connect(&self.path).ok().filter(|probe| {
                let mut probe = probe;
                probe.write_all(PROBE).is_ok()
            });
            let mut watched = vec![(&self.stream, wanted)];
            watched.extend(probe.iter().map(|probe| (probe, PollFlags::IN)));
            if !ready(&watched, self.patience.tell_after)? {
                (self.tell)(self.silence());
                if !ready(&watched, self.patience.give_up_after)? {
                    return Err(ErrorKind::TimedOut.into());
                }
            }
            probe_after = (probe_after * PROBE_GROWTH).min(PROBE_AFTER_MAX);
        }
        Ok(())
    }
}

fn ready(watched: &[(&UnixStream, PollFlags)], within: Duration) -> io::Result<bool> {
    let mut fds: Vec<PollFd<'_>> =
        watched.iter().map(|(stream, wanted)| PollFd::new(*stream, *wanted)).collect();
    let seconds = i64::try_from(within.as_secs()).unwrap_or(i64::MAX);
    let limit = Timespec { tv_sec: seconds, tv_nsec: within.subsec_nanos().into() };
    loop {
        match poll(&mut fds, Some(&limit)) {
            Ok(n) => return Ok(n > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(buffer) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => self.wait(PollFlags::IN)?,
                read => return read,
            }
        }
    }
}

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.stream.write(bytes) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => self.wait(PollFlags::OUT)?,
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
