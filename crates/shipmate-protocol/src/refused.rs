//! Why something was not done: the fact, the remedy, and a word for programs.

use serde::{Deserialize, Serialize};
use shipmate_model::Code;

/// A fact that stood in the way, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Stable word for programs (`StaleClaim`); the message may change.
    pub code: Code,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// A refusal; an empty remedy is none.
pub fn refused(code: Code, message: impl Into<String>, remedy: &str) -> Refused {
    let remedy = (!remedy.is_empty()).then(|| remedy.to_owned());
    Refused { code, message: message.into(), remedy }
}

impl Refused {
    /// The fact and the remedy beside it, for a list.
    pub fn one_line(&self) -> String {
        match &self.remedy {
            Some(remedy) => format!("{}; {remedy}", self.message),
            None => self.message.clone(),
        }
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        match &self.remedy {
            Some(remedy) => write!(f, "\n  {remedy}"),
            None => Ok(()),
        }
    }
}
