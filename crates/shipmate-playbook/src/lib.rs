//! Playbooks: ways of working as TOML files.
//!
//! A file is read and checked as a whole before anything starts, and compiled into the data that is
//! recorded with the team. The work that a playbook is about is read here too, from the formats of
//! other systems. Nothing here knows any particular playbook, a team or its state: what takes a team
//! through its phases is the coordinator's `phases`.

pub mod catalog;
mod check;
pub mod compile;
pub mod complexity;
pub mod config;
pub mod coverage;
mod deliberation;
pub mod departments;
mod document;
pub mod fill;
pub mod find;
pub mod formats;
pub mod handoff;
pub mod lookahead;
#[cfg(test)]
mod numbers;
pub mod project_files;
pub mod schema;
mod table;
pub mod work;

use shipmate_protocol::json_text;

pub use find::{BUILTIN, Found, departments_of, find, given, order};
