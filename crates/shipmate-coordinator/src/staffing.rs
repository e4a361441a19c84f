//! Whom a team is staffed with: the agent behind each teammate, and what it may cost.

pub(crate) mod money;
pub(crate) mod staffed;
