//! The vendors' real programs as teammates, on a scripted model: what each does with a task, a
//! message and a kill.
//!
//! Each test needs its program and is told so by a variable; `cargo xtask test clients` installs
//! them and runs these tests.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../shipmate-log/tests/support/temp.rs"]
mod temp;

#[path = "team/fifos.rs"]
#[allow(dead_code, reason = "part of the stage")]
mod fifos;
#[path = "team/processes.rs"]
#[allow(dead_code, reason = "part of the stage")]
mod processes;
#[path = "team/stage.rs"]
#[allow(dead_code, reason = "not every test needs all of it")]
mod stage;

#[path = "clients/acp.rs"]
mod acp;
#[path = "clients/cast.rs"]
mod cast;
#[path = "clients/claude.rs"]
mod claude;
#[path = "clients/codex.rs"]
mod codex;
#[path = "clients/costs.rs"]
mod costs;
#[path = "clients/definitions.rs"]
mod definitions;
#[path = "clients/fenced.rs"]
mod fenced;
#[path = "clients/forgotten.rs"]
mod forgotten;
#[path = "clients/habits.rs"]
mod habits;
#[path = "clients/handoffs.rs"]
mod handoffs;
#[path = "clients/kept_back.rs"]
mod kept_back;
#[path = "clients/limits.rs"]
mod limits;
#[path = "clients/logins.rs"]
mod logins;
#[path = "clients/mixed.rs"]
mod mixed;
#[path = "clients/money.rs"]
mod money;
#[path = "clients/second_login.rs"]
mod second_login;
#[path = "clients/servers.rs"]
mod servers;
#[path = "clients/seven.rs"]
mod seven;
#[path = "clients/words.rs"]
mod words;
