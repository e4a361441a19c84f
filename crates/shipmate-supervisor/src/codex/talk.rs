//! A conversation with codex: the connection, the thread, and the turn that runs in it.

mod answer;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use shipmate_protocol::verbs::Usage;
use tokio::sync::{mpsc, watch};

use super::super::brief;
use super::super::desk::Desk;
use super::super::driver::{Finished, NoRoom, reset_of};
use super::super::rpc::{Incoming, Peer, RpcFailure};
use super::super::spending::Spending;
use super::super::transcript::Transcript;
use super::hear::{self, Heard, Tokens, TurnEnd, hear};

/// How long a message may wait to be taken before it is kept for the next turn.
const STEER_WITHIN: Duration = Duration::from_secs(10);

/// The connection to the program, and what goes on in the thread.
#[derive(Debug)]
pub(super) struct Talk {
    pub(super) desk: Desk,
    pub(super) transcript: Transcript,
    pub(super) spending: Spending,
    pub(super) peer: Peer,
    pub(super) thread: RefCell<String>,
    pub(super) state: watch::Sender<State>,
    pub(super) gone: watch::Sender<bool>,
    pub(super) turn: RefCell<Turn>,
    pub(super) warned: RefCell<BTreeSet<String>>,
    /// When its account has room again, as it was told last.
    resets_at: Cell<Option<u64>>,
    pub(super) garbled: Cell<bool>,
    /// The conversation has heard of the work in hand.
    pub(super) resumed: Cell<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    Idle,
    /// With its number, once that is known.
    Running(Option<String>),
    Over(Finished),
}

/// What is kept of a turn until it ends.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// The turn before: its end may be told late.
    pub(super) before: Option<String>,
    pub(super) last_words: String,
    /// It has called a tool, so it has asked its model, and has not told yet what that took.
    pub(super) untold: bool,
    pub(super) used: Tokens,
    /// All tokens of the thread when they were last told: they may be told twice.
    pub(super) total: u64,
    /// Files of edits that may have to be approved.
    pub(super) edits: BTreeMap<String, Vec<PathBuf>>,
    pub(super) begin_anew: bool,
}

impl Talk {
    /// Listens from now on.
    pub(super) fn new(
        desk: &Desk,
        transcript: &Transcript,
        spending: &Spending,
        peer: Peer,
        incoming: mpsc::UnboundedReceiver<Incoming>,
    ) -> Rc<Talk> {
        let talk = Rc::new(Talk {
            resumed: Cell::new(false),
            desk: desk.clone(),
            transcript: transcript.clone(),
            spending: spending.clone(),
            peer,
            thread: RefCell::default(),
            state: watch::Sender::new(State::Idle),
            gone: watch::Sender::new(false),
            turn: RefCell::default(),
            warned: RefCell::default(),
            resets_at: Cell::default(),
            garbled: Cell::new(false),
        });
        tokio::task::spawn_local(Rc::clone(&talk).listen(incoming));
        talk
    }

    /// Hears the program until it ends.
    async fn listen(self: Rc<Self>, mut incoming: mpsc::UnboundedReceiver<Incoming>) {
        while let Some(heard) = incoming.recv().await {
            match heard {
                // Threads that codex begins by itself are none of ours.
                Incoming::Notification { params, .. } if self.is_of_another(&params) => {}
                Incoming::Notification { method, params } => {
                    // It goes on with a request that there was no room for.
                    if method == "item/started" && self.spending.is_spent() {
                        self.break_off();
                    }
                    self.take(hear(&method, &params));
                }
                Incoming::Request { id, method, params } => {
                    tokio::task::spawn_local(answer::answer(Rc::clone(&self), id, method, params));
                }
                Incoming::Garbage(_) if self.garbled.replace(true) => {}
                Incoming::Garbage(line) => {
                    let line: String = line.chars().take(200).collect();
                    self.transcript.say(&format!("codex said what is no message: {line}"));
                }
            }
        }
        self.gone.send_replace(true);
        let reason = "codex ended".to_owned();
        self.state.send_if_modified(|state| {
            let runs = matches!(state, State::Running(_));
            if runs {
                *state = State::Over(Finished::Died { reason });
            }
            runs
        });
    }

    fn is_of_another(&self, params: &serde_json::Value) -> bool {
        let own = self.thread.borrow();
        params["threadId"].as_str().is_some_and(|thread| !own.is_empty() && thread != *own)
    }

    fn take(self: &Rc<Self>, heard: Heard) {
        let mut turn = self.turn.borrow_mut();
        match heard {
            Heard::Nothing => {}
            Heard::Words(words) => self.transcript.say(&words),
            Heard::Warning(words) => {
                if self.warned.borrow_mut().insert(words.clone()) {
                    self.transcript.say(&format!("warning: {words}"));
                }
            }
            Heard::Said(words) => {
                self.transcript.say(&words);
                turn.last_words = words;
            }
            Heard::Edit { item, paths, words } => {
                self.transcript.say(&words);
                turn.edits.insert(item, paths);
            }
            Heard::Used { turn: of, call, total, context } => {
                self.transcript.fills(context);
                // A thread that is resumed tells once more what its last turn took.
                let anew = total != std::mem::replace(&mut turn.total, total);
                if anew && self.running() == Some(of) {
                    add(&mut turn.used, call);
                    turn.untold = false;
                    self.spending.saw(call.usage());
                }
            }
            Heard::Windows(windows) => {
                self.resets_at.set(reset_of(&windows));
                self.desk.tells_windows(windows);
            }
            Heard::TurnStarted(id) => {
                self.state.send_if_modified(|state| {
                    let first = *state == State::Running(None) && turn.before.as_ref() != Some(&id);
                    if first {
                        *state = State::Running(Some(id));
                    }
                    first
                });
            }
            Heard::TurnEnded(id, end) => {
                drop(turn);
                self.turn_ended(id, &end);
            }
        }
    }

    fn turn_ended(self: &Rc<Self>, id: String, end: &TurnEnd) {
        let mut turn = self.turn.borrow_mut();
        let current = match &*self.state.borrow() {
            State::Running(Some(running)) => *running == id,
            State::Running(None) => turn.before.as_ref() != Some(&id),
            State::Idle | State::Over(_) => false,
        };
        if !current {
            return;
        }
        turn.before = Some(id);
        turn.begin_anew = matches!(end, TurnEnd::Failed(failure) if failure.begin_anew);
        let finished = hear::finished(end, &turn.last_words, self.resets_at.get());
        if let Finished::Failed { reason } = &finished {
            self.transcript.say(reason);
        }
        let used = turn.used;
        if used != Tokens::default() {
            let Usage { tokens_in, tokens_out, tokens_cached, cost_micros, .. } =
                self.spending.priced(used.usage());
            let cost = match cost_micros {
                0 => String::new(),
                cost => format!(", ${:.4}", cost as f64 / 1e6),
            };
            self.transcript.say(&format!(
                "({tokens_in} tokens in, of them {tokens_cached} cached, {tokens_out} out{cost})"
            ));
        }
        self.state.send_replace(State::Over(finished));
    }

    /// Whether there is an account where one is needed.
    pub(super) async fn logged_in(&self) -> Result<(), String> {
        match self.peer.request("account/read", json!({})).await {
            Ok(account)
                if account["account"].is_null() && account["requiresOpenaiAuth"] == true =>
            {
                Err("codex is not logged in: run `codex login`, or set the key that its \
                     configuration names"
                    .to_owned())
            }
            // One that cannot be asked says so with its first turn.
            Ok(_) | Err(RpcFailure::Refused { .. }) => Ok(()),
            Err(closed) => Err(closed.to_string()),
        }
    }

    /// What is told of its account's windows before the first request. A login that has none says so, and
    /// nobody waits for the answer.
    pub(super) fn reads_windows(self: &Rc<Self>) {
        let talk = Rc::clone(self);
        tokio::task::spawn_local(async move {
            let read = talk.peer.request("account/rateLimits/read", Value::Null).await;
            if let Ok(read) = read {
                talk.take(hear("account/rateLimits/updated", &read));
            }
        });
    }

    pub(super) async fn start_turn(&self, cwd: &Path, text: &str) -> Result<(), String> {
        {
            let mut turn = self.turn.borrow_mut();
            let (before, total) = (turn.before.take(), turn.total);
            *turn = Turn { before, total, ..Turn::default() };
        }
        self.state.send_replace(State::Running(None));
        let text = if self.put(text).await { brief::CLOSING } else { text };
        let input = json!([{ "type": "text", "text": text }]);
        let thread = self.thread.borrow().clone();
        let params = json!({ "threadId": thread, "cwd": cwd, "input": input });
        match self.peer.request("turn/start", params).await {
            Ok(started) => {
                let id = started["turn"]["id"].as_str().unwrap_or_default().to_owned();
                self.take_number(id);
                Ok(())
            }
            Err(RpcFailure::Refused { message, .. }) => {
                self.state.send_replace(State::Idle);
                Err(format!("codex refused the turn: {message}"))
            }
            // The end of the connection is the end of the turn.
            Err(RpcFailure::Closed) => Ok(()),
        }
    }

    /// Puts a text into the conversation; whether codex can do that. What begins a turn is read by
    /// codex itself, which shows its model a skill for each `$name`; what is put, and what a turn
    /// is given while it runs, is not.
    async fn put(&self, text: &str) -> bool {
        let content = json!([{ "type": "input_text", "text": text }]);
        let item = json!({ "type": "message", "role": "user", "content": content });
        let thread = self.thread.borrow().clone();
        let params = json!({ "threadId": thread, "items": [item] });
        self.peer.request("thread/inject_items", params).await.is_ok()
    }

    fn take_number(&self, id: String) {
        self.state.send_if_modified(|state| {
            let unknown = *state == State::Running(None);
            if unknown {
                *state = State::Running(Some(id));
            }
            unknown
        });
    }

    /// The program calls a tool: why it may not go on, if there is no room for the request that
    /// follows.
    pub(super) async fn calls(&self) -> Option<NoRoom> {
        if !std::mem::replace(&mut self.turn.borrow_mut().untold, true) {
            self.spending.untold();
        }
        self.spending.look().await
    }

    /// There is no room for another request in this turn.
    pub(super) fn break_off(self: &Rc<Self>) {
        let Some(turn) = self.running().filter(|_| self.spending.stop()) else { return };
        let params = json!({ "threadId": *self.thread.borrow(), "turnId": turn });
        let talk = Rc::clone(self);
        // Its end tells that it was heard.
        tokio::task::spawn_local(async move {
            drop(talk.peer.request("turn/interrupt", params).await);
        });
    }

    pub(super) fn running(&self) -> Option<String> {
        match &*self.state.borrow() {
            State::Running(id) => id.clone(),
            State::Idle | State::Over(_) => None,
        }
    }

    /// Gives the running turn more to read. Says whether it took it.
    pub(super) async fn steer(&self, text: &str) -> bool {
        let Some(turn) = self.running() else { return false };
        let input = json!([{ "type": "text", "text": text }]);
        let thread = self.thread.borrow().clone();
        let params = json!({ "threadId": thread, "expectedTurnId": turn, "input": input });
        let steered = self.peer.request("turn/steer", params);
        matches!(tokio::time::timeout(STEER_WITHIN, steered).await, Ok(Ok(_)))
    }

    pub(super) async fn turn_is_over(&self) {
        let mut state = self.state.subscribe();
        // The sender is here: it cannot end first.
        drop(state.wait_for(|state| !matches!(state, State::Running(_))).await);
    }
}

fn add(sum: &mut Tokens, more: Tokens) {
    sum.fresh += more.fresh;
    sum.cached += more.cached;
    sum.out += more.out;
}
