//! The team's tools at their edge: calls as models write them, the requests they become, and
//! what the model reads. The board behind them is scripted; the real one is tested elsewhere.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod anything;
mod offered;
mod script;
mod scripted;
