//! What was asked of the model, kept for tests and for reading afterwards.
//!
//! A request is on record before it is answered, so whoever waits for one sees it while a reply
//! is still held. Waiting is on a condition, never by looking again and again.

use std::fs::File;
use std::io::Write;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::sync::watch;

/// One request, as it came in.
#[derive(Clone, Debug)]
pub struct Request {
    /// From 1, in order of arrival.
    pub number: usize,
    /// Arrival on the machine's monotonic clock, in ms: comparable between processes.
    pub at_ms: f64,
    /// Arrival in ms since 1970.
    pub wall_ms: f64,
    /// When the last byte of the reply was handed over, on the monotonic clock.
    pub answered_ms: Option<f64>,
    pub method: String,
    /// With its query.
    pub path: String,
    /// Names in lower case. Keys and tokens are left out.
    pub headers: Vec<(String, String)>,
    pub body: Value,
    /// Whose rules hold; `*` is nobody in particular.
    pub actor: Option<String>,
    /// What was chosen, for people: `line 4 step 1`, `side call`, `nothing to do`.
    pub reply: String,
}

impl Request {
    /// Whether any text in the body contains this.
    #[must_use]
    pub fn contains(&self, text: &str) -> bool {
        holds(&self.body, text)
    }

    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// One line of the record.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let headers: serde_json::Map<_, _> =
            self.headers.iter().map(|(k, v)| (k.clone(), Value::from(v.as_str()))).collect();
        json!({
            "number": self.number, "at_ms": self.at_ms, "wall_ms": self.wall_ms,
            "answered_ms": self.answered_ms, "method": self.method, "path": self.path,
            "actor": self.actor, "reply": self.reply, "headers": headers, "body": self.body,
        })
    }
}

fn holds(value: &Value, sought: &str) -> bool {
    match value {
        Value::String(text) => text.contains(sought),
        Value::Array(items) => items.iter().any(|item| holds(item, sought)),
        Value::Object(fields) => fields.values().any(|value| holds(value, sought)),
        _ => false,
    }
}

#[derive(Debug)]
pub(crate) struct Record {
    requests: Mutex<Vec<Request>>,
    grown: Condvar,
    count: watch::Sender<usize>,
    file: Option<Mutex<File>>,
}

impl Record {
    pub(crate) fn new(file: Option<File>) -> Self {
        Self {
            requests: Mutex::default(),
            grown: Condvar::new(),
            count: watch::Sender::new(0),
            file: file.map(Mutex::new),
        }
    }

    /// Puts a request on record and returns its number.
    pub(crate) fn add(&self, mut request: Request) -> usize {
        let mut requests = self.locked();
        let number = requests.len() + 1;
        request.number = number;
        self.write(&request.to_json());
        requests.push(request);
        self.count.send_replace(number);
        self.grown.notify_all();
        number
    }

    pub(crate) fn answered(&self, number: usize) {
        let now = monotonic_ms();
        self.locked()[number - 1].answered_ms = Some(now);
        self.write(&json!({"number": number, "answered_ms": now}));
        self.grown.notify_all();
    }

    pub(crate) fn after(&self, number: usize) -> Vec<Request> {
        self.locked().iter().skip(number).cloned().collect()
    }

    /// The first request that fits, at once or as soon as it comes.
    pub(crate) fn wait(
        &self,
        within: Duration,
        mut fits: impl FnMut(&Request) -> bool,
    ) -> Option<Request> {
        let end = Instant::now() + within;
        let mut requests = self.locked();
        loop {
            if let Some(found) = requests.iter().find(|request| fits(request)) {
                return Some(found.clone());
            }
            let left = end.checked_duration_since(Instant::now())?;
            let waited = self.grown.wait_timeout(requests, left);
            requests = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The same without holding up a runtime, and without an end of its own.
    pub(crate) async fn come(&self, mut fits: impl FnMut(&Request) -> bool) -> Request {
        let mut count = self.count.subscribe();
        let mut seen = 0;
        loop {
            let found = {
                count.borrow_and_update();
                let requests = self.locked();
                let new = requests.iter().skip(seen).find(|request| fits(request)).cloned();
                seen = requests.len();
                new
            };
            if let Some(found) = found {
                return found;
            }
            count.changed().await.expect("the record outlives who waits for it");
        }
    }

    fn locked(&self) -> MutexGuard<'_, Vec<Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, line: &Value) {
        let Some(file) = &self.file else { return };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = writeln!(file, "{line}") {
            eprintln!("model: the record could not be written: {error}");
        }
    }
}

pub(crate) fn monotonic_ms() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}

pub(crate) fn wall_ms() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs_f64() * 1e3
}
