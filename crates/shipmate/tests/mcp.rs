//! The MCP server as its clients meet it: the real binary on a pipe and over HTTP, a real
//! coordinator behind it, in a repository of its own.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../shipmate-log/tests/support/temp.rs"]
mod temp;

#[path = "mcp/calls.rs"]
mod calls;
#[path = "mcp/clients.rs"]
mod clients;
#[path = "mcp/handshake.rs"]
mod handshake;
#[path = "mcp/http.rs"]
mod http;
#[path = "mcp/install.rs"]
mod install;
#[path = "mcp/pipe.rs"]
mod pipe;
#[path = "mcp/programs.rs"]
mod programs;
#[path = "mcp/seats.rs"]
mod seats;
#[path = "mcp/seeds.rs"]
mod seeds;
#[path = "mcp/stage.rs"]
mod stage;
