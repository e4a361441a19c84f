//! A lead's plan for its team, where its calls arrive: how often one was sent back, and what
//! happens when it does not come.
//!
//! A model that cannot mend its plan would try for ever, at somebody's expense: after
//! [`REFUSALS_MAX`] plans that do not hold, or a few turns without any, a person is told.

use shipmate_protocol::view::InboxMessage;
use shipmate_protocol::{Answer, Ask, Code, Mode, Refused, verbs};

use super::Desk;

/// Plans in a row that may be sent back.
const REFUSALS_MAX: u32 = 3;
/// Of the message that tells a person that there is no plan: `run` looks for it.
const NO_PLAN: &str = "no_plan";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Planning {
    refusals: u32,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Owed,
    /// Handed in, and to be decided.
    Open,
    /// A person was told that there is none.
    GivenUp,
}

impl Desk {
    /// Hands in a plan; what does not hold goes back to the model, and at last to a person.
    pub(crate) async fn hand_in_plan(&self, ask: Ask) -> Result<Answer, Refused> {
        let before = self.planning().get();
        if before.refusals >= REFUSALS_MAX {
            let message = format!("{REFUSALS_MAX} plans were sent back; a person was told");
            let remedy = Some("end your turn now, and wait for a word".to_owned());
            return Err(Refused { code: Code::NoMorePlans, message, remedy });
        }
        let answer = self.carry(ask).await;
        match &answer {
            Ok(_) => self.planning().set(Planning { refusals: 0, stage: Stage::Open }),
            Err(refused) if refused.code == Code::BadPlan => {
                let refusals = before.refusals + 1;
                self.planning().set(Planning { refusals, ..before });
                return Err(self.sent_back(refused.clone(), refusals).await);
            }
            Err(_) => {}
        }
        answer
    }

    async fn sent_back(&self, refused: Refused, refusals: u32) -> Refused {
        if refusals < REFUSALS_MAX {
            let left = REFUSALS_MAX - refusals;
            let remedy = refused.remedy.unwrap_or_default();
            let remedy = Some(format!("{remedy} (it may be sent back {left} more times)"));
            return Refused { remedy, ..refused };
        }
        let name = &self.order().name;
        let text = format!("{name} has no plan that holds, after {refusals} attempts");
        self.tell_person(format!("{text}: {}", refused.message)).await;
        let remedy = "that was the last attempt, and a person is told: end your turn now";
        Refused { remedy: Some(remedy.to_owned()), ..refused }
    }

    /// A lead that ended its turn with nothing handed in, nothing asked and nobody told.
    pub(crate) fn owes_plan(&self) -> bool {
        let plans = self.order().lead && self.mode() == Mode::Plan && !self.is_approved();
        plans && self.planning().get().stage == Stage::Owed && !self.said().spoke
    }

    /// It was asked for a plan and has none.
    pub(crate) async fn has_no_plan(&self, words: &str) {
        let words = match words.trim() {
            "" => "it said nothing".to_owned(),
            words => format!("its last words: {words}"),
        };
        let text = format!("{} ended its turn without a plan; {words}", self.order().name);
        self.tell_person(text).await;
    }

    async fn tell_person(&self, body: String) {
        let planning = self.planning().get();
        self.planning().set(Planning { stage: Stage::GivenUp, ..planning });
        let (to, kind) = ("person".to_owned(), Some(NO_PLAN.to_owned()));
        drop(self.carry(verbs::Send { to, body, kind, reply_to: None }).await);
    }

    /// A person who has a word for the lead gives it leave to plan again; so does a rejection.
    pub(crate) fn hears_of_plan(&self, message: &InboxMessage) {
        let is_answer = message.kind == "plan_approval_response";
        let waits = self.planning().get().stage == Stage::Open;
        if is_answer || (message.from == "person" && !waits) {
            self.planning().set(Planning::default());
        }
    }

    /// Its plan is approved and carried out by others.
    pub(crate) fn delegates(&self) {
        self.set_mode(Mode::Delegate);
    }
}
