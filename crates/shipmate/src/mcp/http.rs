//! The same server over streamable HTTP: many sessions, each with the token of its requests.
//!
//! A request without a good token is answered before anything else looks at it. A session belongs
//! to the token it was begun with: the one that `shipmate serve` prints, with which it is enrolled
//! and nothing else can be done, a teammate's, or the person's own. Clients of the newest protocol
//! have no sessions: there, the same token, wishes and program are the same session, until it stops
//! listening or nothing is heard of it for a while. With a session goes its seat, unless something
//! waits there.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer};
use serde_json::json;
use shipmate_protocol::place::read_token;
use tokio::time::Instant;

use crate::mcp::hub::{Caller, Hub};
use crate::mcp::link::Link;
use crate::mcp::server::{Server, Sessions};
use crate::mcp::session::{Session, Wish};
use crate::mcp::session_board::CALL_MAX;
use crate::web;

/// Sessions at once; whoever comes then is told so.
const SESSIONS_MAX: usize = 512;
/// A session that nothing is heard of for so long has ended without saying so.
const SILENCE_MAX: Duration = Duration::from_secs(30 * 60);
/// A client that has listened and does so no longer may be back within this.
const RETURN_MAX: Duration = Duration::from_secs(10);
const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Ends the sessions when it is called.
pub(crate) type Stop = Box<dyn Fn() + Send>;

/// The routes of the MCP server, for a server that listens on this port.
pub(crate) fn routes(hub: &Arc<Hub>, port: u16) -> (Router, Stop) {
    let hosts = ["127.0.0.1", "localhost"];
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(
            hosts.iter().flat_map(|host| [host.to_string(), format!("{host}:{port}")]),
        )
        .with_allowed_origins(hosts.iter().map(|host| format!("http://{host}:{port}")))
        .with_max_request_body_bytes(BODY_BYTES_MAX);
    let ended = config.cancellation_token.clone();
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(SILENCE_MAX);
    let shared = Arc::new(Shared { hub: Arc::clone(hub), sessions: Mutex::default() });
    let factory = move || {
        let guest = Guest { shared: Arc::clone(&shared), own: OnceLock::new() };
        Ok(Server::new(Arc::clone(&shared.hub), guest))
    };
    let service = StreamableHttpService::new(factory, Arc::new(sessions), config);
    let door = Arc::new(Door { hub: Arc::clone(hub), known: Mutex::default() });
    let routes = Router::new()
        .route_service("/mcp", service)
        .layer(middleware::from_fn_with_state(door, enter));
    (routes, Box::new(move || ended.cancel()))
}

/// Who is let in.
struct Door {
    hub: Arc<Hub>,
    /// Tokens of teammates that the coordinator has accepted. One that no longer counts is
    /// refused by the coordinator itself.
    known: Mutex<HashSet<String>>,
}

async fn enter(State(door): State<Arc<Door>>, mut request: Request, next: Next) -> Response {
    let Some(token) = bearer(request.headers()) else {
        return refuse(
            StatusCode::UNAUTHORIZED,
            "this server wants a token: Authorization: Bearer …",
        );
    };
    let Some(caller) = door.caller(token).await else {
        return refuse(
            StatusCode::UNAUTHORIZED,
            "this token is nobody's: take the one that `shipmate serve` has printed, or a teammate's",
        );
    };
    web::has_token(&request);
    let begins =
        request.method() == Method::POST && !request.headers().contains_key("mcp-session-id");
    if begins && door.hub.sessions() >= SESSIONS_MAX {
        return refuse(
            StatusCode::SERVICE_UNAVAILABLE,
            &format!(
                "{SESSIONS_MAX} sessions are open, and that is all there can be: end one first"
            ),
        );
    }
    let wish = wish(request.headers());
    request.extensions_mut().insert(caller);
    request.extensions_mut().insert(wish);
    next.run(request).await
}

impl Door {
    async fn caller(&self, token: &str) -> Option<Caller> {
        let is_in = |path: PathBuf| read_token(&path).is_ok_and(|known| is_same(&known, token));
        let place = &self.hub.place;
        if is_in(place.enrol_token()) {
            return Some(Caller::Guest);
        }
        if is_in(place.person_token()) {
            return Some(Caller::Person);
        }
        let caller = Caller::Token(token.to_owned());
        if self.known().contains(token) {
            return Some(caller);
        }
        let link = Link::new(self.hub.client(&caller, None));
        link.actor(Instant::now() + CALL_MAX).await.ok()?;
        let mut known = self.known();
        if known.len() >= SESSIONS_MAX {
            known.clear();
        }
        known.insert(token.to_owned());
        Some(caller)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes as long for a wrong token as for the right one.
fn is_same(one: &str, other: &str) -> bool {
    let differs = one.bytes().zip(other.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b));
    one.len() == other.len() && differs == 0
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn wish(headers: &HeaderMap) -> Wish {
    let said = |name: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
        value.filter(|value| !value.is_empty()).map(str::to_owned)
    };
    Wish {
        team: said("shipmate-team"),
        name: said("shipmate-seat"),
        lead: said("shipmate-seat-lead").is_some_and(|lead| lead != "0" && lead != "false"),
        client: None,
        once: true,
    }
}

fn refuse(status: StatusCode, text: &str) -> Response {
    let error =
        json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32000, "message": text } });
    Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::WWW_AUTHENTICATE, "Bearer realm=\"shipmate\"")
        .body(Body::from(error.to_string()))
        .expect("a refusal is a response")
}

/// One MCP session of HTTP, or one request of a client that has none.
struct Guest {
    shared: Arc<Shared>,
    own: OnceLock<Arc<Session>>,
}

impl Guest {
    /// Whose request it is, and whether it is one of a client that has no sessions.
    fn key(context: &RequestContext<RoleServer>) -> Result<(Key, bool), ErrorData> {
        let parts = context.extensions.get::<Parts>();
        let Some((caller, wish)) = parts.and_then(|parts| {
            let extensions = &parts.extensions;
            Some((extensions.get::<Caller>()?.clone(), extensions.get::<Wish>()?.clone()))
        }) else {
            return Err(ErrorData::internal_error("the request came in without a token", None));
        };
        let program = context.client_info().map(|client| client.name).unwrap_or_default();
        let version = context.meta.protocol_version();
        let is_alone = version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        Ok((Key { caller, wish, program }, is_alone))
    }
}

impl Sessions for Guest {
    fn of(&self, context: &RequestContext<RoleServer>) -> Result<Arc<Session>, ErrorData> {
        let (key, is_alone) = Self::key(context)?;
        if is_alone {
            return Ok(self.shared.session(key));
        }
        let Key { caller, wish, .. } = key;
        let own = self.own.get_or_init(|| Session::open(&self.shared.hub, caller.clone(), wish));
        if own.caller != caller {
            let text = "this session was begun with another token: begin one of your own";
            return Err(ErrorData::invalid_request(text, None));
        }
        Ok(Arc::clone(own))
    }

    fn heard(&self, context: &RequestContext<RoleServer>) -> Option<Box<dyn Send>> {
        let (key, is_alone) = Self::key(context).ok()?;
        is_alone.then(|| Listening::begin(&self.shared, key) as Box<dyn Send>)
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if let Some(session) = self.own.take() {
            tokio::spawn(async move { session.leave().await });
        }
    }
}

/// What makes requests without a session belong together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    caller: Caller,
    wish: Wish,
    program: String,
}

/// The sessions of clients that have none.
struct Shared {
    hub: Arc<Hub>,
    sessions: Mutex<HashMap<Key, Heard>>,
}

struct Heard {
    session: Arc<Session>,
    last: Instant,
    /// How many streams it listens on.
    listening: usize,
}

impl Shared {
    fn session(self: &Arc<Shared>, key: Key) -> Arc<Session> {
        let mut sessions = self.sessions();
        let now = Instant::now();
        if let Some(heard) = sessions.get_mut(&key) {
            heard.last = now;
            return Arc::clone(&heard.session);
        }
        let session = Session::open(&self.hub, key.caller.clone(), key.wish.clone());
        let heard = Heard { session: Arc::clone(&session), last: now, listening: 0 };
        sessions.insert(key.clone(), heard);
        tokio::spawn(Shared::end_in_silence(Arc::downgrade(self), key, Arc::downgrade(&session)));
        session
    }

    /// Ends a session that nothing is heard of for long.
    async fn end_in_silence(this: Weak<Shared>, key: Key, session: Weak<Session>) {
        let mut heard = Instant::now();
        loop {
            tokio::time::sleep_until(heard + SILENCE_MAX).await;
            let (Some(shared), Some(session)) = (this.upgrade(), session.upgrade()) else { return };
            let last = shared.sessions().get(&key).and_then(|heard| {
                let is_it = Arc::ptr_eq(&heard.session, &session);
                is_it.then_some(if heard.listening > 0 { Instant::now() } else { heard.last })
            });
            match last {
                Some(last) if last > heard => heard = last,
                Some(last) => return shared.end(&key, last).await,
                None => return,
            }
        }
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Heard>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a session that has neither listened nor asked since then.
    async fn end(&self, key: &Key, since: Instant) {
        let gone = {
            let mut sessions = self.sessions();
            let is_gone = |heard: &Heard| heard.listening == 0 && heard.last <= since;
            match sessions.get(key).is_some_and(is_gone) {
                true => sessions.remove(key),
                false => None,
            }
        };
        if let Some(heard) = gone {
            heard.session.leave().await;
        }
    }
}

/// A stream on which a client without sessions listens.
struct Listening {
    shared: Arc<Shared>,
    key: Key,
}

impl Listening {
    fn begin(shared: &Arc<Shared>, key: Key) -> Box<Listening> {
        if let Some(heard) = shared.sessions().get_mut(&key) {
            heard.listening += 1;
        }
        Box::new(Listening { shared: Arc::clone(shared), key })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let now = Instant::now();
        if let Some(heard) = self.shared.sessions().get_mut(&self.key) {
            heard.listening = heard.listening.saturating_sub(1);
        }
        let (shared, key) = (Arc::clone(&self.shared), self.key.clone());
        tokio::spawn(async move {
            tokio::time::sleep_until(now + RETURN_MAX).await;
            shared.end(&key, now).await;
        });
    }
}
