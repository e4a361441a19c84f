//! Which model a teammate asks, in words.

use super::TeammateView;

impl TeammateView {
    /// The model that it asks, and the one that it was to ask where that is another; nothing where neither
    /// is known.
    pub fn model_shown(&self) -> String {
        match (self.model.as_str(), self.model_used.as_str()) {
            (asked, "") => asked.to_owned(),
            (asked, used) if self.other_model => format!("{used}, NOT {asked} as asked"),
            (_, used) => used.to_owned(),
        }
    }
}
