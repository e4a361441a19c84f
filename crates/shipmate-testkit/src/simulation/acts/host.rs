//! Machines: they join, drain, are lost, come back with an old or a new boot, and leave.

use std::collections::BTreeSet;

use shipmate_model::host::{HostSpec, Place};
use shipmate_model::{Act, Name};

use super::Chooser;
use crate::simulation::vocabulary::{self, HOSTS};

const BOOTS: [&str; 3] = ["boot-1", "boot-2", "boot-3"];
const LABELS: [&str; 2] = ["gpu", "arm"];

pub(super) fn place(c: &mut Chooser<'_>) -> Place {
    let host = c.random.chance(60).then(|| vocabulary::pick_name(c.random, &HOSTS));
    Place { host, labels: labels(c, 60) }
}

fn labels(c: &mut Chooser<'_>, chance: u32) -> BTreeSet<Name> {
    LABELS.iter().filter(|_| c.random.chance(chance)).map(|name| vocabulary::name(name)).collect()
}

pub(super) fn host(c: &mut Chooser<'_>) -> Name {
    vocabulary::pick_name(c.random, &HOSTS)
}

pub(super) fn join(c: &mut Chooser<'_>) -> Option<Act> {
    let host = host(c);
    let before = c.state.hosts.get(&host).map(|host| host.spec.clone());
    let boot = match before {
        Some(before) if c.random.chance(700) => before.boot,
        _ => BOOTS[c.random.index(BOOTS.len())].to_owned(),
    };
    // Now and then another machine with this name, or this machine with another name.
    let place = if c.random.chance(50) { "elsewhere" } else { host.as_str() }.to_owned();
    let programs = ["simulated", "simulated-too"].iter().take(1 + c.random.below(2) as usize);
    let spec = HostSpec {
        boot,
        place,
        slots: 1 + c.random.below(6) as u32,
        labels: labels(c, 700),
        programs: programs.map(|program| (*program).to_owned()).collect(),
        hooks: BTreeSet::new(),
        lacks: c.random.chance(100).then(|| "5eed".to_owned()).into_iter().collect(),
        release: if c.random.chance(40) { "2" } else { "1" }.to_owned(),
        invitation: String::new(),
    };
    Some(Act::JoinHost { host, spec })
}

pub(super) fn drain(c: &mut Chooser<'_>) -> Option<Act> {
    Some(Act::DrainHost { host: host(c), draining: c.random.chance(400) })
}

pub(super) fn leave(c: &mut Chooser<'_>) -> Option<Act> {
    Some(Act::LeaveHost { host: host(c), now: c.random.chance(300) })
}

pub(super) fn lost(c: &mut Chooser<'_>) -> Option<Act> {
    let host = host(c);
    let boot = match c.state.hosts.get(&host) {
        Some(found) if c.random.chance(800) => found.spec.boot.clone(),
        _ => BOOTS[c.random.index(BOOTS.len())].to_owned(),
    };
    let silent_ms = c.random.chance(800).then_some(30_000);
    Some(Act::ReportHostLost { host, boot, silent_ms })
}

pub(super) fn move_home(c: &mut Chooser<'_>) -> Option<Act> {
    Some(Act::MoveHome { host: host(c) })
}

pub(super) fn branch(c: &mut Chooser<'_>) -> Option<Act> {
    let commit = ["5eed", "1111111", "2222222"][c.random.index(3)].to_owned();
    let branch = c.team();
    let known = c.state.branches.get(&branch).cloned();
    let from = if c.random.chance(800) { known } else { Some("5eed".to_owned()) };
    Some(Act::ReportBranch { branch, commit, from })
}
