//! The HTTP side of the scripted model: takes a request, puts it on record, answers as chosen.
//!
//! Beside the models' paths it has six for tests: `GET /requests?since=N`,
//! `GET /await?contains=TEXT[&since=N][&timeout_ms=N]`, `POST /release/NAME`, `POST /script`,
//! `POST /meter?replies=N[&resets_at=SECONDS][&silent=1]`, `POST /reset`.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::choice::{self, Choice, NOTHING};
use super::compose::compose;
use super::conversation::{Conversation, Reply};
use super::meter::Meter;
use super::record::{Record, Request, monotonic_ms, wall_ms};
use super::script::{Before, Script, Times};
use super::wire::{self, Asked, Wire};

/// What stands on record for a request that its account had no room for.
pub(crate) const OVER_LIMIT: &str = "over the limit";

/// What a test and the server share.
#[derive(Debug)]
pub(crate) struct Shared {
    script: Mutex<Arc<Script>>,
    pub(crate) record: Record,
    released: watch::Sender<BTreeSet<String>>,
    /// How often a position was answered by an error or cut off.
    spoiled: Mutex<HashMap<(u64, usize), u32>>,
    /// Makes ids differ between replies and between runs.
    replies: AtomicU64,
    meter: Mutex<Option<Meter>>,
}

impl Shared {
    pub(crate) fn new(script: Script, record: Record) -> Arc<Self> {
        Arc::new(Self {
            script: Mutex::new(Arc::new(script)),
            record,
            released: watch::Sender::default(),
            spoiled: Mutex::default(),
            replies: AtomicU64::new(wall_ms() as u64 * 1000),
            meter: Mutex::default(),
        })
    }

    pub(crate) fn replace_script(&self, script: Script) {
        *self.script.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(script);
    }

    pub(crate) fn release(&self, name: &str) {
        self.released.send_modify(|released| {
            released.insert(name.to_owned());
        });
    }

    pub(crate) fn meter(&self, meter: Option<Meter>) {
        *self.meter.lock().unwrap_or_else(PoisonError::into_inner) = meter;
    }

    fn account(&self) -> Option<Value> {
        let meter = self.meter.lock().unwrap_or_else(PoisonError::into_inner);
        meter.as_ref().map(Meter::account)
    }

    /// What is metered, and whether one more reply was let through.
    fn metered(&self, choice: &Choice<'_>) -> Option<(Meter, bool)> {
        let mut meter = self.meter.lock().unwrap_or_else(PoisonError::into_inner);
        let meter = meter.as_mut()?;
        // What a program asks for itself is refused too, and counts for nothing.
        let takes = match choice {
            Choice::Side(_) => meter.used < meter.replies,
            _ => meter.takes(),
        };
        Some((*meter, takes))
    }

    /// Whether this position has still to be spoiled, and counts it.
    fn spoils(&self, position: u64, which: usize, times: Times) -> bool {
        let Times::Only(times) = times else { return true };
        let mut spoiled = self.spoiled.lock().unwrap_or_else(PoisonError::into_inner);
        let done = spoiled.entry((position, which)).or_default();
        let spoils = *done < times;
        *done += u32::from(spoils);
        spoils
    }
}

pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/requests", get(requests))
        .route("/await", get(await_request))
        .route("/release/{name}", post(release))
        .route("/script", post(replace))
        .route("/meter", post(set_meter))
        .route("/reset", post(reset))
        .fallback(answer)
        .with_state(shared)
}

type Parameters = Query<HashMap<String, String>>;

fn number(parameters: &Parameters, name: &str) -> Option<u64> {
    parameters.get(name).and_then(|value| value.parse().ok())
}

async fn requests(State(shared): State<Arc<Shared>>, parameters: Parameters) -> Response {
    let since = number(&parameters, "since").unwrap_or(0) as usize;
    let lines: Vec<_> = shared.record.after(since).iter().map(Request::to_json).collect();
    json_response(StatusCode::OK, &lines.into())
}

async fn await_request(State(shared): State<Arc<Shared>>, parameters: Parameters) -> Response {
    let Some(text) = parameters.get("contains") else {
        return plain(StatusCode::BAD_REQUEST, "await needs ?contains=TEXT");
    };
    let since = number(&parameters, "since").unwrap_or(0) as usize;
    let within = Duration::from_millis(number(&parameters, "timeout_ms").unwrap_or(60_000));
    let come = shared.record.come(|request| request.number > since && request.contains(text));
    match tokio::time::timeout(within, come).await {
        Ok(request) => json_response(StatusCode::OK, &request.to_json()),
        Err(_) => plain(StatusCode::REQUEST_TIMEOUT, "no request with that text came in time"),
    }
}

async fn release(State(shared): State<Arc<Shared>>, Path(name): Path<String>) -> StatusCode {
    shared.release(&name);
    StatusCode::NO_CONTENT
}

async fn replace(State(shared): State<Arc<Shared>>, script: String) -> Response {
    match script.parse() {
        Ok(script) => {
            shared.replace_script(script);
            StatusCode::NO_CONTENT.into_response()
        }
        Err(error) => plain(StatusCode::BAD_REQUEST, &format!("{error}")),
    }
}

async fn set_meter(State(shared): State<Arc<Shared>>, parameters: Parameters) -> Response {
    let Some(replies) = number(&parameters, "replies") else {
        return plain(StatusCode::BAD_REQUEST, "meter needs ?replies=N");
    };
    let replies = u32::try_from(replies).unwrap_or(u32::MAX);
    let mut meter = Meter::new(replies, number(&parameters, "resets_at"));
    meter.tells = !parameters.contains_key("silent");
    shared.meter(Some(meter));
    StatusCode::NO_CONTENT.into_response()
}

async fn reset(State(shared): State<Arc<Shared>>) -> StatusCode {
    shared.meter(None);
    StatusCode::NO_CONTENT
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let read = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let request = |actor, reply| Request {
        number: 0,
        at_ms: monotonic_ms(),
        wall_ms: wall_ms(),
        answered_ms: None,
        method: method.to_string(),
        path: uri.to_string(),
        headers: shown(&headers),
        body: read.clone(),
        actor,
        reply,
    };
    let fixed = |status, value: Value, reply: &str| {
        let number = shared.record.add(request(None, reply.to_owned()));
        shared.record.answered(number);
        json_response(status, &value)
    };
    match wire::asked(method.as_str(), uri.path()) {
        Asked::Reply(wire) if read.is_object() => {
            let conversation = wire.read(&read);
            let script = Arc::clone(&shared.script.lock().unwrap_or_else(PoisonError::into_inner));
            if let Some((status, told)) = refused(&script, &headers, &conversation) {
                let code = StatusCode::from_u16(status).expect("it is one");
                return fixed(code, wire.error(status, &told), "refused");
            }
            let choice = choice::choose(&script, &conversation);
            let metered = shared.metered(&choice);
            if let Some((meter, false)) = metered {
                let mut response =
                    fixed(StatusCode::TOO_MANY_REQUESTS, meter.refusal(&wire), OVER_LIMIT);
                meter.tell(&wire, false, response.headers_mut());
                return response;
            }
            let (actor, told) = describe(&choice);
            let number = shared.record.add(request(actor, told));
            let mut response = {
                let named = script.named.clone();
                reply(&shared, &wire, &conversation, &choice, named, number).await
            };
            if let Some((meter, true)) = metered {
                meter.tell(&wire, true, response.headers_mut());
            }
            response
        }
        Asked::Reply(wire) => {
            fixed(StatusCode::BAD_REQUEST, wire.error(400, "the body is no JSON object"), "refused")
        }
        Asked::Count => fixed(StatusCode::OK, wire::count(body.len()), "count"),
        Asked::Models => fixed(StatusCode::OK, wire::models(), "models"),
        Asked::Other if matches!(method, Method::HEAD | Method::GET) && uri.path() == "/" => {
            fixed(StatusCode::OK, json!({}), "greeting")
        }
        Asked::Other if uri.path() == "/api/codex/usage" => match shared.account() {
            Some(account) => fixed(StatusCode::OK, account, "account"),
            None => fixed(StatusCode::NOT_FOUND, json!({}), "no account"),
        },
        Asked::Other if method == Method::CONNECT || uri.host().is_some() => {
            let told = "this is no proxy: nothing leaves this machine";
            fixed(StatusCode::FORBIDDEN, Wire::Chat.error(403, told), "stray")
        }
        Asked::Other => {
            let told = format!("this scripted model has no {method} {}", uri.path());
            fixed(StatusCode::NOT_FOUND, Wire::Chat.error(404, &told), "unknown path")
        }
    }
}

/// A key or a model that is none here, as every vendor refuses it.
fn refused(
    script: &Script,
    headers: &HeaderMap,
    conversation: &Conversation,
) -> Option<(u16, String)> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let bearer =
        text(header::AUTHORIZATION.as_str()).map(|text| text.trim_start_matches("Bearer "));
    let given = text("x-api-key").or(text("x-goog-api-key")).or(bearer);
    if script.key.as_deref().is_some_and(|key| given != Some(key)) {
        return Some((401, "invalid key".to_owned()));
    }
    let model = &conversation.model;
    let is_known = script.model.as_ref().is_none_or(|known| known == model);
    (!is_known).then(|| (404, format!("model: {model}")))
}

/// Keys are nobody's business, even when they are not real.
fn shown(headers: &HeaderMap) -> Vec<(String, String)> {
    let secret = [header::AUTHORIZATION.as_str(), "x-api-key", "x-goog-api-key", "cookie"];
    let shown = headers.iter().filter(|(name, _)| !secret.contains(&name.as_str()));
    shown
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into()))
        .collect()
}

fn describe(choice: &Choice<'_>) -> (Option<String>, String) {
    match choice {
        Choice::Side(_) => (None, "side call".to_owned()),
        Choice::Nothing => (None, "nothing to do".to_owned()),
        Choice::Step { actor, rule, step, .. } => {
            (Some(actor.clone()), format!("line {} step {}", rule.line, step + 1))
        }
    }
}

async fn reply(
    shared: &Arc<Shared>,
    wire: &Wire,
    conversation: &Conversation,
    choice: &Choice<'_>,
    named: Option<String>,
    number: usize,
) -> Response {
    let mut cut = false;
    let mut reply = match choice {
        Choice::Side(text) => Reply { say: Some(text.clone()), ..Reply::default() },
        Choice::Nothing => Reply { say: Some(NOTHING.to_owned()), ..Reply::default() },
        Choice::Step { actor, turn, .. } => {
            let position = choice::position(conversation);
            for (index, before) in turn.before.iter().enumerate() {
                if let Some(error) = hold_up(shared, wire, before, (position, index)).await {
                    shared.record.answered(number);
                    return error;
                }
            }
            cut = turn.cut && shared.spoils(position, usize::MAX, Times::Only(1));
            compose(turn, actor, conversation)
        }
    };
    reply.id = format!("{:x}", shared.replies.fetch_add(1, Ordering::Relaxed));
    reply.model = named.unwrap_or_else(|| conversation.model.clone());

    let (kind, chunks) = if conversation.streams {
        ("text/event-stream", wire.stream(&reply))
    } else {
        ("application/json", vec![wire.whole(&reply).to_string()])
    };
    let chunks = if cut { first_half(chunks) } else { chunks };
    sent(Arc::clone(shared), number, kind, chunks, cut)
}

/// What comes before a reply; an error comes instead of it.
async fn hold_up(
    shared: &Shared,
    wire: &Wire,
    before: &Before,
    (position, index): (u64, usize),
) -> Option<Response> {
    match before {
        Before::Hold(name) => {
            let mut released = shared.released.subscribe();
            let held = released.wait_for(|released| released.contains(name)).await;
            held.expect("the server outlives its requests");
            None
        }
        Before::Wait { ms } => {
            tokio::time::sleep_until(tokio::time::Instant::now() + Duration::from_millis(*ms))
                .await;
            None
        }
        Before::Error { status, times, retry_after, text } => {
            if !shared.spoils(position, index, *times) {
                return None;
            }
            let code = StatusCode::from_u16(*status).expect("the script was checked");
            let mut response = json_response(code, &wire.error(*status, text));
            if let Some(seconds) = retry_after {
                response.headers_mut().insert(header::RETRY_AFTER, (*seconds).into());
            }
            Some(response)
        }
    }
}

/// What is left of a reply that breaks off.
fn first_half(chunks: Vec<String>) -> Vec<String> {
    let text = chunks.concat();
    let middle = (0..=text.len() / 2).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    vec![text[..middle].to_owned()]
}

/// Sends the chunks one by one; a reply that is cut ends in a broken connection.
fn sent(
    shared: Arc<Shared>,
    number: usize,
    kind: &'static str,
    chunks: Vec<String>,
    cut: bool,
) -> Response {
    let chunks = stream::unfold(chunks.into_iter(), move |mut chunks| {
        let shared = Arc::clone(&shared);
        async move {
            // Lets the bytes out one event at a time, as a model does, and before a break.
            tokio::task::yield_now().await;
            let Some(chunk) = chunks.next() else {
                shared.record.answered(number);
                return cut.then(|| (Err(std::io::Error::other("cut by the script")), chunks));
            };
            Some((Ok(chunk), chunks))
        }
    });
    let body = Body::from_stream(chunks);
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], body).into_response()
}

fn json_response(status: StatusCode, value: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

fn plain(status: StatusCode, text: &str) -> Response {
    (status, format!("{text}\n")).into_response()
}

/// Serves until it is told to end; whatever is held then is dropped with its connection.
pub(crate) async fn serve(
    listener: std::net::TcpListener,
    shared: Arc<Shared>,
    end: impl Future<Output = ()>,
) -> std::io::Result<Infallible> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    // A conversation with files in it is larger than what axum takes by itself.
    let router = router(shared).layer(axum::extract::DefaultBodyLimit::disable());
    tokio::select! {
        result = async { axum::serve(listener, router).await } => {
            result?;
            Err(std::io::Error::other("the server ended by itself"))
        }
        () = end => Err(std::io::ErrorKind::Interrupted.into()),
    }
}
