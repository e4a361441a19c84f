//! JSON-RPC over lines, both ways: for programs that are driven by requests and ask back.
//!
//! What the program asks arrives on a channel and is answered whenever the driver likes.
//! Lines that are no JSON are handed on as such and disturb nothing. When the program's
//! output ends, every request that waits fails.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};

use super::transcript::Transcript;

/// Longest line that is taken from a program.
pub(super) const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What comes from the program by itself.
#[derive(Debug)]
pub(crate) enum Incoming {
    Request { id: Value, method: String, params: Value },
    Notification { method: String, params: Value },
    Garbage(String),
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum RpcFailure {
    #[error("{message} ({code})")]
    Refused { code: i64, message: String, data: Value },
    /// The program is gone.
    #[error("the program ended before it answered")]
    Closed,
}

/// Whether messages carry `"jsonrpc": "2.0"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Standard,
    /// As codex speaks it.
    Bare,
}

#[derive(Debug, Clone)]
pub(crate) struct Peer(Rc<Ends>);

#[derive(Debug)]
struct Ends {
    dialect: Dialect,
    out: RefCell<Option<mpsc::UnboundedSender<String>>>,
    waiting: RefCell<BTreeMap<u64, oneshot::Sender<Result<Value, RpcFailure>>>>,
    counter: Cell<u64>,
    transcript: Transcript,
}

impl Peer {
    /// Reads and writes from now on. The channel ends with the program's output.
    pub(crate) fn start(
        reader: impl AsyncRead + Unpin + 'static,
        writer: impl AsyncWrite + Unpin + 'static,
        dialect: Dialect,
        transcript: Transcript,
    ) -> (Peer, mpsc::UnboundedReceiver<Incoming>) {
        let (out, lines) = mpsc::unbounded_channel();
        let peer = Peer(Rc::new(Ends {
            dialect,
            out: RefCell::new(Some(out)),
            waiting: RefCell::default(),
            counter: Cell::new(0),
            transcript,
        }));
        let (tell, incoming) = mpsc::unbounded_channel();
        tokio::task::spawn_local(write_lines(writer, lines));
        tokio::task::spawn_local(peer.clone().read_lines(reader, tell));
        (peer, incoming)
    }

    pub(crate) async fn request(&self, method: &str, params: Value) -> Result<Value, RpcFailure> {
        self.ask(method, params).await.unwrap_or(Err(RpcFailure::Closed))
    }

    /// Sends at once; the answer may be waited for later.
    pub(crate) fn ask(
        &self,
        method: &str,
        params: Value,
    ) -> oneshot::Receiver<Result<Value, RpcFailure>> {
        let id = self.0.counter.get() + 1;
        self.0.counter.set(id);
        let (tell, told) = oneshot::channel();
        if self.send(json!({ "id": id, "method": method, "params": params })) {
            self.0.waiting.borrow_mut().insert(id, tell);
        }
        told
    }

    pub(crate) fn notify(&self, method: &str, params: Value) {
        self.send(json!({ "method": method, "params": params }));
    }

    pub(crate) fn answer(&self, id: Value, result: Value) {
        self.send(json!({ "id": id, "result": result }));
    }

    pub(crate) fn refuse(&self, id: Value, code: i64, message: &str) {
        self.send(json!({ "id": id, "error": { "code": code, "message": message } }));
    }

    /// The end of input for the program.
    pub(crate) fn close(&self) {
        self.0.out.borrow_mut().take();
    }

    fn send(&self, mut message: Value) -> bool {
        if self.0.dialect == Dialect::Standard {
            message["jsonrpc"] = json!("2.0");
        }
        let line = message.to_string();
        self.0.transcript.told(&line);
        self.0.out.borrow().as_ref().is_some_and(|out| out.send(line).is_ok())
    }

    async fn read_lines(
        self,
        reader: impl AsyncRead + Unpin,
        tell: mpsc::UnboundedSender<Incoming>,
    ) {
        each_line(reader, |text| {
            self.0.transcript.heard(text);
            if let Some(incoming) = self.sort(text) {
                // Nobody listens once the driver has let go of the program.
                drop(tell.send(incoming));
            }
        })
        .await;
        self.0.out.borrow_mut().take();
        for (_, waits) in std::mem::take(&mut *self.0.waiting.borrow_mut()) {
            drop(waits.send(Err(RpcFailure::Closed)));
        }
    }

    /// Gives answers to those who wait, and hands back everything else.
    fn sort(&self, text: &str) -> Option<Incoming> {
        let Ok(Value::Object(mut message)) = serde_json::from_str(text) else {
            return Some(Incoming::Garbage(text.to_owned()));
        };
        let id = message.remove("id").filter(|id| !id.is_null());
        let params = message.remove("params").unwrap_or(Value::Null);
        match (message.remove("method"), id) {
            (Some(Value::String(method)), Some(id)) => {
                Some(Incoming::Request { id, method, params })
            }
            (Some(Value::String(method)), None) => Some(Incoming::Notification { method, params }),
            (None, Some(id)) => {
                let waits = id.as_u64().and_then(|id| self.0.waiting.borrow_mut().remove(&id));
                let answer = match message.remove("error").filter(|error| !error.is_null()) {
                    Some(error) => Err(RpcFailure::Refused {
                        code: error["code"].as_i64().unwrap_or_default(),
                        message: error["message"].as_str().unwrap_or("no reason given").to_owned(),
                        data: error["data"].clone(),
                    }),
                    None => Ok(message.remove("result").unwrap_or(Value::Null)),
                };
                match waits {
                    Some(waits) => drop(waits.send(answer)),
                    None => return Some(Incoming::Garbage(text.to_owned())),
                }
                None
            }
            _ => Some(Incoming::Garbage(text.to_owned())),
        }
    }
}

/// Hands on each line that is not empty, until the output ends.
pub(super) async fn each_line(reader: impl AsyncRead + Unpin, mut hear: impl FnMut(&str)) {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = (&mut reader).take(LINE_BYTES_MAX);
        match limited.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        if !text.trim().is_empty() {
            hear(text.trim());
        }
    }
}

pub(super) async fn write_lines(
    mut writer: impl AsyncWrite + Unpin,
    mut lines: mpsc::UnboundedReceiver<String>,
) {
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        if writer.write_all(line.as_bytes()).await.is_err() || writer.flush().await.is_err() {
            return;
        }
    }
}
