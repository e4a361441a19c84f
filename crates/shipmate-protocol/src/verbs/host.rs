//! What is asked of the machines that share a team.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostDrain {
    pub host: String,
    /// False takes it back.
    pub draining: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostRemove {
    pub host: String,
    /// Also where somebody runs there.
    pub now: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostHome {
    pub host: String,
}
