//! `cargo xtask partitions`: the test of a team on three machines whose network is cut, for as long as one likes.
//!
//! A few rounds are part of every run of the tests (`partitions` in crates/shipmate).

use crate::cargo::{cargo, run as run_command};
use crate::debian::{IP, install};
use crate::nats;

/// Cut and mend the network of three machines and three servers while a team works on them
///
/// In each round a machine, a server or both are cut off for a random time, in both directions or in one, or a
/// server is killed; and so is a coordinator or a supervisor. Afterwards no task had two holders, nothing that was
/// acknowledged is lost, every change landed once, and the answers to all claims are linearizable. Needs the
/// rights of root.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[arg(long, value_name = "N", default_value_t = 50)]
    rounds: u64,

    /// Play the faults of an earlier run again
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

pub(crate) fn run(args: &Args) -> Result<(), String> {
    let words = ["test", "--quiet", "-p", "shipmate", "--test", "partitions", "cuts_and_kills"];
    let mut command = cargo(words);
    command.args(["--", "--nocapture"]);
    command.env(nats::VARIABLE, nats::server()?).env(IP.variable, install(IP)?);
    command.env("SHIPMATE_ROUNDS", args.rounds.to_string());
    let seed = args.seed.unwrap_or_else(|| u64::from(std::process::id()));
    command.env("SHIPMATE_SEED", seed.to_string());
    run_command(&mut command)
}
