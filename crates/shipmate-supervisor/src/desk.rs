//! The desk: where an agent that is driven reaches its team while it works.
//!
//! Its tool calls are carried to the coordinator with the teammate's token, so it can act
//! as nobody else. What it says about the task in hand is noted here and acted on by the
//! supervisor when the turn is over: work is handed in with its files, not with words.

mod planning;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

use serde_json::Value;
use shipmate_model::account::Window;
use shipmate_model::limits::SUBJECT_BYTES_MAX;
use shipmate_programs::fence::Fenced;
use shipmate_programs::order::Order;
use shipmate_protocol::tools::{self, Board, Outcome, Reader, Seat, SeatKind, Tool};
use shipmate_protocol::verbs::Usage;
use shipmate_protocol::view::{InboxMessage, PlanState, PlanView};
use shipmate_protocol::{Answer, Ask, Code, Handoff, Mode, Refused, Verb, answers, verbs};
use tokio::sync::oneshot;

use super::driver::Work;
use super::link::{Line, LinkEnd, SharedLink};
use planning::Planning;

/// The tools are offered under this server's name.
pub(crate) const SERVER: &str = crate::permission::TEAM_SERVER;

/// So often a program may name another model.
const MODELS_MAX: u32 = 20;

#[derive(Debug, Clone)]
pub(crate) struct Desk(Rc<Inside>);

#[derive(Debug)]
struct Inside {
    order: Order,
    link: SharedLink,
    mode: Cell<Mode>,
    /// The task in hand and its token.
    held: Cell<Option<(u32, u64)>>,
    piece: RefCell<Piece>,
    said: RefCell<Said>,
    /// Its plan was approved in this life.
    approved: Cell<bool>,
    /// The task that the plan is for. A lead's is for all.
    approved_for: Cell<Option<u32>>,
    /// The plan for the task in hand that was decided last.
    decided: RefCell<Option<PlanView>>,
    /// How far a lead has come with the plan for its team.
    planning: Cell<Planning>,
    /// How much of a fence its program stands behind.
    fence: RefCell<Option<Fenced>>,
    /// The model that it really asks, as far as that is known.
    model: RefCell<String>,
    /// How often that was another.
    models: Cell<u32>,
    /// What the log knows of its conversation, its fence and its model.
    told: RefCell<verbs::Session>,
    /// Permissions that were asked for and not answered yet.
    /// Tools of the person's own servers that were allowed once.
    allowed_tools: RefCell<BTreeSet<String>>,
    waiting: RefCell<BTreeMap<u64, oneshot::Sender<()>>>,
}

/// Where the piece of work in hand is done, and with what leave.
#[derive(Debug, Clone, Default)]
struct Piece {
    tree: PathBuf,
    files: Vec<String>,
    /// Granted beyond scope and files.
    granted: Vec<String>,
}

/// What the agent said in the present turns about its task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) verdict: Option<Verdict>,
    /// It wrote to somebody, whose answer it may wait for.
    pub(crate) spoke: bool,
    /// A plan that it handed in.
    pub(crate) plan: Option<u64>,
    /// It wrote to the person.
    pub(crate) reported: bool,
    /// What it hands over with its work.
    pub(crate) handoff: Option<Box<Handoff>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Done { result: String },
    Failed { reason: String },
    GivenBack { reason: String },
}

/// Whether a tool may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum May {
    Yes,
    /// With the words for the model.
    No(String),
}

impl Desk {
    pub(crate) fn new(order: &Order, line: &Rc<Line>) -> Desk {
        Desk(Rc::new(Inside {
            order: order.clone(),
            link: SharedLink::new(line),
            mode: Cell::new(order.mode),
            held: Cell::new(None),
            piece: RefCell::default(),
            said: RefCell::default(),
            approved: Cell::new(false),
            approved_for: Cell::new(None),
            decided: RefCell::default(),
            planning: Cell::default(),
            fence: RefCell::default(),
            model: RefCell::new(asked_by_us(order)),
            models: Cell::new(0),
            told: RefCell::new(verbs::Session {
                session: order.session.clone(),
                ..verbs::Session::default()
            }),
            allowed_tools: RefCell::default(),
            waiting: RefCell::default(),
        }))
    }

    pub(crate) fn order(&self) -> &Order {
        &self.0.order
    }

    pub(crate) fn seat(&self) -> Seat {
        let order = &self.0.order;
        let kind = if order.lead { SeatKind::Lead } else { SeatKind::Teammate };
        let mode = match self.mode() {
            // It has been handed a task, so it must be able to say what came of it.
            Mode::ReadOnly => Mode::Normal,
            mode => mode,
        };
        let (team, name, tools) = (order.team.clone(), order.name.clone(), order.tools.clone());
        Seat { team, name, kind, mode, tools }
    }

    pub(super) fn mode(&self) -> Mode {
        self.0.mode.get()
    }

    /// What the agent is told once, at the start of its program.
    pub(crate) fn standing(&self) -> String {
        // Whose plan is approved begins again without a word of what may not be written before that.
        let mode = match self.mode() {
            Mode::Plan if self.is_approved() && !self.0.order.lead => Mode::Normal,
            mode => mode,
        };
        super::brief::standing(&self.0.order, mode)
    }

    /// The tools it is offered. Mail comes by itself, so there is none to fetch it.
    pub(crate) fn tools(&self) -> Vec<Tool> {
        self.offered(tools::list(&self.seat()))
    }

    /// The same for a program that asks once and for all.
    pub(crate) fn tools_ahead(&self) -> Vec<Tool> {
        self.offered(tools::list_ahead(&self.seat()))
    }

    /// What it works with, and of each what it is shown.
    fn offered(&self, mut tools: Vec<Tool>) -> Vec<Tool> {
        if self.order().native.is_some() {
            // Our own agent has it under its old name.
            tools.retain(|tool| tool.name != "Agent");
        }
        tools::shown(tools, &self.seat(), Reader::Driven)
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Outcome {
        tools::call(self, &self.seat(), tool, arguments).await
    }

    /// The program has said which model it asks; nothing where it says none, or no name.
    pub(crate) fn asks(&self, model: &str) {
        let is_name = (1..=SUBJECT_BYTES_MAX).contains(&model.len());
        // A provider that names another with each answer is believed so often and no more.
        if is_name && *self.0.model.borrow() != model && self.0.models.get() < MODELS_MAX {
            self.0.models.update(|models| models + 1);
            model.clone_into(&mut self.0.model.borrow_mut());
        }
    }

    pub(crate) fn model(&self) -> String {
        self.0.model.borrow().clone()
    }

    /// Has the log know the conversation, the fence and the model, where one of them is new.
    pub(crate) async fn tell_session(&self, session: Option<String>) {
        let now = {
            let told = self.0.told.borrow();
            let session = session.unwrap_or_else(|| told.session.clone());
            let fence = self.fenced().map_or_else(String::new, |fenced| fenced.to_string());
            let model = Some(self.model()).filter(|model| !model.is_empty());
            let model = model.unwrap_or_else(|| told.model.clone());
            verbs::Session { session, fence, model }
        };
        if *self.0.told.borrow() != now {
            self.0.told.replace(now.clone());
            drop(self.0.link.ask(now).await);
        }
    }

    /// Tells what was spent, and what of it was set aside before.
    pub(crate) async fn used_of(&self, usage: Usage, reservation: Option<u64>) {
        // What a model costs is shown by its name.
        self.tell_session(None).await;
        let task = self.0.held.get().map(|(task, _)| task.to_string());
        let ask = Ask::UsageReport(verbs::UsageReport { usage, task, reservation });
        drop(self.0.link.ask(ask).await);
    }

    /// The program tells what its provider says of its account.
    pub(crate) fn tells_windows(&self, windows: Vec<Window>) {
        let desk = self.clone();
        tokio::task::spawn_local(async move {
            drop(desk.0.link.ask(Ask::AccountTold(verbs::AccountTold { windows })).await);
        });
    }

    /// A piece of work begins. Tells whether leave to write ends with it: an approved plan is for
    /// one task, and this is another.
    pub(crate) fn takes_up(&self, work: &Work) -> bool {
        let task = work.task.as_ref();
        let id = task.map(|task| task.row.id);
        let planned = self.0.approved_for.get().or(id);
        let ends = self.is_approved() && !self.0.order.lead && id.is_some() && id != planned;
        self.0.approved_for.set(if ends { None } else { planned });
        self.0.approved.set(self.is_approved() && !ends);
        self.0.held.set(task.map(|task| task.row.id).zip(work.token));
        *self.0.piece.borrow_mut() = Piece {
            tree: work.tree.clone(),
            files: task.map(|task| task.files.clone()).unwrap_or_default(),
            granted: Vec::new(),
        };
        *self.0.said.borrow_mut() = Said::default();
        self.0.decided.take();
        ends && self.mode() == Mode::Plan
    }

    pub(super) fn tree(&self) -> PathBuf {
        self.0.piece.borrow().tree.clone()
    }

    pub(super) fn files(&self) -> Vec<String> {
        self.0.piece.borrow().files.clone()
    }

    pub(super) fn granted(&self) -> Vec<String> {
        self.0.piece.borrow().granted.clone()
    }

    pub(super) fn add_granted(&self, paths: impl Iterator<Item = String>) {
        self.0.piece.borrow_mut().granted.extend(paths);
    }

    pub(super) fn planning(&self) -> &Cell<Planning> {
        &self.0.planning
    }

    pub(super) fn allowed_tools(&self) -> &RefCell<BTreeSet<String>> {
        &self.0.allowed_tools
    }

    pub(super) fn is_approved(&self) -> bool {
        self.0.approved.get()
    }

    pub(super) fn set_mode(&self, mode: Mode) {
        self.0.mode.set(mode);
    }

    /// Nothing may be written: the program is fenced in so that it cannot.
    pub(super) fn is_read_only(&self) -> bool {
        match self.mode() {
            Mode::Normal => false,
            Mode::Plan => !self.is_approved(),
            Mode::Delegate | Mode::ReadOnly => true,
        }
    }

    /// It has the tools that its role names, and nothing else.
    pub(super) fn is_closed(&self) -> bool {
        self.order().is_closed(self.mode())
    }

    pub(super) fn stands_behind(&self, fence: Fenced) {
        self.0.fence.replace(Some(fence));
    }

    /// How much of a fence its program stands behind, once it was started.
    pub(super) fn fenced(&self) -> Option<Fenced> {
        self.0.fence.borrow().clone()
    }

    pub(super) fn expect_answer(&self, question: u64, tell: oneshot::Sender<()>) {
        self.0.waiting.borrow_mut().insert(question, tell);
    }

    /// A further turn on the same task begins: what was said last about it counts.
    pub(crate) fn goes_on(&self) {
        self.0.said.borrow_mut().spoke = false;
    }

    pub(crate) fn said(&self) -> Said {
        self.0.said.borrow().clone()
    }

    /// What goes with the work when it is handed in.
    pub(crate) fn hands_over(&self, handoff: Option<Box<Handoff>>) {
        self.0.said.borrow_mut().handoff = handoff;
    }

    /// A plan was decided.
    pub(crate) fn plan_settled(&self, plan: PlanView) {
        self.0.said.borrow_mut().plan = None;
        self.0.approved.set(plan.state == PlanState::Approved);
        self.0.approved_for.set(self.task());
        self.0.decided.replace(Some(plan));
    }

    /// It was told what was decided about this plan, which was the last.
    pub(crate) fn has_settled(&self, plan: u64) -> bool {
        self.0.decided.borrow().as_ref().is_some_and(|decided| decided.id == plan)
    }

    pub(super) fn decided(&self) -> Option<PlanView> {
        self.0.decided.borrow().clone()
    }

    /// The task in hand.
    pub(super) fn task(&self) -> Option<u32> {
        self.0.held.get().map(|(task, _)| task)
    }

    /// Takes an answer that a permission request waits for.
    pub(crate) fn takes(&self, message: &InboxMessage) -> bool {
        let waits = match (message.kind.as_str(), message.reply_to) {
            ("answer", Some(question)) => self.0.waiting.borrow_mut().remove(&question),
            _ => None,
        };
        waits.is_some_and(|waits| waits.send(()).is_ok())
    }

    fn is_held(&self, task: &str) -> bool {
        self.0.held.get().is_some_and(|(held, _)| held.to_string() == task)
    }

    fn note(&self, verdict: Verdict) -> Result<Answer, Refused> {
        self.0.said.borrow_mut().verdict = Some(verdict);
        Ok(Answer::Done { first: 0, last: 0 })
    }

    pub(super) async fn carry<V: Verb>(&self, verb: V) -> Result<V::Answer, Refused> {
        match self.0.link.ask(verb).await {
            Ok(answer) => Ok(answer),
            Err(LinkEnd::Refused(refused)) => Err(refused),
            Err(LinkEnd::Over(message)) => Err(Refused { code: Code::Over, message, remedy: None }),
        }
    }
}

/// The model of our own agent, until its provider says which one answers.
fn asked_by_us(order: &Order) -> String {
    order.native.as_ref().map(|native| native.model.model.clone()).unwrap_or_default()
}

impl Board for Desk {
    async fn ask_any(&self, ask: Ask) -> Result<Answer, Refused> {
        match ask {
            // Handed in, it would be refused by the board, and cost an attempt.
            Ask::TaskSubmit(verbs::TaskSubmit { task, .. })
            | Ask::TaskComplete(verbs::TaskComplete { task, .. })
                if self.is_held(&task) && self.mode() == Mode::Plan && !self.is_approved() =>
            {
                let message = format!("task {task} has no approved plan yet");
                let remedy = "hand in your plan first, and wait until it is approved";
                Err(Refused {
                    code: Code::PlanNotApproved,
                    message,
                    remedy: Some(remedy.to_owned()),
                })
            }
            Ask::TaskSubmit(verbs::TaskSubmit { task, result, handoff, .. })
                if self.is_held(&task) =>
            {
                if handoff.is_some() {
                    self.hands_over(handoff);
                }
                self.note(Verdict::Done { result })
            }
            Ask::TaskComplete(verbs::TaskComplete { task, result, .. }) if self.is_held(&task) => {
                self.note(Verdict::Done { result })
            }
            Ask::TaskFail(verbs::TaskFail { task, reason, .. }) if self.is_held(&task) => {
                self.note(Verdict::Failed { reason })
            }
            Ask::TaskRelease(verbs::TaskRelease { task, reason, .. }) if self.is_held(&task) => {
                self.note(Verdict::GivenBack { reason })
            }
            Ask::TaskClaim(verbs::TaskClaim { task, .. }) if self.is_held(&task) => {
                Ok(Answer::Unchanged)
            }
            Ask::TaskClaim(_) | Ask::TaskNext(_) => Err(Refused {
                code: Code::HandedOut,
                message: "tasks are handed to you one at a time".to_owned(),
                remedy: Some("finish the one in hand; the next comes by itself".to_owned()),
            }),
            Ask::Send(_) | Ask::Question(_) => {
                let to_person = matches!(&ask, Ask::Send(verbs::Send { to, .. }) if to == "person");
                let sent = self.carry(ask).await;
                let said = &mut *self.0.said.borrow_mut();
                said.spoke |= sent.is_ok();
                said.reported |= to_person && sent.is_ok();
                sent
            }
            Ask::PlanSubmit(verbs::PlanSubmit { work: Some(_), .. }) => {
                self.hand_in_plan(ask).await
            }
            Ask::PlanSubmit(_) => {
                let submitted = self.carry(ask).await;
                if let Ok(Answer::Opened(answers::Opened { id })) = submitted {
                    self.0.said.borrow_mut().plan = Some(id);
                }
                submitted
            }
            ask => self.carry(ask).await,
        }
    }
}
