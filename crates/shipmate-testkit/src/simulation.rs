//! Whole teams in one thread under one seed.
//!
//! Several coordinators decide on one shared log for simulated people and teammates, while answers
//! get lost, processes die, disks fill and clocks jump. After each append every guarantee that can
//! be read off the log is checked (`checks`) against an account of it that shares no rule with the
//! core (`model`). No clock, no thread, no hash map: what a seed shows once it shows again.

mod acts;
mod checks;
mod client;
mod coordinator;
mod coverage;
mod crew;
mod faults;
mod model;
mod vocabulary;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use shipmate_model::event::Record;

pub use checks::Breach;
pub use coverage::{Coverage, Fault};
use crew::Crew;
use world::World;

/// Seeds whose number is a multiple of this are run twice, with other wall clocks.
const TWICE_EVERY: u64 = 16;

/// A seed that broke a guarantee, with all that is needed to look at it.
#[derive(Debug)]
pub struct Failure {
    pub seed: u64,
    pub fact: String,
    /// One line per command and fault, up to the breach.
    pub trace: Vec<String>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Failure { seed, fact, trace } = self;
        writeln!(f, "seed {seed}")?;
        for line in trace {
            writeln!(f, "{line}")?;
        }
        writeln!(f, "seed {seed} breaks {fact}")?;
        write!(f, "replay: cargo run --release -p shipmate-testkit --bin simulate -- --seed {seed}")
    }
}

/// What a run noted down for a person; empty unless asked for, because formatting is dear.
#[derive(Debug, Default)]
struct Trace {
    lines: Option<Vec<String>>,
}

impl Trace {
    fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            lines.push(line());
        }
    }
}

/// Runs one seed and holds it to every guarantee.
pub fn run(seed: u64) -> Result<Coverage, Box<Failure>> {
    match attempt(seed, &mut Trace::default()) {
        Ok(coverage) => Ok(coverage),
        Err(_) => {
            // Once more, writing down what happens: a seed is a run.
            let mut trace = Trace { lines: Some(Vec::new()) };
            let fact = attempt(seed, &mut trace).err().unwrap_or_else(|| {
                "nothing when run again: the run is not a function of its seed".to_owned()
            });
            Err(Box::new(Failure { seed, fact, trace: trace.lines.unwrap_or_default() }))
        }
    }
}

/// The same, with the trace of a run that went well.
pub fn run_with_trace(seed: u64) -> Result<(Coverage, Vec<String>), Box<Failure>> {
    let mut trace = Trace { lines: Some(Vec::new()) };
    let result = attempt(seed, &mut trace);
    let trace = trace.lines.unwrap_or_default();
    match result {
        Ok(coverage) => Ok((coverage, trace)),
        Err(fact) => Err(Box::new(Failure { seed, fact, trace })),
    }
}

fn attempt(seed: u64, trace: &mut Trace) -> Result<Coverage, String> {
    let (mut coverage, records) = one_run(seed, 1, trace)?;
    coverage.add(&watched(|| Crew::new(seed, trace).run())?);
    if seed.is_multiple_of(TWICE_EVERY) {
        let (_, again) = one_run(seed, 2, &mut Trace::default())?;
        wall_clocks_decide_nothing(&records, &again)?;
    }
    Ok(coverage)
}

fn one_run(seed: u64, wall: u64, trace: &mut Trace) -> Result<(Coverage, Vec<Record>), String> {
    watched(|| World::new(seed, wall, trace).run())
}

/// A run, where a panic is a breach like any other.
fn watched<T>(run: impl FnOnce() -> Result<T, Breach>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(breach)) => Err(breach.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(format!("an invariant of the code: {}", text.unwrap_or_default()))
        }
    }
}

/// G10: the same seed with other wall clocks gives the same events, apart from their `at`.
fn wall_clocks_decide_nothing(one: &[Record], other: &[Record]) -> Result<(), String> {
    let timeless = |record: &Record| Record { at: 0, ..record.clone() };
    let differ = one.iter().zip(other).find(|(a, b)| timeless(a) != timeless(b));
    if let Some((a, b)) = differ {
        return Err(format!("G10: with another wall clock {a:?} became {b:?}"));
    }
    if one.len() != other.len() {
        return Err("G10: with another wall clock the log has another length".to_owned());
    }
    let moved = one.iter().zip(other).any(|(a, b)| a.at != b.at);
    if !moved && !one.is_empty() {
        return Err("G10: the two runs had the same wall clock".to_owned());
    }
    Ok(())
}
