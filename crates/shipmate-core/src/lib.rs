//! The rules of a team, without a clock, a file, a socket, a thread or chance.
//!
//! `decide(state, command)` says what happens or why not; `apply(state, record)`
//! makes it so; `outstanding(state, observed, now)` says what the world still owes.
//! The same commands in the same order give the same state on every machine, which
//! is what the simulator, resume, time travel and the second log all stand on.
//! What is decided about is `shipmate-model`'s. Clippy bans hold the prohibition (`clippy.toml` beside
//! this crate).

pub mod account;
mod apply;
mod breaker;
mod decide;
mod deviation;
mod ending;
pub mod escalation;
mod health;
mod host;
mod kept;
mod life;
mod lineage;
mod mail;
mod message;
mod note;
mod outstanding;
mod pause;
pub mod phase;
mod plan;
mod plan_mode;
mod ready;
mod request;
mod route;
mod shared;
mod shutdown;
mod size;
mod staff;
pub mod state;
mod task;
mod team;
mod teammate;
mod trial;
mod usage;
mod withdrawal;
mod writer;

pub use apply::apply;
pub use decide::{Decided, decide};
pub use health::ended;
pub use host::{lives_on, next_host};
pub use message::untaken;
pub use outstanding::{Effect, NotSpawned, Observed, Outstanding, Watch, outstanding};
pub use staff::{
    NotStarted, Wanted, nobody_is_overlooked, nobody_takes, not_started, to_be_started,
    untried_gates,
};
pub use state::State;
pub use task::around::{around, behind};
pub use task::claim::{available, available_for};
pub use task::failure::normalised;
pub use task::room::full_queue;
pub use task::unchanged::must_change;
pub use task::why::{Obstacle, obstacles};
pub use teammate::is_another as is_another_model;
pub use trial::is_green;
pub use usage::spent;
pub use writer::{Outcome, Writer};
