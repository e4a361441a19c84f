//! The page: a server on loopback that shows a team to a person in a browser.
//!
//! It decides nothing about a team: what it shows comes from the coordinator, and what a person
//! does goes there in the protocol's own words. Whoever has the link acts as the person, so the
//! link is told to nobody but the terminal, and its token ends with this process.

mod api;
mod ask;
mod assets;
mod clients;
mod door;
mod event;
mod listen;
mod output;
mod patience;
mod reply;
mod seats;
mod shapes;
mod stream;
mod tree;

use std::io::Result;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Serialize;
use shipmate_protocol::Place;
use shipmate_protocol::client::Launch;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot, watch};

use clients::Clients;
use door::Door;
pub(crate) use listen::{bind, serve};
pub(crate) use seats::has_token;

/// How long a tab that is loaded again, or whose line broke, may be away.
const RELOAD_MAX: Duration = Duration::from_secs(10);
/// How long a server that ends waits for tabs to hear of it.
const GOODBYE_MAX: Duration = Duration::from_secs(1);

/// What all requests share.
struct Deck {
    door: Door,
    clients: Arc<Clients>,
    watched: tree::Watched,
    /// Room for so many streams.
    streams: Arc<Semaphore>,
    visits: Arc<Visits>,
}

/// Who looks at the page, and what everybody who does has to know.
#[derive(Debug, Default)]
struct Visits {
    /// How many streams are open.
    open: watch::Sender<usize>,
    /// How the run ended that the page was served beside; told to every tab.
    ended: watch::Sender<Option<Bytes>>,
    /// The server is about to go, and no tab should look for it.
    gone: watch::Sender<bool>,
}

/// The page's routes for a server that listens on this port, and the link to them.
pub(crate) fn routes(place: Place, launch: Launch, port: u16) -> (Router, String) {
    routes_with(place, launch, port, Arc::default())
}

fn routes_with(place: Place, launch: Launch, port: u16, visits: Arc<Visits>) -> (Router, String) {
    let door = Door::new(port);
    let link = door.link();
    let deck = Arc::new(Deck {
        door,
        clients: Arc::new(Clients::new(place, launch)),
        watched: tree::Watched::default(),
        streams: Arc::new(Semaphore::new(stream::STREAMS_MAX)),
        visits,
    });
    let routes = Router::new()
        .route("/api/teams", get(api::teams))
        .route("/api/t/{root}/stream", get(stream::stream))
        .route("/api/t/{root}/ask", post(ask::ask))
        .route("/api/t/{root}/task/{id}", get(api::task))
        .route("/api/t/{root}/task/{id}/diff", get(api::diff))
        .route("/api/t/{root}/output/{team}/{name}", get(api::output))
        .route("/api/t/{root}/timeline", get(api::timeline))
        .route("/api/t/{root}/costs", get(api::costs))
        .route("/api/t/{root}/messages", get(api::messages))
        .route("/api/t/{root}/moments", get(api::moments))
        .route("/api/t/{root}/at/{position}", get(api::at))
        .fallback(elsewhere)
        .layer(middleware::from_fn_with_state(Arc::clone(&deck), enter))
        .with_state(deck);
    (routes, link)
}

async fn enter(State(deck): State<Arc<Deck>>, request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/api/");
    let checked = deck.door.check(request.method(), request.uri(), request.headers());
    let mut response = match checked {
        Ok(()) => {
            // Whatever else is there is there for everybody.
            if is_api {
                has_token(&request);
            }
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    };
    // A number that is none is noticed before anybody here sees the request.
    if is_api && response.status() == StatusCode::BAD_REQUEST && !reply::is_json(&response) {
        response =
            reply::Refusal::bad("a part of this address is not what it should be").into_response();
    }
    reply::make_strict(response.headers_mut());
    response
}

/// The page's own files, and everything that there is not.
async fn elsewhere(request: Request) -> Response {
    if let Some(file) = assets::find(request.uri().path()) {
        return assets::respond(file, request.headers());
    }
    if request.uri().path().starts_with("/api/") {
        return reply::Refusal::not_found("there is nothing to ask here").into_response();
    }
    let mut response = (StatusCode::NOT_FOUND, "there is nothing here\n").into_response();
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, text);
    response
}

/// The page beside another command, on a thread of its own. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Beside {
    link: String,
    visits: Arc<Visits>,
    handle: Handle,
    /// Dropped to end it.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Beside {
    pub(crate) fn link(&self) -> &str {
        &self.link
    }

    /// Tells every tab, and those that come, how the run ended.
    pub(crate) fn ended(&self, how: &impl Serialize) {
        self.visits.ended.send_replace(Some(event::event("ended", None, how)));
    }

    /// Whether somebody looks at it.
    pub(crate) fn is_open(&self) -> bool {
        *self.visits.open.borrow() > 0
    }

    /// Calls this when the last tab has been closed. One that is loaded again comes back at once.
    pub(crate) fn when_left(&self, call: impl FnOnce() + Send + 'static) {
        let mut open = self.visits.open.subscribe();
        self.handle.spawn(async move {
            // Whoever counts is there for as long as the server is.
            while open.wait_for(|count| *count == 0).await.is_ok() {
                let back = open.wait_for(|count| *count > 0);
                if tokio::time::timeout(RELOAD_MAX, back).await.is_err() {
                    return call();
                }
            }
        });
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.visits.gone.send_replace(true);
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It has ended either way.
            drop(thread.join());
        }
    }
}

/// Serves the page on any free port of loopback while another command runs.
pub(crate) fn beside(place: Place, launch: Launch) -> Result<Beside> {
    let listener = bind(0)?;
    let visits = Arc::<Visits>::default();
    let port = listener.local_addr()?.port();
    let (routes, link) = routes_with(place, launch, port, Arc::clone(&visits));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let (stop, stopped) = oneshot::channel::<()>();
    let mut open = visits.open.subscribe();
    let last_words = async move {
        drop(stopped.await);
        // Every tab is told, unless it takes nothing.
        let told = async { drop(open.wait_for(|count| *count == 0).await) };
        drop(tokio::time::timeout(GOODBYE_MAX, told).await);
    };
    let thread = std::thread::Builder::new().name("page".to_owned()).spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                // Nobody is left to tell when it cannot be served any more.
                _ = serve(listener, routes) => {}
                () = last_words => {}
            }
        });
        // A request that nobody waits for any more may still block a thread.
        runtime.shutdown_background();
    })?;
    Ok(Beside { link, visits, handle, stop: Some(stop), thread: Some(thread) })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn the_page_beside_a_command_ends_with_it() {
        let place = Place { workspace: std::env::temp_dir() };
        let beside = beside(place, Launch::Never).unwrap();
        let (host, token) =
            beside.link().strip_prefix("http://").unwrap().split_once("/#token=").unwrap();
        let (host, token) = (host.to_owned(), token.to_owned());
        let get = |path: &str, token: &str| {
            let mut stream = TcpStream::connect(&host).unwrap();
            let head = format!(
                "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
                 Authorization: Bearer {token}\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text
        };
        assert!(get("/", "").contains("<!doctype html>"));
        assert!(get("/api/teams", "").starts_with("HTTP/1.1 401"));
        let alone = get("/api/teams", &token);
        assert!(alone.starts_with("HTTP/1.1 503") && alone.contains("Unreachable"), "{alone}");
        let mut idle = TcpStream::connect(&host).unwrap();
        drop(beside);
        assert!(TcpStream::connect(&host).is_err());
        assert_eq!(idle.read(&mut [0]).unwrap_or(0), 0, "who is connected is hung up on");
    }
}
