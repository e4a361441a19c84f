//! Was it right? The log is read back and held against what the workers were told.
//!
//! Offline and from the records alone: the server that made them is not asked for its opinion.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use shipmate_model::Record;
use shipmate_model::event::{Dependency, Event, TaskId, Token};

/// What a worker was told: the answers it got, in their order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told {
    /// `team/name@epoch`, as records name it.
    pub(crate) who: String,
    pub(crate) claims: Vec<(u64, u64)>,
    pub(crate) completions: Vec<u64>,
}

/// How often something was wrong. All of it must be zero.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// A task that had a holder or was done was given to somebody.
    pub(crate) double_claims: usize,
    /// Tasks that were created and never completed.
    pub(crate) missing: usize,
    /// Acknowledged claims and completions that the log does not have, or has otherwise.
    pub(crate) lost_acknowledged: usize,
    /// Claims before everything they depend on was completed.
    pub(crate) early_claims: usize,
    /// Anything else, in words; the first ten.
    pub(crate) errors: Vec<String>,
    pub(crate) error_count: usize,
}

impl Verdict {
    pub(crate) fn error(&mut self, text: impl FnOnce() -> String) {
        self.error_count += 1;
        if self.errors.len() < 10 {
            self.errors.push(text());
        }
    }

    /// The figures of `report`, with these beside them.
    pub(crate) fn add_to(&self, report: &mut Value) {
        report["double_claims"] = json!(self.double_claims);
        report["missing"] = json!(self.missing);
        report["lost_acknowledged"] = json!(self.lost_acknowledged);
        report["early_claims"] = json!(self.early_claims);
        report["errors"] = json!(self.error_count);
        report["error_texts"] = json!(self.errors);
    }
}

#[derive(Debug, Default)]
struct Seen {
    blocked_by: Vec<TaskId>,
    holder: Option<Token>,
    completed: usize,
}

#[derive(Debug, Default)]
struct History {
    tasks: BTreeMap<TaskId, Seen>,
    /// Who each claim was given to, by its token.
    claims: BTreeMap<Token, (TaskId, String)>,
    completions: BTreeMap<TaskId, (Token, String)>,
    verdict: Verdict,
}

/// Holds the whole log against what was told.
pub(crate) fn verify(records: &[Record], told: &[Told]) -> Verdict {
    let mut history = History::default();
    for (index, record) in records.iter().enumerate() {
        if record.n != index as u64 + 1 {
            history.verdict.error(|| format!("record {} stands at {}", record.n, index + 1));
        }
        history.see(record);
    }
    history.verdict.missing = history.tasks.values().filter(|seen| seen.completed == 0).count();
    history.compare(told);
    history.verdict
}

impl History {
    fn see(&mut self, record: &Record) {
        match &record.event {
            Event::TaskCreated { task, spec, .. } => {
                let on = spec.blocked_by.iter().filter_map(|on| match on {
                    Dependency::Task(id) => Some(*id),
                    Dependency::Group(_) => None,
                });
                let seen = Seen { blocked_by: on.collect(), ..Seen::default() };
                if self.tasks.insert(*task, seen).is_some() {
                    self.verdict.error(|| format!("task {task} was created twice"));
                }
            }
            Event::TaskClaimed { task, by, .. } => self.claimed(*task, record.n, by.to_string()),
            Event::TaskCompleted { task, token, .. } => {
                self.completed(*task, *token, record.by.to_string());
            }
            Event::TaskReleased { task, token, .. } | Event::TaskFailed { task, token, .. } => {
                // Nothing is slow enough here for a lease to end: somebody lost a task.
                self.verdict.error(|| format!("task {task} was taken away (record {})", record.n));
                let seen = self.tasks.entry(*task).or_default();
                seen.holder = seen.holder.filter(|holder| holder != token);
            }
            _ => {}
        }
    }

    fn claimed(&mut self, task: TaskId, token: Token, by: String) {
        let done = |id: &TaskId| self.tasks.get(id).is_some_and(|seen| seen.completed > 0);
        let early = match self.tasks.get(&task) {
            Some(seen) => !seen.blocked_by.iter().all(done),
            None => true,
        };
        self.verdict.early_claims += usize::from(early);
        let seen = self.tasks.entry(task).or_default();
        self.verdict.double_claims += usize::from(seen.holder.is_some() || seen.completed > 0);
        seen.holder = Some(token);
        self.claims.insert(token, (task, by));
    }

    fn completed(&mut self, task: TaskId, token: Token, by: String) {
        let seen = self.tasks.entry(task).or_default();
        if seen.holder != Some(token) {
            self.verdict.error(|| format!("task {task} was completed with a token of another"));
        }
        seen.completed += 1;
        if seen.completed > 1 {
            self.verdict.error(|| format!("task {task} was completed {} times", seen.completed));
        }
        seen.holder = None;
        self.completions.insert(task, (token, by));
    }

    /// Each answer is in the log once, and each record was answered to somebody.
    fn compare(&mut self, told: &[Told]) {
        let mut heard = BTreeSet::new();
        for Told { who, claims, completions } in told {
            for (task, token) in claims {
                let logged = self.claims.get(token);
                let same = logged.is_some_and(|(of, by)| u64::from(*of) == *task && by == who);
                self.verdict.lost_acknowledged += usize::from(!same);
                if !heard.insert(*token) {
                    self.verdict.error(|| format!("the claim {token} was given out twice"));
                }
            }
            for task in completions {
                let logged = TaskId::try_from(*task).ok().and_then(|id| self.completions.get(&id));
                let same = logged.is_some_and(|(_, by)| by == who);
                self.verdict.lost_acknowledged += usize::from(!same);
            }
        }
        for (token, (task, by)) in &self.claims {
            if !heard.contains(token) {
                self.verdict.error(|| format!("{by} was never told of its claim of task {task}"));
            }
        }
        let completions: usize = told.iter().map(|told| told.completions.len()).sum();
        if completions != self.completions.len() {
            let logged = self.completions.len();
            self.verdict.error(|| format!("{completions} completions were told, {logged} logged"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records from lines `by event task`, where `by` is a name of the team.
    fn log(lines: &str) -> Vec<Record> {
        let lines = lines.trim().lines().map(str::trim).enumerate();
        lines.map(|(index, line)| record(index as u64 + 1, line)).collect()
    }

    fn record(n: u64, line: &str) -> Record {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (by, what, task) = (format!("load/{}@1", words[0]), words[1], words[2]);
        let task: u64 = task.parse().unwrap();
        let on: Vec<Value> =
            words[3..].iter().map(|id| json!({ "task": id.parse::<u32>().unwrap() })).collect();
        let event = match what {
            "creates" => json!({ "task.created": {
                "task": task, "team": "load", "spec": { "subject": "s", "blocked_by": on } } }),
            "claims" => json!({ "task.claimed": { "task": task, "by": by } }),
            _ => {
                let token: u64 = words[3].parse().unwrap();
                json!({ "task.completed": { "task": task, "token": token } })
            }
        };
        serde_json::from_value(json!({ "n": n, "at": 0, "by": by, "event": event })).unwrap()
    }

    fn told(who: &str, claims: &[(u64, u64)], completions: &[u64]) -> Told {
        let (claims, completions) = (claims.to_vec(), completions.to_vec());
        Told { who: format!("load/{who}@1"), claims, completions }
    }

    const RIGHT: &str = "
        ana creates 1
        ana creates 2 1
        ana claims 1
        ana completes 1 3
        bo claims 2
        bo completes 2 5";

    #[test]
    fn a_right_history_has_nothing_against_it() {
        let told = [told("ana", &[(1, 3)], &[1]), told("bo", &[(2, 5)], &[2])];
        assert_eq!(verify(&log(RIGHT), &told), Verdict::default());
    }

    #[test]
    fn a_second_holder_is_a_double_claim() {
        let log = log("
            ana creates 1
            ana claims 1
            bo claims 1
            bo completes 1 3
            ana claims 1");
        let told = [told("ana", &[(1, 2), (1, 5)], &[]), told("bo", &[(1, 3)], &[1])];
        let verdict = verify(&log, &told);
        assert_eq!((verdict.double_claims, verdict.error_count), (2, 0), "{verdict:?}");
    }

    #[test]
    fn a_claim_before_its_dependency_is_early_and_an_open_task_is_missing() {
        let log = log("
            ana creates 1
            ana creates 2 1
            ana claims 2
            ana completes 2 3");
        let verdict = verify(&log, &[told("ana", &[(2, 3)], &[2])]);
        assert_eq!((verdict.early_claims, verdict.missing), (1, 1), "{verdict:?}");
    }

    #[test]
    fn what_was_told_and_is_not_logged_is_lost() {
        let unknown = [told("ana", &[(1, 3), (7, 9)], &[1, 7]), told("bo", &[(2, 5)], &[2])];
        assert_eq!(verify(&log(RIGHT), &unknown).lost_acknowledged, 2);
        let of_another = [told("bo", &[(1, 3), (2, 5)], &[1, 2])];
        assert_eq!(verify(&log(RIGHT), &of_another).lost_acknowledged, 2);
    }

    #[test]
    fn what_was_logged_and_told_to_nobody_or_twice_is_an_error() {
        let verdict = verify(&log(RIGHT), &[told("ana", &[(1, 3)], &[1])]);
        assert_eq!(verdict.error_count, 2, "{verdict:?}");
        let twice = [told("ana", &[(1, 3), (1, 3)], &[1]), told("bo", &[(2, 5)], &[2])];
        assert_eq!(verify(&log(RIGHT), &twice).error_count, 1);
    }

    #[test]
    fn a_token_of_another_claim_completes_nothing_here() {
        let log = log("
            ana creates 1
            ana claims 1
            ana completes 1 7
            ana completes 1 7");
        let verdict = verify(&log, &[told("ana", &[(1, 2)], &[1])]);
        assert_eq!(verdict.error_count, 3, "{verdict:?}");
    }
}
