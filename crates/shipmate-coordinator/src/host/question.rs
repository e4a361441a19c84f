//! What one machine asks of another on the line, and what comes back.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shipmate_model::{Actor, Name, TeammateRef};
use shipmate_protocol::{Answer, Ask, Refused};

use super::Printing;

/// What one machine asks of another.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Question {
    Request(Box<Forwarded>),
    /// What a life has printed since.
    Output {
        root: Name,
        who: TeammateRef,
        since: Printing,
    },
    /// One pack of all that a branch has up to a commit and the asker has not; its name in the store, or
    /// nothing.
    Fold {
        root: Name,
        branch: Name,
        wanted: String,
        have: Vec<String>,
    },
    /// The files that a team's trees have copies of, for a machine that may have them; of those that it
    /// has got before, their marks.
    Copies {
        root: Name,
        team: Name,
        host: Name,
        known: BTreeMap<String, String>,
    },
}

/// A request as it goes to another machine.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Forwarded {
    pub(crate) root: Name,
    pub(crate) actor: Actor,
    pub(crate) client: Name,
    pub(crate) number: u64,
    pub(crate) team: Option<Name>,
    pub(crate) ask: Ask,
}

/// What came of it there.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    pub(crate) answer: Result<Answer, Refused>,
    /// How much of the log was there when it was answered.
    pub(crate) position: u64,
}
