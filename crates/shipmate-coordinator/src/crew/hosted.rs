//! A crew on one of several machines: which lives are its own, whether it is the home, and what it
//! does to stay on record as a host.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::time::Duration;

use shipmate_core::{State, lives_on};
use shipmate_model::host::HostSpec;
use shipmate_model::status::HostState;
use shipmate_model::{Act, Actor, Event, Name, Record, Refusal, TeammateRef};

use super::Crew;
use super::code::{self, NotThere};
use crate::host::{self, Here, OwnServer};
use crate::scene;
use crate::settings::{HostFile, Store};
use shipmate_workspace::{Commit, WorkKey};

/// How long the id of a host is; the digest of a place is shorter.
const HOST_ID_CHARS: usize = 32;
/// How long what the server did not take or give is left alone.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

impl Crew {
    /// Whether this machine starts, merges and runs gates for a team.
    pub(crate) fn is_home(&self, team: &Name) -> bool {
        let (home, made_at) = self.board.with_state(|state| {
            let home = state.home.as_ref().and_then(|home| state.hosts.get_key_value(home));
            let home = home.map(|(name, host)| (name.clone(), host.spec.place.clone()));
            (home, state.teams.get(team).map(|team| team.setup.home.clone()).unwrap_or_default())
        });
        let is_of_place = made_at == self.settings.place.digest();
        match (&self.here, home) {
            (Some(here), Some((name, place))) => here.file.name == name && here.file.id == place,
            (None, Some(_)) => false,
            (Some(here), None) => {
                // Its log went from here to the server, whoever made it when it was on another one.
                let came_from_here = || host::was_moved(&self.settings.place, &self.board.root);
                let is_own = is_of_place || made_at.is_empty();
                made_at == here.file.id || here.file.first && (is_own || came_from_here())
            }
            // One that was made while this machine was a host is named by that host's id.
            (None, None) if made_at.is_empty() || made_at.len() == HOST_ID_CHARS => {
                matches!(self.settings.store, Store::Sqlite(_))
            }
            (None, None) => is_of_place,
        }
    }

    /// What came of a merge is said by the home alone: where that was lost in the middle of a merge, the
    /// submission waits for the new home.
    pub(crate) fn may_tell(&self, act: &Act) -> bool {
        let is_of_home = matches!(
            act,
            Act::CompleteTask { .. }
                | Act::ReturnTask { .. }
                | Act::ReturnUnchanged { .. }
                | Act::AskScope { .. }
                | Act::ReportGate(_)
                | Act::ReportBranch { .. }
        );
        !is_of_home
            || self.board.with_state(|state| state.home.is_none())
            || self.is_home(&self.board.root)
    }

    /// Whether a life runs on this machine, or is to.
    pub(crate) fn lives_here(&self, who: &TeammateRef) -> bool {
        let host = self.board.with_state(|state| {
            state.teammates.get(&who.address).and_then(|mate| mate.host.clone())
        });
        match host {
            None => self.is_home(&who.address.team),
            Some(host) => self.here.as_ref().is_some_and(|here| {
                here.file.name == host && self.board.with_state(|state| is_this(state, &here.file))
            }),
        }
    }

    /// The machines that this one knows of: those of its teams, those that give a sign, and those that a
    /// server of ours lets in. A new team has none of its own yet. Nothing where there is one machine only.
    pub(crate) fn known_hosts(&self) -> Option<BTreeSet<Name>> {
        let here = self.here.as_ref()?;
        let mut known: BTreeSet<Name> = self.board.with_state(|state| {
            let hosts = state.hosts.iter().filter(|(_, host)| host.state != HostState::Left);
            hosts.map(|(name, _)| name.clone()).collect()
        });
        known.extend(here.of_teams.borrow().values().flatten().cloned());
        known.extend(here.heard_of.borrow().iter().cloned());
        known.insert(here.file.name.clone());
        let let_in =
            OwnServer::of(&self.settings.place).ok().flatten().map(|server| server.hosts());
        known.extend(let_in.into_iter().flatten());
        Some(known)
    }

    /// Another machine may have to get what is handed in here: the home, or whoever becomes it.
    pub(crate) fn has_other_hosts(&self) -> bool {
        self.here.is_some() && self.board.with_state(|state| state.hosts.len() > 1)
    }

    /// Something may have happened that a host has to do something about.
    pub(crate) fn look_at_hosts(&self) {
        let Some(here) = &self.here else { return };
        let seen = self.board.with_state(|state| {
            let mut seen = DefaultHasher::new();
            for (name, host) in &state.hosts {
                let spec = &host.spec;
                (name.as_str(), host.state.word(), &spec.boot, &spec.place).hash(&mut seen);
                let is_empty = lives_on(state, name).next().is_none();
                (spec.slots, &spec.lacks, is_empty).hash(&mut seen);
            }
            let home = state.home.as_ref().map(Name::as_str);
            // A branch that is told for the first time may be what this machine lacked.
            (home, state.teams.len(), state.branches.len(), self.is_alone()).hash(&mut seen);
            for team in state.teams.values() {
                team.counts.completed.hash(&mut seen);
            }
            seen.finish()
        });
        if self.hosts_seen.replace(seen) != seen {
            let hosts = self.board.with_state(|state| {
                let hosts = state.hosts.iter().filter(|(_, host)| host.state != HostState::Left);
                hosts.map(|(name, _)| name.clone()).collect()
            });
            here.of_teams.borrow_mut().insert(self.board.root.clone(), hosts);
            self.hosts_changed.notify_one();
        }
    }

    /// Who has left is let in no more by a server of ours, wherever that was said.
    pub(crate) fn shut_out(&self, records: &[Record]) {
        let Some(here) = &self.here else { return };
        if records.iter().any(|record| matches!(record.event, Event::TaskWorkSetAside { .. })) {
            self.wake_host();
        }
        let of_teams = here.of_teams.borrow();
        // Another team may still be on it.
        let is_needed = |host: &Name| {
            let mut others = of_teams.iter().filter(|(root, _)| **root != self.board.root);
            *host == here.file.name || others.any(|(_, hosts)| hosts.contains(host))
        };
        let (mut there, mut left) = (BTreeSet::new(), BTreeSet::new());
        for record in records {
            match &record.event {
                Event::HostLeft { host } if !is_needed(host) => {
                    there.remove(host);
                    left.insert(host.clone());
                }
                Event::HostJoined { host, .. } => {
                    left.remove(host);
                    there.insert(host.clone());
                }
                _ => {}
            }
        }
        if there.is_empty() && left.is_empty() {
            return;
        }
        let place = self.settings.place.clone();
        let settled = shipmate_process::blocking(move || match OwnServer::of(&place)? {
            Some(mut server) => server.settle(&there, &left).map_err(|e| e.to_string()),
            None => Ok(()),
        });
        tokio::task::spawn_local(async move {
            if let Err(reason) = settled.await {
                tracing::warn!(reason, "a host that left may still be let in by the server");
            }
        });
    }

    /// What has landed need not be in the store a second time as what was handed in. At the home; what it does not
    /// come to lies there for nothing.
    pub(crate) fn forget_landed(&self, records: &[Record]) {
        let Some(here) = self.here.clone().filter(|_| self.is_home(&self.board.root)) else {
            return;
        };
        // What a person has called complete has landed nowhere.
        let completed = records.iter().filter_map(|record| match &record.event {
            Event::TaskCompleted { task, token, commit: Some(_), .. }
                if record.by == Actor::Runtime =>
            {
                Some((*task, *token))
            }
            _ => None,
        });
        let landed: Vec<(WorkKey, Commit)> = self.board.with_state(|state| {
            let handed_in = |(id, token)| {
                let task = state.task(id)?;
                let key = WorkKey { team: task.team.to_string(), task: id, token };
                Some((key, Commit::parse(task.handed_in.get(&token)?)?))
            };
            completed.filter_map(handed_in).collect()
        });
        if landed.is_empty() {
            return;
        }
        tokio::task::spawn_local(async move {
            for (key, commit) in landed {
                if let Err(failed) = code::forget(&here, &key, &commit).await {
                    return tracing::info!(reason = failed.reason(), "a pack stays in the store");
                }
            }
        });
    }

    /// Late work came to an end, or it is known now what is here.
    pub(crate) fn wake_host(&self) {
        self.hosts_changed.notify_one();
    }

    /// The server did not give or take something: it is tried again after a while.
    pub(crate) async fn wait_for_line(&self, reason: &str) {
        tracing::warn!(reason, "code is not where it should be");
        tokio::time::sleep_until(tokio::time::Instant::now() + AGAIN_AFTER).await;
    }

    async fn keep_up(self: &Rc<Self>, here: &Here) -> Result<(), NotThere> {
        let Some(root) = self.board.with_state(|state| state.root.clone()) else { return Ok(()) };
        let lacks = code::lacks(self).await;
        self.join(here, &root, &lacks);
        let is_home = self.is_home(&root);
        if is_home {
            code::publish(self, here, None).await?;
            return self.take_in_late(here).await;
        }
        for base in lacks {
            code::bring_base(self, here, base).await?;
            // The project's configuration and hooks may have come with it.
            self.forget_hooks();
            if let Err(reason) = self.settings.agents.renew(&self.settings.place) {
                tracing::warn!(reason, "the configuration that came with the code cannot be read");
            }
            here.survey(&self.settings).await;
            self.join(here, &root, &code::lacks(self).await);
        }
        // What has landed is here before somebody begins with it; and a machine that was the home has no
        // branch of its own any more.
        let teams: Vec<Name> = self.board.with_state(|state| {
            let own = state.hosts.get(&here.file.name).filter(|host| host.is_there());
            own.map(|_| state.teams.keys().cloned().collect()).unwrap_or_default()
        });
        let mut fetched = Ok(());
        for team in teams {
            fetched = fetched.and(code::fetch(self, here, &team).await);
        }
        fetched
    }

    /// Has this host on record as it is; not before those of an earlier time have ended.
    fn join(&self, here: &Here, root: &Name, lacks: &[shipmate_workspace::Commit]) {
        let Some(spec) = here.spec() else { return };
        let is_home = self.is_home(root);
        let hooks = self.hook_events();
        let lacks = lacks.iter().map(ToString::to_string).collect();
        let (host, spec) = (here.file.name.clone(), HostSpec { hooks, lacks, ..spec });
        // What the home's release cannot read must not be written, nor can this one read what that writes.
        let other = self.board.with_state(|state| {
            let home = state.home.as_ref().filter(|home| **home != host)?;
            let home = state.hosts.get(home)?.spec.release.clone();
            (home != spec.release).then(|| (spec.release.clone(), home))
        });
        if let Some((release, home)) = other {
            let why = Refusal::OtherRelease { host, release, home };
            return self.board.give_up(scene::refusal(&why));
        }
        let is_wanted = self.board.with_state(|state| match state.hosts.get(&host) {
            None => is_home || !state.hosts.is_empty(),
            Some(found) if found.is_there() => found.spec != spec,
            // Who was removed comes back when a person has it join again.
            Some(found) if found.state == HostState::Left => {
                (&found.spec.place, &found.spec.invitation) != (&spec.place, &spec.invitation)
            }
            Some(_) => self.is_alone() && lives_on(state, &host).next().is_none(),
        });
        if !is_wanted {
            return;
        }
        self.board.tell(Act::JoinHost { host, spec });
    }
}

/// The host on record by this machine's name is this machine, and not another of that name.
pub(crate) fn is_this(state: &State, file: &HostFile) -> bool {
    state.hosts.get(&file.name).is_some_and(|found| found.spec.place == file.id)
}

/// Keeps this host on record in a team, for as long as its board lives.
pub(crate) async fn run(crew: Rc<Crew>, here: Rc<Here>) {
    loop {
        crew.hosts_changed.notified().await;
        while let Err(failed) = crew.keep_up(&here).await {
            let reason = failed.reason();
            tokio::select! {
                () = crew.wait_for_line(&reason) => {}
                () = crew.hosts_changed.notified() => {}
            }
        }
    }
}
