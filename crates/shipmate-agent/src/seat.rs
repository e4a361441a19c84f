//! What depends on the teammate's mode: its standing words and its tools.

use shipmate_protocol::native::Offered;

/// What depends on the teammate's mode.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seat {
    pub(crate) standing: String,
    /// The team's tools.
    pub(crate) team: Vec<Offered>,
    /// Its own.
    pub(crate) own: Vec<Offered>,
}

impl Seat {
    pub(crate) fn all(&self) -> Vec<Offered> {
        self.own.iter().chain(&self.team).cloned().collect()
    }

    pub(crate) fn bytes(&self) -> usize {
        let tool = |tool: &Offered| {
            tool.name.len() + tool.description.len() + tool.input_schema.to_string().len()
        };
        self.standing.len() + self.own.iter().chain(&self.team).map(tool).sum::<usize>()
    }
}
