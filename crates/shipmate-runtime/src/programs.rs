//! Agent programs: how each is found, started and driven.

/// Whether an agent of this name can be talked to.
pub(crate) fn hears(agent: &str) -> bool {
    !matches!(agent, "" | "command" | "inline")
}
