//! Runs the simulator over many seeds, or one seed with its trace.
//!
//! `simulate --seeds 10000 [--first N]` says how fast it was and what was exercised, and fails
//! when a guarantee broke or something was never exercised. `simulate --seed N` shows one run.

use std::process::ExitCode;
use std::time::Instant;

use shipmate_testkit::simulation::{self, Coverage};

/// So many seeds exercise everything there is.
const SEEDS_FOR_COVERAGE: u64 = 500;

const USAGE: &str = "usage: simulate [--seeds COUNT] [--first SEED] | --seed SEED";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (mut seeds, mut first, mut one) = (1_000, 0, None);
    for pair in arguments.chunks(2) {
        match (pair[0].as_str(), pair.get(1).and_then(|text| text.parse::<u64>().ok())) {
            ("--seeds", Some(number)) => seeds = number,
            ("--first", Some(number)) => first = number,
            ("--seed", Some(number)) => one = Some(number),
            _ => {
                eprintln!("{USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    match one {
        Some(seed) => show(seed),
        None => run_many(first, seeds),
    }
}

fn show(seed: u64) -> ExitCode {
    match simulation::run_with_trace(seed) {
        Ok((coverage, trace)) => {
            for line in trace {
                println!("{line}");
            }
            println!("{coverage}\nseed {seed} holds every guarantee");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn run_many(first: u64, seeds: u64) -> ExitCode {
    const SHOWN_MAX: usize = 5;
    let start = Instant::now();
    let mut total = Coverage::default();
    let mut failed = Vec::new();
    for seed in first..first + seeds {
        match simulation::run(seed) {
            Ok(coverage) => total.add(&coverage),
            Err(failure) => {
                // One trace is enough to begin with.
                if failed.is_empty() {
                    println!("{failure}");
                } else {
                    println!("seed {seed} breaks {}", failure.fact);
                }
                failed.push(seed);
                if failed.len() >= SHOWN_MAX {
                    break;
                }
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{total}");
    println!("{:.0} seeds/s, {seconds:.1} s", total.seeds as f64 / seconds);
    // A short run cannot meet everything.
    let gaps = if seeds >= SEEDS_FOR_COVERAGE { total.gaps() } else { Vec::new() };
    for gap in &gaps {
        println!("never exercised: {gap}");
    }
    if !failed.is_empty() {
        println!("seeds that failed: {failed:?}");
    }
    if failed.is_empty() && gaps.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
