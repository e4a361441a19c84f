//! The vocabulary of a team, without a rule: names and ids, records, commands, refusals, and the data
//! that they carry.
//!
//! What a thing is stands here; what is decided about it stands in `shipmate-core`. Whoever reads a
//! record or answers a request can have these types.

pub mod account;
pub mod changes;
pub mod code;
pub mod command;
pub mod definition;
pub mod event;
pub mod files;
pub mod handoff;
pub mod host;
pub mod id;
pub mod limits;
pub mod message;
pub mod name;
pub mod old;
pub mod pause;
pub mod phase;
pub mod planned;
pub mod playbook;
pub mod profile;
pub mod refusal;
pub mod setup;
pub mod status;
pub mod task;
pub mod usage;

pub use code::Code;
pub use command::{Act, Command};
pub use event::{Event, Record};
pub use handoff::{CommandRun, Handoff};
pub use id::{RequestId, TaskId};
pub use name::{Actor, Address, Alias, Name, Position, TeammateRef};
pub use planned::{Draft, DraftTask, DraftTeammate, PlannedTask, PlannedTeammate, PlannedWork};
pub use refusal::Refusal;
