//! Which agent programs and models there are on this machine, and what one of them is started with: its
//! profile, its order, its fence and its tree.
//!
//! The coordinator writes an order and the supervisor carries it out: this crate is what both know. It
//! starts nothing itself but the probes that tell whether a program can be used.

pub mod account;
pub mod agents;
pub mod around;
pub mod definitions;
pub mod fence;
pub mod git_settings;
pub mod models;
pub mod order;
pub mod preparation;
pub mod programs;
pub mod tenancy;

pub use agents::{Agents, FenceSetting, Models, Native, ProgramSetting, ProviderSetting};
