//! The supervisor as the agent sees it: what is told, and what is asked and waited for.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use serde_json::Value;
use shipmate_protocol::native::{Does, FromAgent, Said};
use shipmate_protocol::verbs::Usage;
use tokio::sync::{mpsc, oneshot};

#[derive(Debug, Clone)]
pub(crate) struct Supervisor(Rc<Inside>);

#[derive(Debug)]
struct Inside {
    tell: mpsc::UnboundedSender<FromAgent>,
    waiting: RefCell<BTreeMap<u64, oneshot::Sender<Said>>>,
    asked: Cell<u64>,
}

const GONE: &str = "the supervisor is gone";

impl Supervisor {
    pub(crate) fn new(tell: mpsc::UnboundedSender<FromAgent>) -> Supervisor {
        let (waiting, asked) = (RefCell::default(), Cell::new(0));
        Supervisor(Rc::new(Inside { tell, waiting, asked }))
    }

    pub(crate) fn tell(&self, said: FromAgent) {
        // Gone: then so is this process, soon.
        drop(self.0.tell.send(said));
    }

    /// A line for whoever follows the teammate.
    pub(crate) fn say(&self, text: &str) {
        if !text.trim().is_empty() {
            self.tell(FromAgent::Say { text: text.to_owned() });
        }
    }

    pub(crate) fn answered(&self, id: u64, answer: Said) {
        if let Some(waits) = self.0.waiting.borrow_mut().remove(&id) {
            // Cancelled meanwhile.
            drop(waits.send(answer));
        }
    }

    async fn ask(&self, ask: impl FnOnce(u64) -> FromAgent) -> Option<Said> {
        let id = self.0.asked.get() + 1;
        self.0.asked.set(id);
        let (tell, told) = oneshot::channel();
        self.0.waiting.borrow_mut().insert(id, tell);
        self.tell(ask(id));
        told.await.ok()
    }

    /// Calls one of the team's tools: what it says, and whether that is an error.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> (String, bool) {
        let tool = tool.to_owned();
        match self.ask(|id| FromAgent::Call { id, tool, arguments }).await {
            Some(Said::Outcome { text, is_error }) => (text, is_error),
            Some(other) => (odd(&other), true),
            None => (GONE.to_owned(), true),
        }
    }

    /// Whether a tool may be used; the words against it.
    pub(crate) async fn may(
        &self,
        tool: &str,
        kind: Does,
        paths: Vec<PathBuf>,
        detail: String,
    ) -> Result<(), String> {
        let tool = tool.to_owned();
        match self.ask(|id| FromAgent::May { id, tool, kind, paths, detail }).await {
            Some(Said::Yes) => Ok(()),
            Some(Said::No(words)) => Err(words),
            Some(other) => Err(odd(&other)),
            None => Err(GONE.to_owned()),
        }
    }

    /// Sets aside what a request may cost at most.
    pub(crate) async fn reserve(&self, usage: Usage) -> Result<Option<u64>, String> {
        match self.ask(|id| FromAgent::Reserve { id, usage }).await {
            Some(Said::Reserved(reservation)) => Ok(reservation),
            Some(Said::No(words)) => Err(words),
            Some(other) => Err(odd(&other)),
            None => Err(GONE.to_owned()),
        }
    }
}

/// For [`Said`] that is no answer to what was asked.
pub(crate) fn odd(said: &Said) -> String {
    format!("the supervisor's answer is not understood: {said:?}")
}
