//! Machines as the log tells of them, and whether somebody could be placed on one.

use std::collections::BTreeMap;

use shipmate_model::event::{Event, Record, Supervision};
use shipmate_model::host::{HostSpec, Place};
use shipmate_model::{Act, Actor, Address, Name};

use super::{LifeFacts, Model};

#[derive(Debug, Clone, Default)]
pub(crate) struct HostsFacts {
    pub(crate) all: BTreeMap<Name, HostFacts>,
    pub(crate) home: Option<Name>,
    /// Where each life runs.
    pub(crate) lives: BTreeMap<Address, Name>,
    pub(crate) places: BTreeMap<Address, Place>,
    /// The program behind each that somebody named.
    pub(crate) programs: BTreeMap<Address, String>,
}

#[derive(Debug, Clone)]
pub(crate) struct HostFacts {
    pub(crate) spec: HostSpec,
    pub(crate) there: bool,
    pub(crate) draining: bool,
    pub(crate) left: bool,
}

impl Model {
    pub(super) fn apply_to_hosts(&mut self, record: &Record) {
        match &record.event {
            Event::HostJoined { host, spec } => {
                let draining =
                    self.hosts.all.get(host).is_some_and(|before| before.there && before.draining);
                let facts = HostFacts { spec: spec.clone(), there: true, draining, left: false };
                self.hosts.all.insert(host.clone(), facts);
                if self.hosts.home.is_none() {
                    self.hosts.home = Some(host.clone());
                    let runs = |who: &&Address| self.mates[*who].life == LifeFacts::Running;
                    let lives: Vec<Address> = self.mates.keys().filter(runs).cloned().collect();
                    self.hosts.lives = lives.into_iter().map(|who| (who, host.clone())).collect();
                }
            }
            Event::HostDraining { host, draining } => self.host_mut(host).draining = *draining,
            Event::HostLeft { host } if self.hosts.home.as_ref() == Some(host) => {
                self.hosts.all.clear();
                self.hosts.lives.clear();
                self.hosts.home = None;
            }
            Event::HostLeft { host } => {
                let facts = self.host_mut(host);
                (facts.there, facts.left) = (false, true);
            }
            Event::HostLost { host, .. } => self.host_mut(host).there = false,
            Event::HomeMoved { host } => self.hosts.home = Some(host.clone()),
            Event::TeammateAdded { who, profile } => {
                self.hosts.places.insert(who.clone(), profile.place.clone());
                self.hosts.programs.insert(who.clone(), profile.agent.clone());
            }
            Event::TeammateFellOver { who, choice, .. } => {
                self.hosts.programs.insert(who.clone(), choice.agent.clone());
            }
            Event::TeammatePlaced { who, place } => {
                self.hosts.places.insert(who.clone(), place.clone());
            }
            Event::TeammateStarted { who, host: Some(host), .. } => {
                self.hosts.lives.insert(who.address.clone(), host.clone());
            }
            Event::TeammateStarted { who, .. } => {
                self.hosts.lives.remove(&who.address);
            }
            Event::TeammateDisappeared { who, .. } | Event::TeammateStopped { who, .. } => {
                self.hosts.lives.remove(&who.address);
            }
            _ => {}
        }
    }

    fn host_mut(&mut self, host: &Name) -> &mut HostFacts {
        self.hosts.all.get_mut(host).expect("checked before: the host exists")
    }

    /// Lives that take a slot.
    pub(crate) fn load(&self, host: &Name) -> u32 {
        let lives = self.hosts.lives.iter().filter(|(_, at)| *at == host);
        let takes = |who: &Address| self.mates[who].supervision != Supervision::None;
        lives.filter(|(who, _)| takes(who)).count() as u32
    }

    /// Nobody is there, with a slot or without.
    pub(crate) fn is_empty(&self, host: &Name) -> bool {
        self.hosts.lives.values().all(|at| at != host)
    }

    /// Somebody may be started there now.
    pub(crate) fn takes(&self, host: &Name, who: &Address) -> bool {
        let place = self.hosts.places.get(who).cloned().unwrap_or_default();
        let base = &self.teams[&who.team].base;
        let spreads = !place.is_anywhere() || base.is_some();
        let program = self.hosts.programs.get(who).filter(|program| !program.is_empty());
        self.hosts.all.get(host).is_some_and(|facts| {
            facts.there
                && !facts.draining
                && (spreads || self.hosts.home.as_ref() == Some(host))
                && program.is_none_or(|program| facts.spec.programs.contains(program))
                && base.as_ref().is_none_or(|base| !facts.spec.lacks.contains(base))
                && place.host.as_ref().is_none_or(|wanted| wanted == host)
                && place.labels.iter().all(|label| facts.spec.labels.contains(label))
                && self.load(host) < facts.spec.slots
        })
    }

    /// Whether it names a machine that was removed.
    pub(crate) fn has_left(&self, place: &Place) -> bool {
        let facts = place.host.as_ref().and_then(|host| self.hosts.all.get(host));
        facts.is_some_and(|facts| facts.left)
    }

    pub(crate) fn has_place(&self, who: &Address) -> bool {
        match self.hosts.all.is_empty() {
            true => self.hosts.places.get(who).is_none_or(Place::is_anywhere),
            false => self.hosts.all.keys().any(|host| self.takes(host, who)),
        }
    }

    /// What has to become of a command about machines.
    pub(crate) fn host_verdict(&self, by: &Actor, act: &Act) -> Option<bool> {
        let (person, runtime) = (*by == Actor::Person, *by == Actor::Runtime);
        let facts = |host: &Name| self.hosts.all.get(host);
        let is_there = |host: &Name| facts(host).is_some_and(|facts| facts.there);
        Some(match act {
            Act::JoinHost { host, spec } => {
                let twin = self.hosts.all.iter().any(|(name, facts)| {
                    name != host && facts.there && facts.spec.place == spec.place
                });
                let home = self.hosts.home.as_ref().filter(|home| *home != host).and_then(facts);
                let other_release = home.is_some_and(|home| home.spec.release != spec.release);
                let taken = is_there(host) && self.hosts.all[host].spec.place != spec.place;
                runtime && !twin && !other_release && !taken
            }
            Act::DrainHost { host, .. } => person && is_there(host),
            Act::MoveHome { host } => {
                let has_code = facts(host).is_some_and(|facts| facts.spec.lacks.is_empty());
                person && is_there(host) && has_code
            }
            Act::ReportBranch { .. } => runtime,
            Act::ReportHostLost { host, .. } => runtime && facts(host).is_some(),
            Act::LeaveHost { host, now } => {
                let is_home = self.hosts.home.as_ref() == Some(host);
                let mut others = self.hosts.all.iter().filter(|(name, _)| *name != host);
                let is_last = !others.any(|(_, facts)| facts.there);
                person
                    && facts(host).is_some_and(|facts| {
                        facts.left
                            || (is_home && is_last)
                            || (!is_home && (*now || self.is_empty(host)))
                    })
            }
            _ => return None,
        })
    }
}
