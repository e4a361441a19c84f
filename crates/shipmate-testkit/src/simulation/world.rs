//! One run: clients, coordinators and a log, and chance deciding who moves next.

mod append;
mod turns;

use shipmate_core::{State, apply};
use shipmate_log::MemoryLog;
use shipmate_model::Actor;
use shipmate_model::event::{Event, Record, ReleaseCause};

use super::checks::{Breach, Check, Checker, hold};
use super::client::Client;
use super::coordinator::{Coordinator, Queued};
use super::coverage::{Coverage, Fault};
use super::faults::Rates;
use super::{Trace, vocabulary};
use crate::Random;

/// More time than any lease of the simulated plans.
const LONGER_THAN_ANY_LEASE_MS: u64 = 601_000;

/// How much is asked of a tree of teams that is over.
const REQUESTS_AFTER_THE_END: u64 = 20;

#[derive(Debug)]
pub(super) struct World<'a> {
    random: Random,
    /// Wall clocks have a chance of their own, so that two runs can differ in nothing else.
    wall: Random,
    wall_ms: u64,
    rates: Rates,
    coordinators: Vec<Coordinator>,
    clients: Vec<Client>,
    log: MemoryLog,
    checker: Checker,
    coverage: Coverage,
    trace: &'a mut Trace,
    requests_max: u64,
    /// How much had been asked when the whole tree of teams ended.
    over_at: u64,
}

impl<'a> World<'a> {
    pub(super) fn new(seed: u64, wall: u64, trace: &'a mut Trace) -> World<'a> {
        let mut random = Random::new(seed);
        let mut wall = Random::new(seed.wrapping_mul(31).wrapping_add(wall));
        let log = MemoryLog::new();
        let rates = Rates::draw(&mut random);
        let many = [1, 2, 2, 3][random.index(4)];
        let coordinators =
            (0..many).map(|_| Coordinator::new(log.clone(), random.below(1_000_000))).collect();
        let person = |id: &str| Client::new(vocabulary::name(id), Actor::Person);
        World {
            wall_ms: 1_700_000_000_000 + wall.below(1_000_000_000),
            wall,
            rates,
            coordinators,
            clients: vec![person("p1"), person("p2")],
            log,
            checker: Checker::new(seed),
            coverage: Coverage { seeds: 1, ..Coverage::default() },
            trace,
            requests_max: random.between(90, 300),
            over_at: 0,
            random,
        }
    }

    /// To the end, and then the questions that only an end can answer.
    pub(super) fn run(mut self) -> Result<(Coverage, Vec<Record>), Breach> {
        while self.coverage.requests < self.requests_max {
            self.step()?;
            if self.checker.reference.is_over() {
                // Everything is refused from here on: a few more tries will do.
                self.requests_max = self.requests_max.min(self.over_at + REQUESTS_AFTER_THE_END);
            } else {
                self.over_at = self.coverage.requests;
            }
        }
        self.settle()?;
        self.let_leases_run_out()?;
        self.final_checks()?;
        Ok((self.coverage, self.checker.records))
    }

    fn step(&mut self) -> Check {
        let who = self.random.index(self.coordinators.len());
        match self.random.below(100) {
            0..36 => self.client_turn(),
            36..55 => self.decide(who),
            55..80 => self.append(who)?,
            80..88 => self.pass_time(),
            88..96 => self.timers(who),
            // Dear, and once in a while is what the real one does too.
            96 if self.random.chance(400) => self.save_snapshot(who),
            _ => self.catch_up(who)?,
        }
        Ok(())
    }

    /// Nothing goes wrong any more: whoever asked gets an answer.
    fn settle(&mut self) -> Check {
        self.rates = Rates::default();
        for coordinator in &mut self.coordinators {
            coordinator.suspended = false;
        }
        for _ in 0..1_000 {
            for who in 0..self.coordinators.len() {
                self.decide(who);
                self.append(who)?;
            }
            let waiting: Vec<usize> =
                (0..self.clients.len()).filter(|at| self.clients[*at].pending.is_some()).collect();
            let busy = self.coordinators.iter().any(|c| !c.queue.is_empty() || !c.batch.is_empty());
            if waiting.is_empty() && !busy {
                return Ok(());
            }
            for client in waiting {
                self.ask_again(client);
            }
        }
        hold("settles", false, || "some requests are never answered".to_owned())
    }

    /// G10: no task is held for ever either.
    fn let_leases_run_out(&mut self) -> Check {
        for _ in 0..3 {
            for who in 0..self.coordinators.len() {
                self.catch_up(who)?;
                self.coordinators[who].look();
                self.coordinators[who].clock_ms += LONGER_THAN_ANY_LEASE_MS;
                self.expire_now(who);
                while !self.coordinators[who].queue.is_empty() {
                    self.decide(who);
                    self.append(who)?;
                }
            }
        }
        let kept = self.checker.model.held().find(|(_, claim)| {
            claim.lease_ms.is_some() && claim.stage != super::model::StageFacts::Submitted
        });
        hold("G10", kept.is_none(), || format!("a lease never ran out: {kept:?}"))
    }

    fn final_checks(&mut self) -> Check {
        self.checker.whole_state()?;
        let folded = self.fold_whole_log();
        self.checker.compare("the log folded from its text", &folded)?;
        for who in 0..self.coordinators.len() {
            self.catch_up(who)?;
            let state = self.coordinators[who].writer.state();
            hold("replay", state.position == self.checker.model.end, || {
                format!("coordinator {who} does not know the whole log")
            })?;
            self.checker.compare("a writer", self.coordinators[who].writer.state())?;
        }
        self.g2_the_ledgers_agree_with_the_log()
    }

    /// Each client's own account of what it was told is done, against the log.
    fn g2_the_ledgers_agree_with_the_log(&mut self) -> Check {
        for client in &self.clients {
            let late = client.refused.iter();
            let late = late.filter(|req| self.checker.model.requests.contains_key(req));
            self.coverage.done_after_refusal += late.count() as u64;
            for (req, first, last) in &client.acknowledged {
                let found = self.checker.model.requests.get(req);
                hold("G2", found == Some(&(*first, *last)), || {
                    format!("{} was told {req:?} is {first} to {last}, found {found:?}", client.id)
                })?;
            }
        }
        Ok(())
    }

    /// From the text, as a process does that has nothing else.
    fn fold_whole_log(&self) -> State {
        let mut state = State::default();
        self.fold_tail(&mut state);
        state
    }

    fn fold_tail(&self, state: &mut State) {
        for line in self.log.read_now(state.position, usize::MAX) {
            let record = serde_json::from_str(&line.text).expect("what was appended can be read");
            apply(state, &record);
        }
    }

    fn catch_up(&mut self, who: usize) -> Check {
        let coordinator = &mut self.coordinators[who];
        if coordinator.batch.is_empty() {
            coordinator.catch_up(&self.checker.records);
            if self.random.chance(30) {
                self.checker.compare("a writer that caught up", coordinator.writer.state())?;
            }
        }
        Ok(())
    }

    /// Somebody's request arrives at a coordinator.
    fn enqueue(&mut self, who: usize, queued: Queued) {
        self.coordinators[who].queue.push_back(queued);
    }

    /// Things in the log that the coverage counts, and lives that begin.
    fn see(&mut self, record: &Record) {
        self.coverage.event(&record.event);
        match &record.event {
            Event::TeammateStarted { who, .. } => {
                if who.epoch > 1 {
                    self.coverage.fault(Fault::TeammateStartedAgain);
                }
                let id = vocabulary::name(&format!("c{}", record.n));
                self.clients.push(Client::new(id, Actor::Teammate(who.clone())));
            }
            Event::TeammateDisappeared { .. } => self.coverage.fault(Fault::TeammateDisappeared),
            Event::BreakerOpened { .. } => self.coverage.fault(Fault::BreakerOpened),
            Event::BreakerHalfOpened { .. } => self.coverage.fault(Fault::BreakerProbed),
            Event::TaskReleased { cause: ReleaseCause::Expired, .. } => {
                self.coverage.fault(Fault::LeaseRanOut);
            }
            _ => {}
        }
    }
}
