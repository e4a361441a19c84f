//! The lines themselves: hello, request, reply, notice.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::answers::Answer;
use crate::refused::Refused;
use crate::verbs::Ask;
use crate::view::{HostView, TeammateView};

/// The first line of a connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Hello {
    pub protocol: u32,
    /// Release of the program, for the message when protocols differ.
    pub version: String,
    /// Chosen at random by the client; names it in request ids.
    pub client: String,
    pub token: String,
}

/// The answer to `Hello`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Welcome {
    pub protocol: u32,
    pub version: String,
    pub pid: u32,
    /// Who this connection acts as: `person` or `team/name@epoch`.
    pub actor: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    /// Grows by one with each request; the same again means the same request.
    pub id: u64,
    /// The team it is about; may be left out where there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    pub ask: Ask,
}

/// A line from the coordinator.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Welcome(Welcome),
    Answer { id: u64, answer: Answer },
    Refused { id: u64, refused: Refused },
    Notice(Notice),
}

impl Reply {
    /// The answer to a request, or its refusal.
    pub fn to(id: u64, answer: Result<Answer, Refused>) -> Reply {
        match answer {
            Ok(answer) => Reply::Answer { id, answer },
            Err(refused) => Reply::Refused { id, refused },
        }
    }
}

/// What happened meanwhile, for those who follow.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// New records of a team's log, in order and without gaps.
    Records { team: String, records: Vec<Box<RawValue>> },
    /// A supervisor is asked for a sign of life.
    Alive { asked: u64 },
    /// What a person has set since the coordinator began; only supervisors are told, for
    /// whatever they start next.
    Environment { variables: BTreeMap<String, String> },
    /// Something was seen of a teammate or a host, or the merge queue does something else; nothing of it is
    /// recorded. Who waits for a merge is also told so what is done for them.
    Sign {
        teammate: Option<Box<TeammateView>>,
        queue: Option<String>,
        /// All machines that share the team, where one of them gave a sign.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        hosts: Vec<HostView>,
    },
    /// There is more output of an attached teammate.
    Output { who: String, bytes: u64 },
}
