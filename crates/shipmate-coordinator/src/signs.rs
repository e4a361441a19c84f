//! What is observed of the agents and never recorded: signs of life and progress.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use shipmate_core::NotSpawned;
use shipmate_model::{Address, Name, TeammateRef};
use shipmate_protocol::verbs::Context;

use crate::clock::wall_ms;

/// Everything observed about one tree of teams.
#[derive(Debug, Default)]
pub(crate) struct Signs {
    /// Lives whose supervisor is there, or was started and is on its way.
    pub(crate) present: BTreeSet<TeammateRef>,
    /// Supervisors that owe an answer, and to which question, counted from 1.
    pub(crate) asked: BTreeMap<TeammateRef, u64>,
    pub(crate) lives: BTreeMap<TeammateRef, Sign>,
    /// Lives whose supervisor could not be started yet.
    pub(crate) not_spawned: BTreeMap<TeammateRef, NotSpawned>,
    /// What the merge queue does now, and what it holds up.
    pub(crate) queue: Option<String>,
    /// The same without what it holds up.
    pub(crate) queue_step: Option<String>,
    /// Signs of other hosts: how many, and when the last one came.
    pub(crate) hosts: BTreeMap<Name, (u64, Instant)>,
    /// How long one may give none; nothing while the line is down, or there is none.
    pub(crate) host_lease_ms: Option<u64>,
    /// When this machine last heard the server, its own signs too, and how often it had not for long: it
    /// slept, the line was down, or the server was silent. Silence in such a time was nobody's.
    pub(crate) listened_at: Option<Instant>,
    pub(crate) absences: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Sign {
    pub(crate) last_words: String,
    pub(crate) at: Instant,
    /// The same in milliseconds since 1970, for people.
    pub(crate) at_ms: u64,
    /// How full the agent's context is, where its program tells.
    pub(crate) context: Option<Context>,
    /// Until when the agent waits for its model's provider, in milliseconds since 1970.
    pub(crate) waits_until: Option<u64>,
    /// How often there was progress.
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    pub(crate) pid: Option<u32>,
}

impl Signs {
    pub(crate) fn hear_host(&mut self, host: &Name) {
        let seen = self.hosts.entry(host.clone()).or_insert((0, Instant::now()));
        *seen = (seen.0 + 1, Instant::now());
    }

    /// How long hosts may be silent, as long as this machine hears the server. Signs are given four times in
    /// that time, so a server that falls silent is noticed before anybody's silence has lasted for it.
    pub(crate) fn lease_ms(&self) -> Option<u64> {
        let lease_ms = self.host_lease_ms?;
        let silent_ms = self.listened_at?.elapsed().as_millis() as u64;
        (silent_ms <= lease_ms / 2).then_some(lease_ms)
    }

    /// This machine hears the server; whether it had not before.
    pub(crate) fn listen(&mut self, lease_ms: Option<u64>) -> bool {
        let was_absent = self.lease_ms().is_none();
        self.absences += u64::from(was_absent);
        (self.host_lease_ms, self.listened_at) = (lease_ms, Some(Instant::now()));
        was_absent
    }

    /// How long ago a host gave a sign.
    pub(crate) fn silence_ms(&self, host: &Name) -> Option<u64> {
        self.hosts.get(host).map(|(_, at)| at.elapsed().as_millis() as u64)
    }

    /// The same in milliseconds since 1970.
    pub(crate) fn heard_at_ms(&self, host: &Name) -> Option<u64> {
        Some(wall_ms().saturating_sub(self.silence_ms(host)?))
    }

    pub(crate) fn of(&self, address: &Address, epoch: u32) -> Option<&Sign> {
        self.lives.get(&TeammateRef { address: address.clone(), epoch })
    }
}

impl Default for Sign {
    fn default() -> Sign {
        let (last_words, at) = (String::new(), Instant::now());
        Sign {
            last_words,
            at,
            at_ms: wall_ms(),
            context: None,
            waits_until: None,
            count: 0,
            bytes: 0,
            pid: None,
        }
    }
}
