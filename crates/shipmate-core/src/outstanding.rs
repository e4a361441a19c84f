//! What the world still owes the state: effects to carry out, timers to watch.
//!
//! Effects are derived, never fired: starting and restarting after a crash are the
//! same path. Time comes from the observer's monotonic clock. A timer begins when
//! this observer first sees its cause, so a restart or a jump of the wall clock can
//! make it late, and never early.

use std::collections::{BTreeMap, BTreeSet};

use crate::command::{Act, Probe};
use crate::event::{MessageId, Recipient, ShutdownId, Supervision, TaskId, Token};
use crate::limits::{OPEN_MS, PROBE_MS, STRIKE_MS};
use crate::name::{Name, Position, TeammateRef};
use crate::state::{BreakerPhase, Delivery, ShutdownEnd, State};
use crate::teammate;

/// Something that ends when enough time passes without a change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Watch {
    Lease { task: TaskId, token: Token, renewal: u32 },
    Shutdown { shutdown: ShutdownId },
    Strike { team: Name, strike: Position },
    OpenBreaker { team: Name, opened: Position },
    Probe { team: Name, half_opened: Position },
}

/// What one observer has seen on its own clock; never part of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    since_ms: BTreeMap<Watch, u64>,
    /// Teammates whose supervisor is connected here.
    pub connected: BTreeSet<TeammateRef>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// End this life's process tree.
    EndProcess { who: TeammateRef },
    /// Run the gates on this submission.
    Verify { task: TaskId, token: Token },
    /// Hand these messages to the supervisor of this teammate.
    Offer { to: TeammateRef, messages: Vec<MessageId> },
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
fn watches(state: &State) -> BTreeMap<Watch, u64> {
    let mut found = BTreeMap::new();
    for id in &state.leased {
        let claim = state.task(*id).and_then(|task| task.claim()).expect("a leased task is held");
        let (token, renewal) = (claim.token, claim.renewal);
        if let Some(lease_ms) = claim.lease_ms {
            found.insert(Watch::Lease { task: *id, token, renewal }, lease_ms);
        }
    }
    for (id, shutdown) in &state.shutdowns {
        if shutdown.end == ShutdownEnd::Open {
            found.insert(Watch::Shutdown { shutdown: *id }, shutdown.deadline_ms);
        }
    }
    for (name, team) in &state.teams {
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

fn when_over(watch: Watch) -> Act {
    match watch {
        Watch::Lease { task, token, renewal } => Act::ExpireClaim { task, token, renewal },
        Watch::Shutdown { shutdown } => Act::ExpireShutdown { shutdown },
        Watch::Strike { team, strike } => Act::ForgiveStrike { team, strike },
        Watch::OpenBreaker { team, opened } => Act::ProbeBreaker { team, opened },
        Watch::Probe { team, half_opened } => {
            Act::ReportProbe { team, half_opened, result: Probe::Silent }
        }
    }
}

impl Observed {
    /// Begins to watch what is new and forgets what is gone.
    pub fn look(&mut self, state: &State, now_ms: u64) {
        let running = watches(state);
        self.since_ms.retain(|watch, _| running.contains_key(watch));
        for watch in running.into_keys() {
            self.since_ms.entry(watch).or_insert(now_ms);
        }
    }
}

/// Costs what is in progress, never the board: it looks at claims with a lease,
/// submissions, open shutdowns, breakers and the mail of connected teammates.
pub fn outstanding(state: &State, observed: &Observed, now_ms: u64) -> Outstanding {
    let mut owed = Outstanding::default();
    for (watch, length_ms) in watches(state) {
        let Some(since) = observed.since_ms.get(&watch) else { continue };
        let end = since.saturating_add(length_ms);
        if end <= now_ms {
            owed.due.push(when_over(watch));
        } else {
            owed.wake_at_ms = Some(owed.wake_at_ms.map_or(end, |at| at.min(end)));
        }
    }
    for shutdown in state.shutdowns.values() {
        if shutdown.end == ShutdownEnd::Ending
            && let Ok(mate) = state.require_current(&shutdown.who)
            && teammate::ends_by_process(mate)
        {
            owed.effects.push(Effect::EndProcess { who: shutdown.who.clone() });
        }
    }
    for id in &state.submitted {
        let claim = state.task(*id).and_then(|task| task.claim()).expect("a submission is held");
        owed.effects.push(Effect::Verify { task: *id, token: claim.token });
    }
    for who in &observed.connected {
        owed.effects.extend(offer(state, who));
    }
    owed
}

fn offer(state: &State, who: &TeammateRef) -> Option<Effect> {
    let mate = state.require_current(who).ok()?;
    if mate.supervision == Supervision::None {
        return None;
    }
    let to = Recipient::Member(who.address.clone());
    let queued = |id: &&MessageId| state.messages[*id].waiting.get(&to) == Some(&Delivery::Queued);
    let messages: Vec<MessageId> = mate.inbox.iter().filter(queued).copied().collect();
    (!messages.is_empty()).then(|| Effect::Offer { to: who.clone(), messages })
}
