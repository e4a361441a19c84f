//! A team at work, with everything that can be taken from it taken: agents, supervisors, gates and
//! the coordinator are killed, frozen and lied to, and what must hold is looked up in the log, in
//! git and in `/proc`.
//!
//! Real processes and real git. The agents are shell lines that say on a fifo where they are and
//! wait on another until they may go on, so every interleaving here is the same each time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../shipmate-log/tests/support/temp.rs"]
mod temp;

#[path = "team/acp.rs"]
mod acp;
#[path = "team/agents.rs"]
mod agents;
#[path = "team/bystanders.rs"]
mod bystanders;
#[path = "team/copies.rs"]
mod copies;
#[path = "team/deaths.rs"]
mod deaths;
#[path = "team/deleting.rs"]
mod deleting;
#[path = "team/diffs.rs"]
mod diffs;
#[path = "team/fences.rs"]
mod fences;
#[path = "team/fifos.rs"]
mod fifos;
#[path = "team/gates.rs"]
mod gates;
#[path = "team/graphql.rs"]
mod graphql;
#[path = "team/handoffs.rs"]
mod handoffs;
#[path = "team/health.rs"]
mod health;
#[path = "team/hooks.rs"]
mod hooks;
#[path = "team/hostile.rs"]
mod hostile;
#[path = "team/landing.rs"]
mod landing;
#[path = "team/left_behind.rs"]
mod left_behind;
#[path = "team/many_notes.rs"]
mod many_notes;
#[path = "team/merges.rs"]
mod merges;
#[path = "team/money.rs"]
mod money;
#[path = "team/native.rs"]
mod native;
#[path = "team/native_long.rs"]
mod native_long;
#[path = "team/preparing.rs"]
mod preparing;
#[path = "team/processes.rs"]
mod processes;
#[allow(dead_code, reason = "shared with the tests of goals, which need more of it")]
#[path = "team/ran.rs"]
mod ran;
#[path = "team/repairs.rs"]
mod repairs;
#[path = "team/resuming.rs"]
mod resuming;
#[path = "team/scope.rs"]
mod scope;
#[path = "team/shutdowns.rs"]
mod shutdowns;
#[path = "team/signs.rs"]
mod signs;
#[path = "team/stage.rs"]
mod stage;
#[path = "team/talk.rs"]
mod talk;
#[path = "team/trees.rs"]
mod trees;
#[path = "team/unchanged.rs"]
mod unchanged;
#[path = "team/vanishing.rs"]
mod vanishing;
