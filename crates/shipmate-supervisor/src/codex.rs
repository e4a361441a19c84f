//! The driver of codex: a `codex app-server` of the teammate's own, and a thread in it.
//!
//! Not one program for several: a fence is around a process, and one for all of them would be none
//! between them. What must hold: nothing the thread started outlives a turn that was broken off, a
//! program that died or the end of this life. Codex leaves commands running when a turn is
//! interrupted, so the program is ended with it and its thread resumed in the next one.
//!
//! Every command and edit that codex does not know to be harmless is asked for (`untrusted`)
//! and decided by the desk, in every mode, without a sandbox of codex's around it: the fence is
//! around all of it, and inside it codex could build none. Only who may not write and has no fence
//! gets codex's read-only sandbox, and nothing can be approved.

mod hear;
mod talk;

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use shipmate_process::{MARKER_VARIABLE, Tree};
use shipmate_programs::definitions;
use shipmate_protocol::tools::envelope::envelope;
use shipmate_protocol::view::InboxMessage;
use tokio::sync::watch;

use super::brief;
use super::desk::Desk;
use super::driver::{Driver, Finished, Injected, NotGiven, Progress, Work};
use super::program::Starter;
use super::rpc::{Dialect, Peer, RpcFailure};
use super::servers;
use super::spending::Spending;
use super::transcript::Transcript;
use talk::{State, Talk};

/// How long it may take until codex is there and has the thread.
const BEGIN_WITHIN: Duration = Duration::from_secs(60);
/// How long the last words of a program that has ended may take to come through.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(2);
/// What nobody reads. Deltas would be most of what a busy thread sends.
const UNHEARD: [&str; 11] = [
    "item/agentMessage/delta",
    "item/plan/delta",
    "item/commandExecution/outputDelta",
    "item/fileChange/outputDelta",
    "item/fileChange/patchUpdated",
    "item/reasoning/summaryTextDelta",
    "item/reasoning/summaryPartAdded",
    "item/reasoning/textDelta",
    "turn/diff/updated",
    "thread/readState/changed",
    "remoteControl/status/changed",
];

#[derive(Debug)]
pub(crate) struct CodexAgent {
    desk: Desk,
    starter: Starter,
    transcript: Transcript,
    spending: Spending,
    session: Option<String>,
    live: Option<Live>,
}

/// A program that runs, and the conversation with it.
#[derive(Debug)]
struct Live {
    tree: Tree,
    talk: Rc<Talk>,
    /// What its fence was built for.
    cwd: PathBuf,
    read_only: bool,
}

impl CodexAgent {
    pub(crate) fn new(desk: Desk, starter: Starter, transcript: Transcript) -> CodexAgent {
        let session = Some(desk.order().session.clone()).filter(|session| !session.is_empty());
        let spending = Spending::new(&desk);
        CodexAgent { desk, starter, transcript, spending, session, live: None }
    }

    fn talk(&self) -> Option<Rc<Talk>> {
        self.live.as_ref().map(|live| Rc::clone(&live.talk))
    }

    /// Starts the program, and has a thread.
    async fn begin(&mut self, cwd: &Path) -> Result<Rc<Talk>, NotGiven> {
        let fence = self.desk.fence(cwd, &[])?;
        let running = self.starter.start(cwd, &["app-server".to_owned()], fence)?;
        let (transcript, read_only) = (self.transcript.clone(), self.desk.is_read_only());
        let (peer, incoming) =
            Peer::start(running.stdout, running.stdin, Dialect::Bare, transcript);
        let talk = Talk::new(&self.desk, &self.transcript, &self.spending, peer, incoming);
        // Kept before anything is waited for: a supervisor that is told to end ends it too.
        let (tree, cwd) = (running.tree, cwd.to_owned());
        self.live = Some(Live { tree, talk: Rc::clone(&talk), cwd: cwd.clone(), read_only });
        match self.settle(&talk, &cwd).await {
            Ok(()) => Ok(talk),
            // Its end explains more than that it did not answer.
            Err(_) if *talk.gone.borrow() => {
                Err(format!("it did not begin: {}", self.bury().await).into())
            }
            Err(reason) => Err(reason.into()),
        }
    }

    /// Shakes hands, and opens the thread.
    async fn settle(&mut self, talk: &Rc<Talk>, cwd: &Path) -> Result<(), String> {
        let version = env!("CARGO_PKG_VERSION");
        let hello = json!({
            "clientInfo": { "name": "shipmate", "title": "shipmate", "version": version },
            "capabilities": { "experimentalApi": true, "optOutNotificationMethods": UNHEARD },
        });
        talk.peer.request("initialize", hello).await.map_err(|failure| match failure {
            RpcFailure::Refused { message, .. } => {
                format!("codex refused the handshake: {message}; update it")
            }
            closed @ RpcFailure::Closed => closed.to_string(),
        })?;
        talk.peer.notify("initialized", Value::Null);
        talk.logged_in().await?;
        talk.reads_windows();
        let thread = self.thread(&talk.peer, cwd).await?;
        talk.resumed.set(self.session.as_ref() == Some(&thread));
        self.starter.folder().keep_session(&thread);
        talk.thread.replace(thread.clone());
        self.session = Some(thread);
        Ok(())
    }

    /// The program is gone, or as good as that: how, with what it said last.
    async fn bury(&mut self) -> String {
        let Some(live) = self.live.take() else { return "it was stopped".to_owned() };
        live.talk.peer.close();
        drop(tokio::time::timeout(LAST_WORDS_WITHIN, live.tree.exited()).await);
        let exit = live.tree.clean().await.exit;
        self.starter.obituary(exit)
    }

    /// The thread of an earlier life or program where there is one, else a new one.
    async fn thread(&self, peer: &Peer, cwd: &Path) -> Result<String, String> {
        let mut params = self.setup(cwd);
        let mut named = self.left_out(peer, cwd).await;
        let definition = self.desk.order().definition.as_deref();
        for (name, server) in definition.iter().flat_map(|one| &one.servers) {
            named.insert(name.clone(), servers::as_codex(server));
        }
        if !named.is_empty() {
            params["config"]["mcp_servers"] = Value::Object(named);
        }
        if let Some(session) = &self.session {
            let mut params = params.clone();
            params["threadId"] = json!(session);
            params["excludeTurns"] = json!(true);
            match peer.request("thread/resume", params).await {
                Ok(resumed) => {
                    self.spending.asks(resumed["model"].as_str().unwrap_or_default());
                    return Ok(session.clone());
                }
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
        self.spending.asks(started["model"].as_str().unwrap_or_default());
        let thread = started["thread"]["id"].as_str();
        thread.map(str::to_owned).ok_or_else(|| "codex named no thread: update it".to_owned())
    }

    /// The person's own `shipmate mcp`, by whatever name, switched off: a teammate that called it
    /// would be somebody else. One that is not found here offers a teammate nothing all the same.
    async fn left_out(&self, peer: &Peer, cwd: &Path) -> Map<String, Value> {
        let read = peer.request("config/read", json!({ "cwd": cwd })).await.unwrap_or_default();
        let servers = read["config"]["mcp_servers"].as_object().into_iter().flatten();
        let ours = servers.filter(|(name, server)| {
            let command = Path::new(server["command"].as_str().unwrap_or_default());
            let is_ours = command == self.desk.order().program || command.ends_with("shipmate");
            let args = server["args"].as_array().into_iter().flatten();
            *name == "shipmate" || (is_ours && args.into_iter().any(|word| word == "mcp"))
        });
        ours.map(|(name, _)| (name.clone(), json!({ "enabled": false }))).collect()
    }

    fn setup(&self, cwd: &Path) -> Value {
        let is_fenced = self.desk.fenced().is_some_and(|fenced| fenced.holds());
        let (sandbox, approvals) = rights(self.desk.is_read_only() && !is_fenced);
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
                // The same of models that bring their own tools for it.
                "agents.enabled": false,
                "features.goals": false,
            },
        });
        if !self.desk.order().model.is_empty() {
            setup["model"] = json!(self.desk.order().model);
        }
        let definition = self.desk.order().definition.as_deref();
        if let Some(effort) = definition.and_then(|one| definitions::effort(one, "codex")) {
            setup["config"]["model_reasoning_effort"] = json!(effort);
        }
        if let Some(one) = definition.filter(|one| !one.verbosity.is_empty()) {
            setup["config"]["model_verbosity"] = json!(one.verbosity);
        }
        // Its provider searches and opens pages, by one tool: nobody is asked.
        if definition.is_some_and(|one| !one.has("WebSearch") || !one.has("WebFetch")) {
            setup["config"]["web_search"] = json!("disabled");
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

    fn grace(&self) -> Duration {
        Duration::from_millis(self.desk.order().stop_grace_ms)
    }
}

/// Codex's sandbox and approval policy, where it has to keep somebody from writing by itself or not.
fn rights(by_itself: bool) -> (&'static str, &'static str) {
    match by_itself {
        true => ("read-only", "never"),
        false => ("danger-full-access", "untrusted"),
    }
}

impl Driver for CodexAgent {
    async fn give(&mut self, work: &Work) -> Result<(), NotGiven> {
        self.desk.look_at_mode().await;
        let read_only = self.desk.is_read_only();
        let fits = |live: &Live| {
            live.cwd == work.tree && live.read_only == read_only && !*live.talk.gone.borrow()
        };
        if self.live.as_ref().is_some_and(|live| !fits(live)) {
            self.stop(self.grace()).await;
        }
        self.spending.begin(&brief::whole_turn(work)).await.map_err(NotGiven::Spent)?;
        let begun = async {
            let talk = match self.talk() {
                Some(talk) => talk,
                None => self.begin(&work.tree).await?,
            };
            let knows = talk.resumed.get();
            // From now on it does.
            talk.resumed.set(true);
            let text = if knows { brief::turn(work) } else { brief::whole_turn(work) };
            talk.start_turn(&work.tree, &text).await.map_err(NotGiven::from)
        };
        let limit = BEGIN_WITHIN.as_secs();
        let begun = tokio::time::timeout(BEGIN_WITHIN, begun).await;
        let late = || NotGiven::from(format!("codex was not ready within {limit} s"));
        let begun = begun.unwrap_or_else(|_| Err(late()));
        if begun.is_err() {
            self.stop(self.grace()).await;
            // Nothing was sent of what was set aside.
            self.spending.over(None).await;
        }
        begun
    }

    async fn over(&mut self) {
        let Some(talk) = self.talk() else { return };
        tokio::select! {
            () = talk.turn_is_over() => {}
            () = self.spending.overstays(self.grace()) => {}
        }
    }

    async fn conclude(&mut self) -> Finished {
        let stopped = Finished::Failed { reason: "it was stopped".to_owned() };
        let Some(talk) = self.talk() else { return stopped };
        let broke_off =
            matches!(&*talk.state.borrow(), State::Over(Finished::Died { .. }) | State::Running(_));
        match broke_off {
            true => self.spending.broke_off(None).await,
            false => self.spending.over(None).await,
        }
        let finished = match talk.state.send_replace(State::Idle) {
            State::Over(finished) => finished,
            State::Idle | State::Running(_) => stopped,
        };
        if let Some(spent) = self.spending.finished().await {
            self.stop(self.grace()).await;
            return spent;
        }
        if talk.turn.borrow().begin_anew {
            self.session = None;
            self.starter.folder().keep_session("");
            self.stop(self.grace()).await;
        } else if matches!(finished, Finished::Died { .. }) {
            let reason = self.bury().await;
            self.transcript.say(&format!("({reason})"));
            return Finished::Died { reason };
        }
        finished
    }

    async fn inject(&mut self, message: &InboxMessage) -> Injected {
        match self.talk() {
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

    /// Ends the program and resumes its thread with the next piece of work: codex leaves commands
    /// running in a thread that was interrupted, and 0.166 may never run another one there.
    async fn cancel(&mut self, grace: Duration) {
        if self.live.is_none() {
            return;
        }
        self.transcript.say("its turn is broken off");
        self.stop(grace).await;
        self.spending.broke_off(None).await;
    }

    async fn stop(&mut self, grace: Duration) {
        let Some(live) = self.live.take() else { return };
        // It saves its thread at the end of its input.
        live.talk.peer.close();
        drop(tokio::time::timeout(grace / 2, live.tree.exited()).await);
        live.tree.stop(grace).await;
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
