//! The toolbox on real files and with real processes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod files;
mod hostile;
mod launcher;
mod offered;
mod scene;
mod search;
mod shell;
