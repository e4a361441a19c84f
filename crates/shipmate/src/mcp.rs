//! The MCP server: the team's tools, board and inbox for a session of any MCP client.
//!
//! A session acts as the teammate whose token it was given, or is enrolled as a new member. It
//! decides nothing: each call becomes requests to the coordinator, and refusals come back as they
//! are. On a pipe nothing but the protocol is written to standard output.

mod call;
mod feed;
pub(crate) mod http;
mod hub;
mod link;
mod news;
mod prompts;
mod resources;
mod seat_file;
mod server;
mod session;
mod session_board;
pub(crate) mod stdio;

pub(crate) use hub::{Caller, Hub};
pub(crate) use seat_file::{is_below_teammate, seat_above};
pub(crate) use session::Wish;
