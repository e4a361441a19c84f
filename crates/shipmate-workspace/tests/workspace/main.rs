//! The git side of a team, with real git in temporary repositories.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod deliver;
mod hostile;
mod interrupted;
mod land;
mod mend;
mod packs;
mod repository;
mod rescue;
mod scene;
mod shared;
mod sparse;
mod speed;
mod tree;
