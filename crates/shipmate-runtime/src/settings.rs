//! What the coordinator is told when it starts.

use std::path::PathBuf;
use std::time::Duration;

use shipmate_protocol::Place;

#[derive(Debug, Clone)]
pub struct Settings {
    pub place: Place,
    pub store: Store,
    /// Ends itself after this long without a connection or a running timer.
    pub idle_exit: Duration,
}

#[derive(Debug, Clone)]
pub enum Store {
    Sqlite(Durability),
    Nats(Nats),
}

/// What an acknowledged command survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Loss of power.
    Power,
    /// The death of every process, not of the machine.
    Process,
}

#[derive(Debug, Clone)]
pub struct Nats {
    pub url: String,
    /// Stream that holds the logs; created when missing.
    pub stream: String,
    /// A team's log is the subject `<prefix>.<team>`.
    pub subject_prefix: String,
    pub credentials: Option<PathBuf>,
}
