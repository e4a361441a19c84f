//! The coordinator: the one process of a workspace that writes its logs.
//!
//! It accepts connections on a socket, decides requests in batches against the pure
//! core, appends each batch once and answers after the log has confirmed. Timers and
//! other effects are derived from the state, so a crash costs nothing that was
//! acknowledged and a restart is an ordinary start.

mod attendance;
mod board;
mod clock;
mod clones;
mod connection;
mod coordinator;
pub mod copied;
mod crew;
mod demands;
mod errand;
mod file_watch;
mod ground;
mod history;
pub mod hooks;
pub mod host;
mod host_file;
mod lock;
mod merge;
mod open;
mod phases;
mod put_away;
mod scene;
mod secret;
mod settings;
mod signs;
mod staffing;
mod submission;
mod team_branch;
mod unsaid;
mod verbs;
mod views;

pub use coordinator::{Ended, answer_without_state, run};
pub use settings::{Current, Durability, HostFile, Nats, ReadAgents, Settings, Store};
