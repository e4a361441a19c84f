//! What was decided, by whom and when: a fold over the records of a log.
//!
//! Plans, questions, permissions, scope requests and approvals of phases, whoever decided them.
//! What was withdrawn before anybody decided it is left out.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use shipmate_model::pause::Pause;
use shipmate_model::status::DecisionKind;
use shipmate_model::{Event, Record, TaskId, TeammateRef};

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
    pub kind: DecisionKind,
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
    approvals: BTreeMap<String, (u64, String)>,
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

    /// Takes in one record; gives what it decided.
    pub fn take(&mut self, record: &Record) -> Option<DecidedRow> {
        let (n, at) = (record.n, record.at);
        let asked =
            |kind: DecisionKind, who: &TeammateRef, task: Option<TaskId>, text: &str| DecidedRow {
                id: n,
                kind,
                team: who.address.team.to_string(),
                who: who.to_string(),
                task,
                text: cut(text),
                asked_at: at,
                ..DecidedRow::default()
            };
        let (id, answer, feedback) = match &record.event {
            Event::PlanSubmitted { who, task, body, .. } => {
                return self.ask(asked(DecisionKind::Plan, who, *task, body));
            }
            Event::QuestionAsked { who, kind, text, task, .. } => {
                return self.ask(asked((*kind).into(), who, *task, text));
            }
            Event::TeamPaused { team, reason, .. } => {
                let pause = Pause::of_record(record)?;
                let phase = pause.approval()?.to_string();
                self.approvals.insert(team.to_string(), (n, phase));
                return self.ask(DecidedRow {
                    id: n,
                    kind: DecisionKind::Approval,
                    team: team.to_string(),
                    who: "runtime".to_owned(),
                    text: cut(reason),
                    asked_at: at,
                    ..DecidedRow::default()
                });
            }
            // What was asked about is past: whatever lets the team go on says nothing about it.
            Event::PhaseEnded { team, phase, .. } => {
                let about = |(_, about): &(u64, String)| about == phase.as_str();
                if self.approvals.get(team.as_str()).is_some_and(about) {
                    let past = self.approvals.remove(team.as_str());
                    past.and_then(|(question, _)| self.open.remove(&question));
                }
                return None;
            }
            Event::TeamContinued { team } => {
                (self.approvals.remove(team.as_str())?.0, "approved", "")
            }
            Event::PlanApproved { plan } => (*plan, "approved", ""),
            Event::PlanRejected { plan, feedback, .. } => (*plan, "rejected", feedback.as_str()),
            Event::QuestionAnswered { question, answer } => (*question, answer.as_str(), ""),
            Event::PlanWithdrawn { plan, .. } => return self.open.remove(plan).and(None),
            Event::QuestionWithdrawn { question, .. } => {
                return self.open.remove(question).and(None);
            }
            _ => return None,
        };
        let (by, answer, feedback) = (record.by.to_string(), cut(answer), cut(feedback));
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

fn cut(text: &str) -> String {
    text.chars().take(TEXT_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn fold(records: &[(&str, Value)]) -> Vec<DecidedRow> {
        let mut decided = Decided::new(100);
        for (at, (by, event)) in records.iter().enumerate() {
            let record = json!({ "n": at + 1, "at": 1, "by": by, "event": event });
            decided.take(&serde_json::from_value(record).expect("a record"));
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
            (
                "a/bo@1",
                json!({ "question.asked": { "who": "a/bo@1", "kind": "question", "text": "Which?" } }),
            ),
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
            (
                "person",
                json!({ "phase.ended": { "team": "a", "phase": "build", "round": 1, "end": { "done": {} } } }),
            ),
            ("person", json!({ "team.continued": { "team": "a" } })),
        ]);
        assert_eq!(rows, []);
    }
}
