//! The same server over streamable HTTP: many sessions, each with the token of its requests.
//!
//! A request without a good token is answered before anything else looks at it. A session belongs
//! to the token it was begun with. Clients of the newest protocol have no sessions: there, the
//! same token, wishes and program are the same session, until nothing is heard of it for a while.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
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
use tokio::time::Instant;

use crate::mcp::desk::CALL_MAX;
use crate::mcp::hub::{Caller, Hub};
use crate::mcp::link::Link;
use crate::mcp::server::{Server, Sessions};
use crate::mcp::session::{Session, Wish};

/// Sessions at once; whoever comes then is told so.
const SESSIONS_MAX: usize = 512;
/// A session that nothing is heard of for so long has ended without saying so.
const SILENCE_MAX: Duration = Duration::from_secs(30 * 60);
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
        let person = std::fs::read_to_string(self.hub.place.person_token()).ok();
        if person.is_some_and(|person| is_same(person.trim(), token)) {
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

impl Sessions for Guest {
    fn of(&self, context: &RequestContext<RoleServer>) -> Result<Arc<Session>, ErrorData> {
        let parts = context.extensions.get::<Parts>();
        let Some((caller, wish)) = parts.and_then(|parts| {
            let extensions = &parts.extensions;
            Some((extensions.get::<Caller>()?.clone(), extensions.get::<Wish>()?.clone()))
        }) else {
            return Err(ErrorData::internal_error("the request came in without a token", None));
        };
        let version = context.meta.protocol_version();
        if version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28) {
            let program = context.client_info().map(|client| client.name).unwrap_or_default();
            return Ok(self.shared.session(caller, wish, program));
        }
        let own = self.own.get_or_init(|| Session::open(&self.shared.hub, caller.clone(), wish));
        if own.caller != caller {
            let text = "this session was begun with another token: begin one of your own";
            return Err(ErrorData::invalid_request(text, None));
        }
        Ok(Arc::clone(own))
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if let Some(session) = self.own.take() {
            tokio::spawn(async move { session.leave().await });
        }
    }
}

/// The sessions of clients that have none.
struct Shared {
    hub: Arc<Hub>,
    sessions: Mutex<HashMap<(Caller, Wish, String), (Arc<Session>, Instant)>>,
}

impl Shared {
    fn session(&self, caller: Caller, wish: Wish, program: String) -> Arc<Session> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let silent = sessions.extract_if(|_, (_, heard)| now - *heard > SILENCE_MAX);
        for (_, (session, _)) in silent {
            tokio::spawn(async move { session.leave().await });
        }
        let key = (caller, wish, program);
        let (session, heard) = sessions.entry(key).or_insert_with_key(|(caller, wish, _)| {
            (Session::open(&self.hub, caller.clone(), wish.clone()), now)
        });
        *heard = now;
        Arc::clone(session)
    }
}
