//! The pair of pipes to a browser: calls and their replies, and what it tells of its own accord.
//!
//! Messages are JSON, each ended by a NUL. One thread reads them: replies go to whoever waits for
//! them, news to the tab they are about. When the browser ends, everybody who waits is told so.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// Nothing that a browser is asked takes so long, even on a loaded machine: longer than a page's
/// patience, so that a page tells itself what did not come.
pub(crate) const LIMIT: Duration = Duration::from_secs(360);

#[derive(Debug)]
pub(crate) struct Pipe {
    commands: Mutex<PipeWriter>,
    next: AtomicU64,
    waiting: Arc<Mutex<Waiting>>,
    /// What Chromium wrote to its standard error.
    words: PathBuf,
}

#[derive(Debug, Default)]
struct Waiting {
    replies: HashMap<u64, Sender<Value>>,
    news: HashMap<String, Sender<Value>>,
    ended: bool,
}

impl Pipe {
    pub(crate) fn new(commands: PipeWriter, replies: PipeReader, words: PathBuf) -> Pipe {
        let waiting = Arc::new(Mutex::new(Waiting::default()));
        let told = Arc::clone(&waiting);
        std::thread::spawn(move || {
            let lines = BufReader::new(replies).split(0).map_while(Result::ok);
            for line in lines {
                let message = serde_json::from_slice(&line).expect("a browser speaks JSON");
                hand_on(&mut told.lock().expect("nobody panics with it"), message);
            }
            let mut told = told.lock().expect("nobody panics with it");
            *told = Waiting { ended: true, ..Waiting::default() };
        });
        Pipe { commands: Mutex::new(commands), next: AtomicU64::new(1), waiting, words }
    }

    /// What a tab tells from now on.
    pub(crate) fn listen(&self, session: &str) -> Receiver<Value> {
        let (tell, told) = channel();
        let mut waiting = self.waiting.lock().expect("nobody panics with it");
        waiting.news.insert(session.to_owned(), tell);
        told
    }

    /// The result of a call that cannot fail.
    #[track_caller]
    pub(crate) fn call(&self, session: Option<&str>, method: &str, params: &Value) -> Value {
        match self.try_call(session, method, params) {
            Ok(result) => result,
            Err(told) => panic!("{method}: {told}"),
        }
    }

    pub(crate) fn try_call(
        &self,
        session: Option<&str>,
        method: &str,
        params: &Value,
    ) -> Result<Value, String> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let (tell, told) = channel();
        {
            let mut waiting = self.waiting.lock().expect("nobody panics with it");
            if waiting.ended {
                return Err(self.last_words());
            }
            waiting.replies.insert(id, tell);
        }
        let bytes = [message.to_string().as_bytes(), &[0]].concat();
        let written = self.commands.lock().expect("nobody panics with it").write_all(&bytes);
        if written.is_err() {
            return Err(self.last_words());
        }
        match told.recv_timeout(LIMIT) {
            Ok(mut reply) if reply.get("error").is_none() => Ok(reply["result"].take()),
            Ok(reply) => Err(reply["error"].to_string()),
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => Err("no answer".to_owned()),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => Err(self.last_words()),
        }
    }

    fn last_words(&self) -> String {
        let words = std::fs::read(&self.words).unwrap_or_default();
        format!("Chromium has ended; it wrote:\n{}", String::from_utf8_lossy(&words))
    }
}

fn hand_on(waiting: &mut Waiting, message: Value) {
    // Nobody may be there any more to hear it.
    if let Some(id) = message["id"].as_u64() {
        if let Some(tell) = waiting.replies.remove(&id) {
            let _ = tell.send(message);
        }
    } else if let Some(session) = message["sessionId"].as_str()
        && let Some(tell) = waiting.news.get(session)
        && tell.send(message.clone()).is_err()
    {
        waiting.news.remove(session);
    }
}
