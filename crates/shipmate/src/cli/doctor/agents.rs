//! The agent programs: a line for all, because most people have one or two of them.

use shipmate_protocol::verbs;
use shipmate_protocol::view::AgentView;

use super::state::unanswered;
use super::{Finding, Verdict};
use crate::cli::session::Session;

const WHAT: &str = "agents";

pub(super) fn programs(session: &mut Session) -> Finding {
    match session.ask(verbs::Agents) {
        Ok(agents) => found(&agents),
        Err(failure) => unanswered(WHAT, &failure),
    }
}

/// What is missing is only told: nobody needs them all. What is there and cannot be used is a
/// warning.
fn found(agents: &[AgentView]) -> Finding {
    let mut parts = Vec::new();
    let states = ["ready", "not_logged_in", "too_old", "broken", "not_installed"];
    for state in states {
        let of = agents.iter().filter(|agent| agent.state == state);
        let names: Vec<&str> = of.map(|agent| agent.name.as_str()).collect();
        if !names.is_empty() {
            parts.push(format!("{}: {}", state.replace('_', " "), names.join(", ")));
        }
    }
    let useless = agents.iter().filter(|a| matches!(a.state.as_str(), "too_old" | "broken"));
    let told: Vec<String> =
        useless.map(|agent| format!("{}: {}; {}", agent.name, agent.why, agent.remedy)).collect();
    let finding = Finding::ok(WHAT, parts.join("; "));
    if told.is_empty() {
        return finding;
    }
    Finding { verdict: Verdict::Warning, remedy: Some(told.join("\n")), ..finding }
}
