//! Workloads of a team on several machines, behind `cargo xtask bench hosts`.

pub(crate) mod drain;
pub(crate) mod idle;
pub(crate) mod losing;
mod machines;
pub(crate) mod makespan;
pub(crate) mod message;
pub(crate) mod packs;
