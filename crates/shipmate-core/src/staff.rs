//! Who should be running: as many as there are tasks for, and nobody retired early.
//!
//! A teammate that the runtime starts is wanted when a task is available to it that no
//! running one is about to take. It is let go only when nothing is left that could
//! become its task; a blocked task may still do so. Tasks whose files meet count as one:
//! a life that finds nothing to take is of no use. What was asked too early is asked again
//! with the next change, so counting a little low is safe and high is not.

use std::collections::BTreeMap;

use shipmate_model::command::{Act, Whom};
use shipmate_model::event::{MessageId, MessageKind, Supervision, Usage};
use shipmate_model::limits::BARREN_MAX;
use shipmate_model::name::{Address, Name, TeammateRef};
use shipmate_model::profile::StartRule;
use shipmate_model::refusal::Refusal;
use shipmate_model::status::HostState;

use crate::account;
use crate::host;
use crate::ready::Taken;
use crate::shutdown::{self, PHASE_COMPLETE};
use crate::state::{BreakerPhase, Course, Host, Life, State, Team, TeamPhase, Teammate, current};
use crate::task::claim::{another_for, available};
use crate::task::room::full_queue;
use crate::trial::needs_trial;
use crate::usage;

/// A life that should begin now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub who: Address,
    pub supervision: Supervision,
}

/// Why somebody who does not run is not started by the runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotStarted {
    /// A person starts it, or a session comes by itself.
    ByHand,
    Session,
    TeamPaused {
        reason: String,
    },
    Paused {
        reason: String,
    },
    /// It could not work, and waits until somebody says that it should go on.
    GivenUp,
    /// Somebody had it stopped.
    Dismissed,
    NoBudget,
    /// Its account has no room now.
    Parked,
    /// No host has room for it, or what it needs.
    NoHost {
        why: &'static str,
    },
    /// So much work waits to be merged that no more is handed out.
    QueueFull,
    NoTask,
    /// It is about to be, once the gate of its team is known to work.
    Untried,
    /// It is about to be.
    Wanted,
}

pub fn not_started(state: &State, who: &Address, mate: &Teammate) -> NotStarted {
    let team = &state.teams[&who.team];
    match mate.profile.start {
        StartRule::ByHand => NotStarted::ByHand,
        StartRule::Session => NotStarted::Session,
        StartRule::WhenNeeded => match (&team.paused, &mate.paused) {
            (Some(pause), _) => NotStarted::TeamPaused { reason: pause.describe() },
            (_, Some(pause)) => NotStarted::Paused { reason: pause.describe_for(who) },
            _ if mate.is_given_up() => NotStarted::GivenUp,
            _ if mate.dismissed => NotStarted::Dismissed,
            _ if account::is_parked(state, who, mate) => NotStarted::Parked,
            _ if !has_budget(state, who, mate) => NotStarted::NoBudget,
            _ if to_be_started(state).iter().any(|next| next.who == *who) => {
                match host::place(state, who, mate, state.loads()) {
                    Err(Refusal::NoHost { why, .. }) => NotStarted::NoHost { why },
                    _ if needs_trial(state, &who.team, team) => NotStarted::Untried,
                    _ => NotStarted::Wanted,
                }
            }
            _ if team.counts.pending > 0 && full_queue(state, &who.team).is_some() => {
                NotStarted::QueueFull
            }
            _ if team.counts.pending > 0 && account::held_back(state, who, mate).is_some() => {
                NotStarted::Parked
            }
            _ => NotStarted::NoTask,
        },
    }
}

/// Everybody who is to be started as soon as the gates of their teams are known to work.
pub fn to_be_started(state: &State) -> Vec<Wanted> {
    let open = state.teams.iter().filter(|(name, team)| is_open(state, name, team));
    let mut places = Places::of(state);
    let wanted = open.flat_map(|(name, team)| wanted_of(state, name, team, &mut places));
    wanted.map(|(wanted, _)| wanted).collect()
}

/// The hosts as they will be when those are started who were found before.
struct Places {
    loads: host::Loads,
    /// Where there are hosts at all, how many more may run on all of them.
    free: Option<u32>,
}

impl Places {
    fn of(state: &State) -> Places {
        let loads = state.loads().clone();
        let of_host = |(name, found): (&Name, &Host)| match found.state {
            HostState::Joined => {
                found.spec.slots.saturating_sub(loads.get(name).copied().unwrap_or_default())
            }
            _ => 0,
        };
        let free = (!state.hosts.is_empty()).then(|| state.hosts.iter().map(of_host).sum());
        Places { loads, free }
    }

    /// There is a host for it, on which it counts from now on.
    fn take(&mut self, state: &State, who: &Address, mate: &Teammate) -> bool {
        // Nobody is looked at one by one where all are full.
        if self.free == Some(0) {
            return false;
        }
        let place = host::place(state, who, mate, &self.loads);
        if let Ok(Some(host)) = &place {
            *self.loads.entry(host.clone()).or_default() += 1;
            self.free = self.free.map(|free| free.saturating_sub(1));
        }
        place.is_ok()
    }
}

/// Tasks could be taken, and whoever runs or may be started can take none of them: its role, its
/// scope or its name is another's, who cannot work.
pub fn nobody_takes(state: &State) -> bool {
    let none = Taken::default();
    let takes = |(who, mate): (&Address, &Teammate)| {
        let team = &state.teams[&who.team];
        let next = TeammateRef { address: who.clone(), epoch: mate.epoch + 1 };
        let who = if mate.is_running() { current(who, mate) } else { next };
        mate.paused.is_none()
            && (mate.is_running() || may_start(mate))
            && (!mate.leads_others(team) || team.is_left_to_lead())
            && another_for(state, &who, mate, &none).is_some()
    };
    let open = || state.teams.iter().filter(|(name, team)| is_open(state, name, team));
    open().any(|(_, team)| team.counts.pending > 0)
        && !available(state, 1).is_empty()
        && !open().any(|(name, _)| state.members_of(name).any(takes))
}

pub(crate) fn wanted(state: &State) -> Vec<Wanted> {
    let open = state.teams.iter().filter(|(name, team)| is_open(state, name, team));
    let tried = open.filter(|(name, team)| !needs_trial(state, name, team));
    let mut places = Places::of(state);
    let wanted = tried.flat_map(|(name, team)| wanted_of(state, name, team, &mut places));
    wanted.filter_map(|(wanted, has_place)| has_place.then_some(wanted)).collect()
}

/// Its teammates may be started. A playbook that is over, by its end or its failure, starts nobody.
pub(crate) fn is_open(state: &State, name: &Name, team: &Team) -> bool {
    let over = state.course_above(name).is_some_and(Course::is_over);
    team.phase == TeamPhase::Active && team.paused.is_none() && !over
}

/// Those of one team, whatever its gate says, and whether there is a host for each. Who has none leaves the
/// task to those who have.
fn wanted_of(state: &State, name: &Name, team: &Team, places: &mut Places) -> Vec<(Wanted, bool)> {
    let mut found = Vec::new();
    if team.counts.pending > 0 && full_queue(state, name).is_none() {
        found.extend(wanted_in(state, name, team, places));
    }
    let called = called(state, name, team, &found, places);
    found.extend(called);
    found
}

/// Those that can be talked to and have mail. A breaker lets one of them through as its probe,
/// where nobody is tried with a task.
fn called(
    state: &State,
    name: &Name,
    team: &Team,
    already: &[(Wanted, bool)],
    places: &mut Places,
) -> Vec<(Wanted, bool)> {
    let tried = |(wanted, has_place): &(Wanted, bool)| {
        *has_place && wanted.who.team == *name && wanted.supervision == Supervision::Supervised
    };
    let mut count = match team.breaker.phase {
        BreakerPhase::Closed => usize::MAX,
        BreakerPhase::HalfOpen { probe: None, .. } if !already.iter().any(tried) => 1,
        BreakerPhase::HalfOpen { .. } | BreakerPhase::Open { .. } => return Vec::new(),
    };
    let called = state.down_of(name).filter(|(who, mate)| {
        is_callable(state, team, mate)
            && has_budget(state, who, mate)
            && !already.iter().any(|(wanted, _)| wanted.who == **who)
    });
    let mut found = Vec::new();
    for (who, mate) in called {
        if count == 0 {
            break;
        }
        let has_place = places.take(state, who, mate);
        count -= usize::from(has_place);
        let supervision = Supervision::Supervised;
        found.push((Wanted { who: who.clone(), supervision }, has_place));
    }
    found
}

/// It has mail, and begins a life for that as soon as it can.
pub(crate) fn is_callable(state: &State, team: &Team, mate: &Teammate) -> bool {
    mate.profile.hears
        // A one-shot agent is there for a task; whoever plans them is not.
        && (!team.setup.one_shot || mate.leads_others(team))
        && has_word(state, team, mate)
        && may_start(mate)
}

/// Somebody's words wait for it. What the runtime has to say is acted on by a supervisor, or goes
/// with the next words; it alone is worth a life only to whoever leads others.
pub(crate) fn has_word(state: &State, team: &Team, mate: &Teammate) -> bool {
    use MessageKind::{Broadcast, Handoff, Message, PlanApprovalRequest, Question, WorkDone};
    let is_word = |id: &MessageId| {
        let kind = &state.messages[id].kind;
        matches!(kind, Message | Broadcast | Question | PlanApprovalRequest | WorkDone | Handoff(_))
    };
    mate.inbox.iter().any(is_word) || (mate.leads_others(team) && !mate.inbox.is_empty())
}

fn wanted_in(state: &State, name: &Name, team: &Team, places: &mut Places) -> Vec<(Wanted, bool)> {
    // Whoever the runtime started and has free hands takes one. A session, or a lead that
    // somebody started by hand, may never take any: nobody waits for it.
    let mut taken = Taken::default();
    // How many are about to take one, by their account.
    let mut begins: BTreeMap<&Name, usize> = BTreeMap::new();
    for (who, mate) in state.free_of(name).filter(|(who, mate)| is_about_to(state, who, mate)) {
        if let Some(next) = another_for(state, &current(who, mate), mate, &taken) {
            taken.add(next);
            mate.account.iter().for_each(|account| *begins.entry(account).or_default() += 1);
        }
    }
    let mut probing = false;
    let mut found = Vec::new();
    for (who, mate) in state.down_of(name) {
        let is_left_out = team.is_left_to_lead() && !mate.is_lead();
        if is_left_out || !may_start(mate) || !has_budget(state, who, mate) {
            continue;
        }
        let next = TeammateRef { address: who.clone(), epoch: mate.epoch + 1 };
        let Some(task) = another_for(state, &next, mate, &taken) else { continue };
        let others = mate.account.as_ref().and_then(|account| begins.get(account));
        if !account::has_room_beside(state, who, mate, others.copied().unwrap_or_default()) {
            continue;
        }
        if !places.take(state, who, mate) {
            let supervision = Supervision::Supervised;
            found.push((Wanted { who: who.clone(), supervision }, false));
            continue;
        }
        let supervision = match &team.breaker.phase {
            _ if team.setup.one_shot || mate.profile.one_shot => Supervision::OneShot,
            BreakerPhase::Closed => Supervision::Supervised,
            BreakerPhase::HalfOpen { probe: None, .. }
                if !std::mem::replace(&mut probing, true) =>
            {
                Supervision::Supervised
            }
            _ => Supervision::OneShot,
        };
        taken.add(task);
        mate.account.iter().for_each(|account| *begins.entry(account).or_default() += 1);
        found.push((Wanted { who: who.clone(), supervision }, true));
    }
    found
}

fn may_start(mate: &Teammate) -> bool {
    mate.profile.start == StartRule::WhenNeeded
        && mate.paused.is_none()
        && mate.barren < BARREN_MAX
        && !mate.dismissed
        && matches!(mate.life, Life::Added | Life::Disappeared { .. } | Life::Stopped { .. })
}

/// It runs, and the next thing it does is to take a task of the board.
fn is_about_to(state: &State, who: &Address, mate: &Teammate) -> bool {
    mate.is_running()
        && mate.profile.start == StartRule::WhenNeeded
        && mate.holds.is_empty()
        && mate.returned.is_empty()
        && mate.paused.is_none()
        && mate.shutdown.is_none()
        && !(mate.supervision == Supervision::OneShot && mate.claims > 0)
        && has_budget(state, who, mate)
        && account::held_back(state, who, mate).is_none()
}

/// It should take a task that is there, and does not: others wait for it in vain.
pub(crate) fn leaves_work(state: &State, who: &Address, mate: &Teammate) -> bool {
    let team = &state.teams[&who.team];
    team.phase == TeamPhase::Active
        && team.paused.is_none()
        && team.counts.pending > 0
        && full_queue(state, &who.team).is_none()
        && is_about_to(state, who, mate)
        && another_for(state, &current(who, mate), mate, &Taken::default()).is_some()
}

/// What is looked at instead of all teammates has everybody in it whom a look at all of them would find.
pub fn nobody_is_overlooked(state: &State) -> bool {
    let is_listed = |(who, mate): (&Address, &Teammate)| {
        let team = &who.team;
        let runs_here = || state.running_on(mate.host.as_ref()).any(|(one, _)| one == who);
        (!may_start(mate) || state.down_of(team).any(|(one, _)| one == who))
            && (!is_about_to(state, who, mate) || state.free_of(team).any(|(one, _)| one == who))
            && (!(mate.is_running() && mate.leaving)
                || state.leaving_of(team).any(|(one, _)| one == who))
            && (mate.is_running() == runs_here())
    };
    let mut loads = host::Loads::new();
    let takes_slot = |mate: &&Teammate| mate.is_running() && mate.supervision != Supervision::None;
    for host in state.teammates.values().filter(takes_slot).filter_map(|mate| mate.host.clone()) {
        *loads.entry(host).or_default() += 1;
    }
    state.index_is_true() && loads == *state.loads() && state.teammates.iter().all(is_listed)
}

/// Its budget has room, and its account.
fn has_budget(state: &State, who: &Address, mate: &Teammate) -> bool {
    usage::require_budget(state, who, mate, &Usage::default()).is_ok()
        && !account::is_parked(state, who, mate)
}

/// Somebody is not started by itself, because of what happened to it.
pub(crate) fn is_held_back(state: &State, team: &Name) -> bool {
    let held = |mate: &Teammate| {
        mate.profile.start == StartRule::WhenNeeded
            && !mate.is_running()
            && (mate.dismissed || mate.is_given_up())
    };
    state.members_of(team).any(|(_, mate)| held(mate))
}

/// Those who are to be asked to stop now.
pub(crate) fn retired(state: &State) -> Vec<Act> {
    let mut found = Vec::new();
    let active = |(_, team): &(&Name, &Team)| team.phase == TeamPhase::Active;
    for (name, team) in state.teams.iter().filter(active) {
        let mut going = leaving(state, name);
        going.extend(drained(state, name));
        if is_done(state, name, team) {
            let asked: Vec<&Address> = going.iter().map(|(who, ..)| *who).collect();
            let others = idle(state, name).into_iter().filter(|(who, ..)| !asked.contains(who));
            going.extend(others.collect::<Vec<_>>());
        }
        if shutdown::is_in_turn(team) {
            // One after the other, and whoever leads last.
            let asked = state.members_of(name).any(|(_, mate)| mate.shutdown.is_some());
            going.sort_by_key(|(_, mate, _)| mate.is_lead());
            going.truncate(if asked { 0 } else { 1 });
        }
        found.extend(going.into_iter().map(|(who, mate, reason)| Act::RequestShutdown {
            whom: Whom::Teammate(current(who, mate)),
            reason: reason.to_owned(),
            deadline_ms: team.setup.shutdown_ms,
        }));
    }
    found
}

/// A lead's further team is done with the phases it works in: until then its lead may have more for
/// it.
fn is_done(state: &State, name: &Name, team: &Team) -> bool {
    match state.course_above(name) {
        Some(course) => course.is_over() && team.counts.in_progress == 0,
        None => team.counts.are_done(),
    }
}

type Going<'a> = Vec<(&'a Address, &'a Teammate, &'static str)>;

/// Those that the team goes on without, and that wait for their turn to be asked.
fn leaving<'a>(state: &'a State, name: &'a Name) -> Going<'a> {
    let going = |mate: &Teammate| mate.shutdown.is_none() && !mate.stays;
    let members = state.leaving_of(name).filter(|(_, mate)| going(mate));
    members.map(|(who, mate)| (who, mate, PHASE_COMPLETE)).collect()
}

/// Those whose machine drains and who hold nothing: what they would take next is for who runs elsewhere.
fn drained<'a>(state: &'a State, name: &'a Name) -> Going<'a> {
    let drains = |mate: &Teammate| {
        let host = mate.host.as_ref().and_then(|host| state.hosts.get(host));
        host.is_some_and(|host| host.state == HostState::Draining)
    };
    if state.hosts.values().all(|host| host.state != HostState::Draining) {
        return Vec::new();
    }
    let idle = state.members_of(name).filter(|(_, mate)| {
        mate.is_running()
            && drains(mate)
            && mate.holds.is_empty()
            && mate.profile.start == StartRule::WhenNeeded
            && mate.shutdown.is_none()
            && !mate.leaving
            && !mate.stays
    });
    idle.map(|(who, mate)| (who, mate, "its machine drains")).collect()
}

/// Those for whom nothing is left to do.
fn idle<'a>(state: &'a State, name: &'a Name) -> Going<'a> {
    // Whoever leads from a session may have more to say to them.
    let led = state.members_of(name).any(|(_, mate)| {
        mate.is_lead() && mate.is_running() && mate.profile.start == StartRule::Session
    });
    let team = &state.teams[name];
    let idle = state.members_of(name).filter(move |(_, mate)| {
        mate.is_running()
            && !(led && mate.profile.hears)
            // It is about to hear what it was told: a lead that all is done, say.
            && !(mate.profile.hears && mate.paused.is_none() && has_word(state, team, mate))
            && mate.profile.start == StartRule::WhenNeeded
            && mate.shutdown.is_none()
            && !mate.leaving
            && !mate.stays
    });
    idle.map(|(who, mate)| (who, mate, "all work is done")).collect()
}

/// The teams that have work for somebody, and whose gate has to be tried first.
pub fn untried_gates(state: &State) -> Vec<Name> {
    let open = state.teams.iter().filter(|(name, team)| is_open(state, name, team));
    let untried = open.filter(|(name, team)| needs_trial(state, name, team));
    let mut places = Places::of(state);
    let wanted =
        untried.filter(|(name, team)| !wanted_of(state, name, team, &mut places).is_empty());
    wanted.map(|(name, _)| name.clone()).collect()
}
