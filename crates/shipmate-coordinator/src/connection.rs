//! One client's connection: lines in, lines out, both bounded.
//!
//! Writing never blocks the coordinator: what the socket does not take at once waits. A client is
//! asked for its next request only when it has read most of its answers and few of its requests
//! are under way. What is kept for it counts in the [`Room`] that all connections share, and past
//! a limit the connection is cut off: its client comes back and asks again.

mod room;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::rc::{Rc, Weak};

use shipmate_model::Actor;
use shipmate_protocol::wire::Reply;
use shipmate_protocol::{Code, Refused};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

pub(crate) use room::Room;
use room::{Holder, Weight};

/// What a client may leave unread before it is sent no more notices, and asked for no further
/// request.
const UNREAD_MAX: usize = 256 * 1024;
/// Requests of one connection that may be under way, and what they may hold unless it is one.
const UNDER_WAY_MAX: usize = 64;
const UNDER_WAY_BYTES_MAX: usize = 256 * 1024;
/// Requests of one connection that may wait until there is something for them.
const WAITING_MAX: usize = 64;
/// What a value of a request takes when it is read, about.
const VALUE_BYTES: usize = 128;
/// What a line takes beside its bytes, about.
const LINE_BYTES: usize = 64;
/// The room is told of changes that are larger than this.
const GRAIN: usize = 4096;

#[derive(Debug)]
pub(crate) struct Connection {
    /// Watched for reading only. Watching for writing too would wake the coordinator
    /// each time a client takes its answer, which is once for every request.
    stream: AsyncFd<UnixStream>,
    room: Rc<Room>,
    id: u64,
    holder: RefCell<Holder>,
    out: RefCell<Out>,
    /// Bytes of a line that is not whole.
    received: Cell<usize>,
    /// What the requests hold that are under way, about.
    asked: Cell<usize>,
    /// What the room knows, in grains.
    weight: Cell<usize>,
    flushing: Cell<bool>,
    open: Cell<bool>,
    /// Requests that were taken and are neither answered nor set to wait.
    owed: Cell<usize>,
    /// Requests that wait until there is something for them.
    waiting: Cell<usize>,
    /// A session lives for as long as this connection does.
    stays: Cell<bool>,
    /// The client sends no more. It may still listen, as `nc` does.
    ended: Cell<bool>,
    /// Something was answered, read or closed.
    moved: Notify,
    closed: Notify,
    /// Woken when the client has read what it was sent.
    readers: RefCell<Vec<Weak<dyn Reader>>>,
}

/// What is still to be written.
#[derive(Debug, Default)]
struct Out {
    lines: VecDeque<Vec<u8>>,
    /// How much of the first line was written.
    sent: usize,
    /// Of all lines.
    bytes: usize,
}

impl Out {
    fn left(&self) -> usize {
        self.bytes - self.sent
    }
}

/// Why no further line comes.
#[derive(Debug)]
pub(crate) enum LineEnd {
    Closed,
    TooLong,
}

/// Whoever goes on when a client has read what it was sent.
pub(crate) trait Reader: std::fmt::Debug {
    fn wake(&self);
}

impl Connection {
    pub(crate) fn new(
        stream: tokio::net::UnixStream,
        room: &Rc<Room>,
    ) -> io::Result<Rc<Connection>> {
        let stream = watch(stream.into_std()?, Interest::READABLE)?;
        let id = room.enter();
        let connection = Rc::new(Connection {
            stream,
            room: Rc::clone(room),
            id,
            holder: RefCell::new(Holder::Stranger),
            out: RefCell::default(),
            received: Cell::new(0),
            asked: Cell::new(0),
            weight: Cell::new(0),
            flushing: Cell::new(false),
            open: Cell::new(true),
            owed: Cell::new(0),
            waiting: Cell::new(0),
            stays: Cell::new(false),
            ended: Cell::new(false),
            moved: Notify::new(),
            closed: Notify::new(),
            readers: RefCell::default(),
        });
        room.seat(&connection, id);
        Ok(connection)
    }

    /// It has said who it is; whether that is so is found out next.
    pub(crate) fn said_hello(&self) {
        // There is no limit that could refuse this.
        drop(self.name(Holder::Unproven));
    }

    /// It is this one's from now on; refused where that has enough of them.
    pub(crate) fn belongs_to(&self, actor: &Actor) -> Result<(), Refused> {
        self.name(Holder::of(actor))
    }

    fn name(&self, to: Holder) -> Result<(), Refused> {
        if self.is_open() {
            self.room.name(self.id, &self.holder.borrow(), &to)?;
            *self.holder.borrow_mut() = to;
        }
        Ok(())
    }

    /// The process at the other end.
    pub(crate) fn peer(&self) -> Option<rustix::process::Pid> {
        rustix::net::sockopt::socket_peercred(self.stream.get_ref()).ok().map(|peer| peer.pid)
    }

    /// Somebody may still be there to hear of something that happens later.
    pub(crate) fn is_listening(&self) -> bool {
        self.is_open() && !self.ended.get()
    }

    /// Waits until it may ask for more.
    pub(crate) async fn may_ask(&self) {
        let is_full = || {
            self.owed.get() >= UNDER_WAY_MAX
                || self.owed.get() > 0 && self.asked.get() > UNDER_WAY_BYTES_MAX
                || self.left() > UNREAD_MAX
        };
        while self.is_open() && is_full() {
            self.moved.notified().await;
        }
    }

    /// A request of this size, with so many values in it, is under way.
    pub(crate) fn asks(&self, bytes: usize, values: usize) {
        self.asked.set(self.asked.get() + bytes + values * VALUE_BYTES);
        self.weigh();
    }

    /// What was asked last is answered, or somebody has taken it.
    pub(crate) fn asked(&self) {
        if self.owed.get() == 0 {
            self.asked.set(0);
            self.weigh();
        }
    }

    pub(crate) fn took_request(&self) {
        self.owed.set(self.owed.get() + 1);
    }

    pub(crate) fn settled_request(&self) {
        self.owed.set(self.owed.get().saturating_sub(1));
        self.asked();
        self.moved.notify_one();
    }

    /// One more of its requests waits; not where too many do.
    pub(crate) fn begin_wait(&self) -> Result<(), Refused> {
        if self.waiting.get() >= WAITING_MAX {
            let text = format!("{WAITING_MAX} requests of this connection wait already");
            return Err(shipmate_protocol::refused(
                Code::TooManyWait,
                text,
                "wait for one of them first",
            ));
        }
        self.waiting.set(self.waiting.get() + 1);
        Ok(())
    }

    pub(crate) fn end_wait(&self) {
        self.waiting.set(self.waiting.get().saturating_sub(1));
    }

    /// Says that a session lives for as long as this does; whether that is news.
    pub(crate) fn begin_stay(&self) -> bool {
        !self.stays.replace(true)
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.get()
    }

    pub(crate) fn close(&self) {
        if !self.open.replace(false) {
            return;
        }
        *self.out.borrow_mut() = Out::default();
        self.room.leave(self.id, &self.holder.borrow());
        // Wakes whoever reads here. One that is gone already needs no end.
        drop(self.stream.get_ref().shutdown(Shutdown::Both));
        self.closed.notify_waiters();
        self.moved.notify_one();
        self.tell_read();
    }

    /// Ends it for this reason, which is told if nothing else waits to be read.
    fn cut(&self, refused: &Refused) {
        if self.left() == 0 {
            let refused = Reply::Refused { id: 0, refused: refused.clone() };
            // There may be no room for it: then the end says enough.
            drop(self.stream.get_ref().write(&line_of(&refused)));
        }
        self.close();
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
        self.receives(0);
        while self.is_open() && self.owed.get() > 0 {
            self.moved.notified().await;
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
            self.moved.notify_one();
        }
    }

    pub(crate) fn send(self: &Rc<Self>, reply: &Reply) {
        self.send_measured(reply);
    }

    /// Sends it, and says how many bytes it is.
    pub(crate) fn send_measured(self: &Rc<Self>, reply: &Reply) -> usize {
        if !self.is_open() {
            return 0;
        }
        let line = line_of(reply);
        let bytes = line.len();
        {
            let out = &mut *self.out.borrow_mut();
            out.bytes += bytes;
            out.lines.push_back(line);
        }
        if self.flushing.get() {
            self.weigh();
            return bytes;
        }
        self.write_some();
        if self.left() > 0 && self.is_open() {
            self.flushing.set(true);
            let this = Rc::clone(self);
            tokio::task::spawn_local(async move {
                this.drain().await;
                this.flushing.set(false);
                this.tell_read();
            });
        }
        bytes
    }

    fn tell_read(&self) {
        for reader in self.readers.borrow().iter().filter_map(Weak::upgrade) {
            reader.wake();
        }
    }

    /// Tells what happens to somebody who looks on. Whoever does not read is cut off and, when it
    /// comes back, looks at everything anew.
    pub(crate) fn notify(self: &Rc<Self>, notice: &Reply) {
        match self.has_room() {
            true => self.send(notice),
            false => self.close(),
        }
    }

    /// The client has read most of what it was sent.
    pub(crate) fn has_room(&self) -> bool {
        self.left() <= UNREAD_MAX
    }

    /// The client has read all that it was sent, or the system keeps the rest for it.
    pub(crate) fn has_read_all(&self) -> bool {
        self.left() == 0
    }

    /// Wakes this one whenever the client has read what it was sent.
    pub(crate) fn wake_when_read(&self, reader: &Rc<dyn Reader>) {
        let mut readers = self.readers.borrow_mut();
        readers.retain(|there| there.strong_count() > 0);
        if !readers.iter().any(|there| std::ptr::addr_eq(there.as_ptr(), Rc::as_ptr(reader))) {
            readers.push(Rc::downgrade(reader));
        }
    }

    fn left(&self) -> usize {
        self.out.borrow().left()
    }

    /// A line that is not whole holds so many bytes.
    fn receives(&self, bytes: usize) {
        self.received.set(bytes);
        self.weigh();
    }

    /// Tells the room what is kept for this client.
    fn weigh(&self) {
        let (answers, unread) = {
            let out = self.out.borrow();
            (out.lines.len(), out.left() + out.lines.len() * LINE_BYTES)
        };
        let (received, asked) = (self.received.get(), self.asked.get());
        let bytes = received + asked + unread;
        let is_one_answer = answers == 1 && received + asked < GRAIN;
        let is_one_request = answers == 0 && self.owed.get() <= 1 && received < GRAIN;
        if self.weight.replace(bytes / GRAIN) != bytes / GRAIN && self.is_open() {
            let weight = Weight { bytes, is_one: is_one_answer || is_one_request };
            let holder = self.holder.borrow().clone();
            self.room.weigh(self.id, &holder, weight);
        }
    }

    fn write_some(&self) {
        while let Some(written) = self.write_once() {
            if written.is_err() {
                return self.close();
            }
        }
        self.weigh();
    }

    /// Writes as much of the first line as the socket takes; none where that is nothing.
    fn write_once(&self) -> Option<io::Result<()>> {
        let out = &mut *self.out.borrow_mut();
        let first = out.lines.front()?;
        match self.stream.get_ref().write(&first[out.sent..]) {
            Ok(0) => return Some(Err(ErrorKind::WriteZero.into())),
            Ok(written) => out.sent += written,
            Err(e) if e.kind() == ErrorKind::WouldBlock => return None,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Some(Err(e)),
        }
        if out.sent == first.len() {
            out.bytes -= out.sent;
            out.sent = 0;
            out.lines.pop_front();
        }
        Some(Ok(()))
    }
}

fn line_of(reply: &Reply) -> Vec<u8> {
    let mut line = serde_json::to_vec(reply).expect("a reply is JSON");
    line.push(b'\n');
    line
}

/// How many values a line of JSON holds, about: each comes after one of these.
pub(crate) fn values_in(line: &[u8]) -> usize {
    let (mut values, mut in_text, mut escaped) = (0, false, false);
    for byte in line {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' | b',' | b':' if !in_text => values += 1,
            _ => {}
        }
    }
    values
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
        Lines { connection, buffer: Vec::new(), taken: 0, searched: 0 }
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
            self.fill().await?;
        }
    }

    /// The line was read: it is kept no longer, and whoever sends nothing more holds nothing.
    pub(crate) fn free(&mut self) {
        if self.taken == self.buffer.len() {
            self.buffer = Vec::new();
            (self.taken, self.searched) = (0, 0);
        }
        self.connection.receives(self.buffer.len());
    }

    async fn fill(&mut self) -> Result<(), LineEnd> {
        loop {
            let mut ready = match self.connection.stream.readable().await {
                Ok(ready) if self.connection.is_open() => ready,
                _ => return Err(LineEnd::Closed),
            };
            let scratch = &mut *self.connection.room.scratch.borrow_mut();
            match rustix::io::read(ready.get_inner(), scratch.as_mut_slice()) {
                Ok(0) => return Err(LineEnd::Closed),
                Ok(read) => {
                    // Less than there was room for: no need to ask the socket again.
                    if read < scratch.len() {
                        ready.clear_ready();
                    }
                    self.buffer.extend_from_slice(&scratch[..read]);
                    break;
                }
                Err(rustix::io::Errno::AGAIN) => ready.clear_ready(),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Err(LineEnd::Closed),
            }
        }
        self.connection.receives(self.buffer.len());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_where_they_are_and_not_in_texts() {
        for (line, values) in [
            ("{}", 1),
            (r#"{"id":1,"ask":"status"}"#, 4),
            (r#"{"a":"{,:[\",\\"}"#, 2),
            (r#"[1,2,[]]"#, 4),
        ] {
            assert_eq!(values_in(line.as_bytes()), values, "{line}");
        }
    }
}
