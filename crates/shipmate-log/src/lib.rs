//! The log of a team tree: what happened, in order, durable before anybody is answered.
//!
//! Records are opaque single-line JSON texts numbered by our own dense positions 1, 2, 3, …; the
//! numbers a backend uses never leave this crate. [`Log`] states the promises, `conformance` holds
//! every implementation to them: [`MemoryLog`] for simulation, [`SqliteLog`] for one machine and
//! [`JetStreamLog`] for several.
//!
//! Deliberately absent: any knowledge of what a record means, clocks, and retries. A caller that
//! meets a conflict or an unconfirmed append must look at its own state before it asks again, so
//! trying again here could only be wrong.

mod any;
#[doc(hidden)]
pub mod conformance;
mod contract;
mod follow;
mod jetstream;
mod memory;
mod sqlite;

pub use any::AnyLog;
pub use contract::{
    AppendFailure, Log, OpenFailure, ReadFailure, Record, Snapshot, SnapshotFailure, Verified,
};
pub use follow::{EndWatch, FollowEnded};
pub use jetstream::{
    Heard, JetStreamAccess, JetStreamLog, JetStreamOptions, Line, PackFailure, Packs, Seal,
};
pub use memory::{MemoryFault, MemoryLog};
pub use sqlite::{Durability, SqliteLog};
