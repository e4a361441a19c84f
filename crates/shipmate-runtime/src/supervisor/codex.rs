//! The driver of codex: a thread of the `codex app-server` that a team's codex teammates
//! share.
//!
//! The program is the hub's; this connects to it, starts or resumes its own thread and
//! follows it. What must hold: nothing the thread started outlives a turn that was broken
//! off, a program that died or the end of this life. Codex leaves commands running when a
//! turn is interrupted, so each thread's commands carry the marker of its life, and are
//! ended by it.
//!
//! Every command and edit that codex does not know to be harmless is asked for (`untrusted`)
//! and decided by the desk, without a sandbox around it: builds need the network and their
//! caches. Who may not write gets codex's read-only sandbox, and nothing can be approved.

mod answer;
mod hear;
pub(crate) mod hub;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use shipmate_process::MARKER_VARIABLE;
use shipmate_protocol::ask::Usage;
use shipmate_protocol::tools::envelope::envelope;
use shipmate_protocol::view::InboxMessage;
use tokio::sync::{mpsc, watch};

use super::brief;
use super::desk::Desk;
use super::driver::{Driver, Finished, Injected, Progress, Work};
use super::program::Starter;
use super::rpc::{Dialect, Incoming, Peer, RpcFailure};
use super::transcript::Transcript;
use hear::{Heard, Tokens, TurnEnd, hear};

/// How long it may take until codex is there and has the thread.
const BEGIN_WITHIN: Duration = Duration::from_secs(60);
/// How long a message may wait to be taken before it is kept for the next turn.
const STEER_WITHIN: Duration = Duration::from_secs(10);
/// How often a hub may be met that is just ending.
const HUBS_MAX: u32 = 5;

#[derive(Debug)]
pub(crate) struct CodexAgent {
    desk: Desk,
    starter: Starter,
    transcript: Transcript,
    session: Option<String>,
    talk: Option<Rc<Talk>>,
}

/// The connection to the program, and what goes on in the thread.
#[derive(Debug)]
struct Talk {
    desk: Desk,
    transcript: Transcript,
    peer: Peer,
    thread: RefCell<String>,
    state: watch::Sender<State>,
    gone: watch::Sender<bool>,
    turn: RefCell<Turn>,
    warned: RefCell<BTreeSet<String>>,
    garbled: Cell<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Idle,
    /// With its number, once that is known.
    Running(Option<String>),
    Over(Finished),
}

/// What is kept of a turn until it ends.
#[derive(Debug, Default)]
struct Turn {
    /// The turn before: its end may be told late.
    before: Option<String>,
    last_words: String,
    used: Tokens,
    /// All tokens of the thread when they were last told: they may be told twice.
    total: u64,
    /// Files of edits that may have to be approved.
    edits: BTreeMap<String, Vec<PathBuf>>,
    begin_anew: bool,
    ended: Option<String>,
}

impl CodexAgent {
    pub(crate) fn new(desk: Desk, starter: Starter, transcript: Transcript) -> CodexAgent {
        let session = Some(desk.order().session.clone()).filter(|session| !session.is_empty());
        CodexAgent { desk, starter, transcript, session, talk: None }
    }

    /// Connects, and has a thread.
    async fn begin(&mut self, cwd: &Path) -> Result<Rc<Talk>, String> {
        let (peer, incoming) = self.join().await?;
        let talk = Rc::new(Talk {
            desk: self.desk.clone(),
            transcript: self.transcript.clone(),
            peer,
            thread: RefCell::default(),
            state: watch::Sender::new(State::Idle),
            gone: watch::Sender::new(false),
            turn: RefCell::default(),
            warned: RefCell::default(),
            garbled: Cell::new(false),
        });
        tokio::task::spawn_local(Rc::clone(&talk).listen(incoming));
        talk.logged_in().await?;
        let thread = self.thread(&talk.peer, cwd).await?;
        self.starter.folder().keep_session(&thread);
        talk.thread.replace(thread.clone());
        self.session = Some(thread);
        Ok(talk)
    }

    async fn join(&self) -> Result<(Peer, mpsc::UnboundedReceiver<Incoming>), String> {
        let (order, folder) = (self.desk.order(), self.starter.folder());
        for _ in 0..HUBS_MAX {
            let stream = hub::enter(order, folder).await?;
            let (reader, writer) = stream.into_split();
            let transcript = self.transcript.clone();
            let (peer, incoming) = Peer::start(reader, writer, Dialect::Bare, transcript);
            match peer.request(hub::JOIN, json!({ "life": folder.0 })).await {
                Ok(_) => return Ok((peer, incoming)),
                Err(RpcFailure::Closed) => {}
                Err(refused) => return Err(refused.to_string()),
            }
        }
        Err("codex ends as soon as it is started".to_owned())
    }

    /// The thread of an earlier life or program where there is one, else a new one.
    async fn thread(&self, peer: &Peer, cwd: &Path) -> Result<String, String> {
        let mut params = self.setup(cwd);
        if let Some(session) = &self.session {
            let mut params = params.clone();
            params["threadId"] = json!(session);
            params["excludeTurns"] = json!(true);
            match peer.request("thread/resume", params).await {
                Ok(_) => return Ok(session.clone()),
                Err(RpcFailure::Refused { message, .. }) => self.transcript.say(&format!(
                    "its conversation {session} could not be taken up ({message}); it begins anew"
                )),
                Err(closed) => return Err(closed.to_string()),
            }
        }
        params["dynamicTools"] = self.tools();
        let started = peer.request("thread/start", params).await.map_err(|failure| match failure {
            RpcFailure::Refused { message, .. } => format!(
                "codex refused to start a thread: {message}; it may be too old: 0.166 is known to \
                 work"
            ),
            closed @ RpcFailure::Closed => closed.to_string(),
        })?;
        let thread = started["thread"]["id"].as_str();
        thread.map(str::to_owned).ok_or_else(|| "codex named no thread: update it".to_owned())
    }

    fn setup(&self, cwd: &Path) -> Value {
        let (sandbox, approvals) = rights(&self.desk.seat().mode);
        let marked = format!("shell_environment_policy.set.{MARKER_VARIABLE}");
        let mut setup = json!({
            "cwd": cwd,
            "sandbox": sandbox,
            "approvalPolicy": approvals,
            "approvalsReviewer": "user",
            "developerInstructions": self.desk.standing(),
            "config": {
                marked: self.starter.marker().to_string(),
                // The team is the only one to begin anything: what codex begins by itself
                // would go on when its thread is interrupted.
                "features.multi_agent": false,
                "features.goals": false,
            },
        });
        if !self.desk.order().model.is_empty() {
            setup["model"] = json!(self.desk.order().model);
        }
        setup
    }

    fn tools(&self) -> Value {
        let tools = self.desk.tools().into_iter().map(|tool| {
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "inputSchema": tool.input_schema,
            })
        });
        tools.collect()
    }

    /// Ends what commands of this life are left when no program looks after them.
    async fn sweep(&self) {
        shipmate_process::sweep(self.starter.marker(), Duration::ZERO).await;
    }
}

/// Codex's sandbox and approval policy for a mode of ours.
fn rights(mode: &str) -> (&'static str, &'static str) {
    match mode {
        "plan" | "delegate" | "read_only" => ("read-only", "never"),
        _ => ("danger-full-access", "untrusted"),
    }
}

impl Talk {
    /// Hears the program until it ends.
    async fn listen(self: Rc<Self>, mut incoming: mpsc::UnboundedReceiver<Incoming>) {
        while let Some(heard) = incoming.recv().await {
            match heard {
                Incoming::Notification { method, params } => self.take(hear(&method, &params)),
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
        let reason = self.turn.borrow_mut().ended.take();
        let reason = reason.unwrap_or_else(|| "the process that runs codex ended".to_owned());
        self.state.send_if_modified(|state| {
            let runs = matches!(state, State::Running(_));
            if runs {
                *state = State::Over(Finished::Died { reason });
            }
            runs
        });
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
            Heard::Used { call, total } => {
                if total != std::mem::replace(&mut turn.total, total) {
                    add(&mut turn.used, call);
                }
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
            Heard::Ended(reason) => turn.ended = Some(reason),
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
        let finished = hear::finished(end, &turn.last_words);
        if let Finished::Failed { reason } = &finished {
            self.transcript.say(reason);
        }
        let used = std::mem::take(&mut turn.used);
        if used != Tokens::default() {
            let Tokens { fresh, cached, out } = used;
            self.transcript.say(&format!("({fresh} tokens in, {cached} from the cache, {out} out)"));
            let (tokens_in, tokens_cached, tokens_out) = (fresh, cached, out);
            let usage = Usage { tokens_in, tokens_out, tokens_cached, cost_micros: 0 };
            let desk = self.desk.clone();
            tokio::task::spawn_local(async move { desk.used(usage).await });
        }
        self.state.send_replace(State::Over(finished));
    }

    /// Whether there is an account where one is needed.
    async fn logged_in(&self) -> Result<(), String> {
        match self.peer.request("account/read", json!({})).await {
            Ok(account) if account["account"].is_null() && account["requiresOpenaiAuth"] == true => {
                Err("codex is not logged in: run `codex login`, or set the key that its \
                     configuration names"
                    .to_owned())
            }
            // One that cannot be asked says so with its first turn.
            Ok(_) | Err(RpcFailure::Refused { .. }) => Ok(()),
            Err(closed) => Err(closed.to_string()),
        }
    }

    async fn start_turn(&self, cwd: &Path, text: &str) -> Result<(), String> {
        {
            let mut turn = self.turn.borrow_mut();
            let (before, total) = (turn.before.take(), turn.total);
            *turn = Turn { before, total, ..Turn::default() };
        }
        self.state.send_replace(State::Running(None));
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

    fn take_number(&self, id: String) {
        self.state.send_if_modified(|state| {
            let unknown = *state == State::Running(None);
            if unknown {
                *state = State::Running(Some(id));
            }
            unknown
        });
    }

    fn running(&self) -> Option<String> {
        match &*self.state.borrow() {
            State::Running(id) => id.clone(),
            State::Idle | State::Over(_) => None,
        }
    }

    /// Gives the running turn more to read. Says whether it took it.
    async fn steer(&self, text: &str) -> bool {
        let Some(turn) = self.running() else { return false };
        let input = json!([{ "type": "text", "text": text }]);
        let thread = self.thread.borrow().clone();
        let params = json!({ "threadId": thread, "expectedTurnId": turn, "input": input });
        let steered = self.peer.request("turn/steer", params);
        matches!(tokio::time::timeout(STEER_WITHIN, steered).await, Ok(Ok(_)))
    }

    async fn turn_is_over(&self) {
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

impl Driver for CodexAgent {
    async fn give(&mut self, work: &Work) -> Result<(), String> {
        let begun = async {
            let talk = match self.talk.take().filter(|talk| !*talk.gone.borrow()) {
                Some(talk) => talk,
                None => self.begin(&work.tree).await?,
            };
            self.talk = Some(Rc::clone(&talk));
            talk.start_turn(&work.tree, &brief::turn(work)).await
        };
        let limit = BEGIN_WITHIN.as_secs();
        match tokio::time::timeout(BEGIN_WITHIN, begun).await {
            Ok(begun) => begun,
            Err(_) => Err(format!("codex was not ready within {limit} s")),
        }
    }

    async fn over(&mut self) {
        if let Some(talk) = &self.talk {
            talk.turn_is_over().await;
        }
    }

    async fn conclude(&mut self) -> Finished {
        let stopped = Finished::Failed { reason: "it was stopped".to_owned() };
        let Some(talk) = self.talk.clone() else { return stopped };
        let finished = match talk.state.send_replace(State::Idle) {
            State::Over(finished) => finished,
            State::Idle | State::Running(_) => stopped,
        };
        if talk.turn.borrow().begin_anew {
            self.session = None;
            self.starter.folder().keep_session("");
            self.stop(Duration::from_millis(self.desk.order().stop_grace_ms)).await;
        } else if matches!(finished, Finished::Died { .. }) {
            self.talk = None;
            self.sweep().await;
        }
        finished
    }

    async fn inject(&mut self, message: &InboxMessage) -> Injected {
        match &self.talk {
            Some(talk) if talk.steer(&envelope(message)).await => Injected::Now,
            _ => Injected::Later,
        }
    }

    fn session(&self) -> Option<String> {
        self.session.clone()
    }

    fn progress(&self) -> watch::Receiver<Progress> {
        self.transcript.progress()
    }

    fn wakes_for_messages(&self) -> bool {
        true
    }

    fn reports(&self) -> bool {
        true
    }

    async fn cancel(&mut self, grace: Duration) {
        let Some(talk) = self.talk.clone() else { return };
        if let Some(turn) = talk.running() {
            let thread = talk.thread.borrow().clone();
            // It is answered only if the turn still runs; the turn's end is what counts.
            drop(talk.peer.ask("turn/interrupt", json!({ "threadId": thread, "turnId": turn })));
        }
        match tokio::time::timeout(grace, talk.turn_is_over()).await {
            Ok(()) => self.sweep().await,
            Err(_) => self.stop(grace).await,
        }
    }

    /// The end of our side is the goodbye; the hub closes its own when nothing of the thread
    /// goes on any more, and if this was the last one, when nothing of codex is left.
    async fn stop(&mut self, grace: Duration) {
        if let Some(talk) = self.talk.take() {
            talk.peer.close();
            let mut gone = talk.gone.subscribe();
            drop(tokio::time::timeout(grace, gone.wait_for(|gone| *gone)).await);
        }
        self.sweep().await;
    }
}

#[cfg(test)]
mod tests {
    use super::rights;

    #[test]
    fn who_may_not_write_can_be_approved_nothing() {
        for mode in ["plan", "delegate", "read_only"] {
            assert_eq!(rights(mode), ("read-only", "never"), "{mode}");
        }
        assert_eq!(rights("normal"), ("danger-full-access", "untrusted"));
    }
}
