//! An MCP server on loopback, for agent programs in tests: at `/mcp` by streamable HTTP with the tool `depth`,
//! at `/sse` in the older way, where all answers come on one stream, with the tool `wind`. Both are for
//! whoever shows the key; anybody else is refused with 401.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// What the header `Authorization` has to hold behind `Bearer`.
pub const KEY: &str = "moored-at-noon";

/// What the tools answer.
pub const DEPTH: &str = "it is nine fathoms deep";
pub const WIND: &str = "it blows from the north";

/// The streams of those who came the older way.
type Streams = Arc<Mutex<Vec<UnboundedSender<String>>>>;

/// Starts it on a free port; it serves until the process ends. Its address, without a path.
///
/// # Panics
///
/// If there is no port: a test cannot go on.
#[must_use]
pub fn start() -> String {
    let listener = listener().unwrap_or_else(|e| panic!("the MCP server cannot listen: {e}"));
    let address = listener.local_addr().expect("it listens");
    let router = Router::new()
        .route("/mcp", post(answer_at_once))
        .route("/sse", get(begin_stream))
        .route("/messages/{stream}", post(answer_on_stream))
        .layer(from_fn(with_key))
        .with_state(Streams::default());
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            axum::serve(tokio::net::TcpListener::from_std(listener)?, router).await
        })
    });
    format!("http://{address}")
}

fn listener() -> io::Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

async fn with_key(request: Request, next: Next) -> Response {
    let shown = request.headers().get(header::AUTHORIZATION).map(|value| value.as_bytes());
    match shown == Some(format!("Bearer {KEY}").as_bytes()) {
        true => next.run(request).await,
        false => StatusCode::UNAUTHORIZED.into_response(),
    }
}

async fn answer_at_once(body: Bytes) -> Response {
    match answer(&body, "depth", DEPTH) {
        Some(answer) => Json(answer).into_response(),
        None => StatusCode::ACCEPTED.into_response(),
    }
}

async fn begin_stream(State(streams): State<Streams>) -> Response {
    let (tell, told) = unbounded_channel();
    let mut streams = streams.lock().unwrap_or_else(PoisonError::into_inner);
    let first = format!("event: endpoint\ndata: /messages/{}\n\n", streams.len());
    streams.push(tell);
    let later = stream::unfold(told, async |mut told| Some((told.recv().await?, told)));
    let events = stream::iter([first]).chain(later).map(Ok::<_, Infallible>);
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}

async fn answer_on_stream(
    State(streams): State<Streams>,
    Path(stream): Path<usize>,
    body: Bytes,
) -> StatusCode {
    let streams = streams.lock().unwrap_or_else(PoisonError::into_inner);
    if let (Some(tell), Some(answer)) = (streams.get(stream), answer(&body, "wind", WIND)) {
        // Who has gone away waits for nothing.
        drop(tell.send(format!("event: message\ndata: {answer}\n\n")));
    }
    StatusCode::ACCEPTED
}

/// The answer to a message; none to one that wants none.
fn answer(body: &[u8], tool: &str, text: &str) -> Option<Value> {
    let message: Value = serde_json::from_slice(body).ok()?;
    let id = message.get("id")?;
    let result = match message["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "harbour", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [{
            "name": tool,
            "description": "What the harbour master knows",
            "inputSchema": { "type": "object", "properties": {} },
        }] }),
        "tools/call" => json!({ "content": [{ "type": "text", "text": text }] }),
        _ => json!({}),
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}
