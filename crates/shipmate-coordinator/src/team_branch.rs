//! The branch that holds a team's verified work.

use shipmate_model::Name;

/// The branch that holds a team's verified work.
pub(crate) fn branch(team: &Name) -> String {
    format!("shipmate/{team}")
}
