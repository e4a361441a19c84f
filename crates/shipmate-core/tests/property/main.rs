//! The rules that are easy to say and hard to keep fast, against models that are slow
//! and plain: file patterns, names, dependencies, and the index of what can be taken.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod board;
mod files;
mod large;
mod names;

/// What a failure finds is kept as the shortest scenario that shows it, not as a seed.
fn config(cases: u32) -> proptest::prelude::ProptestConfig {
    let failure_persistence = None;
    proptest::prelude::ProptestConfig { cases, failure_persistence, ..Default::default() }
}
