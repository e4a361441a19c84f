//! What a run came to, from the records of its log alone: times, waits, and whether it was right.
//!
//! Records carry the wall clock in milliseconds. A teammate is free from its submission (or, before
//! its first claim, from the moment it was added) to its next claim; a task is available from the
//! completion of the last one it depends on. Whoever is free while something is available is idle
//! for no good reason: that time, and nothing else, a better runtime could save.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shipmate_model::Record;
use shipmate_model::event::{Dependency, Event, TaskId};

use crate::graph::{Graph, Order};

#[derive(Debug, Default)]
struct Task {
    open: Vec<TaskId>,
    length_ms: u64,
    available: Option<u64>,
    claimed: Option<u64>,
    by: String,
    submitted: Option<u64>,
    completed: bool,
}

#[derive(Debug)]
struct Mate {
    free: Option<u64>,
    claims: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Account {
    tasks: BTreeMap<TaskId, Task>,
    mates: BTreeMap<String, Mate>,
    now: u64,
    began: Option<u64>,
    first_claim: Option<u64>,
    last_completion: u64,
    /// Tasks that could be taken now.
    available: usize,
    /// Summed over the free while something is available; before and after their first task.
    idle_start_ms: u64,
    idle_ms: u64,
    /// From being added to the first claim.
    starts: Vec<u64>,
    /// From the moment when a free teammate and an available task were both there to the claim.
    hand_outs: Vec<u64>,
    /// Those where the teammate was there first: from a completion to its dependent's start.
    dependents: Vec<u64>,
    /// From claim to submission, beyond the task's own length.
    overruns: Vec<u64>,
    /// From submission to completion.
    checks: Vec<u64>,
    gate_runs: usize,
    records: usize,
    double_claims: usize,
    early_claims: usize,
    errors: Vec<String>,
}

impl Account {
    pub(crate) fn new(records: &[Record]) -> Account {
        let mut account = Account::default();
        for record in records {
            account.pass_time(record.at);
            account.see(record);
        }
        account.records = records.len();
        account
    }

    fn pass_time(&mut self, at: u64) {
        let passed = at.saturating_sub(self.now);
        if self.available > 0 && self.now > 0 {
            for mate in self.mates.values().filter(|mate| mate.free.is_some()) {
                match mate.claims {
                    0 => self.idle_start_ms += passed,
                    _ => self.idle_ms += passed,
                }
            }
        }
        // A wall clock may be set back: then nothing is counted until it has caught up.
        self.now = self.now.max(at);
    }

    fn see(&mut self, record: &Record) {
        let now = self.now;
        match &record.event {
            Event::TeammateAdded { who, .. } => {
                self.began.get_or_insert(now);
                self.mates.insert(who.to_string(), Mate { free: Some(now), claims: 0 });
            }
            Event::TaskCreated { task, spec, .. } => {
                let on = spec.blocked_by.iter().filter_map(|on| match on {
                    Dependency::Task(id) => Some(*id),
                    Dependency::Group(_) => None,
                });
                let open: Vec<TaskId> = on.collect();
                let available = open.is_empty().then_some(now);
                self.available += usize::from(available.is_some());
                let length_ms = spec.duration_ms.unwrap_or_default();
                self.tasks.insert(*task, Task { open, length_ms, available, ..Task::default() });
            }
            Event::TaskClaimed { task, by, .. } => self.claimed(*task, by.address.to_string()),
            Event::TaskSubmitted { task, .. } => self.submitted(*task),
            Event::TaskCompleted { task, .. } => self.completed(*task),
            Event::GateRan(_) => self.gate_runs += 1,
            Event::TaskReleased { task, .. }
            | Event::TaskReturned { task, .. }
            | Event::TaskFailed { task, .. } => {
                self.errors.push(format!("task {task} came back (record {})", record.n));
            }
            _ => {}
        }
    }

    fn claimed(&mut self, id: TaskId, by: String) {
        let now = self.now;
        let (Some(task), Some(mate)) = (self.tasks.get_mut(&id), self.mates.get_mut(&by)) else {
            return self.errors.push(format!("{by} claimed task {id}, and one of them is unknown"));
        };
        self.first_claim.get_or_insert(now);
        self.double_claims += usize::from(task.claimed.is_some());
        let Some(available) = task.available else {
            self.early_claims += 1;
            return;
        };
        self.available -= usize::from(task.claimed.is_none());
        (task.claimed, task.by) = (Some(now), by);
        let Some(free) = mate.free.take() else {
            return self.errors.push(format!("{} claimed task {id} beside another", task.by));
        };
        mate.claims += 1;
        if mate.claims == 1 {
            self.starts.push(now - free);
            return;
        }
        self.hand_outs.push(now - available.max(free));
        if available > free {
            self.dependents.push(now - available);
        }
    }

    fn submitted(&mut self, id: TaskId) {
        let now = self.now;
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let Some(claimed) = task.claimed else { return };
        task.submitted = Some(now);
        self.overruns.push((now - claimed).saturating_sub(task.length_ms));
        if let Some(mate) = self.mates.get_mut(&task.by) {
            mate.free = Some(now);
        }
    }

    fn completed(&mut self, id: TaskId) {
        if self.tasks.get(&id).is_some_and(|task| task.submitted.is_none()) {
            // Where no gate decides, the submission itself is the completion.
            self.submitted(id);
        }
        let now = self.now;
        let Some(task) = self.tasks.get_mut(&id) else { return };
        if task.completed || task.claimed.is_none() {
            self.errors.push(format!("task {id} was completed again, or by nobody"));
        }
        task.completed = true;
        self.checks.extend(task.submitted.map(|submitted| now - submitted));
        self.last_completion = now;
        for later in self.tasks.values_mut().filter(|task| task.available.is_none()) {
            later.open.retain(|on| *on != id);
            if later.open.is_empty() {
                later.available = Some(now);
                self.available += 1;
            }
        }
    }

    pub(crate) fn report(&self, graph: &Graph, teammates: usize, order: Order) -> Value {
        let since = |start: Option<u64>| self.last_completion.saturating_sub(start.unwrap_or(0));
        let (makespan, run) = (since(self.first_claim), since(self.began));
        let (bound, ideal) = (graph.bound_ms(teammates), graph.ideal_ms(teammates, order));
        let missing = self.tasks.values().filter(|task| !task.completed).count();
        let unknown = graph.nodes.len().abs_diff(self.tasks.len());
        let ratio = |ms: u64| (ms as f64 / bound.max(1) as f64 * 10_000.0).round() / 10_000.0;
        json!({
            "work_ms": graph.work_ms(), "critical_path_ms": graph.critical_path_ms(),
            "bound_ms": bound, "ideal_ms": ideal, "ideal_ratio": ratio(ideal),
            "makespan_ms": makespan, "ratio": ratio(makespan),
            "run_ms": run, "run_ratio": ratio(run),
            "idle_while_ready_ms": self.idle_ms, "idle_at_start_ms": self.idle_start_ms,
            "start_ms": percentiles(&self.starts), "hand_out_ms": percentiles(&self.hand_outs),
            "dependent_ms": percentiles(&self.dependents),
            "overrun_ms": percentiles(&self.overruns), "check_ms": percentiles(&self.checks),
            "gate_runs": self.gate_runs, "records": self.records,
            "double_claims": self.double_claims, "early_claims": self.early_claims,
            "missing": missing + unknown, "errors": self.errors.len(),
            "error_texts": self.errors.iter().take(10).collect::<Vec<_>>(),
        })
    }
}

fn percentiles(samples: &[u64]) -> Value {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let at = |part: f64| sorted.get((sorted.len() as f64 * part) as usize).or(sorted.last());
    json!({ "p50": at(0.5), "p99": at(0.99), "max": sorted.last(), "samples": sorted.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records from lines `ms event …`, as in the scenarios below.
    fn account(lines: &str) -> Account {
        let lines = lines.trim().lines().map(str::trim).enumerate();
        let records: Vec<Record> = lines.map(|(at, line)| record(at as u64 + 1, line)).collect();
        Account::new(&records)
    }

    fn record(n: u64, line: &str) -> Record {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        let event = match words[1] {
            "adds" => json!({ "teammate.added": {
                "who": format!("t/{}", words[2]), "profile": {} } }),
            "creates" => {
                let on: Vec<Value> =
                    (4..words.len()).map(|at| json!({ "task": number(at) })).collect();
                let spec = json!({ "subject": "s", "duration_ms": number(3), "blocked_by": on });
                json!({ "task.created": { "task": number(2), "team": "t", "spec": spec } })
            }
            "claims" => json!({ "task.claimed": {
                "task": number(2), "by": format!("t/{}@1", words[3]) } }),
            "submits" => json!({ "task.submitted": { "task": number(2), "token": 1 } }),
            _ => json!({ "task.completed": { "task": number(2), "token": 1 } }),
        };
        let record = json!({ "n": n, "at": 1000 + number(0), "by": "person", "event": event });
        serde_json::from_value(record).unwrap()
    }

    const TWO: &str = "
        0 creates 1 10
        0 creates 2 10 1
        0 creates 3 20
        0 adds ana
        0 adds bo
        3 claims 1 ana
        5 claims 3 bo
        14 submits 1
        15 completes 1
        17 claims 2 ana
        27 submits 2
        28 completes 2
        30 submits 3
        30 completes 3";

    #[test]
    fn waits_are_counted_from_when_both_were_there() {
        let account = account(TWO);
        assert_eq!(account.starts, [3, 5]);
        assert_eq!((&account.hand_outs, &account.dependents), (&vec![2], &vec![2]));
        assert_eq!((&account.overruns, &account.checks), (&vec![1, 0, 5], &vec![1, 1, 0]));
        // Ana waited 2 ms for task 2, and nobody could use the millisecond before it was free.
        assert_eq!((account.idle_start_ms, account.idle_ms), (8, 2));
        assert_eq!((account.first_claim, account.last_completion), (Some(1003), 1030));
        assert_eq!(account.errors, [""; 0]);
    }

    #[test]
    fn what_is_wrong_is_counted() {
        let early = account("0 creates 1 1\n0 creates 2 1 1\n0 adds ana\n1 claims 2 ana");
        assert_eq!(early.early_claims, 1);
        let twice = account("0 creates 1 1\n0 adds a\n0 adds b\n1 claims 1 a\n2 claims 1 b");
        assert_eq!(twice.double_claims, 1);
        let again = account("0 creates 1 1\n0 adds a\n1 claims 1 a\n2 completes 1\n3 completes 1");
        assert_eq!(again.errors.len(), 1);
        let graph = Graph { nodes: Vec::new() };
        let open = account("0 creates 1 1").report(&graph, 1, Order::FirstCome);
        assert_eq!(open["missing"], json!(2), "one is open, and one too many was created");
    }
}
