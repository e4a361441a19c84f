//! What was measured: every run by its name, in the order of the rounds.

use serde_json::{Value, json};

/// Fields that count faults. All of them must be zero, on every board.
const FAULTS: [&str; 8] = [
    "double_claims",
    "missing",
    "lost_acknowledged",
    "early_claims",
    "errors",
    "lost",
    "doubled",
    "out_of_order",
];

#[derive(Debug, Default)]
pub(super) struct Results(Vec<(String, Result<Value, String>)>);

impl Results {
    pub(super) fn add(&mut self, name: &str, result: Result<Value, String>) {
        self.0.push((name.to_owned(), result));
    }

    /// One figure of one run, round by round; `at` is a JSON pointer.
    pub(super) fn figures(&self, name: &str, at: &str) -> Vec<f64> {
        let runs = self.0.iter().filter(|(of, _)| of == name);
        runs.filter_map(|(_, result)| result.as_ref().ok()?.pointer(at)?.as_f64()).collect()
    }

    pub(super) fn last(&self, name: &str) -> Option<&Value> {
        self.0.iter().rev().find(|(of, _)| of == name)?.1.as_ref().ok()
    }

    /// Everything that was wrong, in words.
    pub(super) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (name, result) in &self.0 {
            match result {
                Err(message) => faults.push(format!("{name}: {message}")),
                Ok(run) => {
                    let wrong = FAULTS.iter().filter(|field| run[**field].as_u64() > Some(0));
                    faults.extend(wrong.map(|field| {
                        let texts = &run["error_texts"];
                        format!("{name}: {field} {} {}", run[*field], told(texts))
                    }));
                }
            }
        }
        faults
    }

    pub(super) fn runs(&self) -> Vec<Value> {
        let run = |(name, result): &(String, Result<Value, String>)| match result {
            Ok(run) => json!({ "name": name, "result": run }),
            Err(message) => json!({ "name": name, "failed": message }),
        };
        self.0.iter().map(run).collect()
    }
}

fn told(texts: &Value) -> String {
    let texts = texts.as_array().map(Vec::as_slice).unwrap_or_default();
    texts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("; ")
}

/// A run in a few words, for whoever watches.
pub(super) fn glance(result: &Result<Value, String>) -> String {
    let run = match result {
        Ok(run) => run,
        Err(message) => return format!("FAILED: {}", message.lines().next().unwrap_or_default()),
    };
    let known = [
        ("/tasks_per_s", "tasks/s"),
        ("/kills", "kills"),
        ("/latency_us/p50", "µs p50"),
        ("/fdatasync_us/p50", "µs p50"),
        ("/available_us/p50", "µs available"),
        ("/first_answer_after_end_ms", "ms"),
        ("/rss_mib", "MiB"),
        ("/layered/ratio", "× its bound, layered"),
        ("/lanes/claude/idle_ms/p50", "ms p50 into claude"),
        ("/each_mib", "MiB each"),
    ];
    let found = known.iter().find_map(|(at, unit)| Some((run.pointer(at)?.as_f64()?, unit)));
    found.map_or_else(|| "done".to_owned(), |(figure, unit)| format!("{figure} {unit}"))
}

/// The median, and the range where there are several.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

pub(super) fn spread(figures: &[f64]) -> Option<Spread> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (*sorted.first()?, *sorted.last()?);
    Some(Spread { median: sorted[sorted.len() / 2], low, high })
}

/// Ratios of two runs, round by round.
pub(super) fn ratios(of: &[f64], to: &[f64]) -> Vec<f64> {
    of.iter().zip(to).filter(|(_, to)| **to > 0.0).map(|(of, to)| of / to).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_its_median_in_the_middle() {
        let found = spread(&[3.0, 1.0, 2.0]);
        assert_eq!(found, Some(Spread { median: 2.0, low: 1.0, high: 3.0 }));
        assert_eq!(spread(&[]), None);
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        assert_eq!(ratios(&[10.0, 30.0], &[5.0, 10.0]), [2.0, 3.0]);
    }

    #[test]
    fn faults_are_found_and_slowness_is_none() {
        let mut results = Results::default();
        results.add("W1", Ok(json!({ "tasks_per_s": 0.1, "missing": 0, "errors": 0 })));
        assert_eq!(results.faults(), [""; 0]);
        results.add("W1", Ok(json!({ "double_claims": 2, "error_texts": ["a", "b"] })));
        results.add("W2", Err("no end".to_owned()));
        assert_eq!(results.faults(), ["W1: double_claims 2 a; b", "W2: no end"]);
    }
}
