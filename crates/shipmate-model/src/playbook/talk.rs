//! What a playbook says about talk: routes, kinds of handoff, and how trouble climbs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::name::Name;

/// Who may write to whom, and what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Roles; empty: everybody.
    pub from: Vec<Name>,
    /// Roles; empty, and not to the person: everybody.
    pub to: Vec<Name>,
    /// To the person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub person: bool,
    /// Kinds, `message` among them; empty: every kind.
    pub kinds: Vec<Name>,
    /// Also into another team of the tree.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub across: bool,
}

/// A kind of handoff.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kind {
    /// What it is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub about: String,
    pub fields: BTreeMap<String, Field>,
    /// What is said in it is kept with the team.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keep: bool,
    /// It goes by this file and is never sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The runtime keeps it for itself; nobody sends it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub internal: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    pub shape: Shape,
    pub required: bool,
}

/// What a field of a handoff holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    Text,
    Number,
    Flag,
    /// One of these texts.
    OneOf(Vec<String>),
    List(Box<Shape>),
    Object(BTreeMap<String, Field>),
    Any,
}

/// How trouble climbs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    /// Roles from the lowest to the highest; the person is above all.
    pub levels: Vec<Name>,
    /// How long a level has before the next one is asked.
    pub level_ms: u64,
    /// How often a level may answer and be asked again before the next one is.
    pub round_trips_max: u32,
}
