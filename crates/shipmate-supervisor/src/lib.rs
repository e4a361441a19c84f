//! A supervisor: the process that owns one agent.
//!
//! It owns the agent's stdio, process tree, output and token, claims its tasks, hands its
//! work in and answers for it. Coordinators may come and go: the agent goes on, and the
//! supervisor asks the next one. Nothing the agent started outlives the supervisor's end;
//! if the supervisor itself is killed, the coordinator ends what carries its marker.
//!
//! The cycle: active with a task, idle without, active again on a task, a message or a
//! shutdown request. A task in hand is finished before a shutdown request is answered.

mod acp;
mod attend;
mod brief;
mod claude;
mod codex;
mod command;
mod denied;
mod desk;
mod driver;
mod inline;
mod link;
mod native;
pub mod permission;
mod permit;
mod pipe_mcp;
mod program;
mod ready;
mod rpc;
mod servers;
mod spending;
mod talk;
mod transcript;
mod tree;
mod turns;

use shipmate_protocol::answers::Claimed;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use shipmate_process::Marker;
use shipmate_programs::order::{LifeFolder, NOT_BEGUN, Order};
use shipmate_protocol::verbs::ShutdownAnswer;
use shipmate_protocol::view::{InboxMessage, TaskView};
use shipmate_protocol::{Ask, Code, Place, verbs};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use attend::{attend, take_mail, tell_progress};
use desk::Desk;
use driver::{Driver, Finished, Injected, NotGiven, Work};
use link::{Line, Link, LinkEnd, SharedLink};
use program::Starter;
use transcript::Transcript;
use tree::{HandIn, WorkTree};

/// Why a supervisor ends.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Ending {
    /// It was asked to, and answered.
    Asked,
    /// A one-shot agent had its task.
    Done,
    /// The process was told to end.
    Terminated,
    /// Its life is over as far as the team is concerned.
    Over(String),
    /// It cannot work: told to whoever reads its last words.
    Broken(String),
    /// The same, until a person has mended what is told.
    Unable(String),
}

/// Why a supervisor could not go on; its exit code says which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    Broken(String),
    /// Its life never began: there was no room for it. It may begin a moment later.
    NotBegun(String),
}

impl Stopped {
    /// What its process ends with. The coordinator reads only that of a life that never began.
    pub fn code(&self) -> u8 {
        match self {
            Stopped::Broken(_) => 1,
            Stopped::NotBegun(_) => NOT_BEGUN,
        }
    }
}

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Stopped::Broken(reason) | Stopped::NotBegun(reason)) = self;
        f.write_str(reason)
    }
}

/// Runs the supervisor of the life in this folder. The text says why it could not.
pub fn run(folder: PathBuf) -> Result<(), Stopped> {
    let folder = LifeFolder(folder);
    let not_begun = |e: std::io::Error| Stopped::NotBegun(format!("{}: {e}", folder.0.display()));
    let Some(_lock) = folder.begin().map_err(not_begun)? else { return Ok(()) };
    let order = folder.read().map_err(not_begun)?;
    shipmate_workspace::hide_from_every_git(&Place { workspace: order.workspace.clone() }.state());
    shipmate_process::leave_no_core();
    shipmate_process::become_subreaper().map_err(|e| Stopped::NotBegun(e.to_string()))?;
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().map_err(not_begun)?;
    let local = tokio::task::LocalSet::new();
    let (team, name, epoch) = (&order.team, &order.name, order.epoch);
    tracing::info!(%team, %name, epoch, protocol = order.protocol, agent = order.agent, "a life begins");
    let ending = local.block_on(&runtime, supervise(order, folder.clone()));
    tracing::info!(?ending, "the life ends");
    match ending {
        Ending::Broken(reason) => Err(Stopped::Broken(reason)),
        Ending::Unable(reason) => {
            folder.keep_unable(&reason);
            Err(Stopped::Broken(reason))
        }
        _ => Ok(()),
    }
}

async fn supervise(order: Order, folder: LifeFolder) -> Ending {
    let marker: Marker = match order.marker.parse() {
        Ok(marker) => marker,
        Err(e) => return Ending::Broken(format!("the order's marker: {e}")),
    };
    let line = Rc::new(Line {
        place: Place { workspace: order.workspace.clone() },
        token: order.token.clone(),
        program: order.program.clone(),
        life: folder.0.clone(),
    });
    let desk = Desk::new(&order, &line);
    match order.protocol.as_str() {
        "inline" => {
            return Supervisor::new(order, line, desk, inline::InlineAgent::default()).live().await;
        }
        "command" => {
            let agent = command::CommandAgent::new(&order, &folder, marker, desk.clone());
            return Supervisor::new(order, line, desk, agent).live().await;
        }
        _ => {}
    }
    let transcript = match Transcript::open(&order, &folder) {
        Ok(transcript) => transcript,
        Err(reason) => return Ending::Broken(reason),
    };
    let starter = Starter::new(&order, &folder, marker);
    match order.protocol.as_str() {
        "claude" => {
            let agent = claude::ClaudeAgent::new(desk.clone(), starter, transcript);
            Supervisor::new(order, line, desk, agent).live().await
        }
        "codex" => {
            let agent = codex::CodexAgent::new(desk.clone(), starter, transcript);
            Supervisor::new(order, line, desk, agent).live().await
        }
        "acp" => {
            let agent = acp::AcpAgent::new(desk.clone(), starter, transcript);
            Supervisor::new(order, line, desk, agent).live().await
        }
        "native" => {
            let agent = native::NativeAgent::new(desk.clone(), starter, transcript);
            Supervisor::new(order, line, desk, agent).live().await
        }
        other => Ending::Broken(format!("there is no way to drive an agent by {other:?}")),
    }
}

struct Supervisor<D> {
    order: Order,
    agent: D,
    desk: Desk,
    /// Claims and submissions.
    work: Link,
    /// Everything else.
    control: SharedLink,
    line: Rc<Line>,
    mail: mpsc::UnboundedReceiver<InboxMessage>,
    over: mpsc::UnboundedReceiver<String>,
    /// Handed over with the next piece of work.
    kept: Vec<InboxMessage>,
    /// The same, and no reason for one.
    quiet: Vec<InboxMessage>,
    /// Handed over with the present one.
    handed: Vec<InboxMessage>,
    /// The shutdown request that is still to be answered.
    asked: Option<u64>,
    turn: u64,
    /// Turns of talk since the last task, or the last word of a person.
    talks: u32,
    /// There was no budget for its mail: that waits for the next word.
    is_spent: bool,
    tree: WorkTree,
}

impl<D: Driver> Supervisor<D> {
    fn new(order: Order, line: Rc<Line>, desk: Desk, agent: D) -> Supervisor<D> {
        let (tell_mail, mail) = mpsc::unbounded_channel();
        let (tell_over, over) = mpsc::unbounded_channel();
        let control = SharedLink::new(&line);
        // Signs of life wait for nothing else, a slow hook say.
        let signs = SharedLink::new(&line);
        attend(&line, &signs, tell_over.clone());
        take_mail(&line, tell_mail, tell_over);
        tell_progress(&signs, agent.progress());
        Supervisor {
            tree: WorkTree::new(&order),
            work: Link::new(&line),
            order,
            agent,
            desk,
            control,
            line,
            mail,
            over,
            kept: Vec::new(),
            quiet: Vec::new(),
            handed: Vec::new(),
            asked: None,
            turn: 0,
            talks: 0,
            is_spent: false,
        }
    }

    async fn live(mut self) -> Ending {
        let mut terminate = match signal(SignalKind::terminate()) {
            Ok(terminate) => terminate,
            Err(e) => return Ending::Broken(e.to_string()),
        };
        let ending = tokio::select! {
            ending = self.cycle() => ending,
            _ = terminate.recv() => Ending::Terminated,
        };
        self.agent.stop(self.grace()).await;
        ending
    }

    async fn cycle(&mut self) -> Ending {
        loop {
            let ended = match self.next().await {
                Ok((task, token)) => self.work_on(task, token).await,
                Err(ending) => Some(ending),
            };
            if let Some(ending) = ended {
                return ending;
            }
            if self.order.one_shot {
                return Ending::Done;
            }
        }
    }

    /// The next task, or the reason why none comes.
    async fn next(&mut self) -> Result<(TaskView, u64), Ending> {
        if let Some(task) = self.claim(false).await? {
            return Ok(task);
        }
        self.hear_out().await?;
        self.say_idle().await?;
        let mut fresh = Link::new(&self.line);
        std::mem::swap(&mut fresh, &mut self.work);
        // The link is in use for as long as the claim waits.
        let mut waiting = Box::pin(wait_for_task(fresh));
        let mut refused = false;
        loop {
            tokio::select! {
                biased;
                (link, answer) = &mut waiting, if !refused => {
                    if let Some(reason) = not_paid(&answer) {
                        self.stop_taking(&reason).await;
                        // Who is paused waits until it may go on.
                        waiting = Box::pin(wait_for_task(link));
                        continue;
                    }
                    self.work = link;
                    match claimed(answer)? {
                        Some(task) => return Ok(task),
                        // Asked to shut down: the request is on its way.
                        None => refused = true,
                    }
                }
                Some(reason) = self.over.recv() => return Err(Ending::Over(reason)),
                Some(message) = self.mail.recv() => {
                    self.keep(message).await;
                    match refused {
                        false => {
                            self.hear_out().await?;
                            // A phase may wait for what a lead makes of its mail.
                            if self.order.lead {
                                self.say_idle().await?;
                            }
                        }
                        true => self.answer_now().await.map_or(Ok(()), Err)?,
                    }
                }
            }
        }
    }

    async fn claim(&mut self, wait: bool) -> Result<Option<(TaskView, u64)>, Ending> {
        let answer = self.work.ask(verbs::TaskNext { lease_ms: None, wait }).await;
        if let Some(reason) = not_paid(&answer) {
            self.stop_taking(&reason).await;
        }
        claimed(answer)
    }

    /// Puts a piece of work together, with the messages that wait.
    fn piece(
        &mut self,
        task: Option<TaskView>,
        token: Option<u64>,
        tree: PathBuf,
        conflicts: Vec<String>,
    ) -> Work {
        self.turn += 1;
        let mut messages = std::mem::take(&mut self.quiet);
        messages.append(&mut self.kept);
        self.handed.clone_from(&messages);
        Work {
            team: self.order.team.clone(),
            teammate: self.order.name.clone(),
            epoch: self.order.epoch,
            feedback: task.as_ref().and_then(|task| task.last_failure.clone()),
            task,
            token,
            scope: self.order.scope.clone(),
            role: self.order.role.clone(),
            alone: self.order.one_shot && !self.order.lead,
            gate: self.order.gate.clone(),
            plan: self.order.plan.clone(),
            tree,
            is_begun: false,
            conflicts,
            messages,
            note: None,
        }
    }

    /// Starts the agent on a piece of work. Its messages count as injected once it runs,
    /// and as read once it has ended: a life that is lost in between hands them over again.
    async fn give(&mut self, work: &Work) -> Result<(), NotGiven> {
        self.agent.give(work).await?;
        self.tell_session().await;
        let turn = self.turn;
        let messages = ids(&self.handed);
        if !messages.is_empty() {
            // Read by the agent itself meanwhile: then there is nothing to mark.
            drop(self.control.ask(verbs::MessageInject { messages, turn }).await);
        }
        Ok(())
    }

    async fn conclude(&mut self) -> Finished {
        let finished = self.agent.conclude().await;
        tracing::info!(turn = self.turn, finished = finished.word(), "a turn has ended");
        let handed = std::mem::take(&mut self.handed);
        self.report(&finished, &handed).await;
        match &finished {
            // Perhaps nobody has seen them: twice is better than never.
            Finished::Unable { .. }
            | Finished::Died { .. }
            | Finished::Spent { .. }
            | Finished::Limited { .. } => {
                self.kept.splice(0..0, handed);
            }
            _ => {
                let mut heard = handed;
                let late = heard.split_off(heard.len().saturating_sub(self.agent.unheard()));
                self.kept.splice(0..0, late);
                self.read(&heard).await;
            }
        }
        finished
    }

    async fn read(&self, messages: &[InboxMessage]) {
        let messages = ids(messages);
        if !messages.is_empty() {
            drop(self.control.ask(verbs::MessageAcknowledge { messages }).await);
        }
    }

    /// Control is acted on, mail is kept for the agent.
    async fn keep(&mut self, message: InboxMessage) {
        self.is_spent = false;
        let is_carried_out = self.is_carried_out(&message).await;
        match message.kind.as_str() {
            "shutdown_request" => self.asked = message.reply_to,
            _ if self.desk.takes(&message) => {}
            // Its teammates begin by themselves: it need not be asked to know that.
            _ if is_carried_out => {
                self.desk.delegates();
                self.quiet.push(message);
            }
            // That came before its message did, and was told with the turn that followed.
            "plan_approval_response"
                if message.reply_to.is_some_and(|plan| self.desk.has_settled(plan)) =>
            {
                self.quiet.push(message);
            }
            _ => self.kept.push(message),
        }
    }

    /// It tells that a plan of this lead's for its team is approved.
    async fn is_carried_out(&self, message: &InboxMessage) -> bool {
        let (true, Some(plan)) = (message.kind == "plan_approval_response", message.reply_to)
        else {
            return false;
        };
        let decided = self.decided(plan).await;
        decided.is_some_and(|plan| {
            plan.state == shipmate_protocol::view::PlanState::Approved && plan.work.is_some()
        })
    }

    async fn answer(&self, shutdown: u64, answer: ShutdownAnswer) {
        // Out of time, or asked again: the end of the process says the rest.
        drop(self.control.ask(verbs::AnswerShutdown { shutdown, answer }).await);
    }

    /// Does one task. Gives an ending when this life ends with it.
    async fn work_on(&mut self, task: TaskView, token: u64) -> Option<Ending> {
        let (id, subject) = (task.row.id, task.row.subject.clone());
        tracing::info!(task = id, claim = token, "a task is taken up");
        let files = task.files.clone();
        let mut ready = match self.ready_patiently(&task, token).await {
            Ok(ready) => ready,
            Err(ending) => {
                if let Ending::Broken(reason) = &ending {
                    // The task was not begun: it costs no attempt.
                    drop(self.give_back(id, token, reason.clone()).await);
                }
                return Some(ending);
            }
        };
        if self.tree.was_made_anew() {
            self.agent.stop(self.grace()).await;
        }
        let mut told = true;
        for aside in std::mem::take(&mut ready.set_aside) {
            told &= !matches!(self.control.ask(aside).await, Err(LinkEnd::Over(_)));
        }
        if told {
            self.tree.told_aside();
        }
        // A set-up that was cut short is nobody's work.
        let holds_work =
            !ready.is_fresh && !shipmate_programs::preparation::was_cut_short(&ready.path);
        if let Err(reason) = self.set_up(&ready).await {
            return Some(Ending::Unable(reason));
        }
        if let Some(reason) = self.not_ready(&ready, id).await {
            let told = self.fail(id, token, reason).await;
            return self.after(told).await;
        }
        // What lies in a shared tree is anybody's.
        let is_shared = self.order.tree.as_ref().is_some_and(|tree| tree.shared);
        let is_begun = holds_work && !is_shared;
        let piece = self.piece(Some(task), Some(token), ready.path, ready.conflicts);
        let work = Work { is_begun, ..piece };
        self.talks = 0;
        if self.desk.takes_up(&work) {
            // It begins again where it can only read.
            self.agent.stop(self.grace()).await;
        }
        let tree = work.tree.clone();
        let (finished, ended) = self.turns(work, Some((id, token))).await;
        if ended.is_some() {
            return ended;
        }
        self.tell_denied(&tree).await;
        let told = match finished {
            Finished::Done { ref result } | Finished::Stated { ref result } => {
                let title = format!("task {id}: {subject}");
                match self.tree.hand_in(&title, &files, id, token).await {
                    Ok(commit) => {
                        // Whatever it said last is no reason for having changed nothing.
                        let is_said = matches!(finished, Finished::Stated { .. })
                            || !matches!(commit, Some(HandIn::Nothing(_)));
                        let result = if is_said { result.clone() } else { String::new() };
                        let submitted = self.submit(id, token, commit, result).await;
                        if submitted.is_ok() {
                            self.tree.settled(id, token);
                        }
                        submitted
                    }
                    Err(reason) => self.fail(id, token, reason).await,
                }
            }
            Finished::Failed { reason } => self.fail(id, token, reason).await,
            Finished::GivenBack { reason } => self.give_back(id, token, reason).await,
            Finished::Spent { reason } => {
                // Paused first: given back it would be claimed again at once.
                self.stop_taking(&reason).await;
                self.give_back(id, token, reason).await
            }
            Finished::Limited { reason, refused } => {
                // Told first: given back it would be claimed again at once.
                self.is_parked(&reason, refused).await;
                self.give_back(id, token, reason).await
            }
            Finished::Unable { reason } => return Some(Ending::Unable(reason)),
            Finished::Died { reason } => return Some(Ending::Broken(reason)),
        };
        self.after(told).await
    }

    /// The board has been told what came of a task.
    async fn after(&mut self, told: Result<(), LinkEnd>) -> Option<Ending> {
        match told {
            Err(LinkEnd::Over(reason)) => Some(Ending::Over(reason)),
            Err(LinkEnd::Refused(refused)) => Some(Ending::Broken(refused.message)),
            Ok(()) => self.answer_now().await,
        }
    }

    async fn answer_now(&mut self) -> Option<Ending> {
        while let Ok(message) = self.mail.try_recv() {
            self.keep(message).await;
        }
        let shutdown = self.asked.take()?;
        self.answer(shutdown, ShutdownAnswer::Clean).await;
        Some(Ending::Asked)
    }

    async fn submit(
        &mut self,
        id: u32,
        token: u64,
        commit: Option<HandIn>,
        result: String,
    ) -> Result<(), LinkEnd> {
        let (commit, late) = match commit {
            Some(HandIn::Work(commit)) => (Some(commit.clone()), Some(commit)),
            Some(HandIn::Nothing(tip)) => (Some(tip), None),
            None => (None, None),
        };
        // Claiming the next in the same step would take it before what this one unblocks.
        let (task, handoff) = (id.to_string(), self.desk.said().handoff);
        let ask = Ask::TaskSubmit(verbs::TaskSubmit { task, token, commit, result, handoff });
        match self.work.ask(ask).await {
            Err(LinkEnd::Refused(refused)) if refused.code == Code::StaleClaim => {
                let Some(commit) = late else { return Ok(()) };
                let (task, work) = (id.to_string(), self.tree.brought_in_as(id, token));
                let aside = verbs::TaskSetAside { task, token, work, commit: Some(commit) };
                match self.control.ask(aside).await {
                    // Whoever finds this life ended tells of it.
                    Err(over @ LinkEnd::Over(_)) => Err(over),
                    _ => Ok(()),
                }
            }
            // Handed in by the agent itself.
            Err(LinkEnd::Refused(refused)) if refused.code == Code::AlreadySubmitted => Ok(()),
            Err(LinkEnd::Refused(refused)) => {
                let reason = format!("it could not be handed in: {}", refused.one_line());
                self.fail(id, token, reason).await
            }
            Ok(_) => Ok(()),
            Err(over) => Err(over),
        }
    }

    async fn fail(&mut self, id: u32, token: u64, reason: String) -> Result<(), LinkEnd> {
        match self.work.ask(verbs::TaskFail { task: id.to_string(), token, reason }).await {
            // The claim is over, whoever ended it.
            Err(LinkEnd::Refused(refused))
                if matches!(refused.code, Code::StaleClaim | Code::NotInProgress) =>
            {
                Ok(())
            }
            Err(end) => Err(end),
            Ok(_) => Ok(()),
        }
    }

    async fn give_back(&mut self, id: u32, token: u64, reason: String) -> Result<(), LinkEnd> {
        let (task, token) = (id.to_string(), Some(token));
        match self.work.ask(verbs::TaskRelease { task, token, reason }).await {
            Err(over @ LinkEnd::Over(_)) => Err(over),
            _ => Ok(()),
        }
    }

    async fn tell_session(&mut self) {
        let session = self.agent.session().unwrap_or_else(|| self.order.session.clone());
        self.order.session.clone_from(&session);
        self.desk.tell_session(Some(session)).await;
    }

    /// Waits for the end of the work, hearing what comes meanwhile.
    async fn watch_over(&mut self, held: Option<(u32, u64)>) -> Option<Ending> {
        loop {
            tokio::select! {
                () = self.agent.over() => return None,
                Some(reason) = self.over.recv() => return Some(Ending::Over(reason)),
                Some(message) = self.mail.recv() => {
                    if message.kind == "notice" && !self.still_holds(held).await {
                        self.agent.cancel(self.grace()).await;
                        return None;
                    }
                    self.hear(message).await;
                }
            }
        }
    }

    fn grace(&self) -> Duration {
        Duration::from_millis(self.order.stop_grace_ms)
    }

    async fn hear(&mut self, message: InboxMessage) {
        self.keep(message).await;
        let mut waiting = std::mem::take(&mut self.kept).into_iter();
        // What one must wait for, those behind it wait for too: order is kept.
        for message in waiting.by_ref() {
            match self.agent.inject(&message).await {
                Injected::Now => {
                    let (messages, turn) = (ids(std::slice::from_ref(&message)), self.turn);
                    drop(self.control.ask(verbs::MessageInject { messages, turn }).await);
                    self.handed.push(message);
                }
                Injected::Later => {
                    self.kept.push(message);
                    break;
                }
            }
        }
        self.kept.extend(waiting);
    }

    /// A lead or person may have taken the task away.
    async fn still_holds(&self, held: Option<(u32, u64)>) -> bool {
        let Some((id, token)) = held else { return true };
        let shown = self.control.ask(verbs::TaskShow { task: id.to_string() }).await;
        shown.map_or(true, |task| task.token == Some(token))
    }
}

fn ids(messages: &[InboxMessage]) -> Vec<u64> {
    // A hook's words have no id.
    messages.iter().map(|message| message.id).filter(|id| *id > 0).collect()
}

async fn wait_for_task(mut link: Link) -> (Link, Result<Claimed, LinkEnd>) {
    let answer = link.ask(verbs::TaskNext { lease_ms: None, wait: true }).await;
    (link, answer)
}

/// Why there is no budget for a task that is there.
fn not_paid(answer: &Result<Claimed, LinkEnd>) -> Option<String> {
    match answer {
        Err(LinkEnd::Refused(refused)) if refused.code == Code::BudgetSpent => {
            Some(refused.one_line())
        }
        _ => None,
    }
}

fn claimed(answer: Result<Claimed, LinkEnd>) -> Result<Option<(TaskView, u64)>, Ending> {
    match answer {
        Ok(Claimed { task, token }) => Ok(Some((*task, token))),
        Err(LinkEnd::Refused(_)) => Ok(None),
        Err(LinkEnd::Over(reason)) => Err(Ending::Over(reason)),
    }
}
