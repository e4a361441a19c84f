//! An account as it is shown: who asks with it, what its windows hold, whether it is parked.

use serde::{Deserialize, Serialize};
use shipmate_model::account::{Window, moment};

/// What a provider meters: a subscription's login or a key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountView {
    /// The program and the first digits of a hash of its login.
    pub name: String,
    /// Who asks with it.
    pub teammates: Vec<String>,
    /// What the provider told last; empty where it tells nothing. `used` is in thousandths.
    pub windows: Vec<Window>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked: Option<ParkedView>,
    /// Why a teammate takes no task because of its windows, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// When the window is reset because of which that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_until: Option<u64>,
    /// Nobody asks a model with it, even to lead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    /// What was used with it in this tree of teams, also by teammates that have another one now.
    pub tokens_used: u64,
    pub cost_micros: u64,
    /// It has windows instead of a price: nobody pays `cost_micros`, which is what a key would have cost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub subscription: bool,
}

/// Nobody on the account is started, takes a task or asks a model until then.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParkedView {
    pub at: u64,
    pub until: u64,
    /// The provider said when; else it is when to try again.
    pub told: bool,
    pub reason: String,
    /// It goes on by itself.
    pub resumes: bool,
}

impl AccountView {
    /// `5 hours 80 %, week 12 %`; what is reset when, where that is known.
    pub fn windows_shown(&self) -> String {
        let shown = |window: &Window| match window.resets_at {
            Some(at) => format!("{} until {}", window.describe(), moment(at)),
            None => window.describe(),
        };
        match self.windows.is_empty() {
            true => "nothing is known of its windows".to_owned(),
            false => self.windows.iter().map(shown).collect::<Vec<_>>().join(", "),
        }
    }
}

impl ParkedView {
    pub fn shown(&self) -> String {
        let until = moment(self.until);
        let when = match (self.resumes, self.told) {
            (true, true) => format!("until {until}"),
            (true, false) => format!("and tried again at {until}"),
            (false, _) => format!("until somebody says `shipmate account resume`, reset {until}"),
        };
        format!("{when}: {}", self.reason)
    }
}
