//! Whole teams at work while their processes are killed at random: the long test of a run.
//!
//! `chaos --runs 100 --tasks 16 [--seed N] [--shipmate PATH]`. Each run has a fresh repository, a
//! plan in layers and six teammates. The coordinator is killed while the team is created; then agents,
//! supervisors, coordinators, gates and gits are killed or stopped for a while, and at last the team is
//! resumed until everything is done. Then the log, the branch, the outputs and `/proc` are looked
//! at: each task completed once and landed once, the gate green at every commit the branch was
//! at, nothing left behind. A run that fails names its seed and keeps its folder.
//!
//! A seed gives the same plan and the same draws, not the same run: the machine has its say.

#[path = "chaos/audit.rs"]
mod audit;
#[path = "chaos/figures.rs"]
mod figures;
#[path = "chaos/killer.rs"]
mod killer;
#[path = "chaos/yard.rs"]
mod yard;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use figures::Figures;
use shipmate_testkit::Random;
use yard::Yard;

const USAGE: &str = "usage: chaos [--runs N] [--tasks N] [--seed N] [--shipmate PATH] [--keep]";

struct Options {
    runs: u64,
    tasks: usize,
    seed: u64,
    shipmate: PathBuf,
    keep: bool,
}

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let mut total = Figures::default();
    let mut failed = Vec::new();
    for seed in options.seed..options.seed + options.runs {
        let begun = Instant::now();
        match run(&options, seed) {
            Ok(figures) => {
                println!("seed {seed}: {:.1} s, {figures}", begun.elapsed().as_secs_f64());
                total.add(figures);
            }
            Err(message) => {
                println!(
                    "seed {seed}: FAILED after {:.1} s: {message}",
                    begun.elapsed().as_secs_f64()
                );
                failed.push(seed);
            }
        }
    }
    println!("\n{}", total.summary(options.runs - failed.len() as u64));
    match failed.is_empty() {
        true => ExitCode::SUCCESS,
        false => {
            println!("FAILED: seeds {failed:?}");
            ExitCode::FAILURE
        }
    }
}

fn parse(words: impl Iterator<Item = String>) -> Result<Options, String> {
    let beside = std::env::current_exe().map_err(|e| e.to_string())?.with_file_name("shipmate");
    let mut options = Options { runs: 2, tasks: 40, seed: 1, shipmate: beside, keep: false };
    let mut words = words;
    while let Some(word) = words.next() {
        if word == "--keep" {
            options.keep = true;
            continue;
        }
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{word} {value}: not a number"));
        match word.as_str() {
            "--runs" => options.runs = number()?,
            "--tasks" => options.tasks = number()? as usize,
            "--seed" => options.seed = number()?,
            "--shipmate" => options.shipmate = PathBuf::from(value),
            _ => return Err(format!("{word} means nothing here")),
        }
    }
    if !options.shipmate.exists() {
        let path = options.shipmate.display();
        return Err(format!("{path} is not there: build it with `cargo build -p shipmate`"));
    }
    Ok(options)
}

fn run(options: &Options, seed: u64) -> Result<Figures, String> {
    let mut random = Random::new(seed);
    let mut yard = Yard::fresh(&options.shipmate, seed)?;
    let done = yard
        .begin(options.tasks, &mut random)
        .and_then(|()| killer::rage(&mut yard, options.tasks, &mut random))
        .and_then(|kills| audit::audit(&mut yard, options.tasks, kills));
    if done.is_err() {
        yard.stop_everything();
    }
    match &done {
        Ok(_) if !options.keep => yard.remove()?,
        _ => println!("  the folder is kept: {}", yard.root.display()),
    }
    done
}
