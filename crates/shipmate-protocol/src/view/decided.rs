//! What was decided, by whom and when: a fold over the records of a log.
//!
//! Plans, questions, permissions, scope requests and approvals of phases, whoever decided them.
//! What was withdrawn before anybody decided it is left out.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::PauseView;
use super::words::Fields;

/// A longer text is cut; the log has all of it.
const TEXT_CHARS_MAX: usize = 2_000;
/// Decisions that a screen keeps; `shipmate decisions --all` has all of them.
const KEPT: usize = 1_000;
/// Questions that are kept until they are decided.
const OPEN_MAX: usize = 10_000;

/// A decision that was made. What is empty is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DecidedRow {
    /// The record that decided it.
    pub n: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    /// `person`, or the `team/name@epoch` of a lead.
    pub by: String,
    /// `approved`, `rejected`, or the answer.
    pub answer: String,
    /// What a rejection asks for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub feedback: String,
    /// Of the plan, question or approval.
    pub id: u64,
    /// `plan`, `permission`, `scope`, `question` or `approval`.
    pub kind: String,
    pub team: String,
    /// Who asked: `team/name@epoch`, or `runtime`.
    pub who: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    pub text: String,
    pub asked_at: u64,
}

#[derive(Debug)]
pub struct Decided {
    max: usize,
    open: BTreeMap<u64, DecidedRow>,
    /// The approval that each team waits for, and the phase it is about.
    approvals: BTreeMap<String, (u64, Option<String>)>,
    rows: VecDeque<DecidedRow>,
}

impl Default for Decided {
    fn default() -> Decided {
        Decided::new(KEPT)
    }
}

impl Decided {
    /// Keeps the latest so many.
    pub fn new(max: usize) -> Decided {
        let (open, approvals) = (BTreeMap::new(), BTreeMap::new());
        Decided { max, open, approvals, rows: VecDeque::new() }
    }

    /// Takes in one record, by its fields; gives what it decided.
    pub fn take(
        &mut self,
        (n, at, by): (u64, u64, &str),
        event: &str,
        fields: &Fields,
    ) -> Option<DecidedRow> {
        let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
        let id = |key: &str| fields.get(key).and_then(Value::as_u64);
        let asked = |kind: &str, what: &str| DecidedRow {
            id: n,
            kind: kind.to_owned(),
            team: team_of(text("who")).to_owned(),
            who: text("who").to_owned(),
            task: id("task").and_then(|id| u32::try_from(id).ok()),
            text: cut(text(what)),
            asked_at: at,
            ..DecidedRow::default()
        };
        let (id, answer, feedback) = match event {
            "plan.submitted" => return self.ask(asked("plan", "body")),
            "question.asked" => {
                let kind = fields.get("kind").and_then(Value::as_str).unwrap_or("question");
                return self.ask(asked(kind, "text"));
            }
            "team.paused" => {
                let pause = PauseView::of_record(n, at, by, fields);
                if !pause.is_approval() {
                    return None;
                }
                let team = text("team").to_owned();
                self.approvals.insert(team.clone(), (n, pause.phase));
                let who = "runtime".to_owned();
                return self.ask(DecidedRow { team, who, ..asked("approval", "reason") });
            }
            // What was asked about is past: whatever lets the team go on says nothing about it.
            "phase.ended" => {
                let phase = |about: &(u64, Option<String>)| {
                    about.1.as_deref().is_none_or(|about| about == text("phase"))
                };
                if self.approvals.get(text("team")).is_some_and(phase) {
                    let past = self.approvals.remove(text("team"));
                    past.and_then(|(question, _)| self.open.remove(&question));
                }
                return None;
            }
            "team.continued" => (self.approvals.remove(text("team"))?.0, "approved", ""),
            "plan.approved" => (id("plan")?, "approved", ""),
            "plan.rejected" => (id("plan")?, "rejected", text("feedback")),
            "question.answered" => (id("question")?, text("answer"), ""),
            "plan.withdrawn" => return self.open.remove(&id("plan")?).and(None),
            "question.withdrawn" => return self.open.remove(&id("question")?).and(None),
            _ => return None,
        };
        let (by, answer, feedback) = (by.to_owned(), cut(answer), cut(feedback));
        let row = DecidedRow { n, at, by, answer, feedback, ..self.open.remove(&id)? };
        self.rows.push_back(row.clone());
        if self.rows.len() > self.max {
            self.rows.pop_front();
        }
        Some(row)
    }

    fn ask(&mut self, row: DecidedRow) -> Option<DecidedRow> {
        self.open.insert(row.id, row);
        if self.open.len() > OPEN_MAX {
            self.open.pop_first();
        }
        None
    }

    /// The latest so many, oldest first.
    pub fn rows(&self, max: usize) -> Vec<DecidedRow> {
        self.rows.iter().skip(self.rows.len().saturating_sub(max)).cloned().collect()
    }
}

fn team_of(who: &str) -> &str {
    who.split_once('/').map_or("", |(team, _)| team)
}

fn cut(text: &str) -> String {
    text.chars().take(TEXT_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fold(records: &[(&str, Value)]) -> Vec<DecidedRow> {
        let mut decided = Decided::new(100);
        for (at, (by, event)) in records.iter().enumerate() {
            let (event, fields) = event.as_object().unwrap().iter().next().unwrap();
            decided.take((at as u64 + 1, 1, by), event, fields.as_object().unwrap());
        }
        decided.rows(100)
    }

    fn said(row: &DecidedRow) -> String {
        let DecidedRow { n, by, kind, id, who, answer, text, .. } = row;
        format!("{n} {by} said {answer:?} to {kind} {id} of {who}: {text}")
    }

    #[test]
    fn what_was_decided_is_told_with_who_asked_and_who_decided() {
        let cause = json!({ "approval": { "phase": "build" } });
        let reason = "approval: phase build begins";
        let rows = fold(&[
            ("a/ana@1", json!({ "plan.submitted": { "who": "a/ana@1", "body": "split it" } })),
            (
                "a/ana@1",
                json!({ "question.asked": { "who": "a/ana@1", "kind": "permission", "text": "May I?" } }),
            ),
            ("a/bo@1", json!({ "question.asked": { "who": "a/bo@1", "text": "Which?" } })),
            (
                "runtime",
                json!({ "team.paused": { "team": "a", "reason": reason, "cause": cause } }),
            ),
            ("a/lea@1", json!({ "plan.approved": { "plan": 1 } })),
            ("person", json!({ "question.answered": { "question": 2, "answer": "allow" } })),
            ("runtime", json!({ "question.withdrawn": { "question": 3, "reason": "gone" } })),
            ("person", json!({ "team.continued": { "team": "a" } })),
        ]);
        let told: Vec<String> = rows.iter().map(said).collect();
        assert_eq!(
            told,
            [
                "5 a/lea@1 said \"approved\" to plan 1 of a/ana@1: split it",
                "6 person said \"allow\" to permission 2 of a/ana@1: May I?",
                "8 person said \"approved\" to approval 4 of runtime: approval: phase build begins",
            ]
        );
    }

    #[test]
    fn that_a_paused_team_goes_on_is_no_approval() {
        let forged = "approval: phase build begins";
        let cause = json!({ "approval": { "phase": "build" } });
        let rows = fold(&[
            (
                "a/lea@1",
                json!({ "team.paused": { "team": "a", "reason": forged, "cause": "asked" } }),
            ),
            ("person", json!({ "team.continued": { "team": "a" } })),
            (
                "runtime",
                json!({ "team.paused": { "team": "a", "reason": forged, "cause": cause } }),
            ),
            ("person", json!({ "phase.ended": { "team": "a", "phase": "build" } })),
            ("person", json!({ "team.continued": { "team": "a" } })),
        ]);
        assert_eq!(rows, []);
    }
}
