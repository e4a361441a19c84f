//! What is known of an account: its windows, and whether its provider refuses.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shipmate_model::account::{Moved, Window};
use shipmate_model::event::AgentChoice;
use shipmate_model::name::{Name, Position};
use shipmate_model::usage::{Unpriced, Usage};

/// What a provider meters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// As they were told last, by name.
    pub windows: Vec<Window>,
    /// Wall clock of that.
    #[serde(default)]
    pub(crate) told_at: u64,
    pub parked: Option<Parked>,
    /// What was used with it, whoever did.
    #[serde(default)]
    pub usage: Usage,
    /// How much of its windows was used since this tree of teams first heard of them, by whoever asks with it.
    #[serde(default)]
    pub moved: Moved,
    /// Its login is that of a subscription.
    #[serde(default)]
    pub(crate) login: bool,
    /// Tasks that were handed in with it.
    #[serde(default)]
    pub(crate) handed_in: u32,
    /// How often in a row it was parked without an answer of a model in between.
    pub(crate) refusals: u32,
    /// Until when the person was told last that it has no room.
    #[serde(default)]
    pub(crate) announced: u64,
    /// Until when a person's word holds against each window.
    #[serde(default)]
    pub(crate) waived: BTreeMap<String, u64>,
    /// The span that each window is in.
    #[serde(default)]
    pub(crate) spans: BTreeMap<String, Span>,
}

/// A window from one reset to the next, as far as it is known here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Span {
    /// What was used of it when it was first told.
    pub(crate) from: u32,
    /// Tasks that were done in it since.
    pub(crate) settled: u32,
}

/// What a teammate used with one account.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booked {
    /// None where it was not known.
    pub account: Option<Name>,
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "Unpriced::is_none")]
    pub unpriced: Unpriced,
}

/// What stood behind a teammate before its account had no room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fallen {
    pub choice: AgentChoice,
    pub account: Name,
}

/// An account whose provider refuses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    pub n: Position,
    /// Wall clock, as `until`.
    pub at: u64,
    pub until: u64,
    /// The provider said when.
    pub told: bool,
    pub reason: String,
}
