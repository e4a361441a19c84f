//! What the coordinator is told when it starts.

use std::cell::Cell;
use std::ops::Deref;
use std::time::Duration;

use shipmate_programs::Agents;
use shipmate_protocol::Place;

pub use crate::host_file::{HostFile, Nats};

#[derive(Debug, Clone)]
pub struct Settings {
    pub place: Place,
    /// Makes the workspace's state where none is; otherwise a state that is gone is not made anew.
    pub makes_state: bool,
    pub store: Store,
    /// What this machine is to the teams whose logs it shares, where it has joined.
    pub host: Option<HostFile>,
    /// Ends itself after this long without a connection or a running timer.
    pub idle_exit: Duration,
    pub agents: Current,
}

/// What the configuration says now: it is read again when somebody begins something, so that a
/// mended setting needs no new coordinator.
#[derive(Debug, Clone)]
pub struct Current {
    /// For good: a coordinator sees few changes in its life, and everybody may hold on to what
    /// they began with.
    agents: Cell<&'static Agents>,
    read: ReadAgents,
}

/// Reads the configuration of a workspace.
pub type ReadAgents = fn(&Place) -> Result<Agents, String>;

/// Settings that hold for the life of a coordinator.
const FIXED: [&str; 8] = [
    "durability",
    "hosts.lease-seconds",
    "idle-exit-seconds",
    "log",
    "nats.credentials",
    "nats.replicas",
    "nats.subject-prefix",
    "nats.url",
];

impl Current {
    /// # Errors
    /// What is wrong with the configuration.
    pub fn read(place: &Place, read: ReadAgents) -> Result<Current, String> {
        Ok(Current { agents: Cell::new(Box::leak(Box::new(read(place)?))), read })
    }

    /// Takes the configuration as it is now; one that cannot be read leaves everything as it was.
    pub(crate) fn renew(&self, place: &Place) -> Result<(), String> {
        let mut fresh = (self.read)(place)?;
        for name in FIXED {
            if let (Some(new), Some(old)) = (fresh.shown.get_mut(name), self.shown.get(name)) {
                new.clone_from(old);
            }
        }
        if fresh != **self {
            self.agents.set(Box::leak(Box::new(fresh)));
        }
        Ok(())
    }
}

impl Deref for Current {
    type Target = Agents;

    fn deref(&self) -> &Agents {
        self.agents.get()
    }
}

#[derive(Debug, Clone)]
pub enum Store {
    Sqlite(Durability),
    Nats(Box<Nats>),
}

/// What an acknowledged command survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Loss of power.
    Power,
    /// The death of every process, not of the machine.
    Process,
}
