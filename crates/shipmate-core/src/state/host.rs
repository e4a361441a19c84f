//! A machine that shares the log, as it told of itself and as it was last heard of.

use serde::{Deserialize, Serialize};
use shipmate_model::host::HostSpec;
use shipmate_model::status::HostState;

use super::State;

/// A machine that shares the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    pub spec: HostSpec,
    pub state: HostState,
    /// How long it gave no sign when it was lost, where that was why.
    pub silent_ms: Option<u64>,
}

impl Host {
    pub fn is_there(&self) -> bool {
        matches!(self.state, HostState::Joined | HostState::Draining)
    }
}

impl State {
    /// Some machine has the program. Where there is one machine only, it is looked for when somebody joins.
    pub(crate) fn has_program(&self, agent: &str) -> bool {
        let has =
            |host: &Host| host.state == HostState::Joined && host.spec.programs.contains(agent);
        agent.is_empty() || self.hosts.is_empty() || self.hosts.values().any(has)
    }
}
