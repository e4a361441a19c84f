//! Hosts: machines that join, drain, leave and are lost; the home; and where a life is placed.
//!
//! As long as no machine has joined there is one, which is the home and has no name. Presence is an
//! observation: what is on record is that a boot of a host is there or lost. Whoever ran on a host
//! that is gone disappears by the commands that `outstanding` owes, one life after the other, and the
//! host comes back only when none of them is left: so no life is ever taken for one of another boot.

use std::collections::BTreeMap;

use shipmate_model::command::Act;
use shipmate_model::event::Event;
use shipmate_model::host::{HostSpec, Place};
use shipmate_model::limits::{HOSTS_MAX, SUBJECT_BYTES_MAX};
use shipmate_model::name::{Actor, Address, Name};
use shipmate_model::profile::Loss;
use shipmate_model::refusal::Refusal;
use shipmate_model::setup::TreeMode;
use shipmate_model::status::HostState;

use crate::health::span;
use crate::mail;
use crate::size::{check_count, check_texts};
use crate::state::{Host, State, Team, Teammate, current};

/// A machine says that it is there, at its start and whenever it finds that it is not on record.
pub(crate) fn decide_join(
    state: &State,
    by: &Actor,
    host: &Name,
    spec: &HostSpec,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "join a host")?;
    check_texts(&[
        ("the boot", &spec.boot, SUBJECT_BYTES_MAX),
        ("the place", &spec.place, SUBJECT_BYTES_MAX),
        ("the release", &spec.release, SUBJECT_BYTES_MAX),
    ])?;
    if spec.slots == 0 {
        return Err(Refusal::Zero { what: "the number of slots" });
    }
    check_count("the labels of a host", spec.labels.len(), HOSTS_MAX)?;
    check_count("the programs of a host", spec.programs.len(), HOSTS_MAX)?;
    check_count("the hooks of a host", spec.hooks.len(), HOSTS_MAX)?;
    check_count("the commits that a host lacks", spec.lacks.len(), HOSTS_MAX)?;
    let joined = || vec![Event::HostJoined { host: host.clone(), spec: spec.clone() }];
    let same_place = |(name, other): &(&Name, &Host)| {
        *name != host && other.is_there() && other.spec.place == spec.place
    };
    if let Some((name, _)) = state.hosts.iter().find(same_place) {
        return Err(Refusal::HostExists { host: name.clone() });
    }
    let home = state.home.as_ref().filter(|home| *home != host);
    if let Some(at_home) = home.and_then(|home| state.hosts.get(home))
        && at_home.spec.release != spec.release
    {
        let (release, home) = (spec.release.clone(), at_home.spec.release.clone());
        return Err(Refusal::OtherRelease { host: host.clone(), release, home });
    }
    match state.hosts.get(host) {
        None => {
            check_count("the hosts of a team", state.hosts.len() + 1, HOSTS_MAX)?;
            Ok(joined())
        }
        Some(before) if !before.is_there() => match lives_on(state, host).next() {
            Some(_) => Ok(Vec::new()),
            None => Ok(joined()),
        },
        Some(before) if before.spec.place != spec.place => {
            Err(Refusal::HostExists { host: host.clone() })
        }
        Some(before) if before.spec == *spec => Ok(Vec::new()),
        Some(before) if before.spec.boot == spec.boot => Ok(joined()),
        Some(before) => Ok(lost(host, before, None)),
    }
}

pub(crate) fn apply_joined(state: &mut State, host: &Name, spec: &HostSpec) {
    let before = state.hosts.get(host).map(|before| before.state);
    let draining = before == Some(HostState::Draining);
    let standing = if draining { HostState::Draining } else { HostState::Joined };
    state.hosts.insert(host.clone(), Host { spec: spec.clone(), state: standing, silent_ms: None });
    // The first one is where the team was, and whoever runs runs there.
    if state.home.is_none() {
        state.home = Some(host.clone());
        // What landed since then was told to nobody: whoever joins next waits until it is.
        state.branches.clear();
        for (who, mate) in state.teammates.iter_mut().filter(|(_, mate)| mate.is_running()) {
            mate.host = Some(host.clone());
            state.index.note(who);
        }
    }
}

/// Nobody is started there any more, or again.
pub(crate) fn decide_drain(
    state: &State,
    by: &Actor,
    host: &Name,
    draining: bool,
) -> Result<Vec<Event>, Refusal> {
    require_person(by, "drain a host")?;
    let found = require_there(state, host)?;
    match (found.state == HostState::Draining) == draining {
        true => Ok(Vec::new()),
        false => Ok(vec![Event::HostDraining { host: host.clone(), draining }]),
    }
}

/// `now`: also where lives are left there, which disappear with it.
pub(crate) fn decide_leave(
    state: &State,
    by: &Actor,
    host: &Name,
    now: bool,
) -> Result<Vec<Event>, Refusal> {
    require_person(by, "remove a host")?;
    let found = require_known(state, host)?;
    if found.state == HostState::Left {
        return Ok(Vec::new());
    }
    if state.home.as_ref() == Some(host) {
        // The last one there is goes: the team is on one machine again, as it was before hosts.
        return match state.hosts.iter().any(|(name, other)| name != host && other.is_there()) {
            true => Err(Refusal::HostIsHome { host: host.clone() }),
            false => Ok(vec![Event::HostLeft { host: host.clone() }]),
        };
    }
    if let Some((who, _)) = lives_on(state, host).next().filter(|_| !now) {
        return Err(Refusal::HostBusy { host: host.clone(), who: who.clone() });
    }
    let mut events = vec![Event::HostLeft { host: host.clone() }];
    let lead = state.root.as_ref().and_then(|root| state.lead_of(root));
    let text = format!("host {host} was removed: nobody runs there any more");
    events.extend(lead.and_then(|lead| mail::notice(state, &lead, text)));
    Ok(events)
}

pub(crate) fn apply_left(state: &mut State, host: &Name) {
    if state.home.as_ref() != Some(host) {
        state.host_mut(host).state = HostState::Left;
        return;
    }
    // Where its branches stood stays: it may not have got there itself.
    state.hosts.clear();
    state.home = None;
    for (who, mate) in &mut state.teammates {
        mate.host = None;
        state.index.note(who);
    }
}

/// An observer has missed its sign for a whole lease. Of another boot it says nothing. Of a home that is
/// lost already it says that there is somebody now who can be the home.
pub(crate) fn decide_lost(
    state: &State,
    by: &Actor,
    host: &Name,
    boot: &str,
    silent_ms: Option<u64>,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "report that a host was lost")?;
    let found = require_known(state, host)?;
    if found.state == HostState::Left || found.spec.boot != boot {
        return Ok(Vec::new());
    }
    let mut events = match found.is_there() {
        true => lost(host, found, silent_ms),
        false => Vec::new(),
    };
    events.extend(successor(state, host).map(|host| Event::HomeMoved { host: host.clone() }));
    Ok(events)
}

/// The home is lost, and there is a machine that can be it: also one that has joined since, or has got
/// the code since.
pub(crate) fn homeless(state: &State) -> Option<Act> {
    let (name, home) = state.hosts.get_key_value(state.home.as_ref()?)?;
    successor(state, name).filter(|_| home.state == HostState::Lost)?;
    let (host, boot) = (name.clone(), home.spec.boot.clone());
    Some(Act::ReportHostLost { host, boot, silent_ms: None })
}

/// Who becomes the home when it is lost: whoever says so has reached the log, so the server is not gone
/// with it. Only where all that the home has can be had elsewhere, its code and its hooks.
fn successor<'a>(state: &'a State, lost: &Name) -> Option<&'a Name> {
    let home = state.hosts.get(lost).filter(|_| state.home.as_ref() == Some(lost))?;
    let has_tree =
        |team: &Team| team.setup.trees.as_ref().is_some_and(|trees| trees.mode == TreeMode::Own);
    if !state.teams.values().all(has_tree) {
        return None;
    }
    let mut others = state.hosts.iter().filter(|(_, host)| {
        host.state == HostState::Joined
            && host.spec.lacks.is_empty()
            && home.spec.hooks == host.spec.hooks
    });
    others.find(|(name, _)| *name != lost).map(|(name, _)| name)
}

fn lost(host: &Name, found: &Host, silent_ms: Option<u64>) -> Vec<Event> {
    vec![Event::HostLost { host: host.clone(), boot: found.spec.boot.clone(), silent_ms }]
}

/// From now on merges, gates and phases are another machine's.
pub(crate) fn decide_move_home(
    state: &State,
    by: &Actor,
    host: &Name,
) -> Result<Vec<Event>, Refusal> {
    require_person(by, "move the home")?;
    let found = require_there(state, host)?;
    if !found.spec.lacks.is_empty() {
        return Err(Refusal::HostLacksCode { host: host.clone() });
    }
    match state.home.as_ref() == Some(host) {
        true => Ok(Vec::new()),
        false => Ok(vec![Event::HomeMoved { host: host.clone() }]),
    }
}

/// Where a branch stands, for the hosts that have to get it.
pub(crate) fn decide_branch(
    state: &State,
    by: &Actor,
    branch: &Name,
    commit: &str,
    from: Option<&str>,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "report where a branch stands")?;
    check_texts(&[("the commit", commit, SUBJECT_BYTES_MAX)])?;
    let known = state.branches.get(branch).map(String::as_str);
    if state.hosts.is_empty() || known != from || known == Some(commit) {
        return Ok(Vec::new());
    }
    Ok(vec![Event::BranchMoved { branch: branch.clone(), commit: commit.to_owned() }])
}

fn require_person(by: &Actor, what: &'static str) -> Result<(), Refusal> {
    match by {
        Actor::Person => Ok(()),
        _ => Err(Refusal::NotTheirs { by: by.clone(), what }),
    }
}

fn require_known<'a>(state: &'a State, host: &Name) -> Result<&'a Host, Refusal> {
    let hosts = || state.hosts.keys().cloned().collect();
    let unknown = || Refusal::UnknownHost { host: host.clone(), hosts: hosts() };
    state.hosts.get(host).ok_or_else(unknown)
}

fn require_there<'a>(state: &'a State, host: &Name) -> Result<&'a Host, Refusal> {
    let found = require_known(state, host)?;
    match found.is_there() {
        true => Ok(found),
        false => Err(Refusal::HostGone { host: host.clone(), state: found.state.word() }),
    }
}

/// Lives that are on record as running on a host.
pub fn lives_on<'a>(
    state: &'a State,
    host: &'a Name,
) -> impl Iterator<Item = (&'a Address, &'a Teammate)> {
    state.running_on(Some(host))
}

/// Whoever ran on a host that is gone has disappeared with it.
pub(crate) fn disappeared(state: &State) -> Vec<Act> {
    let mut lost = Vec::new();
    for (host, found) in state.hosts.iter().filter(|(_, found)| !found.is_there()) {
        let reason = || match (found.state, found.silent_ms) {
            (HostState::Left, _) => format!("its machine {host} was removed"),
            (_, Some(ms)) => format!("its machine {host} was silent for {}", span(ms)),
            (_, None) => format!("its machine {host} was started again"),
        };
        lost.extend(lives_on(state, host).map(|(address, mate)| Act::ReportDisappeared {
            who: current(address, mate),
            reason: reason(),
            loss: Loss::Host,
        }));
    }
    lost
}

/// Says where somebody may run. A life that runs stays where it is.
pub(crate) fn decide_place(
    state: &State,
    by: &Actor,
    who: &Address,
    place: &Place,
) -> Result<Vec<Event>, Refusal> {
    let mate = state.require_member(who)?;
    state.require_manager(by, &who.team, "say where a teammate runs")?;
    check_count("the labels of a teammate", place.labels.len(), HOSTS_MAX)?;
    require_not_left(state, place)?;
    match mate.profile.place == *place {
        true => Ok(Vec::new()),
        false => Ok(vec![Event::TeammatePlaced { who: who.clone(), place: place.clone() }]),
    }
}

/// A machine that is away is waited for; one that was removed is not.
pub(crate) fn require_not_left(state: &State, place: &Place) -> Result<(), Refusal> {
    let found = place.host.as_ref().and_then(|host| state.hosts.get_key_value(host));
    match found.filter(|(_, host)| host.state == HostState::Left) {
        Some((host, found)) => {
            Err(Refusal::HostGone { host: host.clone(), state: found.state.word() })
        }
        None => Ok(()),
    }
}

/// How many run where.
pub(crate) type Loads = BTreeMap<Name, u32>;

/// Where a teammate's next life runs; nothing while there is one machine only.
///
/// Among the hosts that it may run on and that have a free slot: the one it last ran on, which has its
/// tree; then the least loaded; then the home. Who has no tree of its own works on files that are at the
/// home only, and runs elsewhere only where somebody said so.
pub(crate) fn place(
    state: &State,
    who: &Address,
    mate: &Teammate,
    loads: &Loads,
) -> Result<Option<Name>, Refusal> {
    let wanted = &mate.profile.place;
    let nowhere = |why| Refusal::NoHost { who: who.clone(), why };
    if state.hosts.is_empty() {
        return match wanted.is_anywhere() {
            true => Ok(None),
            false => Err(nowhere("no other machine has joined")),
        };
    }
    let trees = state.teams[&who.team].setup.trees.as_ref();
    let stays = wanted.is_anywhere() && trees.is_none_or(|trees| trees.mode != TreeMode::Own);
    let takes = |(name, host, _): &(&Name, &Host, u32)| {
        host.state == HostState::Joined
            && (!stays || state.home.as_ref() == Some(*name))
            && trees.is_none_or(|trees| !host.spec.lacks.contains(&trees.base))
            && wanted.host.as_ref().is_none_or(|wanted| wanted == *name)
            && wanted.labels.is_subset(&host.spec.labels)
            && (mate.profile.agent.is_empty() || host.spec.programs.contains(&mate.profile.agent))
    };
    let fit: Vec<(&Name, &Host, u32)> = loaded(state, loads).filter(takes).collect();
    if fit.is_empty() {
        return Err(nowhere(match stays {
            true => "it has no tree of its own, and the home does not take it",
            false => "no host that is there has its program, its labels and its team's code",
        }));
    }
    let free = fit.into_iter().filter(|(_, host, load)| *load < host.spec.slots);
    let best = free.min_by_key(|(name, host, load)| {
        let is_last = mate.host.as_ref() == Some(name);
        let share = u64::from(*load) * 1_000 / u64::from(host.spec.slots);
        (!is_last, share, state.home.as_ref() != Some(name), *name)
    });
    match best {
        Some((name, ..)) => Ok(Some(name.clone())),
        None => Err(nowhere("every host that it may run on is full")),
    }
}

/// Where a teammate's next life would begin now; nothing where that is nowhere, or there is one machine only.
pub fn next_host(state: &State, who: &Address) -> Option<Name> {
    let mate = state.teammates.get(who)?;
    place(state, who, mate, state.loads()).ok().flatten()
}

/// Every host with its load. Both are in the order of their names, so that none is searched for.
fn loaded<'a>(
    state: &'a State,
    loads: &'a Loads,
) -> impl Iterator<Item = (&'a Name, &'a Host, u32)> {
    let mut loads = loads.iter().peekable();
    state.hosts.iter().map(move |(name, host)| {
        while loads.next_if(|(other, _)| *other < name).is_some() {}
        let load = loads.next_if(|(other, _)| *other == name);
        (name, host, load.map_or(0, |(_, load)| *load))
    })
}
