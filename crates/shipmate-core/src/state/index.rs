//! Teammates by what is owed to them, kept so that nobody ever has to look at all of them.
//!
//! All of it is derived from the teammates themselves: it is not part of a snapshot, and the simulator
//! compares it with a fresh build. Whoever is changed is noted, and takes its place when the record is
//! applied.

use std::collections::{BTreeMap, BTreeSet};

use shipmate_model::event::Supervision;
use shipmate_model::name::{Address, Name};

use super::{Life, State, Teammate, first_of};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MemberIndex {
    classes: BTreeMap<Address, Class>,
    /// Whoever runs, by host.
    running: BTreeMap<Option<Name>, BTreeSet<Address>>,
    /// How many run where. Who comes by itself takes no slot.
    loads: BTreeMap<Name, u32>,
    /// Whoever runs and holds nothing.
    free: BTreeSet<Address>,
    /// Whoever does not run and may begin a life.
    down: BTreeSet<Address>,
    /// Whoever runs and the team goes on without.
    leaving: BTreeSet<Address>,
    /// Whoever runs and was seen to make no progress.
    stalled: BTreeSet<Address>,
    /// Whoever may go on with something else.
    choosing: BTreeSet<Address>,
    /// Whoever this record changes.
    changed: Vec<Address>,
}

/// Where a teammate stands in the index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Class {
    runs_on: Option<Option<Name>>,
    takes_slot: bool,
    is_free: bool,
    is_down: bool,
    is_leaving: bool,
    is_stalled: bool,
    chooses: bool,
}

impl Class {
    fn of(mate: &Teammate) -> Class {
        let runs = mate.is_running();
        Class {
            runs_on: runs.then(|| mate.host.clone()),
            takes_slot: runs && mate.supervision != Supervision::None,
            is_free: runs && mate.holds.is_empty() && mate.returned.is_empty(),
            is_down: !runs && mate.life != Life::Removed,
            is_leaving: runs && mate.leaving,
            is_stalled: runs && mate.stalls > 0,
            chooses: mate.profile.fallback.is_some() || mate.fallen.is_some(),
        }
    }
}

impl MemberIndex {
    pub(crate) fn build(teammates: &BTreeMap<Address, Teammate>) -> MemberIndex {
        let changed = teammates.keys().cloned().collect();
        let mut index = MemberIndex { changed, ..MemberIndex::default() };
        index.settle(teammates);
        index
    }

    pub(crate) fn note(&mut self, who: &Address) {
        self.changed.push(who.clone());
    }

    /// Everybody who was changed takes its place.
    pub(crate) fn settle(&mut self, teammates: &BTreeMap<Address, Teammate>) {
        for who in std::mem::take(&mut self.changed) {
            let class = Class::of(&teammates[&who]);
            let before = self.classes.get(&who).cloned().unwrap_or_default();
            if before != class {
                self.place(&who, &before, &class);
                match class == Class::default() {
                    true => self.classes.remove(&who),
                    false => self.classes.insert(who, class),
                };
            }
        }
    }

    fn place(&mut self, who: &Address, before: &Class, now: &Class) {
        for (list, was, is) in [
            (&mut self.free, before.is_free, now.is_free),
            (&mut self.down, before.is_down, now.is_down),
            (&mut self.leaving, before.is_leaving, now.is_leaving),
            (&mut self.stalled, before.is_stalled, now.is_stalled),
            (&mut self.choosing, before.chooses, now.chooses),
        ] {
            match (was, is) {
                (false, true) => drop(list.insert(who.clone())),
                (true, false) => drop(list.remove(who)),
                _ => {}
            }
        }
        if let Some(host) = &before.runs_on {
            let there = self.running.get_mut(host).expect("whoever ran somewhere is listed there");
            there.remove(who);
            if there.is_empty() {
                self.running.remove(host);
            }
        }
        if let Some(host) = &now.runs_on {
            self.running.entry(host.clone()).or_default().insert(who.clone());
        }
        let slot = |class: &Class| class.runs_on.clone().flatten().filter(|_| class.takes_slot);
        if let Some(host) = slot(before) {
            let load = self.loads.get_mut(&host).expect("whoever took a slot was counted");
            *load -= 1;
            if *load == 0 {
                self.loads.remove(&host);
            }
        }
        if let Some(host) = slot(now) {
            *self.loads.entry(host).or_default() += 1;
        }
    }
}

type Member<'a> = (&'a Address, &'a Teammate);

impl State {
    fn listed<'a>(
        &'a self,
        list: impl Iterator<Item = &'a Address>,
    ) -> impl Iterator<Item = Member<'a>> {
        list.map(|who| (who, &self.teammates[who]))
    }

    fn listed_of<'a>(
        &'a self,
        list: &'a BTreeSet<Address>,
        team: &'a Name,
    ) -> impl Iterator<Item = Member<'a>> {
        let own = list.range(first_of(team)..).take_while(move |who| who.team == *team);
        self.listed(own)
    }

    /// Members that run and hold nothing.
    pub(crate) fn free_of<'a>(&'a self, team: &'a Name) -> impl Iterator<Item = Member<'a>> {
        self.listed_of(&self.index.free, team)
    }

    /// Members that do not run.
    pub(crate) fn down_of<'a>(&'a self, team: &'a Name) -> impl Iterator<Item = Member<'a>> {
        self.listed_of(&self.index.down, team)
    }

    /// Members that run and that the team goes on without.
    pub(crate) fn leaving_of<'a>(&'a self, team: &'a Name) -> impl Iterator<Item = Member<'a>> {
        self.listed_of(&self.index.leaving, team)
    }

    /// Whoever runs on a machine; without one, where no machine has joined.
    pub(crate) fn running_on<'a>(
        &'a self,
        host: Option<&Name>,
    ) -> impl Iterator<Item = Member<'a>> {
        self.listed(self.index.running.get(&host.cloned()).into_iter().flatten())
    }

    /// Whoever runs and was seen to make no progress.
    pub(crate) fn stalled(&self) -> impl Iterator<Item = Member<'_>> {
        self.listed(self.index.stalled.iter())
    }

    /// Whoever may go on with another program or model, or has done so.
    pub(crate) fn choosing(&self) -> impl Iterator<Item = Member<'_>> {
        self.listed(self.index.choosing.iter())
    }

    /// How many run where. Who comes by itself takes no slot.
    pub(crate) fn loads(&self) -> &BTreeMap<Name, u32> {
        &self.index.loads
    }

    /// What is known of teammates besides themselves follows from them.
    pub(crate) fn index_is_true(&self) -> bool {
        self.index == MemberIndex::build(&self.teammates)
    }
}
