//! The driver of agents that speak ACP, the Agent Client Protocol, over their standard input
//! and output: Gemini CLI, opencode, claude-agent-acp, codex-acp, goose and others.
//!
//! A message goes into a running turn only where the agent offers that: a second prompt would
//! cancel the first with some, and never be answered by others. The crate of the protocol is
//! not used: it is a dozen messages, and their JSON-RPC is needed for codex too.

mod conversation;
mod door;
mod opencode;
mod session;
mod updates;

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use shipmate_process::Tree;
use shipmate_programs::programs::gemini;
use shipmate_protocol::tools::envelope::envelope;
use shipmate_protocol::view::InboxMessage;
use tokio::sync::{mpsc, watch};

use super::brief;
use super::desk::{Desk, SERVER};
use super::driver::{Driver, Finished, Injected, NotGiven, Progress, Work};
use super::program::Starter;
use super::rpc::{Dialect, Peer};
use super::spending::Spending;
use super::transcript::Transcript;
use conversation::{Conversation, End, Open, Prompt};
use door::Door;
use updates::Updates;

/// How long what a dead program said last may take to be read, and a program that has closed
/// its output may take to end.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(1);
/// How long a message may wait to be taken into a turn.
const STEERED_WITHIN: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct AcpAgent {
    desk: Desk,
    starter: Starter,
    transcript: Transcript,
    spending: Spending,
    door: Option<Door>,
    live: Option<Live>,
    /// The end of the turn, once it is there.
    turn: Option<watch::Receiver<Option<End>>>,
    session: Option<String>,
}

/// A program that runs.
#[derive(Debug)]
struct Live {
    tree: Tree,
    open: Rc<Open>,
    prompts: mpsc::UnboundedSender<Prompt>,
    /// What its fence was built for.
    cwd: PathBuf,
    read_only: bool,
}

impl AcpAgent {
    pub(crate) fn new(desk: Desk, starter: Starter, transcript: Transcript) -> AcpAgent {
        let session = Some(desk.order().session.clone()).filter(|session| !session.is_empty());
        // Gemini CLI would start itself again as a child, and leave out the team's tools in a
        // folder that nobody has trusted at a terminal.
        let starter = starter
            .with_env("GEMINI_CLI_NO_RELAUNCH", "true")
            .with_env("GEMINI_CLI_TRUST_WORKSPACE", "true");
        let spending = Spending::new(&desk);
        AcpAgent {
            desk,
            starter,
            transcript,
            spending,
            door: None,
            live: None,
            turn: None,
            session,
        }
    }

    async fn start(&mut self, work: &Work) -> Result<Live, NotGiven> {
        let folder = self.starter.folder().clone();
        if self.door.is_none() {
            let door = Door::open(&folder.0, &self.desk, &self.transcript);
            self.door = Some(door.map_err(|e| format!("the desk's socket: {e}"))?);
        }
        let door = self.door.as_ref().expect("it was just opened");
        let (door, key) = (door.path.clone(), door.key.clone());
        let mut fence = self.desk.fence(&work.tree, &[])?;
        if let Some(fence) = &mut fence {
            fence.reach.push(door.clone());
        }
        let mut starter = self.starter.clone();
        let mut words = Vec::new();
        match self.desk.order().agent.as_str() {
            "opencode" => {
                let (desk, said) = (&self.desk, &self.transcript);
                let rules = opencode::rules(desk, &starter, said, &work.tree, fence.as_ref()).await;
                starter = starter.setting(opencode::VARIABLE, &rules);
            }
            "gemini" => {
                words = gemini::arguments(self.desk.order(), &work.tree, SERVER)?;
            }
            _ => {}
        }
        let running = starter.start(&work.tree, &words, fence)?;
        let (peer, incoming) =
            Peer::start(running.stdout, running.stdin, Dialect::Standard, self.transcript.clone());
        let open = Open::new(peer);
        let (prompts, to_hold) = mpsc::unbounded_channel();
        let conversation = Conversation {
            open: Rc::clone(&open),
            incoming,
            desk: self.desk.clone(),
            transcript: self.transcript.clone(),
            spending: self.spending.clone(),
            folder,
            tree: work.tree.clone(),
            door,
            key,
            updates: Updates::new(&work.tree),
            replays: false,
            heard_garbage: false,
            cost_told: 0,
            name: String::new(),
        };
        tokio::task::spawn_local(conversation.hold(self.session.clone(), to_hold));
        let (cwd, read_only) = (work.tree.clone(), self.desk.is_read_only());
        Ok(Live { tree: running.tree, open, prompts, cwd, read_only })
    }

    /// How the turn ended, as far as the conversation knows.
    fn end(&mut self) -> End {
        let told = self.turn.take().and_then(|turn| turn.borrow().clone());
        let handshake = self.session_of_live().is_none();
        told.unwrap_or(End::Gone { handshake })
    }

    fn session_of_live(&self) -> Option<String> {
        self.live.as_ref()?.open.session()
    }

    /// The program is gone, or as good as that: how, with what it said last.
    async fn bury(&mut self) -> String {
        let Some(live) = self.live.take() else { return "it was stopped".to_owned() };
        live.open.peer.close();
        drop(tokio::time::timeout(LAST_WORDS_WITHIN, live.tree.exited()).await);
        let exit = live.tree.clean().await.exit;
        self.starter.obituary(exit)
    }
}

impl Driver for AcpAgent {
    async fn give(&mut self, work: &Work) -> Result<(), NotGiven> {
        self.desk.look_at_mode().await;
        let read_only = self.desk.is_read_only();
        // Its program may have ended between two turns.
        if self.live.as_ref().is_some_and(|live| live.prompts.is_closed()) {
            self.bury().await;
        }
        let fits = |live: &Live| live.cwd == work.tree && live.read_only == read_only;
        if self.live.as_ref().is_some_and(|live| !fits(live)) {
            self.stop(Duration::from_millis(self.desk.order().stop_grace_ms)).await;
        }
        let text = brief::turn(work);
        let whole = brief::whole_turn(work);
        self.spending.begin(&whole).await.map_err(NotGiven::Spent)?;
        if self.live.is_none() {
            match self.start(work).await {
                Ok(live) => self.live = Some(live),
                Err(not) => {
                    // Nothing was sent of what was set aside.
                    self.spending.over(None).await;
                    return Err(not);
                }
            }
        }
        let (ended, turn) = watch::channel(None);
        let live = self.live.as_ref().expect("it was just started");
        // Gone in this moment: then the turn has ended as well.
        drop(live.prompts.send(Prompt { text, whole, ended }));
        self.turn = Some(turn);
        Ok(())
    }

    async fn over(&mut self) {
        let grace = Duration::from_millis(self.desk.order().stop_grace_ms);
        let Some(turn) = &mut self.turn else { return };
        let Some(live) = &self.live else { return };
        tokio::select! {
            // An error is a conversation that ended without a word.
            _ = turn.wait_for(Option::is_some) => return,
            _ = live.tree.exited() => {}
            () = self.spending.overstays(grace) => return,
        }
        // A child of the program's may hold its output open for good.
        drop(tokio::time::timeout(LAST_WORDS_WITHIN, turn.wait_for(Option::is_some)).await);
    }

    async fn conclude(&mut self) -> Finished {
        if self.live.is_none() {
            self.spending.broke_off(None).await;
            return Finished::Failed { reason: "it was stopped".to_owned() };
        }
        self.session = self.session_of_live().or(self.session.take());
        let end = self.end();
        let told = match &end {
            End::Done { usage, .. } | End::Failed { usage, .. } | End::Limited { usage, .. } => {
                Some(*usage)
            }
            End::NotStarted { .. } | End::Gone { .. } => None,
        };
        match &end {
            End::Gone { handshake: false } => self.spending.broke_off(None).await,
            _ => self.spending.over(told).await,
        }
        if let Some(spent) = self.spending.finished().await {
            // One that did not end its turn when it was told to.
            if told.is_none() {
                self.stop(Duration::from_millis(self.desk.order().stop_grace_ms)).await;
            }
            return spent;
        }
        match end {
            End::Done { result, .. } => Finished::Done { result },
            End::Failed { reason, .. } => Finished::Failed { reason },
            End::Limited { reason, .. } => Finished::limited(reason, None),
            End::NotStarted { reason } => {
                self.bury().await;
                Finished::Unable { reason }
            }
            End::Gone { handshake } => {
                let reason = self.bury().await;
                self.transcript.say(&format!("[{reason}]"));
                match handshake {
                    true => Finished::Unable { reason: format!("{reason}, in the handshake") },
                    false => Finished::Died { reason },
                }
            }
        }
    }

    async fn inject(&mut self, message: &InboxMessage) -> Injected {
        let Some(live) = &self.live else { return Injected::Later };
        let text = envelope(message);
        match tokio::time::timeout(STEERED_WITHIN, live.open.steer(&text)).await {
            Ok(true) => {
                self.transcript.say(&format!("← {}: {}", message.from, message.body));
                Injected::Now
            }
            _ => Injected::Later,
        }
    }

    fn session(&self) -> Option<String> {
        self.session_of_live().or_else(|| self.session.clone())
    }

    fn progress(&self) -> watch::Receiver<Progress> {
        self.transcript.progress()
    }

    async fn cancel(&mut self, grace: Duration) {
        let asked = self.live.as_ref().is_some_and(|live| live.open.cancel());
        if !asked || tokio::time::timeout(grace, self.over()).await.is_err() {
            self.stop(grace).await;
        }
    }

    async fn stop(&mut self, grace: Duration) {
        self.session = self.session();
        let Some(live) = self.live.take() else { return };
        // Programs save their sessions at the end of their input.
        live.open.peer.close();
        drop(tokio::time::timeout(grace / 2, live.tree.exited()).await);
        live.tree.stop(grace).await;
    }
}
