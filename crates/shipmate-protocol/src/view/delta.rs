//! What a screen is told: everything once, then what changed.

use crate::view::DeliveryState;
use serde::{Deserialize, Serialize};

use super::{
    AccountView, Card, DecidedRow, DecisionView, HostView, LifeEnd, SpanEnd, SpanKind, TeamView,
    TeammateView,
};

/// What changed up to a record; with `whole` everything there is, in place of all before.
/// What is empty is left out.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Delta {
    pub position: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    pub root: String,
    /// `sqlite` or `nats`.
    pub log: String,
    /// What the merge queue does now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// When this was made, in milliseconds since 1970.
    pub now: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub teams: Vec<TeamView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub teammates: Vec<TeammateView>,
    /// `team/name` of those who are no more, and names of teams.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// All machines that share the team where they changed; absent where they did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<HostView>>,
    /// All accounts that agents ask with where they changed; absent where they did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accounts: Option<Vec<AccountView>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<Card>,
    /// All of them where they changed; absent where they did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisions: Option<Vec<DecisionView>>,
    /// The latest that were made, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decided: Vec<DecidedRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<Span>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lives: Vec<LifeRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<CostRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<LogLine>,
}

/// A message and how far it came with each of its recipients.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MessageRow {
    pub id: u64,
    /// `person`, `runtime` or `team/name@epoch`.
    pub from: String,
    pub kind: String,
    pub body: String,
    /// There is more of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<u64>,
    /// The message that the conversation began with.
    pub thread: u64,
    pub sent_at: u64,
    pub to: Vec<Delivery>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Delivery {
    /// `person` or `team/name`.
    pub to: String,
    pub state: DeliveryState,
    pub at: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// One claim of a task, from its beginning to its end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Span {
    /// The claim's token.
    pub id: u64,
    /// `team/name`
    pub who: String,
    pub epoch: u32,
    pub task: u32,
    pub began: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<u64>,
    pub parts: Vec<SpanPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<SpanEnd>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpanPart {
    pub kind: SpanKind,
    pub from: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
}

/// One life of a teammate.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LifeRow {
    pub who: String,
    pub epoch: u32,
    pub began: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<LifeEnd>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// What a teammate used for one task; without a task it was coordination.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CostRow {
    pub who: String,
    pub model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// What it was asked with, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Whoever leads coordinates, whatever it is about.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lead: bool,
    pub tokens_in: u64,
    pub tokens_out: u64,
    pub tokens_cached: u64,
    pub cost_micros: u64,
    /// Of those in and out, the ones whose price is not known, and the ones that are an estimate.
    pub tokens_unpriced: u64,
    pub tokens_estimated: u64,
    /// Requests to a model, as far as they were told one by one.
    pub calls: u32,
}

/// One run of a gate.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GateRow {
    pub n: u64,
    pub at: u64,
    pub team: String,
    pub tasks: Vec<u32>,
    pub commit: String,
    pub passed: bool,
    pub took_ms: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
}

/// A record in words.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogLine {
    pub n: u64,
    pub at: u64,
    pub by: String,
    pub event: String,
    pub text: String,
}
