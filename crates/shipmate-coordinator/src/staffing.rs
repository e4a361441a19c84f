//! Whom a team is staffed with: the agent behind each teammate, and what it may cost.

mod defined;
pub(crate) mod money;
pub(crate) mod staffed;
