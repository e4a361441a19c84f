//! Real agent programs as teammates, measured for `cargo xtask bench clients`: how long a message
//! takes until the model is asked with it, and what a teammate and its fence cost.
//!
//! The model is the scripted one, on loopback in this process, so nothing of the figures is a
//! model's thinking. A message counts as arrived when the request that contains it comes in: what
//! the program does before that (building its prompt, connecting) is in every figure, whoever
//! delivers. What is compared takes turns within one run.
//!
//! Test-only: it never ships, and it asks through the protocol like any other client.

#[allow(dead_code, reason = "the load generator has switches")]
#[path = "../load/arguments.rs"]
mod arguments;
mod fence;
mod latency;
#[allow(dead_code, reason = "the load generator measures more")]
#[path = "../load/measure.rs"]
mod measure;
mod memory;
mod native;
mod team;
#[allow(dead_code, reason = "the load generator does more with it")]
#[path = "../load/workspace.rs"]
mod workspace;

use std::process::ExitCode;

use arguments::Arguments;

const USAGE: &str = "\
usage: clients latency --shipmate PATH --workspace DIR [--messages N] [--agents claude,codex]
       clients memory --shipmate PATH --workspace DIR --agent NAME [--teammates N]
       clients fence --shipmate PATH --workspace DIR [--starts N]

All make the folder they are given, print one line of JSON and remove the folder. The programs are
named by variables, as `cargo xtask clients` prints them.";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("clients: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let mut words = std::env::args().skip(1);
    let workload = words.next().unwrap_or_default();
    let arguments = Arguments::parse(words)?;
    match workload.as_str() {
        "latency" => latency::run(arguments),
        "memory" => memory::run(arguments),
        "fence" => fence::run(arguments),
        _ => Err(USAGE.to_owned()),
    }
}
