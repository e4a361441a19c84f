//! A conversation with an ACP agent: the handshake, then one prompt after another.
//!
//! One task holds it and reads all that the agent says, in order: a turn has ended only when
//! everything said before its end was heard. What the agent asks is answered beside it, since
//! a permission may take minutes. Nothing of the client's files or terminals is offered:
//! the agent has the tree itself.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use shipmate_programs::fence::Fenced;
use shipmate_programs::order::LifeFolder;
use shipmate_protocol::verbs::Usage;
use tokio::sync::{mpsc, oneshot, watch};

use super::session::{self, Abilities, Leave};
use super::updates::Updates;
use crate::brief;
use crate::desk::{Desk, May};
use crate::permission;
use crate::rpc::{Incoming, Peer, RpcFailure};
use crate::spending::{Spending, refusal};
use crate::transcript::Transcript;

/// How long the greeting and the opening of a session may take together.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(60);
const METHOD_NOT_FOUND: i64 = -32601;

/// One turn's words.
#[derive(Debug)]
pub(super) struct Prompt {
    /// For an agent that knows what it is about.
    pub(super) text: String,
    /// For one whose conversation begins here.
    pub(super) whole: String,
    pub(super) ended: watch::Sender<Option<End>>,
}

/// How a turn ended.
#[derive(Debug, Clone)]
pub(super) enum End {
    Done {
        result: String,
        usage: Usage,
    },
    Failed {
        reason: String,
        usage: Usage,
    },
    /// Its account has no room for another request.
    Limited {
        reason: String,
        usage: Usage,
    },
    NotStarted {
        reason: String,
    },
    /// The program's output ended: how, its process tells.
    Gone {
        handshake: bool,
    },
}

/// What the driver sees of a conversation that goes on beside it.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) peer: Peer,
    session: RefCell<Option<String>>,
    steers: Cell<bool>,
    prompting: Cell<bool>,
    cancelled: watch::Sender<bool>,
    /// What was refused and why; the protocol has no place for the words.
    refusals: RefCell<Vec<String>>,
}

impl Open {
    pub(super) fn new(peer: Peer) -> Rc<Open> {
        Rc::new(Open {
            peer,
            session: RefCell::default(),
            steers: Cell::new(false),
            prompting: Cell::new(false),
            cancelled: watch::Sender::new(false),
            refusals: RefCell::default(),
        })
    }

    pub(super) fn session(&self) -> Option<String> {
        self.session.borrow().clone()
    }

    /// Asks the agent to take words into the turn that runs; whether it did.
    pub(super) async fn steer(&self, text: &str) -> bool {
        let Some(session) = self.session() else { return false };
        if !self.steers.get() || !self.prompting.get() {
            return false;
        }
        // Without this a turn of which nobody hears the end would begin when none runs.
        let meta = json!({ "steering": { "idleBehavior": "promptRequired" } });
        let params = json!({ "sessionId": session, "prompt": parts(text), "_meta": meta });
        let answer = self.peer.request("_session/steering", params).await;
        // One that began a turn all the same queues the next prompt behind it: said again
        // there, the words are waited for.
        answer.is_ok_and(|answer| answer["outcome"] == "injected")
    }

    /// Breaks the turn off, if there is one the agent has heard of.
    pub(super) fn cancel(&self) -> bool {
        let Some(session) = self.session().filter(|_| self.prompting.get()) else { return false };
        self.cancelled.send_replace(true);
        self.peer.notify("session/cancel", json!({ "sessionId": session }));
        true
    }
}

/// What the conversation's own task holds.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) open: Rc<Open>,
    pub(super) incoming: mpsc::UnboundedReceiver<Incoming>,
    pub(super) desk: Desk,
    pub(super) transcript: Transcript,
    pub(super) spending: Spending,
    pub(super) folder: LifeFolder,
    pub(super) tree: PathBuf,
    pub(super) door: PathBuf,
    pub(super) key: String,
    pub(super) updates: Updates,
    /// What is told now was told before.
    pub(super) replays: bool,
    pub(super) heard_garbage: bool,
    pub(super) cost_told: u64,
    /// What the program calls itself.
    pub(super) name: String,
}

impl Conversation {
    /// Goes on until the program or the driver is gone.
    pub(super) async fn hold(
        mut self,
        earlier: Option<String>,
        mut prompts: mpsc::UnboundedReceiver<Prompt>,
    ) {
        let Some(first) = prompts.recv().await else { return };
        let begun = tokio::time::timeout(HANDSHAKE_WITHIN, self.begin(earlier)).await;
        let (abilities, knows) = match begun {
            Ok(Ok(begun)) => begun,
            Ok(Err(end)) => return drop(first.ended.send(Some(end))),
            Err(_) => {
                let reason = format!(
                    "{} did not finish the handshake within {} s: check that it runs by itself \
                     and is logged in",
                    self.agent(),
                    HANDSHAKE_WITHIN.as_secs()
                );
                return drop(first.ended.send(Some(End::NotStarted { reason })));
            }
        };
        self.open.steers.set(abilities.steers);
        let mut text = if knows { first.text } else { first.whole };
        if !abilities.instructed {
            text = format!("{}\n\n{text}", self.desk.standing());
        }
        let end = self.turn(text).await;
        drop(first.ended.send(Some(end)));
        loop {
            let prompt = tokio::select! {
                biased;
                incoming = self.incoming.recv() => match incoming {
                    Some(incoming) => { self.hear(incoming); continue }
                    None => return,
                },
                prompt = prompts.recv() => prompt,
            };
            let Some(prompt) = prompt else { return };
            let end = self.turn(prompt.text).await;
            drop(prompt.ended.send(Some(end)));
        }
    }

    fn agent(&self) -> &str {
        &self.desk.order().agent
    }

    /// Greets the agent and opens a session; whether it knows what was said before.
    async fn begin(&mut self, earlier: Option<String>) -> Result<(Abilities, bool), End> {
        let hello = self.settle("initialize", session::greeting()).await;
        let hello = hello.map_err(|failure| match failure {
            RpcFailure::Closed => End::Gone { handshake: true },
            failure => not_started(format!("{} refused the greeting: {failure}", self.agent())),
        })?;
        self.name = hello["agentInfo"]["name"].as_str().unwrap_or_default().to_owned();
        let abilities = session::abilities(&hello).map_err(|reason| {
            not_started(format!("{} cannot be driven: {reason}", self.agent()))
        })?;
        let tree = self.tree.display().to_string();
        let door = self.door.display().to_string();
        let opening = session::opening(&self.desk, &tree, (&door, &self.key), &abilities);
        let taken_up = match earlier {
            Some(earlier) => self.take_up(&earlier, &abilities, &opening).await?,
            None => None,
        };
        let knows = taken_up.is_some();
        let opened = match taken_up {
            Some(opened) => opened,
            None => self.open_new(&abilities, opening).await?,
        };
        self.settings(&opened).await?;
        Ok((abilities, knows))
    }

    async fn open_new(&mut self, abilities: &Abilities, opening: Value) -> Result<Value, End> {
        let opened =
            self.settle("session/new", opening).await.map_err(|failure| match failure {
                RpcFailure::Closed => End::Gone { handshake: true },
                failure => not_started(abilities.refusal(self.agent(), &failure)),
            })?;
        let Some(session) = opened["sessionId"].as_str() else {
            let reason = format!("{} opened a session without a name", self.agent());
            return Err(not_started(reason));
        };
        self.folder.keep_session(session);
        *self.open.session.borrow_mut() = Some(session.to_owned());
        Ok(opened)
    }

    /// Takes an earlier session up again, if the agent still has it.
    async fn take_up(
        &mut self,
        earlier: &str,
        abilities: &Abilities,
        opening: &Value,
    ) -> Result<Option<Value>, End> {
        let lost = match abilities.resumption() {
            None => "it cannot take one up again".to_owned(),
            Some(method) => {
                let mut params = opening.clone();
                params["sessionId"] = json!(earlier);
                self.replays = true;
                let opened = self.settle(method, params).await;
                self.replays = false;
                match opened {
                    Ok(opened) => {
                        *self.open.session.borrow_mut() = Some(earlier.to_owned());
                        self.transcript.say("[goes on with its earlier conversation]");
                        return Ok(Some(opened));
                    }
                    Err(RpcFailure::Closed) => return Err(End::Gone { handshake: true }),
                    Err(failure) => session::words(&failure),
                }
            }
        };
        self.transcript.say(&format!("[begins anew, without its earlier conversation: {lost}]"));
        Ok(None)
    }

    /// Puts the session into the mode and on the model that were ordered.
    async fn settings(&mut self, opened: &Value) -> Result<(), End> {
        let session = self.open.session().expect("it was just opened");
        self.spending.asks(opened["models"]["currentModelId"].as_str().unwrap_or_default());
        let leave = match self.desk.fenced() {
            _ if self.desk.is_read_only() => Leave::Read,
            Some(Fenced::Behind(..)) => Leave::WriteFenced,
            _ => Leave::Write,
        };
        let mut changes = Vec::new();
        if let Some(mode) = session::mode_to_set(leave, &opened["modes"]) {
            changes.push(("session/set_mode".to_owned(), json!({ "modeId": mode })));
        }
        let model = self.desk.order().model.clone();
        if !model.is_empty() {
            match session::model_to_set(&model, opened) {
                Some(change) => changes.push(change),
                None => self.transcript.say(&format!("[it offers no model {model} to choose]")),
            }
        }
        for (method, mut params) in changes {
            params["sessionId"] = json!(session);
            match self.settle(&method, params.clone()).await {
                Ok(_) => {}
                Err(RpcFailure::Closed) => return Err(End::Gone { handshake: true }),
                Err(failure) => {
                    self.transcript.say(&format!("[{method} {params} was refused: {failure}]"));
                }
            }
        }
        Ok(())
    }

    /// One prompt, until the agent has answered it.
    async fn turn(&mut self, text: String) -> End {
        let session = self.open.session().expect("a turn follows the handshake");
        let mut told = std::mem::take(&mut *self.open.refusals.borrow_mut());
        told.push(text);
        self.updates.begin_turn();
        self.open.cancelled.send_replace(false);
        self.open.prompting.set(true);
        let prompt = parts(&told.join("\n\n"));
        let params = json!({ "sessionId": session, "prompt": prompt });
        let answer = self.settle("session/prompt", params).await;
        self.open.prompting.set(false);
        if let Some(text) = self.updates.finish() {
            self.transcript.say(&text);
        }
        let answer = match answer {
            Ok(answer) => answer,
            Err(RpcFailure::Closed) => return End::Gone { handshake: false },
            Err(failure) => {
                let reason = session::failed(self.agent(), &failure);
                self.transcript.say(&format!("[{reason}]"));
                let usage = self.usage(&Value::Null);
                return match session::is_limit(&failure) {
                    true => End::Limited { reason, usage },
                    false => End::Failed { reason, usage },
                };
            }
        };
        let usage = self.usage(&answer);
        let is_untold = usage.tokens_in + usage.tokens_out + usage.cost_micros == 0;
        if answer["stopReason"] == "cancelled" && is_untold {
            self.spending.broke_off(None).await;
        }
        match session::stopped(self.agent(), &answer) {
            None => End::Done { result: self.updates.last_message(), usage },
            Some(reason) => {
                self.transcript.say(&format!("[{reason}]"));
                End::Failed { reason, usage }
            }
        }
    }

    fn usage(&mut self, answer: &Value) -> Usage {
        let told = self.updates.cost_micros();
        let requests = self.updates.rounds + 1;
        let usage = session::usage(answer, told.saturating_sub(self.cost_told));
        let usage = self.spending.priced(session::of_turn(usage, &self.name, requests));
        self.cost_told = told;
        let Usage { tokens_in, tokens_out, tokens_cached, cost_micros, .. } = usage;
        if tokens_in + tokens_out + cost_micros > 0 {
            let dollars = cost_micros as f64 / 1e6;
            self.transcript.say(&format!(
                "[turn over: {tokens_in} tokens in, {tokens_cached} cached, {tokens_out} out, \
                 ${dollars:.4}]"
            ));
        }
        usage
    }

    /// Asks and waits for the answer, hearing first all that was said before it.
    async fn settle(&mut self, method: &str, params: Value) -> Result<Value, RpcFailure> {
        let mut answer = self.open.peer.ask(method, params);
        loop {
            tokio::select! {
                biased;
                incoming = self.incoming.recv() => match incoming {
                    Some(incoming) => self.hear(incoming),
                    None => return answered(answer.await),
                },
                answer = &mut answer => return answered(answer),
            }
        }
    }

    fn hear(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Request { id, method, params } if method == "session/request_permission" => {
                self.ask_permission(id, &params);
            }
            Incoming::Request { id, method, .. } => {
                let words = format!("there is no {method} here: use your own tools");
                self.open.peer.refuse(id, METHOD_NOT_FOUND, &words);
            }
            Incoming::Notification { method, params } if method == "session/update" => {
                let ours = self.open.session.borrow().as_deref() == params["sessionId"].as_str();
                if ours && !self.replays {
                    let rounds = self.updates.rounds;
                    for words in self.updates.take(&params["update"]) {
                        self.transcript.say(&words);
                    }
                    self.transcript.fills(self.updates.context);
                    self.count(rounds, &params["update"]);
                }
            }
            Incoming::Notification { .. } => {}
            Incoming::Garbage(line) => {
                if !std::mem::replace(&mut self.heard_garbage, true) {
                    let line: String = line.chars().take(200).collect();
                    self.transcript.say(&format!("[it said what is no message: {line}]"));
                }
            }
        }
    }

    /// A round of tools is a request to the model; when they have answered, it makes the next.
    fn count(&self, rounds: u64, update: &Value) {
        if self.updates.rounds > rounds {
            self.spending.untold();
        }
        if matches!(update["status"].as_str(), Some("completed" | "failed")) {
            let (open, spending) = (Rc::clone(&self.open), self.spending.clone());
            tokio::task::spawn_local(async move {
                if spending.look().await.is_some() && open.prompting.get() && spending.stop() {
                    open.cancel();
                }
            });
        }
    }

    fn ask_permission(&mut self, id: Value, params: &Value) {
        if let Some(text) = self.updates.finish() {
            self.transcript.say(&text);
        }
        let rounds = self.updates.rounds;
        self.updates.meet(&params["toolCall"]);
        self.count(rounds, &Value::Null);
        let call = self.updates.whole_call(&params["toolCall"]);
        let request = permission::acp(&call);
        let title = request.title.clone();
        let options = params["options"].clone();
        let (desk, open) = (self.desk.clone(), Rc::clone(&self.open));
        let (transcript, spending) = (self.transcript.clone(), self.spending.clone());
        tokio::task::spawn_local(async move {
            if let Some(reason) = spending.look().await {
                transcript.say(&format!("[refused {title}: {}]", refusal(&reason)));
                if spending.stop() {
                    open.cancel();
                }
                return open.peer.answer(id, json!({ "outcome": { "outcome": "cancelled" } }));
            }
            let mut cancelled = open.cancelled.subscribe();
            let may = tokio::select! {
                biased;
                _ = cancelled.wait_for(|cancelled| *cancelled) => None,
                may = desk.may(request) => Some(may),
            };
            let chosen = match may {
                None => None,
                Some(May::Yes) => {
                    // For good would leave nothing to ask next time.
                    let once = session::option(&options, &["allow_once"]);
                    if once.is_none() {
                        transcript.say(&format!("[refused {title}: it cannot be allowed once]"));
                    }
                    once.or_else(|| session::option(&options, &["reject_once", "reject_always"]))
                }
                Some(May::No(words)) => {
                    transcript.say(&format!("[refused {title}: {words}]"));
                    open.refusals.borrow_mut().push(format!("Refused: {title}: {words}"));
                    session::option(&options, &["reject_once", "reject_always"])
                }
            };
            let outcome = match chosen {
                Some(option) => json!({ "outcome": "selected", "optionId": option }),
                None => json!({ "outcome": "cancelled" }),
            };
            open.peer.answer(id, json!({ "outcome": outcome }));
        });
    }
}

/// A text, and ours in a part of its own: see [`brief::CLOSING`].
fn parts(text: &str) -> Value {
    let part = |text: &str| json!({ "type": "text", "text": text });
    json!([part(text), part(brief::CLOSING)])
}

fn not_started(reason: String) -> End {
    End::NotStarted { reason }
}

fn answered(
    answer: Result<Result<Value, RpcFailure>, oneshot::error::RecvError>,
) -> Result<Value, RpcFailure> {
    answer.unwrap_or(Err(RpcFailure::Closed))
}
