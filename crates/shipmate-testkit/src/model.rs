//! A model that follows a script, for real agent programs in tests: no key, no network, no chance.
//!
//! One HTTP server on loopback speaks Anthropic Messages, OpenAI Chat Completions, OpenAI Responses
//! and Google's generateContent, streaming and not, so that Claude Code, Codex, Gemini CLI,
//! opencode and what is built on them run on it. The reply is a function of the conversation in
//! the request, so a program that is killed and resumed goes on where its history ends.
//!
//! ```text
//! # A line that begins with # is a comment; after `as` and `on` one may also end the line.
//! as ana                        # rules for conversations that contain "You are ana"
//! on "task 1"                   # when the user's text contains this as whole words
//!   # text directly above a call goes out with it
//!   say I will write the file.
//!   shell mkdir -p src && echo one > src/one.txt
//!   tool SendMessage {"to":"bo","message":"one is there"}
//!   # in the same turn as the line above
//!   & tool TaskUpdate {"taskId":"1","status":"completed"}
//!   # text without a call ends the turn
//!   say Done.
//! as *                          # rules for everybody, tried after one's own
//! on *                          # any text
//!   say I have nothing to do.
//! ```
//!
//! Who speaks: `as NAME` looks for "You are NAME" anywhere in the conversation, `as "TEXT"` for any
//! other text; of several the one that is told first. Rules before any `as` are for everybody.
//!
//! Which rule: the newest text of the user for which there is one. Several texts after `on` must
//! all be there. Each line of the rule answers one call of the model. Turns are counted from that
//! text on, and only those that the script gave. After the last line the answer is "There is
//! nothing for me to do."; but a rule that ends in a call gives way to the one it interrupted, so
//! `on "hello"` with a single `tool` line answers a message in the middle of other work. Texts that
//! a program repeats by itself (reminders, surroundings) are no texts of the user.
//!
//! Steps that reply:
//! - `say TEXT`: a text; a text in quotes is a JSON string, for several lines.
//! - `shell COMMAND`: by whatever shell tool the program offers.
//! - `write PATH TEXT`: by its tool for files, else by the shell. A newline is added.
//! - `tool NAME JSON`: the offered tool of that name, also behind a prefix (`mcp__team__NAME`). A
//!   tool that is not offered becomes a text that says so.
//! - `& shell|write|tool …`: one more call in the same turn.
//! - `stop`: ends the turn between a text and a call below it.
//!
//! Steps that belong to the reply below them:
//! - `think TEXT`: thinking before the reply.
//! - `hold NAME`: waits until a test lets it go, once for all replies with that name.
//! - `wait MS`: for benchmarks and demonstrations only.
//! - `error [N times|always] STATUS [retry-after SECONDS] [TEXT]`: an error instead, once for this
//!   position of this conversation unless told otherwise; the retry then gets the reply.
//! - `cut`: breaks off in mid-stream, once for this position.
//! - `usage IN OUT`: the tokens of the reply, 100 and 10 unless told.
//!
//! In texts, commands and strings of arguments: `{{actor}}`, `{{last}}` and `{{last 40}}` (the
//! newest result of a tool, or its last characters), `{{after TEXT}}` (the word after the newest
//! occurrence of TEXT).
//!
//! Side calls that programs make for themselves (titles, suggestions, quotas, routing) offer no
//! tools or are marked as suggestions: they get "ok", or the smallest JSON that fits the schema
//! they name, and never touch the script. `plain` on a line of its own turns requests without tools
//! into conversations; `key TEXT` and `model NAME` make the only key and the only model that are
//! taken: others are refused with 401 and 404. `named NAME` has every answer come from a model of that
//! name.

mod anthropic;
mod chat;
mod choice;
mod compose;
mod conversation;
mod gemini;
mod meter;
mod record;
mod responses;
mod script;
mod server;
mod wire;

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

pub use meter::Meter;
pub use record::Request;
pub use script::{Script, ScriptError};

use record::Record;
use server::Shared;

/// Long enough for a loaded machine to start any of the programs; a test that waits so long failed.
const PATIENCE: Duration = Duration::from_secs(300);

/// A scripted model that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    port: u16,
    shared: Arc<Shared>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts on a free port of loopback.
    ///
    /// # Panics
    ///
    /// If the script is wrong, with the line, or if there is no port: a test cannot go on.
    #[must_use]
    pub fn start(script: &str) -> Self {
        let script = script.parse().unwrap_or_else(|error| panic!("{error}"));
        Self::open(script, 0, None).unwrap_or_else(|e| panic!("the model cannot listen: {e}"))
    }

    /// Starts on this port (0 is any free one), with a file that every request is written to.
    pub fn open(script: Script, port: u16, record: Option<File>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let shared = Shared::new(script, Record::new(record));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (end, ended) = oneshot::channel();
        let served = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("model".to_owned()).spawn(move || {
            let ended = async { drop(ended.await) };
            match runtime.block_on(server::serve(listener, served, ended)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => eprintln!("model: {error}"),
            }
        })?;
        Ok(Self { port, shared, end: Some(end), thread: Some(thread) })
    }

    /// `http://127.0.0.1:PORT`, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// All requests so far, in order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.shared.record.after(0)
    }

    /// The first request that fits, at once or as soon as it comes in. For a test without a
    /// runtime, or on a thread of its own.
    ///
    /// # Panics
    ///
    /// If none comes within a minute, with what came instead.
    pub fn wait_for(&self, fits: impl FnMut(&Request) -> bool) -> Request {
        let found = self.shared.record.wait(PATIENCE, fits);
        found.unwrap_or_else(|| panic!("{}", self.waited_in_vain()))
    }

    /// [`Self::wait_for`] for a test that has a runtime.
    ///
    /// # Panics
    ///
    /// If none comes within a minute, with what came instead.
    pub async fn come(&self, fits: impl FnMut(&Request) -> bool) -> Request {
        let found = tokio::time::timeout(PATIENCE, self.shared.record.come(fits)).await;
        found.unwrap_or_else(|_| panic!("{}", self.waited_in_vain()))
    }

    /// Lets go every reply that `hold NAME` holds, now and later.
    pub fn release(&self, name: &str) {
        self.shared.release(name);
    }

    /// From now on, this is the script.
    ///
    /// # Panics
    ///
    /// If the script is wrong, with the line.
    pub fn replace_script(&self, script: &str) {
        self.shared.replace_script(script.parse().unwrap_or_else(|error| panic!("{error}")));
    }

    /// From now on the account behind every key has this window, of which nothing is used.
    pub fn meter(&self, meter: Meter) {
        self.shared.meter(Some(meter));
    }

    /// The window is reset, and nothing is metered any more.
    pub fn reset(&self) {
        self.shared.meter(None);
    }

    /// How many requests were refused for want of room.
    #[must_use]
    pub fn over_limit(&self) -> usize {
        self.requests().iter().filter(|request| request.reply == server::OVER_LIMIT).count()
    }

    /// Stays until the process is ended.
    pub fn serve_forever(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    fn waited_in_vain(&self) -> String {
        let came: Vec<String> = self
            .requests()
            .iter()
            .map(|r| format!("\n  {} {} {}: {}", r.number, r.method, r.path, r.reply))
            .collect();
        format!("no such request came to the model within {PATIENCE:?}; it got:{}", came.concat())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A panic in there was printed; a second one here would hide the test's own.
            let _ = thread.join();
        }
    }
}
