//! One client's connection: lines in, lines out, both bounded.
//!
//! Writing never blocks the coordinator: what the socket does not take at once waits
//! in a buffer, and a reader that lets it grow past the limit is cut off. It comes
//! back and asks again.

use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use rustix::buffer::spare_capacity;
use shipmate_protocol::wire::Reply;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

/// What a client may leave unread.
const OUT_BYTES_MAX: usize = 64 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Connection {
    /// Watched for reading only. Watching for writing too would wake the coordinator
    /// each time a client takes its answer, which is once for every request.
    stream: AsyncFd<UnixStream>,
    out: RefCell<Out>,
    flushing: Cell<bool>,
    open: Cell<bool>,
    /// Requests that were taken and are neither answered nor set to wait.
    owed: Cell<usize>,
    /// The client sends no more. It may still listen, as `nc` does.
    ended: Cell<bool>,
    settled: Notify,
    closed: Notify,
}

/// What is still to be written.
#[derive(Debug, Default)]
struct Out {
    bytes: Vec<u8>,
    /// How much of it was written.
    sent: usize,
}

/// Why no further line comes.
#[derive(Debug)]
pub(crate) enum LineEnd {
    Closed,
    TooLong,
}

impl Connection {
    pub(crate) fn new(stream: tokio::net::UnixStream) -> io::Result<Rc<Connection>> {
        let stream = watch(stream.into_std()?, Interest::READABLE)?;
        Ok(Rc::new(Connection {
            stream,
            out: RefCell::default(),
            flushing: Cell::new(false),
            open: Cell::new(true),
            owed: Cell::new(0),
            ended: Cell::new(false),
            settled: Notify::new(),
            closed: Notify::new(),
        }))
    }

    /// The process at the other end.
    pub(crate) fn peer(&self) -> Option<rustix::process::Pid> {
        rustix::net::sockopt::socket_peercred(self.stream.get_ref()).ok().map(|peer| peer.pid)
    }

    /// Somebody may still be there to hear of something that happens later.
    pub(crate) fn is_listening(&self) -> bool {
        self.is_open() && !self.ended.get()
    }

    pub(crate) fn took_request(&self) {
        self.owed.set(self.owed.get() + 1);
    }

    pub(crate) fn settled_request(&self) {
        self.owed.set(self.owed.get().saturating_sub(1));
        self.settled.notify_one();
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.get()
    }

    pub(crate) fn close(&self) {
        self.open.set(false);
        self.closed.notify_waiters();
    }

    /// Waits until the client has gone.
    pub(crate) async fn closed(&self) {
        while self.is_open() {
            self.closed.notified().await;
        }
    }

    /// Waits until every request is answered and the answers are on their way, then
    /// closes.
    pub(crate) async fn finish(&self) {
        self.ended.set(true);
        while self.is_open() && self.owed.get() > 0 {
            self.settled.notified().await;
        }
        self.drain().await;
        self.close();
    }

    /// Writes on as the reader makes room.
    async fn drain(&self) {
        let Ok(Ok(writable)) =
            self.stream.get_ref().try_clone().map(|stream| watch(stream, Interest::WRITABLE))
        else {
            return self.close();
        };
        while self.is_open() && self.left() > 0 {
            match writable.writable().await {
                Ok(mut ready) => ready.clear_ready(),
                Err(_) => self.close(),
            }
            self.write_some();
        }
    }

    pub(crate) fn send(self: &Rc<Self>, reply: &Reply) {
        if !self.is_open() {
            return;
        }
        {
            let out = &mut self.out.borrow_mut().bytes;
            serde_json::to_writer(&mut *out, reply).expect("a reply is JSON");
            out.push(b'\n');
        }
        self.flush();
    }

    fn left(&self) -> usize {
        let out = self.out.borrow();
        out.bytes.len() - out.sent
    }

    fn flush(self: &Rc<Self>) {
        if self.flushing.get() {
            if self.left() > OUT_BYTES_MAX {
                self.close();
            }
            return;
        }
        self.write_some();
        if self.left() > 0 && self.is_open() {
            self.flushing.set(true);
            let this = Rc::clone(self);
            tokio::task::spawn_local(async move {
                this.drain().await;
                this.flushing.set(false);
            });
        }
    }

    fn write_some(&self) {
        let out = &mut *self.out.borrow_mut();
        while out.sent < out.bytes.len() {
            match self.stream.get_ref().write(&out.bytes[out.sent..]) {
                Ok(0) => break,
                Ok(n) => out.sent += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.close();
                    return;
                }
            }
        }
        out.sent = 0;
        out.bytes.clear();
        // One large list must not stay in memory for as long as the client does.
        out.bytes.shrink_to(64 * 1024);
    }
}

#[expect(
    deprecated,
    reason = "what replaces it is unsafe; the flaw is about types that give another descriptor each \
              time they are asked, and std's stream does not"
)]
fn watch(stream: UnixStream, interest: Interest) -> io::Result<AsyncFd<UnixStream>> {
    AsyncFd::with_interest(stream, interest)
}

/// Cuts what a connection sends into lines.
#[derive(Debug)]
pub(crate) struct Lines {
    connection: Rc<Connection>,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were given out as lines.
    taken: usize,
    /// Bytes known to hold no line end.
    searched: usize,
}

impl Lines {
    pub(crate) fn new(connection: &Rc<Connection>) -> Lines {
        let connection = Rc::clone(connection);
        Lines { connection, buffer: Vec::with_capacity(4096), taken: 0, searched: 0 }
    }

    /// The next line, without its end. Half a line before the end is no line.
    pub(crate) async fn next(&mut self, bytes_max: usize) -> Result<&[u8], LineEnd> {
        loop {
            let from = self.searched;
            if let Some(at) = self.buffer[from..].iter().position(|byte| *byte == b'\n') {
                let (start, end) = (self.taken, from + at);
                self.taken = end + 1;
                self.searched = end + 1;
                return Ok(&self.buffer[start..end]);
            }
            self.buffer.drain(..self.taken);
            self.taken = 0;
            self.searched = self.buffer.len();
            if self.buffer.len() > bytes_max {
                return Err(LineEnd::TooLong);
            }
            if self.buffer.is_empty() && self.buffer.capacity() > 1 << 20 {
                self.buffer.shrink_to(4096);
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> Result<(), LineEnd> {
        const CHUNK: usize = 16 * 1024;
        self.buffer.reserve(CHUNK);
        loop {
            let mut ready = match self.connection.stream.readable().await {
                Ok(ready) if self.connection.is_open() => ready,
                _ => return Err(LineEnd::Closed),
            };
            let room = self.buffer.capacity() - self.buffer.len();
            match rustix::io::read(ready.get_inner(), spare_capacity(&mut self.buffer)) {
                Ok(0) => return Err(LineEnd::Closed),
                Ok(read) => {
                    // Less than there was room for: no need to ask the socket again.
                    if read < room {
                        ready.clear_ready();
                    }
                    return Ok(());
                }
                Err(rustix::io::Errno::AGAIN) => ready.clear_ready(),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Err(LineEnd::Closed),
            }
        }
    }
}
