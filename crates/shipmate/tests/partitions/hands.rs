//! Clients on every machine: each creates tasks for the agents, and claims, gives back and completes tasks of
//! team `board` by hand. What they were told is kept, to be held against the log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use shipmate_model::event::Supervision;
use shipmate_protocol::answers::Changed;
use shipmate_protocol::client::TokenSource;
use shipmate_protocol::verbs::{self, TaskNew};
use shipmate_protocol::{Client, ClientFailure, Code};
use shipmate_testkit::Random;

use crate::claims::{Answered, Asked, Call, Hand};
use crate::fleet::{Ending, Fleet, Host};

/// From one request of a client to its next: enough that every fault meets some.
const PACE: Duration = Duration::from_millis(60);
/// A claim outlives the test unless somebody ends it.
const LEASE_MS: u64 = 3_600_000;
/// So many tasks are fought for at a time.
const CONTESTED: usize = 3;
/// More than a client ever holds.
const TASKS_HELD_MAX: u32 = 16;
/// More lives than a client ever has: they are numbered.
const LIVES_MAX: usize = 1_000;
/// Nobody runs out of tries: what is tested is that none of them counts twice.
const RETRIES_MAX: u32 = 1000;

/// What the clients were told.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) calls: Vec<Call>,
    /// Records that a client was told of: from, to, and what they must be about.
    pub(crate) done: Vec<Acknowledged>,
}

/// Something that a client was told is done, and durable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acknowledged {
    pub(crate) task: u32,
    pub(crate) event: &'static str,
    pub(crate) token: u64,
    /// The record, where it is not the token itself.
    pub(crate) at: u64,
}

/// The clients of team `board`, until the test is over.
pub(crate) struct Hands {
    threads: Vec<JoinHandle<()>>,
    told: Arc<Mutex<Told>>,
    over: Arc<Ending>,
}

impl Hands {
    /// One on each machine, with so many tasks to fight for.
    pub(crate) fn begin(fleet: &Fleet, tasks: u32, random: &mut Random) -> Hands {
        let new = |n: u32| TaskNew {
            subject: format!("contested {n}"),
            retries_max: Some(RETRIES_MAX),
            ..TaskNew::default()
        };
        let mut person = fleet.home().client("board", TokenSource::Person);
        let create = verbs::TaskCreate { tasks: (0..tasks).map(new).collect() };
        fleet.home().insist(&mut person, create).unwrap();
        let told = Arc::new(Mutex::new(Told::default()));
        let over = Arc::new(Ending::default());
        let (completed, clock) = (Arc::new(Mutex::new(BTreeSet::new())), Instant::now());
        let threads = fleet.hosts.iter().enumerate().map(|(n, host)| {
            let (told, completed) = (Arc::clone(&told), Arc::clone(&completed));
            let random = Random::new(random.draw());
            let one = One {
                hand: n * LIVES_MAX,
                client: host.client("board", TokenSource::Person),
                told,
                completed,
                tasks,
                held: BTreeMap::new(),
                clock,
                random,
            };
            let over = Arc::clone(&over);
            host.spawn(move |host| one.work(&host, &over))
        });
        let threads = threads.collect();
        Hands { threads, told, over }
    }

    /// What they were told, once they have stopped.
    pub(crate) fn end(self, fleet: &Fleet) -> Told {
        self.over.end();
        for thread in self.threads {
            if thread.join().is_err() {
                let log = fleet.home().ok(&["--team", "board", "log", "--after", "0"]);
                panic!("a client was told what it cannot be told\n{log}");
            }
        }
        std::mem::take(&mut *self.told.lock().unwrap())
    }
}

struct One {
    hand: Hand,
    client: Client,
    told: Arc<Mutex<Told>>,
    /// Tasks that are over, as far as anybody was told: the first of the others are fought for.
    completed: Arc<Mutex<BTreeSet<u32>>>,
    tasks: u32,
    /// The tokens of what it holds.
    held: BTreeMap<u32, u64>,
    clock: Instant,
    random: Random,
}

impl One {
    fn work(mut self, host: &Host, over: &Ending) {
        self.begin_life(host);
        while !over.is_over() {
            let Some(task) = self.contested() else { return };
            let asked = match self.held.get(&task).copied() {
                None => Asked::Claim,
                Some(_) if self.random.chance(200) => Asked::Claim,
                Some(token) if self.random.chance(200) => Asked::Complete { token },
                Some(token) => Asked::Release { token },
            };
            match self.ask(task, asked) {
                None => self.begin_life(host),
                // Each of these doubles what the checker has to look at: the next one waits for its turn.
                Some(Answered::Unknown) => {
                    let _now_it_is_there = host.insist(&mut self.client, verbs::Status);
                }
                Some(_) => {}
            }
            over.pass(PACE);
        }
    }

    /// One of the tasks that are fought for; nothing when all are over.
    fn contested(&mut self) -> Option<u32> {
        let completed = self.completed.lock().unwrap();
        let open = (1..=self.tasks).filter(|task| !completed.contains(task)).take(CONTESTED);
        let open: Vec<u32> = open.collect();
        drop(completed);
        self.random.pick(&open).copied()
    }

    /// Begins the next life, on this machine. It ends when the machine is lost, with all that it holds.
    fn begin_life(&mut self, host: &Host) {
        let mut person = host.client("board", TokenSource::Person);
        let token = loop {
            self.hand += 1;
            let name = format!("hand-{}", self.hand);
            let add = verbs::TeammateAdd {
                name: name.clone(),
                tasks_max: Some(TASKS_HELD_MAX),
                ..verbs::TeammateAdd::default()
            };
            if matches!(host.insist(&mut person, add), Err(code) if code != Code::TeammateExists) {
                return;
            }
            let start = verbs::TeammateStart { name, supervision: Supervision::None };
            match host.insist(&mut person, start) {
                Ok(started) => break started.token,
                // It has begun, and nobody was told its token: the next one is another.
                Err(Code::StillRunning) => {}
                Err(_) => return,
            }
        };
        self.held.clear();
        self.client = host.client("board", TokenSource::Given(token));
    }

    fn now(&self) -> u64 {
        self.clock.elapsed().as_nanos() as u64
    }

    /// Asks and keeps what it is told; nothing where its life is over.
    fn ask(&mut self, task: u32, asked: Asked) -> Option<Answered> {
        let from_ns = self.now();
        let id = task.to_string();
        let answered = match asked {
            Asked::Claim => {
                let claim = verbs::TaskClaim { task: id, lease_ms: Some(LEASE_MS) };
                self.client
                    .ask(claim)
                    .map(|claimed| claimed.map(|claimed| (claimed.token, claimed.token)))
            }
            Asked::Release { token } => {
                let release =
                    verbs::TaskRelease { task: id, token: Some(token), reason: String::new() };
                self.client.ask(release).map(|changed| Some((token, first_of(changed)?)))
            }
            Asked::Complete { token } => {
                let (token_given, result) = (Some(token), "done".to_owned());
                let complete =
                    verbs::TaskComplete { task: id, token: token_given, commit: None, result };
                self.client.ask(complete).map(|changed| Some((token, first_of(changed)?)))
            }
        };
        let to_ns = self.now();
        let (answered, at) = match answered {
            Ok(Some((token, at))) => (Answered::Done { token }, at),
            Ok(None) => panic!("{asked:?} of task {task} changed nothing"),
            Err(ClientFailure::Refused(refused)) => (meaning(refused.code, &refused.message)?, 0),
            // Whether it was carried out, or will be, nobody can tell.
            Err(_) => (Answered::Unknown, 0),
        };
        self.learn(task, asked, answered);
        let call = Call { hand: self.hand, task, asked, answered, from_ns, to_ns };
        let mut told = self.told.lock().unwrap();
        told.calls.push(call);
        if let Answered::Done { token } = answered {
            let event = match asked {
                Asked::Claim => "task.claimed",
                Asked::Release { .. } => "task.released",
                Asked::Complete { .. } => "task.completed",
            };
            told.done.push(Acknowledged { task, event, token, at });
        }
        Some(answered)
    }

    fn learn(&mut self, task: u32, asked: Asked, answered: Answered) {
        match (asked, answered) {
            (Asked::Claim, Answered::Done { token }) => drop(self.held.insert(task, token)),
            (_, Answered::Done { .. } | Answered::NotHeld) => drop(self.held.remove(&task)),
            _ => {}
        }
        let is_over = match asked {
            Asked::Complete { .. } => matches!(answered, Answered::Done { .. }),
            _ => answered == Answered::IsCompleted,
        };
        if is_over {
            self.completed.lock().unwrap().insert(task);
        }
    }
}

fn first_of(changed: Changed) -> Option<u64> {
    match changed {
        Changed::Done { first, .. } => Some(first),
        Changed::Unchanged => None,
    }
}

/// Nothing where the life that asked is over: then nothing was done.
#[track_caller]
fn meaning(code: Code, message: &str) -> Option<Answered> {
    Some(match code {
        Code::AlreadyClaimed => Answered::HeldByOther,
        Code::NotPending => Answered::IsCompleted,
        Code::StaleClaim | Code::NotInProgress => Answered::NotHeld,
        Code::LogUnavailable | Code::Busy => Answered::Unknown,
        Code::NotRunning | Code::StaleTeammate => return None,
        _ => panic!("an answer that nobody expects: {} {message}", code.as_str()),
    })
}

/// Has the person on each machine create tasks for the agents, one by one; the ids they were told.
pub(crate) fn create(fleet: &Fleet, each: usize) -> Vec<JoinHandle<Vec<u32>>> {
    let begin = |host: &Host| {
        host.spawn(move |host| {
            let mut client = host.client("alpha", TokenSource::Person);
            let mut told = Vec::new();
            for n in 0..each {
                let alias = format!("{}-{n}", host.name);
                let task = TaskNew {
                    subject: alias.clone(),
                    alias: Some(alias),
                    retries_max: Some(RETRIES_MAX),
                    ..TaskNew::default()
                };
                match host.insist(&mut client, verbs::TaskCreate { tasks: vec![task] }) {
                    Ok(created) => told.extend(created.tasks),
                    // It was done when nobody could say so.
                    Err(Code::AliasTaken) => {}
                    Err(code) => panic!("a task is refused: {}", code.as_str()),
                }
            }
            told
        })
    };
    fleet.hosts.iter().map(begin).collect()
}
