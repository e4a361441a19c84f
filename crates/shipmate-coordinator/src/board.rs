//! One tree of teams: its log, its writer and everybody who waits for it.
//!
//! A turn drains the queue, decides everything, lets those who wait try again,
//! appends once and answers all. Nobody is answered before the log has confirmed.
//! Because the sender's record and the waiting reader's are decided in one turn, a
//! message reaches a waiting reader after one sync, not two.

mod away;
mod decide;
mod keep;
mod reads;
mod reply;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use shipmate_core::{Effect, Observed, Outstanding, State, Writer, outstanding};
use shipmate_log::{AnyLog, EndWatch, Line, Log as _};
use shipmate_model::{Act, Actor, Name, Position, Record, Refusal};
use shipmate_protocol::wire::Reply;
use shipmate_protocol::{Answer, Ask, Refused};
use tokio::sync::Notify;

use crate::clock::{Monotonic, wall_ms};
use crate::connection::{Connection, Reader};
use crate::open::Opened;
use crate::scene;
use crate::secret::Secrets;
use crate::settings::{Settings, Store};
use crate::signs::Signs;
use crate::verbs::{Way, way};
pub(crate) use away::away;
use reads::Reads;

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
/// How long a log that takes nothing is left alone.
const TELL_AGAIN_MS: u64 = 1_000;
/// How long a log that cannot be followed is left alone.
const FOLLOW_AGAIN_MS: u64 = 1_000;
/// Timers are looked at this long after a change at the latest; they may be late by
/// it and never early, and a busy board does not look after every turn.
const LOOK_AFTER_MS: u64 = 100;

const PARKED_LEAST: usize = 256;

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
    pub(crate) fn reply(&self, answer: Result<Answer, Refused>) {
        self.connection.send(&Reply::to(self.id, answer));
        self.connection.settled_request();
    }

    /// The team it is about: the one it names, the actor's own, or the root.
    pub(crate) fn about(&self, root: &Name) -> Name {
        match (&self.team, &self.actor) {
            (Some(team), _) => team.clone(),
            (None, Actor::Teammate(who)) => who.address.team.clone(),
            (None, _) => root.clone(),
        }
    }

    fn waits(&self) -> bool {
        matches!(way(&self.ask), Way::Decide(verb) if verb.waits())
    }
}

/// Whoever carries out what a board owes the world. It is told effects and records, and tells the board
/// acts; a board knows no more of it, and works without one.
pub(crate) trait Attendant: std::fmt::Debug {
    /// Carries out what is owed. Says whether there is anything here to look after.
    fn carry_out(self: Rc<Self>, effects: Vec<Effect>) -> bool;

    /// These records are durable.
    fn saw(self: Rc<Self>, records: &[Record]);

    /// Whether this machine may still say that, in the state that the board decides against.
    fn may_tell(&self, act: &Act) -> bool;
}

/// What the rest of the coordinator holds of a board.
#[derive(Debug)]
pub(crate) struct Board {
    pub(crate) root: Name,
    queue: RefCell<VecDeque<Job>>,
    wake: Notify,
    writer: RefCell<Writer>,
    timer_runs: std::cell::Cell<bool>,
    /// What the runtime itself has to tell, each with who says it.
    acts: RefCell<Vec<(Actor, Act)>>,
    pub(crate) signs: RefCell<Signs>,
    pub(crate) attendant: RefCell<Option<Rc<dyn Attendant>>>,
    /// Errands under way: gates, merges, hooks.
    pub(crate) busy: std::cell::Cell<usize>,
    /// Told when this board comes to rest or leaves it.
    changed: Rc<Notify>,
    looks: std::cell::Cell<bool>,
    /// A turn is under way; told when it is over.
    turning: std::cell::Cell<bool>,
    pub(crate) turned: Notify,
    /// Set when the board can no longer serve; every job gets this answer.
    broken: RefCell<Option<Refused>>,
    /// Set while the server that has the log is away or silent: every job gets this answer at once.
    away: RefCell<Option<Refused>>,
    /// The log can be read and confirms nothing that is written.
    confirms_nothing: std::cell::Cell<bool>,
    /// The line to the server that has the log, where this machine is a host.
    line: Option<Line>,
}

impl Reader for Board {
    fn wake(&self) {
        self.wake.notify_one();
    }
}

impl Board {
    /// This board as whoever waits for a client to have read.
    pub(crate) fn reader(self: &Rc<Self>) -> Rc<dyn Reader> {
        Rc::clone(self) as Rc<dyn Reader>
    }

    pub(crate) fn push(&self, job: Job) {
        job.connection.took_request();
        if let Some(broken) = &*self.broken.borrow() {
            job.reply(Err(broken.clone()));
            return;
        }
        if let Some(away) = self.told_away() {
            job.reply(Err(away));
            return;
        }
        self.queue.borrow_mut().push_back(job);
        self.wake.notify_one();
    }

    /// Has an act decided in the next turn. One that is refused has been overtaken.
    pub(crate) fn tell(&self, act: Act) {
        self.tell_as(Actor::Runtime, act);
    }

    pub(crate) fn tell_as(&self, by: Actor, act: Act) {
        self.acts.borrow_mut().push((by, act));
        self.wake.notify_one();
    }

    /// Nothing was ever asked of it: the worker notices, and ends.
    pub(crate) fn end_if_empty(&self) {
        self.wake.notify_one();
    }

    /// From here on every request gets this answer.
    pub(crate) fn close(&self, refused: Refused) {
        refuse(self.queue.borrow_mut().drain(..).collect(), &refused);
        *self.broken.borrow_mut() = Some(refused);
    }

    /// The same, and nothing is written any more: the coordinator ends with it.
    pub(crate) fn give_up(&self, refused: Refused) {
        self.close(refused);
        self.wake.notify_one();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.broken.borrow().is_some()
    }

    /// Waits for the end of the present turn, or of the next one.
    pub(crate) async fn turned(&self) {
        self.turned.notified().await;
    }

    /// An errand is done.
    pub(crate) fn rested(&self) {
        self.busy.set(self.busy.get() - 1);
        self.changed.notify_one();
    }

    /// Waits until everything that was told is decided and in the log.
    pub(crate) async fn settled(&self) {
        while !self.acts.borrow().is_empty() || self.turning.get() {
            self.turned.notified().await;
        }
    }

    /// Has the timers and effects looked at again.
    pub(crate) fn look(&self) {
        self.looks.set(true);
        self.wake.notify_one();
    }

    /// Goes on from this state, with nothing under way.
    fn renew(&self, state: State) {
        let anew = self.writer.borrow().anew(state);
        *self.writer.borrow_mut() = anew;
    }

    pub(crate) fn with_state<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(self.writer.borrow().state())
    }

    /// Something is recorded here.
    pub(crate) fn has_begun(&self) -> bool {
        self.with_state(|state| state.root.is_some())
    }

    /// Nothing will happen here unless somebody asks.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.queue.borrow().is_empty() && !self.timer_runs.get() && self.busy.get() == 0
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
    /// From the state or the log, once the batch is in it, when its turn comes.
    Read,
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
    /// There are processes, or there may be: effects are looked at after every turn.
    staffed: bool,
    /// When the board counts as at rest, unless something happens before.
    rest_at_ms: Option<u64>,
    /// What the log did not take, and when it is told again.
    put_off: Vec<(Actor, Act)>,
    put_off_until_ms: Option<u64>,
    /// When to try again to follow a log that could not be followed.
    follow_at_ms: Option<u64>,
    reads: Reads,
    parked: Vec<Job>,
    /// With so many, those are looked for that nobody waits for any more.
    parked_max: usize,
    followers: Vec<Follower>,
    snapshot: Position,
    /// Another writer's records were taken in since the last turn.
    news: bool,
    /// Where several write one log, the state as it was last confirmed: a lost race
    /// starts again from it instead of reading the whole log.
    mirror: Option<State>,
    /// Others' records that the mirror has and nobody was told of yet.
    untold: Vec<Record>,
    /// The server could not be asked where its log ends: until it can be, nothing is decided.
    is_stale: bool,
    /// Told when this board comes to rest or leaves it.
    changed: Rc<Notify>,
}

pub(crate) fn new(
    root: Name,
    opened: Opened,
    settings: &Rc<Settings>,
    secrets: &Rc<Secrets>,
    changed: &Rc<Notify>,
    line: Option<Line>,
) -> (Rc<Board>, Worker) {
    let Opened { mut log, writer, snapshot } = opened;
    let watch = log.follow();
    let shared = matches!(settings.store, Store::Nats(_));
    let mirror = shared.then(|| writer.state().clone());
    let board = Rc::new(Board {
        root,
        queue: RefCell::default(),
        wake: Notify::new(),
        writer: RefCell::new(writer),
        timer_runs: std::cell::Cell::new(false),
        acts: RefCell::default(),
        signs: RefCell::default(),
        attendant: RefCell::new(None),
        busy: std::cell::Cell::new(0),
        changed: Rc::clone(changed),
        looks: std::cell::Cell::new(false),
        turning: std::cell::Cell::new(false),
        turned: Notify::new(),
        broken: RefCell::new(None),
        away: RefCell::new(None),
        confirms_nothing: std::cell::Cell::new(false),
        line,
    });
    let mut observed = Observed::default();
    observed.host = settings.host.as_ref().map(|host| host.name.clone());
    let worker = Worker {
        board: Rc::clone(&board),
        settings: Rc::clone(settings),
        secrets: Rc::clone(secrets),
        log,
        watch,
        shared,
        clock: Monotonic::new(),
        observed,
        look_at_ms: Some(0),
        staffed: false,
        rest_at_ms: None,
        put_off: Vec::new(),
        put_off_until_ms: None,
        follow_at_ms: None,
        reads: Reads::default(),
        parked: Vec::new(),
        parked_max: PARKED_LEAST,
        followers: Vec::new(),
        snapshot,
        news: false,
        mirror,
        untold: Vec::new(),
        is_stale: false,
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
            let soonest = [self.look_at_ms, self.rest_at_ms, self.put_off_until_ms];
            let soonest = soonest.into_iter().flatten().min();
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
            let broken = self.board.broken.borrow().clone();
            if let Some(broken) = broken
                && let Err(end) = self.give_up(Vec::new(), &broken)
            {
                return end;
            }
            if self.rest_at_ms.is_some_and(|at| at <= self.clock.now_ms()) {
                self.rest_at_ms = None;
                self.rest(SNAPSHOT_AT_REST).await;
            }
            self.board.turning.set(true);
            let turned = self.turn().await;
            self.board.turning.set(false);
            self.board.turned.notify_waiters();
            if let Err(end) = turned {
                return end;
            }
            if !self.board.queue.borrow().is_empty() || self.reads.is_ready() {
                continue;
            }
            let end = self.board.with_state(|state| match state.position {
                0 => Some(WorkerEnd::Empty),
                _ => state.is_over().then_some(WorkerEnd::Over),
            });
            if let Some(end) = end {
                let gone = scene::refusal(&Refusal::UnknownTeam { team: board.root.clone() });
                refuse(std::mem::take(&mut self.parked), &gone);
                refuse(self.reads.take_all(), &gone);
                return end;
            }
        }
    }

    /// Another writer appended, or it can no longer be told whether one did.
    async fn hear(&mut self, follows: bool) {
        self.follow_at_ms = None;
        if self.is_away() || self.is_stale {
            // Nothing is asked of a server that is not there; it is looked again when it is.
            self.is_stale = true;
            self.follow_at_ms = Some(self.clock.now_ms() + FOLLOW_AGAIN_MS);
            return;
        }
        if !follows {
            self.watch = self.log.follow();
        }
        if let Err(refused) = self.catch_up().await {
            tracing::warn!(reason = ?refused.message, "the log is not followed");
            if self.board.is_passing(&refused) {
                self.tell_away(&refused);
            }
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
            let mut due = self.look();
            if self.is_stale && !self.is_fresh_again(&jobs, &mut due).await {
                return Ok(());
            }
            if !jobs.is_empty() || !due.is_empty() || std::mem::take(&mut self.news) {
                self.serve(jobs, &due).await?;
            } else if !self.has_readers() {
                return Ok(());
            }
            if self.is_stale {
                return Ok(());
            }
            self.answer_reads().await;
            self.tell_followers().await;
            self.keep_snapshot().await;
            if self.has_readers() {
                // Others are heard before they get the rest.
                self.board.wake.notify_one();
                tokio::task::yield_now().await;
                return Ok(());
            }
        }
    }

    fn here(&self) -> Option<&Name> {
        self.settings.host.as_ref().map(|host| &host.name)
    }

    fn log_word(&self) -> &'static str {
        match self.settings.store {
            Store::Sqlite(_) => "sqlite",
            Store::Nats(_) => "nats",
        }
    }

    /// Looks at the timers when it is time to, and says which commands are due.
    fn look(&mut self) -> Vec<(Actor, Act)> {
        let now = self.clock.now_ms();
        let board = Rc::clone(&self.board);
        let mut due = Vec::new();
        if board.looks.replace(false) || self.look_at_ms.is_some_and(|at| at <= now) {
            let owed = self.owed(now);
            self.look_at_ms = owed.wake_at_ms;
            let runs = owed.wake_at_ms.is_some() || !owed.due.is_empty();
            if board.timer_runs.replace(runs) != runs {
                self.changed.notify_one();
            }
            due.extend(owed.due.into_iter().map(|act| (Actor::Runtime, act)));
            if let Some(attendant) = board.attendant.borrow().clone() {
                self.staffed = attendant.carry_out(owed.effects);
            }
        }
        due.append(&mut board.acts.borrow_mut());
        if self.put_off_until_ms.is_some_and(|at| at <= now) {
            self.put_off_until_ms = None;
            due.append(&mut self.put_off);
        }
        due
    }

    fn owed(&mut self, now: u64) -> Outstanding {
        let writer = self.board.writer.borrow();
        {
            let signs = self.board.signs.borrow();
            self.observed.present.clone_from(&signs.present);
            self.observed.asked.clone_from(&signs.asked);
            self.observed.not_spawned.clone_from(&signs.not_spawned);
            let counts = signs.lives.iter().map(|(who, sign)| (who.clone(), sign.count));
            self.observed.progress = counts.collect();
            let heard = writer.state().hosts.keys().map(|host| {
                let count = signs.hosts.get(host).map_or(0, |(count, _)| *count);
                (host.clone(), count + signs.absences)
            });
            self.observed.host_signs = heard.collect();
            self.observed.host_lease_ms = signs.lease_ms();
            // A machine whose name another has sees no life and loses nobody.
            let file = self.settings.host.as_ref();
            let is_this = file.is_some_and(|file| {
                let found = writer.state().hosts.get(&file.name);
                found.is_none_or(|found| found.spec.place == file.id)
            });
            if file.is_some() && !is_this {
                (self.observed.host, self.observed.host_lease_ms) = (None, None);
            } else {
                self.observed.host = file.map(|file| file.name.clone());
            }
        }
        self.observed.wall_ms = Some(wall_ms());
        self.observed.look(writer.state(), now);
        outstanding(writer.state(), &self.observed, now)
    }
}

async fn until(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn refuse(jobs: Vec<Job>, refused: &Refused) {
    for job in jobs {
        job.reply(Err(refused.clone()));
    }
}

#[cfg(test)]
mod tests;
