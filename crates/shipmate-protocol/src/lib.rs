//! What crosses the coordinator's socket, and the client that speaks it.
//!
//! One JSON object a line, in both directions. A connection begins with `Hello`;
//! then each `Request` is answered by the `Reply` with its id. Replies to different
//! requests of one connection may come in another order; notices come between them.
//! Nothing here knows the state of a team: references are text (`3`, `03-01/T3`,
//! `alpha/ana`), and who acts is said by the token, never by a field.

pub mod answers;
pub mod client;
pub mod handoff;
pub mod json_text;
pub mod native;
pub mod place;
pub mod plan_file;
pub mod problem;
pub mod refused;
pub mod socket;
pub mod tools;
pub mod verbs;
pub mod view;
pub mod watch;
pub mod wire;

pub use answers::Answer;
pub use client::{Client, ClientFailure};
pub use place::{BadPlace, Place};
pub use refused::{Refused, refused};
pub use shipmate_model::Code;
pub use shipmate_model::handoff::{CommandRun, Handoff};
pub use shipmate_model::profile::Mode;
pub use verbs::{Ask, Verb};
pub use wire::{Hello, Notice, Reply, Request, Welcome};

/// Grows when an old client would misunderstand a new coordinator, or the reverse: also with each new
/// word of a closed set (`shipmate_model::status`), which the other side could not read.
pub const PROTOCOL: u32 = 2;
/// Longest line either side accepts. A plan of 10,000 tasks fits.
pub const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Longest first line: whoever sends more before saying hello is no client.
pub const HELLO_BYTES_MAX: usize = 4 * 1024;
