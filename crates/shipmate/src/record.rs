//! A record of the log as far as a line on a screen needs it.

use serde::Deserialize;

/// A record as far as its line needs it.
#[derive(Debug, Deserialize)]
pub(crate) struct Record {
    pub(crate) n: u64,
    pub(crate) at: u64,
    pub(crate) by: String,
    pub(crate) event: serde_json::Map<String, serde_json::Value>,
}
