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
mod talk;

use std::path::Path;
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
use super::driver::{Driver, Finished, Injected, NotGiven, Progress, Work};
use super::program::Starter;
use super::rpc::{Dialect, Incoming, Peer, RpcFailure};
use super::transcript::Transcript;
use hear::Tokens;
use talk::{State, Talk};

/// How long it may take until codex is there and has the thread.
const BEGIN_WITHIN: Duration = Duration::from_secs(60);
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

impl CodexAgent {
    pub(crate) fn new(desk: Desk, starter: Starter, transcript: Transcript) -> CodexAgent {
        let session = Some(desk.order().session.clone()).filter(|session| !session.is_empty());
        CodexAgent { desk, starter, transcript, session, talk: None }
    }

    /// Connects, and has a thread.
    async fn begin(&mut self, cwd: &Path) -> Result<Rc<Talk>, String> {
        let (peer, incoming) = self.join().await?;
        let talk = Talk::new(&self.desk, &self.transcript, peer, incoming);
        self.talk = Some(Rc::clone(&talk));
        talk.logged_in().await?;
        let thread = self.thread(&talk.peer, cwd).await?;
        talk.resumed.set(self.session.as_ref() == Some(&thread));
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
        let (sandbox, approvals) = rights(self.desk.is_read_only());
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
        let tools = self.desk.tools_ahead().into_iter().map(|tool| {
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "inputSchema": tool.input_schema,
            })
        });
        tools.collect()
    }

    async fn tell_usage(&self, talk: &Talk) {
        let Tokens { fresh: tokens_in, cached: tokens_cached, out: tokens_out } = talk.used();
        if tokens_in + tokens_cached + tokens_out > 0 {
            let usage = Usage { tokens_in, tokens_out, tokens_cached, cost_micros: 0 };
            self.desk.used(usage).await;
        }
    }

    fn grace(&self) -> Duration {
        Duration::from_millis(self.desk.order().stop_grace_ms)
    }

    /// Ends what commands of this life are left when no program looks after them.
    async fn sweep(&self) {
        shipmate_process::sweep(self.starter.marker(), Duration::ZERO).await;
    }
}

/// Codex's sandbox and approval policy for a mode of ours.
fn rights(read_only: bool) -> (&'static str, &'static str) {
    match read_only {
        true => ("read-only", "never"),
        false => ("danger-full-access", "untrusted"),
    }
}

impl Driver for CodexAgent {
    async fn give(&mut self, work: &Work) -> Result<(), NotGiven> {
        let begun = async {
            let talk = match self.talk.take().filter(|talk| !*talk.gone.borrow()) {
                Some(talk) => talk,
                None => self.begin(&work.tree).await?,
            };
            self.talk = Some(Rc::clone(&talk));
            let knows = talk.resumed.get();
            // From now on it does.
            talk.resumed.set(true);
            let text = if knows { brief::turn(work) } else { brief::whole_turn(work) };
            talk.start_turn(&work.tree, &text).await
        };
        let limit = BEGIN_WITHIN.as_secs();
        let begun = tokio::time::timeout(BEGIN_WITHIN, begun).await;
        let begun = begun.unwrap_or_else(|_| Err(format!("codex was not ready within {limit} s")));
        if begun.is_err() {
            self.stop(self.grace()).await;
        }
        begun.map_err(NotGiven::from)
    }

    async fn over(&mut self) {
        if let Some(talk) = &self.talk {
            talk.turn_is_over().await;
        }
    }

    async fn conclude(&mut self) -> Finished {
        let stopped = Finished::Failed { reason: "it was stopped".to_owned() };
        let Some(talk) = self.talk.clone() else { return stopped };
        self.tell_usage(&talk).await;
        let finished = match talk.state.send_replace(State::Idle) {
            State::Over(finished) => finished,
            State::Idle | State::Running(_) => stopped,
        };
        if talk.turn.borrow().begin_anew {
            self.session = None;
            self.starter.folder().keep_session("");
            self.stop(self.grace()).await;
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

    /// Leaves the thread, which ends its turn, and resumes it with the next piece of work: codex
    /// 0.166 may never run another command in a thread that was interrupted while one began.
    async fn cancel(&mut self, grace: Duration) {
        let Some(talk) = self.talk.clone() else { return };
        self.transcript.say("its turn is broken off");
        self.stop(grace).await;
        self.tell_usage(&talk).await;
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
    fn who_may_not_write_gets_codexs_own_fence() {
        assert_eq!(rights(true), ("read-only", "never"));
        assert_eq!(rights(false), ("danger-full-access", "untrusted"));
    }
}
