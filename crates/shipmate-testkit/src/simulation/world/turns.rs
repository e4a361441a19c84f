//! Turns of clients, clocks and timers.

use shipmate_core::{Effect, Wanted};
use shipmate_log::Snapshot;
use shipmate_model::command::{Command, StartTeammate};
use shipmate_model::event::Outcome;
use shipmate_model::profile::Loss;
use shipmate_model::{Act, Actor, TeammateRef};

use super::super::acts::{Chooser, phase, task};
use super::super::coordinator::Queued;
use super::super::coverage::Fault;
use super::super::vocabulary;
use super::World;

const HOUR_MS: u64 = 3_600_000;
const YEAR_MS: u64 = 365 * 24 * HOUR_MS;

impl World<'_> {
    /// A client asks something new, or again what was not answered.
    pub(super) fn client_turn(&mut self) {
        let Some(at) = self.pick_client() else { return };
        if self.clients[at].pending.is_some() {
            self.ask_again(at);
            return;
        }
        let mut chooser = Chooser {
            random: &mut self.random,
            state: &self.checker.reference,
            client: Some(&self.clients[at]),
            stale: self.rates.stale + 20,
            showed_stale_token: false,
        };
        let act = chooser.choose();
        let showed_stale_token = chooser.showed_stale_token;
        let Some(act) = act else { return };
        if showed_stale_token {
            self.coverage.fault(Fault::StaleTokenShown);
        }
        if !self.checker.model.is_present(&self.clients[at].who) {
            self.coverage.fault(Fault::StaleEpochActs);
        }
        // The end of a task and the next one in one request, as a teammate's tool call asks.
        let ends = matches!(act, Act::SubmitTask { .. } | Act::CompleteTask { .. });
        let next = (ends && self.random.chance(300)).then_some(Act::ClaimNext { lease_ms: None });
        let command = self.clients[at].ask(act, next.clone());
        self.coverage.requests += 1;
        let who = self.random.index(self.coordinators.len());
        self.enqueue(who, Queued { command, then: next, client: Some(at) });
    }

    /// A person as often as a quarter of the time; the dead and gone only now and then.
    fn pick_client(&mut self) -> Option<usize> {
        if self.clients.len() == 2 || self.random.chance(250) {
            return Some(self.random.index(2));
        }
        for _ in 0..6 {
            let at = 2 + self.random.index(self.clients.len() - 2);
            let current = self.checker.model.is_present(&self.clients[at].who);
            let zombie = self.rates.stale / 8 + 5;
            if current || self.random.chance(zombie) {
                return Some(at);
            }
        }
        None
    }

    /// The same request once more, there or at another coordinator.
    pub(super) fn ask_again(&mut self, at: usize) {
        let Some(pending) = &mut self.clients[at].pending else { return };
        let (lost, command, then) = (pending.lost, pending.command.clone(), pending.then.clone());
        if lost {
            pending.lost = false;
        } else if self.random.chance(self.rates.send_again) {
            self.coverage.fault(Fault::RequestTwiceInFlight);
        } else {
            return;
        }
        let who = self.random.index(self.coordinators.len());
        self.enqueue(who, Queued { command, then, client: Some(at) });
    }

    pub(super) fn pass_time(&mut self) {
        let passed_ms = match self.random.below(20) {
            0..13 => self.random.below(300),
            13..19 => self.random.below(8_000),
            _ => self.random.below(200_000),
        };
        self.wall_ms = self.wall_ms.saturating_add(passed_ms);
        if self.random.chance(self.rates.wall_jump) {
            self.coverage.fault(Fault::WallClockJump);
            let jump_ms = if self.wall.chance(500) { HOUR_MS } else { YEAR_MS };
            let back = self.wall.chance(500);
            let to =
                if back { self.wall_ms.saturating_sub(jump_ms) } else { self.wall_ms + jump_ms };
            self.wall_ms = to;
        }
        for coordinator in &mut self.coordinators {
            if coordinator.suspended {
                coordinator.suspended = !self.random.chance(500);
            } else if self.random.chance(self.rates.suspend) {
                coordinator.suspended = true;
                self.coverage.fault(Fault::ClockSuspended);
            }
            if !coordinator.suspended {
                coordinator.clock_ms += passed_ms;
            }
        }
    }

    /// The runtime's own commands: timers, effects carried out, and what happens to processes.
    pub(super) fn timers(&mut self, who: usize) {
        self.report_a_disappearance(who);
        self.random_runtime_act(who);
        let coordinator = &mut self.coordinators[who];
        // Timers are read off what the log has confirmed: a claim that is only decided may turn out
        // to be somebody else's, and its lease has not begun.
        let busy = !coordinator.batch.is_empty()
            || coordinator.queue.iter().any(|queued| queued.client.is_none());
        if coordinator.suspended || busy {
            return;
        }
        coordinator.hear(&mut self.random);
        let owed = coordinator.look();
        let mut acts = Vec::new();
        let mut kept = Vec::new();
        for act in std::mem::take(&mut coordinator.late) {
            let goes_on = self.random.chance(500);
            if goes_on { acts.push(act) } else { kept.push(act) }
        }
        for act in owed.due {
            if self.random.chance(self.rates.late_timer) {
                self.coverage.fault(Fault::LateTimer);
                kept.push(act);
            } else {
                acts.push(act);
            }
        }
        // A timer goes off again as long as it is due: keep no crowd of the same.
        kept.truncate(8);
        self.coordinators[who].late = kept;
        for effect in owed.effects {
            if self.random.chance(300) {
                acts.extend(self.carry_out(effect));
            }
        }
        for act in acts {
            self.runtime_asks(who, act);
        }
    }

    /// Every timer that is due, without chance.
    pub(super) fn expire_now(&mut self, who: usize) {
        for act in self.coordinators[who].look().due {
            self.runtime_asks(who, act);
        }
    }

    fn runtime_asks(&mut self, who: usize, act: Act) {
        let command = Command { by: Actor::Runtime, req: None, act };
        self.enqueue(who, Queued { command, then: None, client: None });
    }

    fn carry_out(&mut self, effect: Effect) -> Option<Act> {
        Some(match effect {
            Effect::EndProcess { who } => {
                let timed_out = self.random.chance(300);
                let outcome = if timed_out { Outcome::TimedOut } else { Outcome::Clean };
                Act::ReportStopped { who, outcome }
            }
            Effect::Verify { task, token } if self.random.chance(650) => {
                let (commit, result) = (Some("5eed".to_owned()), "green".to_owned());
                Act::CompleteTask { task, token: Some(token), commit, result }
            }
            Effect::Verify { task, token } if self.random.chance(300) => {
                let files = vocabulary::pick_files(&mut self.random);
                Act::AskScope { task, token, files, reason: "it changes more".to_owned() }
            }
            Effect::Verify { task, token } => {
                Act::ReturnTask { task, token, reason: "red".to_owned() }
            }
            Effect::TryGate { team } => task::tried_gate(team),
            Effect::Start(Wanted { who, supervision }) => {
                let token_hash = "hash".to_owned();
                Act::StartTeammate(StartTeammate { who, token_hash, supervision, at: None })
            }
            // Every supervisor is there in this world; `crew` is about those that are not.
            Effect::Spawn { .. } => return None,
            Effect::EnterPhase { team } => {
                let mut chooser = Chooser {
                    random: &mut self.random,
                    state: &self.checker.reference,
                    client: None,
                    stale: 0,
                    showed_stale_token: false,
                };
                return phase::enter(&mut chooser, &team);
            }
            Effect::LeavePhase { team } => {
                return phase::leave(&mut self.random, &self.checker.reference, &team);
            }
        })
    }

    fn report_a_disappearance(&mut self, who: usize) {
        if !self.random.chance(self.rates.disappear) {
            return;
        }
        let mates = self.checker.reference.teammates.iter().filter(|(_, mate)| mate.is_running());
        let running: Vec<TeammateRef> = mates
            .map(|(address, mate)| TeammateRef { address: address.clone(), epoch: mate.epoch })
            .collect();
        if let Some(gone) = self.random.pick(&running).cloned() {
            let host = self.random.chance(200);
            let (reason, loss) = ("killed".to_owned(), if host { Loss::Host } else { Loss::Died });
            self.runtime_asks(who, Act::ReportDisappeared { who: gone, reason, loss });
        }
    }

    fn random_runtime_act(&mut self, who: usize) {
        if !self.random.chance(250) {
            return;
        }
        let mut chooser = Chooser {
            random: &mut self.random,
            state: &self.checker.reference,
            client: None,
            stale: self.rates.stale + 20,
            showed_stale_token: false,
        };
        if let Some(act) = chooser.choose() {
            self.runtime_asks(who, act);
        }
    }

    /// Keeps the state as text, as of what the log has confirmed.
    pub(super) fn save_snapshot(&mut self, who: usize) {
        let coordinator = &self.coordinators[who];
        if !coordinator.batch.is_empty() {
            return;
        }
        let state = coordinator.writer.state();
        let text = serde_json::to_string(state).expect("a state is data");
        self.log.save_snapshot_now(&Snapshot { position: state.position, text });
        if self.random.chance(self.rates.damage) {
            self.coverage.fault(Fault::DamagedSnapshot);
            self.log.damage_snapshot();
        }
    }
}
