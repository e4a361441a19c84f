//! Work that was handed in, as it waits to be merged.

use std::collections::BTreeMap;

use shipmate_model::files::FileSet;
use shipmate_model::{Name, TaskId, TeammateRef};

/// One submission as it waits.
#[derive(Debug, Clone)]
pub(crate) struct Submission {
    pub(crate) task: TaskId,
    pub(crate) token: u64,
    pub(crate) team: Name,
    pub(crate) who: TeammateRef,
    pub(crate) subject: String,
    /// How it is known beside its number; may be empty.
    pub(crate) alias: String,
    pub(crate) description: String,
    pub(crate) commit: Option<String>,
    pub(crate) result: String,
    pub(crate) files: FileSet,
    pub(crate) granted: FileSet,
    pub(crate) scope: FileSet,
    /// Protected paths that its teammate may write all the same.
    pub(crate) may: FileSet,
    /// The handle of the piece of work that it is about.
    pub(crate) piece: Option<String>,
    /// A gate of the playbook instead of the team's.
    pub(crate) gate: Option<Name>,
    /// Without a change it is not done.
    pub(crate) must_change: bool,
    /// Paths that it is merged without.
    pub(crate) left_out: FileSet,
    /// What is known about its task beyond its words, and its handle as `id`.
    pub(crate) fields: BTreeMap<String, String>,
}
