//! What members say and are asked: messages, handoffs, notes, plans, questions and shutdown requests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shipmate_model::event::{
    MessageId, MessageKind, Outcome, QuestionKind, Recipient, TaskId, Token,
};
use shipmate_model::files::FileSet;
use shipmate_model::handoff::Handoff;
use shipmate_model::id::QuestionId;
use shipmate_model::name::{Actor, Address, Name, Position, TeammateRef};
use shipmate_model::planned::PlannedWork;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub from: Actor,
    pub kind: MessageKind,
    pub body: String,
    pub reply_to: Option<MessageId>,
    pub epoch: Option<u32>,
    pub sent_at: u64,
    /// Recipients that have not read it, and how far it has come to each.
    #[serde(with = "pairs")]
    pub waiting: BTreeMap<Recipient, Delivery>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Delivery {
    Queued,
    Offered,
    Injected { turn: u64 },
}

/// A handoff, and the claim whose work it came with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandedOver {
    pub token: Token,
    pub by: TeammateRef,
    pub handoff: Handoff,
}

/// Something on a team's scratchpad.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub id: Position,
    /// Wall clock.
    pub at: u64,
    pub by: Actor,
    pub team: Name,
    pub task: Option<TaskId>,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub who: TeammateRef,
    pub task: Option<TaskId>,
    pub body: String,
    /// The teammates and tasks that its approval brings about.
    #[serde(default)]
    pub work: Option<Box<PlannedWork>>,
    pub submitted_at: u64,
    pub decision: Decision,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    Open,
    Approved {
        by: Actor,
    },
    Rejected {
        by: Actor,
        feedback: String,
        #[serde(default)]
        unworkable: bool,
    },
    /// The life that asked has ended, or has handed in another.
    Withdrawn,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub who: TeammateRef,
    pub kind: QuestionKind,
    pub text: String,
    pub options: Vec<String>,
    /// The submission that waits for the answer, and the paths it is about.
    pub task: Option<TaskId>,
    pub files: FileSet,
    pub asked_at: u64,
    pub answer: Option<(Actor, String)>,
    pub withdrawn: bool,
}

impl Question {
    pub fn is_open(&self) -> bool {
        self.answer.is_none() && !self.withdrawn
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shutdown {
    pub who: TeammateRef,
    pub by: Actor,
    pub reason: String,
    pub deadline_ms: u64,
    /// Its concern, where others wait for it to be settled.
    #[serde(default)]
    pub rejected: Option<String>,
    pub end: ShutdownEnd,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShutdownEnd {
    Open,
    /// Answered or out of time; the process is still to be seen ending.
    Ending {
        outcome: Outcome,
    },
    Closed {
        how: String,
    },
}

/// JSON objects have text keys; these maps do not.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer, K: Serialize, V: Serialize>(
        map: &BTreeMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map.iter())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>, K, V>(
        deserializer: D,
    ) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
    {
        Ok(Vec::<(K, V)>::deserialize(deserializer)?.into_iter().collect())
    }
}

/// Trouble that somebody could not settle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raised {
    pub from: Address,
    /// What it holds meanwhile.
    pub task: Option<TaskId>,
    pub body: String,
    /// Whom it lies with.
    pub to: Recipient,
    /// Since when.
    pub asked: Position,
    /// The question to the person, where it has come so far.
    pub question: Option<QuestionId>,
    /// Answers of this level.
    pub answers: u32,
    pub open: bool,
}

/// What somebody said that others must find later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Nobody's name where a person said it.
    pub who: Option<Name>,
    pub kind: Name,
    pub body: String,
}
