//! An MCP server that is reached by HTTP, as a process with pipes: one that any agent's supervisor can start.
//!
//! Where it is comes in the first line, because headers may be secret and everybody sees arguments.
//! Each message is a request of its own, whose answer is JSON or a stream of events with it
//! ("streamable HTTP"). A server that knows no such requests has one stream that all answers come on, and says
//! there where messages go ("HTTP+SSE"). What cannot be delivered is answered here, with the reason.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url, redirect};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;
use tokio::sync::mpsc;

const EVENTS: &str = "text/event-stream";
const SESSION: &str = "mcp-session-id";
/// Longest answer that is taken from a server.
const ANSWER_BYTES_MAX: usize = 64 << 20;
const REFUSAL_BYTES_MAX: usize = 64 * 1024;
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
const END_WITHIN: Duration = Duration::from_secs(2);
const REDIRECTS_MAX: usize = 3;
const WORDS_MAX: usize = 200;
/// "Server error", as JSON-RPC numbers it.
const FAILED: i64 = -32000;
const STREAM_ENDED: &str = "the stream of the server has ended, and with it its answers";

type Say = mpsc::UnboundedSender<String>;

struct Link {
    client: Client,
    url: Url,
    /// Where messages go, if the server has said that they go elsewhere.
    elsewhere: RefCell<Option<Url>>,
    session: RefCell<Option<HeaderValue>>,
    /// It has answered before.
    is_known: Cell<bool>,
    /// Ids of requests that have no answer yet, as JSON.
    open: Rc<RefCell<BTreeSet<String>>>,
    /// The one stream of an older server has ended: it can answer nothing more.
    is_over: Rc<Cell<bool>>,
    version: String,
}

/// Where it is, as the first line on standard input.
#[derive(Debug, Deserialize)]
struct Place {
    url: String,
    headers: BTreeMap<String, String>,
    /// Of the protocol.
    version: String,
}

/// Carries messages between standard input and output and the server, until the input ends.
///
/// # Errors
/// Why there is no way to it.
pub fn mcp_by_http() -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| e.to_string())?;
    let ended = tokio::task::LocalSet::new().block_on(&runtime, carry());
    runtime.shutdown_background();
    ended
}

async fn carry() -> Result<(), String> {
    let no_pipe = |e: io::Error| format!("it is to be started with pipes: {e}");
    let stdin = io::stdin().as_fd().try_clone_to_owned().and_then(pipe::Receiver::from_owned_fd);
    let stdout = io::stdout().as_fd().try_clone_to_owned().and_then(pipe::Sender::from_owned_fd);
    let (mut told, out) =
        (BufReader::new(stdin.map_err(no_pipe)?).lines(), stdout.map_err(no_pipe)?);
    let Some(first) = told.next_line().await.map_err(no_pipe)? else { return Ok(()) };
    let (say, lines) = mpsc::unbounded_channel();
    tokio::task::spawn_local(write(out, lines));
    let place = serde_json::from_str::<Place>(&first).map_err(|e| e.to_string());
    // What is wrong with it is said to whoever asks first.
    let link = match place.and_then(|place| connect(&place)) {
        Ok(link) => Ok(Rc::new(link)),
        Err(reason) => Err(reason),
    };
    while let Ok(Some(line)) = told.next_line().await {
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        let is_request = message.get("method").is_some() && message.get("id").is_some();
        let (link, say) = (link.clone(), say.clone());
        let post = async move {
            let id = is_request.then(|| message["id"].to_string());
            let posted = match link {
                Ok(link) => link.post(&line, id.as_deref(), &say).await,
                Err(reason) => Err(reason),
            };
            if let (Err(reason), Some(id)) = (posted, id) {
                drop(say.send(failed(&id, &reason)));
            }
        };
        match is_request {
            true => drop(tokio::task::spawn_local(post)),
            // What comes after it counts on it.
            false => post.await,
        }
    }
    if let Ok(link) = link {
        link.end().await;
    }
    Ok(())
}

/// What is said of a request that the server answers with nothing.
fn failed(id: &str, reason: &str) -> String {
    let reason = json!(reason);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{FAILED},"message":{reason}}}}}"#)
}

/// Hands a message on, which may be the answer to a request.
fn pass(data: &str, open: &RefCell<BTreeSet<String>>, say: &Say) {
    let message: Value = serde_json::from_str(data).unwrap_or_default();
    if message.get("method").is_none() {
        open.borrow_mut().remove(&message["id"].to_string());
    }
    drop(say.send(one_line(data)));
}

async fn write(mut out: pipe::Sender, mut lines: mpsc::UnboundedReceiver<String>) {
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        if out.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn connect(place: &Place) -> Result<Link, String> {
    let url = Url::parse(&place.url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.ok_or("its url is no http:// or https:// address")?;
    let mut own = HeaderMap::new();
    for (name, value) in &place.headers {
        let bad = || format!("its header {name} cannot be sent");
        let value = HeaderValue::from_str(value).map_err(|_| bad())?;
        own.insert(HeaderName::try_from(name.as_str()).map_err(|_| bad())?, value);
    }
    // Whoever was first has chosen the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Its headers are for nobody else.
    let policy = redirect::Policy::custom(|attempt| {
        let first = attempt.previous().first().map(Url::origin);
        match first == Some(attempt.url().origin()) && attempt.previous().len() <= REDIRECTS_MAX {
            true => attempt.follow(),
            false => attempt.stop(),
        }
    });
    let client = Client::builder().http1_only().default_headers(own).redirect(policy);
    let mut client = client.connect_timeout(CONNECT_WITHIN);
    let host = url.host_str().unwrap_or_default();
    if host == "localhost" || host.starts_with("127.") || host == "[::1]" {
        // No proxy has our loopback.
        client = client.no_proxy();
    }
    if url.scheme() == "http" {
        // The machine's certificates are not needed, and may not be there.
        client = client.tls_certs_only([]);
    }
    let client = client.build().map_err(|e| e.to_string())?;
    Ok(Link {
        client,
        url,
        elsewhere: RefCell::default(),
        session: RefCell::default(),
        is_known: Cell::new(false),
        open: Rc::default(),
        is_over: Rc::default(),
        version: place.version.clone(),
    })
}

impl Link {
    /// Has the server forget the session.
    async fn end(&self) {
        let Some(session) = self.session.take() else { return };
        let end = self.client.delete(self.url.clone()).header(SESSION, session);
        drop(tokio::time::timeout(END_WITHIN, end.send()).await);
    }

    /// `id` is that of a request, which has to have an answer.
    async fn post(&self, line: &str, id: Option<&str>, say: &Say) -> Result<(), String> {
        if self.is_over.get() {
            return Err(STREAM_ENDED.to_owned());
        }
        self.open.borrow_mut().extend(id.map(str::to_owned));
        let posted = self.posted(line, say).await;
        let is_here = self.elsewhere.borrow().is_none();
        // An older server answers on its stream.
        if posted.is_ok() && !is_here {
            return Ok(());
        }
        match id.is_some_and(|id| self.open.borrow_mut().remove(id)) {
            true => posted.and(Err("the server ended its answer without one".to_owned())),
            // Answered, or nothing that has an answer.
            false if id.is_some() => Ok(()),
            false => posted,
        }
    }

    async fn posted(&self, line: &str, say: &Say) -> Result<(), String> {
        let mut response = self.sent(line).await?;
        // One of the older kind knows no such requests.
        let is_older = response.status().is_client_error() && !is_login(response.status());
        if is_older && !self.is_known.get() && self.elsewhere.borrow().is_none() {
            match self.listen(say).await {
                true => response = self.sent(line).await?,
                false => return Err(refused(response).await),
            }
        }
        if !response.status().is_success() {
            return Err(refused(response).await);
        }
        self.is_known.set(true);
        if let Some(session) = response.headers().get(SESSION) {
            self.session.replace(Some(session.clone()));
        }
        match is_events(&response) {
            true => {
                let mut events = Events::of(response);
                while let Some((_, data)) = events.next().await? {
                    pass(&data, &self.open, say);
                }
            }
            false => {
                let text = text(response, ANSWER_BYTES_MAX).await?;
                // To most there is no answer.
                if serde_json::from_str::<Value>(&text).is_ok() {
                    pass(&text, &self.open, say);
                }
            }
        }
        Ok(())
    }

    async fn sent(&self, line: &str) -> Result<Response, String> {
        let url = self.elsewhere.borrow().clone().unwrap_or_else(|| self.url.clone());
        let mut request = self
            .client
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, format!("application/json, {EVENTS}"));
        if self.is_known.get() {
            request = request.header("mcp-protocol-version", &self.version);
        }
        if let Some(session) = &*self.session.borrow() {
            request = request.header(SESSION, session);
        }
        request.body(line.to_owned()).send().await.map_err(|e| reason(&e))
    }

    /// Listens to the one stream of an older server; whether it is one.
    async fn listen(&self, say: &Say) -> bool {
        let asked = self.client.get(self.url.clone()).header(ACCEPT, EVENTS).send().await;
        let Some(response) = asked.ok().filter(|one| one.status().is_success() && is_events(one))
        else {
            return false;
        };
        let mut events = Events::of(response);
        let Ok(Some((kind, data))) = events.next().await else { return false };
        let elsewhere = self.url.join(data.trim()).ok();
        let elsewhere = elsewhere.filter(|url| url.origin() == self.url.origin());
        if kind != "endpoint" || elsewhere.is_none() {
            return false;
        }
        self.elsewhere.replace(elsewhere);
        let (say, open, is_over) = (say.clone(), Rc::clone(&self.open), Rc::clone(&self.is_over));
        tokio::task::spawn_local(async move {
            while let Ok(Some((_, data))) = events.next().await {
                pass(&data, &open, &say);
            }
            is_over.set(true);
            for id in std::mem::take(&mut *open.borrow_mut()) {
                drop(say.send(failed(&id, STREAM_ENDED)));
            }
        });
        true
    }
}

fn is_events(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with(EVENTS))
}

fn is_login(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

/// A message as one line: what stands on several is the same JSON.
fn one_line(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join(" ")
}

fn reason(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let place = error.url().map(Url::origin).map(|origin| origin.ascii_serialization());
    format!("{} cannot be reached: {cause}", place.as_deref().unwrap_or("it"))
}

async fn refused(response: Response) -> String {
    let (status, login) = (response.status(), is_login(response.status()));
    let said = text(response, REFUSAL_BYTES_MAX).await.unwrap_or_default();
    let said: String = said.trim().chars().take(WORDS_MAX).collect();
    let remedy = "; give it a login in its headers, as \"Authorization\": \"Bearer ${NAME}\"";
    format!(
        "it answers {status}{}{}",
        if login { remedy } else { "" },
        match said.as_str() {
            "" => String::new(),
            said => format!(": {said}"),
        }
    )
}

async fn text(mut response: Response, bytes_max: usize) -> Result<String, String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|e| reason(&e))? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > bytes_max {
            return Err(format!("its answer is longer than {bytes_max} bytes"));
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Events of a stream, each with its kind.
struct Events {
    response: Response,
    read: Vec<u8>,
}

impl Events {
    fn of(response: Response) -> Events {
        Events { response, read: Vec::new() }
    }

    async fn next(&mut self) -> Result<Option<(String, String)>, String> {
        loop {
            while let Some(text) = take_block(&mut self.read) {
                let (kind, data) = parse_event(&text);
                if !data.is_empty() {
                    return Ok(Some((kind, data)));
                }
            }
            match self.response.chunk().await.map_err(|e| reason(&e))? {
                Some(chunk) => self.read.extend_from_slice(&chunk),
                None => return Ok(None),
            }
            if self.read.len() > ANSWER_BYTES_MAX {
                return Err(format!("an event is longer than {ANSWER_BYTES_MAX} bytes"));
            }
        }
    }
}

/// What is there up to an empty line, without it.
fn take_block(read: &mut Vec<u8>) -> Option<String> {
    let ends = [&b"\n\n"[..], b"\r\n\r\n"];
    let found = ends.iter().filter_map(|end| {
        Some((read.windows(end.len()).position(|part| part == *end)?, end.len()))
    });
    let (at, length) = found.min()?;
    let block = read.drain(..at + length).collect::<Vec<_>>();
    Some(String::from_utf8_lossy(&block).into_owned())
}

fn parse_event(text: &str) -> (String, String) {
    let field = |line: &str, name: &str| {
        let rest = line.strip_prefix(name)?.strip_prefix(':')?;
        Some(rest.strip_prefix(' ').unwrap_or(rest).to_owned())
    };
    let kind = text.lines().find_map(|line| field(line, "event")).unwrap_or_default();
    let data: Vec<String> = text.lines().filter_map(|line| field(line, "data")).collect();
    (kind, data.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_whole_however_their_lines_end() {
        let mut read =
            b": ping\n\nevent: endpoint\r\ndata: /a?b\r\n\r\ndata: {\ndata: }\n\ndata: ha".to_vec();
        let blocks: Vec<(String, String)> =
            std::iter::from_fn(|| take_block(&mut read)).map(|text| parse_event(&text)).collect();
        let of = |kind: &str, data: &str| (kind.to_owned(), data.to_owned());
        assert_eq!(blocks, [of("", ""), of("endpoint", "/a?b"), of("", "{\n}")]);
        assert_eq!(read, b"data: ha");
    }
}
