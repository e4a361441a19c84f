//! What the runs came to: kills by kind, and how long things took.

use std::collections::BTreeMap;
use std::fmt;

use crate::killer::{Kill, Kind};

#[derive(Debug, Clone, Default)]
pub(crate) struct Figures {
    /// How many of each kind were killed, or stopped for a while.
    pub(crate) struck: BTreeMap<Kind, usize>,
    /// How often the team paused by itself, and how often it was resumed.
    pub(crate) pauses: usize,
    pub(crate) resumes: usize,
    pub(crate) attempts: usize,
    pub(crate) submissions: usize,
    pub(crate) gates: usize,
    /// Commits of the branch at which the gate was run again.
    pub(crate) commits: usize,
    /// From the death of an agent or its supervisor until its task could be taken again.
    pub(crate) freed_ms: Vec<u64>,
    /// From the last completion a task waited for until it was taken.
    pub(crate) started_ms: Vec<u64>,
}

impl Figures {
    pub(crate) fn count(&mut self, kills: &[Kill]) {
        for kill in kills {
            *self.struck.entry(kill.kind).or_default() += 1;
        }
    }

    pub(crate) fn add(&mut self, other: Figures) {
        for (kind, count) in other.struck {
            *self.struck.entry(kind).or_default() += count;
        }
        self.pauses += other.pauses;
        self.resumes += other.resumes;
        self.attempts += other.attempts;
        self.submissions += other.submissions;
        self.gates += other.gates;
        self.commits += other.commits;
        self.freed_ms.extend(other.freed_ms);
        self.started_ms.extend(other.started_ms);
    }

    fn gates_per_100(&self) -> f64 {
        self.gates as f64 * 100.0 / self.submissions.max(1) as f64
    }

    fn strikes(&self) -> String {
        let each = self.struck.iter().map(|(kind, count)| format!("{count} {}", kind.name()));
        each.collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn summary(&self, runs: u64) -> String {
        format!(
            "{runs} runs held; {}; paused {} times, resumed {} times\n\
             gate green again at all {} commits of the branches\n\
             agent death -> task available: {}\ncompletion -> dependent's start: {}\n\
             gate runs per 100 submissions: {:.1}",
            self.strikes(),
            self.pauses,
            self.resumes,
            self.commits,
            percentiles(&self.freed_ms),
            percentiles(&self.started_ms),
            self.gates_per_100()
        )
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures { attempts, pauses, resumes, commits, .. } = self;
        write!(
            f,
            "{}; {attempts} attempts, {pauses} pauses, {resumes} resumes, {commits} commits green",
            self.strikes()
        )
    }
}

fn percentiles(samples: &[u64]) -> String {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let Some(last) = sorted.last() else { return "no samples".to_owned() };
    let at = |part: usize| sorted[(sorted.len() * part / 100).min(sorted.len() - 1)];
    let count = sorted.len();
    format!("p50 {} ms, p90 {} ms, p99 {} ms, max {last} ms ({count})", at(50), at(90), at(99))
}
