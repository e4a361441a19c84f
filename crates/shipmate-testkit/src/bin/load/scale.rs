//! The core with very many: hosts that join, teammates that are placed, work, write to each other and are
//! lost, all in one thread and without a log.
//!
//! The same is done by a small team first, so that what grows with the team shows as a ratio. A decision is
//! a command with its records applied; a look is what a coordinator does between turns, as one of the hosts.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shipmate_core::{Effect, Observed, Outcome, State, Writer, outstanding};
use shipmate_model::command::{Act, Command, CreateTeam, NewTask, StartTeammate, To};
use shipmate_model::event::{Event, MessageKind, TaskSpec, Verification};
use shipmate_model::host::HostSpec;
use shipmate_model::profile::{Profile, StartRule};
use shipmate_model::setup::{Setup, TreeMode, Trees};
use shipmate_model::{Actor, Address, Name, TeammateRef};
use shipmate_testkit::Random;

use crate::arguments::Arguments;
use crate::measure::{micros, now_ns, rate, timed, used};

/// The commit that the team begins at.
const BASE: &str = "0123456789012345678901234567890123456789";
/// A look after so many decisions: a busy coordinator decides that many in a turn.
const LOOK_EVERY: usize = 200;
/// Hosts that are lost at the end.
const LOST: usize = 3;

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let hosts: usize = arguments.number("hosts", 1000)?;
    let teammates: usize = arguments.number("teammates", 10_000)?;
    let tasks: usize = arguments.number("tasks", 30_000)?;
    arguments.finish()?;
    let before = used(std::process::id())?.rss_kib;
    let small = Team::new(10, 100, tasks)?.run()?;
    let between = used(std::process::id())?.rss_kib;
    let mut large = Team::new(hosts, teammates, tasks)?;
    let figures = large.run()?;
    let after = used(std::process::id())?.rss_kib;
    let mib = |kib: u64| (kib as f64 / 102.4).round() / 10.0;
    println!(
        "{}",
        json!({
            "workload": "scale", "small": small, "large": figures,
            "rss_before_mib": mib(before), "rss_between_mib": mib(between), "rss_mib": mib(after),
            "snapshot_bytes": serde_json::to_string(large.writer.state()).map_or(0, |text| text.len()),
        })
    );
    Ok(())
}

struct Team {
    writer: Writer,
    observed: Observed,
    hosts: usize,
    teammates: usize,
    tasks: usize,
    random: Random,
    /// How long each kind of decision took, in nanoseconds.
    took: BTreeMap<&'static str, Vec<u64>>,
    looks: Vec<u64>,
    now_ms: u64,
    decided: usize,
    spent_ns: u64,
}

fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

fn host(n: usize) -> Name {
    name(&format!("host-{n}"))
}

impl Team {
    fn new(hosts: usize, teammates: usize, tasks: usize) -> Result<Team, String> {
        let mut observed = Observed::default();
        // One of many: the lives that it sees are its own.
        observed.host = Some(host(hosts / 2));
        observed.host_lease_ms = Some(30_000);
        Ok(Team {
            writer: Writer::new(State::default()),
            observed,
            hosts,
            teammates,
            tasks,
            random: Random::new(7),
            took: BTreeMap::new(),
            looks: Vec::new(),
            now_ms: 1_000,
            decided: 0,
            spent_ns: 0,
        })
    }

    fn decide(&mut self, kind: &'static str, by: Actor, act: Act) -> Result<Vec<Event>, String> {
        let command = Command { by, req: None, act };
        let (took, outcome) = timed(|| self.writer.handle(self.now_ms, &command));
        self.took.entry(kind).or_default().push(took);
        self.spent_ns += took;
        self.decided += 1;
        if let Outcome::Refused(refusal) = outcome {
            return Err(format!("{kind} is refused: {refusal:?}"));
        }
        Ok(self.writer.confirm().into_iter().map(|record| record.event).collect())
    }

    /// What a coordinator owes now; every host has just given a sign.
    fn look(&mut self) -> shipmate_core::Outstanding {
        let start = now_ns();
        let state = self.writer.state();
        self.observed.host_signs =
            state.hosts.keys().map(|host| (host.clone(), self.now_ms)).collect();
        self.observed.look(state, self.now_ms);
        let owed = outstanding(state, &self.observed, self.now_ms);
        self.looks.push(now_ns() - start);
        owed
    }

    fn run(&mut self) -> Result<Value, String> {
        self.begin()?;
        let (began, first_look) = (self.decided, self.start()?);
        let starts = self.decided - began;
        let start_looks = micros(&std::mem::take(&mut self.looks));
        (self.decided, self.spent_ns) = (0, 0);
        self.work()?;
        let work = rate(self.decided, self.spent_ns.max(1));
        let looks = micros(&std::mem::take(&mut self.looks));
        let lost = self.lose()?;
        let took = self.took.iter().map(|(kind, took)| ((*kind).to_owned(), micros(took)));
        let took: serde_json::Map<String, Value> = took.collect();
        Ok(json!({
            "hosts": self.hosts, "teammates": self.teammates, "tasks": self.tasks,
            "starts": starts, "first_look_ms": first_look, "start_looks_us": start_looks,
            "decisions": self.decided, "decisions_per_s": work, "looks_us": looks,
            "loss": lost, "decision_us": took,
        }))
    }

    /// The team, its hosts, its members and its tasks.
    fn begin(&mut self) -> Result<(), String> {
        let (mode, base) = (TreeMode::Own, BASE.to_owned());
        let trees = Trees { mode, base, branch: None, preparation: Default::default() };
        let setup = Setup { trees: Some(trees), ..Setup::default() };
        let create = CreateTeam {
            team: name("t"),
            parent: None,
            description: String::new(),
            verification: Verification::default(),
            lead: None,
            setup: Box::new(setup),
        };
        self.decide("create a team", Actor::Person, Act::CreateTeam(create))?;
        // One slot more than needed: whoever is lost with a host has room elsewhere.
        let slots = self.teammates.div_ceil(self.hosts) as u32 + 1;
        for n in 0..self.hosts {
            let spec = HostSpec {
                boot: "boot".to_owned(),
                place: format!("place-{n}"),
                slots,
                labels: Default::default(),
                programs: ["claude".to_owned()].into(),
                hooks: Default::default(),
                lacks: Default::default(),
                release: String::new(),
                invitation: String::new(),
            };
            self.decide("join a host", Actor::Runtime, Act::JoinHost { host: host(n), spec })?;
        }
        for n in 0..self.teammates {
            let who = Address { team: name("t"), name: name(&format!("dev-{n}")) };
            let (agent, start) = ("claude".to_owned(), StartRule::WhenNeeded);
            let profile = Profile { agent, start, tasks_max: 1, ..Profile::default() };
            self.decide("add a teammate", Actor::Person, Act::AddTeammate { who, profile })?;
        }
        for first in (0..self.tasks).step_by(10_000) {
            let last = (first + 10_000).min(self.tasks);
            let tasks = (first..last).map(new_task).collect();
            let act = Act::CreateTasks { team: name("t"), tasks };
            self.decide("create 10,000 tasks", Actor::Person, act)?;
        }
        Ok(())
    }

    /// Starts everybody who is wanted; how long the first look took, in milliseconds.
    fn start(&mut self) -> Result<f64, String> {
        let mut first = None;
        loop {
            let owed = self.look();
            first.get_or_insert(self.looks[self.looks.len() - 1] as f64 / 1e6);
            let wanted = owed.effects.into_iter().filter_map(|effect| match effect {
                Effect::Start(wanted) => Some(wanted),
                _ => None,
            });
            let wanted: Vec<_> = wanted.collect();
            if wanted.is_empty() {
                return Ok(first.unwrap_or_default());
            }
            for one in wanted {
                let (who, supervision) = (one.who, one.supervision);
                let token_hash = "hash".to_owned();
                let start = StartTeammate { who, token_hash, supervision, at: None };
                self.decide("start a teammate", Actor::Runtime, Act::StartTeammate(start))?;
            }
        }
    }

    fn lives(&self) -> Vec<TeammateRef> {
        let running = self.writer.state().teammates.iter().filter(|(_, mate)| mate.is_running());
        running.map(|(who, mate)| TeammateRef { address: who.clone(), epoch: mate.epoch }).collect()
    }

    /// Everybody takes, renews, writes, reads and completes in a mixed order until nothing is left.
    fn work(&mut self) -> Result<(), String> {
        let lives = self.lives();
        let mut held: BTreeMap<usize, (u32, u64)> = BTreeMap::new();
        let mut left = self.tasks;
        while left > 0 {
            let at = self.random.index(lives.len());
            let by = Actor::Teammate(lives[at].clone());
            self.now_ms += 1;
            match held.get(&at).copied() {
                None => {
                    let act = Act::ClaimNext { lease_ms: Some(600_000) };
                    let events = match self.decide("claim the next task", by, act) {
                        Ok(events) => events,
                        // What is left is held by others.
                        Err(refused) if refused.contains("NothingAvailable") => {
                            let Some(holder) = held.keys().next().copied() else { break };
                            self.complete(&lives[holder], held.remove(&holder).expect("held"))?;
                            left -= 1;
                            continue;
                        }
                        Err(refused) => return Err(refused),
                    };
                    let claimed = events.iter().find_map(|event| match event {
                        Event::TaskClaimed { task, .. } => Some(*task),
                        _ => None,
                    });
                    let task = claimed.ok_or("a claim without its record")?;
                    held.insert(at, (task, self.writer.state().position));
                }
                Some((task, token)) => match self.random.below(4) {
                    0 => {
                        let act = Act::RenewClaim { task, token };
                        self.decide("renew a claim", by, act)?;
                    }
                    1 => {
                        let to = &lives[self.random.index(lives.len())];
                        let act = Act::SendMessage {
                            to: To::Name(to.address.name.clone()),
                            kind: MessageKind::Message,
                            body: "have a look at what I did there".to_owned(),
                            reply_to: None,
                        };
                        self.decide("send a message", by, act)?;
                        let reader = Actor::Teammate(to.clone());
                        self.decide("read the inbox", reader, Act::ReadInbox { max: 100 })?;
                    }
                    _ => {
                        held.remove(&at);
                        self.complete(&lives[at], (task, token))?;
                        left -= 1;
                    }
                },
            }
            if self.decided.is_multiple_of(LOOK_EVERY) {
                self.look();
            }
        }
        Ok(())
    }

    fn complete(&mut self, who: &TeammateRef, (task, token): (u32, u64)) -> Result<(), String> {
        let act =
            Act::CompleteTask { task, token: Some(token), commit: None, result: String::new() };
        self.decide("complete a task", Actor::Teammate(who.clone()), act).map(drop)
    }

    /// Hosts are lost with everybody on them.
    fn lose(&mut self) -> Result<Value, String> {
        let (lost_before, spent_before) = (self.decided, self.spent_ns);
        for n in 0..LOST.min(self.hosts - 1) {
            let (host, boot) = (host(n + 1), "boot".to_owned());
            let act = Act::ReportHostLost { host, boot, silent_ms: Some(30_000) };
            self.decide("lose a host", Actor::Runtime, act)?;
        }
        let owed = self.look();
        let look_us = self.looks.pop().unwrap_or_default() as f64 / 1e3;
        let mut lives = 0;
        for act in owed.due {
            if matches!(act, Act::ReportDisappeared { .. }) {
                lives += 1;
                self.decide("lose a life", Actor::Runtime, act)?;
            }
        }
        Ok(json!({
            "hosts": LOST, "lives": lives, "look_us": look_us,
            "decisions": self.decided - lost_before,
            "ms": (self.spent_ns - spent_before) as f64 / 1e6,
        }))
    }
}

fn new_task(n: usize) -> NewTask {
    let spec: TaskSpec =
        serde_json::from_value(json!({ "subject": format!("task {n}") })).expect("a task");
    NewTask { spec, blocked_by_new: Vec::new() }
}
