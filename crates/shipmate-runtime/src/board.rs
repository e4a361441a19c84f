//! One tree of teams: its log, its desk and everybody who waits for it.
//!
//! A turn drains the queue, decides everything, lets those who wait try again,
//! appends once and answers all. Nobody is answered before the log has confirmed.
//! Because the sender's record and the waiting reader's are decided in one turn, a
//! message reaches a waiting reader after one sync, not two.

mod reply;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use shipmate_core::{
    Act, Actor, Command, Desk, Name, Observed, Outcome, Position, Record, Refusal, RequestId,
    State, outstanding,
};
use shipmate_log::{AnyLog, AppendFailure, EndWatch, Log as _};
use shipmate_protocol::wire::Reply;
use shipmate_protocol::{Answer, Ask, Notice, Refused};
use tokio::sync::Notify;

use crate::answer;
use crate::clock::{Monotonic, wall_ms};
use crate::connection::Connection;
use crate::open::{self, Opened, read_refusal, refused};
use crate::secret::Secrets;
use crate::settings::{Settings, Store};
use crate::translate::{self, Scene};

/// Most requests decided in one turn; the rest come in the next.
const TURN_MAX: usize = 4096;
/// At least so many records lie between two snapshots of a busy board; one that comes
/// to rest saves one with less.
const SNAPSHOT_EVERY: u64 = 50_000;
/// A board at rest saves what takes noticeable time to read again.
const SNAPSHOT_AT_REST: u64 = 2_000;
/// How long nothing may happen before a board counts as at rest.
const REST_AFTER_MS: u64 = 1_000;
/// How often a turn may lose against other writers before it says so.
const CONFLICTS_MAX: usize = 200;
/// How long a log that cannot be followed is left alone.
const FOLLOW_AGAIN_MS: u64 = 1_000;
/// Timers are looked at this long after a change at the latest; they may be late by
/// it and never early, and a busy board does not look after every turn.
const LOOK_AFTER_MS: u64 = 100;

/// A request on its way.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) connection: Rc<Connection>,
    pub(crate) id: u64,
    pub(crate) client: Name,
    pub(crate) actor: Actor,
    pub(crate) team: Option<Name>,
    pub(crate) ask: Ask,
}

impl Job {
    fn reply(&self, answer: Result<Answer, Refused>) {
        let id = self.id;
        self.connection.send(&match answer {
            Ok(answer) => Reply::Answer { id, answer },
            Err(refused) => Reply::Refused { id, refused },
        });
        self.connection.settled_request();
    }

    fn waits(&self) -> bool {
        matches!(self.ask, Ask::TaskNext { wait: true, .. } | Ask::InboxRead { wait: true, .. })
    }
}

/// What the rest of the coordinator holds of a board.
#[derive(Debug)]
pub(crate) struct Board {
    pub(crate) root: Name,
    queue: RefCell<VecDeque<Job>>,
    wake: Notify,
    desk: RefCell<Desk>,
    timer_runs: std::cell::Cell<bool>,
    /// Set when the board can no longer serve; every job gets this answer.
    broken: RefCell<Option<Refused>>,
}

impl Board {
    pub(crate) fn push(&self, job: Job) {
        job.connection.took_request();
        if let Some(broken) = &*self.broken.borrow() {
            job.reply(Err(broken.clone()));
            return;
        }
        self.queue.borrow_mut().push_back(job);
        self.wake.notify_one();
    }

    pub(crate) fn with_state<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(self.desk.borrow().state())
    }

    /// Nothing will happen here unless somebody asks.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.queue.borrow().is_empty() && !self.timer_runs.get()
    }
}

/// Somebody who is sent every record.
#[derive(Debug)]
struct Follower {
    connection: Rc<Connection>,
    sent: Position,
}

/// A decided job whose answer waits for the log.
struct Decided {
    job: Job,
    what: What,
}

enum What {
    Answer(Result<Answer, Refused>),
    /// From its own records.
    Records {
        first: Position,
        last: Position,
    },
    /// From the log, once the batch is in it.
    Log,
}

/// The board's own side.
pub(crate) struct Worker {
    board: Rc<Board>,
    settings: Rc<Settings>,
    secrets: Rc<Secrets>,
    log: AnyLog,
    watch: EndWatch,
    shared: bool,
    clock: Monotonic,
    observed: Observed,
    look_at_ms: Option<u64>,
    /// When the board counts as at rest, unless something happens before.
    rest_at_ms: Option<u64>,
    /// When to try again to follow a log that could not be followed.
    follow_at_ms: Option<u64>,
    parked: Vec<Job>,
    followers: Vec<Follower>,
    snapshot: Position,
    /// Another writer's records were taken in since the last turn.
    news: bool,
    /// Where several write one log, the state as it was last confirmed: a lost race
    /// starts again from it instead of reading the whole log.
    mirror: Option<State>,
    /// Told when this board comes to rest or leaves it.
    changed: Rc<Notify>,
}

pub(crate) fn new(
    root: Name,
    opened: Opened,
    settings: &Rc<Settings>,
    secrets: &Rc<Secrets>,
    changed: &Rc<Notify>,
) -> (Rc<Board>, Worker) {
    let Opened { mut log, desk, snapshot } = opened;
    let watch = log.follow();
    let shared = matches!(settings.store, Store::Nats(_));
    let mirror = shared.then(|| desk.state().clone());
    let board = Rc::new(Board {
        root,
        queue: RefCell::default(),
        wake: Notify::new(),
        desk: RefCell::new(desk),
        timer_runs: std::cell::Cell::new(false),
        broken: RefCell::new(None),
    });
    let worker = Worker {
        board: Rc::clone(&board),
        settings: Rc::clone(settings),
        secrets: Rc::clone(secrets),
        log,
        watch,
        shared,
        clock: Monotonic::new(),
        observed: Observed::default(),
        look_at_ms: Some(0),
        rest_at_ms: None,
        follow_at_ms: None,
        parked: Vec::new(),
        followers: Vec::new(),
        snapshot,
        news: false,
        mirror,
        changed: Rc::clone(changed),
    };
    (board, worker)
}

/// Why a worker ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WorkerEnd {
    Stopped,
    /// The tree was deleted; its folder may be put away.
    Over,
    /// Nothing was ever recorded here: the request that would have begun it was refused.
    Empty,
    Broken(String),
}

impl Worker {
    /// Serves until told to stop, or until there is nothing left to serve.
    pub(crate) async fn run(mut self, stop: Rc<Notify>) -> WorkerEnd {
        loop {
            let board = Rc::clone(&self.board);
            let position = self.position();
            let soonest = [self.look_at_ms, self.rest_at_ms].into_iter().flatten().min();
            let look = until(soonest.map(|ms| self.clock.instant(ms)));
            let follow_again = self.follow_at_ms.map(|ms| self.clock.instant(ms));
            let shared = self.shared;
            let watch = &mut self.watch;
            let grown = async {
                match (shared, follow_again) {
                    (false, _) => std::future::pending().await,
                    (true, None) => watch.beyond(position).await.is_ok(),
                    (true, Some(at)) => {
                        tokio::time::sleep_until(at).await;
                        false
                    }
                }
            };
            tokio::select! {
                biased;
                () = stop.notified() => {
                    self.rest(1).await;
                    return WorkerEnd::Stopped;
                }
                () = board.wake.notified() => {}
                () = look => {}
                follows = grown => self.hear(follows).await,
            }
            if self.rest_at_ms.is_some_and(|at| at <= self.clock.now_ms()) {
                self.rest_at_ms = None;
                self.rest(SNAPSHOT_AT_REST).await;
            }
            if let Err(end) = self.turn().await {
                return end;
            }
            if !self.board.queue.borrow().is_empty() {
                continue;
            }
            let end = self.board.with_state(|state| match state.position {
                0 => Some(WorkerEnd::Empty),
                _ => state.is_over().then_some(WorkerEnd::Over),
            });
            if let Some(end) = end {
                let gone = translate::refusal(&Refusal::UnknownTeam { team: board.root.clone() });
                refuse(std::mem::take(&mut self.parked), &gone);
                return end;
            }
        }
    }

    /// Another writer appended, or it can no longer be told whether one did.
    async fn hear(&mut self, follows: bool) {
        self.follow_at_ms = None;
        if !follows {
            self.watch = self.log.follow();
        }
        if let Err(refused) = self.catch_up().await {
            eprintln!("{}", refused.message);
            self.follow_at_ms = Some(self.clock.now_ms() + FOLLOW_AGAIN_MS);
        }
    }

    fn position(&self) -> Position {
        self.board.with_state(|state| state.position)
    }

    async fn turn(&mut self) -> Result<(), WorkerEnd> {
        loop {
            let jobs: Vec<Job> = {
                let mut queue = self.board.queue.borrow_mut();
                let count = queue.len().min(TURN_MAX);
                queue.drain(..count).collect()
            };
            let due = self.look();
            if jobs.is_empty() && due.is_empty() && !std::mem::take(&mut self.news) {
                return Ok(());
            }
            self.serve(jobs, &due).await?;
            self.tell_followers().await;
            self.keep_snapshot().await;
        }
    }

    /// Decides jobs and due commands, appends, answers; again after a conflict.
    async fn serve(&mut self, jobs: Vec<Job>, due: &[Act]) -> Result<(), WorkerEnd> {
        let mut jobs = jobs;
        for _ in 0..CONFLICTS_MAX {
            let decided = self.decide(jobs, due);
            let (expected, texts) = self.batch();
            let only_reads = texts.is_empty() && !self.shared;
            let appended = match only_reads {
                true => Ok(expected),
                false => self.log.append(expected, &texts).await,
            };
            let failure = match appended {
                Ok(_) => {
                    let records = self.board.desk.borrow_mut().confirm();
                    if let Some(mirror) = &mut self.mirror {
                        records.iter().for_each(|record| shipmate_core::apply(mirror, record));
                    }
                    self.answer_all(decided, &records).await;
                    return Ok(());
                }
                Err(failure) => failure,
            };
            // The desk ran ahead of the log: throw it away, and those who waited wait again.
            let (again, parked): (Vec<Job>, Vec<Job>) =
                decided.into_iter().map(|decided| decided.job).partition(|job| !job.waits());
            self.parked.extend(parked);
            if let Err(mut refused) = self.rebuild().await {
                refused.message.push_str("; it is not known whether the request was carried out");
                return self.give_up(again, &refused);
            }
            match failure {
                AppendFailure::Conflict { .. } | AppendFailure::Unconfirmed(_) => jobs = again,
                AppendFailure::TooLarge { .. } if again.len() > 1 => {
                    return Box::pin(self.serve_one_by_one(again)).await;
                }
                AppendFailure::TooLarge { bytes, max } => {
                    let text = format!("the request needs {bytes} bytes in the log at once");
                    let remedy = format!("the limit is {max}; ask for less at once");
                    refuse(again, &refused("TooLarge", text, &remedy));
                    return Ok(());
                }
                AppendFailure::Full(text) => {
                    let remedy = "make room; nothing was lost and reading goes on";
                    refuse(again, &refused("LogFull", text, remedy));
                    return Ok(());
                }
                AppendFailure::Broken(text) => {
                    let remedy = "the coordinator starts anew with the next command";
                    return self.give_up(again, &refused("LogBroken", text, remedy));
                }
            }
        }
        let text = format!("other writers were faster {CONFLICTS_MAX} times");
        refuse(jobs, &refused("Busy", text, "ask again"));
        Ok(())
    }

    async fn serve_one_by_one(&mut self, jobs: Vec<Job>) -> Result<(), WorkerEnd> {
        for job in jobs {
            self.serve(vec![job], &[]).await?;
        }
        Ok(())
    }

    fn give_up(&mut self, jobs: Vec<Job>, refused: &Refused) -> Result<(), WorkerEnd> {
        refuse(jobs, refused);
        refuse(std::mem::take(&mut self.parked), refused);
        refuse(self.board.queue.borrow_mut().drain(..).collect(), refused);
        *self.board.broken.borrow_mut() = Some(refused.clone());
        Err(WorkerEnd::Broken(refused.message.clone()))
    }

    fn decide(&mut self, jobs: Vec<Job>, due: &[Act]) -> Vec<Decided> {
        let at = wall_ms();
        for act in due {
            let command = Command { by: Actor::Runtime, req: None, act: act.clone() };
            // A refusal means that the state has moved on, which is as good.
            let _moved_on = self.board.desk.borrow_mut().handle(at, &command);
        }
        let mut decided = Vec::with_capacity(jobs.len());
        for job in jobs {
            self.decide_one(at, job, &mut decided);
        }
        let something_happened = !self.board.desk.borrow().batch().1.is_empty();
        if something_happened || self.shared {
            self.parked.retain(|job| job.connection.is_listening());
            // Those who waited are told first: the others know that they asked just now.
            let asked = std::mem::take(&mut decided);
            for job in std::mem::take(&mut self.parked) {
                self.decide_one(at, job, &mut decided);
            }
            decided.extend(asked);
        }
        decided
    }

    fn decide_one(&mut self, at: u64, job: Job, decided: &mut Vec<Decided>) {
        let mut desk = self.board.desk.borrow_mut();
        let team = scene_team(&job, &self.board.root);
        let scene =
            Scene { state: desk.state(), actor: &job.actor, secrets: &self.secrets, team: &team };
        let what = match scene.act(&job.ask) {
            Err(refused) => What::Answer(Err(refused)),
            Ok(None) => match answer::from_state(&scene, &job.ask, self.log_word()) {
                Some(answer) => What::Answer(answer),
                None => What::Log,
            },
            Ok(Some(act)) => {
                // What is read leaves the state with that; take it while it is there.
                let unread = match act {
                    Act::ReadInbox { max } => answer::peek(scene.state, &job.actor, max),
                    _ => Vec::new(),
                };
                let before = scene.state.position;
                let req = Some(RequestId { client: job.client.clone(), counter: job.id });
                let command = Command { by: job.actor.clone(), req, act };
                let outcome = match scene.then(&job.ask) {
                    None => desk.handle(at, &command),
                    Some(then) => desk.handle_then(at, &command, then),
                };
                match outcome {
                    Outcome::Done { first, .. } if first > before && !unread.is_empty() => {
                        What::Answer(Ok(Answer::Messages(unread)))
                    }
                    Outcome::Done { first, last } => What::Records { first, last },
                    Outcome::Refused(Refusal::NothingAvailable { .. }) if job.waits() => {
                        drop(desk);
                        return self.park(job);
                    }
                    Outcome::Unchanged if job.waits() => {
                        drop(desk);
                        return self.park(job);
                    }
                    Outcome::Unchanged => What::Answer(Ok(unchanged(&job.ask))),
                    Outcome::Refused(refusal) => What::Answer(Err(translate::refusal(&refusal))),
                }
            }
        };
        drop(desk);
        decided.push(Decided { job, what });
    }

    /// Lets a request wait; it is owed nothing until there is something for it.
    fn park(&mut self, job: Job) {
        job.connection.settled_request();
        self.parked.push(job);
    }

    fn batch(&self) -> (Position, Vec<String>) {
        let desk = self.board.desk.borrow();
        let (expected, records) = desk.batch();
        let text = |record: &Record| serde_json::to_string(record).expect("a record is JSON");
        (expected, records.iter().map(text).collect())
    }

    fn log_word(&self) -> &'static str {
        match self.settings.store {
            Store::Sqlite(_) => "sqlite",
            Store::Nats(_) => "nats",
        }
    }

    /// Looks at the timers when it is time to, and says which commands are due.
    fn look(&mut self) -> Vec<Act> {
        let now = self.clock.now_ms();
        if self.look_at_ms.is_none_or(|at| at > now) {
            return Vec::new();
        }
        let board = Rc::clone(&self.board);
        let desk = board.desk.borrow();
        self.observed.look(desk.state(), now);
        let owed = outstanding(desk.state(), &self.observed, now);
        self.look_at_ms = owed.wake_at_ms;
        let runs = owed.wake_at_ms.is_some() || !owed.due.is_empty();
        if board.timer_runs.replace(runs) != runs {
            self.changed.notify_one();
        }
        owed.due
    }

    async fn tell_followers(&mut self) {
        self.followers.retain(|follower| follower.connection.is_open());
        let end = self.position();
        let mut followers = std::mem::take(&mut self.followers);
        for follower in &mut followers {
            while follower.sent < end && follower.connection.is_open() {
                let Ok(records) = answer::records(&mut self.log, follower.sent, 1000).await else {
                    follower.connection.close();
                    break;
                };
                if records.is_empty() {
                    break;
                }
                follower.sent += records.len() as u64;
                let team = self.board.root.to_string();
                follower.connection.send(&Reply::Notice(Notice::Records { team, records }));
            }
        }
        self.followers = followers;
    }

    /// A snapshot costs the size of the board, so it waits for that many records.
    async fn keep_snapshot(&mut self) {
        let (position, tasks) =
            self.board.with_state(|state| (state.position, state.tasks().len() as u64));
        if position - self.snapshot >= SNAPSHOT_EVERY.max(4 * tasks) {
            self.rest(SNAPSHOT_EVERY).await;
        }
    }

    /// Saves a snapshot if at least so many records came since the last.
    async fn rest(&mut self, records_min: u64) {
        let position = self.position();
        if position - self.snapshot >= records_min {
            let snapshot = self.board.with_state(open::snapshot);
            open::save(&mut self.log, &snapshot).await;
            self.snapshot = position;
        }
        self.log.rest().await;
    }

    /// Starts again from what the log has.
    async fn rebuild(&mut self) -> Result<(), Refused> {
        let state = match &mut self.mirror {
            Some(mirror) => {
                let read = open::fold_from(&mut self.log, mirror, u64::MAX).await;
                read.map_err(|e| read_refusal(&e))?;
                mirror.clone()
            }
            None => open::fold(&mut self.log).await.map_err(|e| read_refusal(&e))?.0,
        };
        *self.board.desk.borrow_mut() = Desk::new(state);
        Ok(())
    }

    /// Takes in what other writers appended.
    async fn catch_up(&mut self) -> Result<(), Refused> {
        loop {
            let after = self.position();
            let page = self.log.read(after, 4096).await.map_err(|e| read_refusal(&e))?;
            if page.is_empty() {
                return Ok(());
            }
            for entry in page {
                let record =
                    open::parse(&entry.text, entry.position).map_err(|e| read_refusal(&e))?;
                self.board.desk.borrow_mut().catch_up(&record);
                if let Some(mirror) = &mut self.mirror {
                    shipmate_core::apply(mirror, &record);
                }
                self.news = true;
            }
        }
    }
}

async fn until(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// The team a request is about: the one it names, the actor's own, or the root.
fn scene_team(job: &Job, root: &Name) -> Name {
    match (&job.team, &job.actor) {
        (Some(team), _) => team.clone(),
        (None, Actor::Teammate(who)) => who.address.team.clone(),
        (None, _) => root.clone(),
    }
}

fn unchanged(ask: &Ask) -> Answer {
    match ask {
        Ask::InboxRead { .. } => Answer::Messages(Vec::new()),
        _ => Answer::Unchanged,
    }
}

fn refuse(jobs: Vec<Job>, refused: &Refused) {
    for job in jobs {
        job.reply(Err(refused.clone()));
    }
}
