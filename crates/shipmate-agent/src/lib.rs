//! The native agent: a loop over any model's API, in one small process of its own.
//!
//! It speaks [`shipmate_protocol::native`] with its supervisor over standard input and output,
//! and has no other way to its team: no token, no socket, no right that another agent has not.
//! Limits of its role are not kept here: whether a tool may be used is asked each time, and the
//! process and its shells stand behind fences that were put up by others.

mod agent;
mod asking;
pub mod context;
pub mod conversation;
mod mcp_by_http;
pub mod message;
pub mod model;
mod rounds;
mod seat;
mod supervisor;
pub mod tools;
pub mod turn;
mod using;

pub use agent::run;
pub use mcp_by_http::mcp_by_http;
