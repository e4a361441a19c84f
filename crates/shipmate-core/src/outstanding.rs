//! What the world still owes the state: effects to carry out, timers to watch.
//!
//! Effects are derived, never fired: starting and restarting after a crash are the
//! same path. Time comes from the observer's monotonic clock. A timer begins when
//! this observer first sees its cause, so a restart or a jump of the wall clock can
//! make it late, and never early.

use std::collections::{BTreeMap, BTreeSet};

use shipmate_model::command::{Act, Probe};
use shipmate_model::event::{EscalationId, ShutdownId, Supervision, TaskId, Token};
use shipmate_model::limits::{OPEN_MS, PROBE_MS, SPAWN_FIRST_MS, SPAWN_TRIES_MAX, STRIKE_MS};
use shipmate_model::name::{Address, Name, Position, TeammateRef};
use shipmate_model::profile::Loss;

use crate::account;
use crate::escalation;
use crate::health;
use crate::host;
use crate::phase::{self, alone};
use crate::staff::{self, Wanted};
use crate::state::{
    BreakerPhase, ShutdownEnd, Standing, State, TeamPhase, Teammate, current, ends_by_process,
    waiting_for_an_answer,
};

/// Something that ends when enough time passes without a change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Watch {
    Lease {
        task: TaskId,
        token: Token,
        renewal: u32,
    },
    Shutdown {
        shutdown: ShutdownId,
    },
    Strike {
        team: Name,
        strike: Position,
    },
    OpenBreaker {
        team: Name,
        opened: Position,
    },
    Probe {
        team: Name,
        half_opened: Position,
    },
    /// The whole time of a team.
    Team {
        team: Name,
    },
    /// A level that an escalation lies with.
    Escalation {
        escalation: EscalationId,
        asked: Position,
    },
    /// Whoever does not want to stop, while others wait for it.
    Held {
        shutdown: ShutdownId,
    },
    /// The time in which there is a team, where a playbook has a cap.
    Cap {
        team: Name,
    },
    /// A phase with a deadline.
    Phase {
        team: Name,
        began: Position,
    },
    /// A teammate with a task, since the last sign of progress.
    Progress {
        who: TeammateRef,
        seen: u64,
        step: u32,
    },
    /// A supervisor that was asked for a sign of life.
    Answer {
        who: TeammateRef,
        asked: u64,
    },
    /// A host since its last sign.
    Host {
        host: Name,
        boot: String,
        seen: u64,
    },
    /// The pause before a supervisor is started that could not be.
    Spawn {
        who: TeammateRef,
        tries: u32,
    },
}

/// A supervisor that could not be started: no room on the disk, no process to be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotSpawned {
    pub tries: u32,
    pub reason: String,
}

/// What one observer has seen on its own clock; never part of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    since_ms: BTreeMap<Watch, u64>,
    /// Lives whose supervisor is there, or was started and is on its way.
    pub present: BTreeSet<TeammateRef>,
    /// Signs of progress, counted.
    pub progress: BTreeMap<TeammateRef, u64>,
    /// Supervisors that owe an answer, and to which question, counted from 1.
    pub asked: BTreeMap<TeammateRef, u64>,
    /// Lives whose supervisor could not be started yet.
    pub not_spawned: BTreeMap<TeammateRef, NotSpawned>,
    /// The host that this observer is, where it has joined: it sees only the lives there.
    pub host: Option<Name>,
    /// How long a host may be silent; nothing where this observer hears none.
    pub host_lease_ms: Option<u64>,
    /// Signs of other hosts, counted. What is heard again after a silence of the line itself counts
    /// for all of them.
    pub host_signs: BTreeMap<Name, u64>,
    /// What the wall clock shows; nothing where this observer has none.
    pub wall_ms: Option<u64>,
    /// The signs that had been seen when a teammate was found to stall.
    stalled_at: BTreeMap<TeammateRef, u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// End this life's process tree.
    EndProcess { who: TeammateRef },
    /// Begin a life: record it first, then `Spawn` is owed.
    Start(Wanted),
    /// Start the supervisor of a life that was recorded and has none.
    Spawn { who: TeammateRef },
    /// See whether the next phase of a team can begin, and begin it.
    EnterPhase { team: Name },
    /// Look at the end of a phase whose tasks are settled.
    LeavePhase { team: Name },
    /// Run the gate on what the team has, before anybody is started.
    TryGate { team: Name },
    /// Merge this submission and run the gates on it.
    Verify { task: TaskId, token: Token },
}

/// What is owed now, and when to look again.
#[derive(Debug, Clone, Default)]
pub struct Outstanding {
    /// Commands whose time has come; safe to give twice.
    pub due: Vec<Act>,
    pub effects: Vec<Effect>,
    pub wake_at_ms: Option<u64>,
}

/// Every timer that runs in this state, with its length.
fn watches(state: &State, observed: &Observed) -> BTreeMap<Watch, u64> {
    let mut found = BTreeMap::new();
    let waiting = waiting_for_an_answer(state);
    for (address, mate) in observed.seen_lives(state) {
        let (who, setup) = (current(address, mate), &state.teams[&address.team].setup);
        if let Some(asked) = observed.asked.get(&who) {
            let watch = Watch::Answer { who: who.clone(), asked: *asked };
            found.insert(watch, setup.answer_ms);
        }
        let works = !mate.holds.is_empty()
            || !mate.returned.is_empty()
            || staff::leaves_work(state, address, mate);
        let is_held = mate.paused.is_some() || account::is_parked(state, address, mate);
        if setup.stall_ms > 0 && works && !is_held && !waiting.contains(&who) {
            let (seen, step) = (observed.seen(&who), mate.stalls + 1);
            let silence_ms = health::silence_ms(setup.stall_ms, step);
            found.insert(Watch::Progress { who, seen, step }, silence_ms);
        }
    }
    if let Some(lease_ms) = observed.host_lease_ms {
        let others = state.hosts.iter().filter(|(name, _)| observed.host.as_ref() != Some(name));
        for (name, host) in others.filter(|(_, host)| host.is_there()) {
            let seen = observed.host_signs.get(name).copied().unwrap_or_default();
            let (host, boot) = (name.clone(), host.spec.boot.clone());
            found.insert(Watch::Host { host, boot, seen }, lease_ms);
        }
    }
    for (who, failed) in &observed.not_spawned {
        let watch = Watch::Spawn { who: who.clone(), tries: failed.tries };
        found.insert(watch, spawn_pause_ms(failed.tries));
    }
    for id in &state.leased {
        let claim = state.task(*id).and_then(|task| task.claim()).expect("a leased task is held");
        let (token, renewal) = (claim.token, claim.renewal);
        if let Some(lease_ms) = claim.lease_ms {
            found.insert(Watch::Lease { task: *id, token, renewal }, lease_ms);
        }
    }
    for (id, shutdown) in &state.shutdowns {
        if shutdown.end == ShutdownEnd::Open {
            let watch = match shutdown.rejected {
                None => Watch::Shutdown { shutdown: *id },
                Some(_) => Watch::Held { shutdown: *id },
            };
            found.insert(watch, shutdown.deadline_ms);
        }
    }
    for (escalation, asked, level_ms) in escalation::watched(state) {
        found.insert(Watch::Escalation { escalation, asked }, level_ms);
    }
    for (name, team) in &state.teams {
        let at_work = |(who, mate): (&Address, &Teammate)| {
            mate.is_running() && !account::waits_for_room(state, who, mate)
        };
        let runs = || state.members_of(name).any(at_work);
        // Somebody waits for room, and nobody who has some is there.
        let is_parked = || {
            let mates =
                || state.teammates.iter().filter(|(who, _)| state.works_for(&who.team, name));
            mates().any(|(who, mate)| account::waits_for_room(state, who, mate))
                && !mates().any(at_work)
        };
        if let Some(timeout_ms) = team.setup.timeout_ms
            && team.phase == TeamPhase::Active
            && team.paused.is_none()
            && runs()
        {
            found.insert(Watch::Team { team: name.clone() }, timeout_ms);
        }
        if let Some(cap) = alone::running_cap(team)
            && team.phase == TeamPhase::Active
            && !is_parked()
        {
            found.insert(Watch::Cap { team: name.clone() }, cap.ms);
        }
        if let Some((_, phase, course)) = team.phase_now()
            && let Standing::Running { began, left_to_lead: None, .. } = course.standing
            && let Some(deadline_ms) = phase.deadline_ms
            && team.phase == TeamPhase::Active
            && team.paused.is_none()
            // What is left is the runtime's look at its end, which is not late.
            && !phase::is_settled(state, name, team)
            && !is_parked()
        {
            found.insert(Watch::Phase { team: name.clone(), began }, deadline_ms);
        }
        for strike in &team.breaker.strikes {
            found.insert(Watch::Strike { team: name.clone(), strike: *strike }, STRIKE_MS);
        }
        match &team.breaker.phase {
            // Before a probe is started there is nobody whose answer could be late.
            BreakerPhase::Closed | BreakerPhase::HalfOpen { probe: None, .. } => {}
            BreakerPhase::Open { at } => {
                found.insert(Watch::OpenBreaker { team: name.clone(), opened: *at }, OPEN_MS);
            }
            BreakerPhase::HalfOpen { at, .. } => {
                found.insert(Watch::Probe { team: name.clone(), half_opened: *at }, PROBE_MS);
            }
        }
    }
    found
}

fn spawn_pause_ms(tries: u32) -> u64 {
    SPAWN_FIRST_MS << tries.min(SPAWN_TRIES_MAX).saturating_sub(1)
}

/// The command whose time has come with the end of a timer; a pause just ends.
fn when_over(watch: Watch, length_ms: u64) -> Option<Act> {
    Some(match watch {
        Watch::Spawn { .. } => return None,
        Watch::Host { host, boot, .. } => {
            Act::ReportHostLost { host, boot, silent_ms: Some(length_ms) }
        }
        Watch::Team { team } | Watch::Cap { team } => Act::ExpireTeam { team },
        Watch::Phase { team, began } => Act::ExpirePhase { team, began },
        Watch::Progress { who, step, .. } => Act::ReportStalled { who, step },
        Watch::Answer { who, .. } => {
            Act::ReportDisappeared { who, reason: Loss::SILENT.to_owned(), loss: Loss::Silent }
        }
        Watch::Lease { task, token, renewal } => Act::ExpireClaim { task, token, renewal },
        Watch::Shutdown { shutdown } | Watch::Held { shutdown } => Act::ExpireShutdown { shutdown },
        Watch::Escalation { escalation, asked } => Act::RaiseEscalation { escalation, asked },
        Watch::Strike { team, strike } => Act::ForgiveStrike { team, strike },
        Watch::OpenBreaker { team, opened } => Act::ProbeBreaker { team, opened },
        Watch::Probe { team, half_opened } => {
            Act::ReportProbe { team, half_opened, result: Probe::Silent }
        }
    })
}

impl Observed {
    /// Begins to watch what is new and forgets what is gone.
    pub fn look(&mut self, state: &State, now_ms: u64) {
        let is_current = |who: &TeammateRef| state.require_current(who).is_ok();
        self.present.retain(is_current);
        self.progress.retain(|who, _| is_current(who));
        self.asked.retain(|who, _| is_current(who));
        self.not_spawned.retain(|who, _| is_current(who));
        self.stalled_at
            .retain(|who, _| state.teammates[&who.address].stalls > 0 && is_current(who));
        for (address, mate) in state.stalled() {
            let who = current(address, mate);
            let seen = self.seen(&who);
            self.stalled_at.entry(who).or_insert(seen);
        }
        let running = watches(state, self);
        self.since_ms.retain(|watch, _| running.contains_key(watch));
        for watch in running.into_keys() {
            self.since_ms.entry(watch).or_insert(now_ms);
        }
    }

    /// It is not yet time to try again, or the last try was the last.
    fn puts_off(&self, who: &TeammateRef, now_ms: u64) -> bool {
        let Some(failed) = self.not_spawned.get(who) else { return false };
        let watch = Watch::Spawn { who: who.clone(), tries: failed.tries };
        let since = self.since_ms.get(&watch);
        let over = since.is_some_and(|since| since + spawn_pause_ms(failed.tries) <= now_ms);
        failed.tries >= SPAWN_TRIES_MAX || !over
    }

    /// Lives with a supervisor, whose signs are seen on their own host only.
    fn seen_lives<'a>(
        &self,
        state: &'a State,
    ) -> impl Iterator<Item = (&'a Address, &'a Teammate)> {
        let here = self.host.as_ref();
        let own = here.into_iter().flat_map(|host| state.running_on(Some(host)));
        let all = state.running_on(None).chain(own);
        all.filter(|(_, mate)| mate.supervision != Supervision::None)
    }

    fn seen(&self, who: &TeammateRef) -> u64 {
        self.progress.get(who).copied().unwrap_or_default()
    }
}

/// Costs what is in progress and owed, never the board or the team: it looks at claims with a lease,
/// submissions, open shutdowns, breakers, hosts, the lives that this observer sees, who has free hands and
/// who does not run.
pub fn outstanding(state: &State, observed: &Observed, now_ms: u64) -> Outstanding {
    let mut owed = Outstanding::default();
    for (watch, length_ms) in watches(state, observed) {
        let Some(since) = observed.since_ms.get(&watch) else { continue };
        let end = since.saturating_add(length_ms);
        if end <= now_ms {
            owed.due.extend(when_over(watch, length_ms));
        } else {
            owed.wake_at_ms = Some(owed.wake_at_ms.map_or(end, |at| at.min(end)));
        }
    }
    if let Some(wall_ms) = observed.wall_ms {
        let (due, after_ms) = account::owed(state, wall_ms);
        owed.due.extend(due);
        let end = after_ms.map(|after| now_ms.saturating_add(after));
        owed.wake_at_ms = owed.wake_at_ms.into_iter().chain(end).min();
    }
    let moves = |who: &&TeammateRef| observed.stalled_at[*who] != observed.seen(who);
    let moving = observed.stalled_at.keys().filter(moves);
    owed.due.extend(moving.map(|who| Act::ReportStalled { who: who.clone(), step: 0 }));
    owed.due.extend(staff::retired(state));
    owed.due.extend(host::disappeared(state));
    owed.due.extend(host::homeless(state));
    for shutdown in state.shutdowns.values() {
        if matches!(shutdown.end, ShutdownEnd::Ending { .. })
            && let Ok(mate) = state.require_current(&shutdown.who)
            && ends_by_process(mate)
        {
            owed.effects.push(Effect::EndProcess { who: shutdown.who.clone() });
        }
    }
    for (name, team) in state.teams.iter().filter(|(_, team)| team.phase == TeamPhase::Active) {
        let Some(course) = team.course.as_ref().filter(|_| team.paused.is_none()) else { continue };
        if phase::is_settled(state, name, team) {
            owed.effects.push(Effect::LeavePhase { team: name.clone() });
        } else if course.awaits().is_some() {
            owed.effects.push(Effect::EnterPhase { team: name.clone() });
        }
    }
    for id in &state.submitted {
        let task = state.task(*id).expect("a submission is a task");
        let claim = task.claim().expect("a submission is held");
        if task.scope_question.is_none() {
            owed.effects.push(Effect::Verify { task: *id, token: claim.token });
        }
    }
    for (address, mate) in observed.seen_lives(state) {
        let who = current(address, mate);
        if !observed.present.contains(&who) && !observed.puts_off(&who, now_ms) {
            owed.effects.push(Effect::Spawn { who });
        }
    }
    let untried = crate::staff::untried_gates(state).into_iter();
    owed.effects.extend(untried.map(|team| Effect::TryGate { team }));
    let hopeless = observed.not_spawned.iter().filter(|(_, no)| no.tries >= SPAWN_TRIES_MAX);
    owed.due.extend(hopeless.map(|(who, NotSpawned { reason, .. })| {
        let reason = format!("its supervisor could not be started: {reason}");
        Act::ReportDisappeared { who: who.clone(), reason, loss: Loss::Unable }
    }));
    owed.effects.extend(staff::wanted(state).into_iter().map(Effect::Start));
    owed
}
