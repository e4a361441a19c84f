//! The real binary in workspaces of its own, as transcripts that read like the manual.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod agents;
mod attach;
mod board;
mod config;
mod coordinator;
mod demo;
mod doctor;
mod environment;
mod lists;
mod log;
mod messages;
mod names;
mod notes;
mod outcome;
mod places;
mod plans;
mod playbook;
mod playbook_runs;
mod programs;
mod run;
mod shutdown;
mod teams;
mod terminal;
mod tmux;
mod trace;
mod transcript;
mod trees;
mod tui;
mod wire;
