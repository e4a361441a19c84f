//! The simulator as part of the tests: some hundred seeds at every run.
//!
//! `SHIPMATE_SIM_SEED=N` runs one seed and prints its trace; `SHIPMATE_SIM_SEEDS=COUNT` runs more.
//! Thousands are run with `cargo run --release -p shipmate-testkit --bin simulate`.

use shipmate_testkit::simulation::{self, Coverage};

const SEEDS: u64 = 500;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().expect("the variable holds a number"))
}

#[test]
fn every_guarantee_holds_under_every_fault() {
    if let Some(seed) = number("SHIPMATE_SIM_SEED") {
        match simulation::run_with_trace(seed) {
            Ok((_, trace)) => println!("{}", trace.join("\n")),
            Err(failure) => panic!("{failure}"),
        }
        return;
    }
    let seeds = number("SHIPMATE_SIM_SEEDS").unwrap_or(SEEDS);
    let mut total = Coverage::default();
    for seed in 0..seeds {
        match simulation::run(seed) {
            Ok(coverage) => total.add(&coverage),
            Err(failure) => panic!("{failure}"),
        }
    }
    if seeds >= SEEDS {
        assert_eq!(total.gaps(), [""; 0], "what the seeds never exercised");
    }
}

#[test]
fn a_seed_is_a_run() {
    let [one, other] = [3, 3].map(|seed| simulation::run_with_trace(seed).expect("it holds").1);
    assert_eq!(one, other);
    assert!(one.len() > 100, "{} lines", one.len());
}
