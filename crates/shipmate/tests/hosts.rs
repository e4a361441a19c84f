//! A team on several machines: their coordinators share a log on a real NATS server, code travels
//! through its store, and what is taken from them here is the other machine, the server and the home.
//!
//! A machine is a workspace of its own with a coordinator of its own. Agents are shell lines that say on a
//! fifo where they are and wait on another until they may go on.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "hosts/accounts.rs"]
mod accounts;
#[path = "hosts/apart.rs"]
mod apart;
#[path = "hosts/bad_input.rs"]
mod bad_input;
#[path = "hosts/by_ssh.rs"]
mod by_ssh;
#[path = "hosts/expiry.rs"]
mod expiry;
#[path = "team/fifos.rs"]
mod fifos;
#[path = "hosts/late.rs"]
mod late;
#[path = "hosts/losing.rs"]
mod losing;
#[path = "hosts/machines.rs"]
mod machines;
#[path = "hosts/moving.rs"]
mod moving;
#[path = "../../shipmate-log/tests/support/nats.rs"]
mod nats;
#[path = "team/processes.rs"]
mod processes;
#[path = "hosts/seen.rs"]
mod seen;
#[path = "hosts/sshd.rs"]
mod sshd;
#[path = "../../shipmate-log/tests/support/temp.rs"]
mod temp;
#[path = "hosts/vanishing.rs"]
mod vanishing;
#[path = "hosts/working.rs"]
mod working;
