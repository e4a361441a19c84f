//! The driver of the native agent: this very program as a small process of its own, over lines
//! of JSON.
//!
//! It is driven as every other agent is: the team's tools go through the desk, leave is asked
//! for each of its own, budgets are reserved before each request to its model. The process and,
//! more narrowly, its shells stand behind fences; its conversation outlives it.

mod fences;
mod hear;
mod mcp;
mod offer;
mod project;

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use shipmate_process::Tree;
use shipmate_programs::models::prices;
use shipmate_protocol::Mode;
use shipmate_protocol::native::{Begin, Ended, Offered, ToAgent};
use shipmate_protocol::tools::envelope::envelope;
use shipmate_protocol::verbs::Usage;
use shipmate_protocol::view::{InboxMessage, moment};
use tokio::sync::{mpsc, watch};

use super::brief;
use super::desk::Desk;
use super::driver::{Driver, Finished, Injected, NotGiven, Progress, Work};
use super::program::Starter;
use super::rpc::write_lines;
use super::transcript::Transcript;
use hear::{Heard, hear};
use mcp::Servers;

/// How long the last words of a process that has ended may take to come through.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct NativeAgent {
    desk: Desk,
    starter: Starter,
    transcript: Transcript,
    live: Option<Live>,
    /// The end of the turn, once it is there.
    turn: Option<watch::Receiver<Option<Ended>>>,
    /// Messages that were sent into the turn, and of those the ones it did not hear.
    sent: usize,
    unheard: usize,
    /// What the repository says to every agent, as it was when the process started.
    project: String,
    /// Its MCP servers, while its process runs.
    servers: Rc<Servers>,
}

/// A process that runs.
#[derive(Debug)]
struct Live {
    tree: Tree,
    cwd: PathBuf,
    say: mpsc::UnboundedSender<String>,
    heard: Rc<Heard>,
    seat: Seat,
    /// What its fence was built for.
    read_only: bool,
    /// How many words it knows that are written down nowhere.
    hidden: usize,
}

/// What it may do, as it was told last.
#[derive(Debug, Clone, PartialEq)]
struct Seat {
    standing: String,
    identity: String,
    tools: Vec<Offered>,
    own_tools: Vec<String>,
}

impl NativeAgent {
    pub(crate) fn new(desk: Desk, starter: Starter, transcript: Transcript) -> NativeAgent {
        NativeAgent {
            desk,
            starter,
            transcript,
            live: None,
            turn: None,
            sent: 0,
            unheard: 0,
            project: String::new(),
            servers: Rc::default(),
        }
    }

    fn seat(&self) -> Seat {
        let lead = self.desk.order().lead;
        // A role that names the tool has it, whatever its mode.
        let named = self.desk.order().tools.iter().any(|tool| tool == "ExitPlanMode");
        let plans = named || (self.desk.mode() == Mode::Plan && !self.desk.is_approved());
        let standing = [self.desk.standing().as_str(), self.project.as_str()].join("\n\n");
        Seat {
            standing: standing.trim_end().to_owned(),
            identity: brief::identity(self.desk.order(), self.desk.mode()),
            tools: {
                let mut tools = offer::team(self.desk.tools(), lead, plans);
                tools.extend(self.servers.offered.iter().cloned());
                tools
            },
            own_tools: offer::own(
                lead,
                self.desk.is_read_only(),
                &self.desk.seat(),
                self.desk.order().definition.as_deref(),
            ),
        }
    }

    async fn start(&mut self, tree: &Path) -> Result<Live, NotGiven> {
        let order = self.desk.order().clone();
        let native = order.native.clone().ok_or_else(|| "its order names no model".to_owned())?;
        let folder = native.folder.clone();
        let scratch = folder.join("scratch");
        let read_only = self.desk.is_read_only();
        let fences = fences::of(&self.desk, &native, tree, &folder)?;
        self.project = match self.desk.is_closed() {
            true => String::new(),
            false => project::instructions(tree),
        };
        if !self.desk.is_closed() {
            let (desk, starter) = (&self.desk, &self.starter);
            let fence = self.desk.fence(tree, &[])?;
            let servers = Servers::start(desk, starter, &self.transcript, tree, fence.as_ref());
            self.servers = Rc::new(servers.await);
        }
        let seat = self.seat();
        let hidden = shipmate_process::hidden::words();
        let known = hidden.len();
        let begin = Begin {
            team: order.team.clone(),
            name: order.name.clone(),
            standing: seat.standing.clone(),
            identity: seat.identity.clone(),
            model: native.model.clone(),
            tree: tree.to_owned(),
            conversation: folder.join("conversation.jsonl"),
            scratch,
            pools: native.pools.clone(),
            tools: seat.tools.clone(),
            own_tools: seat.own_tools.clone(),
            fence: fences.shells,
            program: order.program.clone(),
            marker: order.marker.clone(),
            limits: native.limits,
            secrets: native.secrets.clone(),
            hidden,
        };
        let running = self.starter.start(tree, &[], fences.agent)?;
        let (say, lines) = mpsc::unbounded_channel();
        tokio::task::spawn_local(write_lines(running.stdin, lines));
        let servers = Rc::clone(&self.servers);
        let heard = hear(running.stdout, &self.desk, &self.transcript, say.clone(), servers);
        let live = Live {
            tree: running.tree,
            cwd: tree.to_owned(),
            say,
            heard,
            seat,
            read_only,
            hidden: known,
        };
        self.tell(&live, &ToAgent::Begin(Box::new(begin)));
        Ok(live)
    }

    fn tell(&self, live: &Live, said: &ToAgent) {
        let line = serde_json::to_string(said).expect("what is said is JSON");
        self.transcript.told(&line);
        // Gone: then the turn ends by that.
        drop(live.say.send(line));
    }

    /// What is to be told of a turn however it ended: its cost, and what it did not hear.
    async fn settle(&mut self) {
        let Some(live) = &self.live else { return };
        self.transcript.note(&live.heard.take_spent().words());
        self.unheard = self.sent.saturating_sub(live.heard.messages());
        // Nobody tells of a request that broke off: what went in is an estimate.
        for (reservation, Usage { tokens_in, .. }) in live.heard.take_reserved() {
            let price = self.desk.order().native.as_ref().map(|native| native.model.price);
            let mut sent = Usage { tokens_in, ..Usage::default() }.as_estimate();
            sent.cost_micros = price.map_or(0, |price| prices::cost_micros(&price, &sent));
            self.desk.used_of(sent, Some(reservation)).await;
        }
    }

    /// Ends its MCP servers with it.
    async fn let_servers_go(&mut self, grace: Duration) {
        std::mem::take(&mut self.servers).stop(grace).await;
    }

    /// The process is gone, or as good as that: how, with what it said last.
    async fn bury(&mut self) -> String {
        let Some(live) = self.live.take() else { return "it was stopped".to_owned() };
        self.let_servers_go(Duration::ZERO).await;
        drop(live.say);
        drop(tokio::time::timeout(LAST_WORDS_WITHIN, live.tree.exited()).await);
        let exit = live.tree.clean().await.exit;
        self.starter.obituary(exit)
    }
}

impl Driver for NativeAgent {
    async fn give(&mut self, work: &Work) -> Result<(), NotGiven> {
        self.desk.look_at_mode().await;
        let read_only = self.desk.is_read_only();
        let fits = |live: &Live| {
            live.cwd == work.tree && live.read_only == read_only && !live.heard.is_over()
        };
        if self.live.as_ref().is_some_and(|live| !fits(live)) {
            self.bury().await;
        }
        if self.live.is_none() {
            self.live = Some(self.start(&work.tree).await?);
        }
        let seat = self.seat();
        let live = self.live.as_mut().expect("it was just started");
        let changed = live.seat != seat;
        live.seat.clone_from(&seat);
        let known = std::mem::replace(&mut live.hidden, shipmate_process::hidden::words().len());
        let live = self.live.as_ref().expect("it was just started");
        if changed {
            let Seat { standing, identity, tools, own_tools } = seat;
            self.tell(live, &ToAgent::Seat { standing, identity, tools, own_tools });
        }
        // Those of a file that has changed, or of the first task after a talk.
        let hidden = shipmate_process::hidden::words();
        if hidden.len() > known {
            self.tell(live, &ToAgent::Hide { hidden });
        }
        let (text, whole) = (brief::turn(work), brief::whole_turn(work));
        // What it is said to have been handed after a summary: a lead's is what a person wrote.
        let by_person = work.messages.iter().any(|message| message.from == "person");
        let is_handed = work.task.is_some() || !self.desk.order().lead || by_person;
        let whole = if is_handed { whole } else { String::new() };
        (self.sent, self.unheard) = (0, 0);
        self.turn = Some(live.heard.begin_turn());
        self.tell(live, &ToAgent::Turn { text, whole });
        Ok(())
    }

    async fn over(&mut self) {
        let (Some(turn), Some(live)) = (&mut self.turn, &self.live) else { return };
        tokio::select! {
            // An error is a process whose output ended without a word.
            _ = turn.wait_for(Option::is_some) => return,
            _ = live.tree.exited() => {}
        }
        drop(tokio::time::timeout(LAST_WORDS_WITHIN, turn.wait_for(Option::is_some)).await);
    }

    async fn conclude(&mut self) -> Finished {
        if self.live.is_none() {
            return Finished::Failed { reason: "it was stopped".to_owned() };
        }
        let told = self.turn.take().and_then(|turn| turn.borrow().clone());
        let parked = self.live.as_ref().is_some_and(|live| live.heard.take_parked());
        self.settle().await;
        match told {
            Some(Ended::Done { text }) => Finished::Done { result: text },
            Some(Ended::Failed { reason }) => Finished::Failed { reason },
            Some(Ended::Stopped { reason }) => match parked {
                true => Finished::Limited { reason, refused: None },
                false => Finished::Spent { reason },
            },
            Some(Ended::Limited { reason, after_ms }) => {
                self.transcript.say(&format!("[{reason}]"));
                let until = after_ms.map(|after| moment::now_ms().saturating_add(after));
                Finished::limited(reason, until)
            }
            Some(Ended::Cancelled) => Finished::Failed { reason: "it was cancelled".to_owned() },
            Some(Ended::Unable { reason }) => {
                self.transcript.say(&format!("[{reason}]"));
                self.bury().await;
                Finished::Unable { reason }
            }
            None => {
                let reason = self.bury().await;
                self.transcript.say(&format!("[{reason}]"));
                Finished::Died { reason }
            }
        }
    }

    async fn inject(&mut self, message: &InboxMessage) -> Injected {
        let Some(live) = &self.live else { return Injected::Later };
        // A turn that has ended in this moment would not hear it.
        if live.heard.is_over() || live.heard.has_ended() {
            return Injected::Later;
        }
        self.transcript.say(&format!("← {}: {}", message.from, message.body));
        self.tell(live, &ToAgent::Message { text: envelope(message) });
        self.sent += 1;
        Injected::Now
    }

    fn unheard(&mut self) -> usize {
        std::mem::take(&mut self.unheard)
    }

    fn session(&self) -> Option<String> {
        let order = self.desk.order();
        self.live.as_ref().map(|_| format!("{}.{}", order.team, order.name))
    }

    fn progress(&self) -> watch::Receiver<Progress> {
        self.transcript.progress()
    }

    async fn cancel(&mut self, grace: Duration) {
        if let Some(live) = &self.live {
            self.tell(live, &ToAgent::Cancel);
        }
        if tokio::time::timeout(grace, self.over()).await.is_err() {
            self.stop(grace).await;
        }
    }

    async fn stop(&mut self, grace: Duration) {
        self.settle().await;
        let Some(live) = self.live.take() else { return };
        // It ends with its input.
        drop(live.say);
        drop(tokio::time::timeout(grace / 2, live.tree.exited()).await);
        live.tree.stop(grace).await;
        self.let_servers_go(grace).await;
    }
}
