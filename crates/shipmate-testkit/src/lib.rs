//! What the tests of shipmate stand on, and what never ships.
//!
//! The simulator runs whole teams, several coordinators and every fault we know of in one thread
//! under one seed, and holds each appended event to the guarantees. A seed is a run: whatever it
//! finds is found again by the same seed on the same commit.

pub mod browser;
pub mod kills;
pub mod mcp;
pub mod model;
pub mod network;
pub mod processes;
pub mod programs;
pub mod proxy;
mod random;
pub mod simulation;

pub use random::Random;
