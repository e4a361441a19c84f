//! All tasks of a state, by their ids.

use super::Task;
use crate::shared::Shared;

/// All tasks, by their ids.
#[derive(Debug, Clone, Copy)]
pub struct Tasks<'a>(pub(super) &'a [Shared<Task>]);

impl<'a> Tasks<'a> {
    pub fn iter(self) -> impl DoubleEndedIterator<Item = &'a Task> + ExactSizeIterator + Clone {
        self.0.iter().map(|task| &**task)
    }

    pub fn len(self) -> usize {
        self.0.len()
    }

    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Those after the first so many.
    pub fn after(self, count: usize) -> Tasks<'a> {
        Tasks(self.0.get(count..).unwrap_or_default())
    }
}
