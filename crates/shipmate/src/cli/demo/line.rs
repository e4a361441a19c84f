//! A record as a line of the play, and the counting behind the summary.

use std::collections::BTreeMap;

use serde_json::Value;

use super::plot::TEAM;
use crate::cli::log::{Record, short};
use crate::cli::screen::Paint;

/// What the records came to.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) records: u64,
    pub(super) subjects: BTreeMap<u64, String>,
    /// Who holds which task, and since which record.
    pub(super) holders: BTreeMap<u64, (String, u64)>,
    pub(super) completed: usize,
    pub(super) claims: usize,
    pub(super) messages: usize,
    pub(super) stopped: usize,
    /// Claims on a task that another claim still held. Must stay 0.
    pub(super) doubles: usize,
    pub(super) failures: usize,
    pub(super) expired: usize,
}

/// What a record means to the play.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Scene {
    pub(super) who: String,
    pub(super) what: String,
    pub(super) paint: Paint,
}

impl Tally {
    /// Counts the record and puts it into words, if it is worth a line.
    pub(super) fn see(&mut self, record: &Record) -> Option<Scene> {
        self.records += 1;
        let (event, fields) = record.event.iter().next()?;
        let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
        let task = fields.get("task").and_then(Value::as_u64).unwrap_or_default();
        let by = name(&record.by);
        let scene = |paint, what: String| Some(Scene { who: by.clone(), what, paint });
        match event.as_str() {
            "task.created" => {
                let subject = fields.get("spec").and_then(|spec| spec.get("subject"));
                let subject = subject.and_then(Value::as_str).unwrap_or_default();
                self.subjects.insert(task, subject.to_owned());
                None
            }
            "task.claimed" => {
                self.claims += 1;
                if self.holders.insert(task, (by.clone(), record.n)).is_some() {
                    self.doubles += 1;
                }
                scene(Paint::Plain, format!("takes {task:>2}  {}", self.subject(task)))
            }
            "task.completed" => {
                self.completed += 1;
                self.holders.remove(&task);
                scene(Paint::Good, format!("ends  {task:>2}  {}", self.subject(task)))
            }
            "task.released" => {
                let holder = self.holders.remove(&task).map(|(holder, _)| holder);
                let holder = holder.unwrap_or_default();
                match text("cause") {
                    "failed" => {
                        self.failures += 1;
                        let reason = text("reason");
                        let what = format!("fails {task:>2}  {reason}: it is tried again");
                        scene(Paint::Bad, what)
                    }
                    _ => {
                        self.expired += 1;
                        let what = format!("frees {task:>2}  the lease of {holder} has run out");
                        scene(Paint::Bad, what)
                    }
                }
            }
            "message.sent" if text("kind") == "message" => {
                self.messages += 1;
                let to = fields.get("to").and_then(|to| to.get(0)).and_then(|to| to.get("member"));
                let to = name(to.and_then(Value::as_str).unwrap_or("person"));
                scene(Paint::Dim, format!("tells {to}: {}", text("body")))
            }
            "task.work_set_aside" => {
                scene(Paint::Busy, format!("keeps {task:>2}  the late work, for a person to see"))
            }
            "shutdown.requested" => {
                scene(Paint::Plain, format!("asks {} to stop", name(text("who"))))
            }
            "teammate.stopped" => {
                self.stopped += 1;
                let outcome = fields.get("outcome").and_then(Value::as_str).unwrap_or("with work");
                let who = name(text("who"));
                let what = format!("stops: {}", outcome.replace('_', " "));
                Some(Scene { who, what, paint: Paint::Plain })
            }
            _ => None,
        }
    }

    fn subject(&self, task: u64) -> &str {
        self.subjects.get(&task).map_or("", String::as_str)
    }
}

/// The bare name of a teammate of the demo.
fn name(who: &str) -> String {
    let who = short(who, TEAM);
    who.split('@').next().unwrap_or(who).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(n: u64, by: &str, event: &str) -> Record {
        let text = format!(r#"{{"n":{n},"at":0,"by":"{by}","event":{event}}}"#);
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_second_claim_on_a_held_task_is_counted_as_a_double() {
        let mut tally = Tally::default();
        let claim = r#"{"task.claimed":{"task":1}}"#;
        tally.see(&record(1, "demo/ana@1", claim));
        tally.see(&record(
            2,
            "runtime",
            r#"{"task.released":{"task":1,"cause":"expired","reason":"x"}}"#,
        ));
        tally.see(&record(3, "demo/bo@1", claim));
        assert_eq!((tally.claims, tally.doubles, tally.expired), (2, 0, 1));
        tally.see(&record(4, "demo/ana@1", claim));
        assert_eq!(tally.doubles, 1);
    }
}
