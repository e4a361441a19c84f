//! What an agent said and was told: word for word in one file, readable in another.
//!
//! `transcript.jsonl` holds every line of the conversation with the program, with its
//! direction and time; `output.log` holds what a person would want to follow. Both are
//! capped as all output is. Whatever is added is a sign of progress.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use shipmate_process::LogFile;
use shipmate_programs::order::{LifeFolder, Order};
use shipmate_protocol::verbs::Context;
use tokio::sync::watch;

use super::driver::Progress;

#[derive(Debug, Clone)]
pub(crate) struct Transcript(Rc<Files>);

#[derive(Debug)]
struct Files {
    raw: RefCell<LogFile>,
    words: RefCell<LogFile>,
    tell: watch::Sender<Progress>,
}

impl Transcript {
    pub(crate) fn open(order: &Order, folder: &LifeFolder) -> Result<Transcript, String> {
        let open = |path: std::path::PathBuf| {
            LogFile::open(&path, order.output_bytes_max)
                .map_err(|e| format!("{}: {e}", path.display()))
        };
        Ok(Transcript(Rc::new(Files {
            raw: RefCell::new(open(folder.transcript())?),
            words: RefCell::new(open(folder.output())?),
            tell: watch::Sender::new(Progress::default()),
        })))
    }

    /// A line from the program.
    pub(crate) fn heard(&self, line: &str) {
        self.keep("from", line);
        self.0.tell.send_modify(|seen| seen.bytes += line.len() as u64);
    }

    /// A sign that it is at work.
    pub(crate) fn busy(&self, bytes: u64) {
        self.0.tell.send_modify(|seen| seen.bytes += bytes);
    }

    /// A line to the program.
    pub(crate) fn told(&self, line: &str) {
        self.keep("to", line);
    }

    fn keep(&self, way: &str, line: &str) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // Not JSON is kept as text, so that the file stays one object a line.
        let line = match serde_json::from_str::<&serde_json::value::RawValue>(line) {
            Ok(_) => line.to_owned(),
            Err(_) => Value::from(line).to_string(),
        };
        let kept = format!("{{\"at\":{},\"{way}\":{}}}\n", now.as_millis(), line.trim());
        self.0.raw.borrow_mut().push(kept.as_bytes());
    }

    /// Words for whoever follows the teammate that are none of its own.
    pub(crate) fn note(&self, text: &str) {
        if !text.is_empty() {
            let mut words = self.0.words.borrow_mut();
            words.push(text.as_bytes());
            words.push(b"\n");
        }
    }

    /// Words for whoever follows the teammate; the last line is what is shown of it.
    pub(crate) fn say(&self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let mut words = self.0.words.borrow_mut();
        words.push(text.trim_end().as_bytes());
        words.push(b"\n");
        drop(words);
        let last = text.trim().lines().last().unwrap_or_default().to_owned();
        self.0.tell.send_modify(|seen| {
            seen.bytes += text.len() as u64;
            seen.last_words = last;
        });
    }

    /// It waits for its model's provider and says why.
    pub(crate) fn waits(&self, text: &str, ms: u64) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let until = (now.as_millis() as u64).saturating_add(ms);
        self.0.tell.send_modify(|seen| seen.waits_until = Some(until));
        self.say(text);
    }

    /// How full the agent's context is; what is not known changes nothing.
    pub(crate) fn fills(&self, context: Option<Context>) {
        self.0.tell.send_if_modified(|seen| {
            let is_news = context.is_some() && seen.context != context;
            seen.context = context.or(seen.context);
            is_news
        });
    }

    pub(crate) fn progress(&self) -> watch::Receiver<Progress> {
        self.0.tell.subscribe()
    }
}
