//! A pause as screens show it: what it is, and whose words its reason is.
//!
//! A screen goes by the kind and by who it is by, never by what the reason says: a lead may write
//! the very words of the runtime.

use crate::view::PhaseState;
use serde::{Deserialize, Serialize};
use shipmate_model::Record;
use shipmate_model::pause::Pause;

use super::{PauseKind, PhaseView, TeamView};

/// What a pause is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PauseView {
    /// The record that began it; the id of an approval.
    pub id: u64,
    pub kind: PauseKind,
    /// `person`, `runtime` or `team/name@epoch`.
    pub by: String,
    /// Milliseconds since 1970.
    pub at: u64,
    /// The phase that an approval is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
}

impl PauseView {
    /// What a record says where it pauses a team or a teammate.
    pub fn of_record(record: &Record) -> Option<PauseView> {
        Pause::of_record(record).map(|pause| PauseView::of(&pause))
    }

    pub fn of(pause: &Pause) -> PauseView {
        PauseView {
            id: pause.n,
            kind: pause.kind(),
            by: pause.by.to_string(),
            at: pause.at,
            phase: pause.approval().map(ToString::to_string),
        }
    }

    /// The runtime asks a person to let a phase begin.
    pub fn is_approval(&self) -> bool {
        self.kind == PauseKind::Approval
    }

    /// The teammate whose words the reason is, as members of `team` know it.
    pub fn teammate(&self, team: &str) -> Option<&str> {
        let seat = self.by.split_once('@').map(|(seat, _)| seat)?;
        Some(super::words::short(seat, team))
    }
}

impl TeamView {
    /// The runtime asks a person to let a phase of it begin.
    pub fn awaits_approval(&self) -> bool {
        self.pause.as_ref().is_some_and(PauseView::is_approval)
    }

    /// The teammate that paused it: its reason is that one's words.
    pub fn paused_by(&self) -> Option<&str> {
        self.pause.as_ref().and_then(|pause| pause.teammate(&self.name))
    }

    /// Why nobody starts or claims, with whose words it is where a teammate said them.
    pub fn pause_words(&self) -> Option<String> {
        let reason = self.paused.as_ref()?;
        Some(match self.paused_by() {
            Some(who) => format!("{who} says: {reason}"),
            None => reason.clone(),
        })
    }

    /// The phase that failed and with which the playbook of this team ended.
    pub fn stopped_in(&self) -> Option<&PhaseView> {
        self.phases.iter().find(|phase| phase.state == PhaseState::Failed)
    }

    /// The team went through its playbook or stopped in it.
    pub fn is_over(&self) -> bool {
        use PhaseState::{Done, Passed, Skipped};
        let ended = |last: &PhaseView| matches!(last.state, Done | Skipped | Passed);
        self.stopped_in().is_some() || self.phases.last().is_some_and(ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn kind(by: &str, fields: Value) -> String {
        let of = if fields.get("who").is_some() { "teammate.paused" } else { "team.paused" };
        let record = json!({ "n": 7, "at": 1, "by": by, "event": { of: fields } });
        let record: Record = serde_json::from_value(record).expect("a record");
        PauseView::of_record(&record).expect("it is a pause").kind.to_string()
    }

    #[test]
    fn a_record_says_what_a_pause_is_and_an_old_one_only_as_far_as_it_is_safe() {
        let asked = "approval: phase build begins when you say so";
        let approval =
            json!({ "team": "a", "reason": asked, "cause": { "approval": { "phase": "b" } } });
        assert_eq!(kind("runtime", approval), "approval");
        let forged = json!({ "team": "a", "reason": asked, "cause": "asked" });
        assert_eq!(kind("a/lea@1", forged), "asked");
        let old = json!({ "team": "a", "reason": asked });
        assert_eq!(kind("runtime", old.clone()), "approval");
        assert_eq!(kind("a/lea@1", old), "asked");
        let spent = json!({ "who": "a/ana", "reason": "its budget is spent: 10 tokens" });
        assert_eq!(kind("a/ana@2", spent.clone()), "budget");
        assert_eq!(kind("a/lea@1", spent), "asked");
        assert_eq!(kind("runtime", json!({ "team": "a", "reason": "the gate fails" })), "trouble");
    }

    #[test]
    fn the_words_of_a_teammate_are_told_as_its_own() {
        let by = |by: &str| TeamView {
            name: "alpha".to_owned(),
            paused: Some("wait".to_owned()),
            pause: Some(PauseView { by: by.to_owned(), ..PauseView::default() }),
            ..TeamView::default()
        };
        assert_eq!(by("alpha/lea@1").pause_words().unwrap(), "lea says: wait");
        assert_eq!(by("beta/lou@1").pause_words().unwrap(), "beta/lou says: wait");
        assert_eq!(by("person").pause_words().unwrap(), "wait");
    }
}
