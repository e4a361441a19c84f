//! The clones of the repository that are the runtime's own, by the ends of their names.

/// What the runtime's own clones are called after their team: where work is merged, and where the gate
/// of a phase runs. No teammate can be called so: a name begins with a letter or a digit.
pub(crate) const MERGE_CLONE: &str = "_merge";

pub(crate) const PHASE_CLONE: &str = "_phase";

pub(crate) const HOOK_CLONE: &str = "_hook";
