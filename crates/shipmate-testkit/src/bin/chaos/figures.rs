//! What the runs came to: kills by kind, and how long things took.

use std::fmt;

use crate::killer::{Kill, Kind};

#[derive(Debug, Clone, Default)]
pub(crate) struct Figures {
    pub(crate) agents: usize,
    pub(crate) supervisors: usize,
    pub(crate) coordinators: usize,
    pub(crate) resumes: usize,
    pub(crate) attempts: usize,
    pub(crate) submissions: usize,
    pub(crate) gates: usize,
    /// From the death of an agent or its supervisor until its task could be taken again.
    pub(crate) freed_ms: Vec<u64>,
    /// From the last completion a task waited for until it was taken.
    pub(crate) started_ms: Vec<u64>,
}

impl Figures {
    pub(crate) fn count(&mut self, kills: &[Kill]) {
        let of = |kind| kills.iter().filter(|kill| kill.kind == kind).count();
        self.agents = of(Kind::Agent);
        self.supervisors = of(Kind::Supervisor);
        self.coordinators = of(Kind::Coordinator);
    }

    pub(crate) fn add(&mut self, other: Figures) {
        self.agents += other.agents;
        self.supervisors += other.supervisors;
        self.coordinators += other.coordinators;
        self.resumes += other.resumes;
        self.attempts += other.attempts;
        self.submissions += other.submissions;
        self.gates += other.gates;
        self.freed_ms.extend(other.freed_ms);
        self.started_ms.extend(other.started_ms);
    }

    fn gates_per_100(&self) -> f64 {
        self.gates as f64 * 100.0 / self.submissions.max(1) as f64
    }

    pub(crate) fn summary(&self, runs: u64) -> String {
        format!(
            "{runs} runs held; killed {} agents, {} supervisors, {} coordinators; resumed {} times\n\
             agent death -> task available: {}\ncompletion -> dependent's start: {}\n\
             gate runs per 100 submissions: {:.1}",
            self.agents,
            self.supervisors,
            self.coordinators,
            self.resumes,
            percentiles(&self.freed_ms),
            percentiles(&self.started_ms),
            self.gates_per_100()
        )
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "killed {} agents, {} supervisors, {} coordinators; {} attempts, {} resumes, {:.0} gates \
             per 100",
            self.agents,
            self.supervisors,
            self.coordinators,
            self.attempts,
            self.resumes,
            self.gates_per_100()
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
