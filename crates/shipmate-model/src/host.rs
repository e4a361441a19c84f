//! Hosts: the machines that share a team's log, and what each of them can run.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::name::Name;

/// What a machine says of itself when it joins.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostSpec {
    /// The machine's own word for the time since it was started: another one means that everything
    /// that ran on it has ended.
    pub boot: String,
    /// Digest of the workspace's place there. Two machines cannot have one name by having one place.
    pub place: String,
    /// How many teammates run there at once.
    pub slots: u32,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<Name>,
    /// The agent programs that work there.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub programs: BTreeSet<String>,
    /// Events that a hook there is asked about, while it is the home.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub hooks: BTreeSet<String>,
    /// Commits that teams begin at and that it does not have yet: nobody of those teams runs there.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub lacks: BTreeSet<String>,
    /// The release that runs there.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub release: String,
    /// The invitation that it joined by: one that was removed comes again with another.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub invitation: String,
}

/// Where a teammate may run; nothing means anywhere.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Place {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Name>,
    /// The host must have all of them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<Name>,
}

impl Place {
    pub fn is_anywhere(&self) -> bool {
        self.host.is_none() && self.labels.is_empty()
    }
}

/// As `on box` or `on a host with gpu`; empty where it may run anywhere.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels: Vec<&str> = self.labels.iter().map(Name::as_str).collect();
        match (&self.host, labels.is_empty()) {
            (None, true) => Ok(()),
            (Some(host), true) => write!(f, "on {host}"),
            (None, false) => write!(f, "on a host with {}", labels.join(", ")),
            (Some(host), false) => write!(f, "on {host}, with {}", labels.join(", ")),
        }
    }
}
