//! Who gives way when all connections are taken.
//!
//! First those who have shown no token, and of them whoever was heard of longest ago: a request
//! that does not become whole, an answer that nobody reads. Then those who have shown one and ask
//! nothing now. Whoever asks with a token keeps its connection, and only when all do has a
//! newcomer to wait.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

#[derive(Debug)]
pub(super) struct Seats {
    max: usize,
    all: Mutex<All>,
    /// Somebody left, or asks nothing more.
    moved: Notify,
}

#[derive(Debug, Default)]
struct All {
    /// Grows with everything that is heard of anybody.
    clock: u64,
    taken: BTreeMap<u64, Sitter>,
}

#[derive(Debug, Default)]
struct Sitter {
    heard: u64,
    has_token: bool,
    /// Requests that are not answered to the end.
    asks: usize,
    task: Option<AbortHandle>,
}

impl All {
    /// Whoever gives way next.
    fn next(&self) -> Option<u64> {
        let may = self.taken.iter().filter(|(_, sitter)| !sitter.has_token || sitter.asks == 0);
        may.min_by_key(|(_, sitter)| (sitter.has_token, sitter.heard)).map(|(id, _)| *id)
    }
}

impl Seats {
    pub(super) fn new(max: usize) -> Arc<Seats> {
        Arc::new(Seats { max, all: Mutex::default(), moved: Notify::new() })
    }

    /// Waits until somebody can be let in.
    pub(super) async fn room(&self) {
        let is_full = || {
            let all = self.all();
            all.taken.len() >= self.max && all.next().is_none()
        };
        while is_full() {
            self.moved.notified().await;
        }
    }

    /// A seat for whoever has come.
    pub(super) fn take(self: &Arc<Seats>) -> Arc<Seat> {
        let mut all = self.all();
        if all.taken.len() >= self.max
            && let Some(sitter) = all.next().and_then(|id| all.taken.remove(&id))
            && let Some(task) = sitter.task
        {
            task.abort();
        }
        all.clock += 1;
        let id = all.clock;
        all.taken.insert(id, Sitter { heard: id, ..Sitter::default() });
        Arc::new(Seat { seats: Arc::clone(self), id })
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The seat of one connection.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Arc<Seats>,
    id: u64,
}

impl Seat {
    /// The task that ends when somebody else gets the seat.
    pub(super) fn belongs_to(&self, task: AbortHandle) {
        self.change(|sitter, _| sitter.task = Some(task));
    }

    /// It is free when this is dropped.
    pub(super) fn taken(self: &Arc<Seat>) -> Taken {
        Taken(Arc::clone(self))
    }

    fn change(&self, change: impl FnOnce(&mut Sitter, u64)) {
        let mut all = self.seats.all();
        all.clock += 1;
        let now = all.clock;
        if let Some(sitter) = all.taken.get_mut(&self.id) {
            change(sitter, now);
        }
        drop(all);
        self.seats.moved.notify_one();
    }
}

pub(super) struct Taken(Arc<Seat>);

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.seats.all().taken.remove(&self.0.id);
        self.0.seats.moved.notify_one();
    }
}

/// Whose request it is, for those who look at its token.
#[derive(Debug, Clone)]
pub(crate) struct Sits(Arc<Seat>);

/// The request came with a good token.
pub(crate) fn has_token(request: &Request) {
    if let Some(Sits(seat)) = request.extensions().get() {
        seat.change(|sitter, _| sitter.has_token = true);
    }
}

/// Notes that a request is whole, and when its answer has been written.
pub(super) async fn attend(
    State(seat): State<Arc<Seat>>,
    mut request: Request,
    next: Next,
) -> Response {
    seat.change(|sitter, now| (sitter.heard, sitter.asks) = (now, sitter.asks + 1));
    let asks = Asks(Arc::clone(&seat));
    request.extensions_mut().insert(Sits(seat));
    let response = next.run(request).await;
    response.map(|body| Body::new(Answer { body, _asks: asks }))
}

struct Asks(Arc<Seat>);

impl Drop for Asks {
    fn drop(&mut self) {
        self.0.change(|sitter, _| sitter.asks = sitter.asks.saturating_sub(1));
    }
}

/// An answer that is not written to the end.
struct Answer {
    body: Body,
    _asks: Asks,
}

impl hyper::body::Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three seats, and in which order those give way who came.
    #[test]
    fn who_shows_no_token_and_is_silent_longest_gives_way_first() {
        let seats = Seats::new(3);
        let [page, silent, tab] = [(); 3].map(|()| seats.take());
        let taken = || seats.all().taken.keys().copied().collect::<Vec<_>>();
        let asks = |seat: &Arc<Seat>| {
            seat.change(|sitter, now| (sitter.heard, sitter.asks) = (now, sitter.asks + 1));
            Asks(Arc::clone(seat))
        };
        let shows = |seat: &Arc<Seat>| seat.change(|sitter, _| sitter.has_token = true);
        let listens = asks(&tab);
        shows(&tab);
        drop(asks(&page));
        let fourth = seats.take();
        assert_eq!(taken(), [page.id, tab.id, fourth.id], "{silent:?} gave way");
        let reads_nothing = asks(&fourth);
        let fifth = seats.take();
        assert_eq!(taken(), [tab.id, fourth.id, fifth.id]);
        shows(&fifth);
        let sixth = seats.take();
        assert_eq!(taken(), [tab.id, fifth.id, sixth.id]);
        shows(&sixth);
        let asking = [asks(&fifth), asks(&sixth)];
        assert_eq!(seats.all().next(), None, "all of them ask with a token");
        drop(asking);
        assert_eq!(seats.all().next(), Some(fifth.id));
        drop((listens, reads_nothing));
        drop(tab.taken());
        assert_eq!(taken(), [fifth.id, sixth.id]);
    }
}
