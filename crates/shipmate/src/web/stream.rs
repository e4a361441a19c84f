//! The one stream of a page: what changes in its tree of teams, and what one teammate prints.
//!
//! Each page is written to as fast as its browser reads and no faster: one event waits for it at
//! most, and what comes meanwhile is kept where all pages share it. A page that takes nothing for
//! a while is hung up on; it comes back and goes on where it was.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use hyper::body::Frame;
use serde::Deserialize;
use serde_json::json;
use shipmate_protocol::Code;
use shipmate_protocol::view::TeammateView;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::time::now_ms;
use crate::web::event::event;
use crate::web::output::{Follower, Piece, teammate};
use crate::web::reply::Refusal;
use crate::web::shapes::OutputPiece;
use crate::web::tree::{Looking, Next};
use crate::web::{Deck, Visits};

/// Streams at once; whoever comes then is told so.
pub(super) const STREAMS_MAX: usize = 64;
/// How often something is said when nothing happens, so that a dead line is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The server's clock when the line was opened, in milliseconds since 1970.
const NOW: HeaderName = HeaderName::from_static("shipmate-now");

#[derive(Deserialize)]
pub(super) struct Wish {
    #[serde(default)]
    after: u64,
    /// `team/name`: its output too.
    #[serde(default)]
    output: Option<String>,
}

pub(super) async fn stream(
    State(deck): State<Arc<Deck>>,
    Path(root): Path<String>,
    Query(wish): Query<Wish>,
) -> Result<Response, Refusal> {
    let Ok(seat) = Arc::clone(&deck.streams).try_acquire_owned() else {
        let text = format!("{STREAMS_MAX} pages are open, and that is all there can be");
        let remedy = "close one of them";
        return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, Code::TooMany, &text, remedy));
    };
    let who = wish.output.as_deref().map(teammate).transpose()?;
    let looking = deck.look(&root).await?;
    if let Some(who) = who.clone() {
        let (deck, root) = (Arc::clone(&deck), root.clone());
        tokio::spawn(async move { deck.bring_output(&root, &who).await });
    }
    let follower = who.map(|who| Follower::new(deck.clients.place.clone(), &root, who));
    let (tell, events) = mpsc::channel(1);
    let visits = Arc::clone(&deck.visits);
    let page = Page { looking, tell, after: wish.after, seen: None, told: 0, follower, visits };
    tokio::spawn(async move {
        page.run().await;
        drop(seat);
    });
    let visit = Visit::begin(&deck.visits);
    let mut response = Response::new(Body::new(Events { events, _visit: visit }));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    // What is said over the line may have been written long before; this is the time now.
    response.headers_mut().insert(NOW, HeaderValue::from(now_ms()));
    Ok(response)
}

struct Events {
    events: mpsc::Receiver<Bytes>,
    /// Until the last of them is written.
    _visit: Visit,
}

impl hyper::body::Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.events.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}

struct Page {
    looking: Looking,
    tell: mpsc::Sender<Bytes>,
    /// What it had seen when it came.
    after: u64,
    /// How many of the tree's changes it has seen; nothing means that it needs the whole.
    seen: Option<u64>,
    /// The last trouble that it was told of.
    told: u64,
    follower: Option<Follower>,
    visits: Arc<Visits>,
}

/// One open line; it is counted for as long as there is one of these.
struct Visit(Arc<Visits>);

impl Visit {
    fn begin(visits: &Arc<Visits>) -> Visit {
        visits.open.send_modify(|count| *count += 1);
        Visit(Arc::clone(visits))
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.0.open.send_modify(|count| *count -= 1);
    }
}

/// The browser is gone, or has taken nothing for too long.
struct Gone;

impl Page {
    /// It ends when nobody reads any more.
    async fn run(mut self) {
        // The browser knows at once that the line is open.
        if self.say(Bytes::from_static(b": shipmate\n\n")).await.is_err() {
            return;
        }
        let mut ticks = self.looking.0.ticks();
        let mut ended = self.visits.ended.subscribe();
        ended.mark_changed();
        let mut gone = self.visits.gone.subscribe();
        let mut quiet = Instant::now();
        self.seen = self.looking.0.resume(self.after);
        while let Ok(said) = self.say_next().await {
            if said {
                quiet = Instant::now();
                continue;
            }
            let next = tokio::select! {
                () = self.tell.closed() => Err(Gone),
                // The tree itself holds the other end.
                _ = ticks.changed() => Ok(()),
                _ = ended.changed() => {
                    let how = ended.borrow_and_update().clone();
                    match how {
                        Some(how) => self.say(how).await,
                        None => Ok(()),
                    }
                }
                () = async { drop(gone.wait_for(|gone| *gone).await) } => {
                    drop(self.say(event("gone", None, &json!({}))).await);
                    return;
                }
                () = tokio::time::sleep_until(quiet + KEEP_ALIVE) => {
                    quiet = Instant::now();
                    self.say(Bytes::from_static(b":\n\n")).await
                }
            };
            if next.is_err() {
                return;
            }
            if let Some(follower) = &mut self.follower {
                follower.look_again();
            }
        }
    }

    async fn say(&self, event: Bytes) -> Result<(), Gone> {
        self.tell.send(event).await.map_err(|_| Gone)
    }

    /// Says the next thing there is to say, if there is one.
    async fn say_next(&mut self) -> Result<bool, Gone> {
        let tree = Arc::clone(&self.looking.0);
        if let Some((number, event)) = tree.trouble(self.told) {
            self.told = number;
            self.say(event).await?;
            return Ok(true);
        }
        // Before the first whole nothing could be said of where it goes on.
        if self.seen.is_none() && self.after > 0 {
            self.seen = tree.resume(self.after);
        }
        match tree.next(self.seen) {
            Next::Event(event, seen) => {
                self.say(event).await?;
                self.seen = Some(seen);
                return Ok(true);
            }
            Next::Whole => {
                if let Some((seen, event)) = tree.whole().await {
                    self.say(event).await?;
                    (self.seen, self.after) = (Some(seen), 0);
                    return Ok(true);
                }
            }
            Next::Nothing => {}
        }
        self.say_output().await
    }

    async fn say_output(&mut self) -> Result<bool, Gone> {
        let Some(follower) = &mut self.follower else { return Ok(false) };
        let who = follower.who().clone();
        let life = self.looking.0.picture(|picture| {
            let is_it = |mate: &&TeammateView| mate.team == who.0 && mate.name == who.1;
            picture.teammates().find(is_it).map(|mate| mate.epoch)
        });
        let Some(life) = life.flatten().filter(|life| *life > 0) else { return Ok(false) };
        let Some(Piece { life, from, text }) = follower.next(life).await else { return Ok(false) };
        let who = format!("{}/{}", who.0, who.1);
        let piece = OutputPiece { who, life, from, text };
        self.say(event("output", None, &piece)).await?;
        Ok(true)
    }
}
