//! The steps of a run: each has a name, a duration and an outcome, and the run has a last line.
//!
//! A failed step does not end the run: whoever reads it wants all the news of one pass.

use std::time::{Duration, Instant};

#[derive(Debug)]
enum Outcome {
    Passed,
    Failed(String),
    NotRun(String),
}

#[derive(Debug)]
struct Step {
    name: &'static str,
    outcome: Outcome,
    took: Duration,
}

#[derive(Debug, Default)]
pub(crate) struct Steps(Vec<Step>);

impl Steps {
    /// Runs one step and tells how it went.
    pub(crate) fn run(&mut self, name: &'static str, step: impl FnOnce() -> Result<(), String>) {
        println!("\n=== {name}");
        let start = Instant::now();
        let outcome = match step() {
            Ok(()) => Outcome::Passed,
            Err(message) => {
                println!("{message}");
                Outcome::Failed(message)
            }
        };
        let step = Step { name, outcome, took: start.elapsed() };
        println!("{}", step.line());
        self.0.push(step);
    }

    /// Says plainly that a step was left out: silence would look like success.
    pub(crate) fn not_run(&mut self, name: &'static str, reason: &str) {
        println!("\n=== {name}\nnot run: {reason}");
        let outcome = Outcome::NotRun(reason.to_owned());
        self.0.push(Step { name, outcome, took: Duration::ZERO });
    }

    /// Prints every step; the totals are the last line, as an error if any step failed.
    pub(crate) fn finish(self) -> Result<(), String> {
        println!("\n=== summary");
        for step in &self.0 {
            println!("{}", step.line());
        }
        let failed = self.0.iter().any(|s| matches!(s.outcome, Outcome::Failed(_)));
        let totals = self.totals();
        if failed {
            return Err(totals);
        }
        println!("{totals}");
        Ok(())
    }

    fn totals(&self) -> String {
        let count = |is: fn(&Outcome) -> bool| self.0.iter().filter(|s| is(&s.outcome)).count();
        let took: Duration = self.0.iter().map(|s| s.took).sum();
        format!(
            "steps: {} passed, {} failed, {} skipped in {}",
            count(|o| matches!(o, Outcome::Passed)),
            count(|o| matches!(o, Outcome::Failed(_))),
            count(|o| matches!(o, Outcome::NotRun(_))),
            seconds(took)
        )
    }
}

impl Step {
    fn line(&self) -> String {
        let Self { name, took, .. } = self;
        match &self.outcome {
            Outcome::Passed => format!("passed   {name} in {}", seconds(*took)),
            Outcome::Failed(message) => {
                let first = message.lines().next().unwrap_or_default();
                format!("FAILED   {name} in {}: {first}", seconds(*took))
            }
            Outcome::NotRun(reason) => format!("skipped  {name}: not run: {reason}"),
        }
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_counts_its_steps_and_fails_with_any_of_them() {
        let mut steps = Steps::default();
        steps.run("fmt", || Ok(()));
        steps.run("tidy", || Err("found 1\na.rs".to_owned()));
        steps.not_run("deny", "cargo-deny is not installed");
        assert!(steps.0[1].line().ends_with(": found 1"), "{}", steps.0[1].line());
        let totals = steps.finish().unwrap_err();
        assert!(totals.starts_with("steps: 1 passed, 1 failed, 1 skipped in "), "{totals}");
    }

    #[test]
    fn a_step_that_was_not_run_fails_nothing() {
        let mut steps = Steps::default();
        steps.run("fmt", || Ok(()));
        steps.not_run("deny", "cargo-deny is not installed");
        assert_eq!(steps.finish(), Ok(()));
    }
}
