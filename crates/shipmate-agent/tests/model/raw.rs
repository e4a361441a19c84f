//! A server that answers with the bytes it was given, in the pieces it was told, one answer per
//! request; what it was asked is kept.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

pub(crate) struct Raw {
    pub(crate) url: String,
    shared: Arc<Shared>,
    came: mpsc::UnboundedReceiver<()>,
    serving: JoinHandle<()>,
}

struct Shared {
    asked: Mutex<Vec<Asked>>,
    answers: Mutex<VecDeque<Answer>>,
    connections: AtomicUsize,
    tell: mpsc::UnboundedSender<()>,
}

/// One request as it came in.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) path: String,
    /// In lower case, one a line.
    pub(crate) head: String,
    pub(crate) body: Value,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    bytes: Vec<u8>,
    /// Sent in pieces of this size; all at once where it is nothing.
    piece_bytes: usize,
    hold: Option<Arc<Notify>>,
    /// The connection stays open afterwards.
    stays: bool,
    /// And takes another request.
    is_kept: bool,
}

impl Answer {
    pub(crate) fn new(status: u16, headers: &str, body: &str) -> Answer {
        let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n{headers}");
        let end = format!("content-length: {}\r\n\r\n{body}", body.len());
        Answer { bytes: (head + &end).into_bytes(), ..Answer::default() }
    }

    pub(crate) fn error(status: u16, body: &str) -> Answer {
        Answer::new(status, "content-type: application/json\r\n", body)
    }

    /// Events of a stream, each on a line of its own; a line that begins with a quote belongs to
    /// the one above.
    pub(crate) fn events(events: &str) -> Answer {
        let mut body = String::new();
        for line in events.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let begins = if line.starts_with('"') { "" } else { "\n\ndata: " };
            body += &format!("{begins}{line}");
        }
        body += "\n\n";
        Answer::new(200, "content-type: text/event-stream\r\n", &body)
    }

    pub(crate) fn raw(bytes: &[u8]) -> Answer {
        Answer { bytes: bytes.to_vec(), ..Answer::default() }
    }

    pub(crate) fn with_headers(self, headers: &str) -> Answer {
        let text = String::from_utf8(self.bytes).unwrap();
        let (status, rest) = text.split_once("\r\n").unwrap();
        Answer { bytes: format!("{status}\r\n{headers}{rest}").into_bytes(), ..self }
    }

    pub(crate) fn in_pieces(self, piece_bytes: usize) -> Answer {
        Answer { piece_bytes, ..self }
    }

    /// The same, on a connection that takes another request.
    pub(crate) fn kept(self) -> Answer {
        let text = String::from_utf8(self.bytes).unwrap().replace("connection: close\r\n", "");
        Answer { bytes: text.into_bytes(), is_kept: true, ..self }
    }

    /// Waits with the answer until it is let go.
    pub(crate) fn held_by(self, hold: &Arc<Notify>) -> Answer {
        Answer { hold: Some(Arc::clone(hold)), ..self }
    }

    /// Says that more is to come than comes.
    pub(crate) fn cut(mut self, bytes: usize) -> Answer {
        self.bytes.truncate(self.bytes.len() - bytes);
        self
    }

    /// Says that so many bytes are to come.
    pub(crate) fn promising(mut self, length: usize) -> Answer {
        let text = String::from_utf8(self.bytes).unwrap();
        let (before, after) = text.split_once("content-length: ").unwrap();
        let (_, after) = after.split_once("\r\n").unwrap();
        self.bytes = format!("{before}content-length: {length}\r\n{after}").into_bytes();
        self
    }

    pub(crate) fn and_stays(self) -> Answer {
        Answer { stays: true, ..self }
    }
}

impl Raw {
    /// Answers in order; the last one for ever.
    pub(crate) async fn start(answers: Vec<Answer>) -> Raw {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (tell, came) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            asked: Mutex::default(),
            answers: Mutex::new(answers.into()),
            connections: AtomicUsize::new(0),
            tell,
        });
        let served = Arc::clone(&shared);
        let serving = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                served.connections.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(serve(stream, Arc::clone(&served)));
            }
        });
        Raw { url, shared, came, serving }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Nobody listens any more once this has returned.
    pub(crate) async fn stop(mut self) {
        self.serving.abort();
        let ended = (&mut self.serving).await;
        assert!(ended.is_err_and(|error| error.is_cancelled()));
    }

    /// The next request that has not been waited for.
    pub(crate) async fn come(&mut self) {
        let came = tokio::time::timeout(Duration::from_secs(300), self.came.recv()).await;
        came.expect("a request comes").unwrap();
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    stream.set_nodelay(true).unwrap();
    while let Some(asked) = read(&mut stream).await {
        shared.asked.lock().unwrap().push(asked);
        let answer = {
            let mut answers = shared.answers.lock().unwrap();
            let next =
                if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
            next.expect("there is always an answer")
        };
        let _ = shared.tell.send(());
        if let Some(hold) = answer.hold {
            hold.notified().await;
        }
        let piece_bytes = if answer.piece_bytes == 0 { usize::MAX } else { answer.piece_bytes };
        for piece in answer.bytes.chunks(piece_bytes) {
            // Whoever asked may have had enough.
            if stream.write_all(piece).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
        if answer.stays {
            std::future::pending::<()>().await;
        }
        if !answer.is_kept {
            return;
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let head_bytes = loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        if let Some(at) = bytes.windows(4).position(|end| end == b"\r\n\r\n") {
            break at + 4;
        }
    };
    let head = String::from_utf8(bytes[..head_bytes].to_vec()).unwrap();
    let path = head.split(' ').nth(1).unwrap().to_owned();
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let length: usize = length.trim().parse().unwrap();
    while bytes.len() < head_bytes + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = serde_json::from_slice(&bytes[head_bytes..]).unwrap();
    Some(Asked { path, head, body })
}
