//! `cargo xtask kills`: commands that are killed at every n-th call of the system.
//! `cargo xtask chaos`: whole teams whose processes are killed at random, and `resume` after it.
//!
//! Both are binaries of the testkit; here they are built, given a strace, and started on the shipmate
//! that was built with them. A bounded part of the kills is a test (`kills` in crates/shipmate).

use std::process::Command;

use crate::cargo::{cargo, run as run_command, target_folder};
use crate::debian::{STRACE, install};

/// Kill commands at every n-th call of the system and look at what is left
///
/// Each of `team create`, `run`, `resume`, `merge`, `team update`, `team delete`, … is killed at its
/// first call that changes something, then at its second, until none fires: the process that makes
/// the call, the coordinator, or everything. After each kill the next commands must go on, with the user's
/// repository as before or as after. All calls of all commands take hours: see --stride.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Only this command: create, run, resume, merge, delete, …; may be given several times
    #[arg(long, value_name = "NAME")]
    subject: Vec<String>,

    /// Only kill this: caller, coordinator or everything; may be given several times
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,

    /// From one kill to the next
    #[arg(long, value_name = "N", default_value_t = 10)]
    stride: u64,

    /// The first call to kill at: with a stride, another one gives other moments
    #[arg(long, value_name = "N", default_value_t = 1)]
    first: u64,

    /// Only at this call, to play a violation again
    #[arg(long, value_name = "N", conflicts_with_all = ["stride", "first"])]
    at: Option<u64>,

    /// Use the binaries that are there
    #[arg(long)]
    no_build: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), String> {
    let mut command = built("kills", args.no_build)?;
    command.env(STRACE.variable, install(STRACE)?);
    for name in &args.subject {
        command.args(["--subject", name]);
    }
    for name in &args.target {
        command.args(["--target", name]);
    }
    match args.at {
        Some(at) => command.args(["--at", &at.to_string()]),
        None => command
            .args(["--stride", &args.stride.to_string(), "--first"])
            .arg(args.first.to_string()),
    };
    run_command(&mut command)
}

/// Kill the processes of whole teams at random, then resume them
///
/// Afterwards every task must be done, each change once on the branch, the gate green at every
/// commit that the branch was ever at, and no process or lock left.
#[derive(clap::Args, Debug)]
pub(crate) struct ChaosArgs {
    #[arg(long, value_name = "N", default_value_t = 100)]
    runs: u64,

    /// Tasks of each run
    #[arg(long, value_name = "N", default_value_t = 16)]
    tasks: u64,

    /// The first seed; the others follow
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Use the binaries that are there
    #[arg(long)]
    no_build: bool,
}

pub(crate) fn run_chaos(args: &ChaosArgs) -> Result<(), String> {
    let mut command = built("chaos", args.no_build)?;
    command.args(["--runs", &args.runs.to_string(), "--tasks", &args.tasks.to_string()]);
    run_command(command.args(["--seed", &args.seed.to_string()]))
}

/// A binary of the testkit, built for speed together with shipmate itself.
fn built(name: &str, no_build: bool) -> Result<Command, String> {
    if !no_build {
        let words = ["build", "--quiet", "--release", "-p", "shipmate", "-p", "shipmate-testkit"];
        run_command(cargo(words).args(["--bin", "shipmate", "--bin", name]))?;
    }
    Ok(Command::new(target_folder()?.join("release").join(name)))
}
