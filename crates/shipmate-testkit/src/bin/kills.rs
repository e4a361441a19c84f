//! Commands that are killed at every n-th call of the system: see `shipmate_testkit::kills`.
//!
//! `kills [--subject NAME]… [--target NAME]… [--stride N] [--first N] [--at N] [--kills N]
//! [--shipmate PATH]`. Needs strace. Prints a line for each kill and the totals; exit code 1 if
//! anything did not hold, and then the folders with the evidence stay.

use std::path::PathBuf;
use std::process::ExitCode;

use shipmate_testkit::kills::{Kills, Moments, Subject, Target};

const USAGE: &str = "usage: kills [--subject NAME]… [--target NAME]… [--stride N [--first N] | \
    --kills N | --at N] [--shipmate PATH]";

struct Options {
    subjects: Vec<Subject>,
    targets: Vec<Target>,
    moments: Moments,
    shipmate: PathBuf,
}

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match sweep(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn sweep(options: &Options) -> Result<bool, String> {
    let mut kills = Kills::new(&options.shipmate, "kills")?;
    let (mut table, mut violations) = (Vec::new(), Vec::new());
    for subject in &options.subjects {
        for target in &options.targets {
            let swept = kills.sweep(*subject, *target, options.moments, |line| println!("{line}"));
            let swept = match swept {
                Ok(swept) => swept,
                Err(message) => {
                    kills.end();
                    return Err(message);
                }
            };
            table.push(format!(
                "{:<12} {:<12} {:>6} calls {:>5} kills {:>4} violations",
                subject.name(),
                target.name(),
                swept.calls,
                swept.fired,
                swept.violations.len()
            ));
            violations.extend(swept.violations);
        }
    }
    println!("\n{}\n", table.join("\n"));
    violations.iter().for_each(|violation| println!("{violation}"));
    match violations.is_empty() {
        true => kills.remove(),
        false => kills.end(),
    }
    Ok(violations.is_empty())
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let beside = std::env::current_exe().map_err(|e| e.to_string())?.with_file_name("shipmate");
    let (mut subjects, mut targets) = (Vec::new(), Vec::new());
    let (mut first, mut stride, mut moments) = (1, 1, None);
    let mut shipmate = beside;
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{word} {value}: not a number"));
        match word.as_str() {
            "--subject" => {
                let found = Subject::ALL.into_iter().find(|one| one.name() == value);
                subjects.push(found.ok_or_else(|| format!("no subject is called {value}"))?);
            }
            "--target" => {
                let found = Target::ALL.into_iter().find(|one| one.name() == value);
                targets.push(found.ok_or_else(|| format!("no target is called {value}"))?);
            }
            "--first" => first = number()?.max(1),
            "--stride" => stride = number()?.max(1),
            "--kills" => moments = Some(Moments::Spread { kills: number()? }),
            "--at" => moments = Some(Moments::Only(number()?)),
            "--shipmate" => shipmate = PathBuf::from(&value),
            _ => return Err(format!("{word} means nothing here")),
        }
    }
    if subjects.is_empty() {
        subjects = Subject::ALL.to_vec();
    }
    if targets.is_empty() {
        targets = Target::ALL.to_vec();
    }
    let moments = moments.unwrap_or(Moments::Every { first, stride });
    if !shipmate.exists() {
        let path = shipmate.display();
        return Err(format!("{path} is not there: build it with `cargo build -p shipmate`"));
    }
    Ok(Options { subjects, targets, moments, shipmate })
}
