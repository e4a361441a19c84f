//! `shipmate note remove`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Remove a note: undo `note add`
///
/// A person may remove any note, a teammate its own. It is gone from lists, searches, briefs, the page and
/// the terminal; the log keeps what it said.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate note remove 120
  shipmate --as ana note remove 120")]
pub(crate) struct RemoveArgs {
    /// The note, by its number in `shipmate note list`
    note: u64,
}

pub(crate) fn run(args: RemoveArgs, mut session: Session) -> Result<(), Failure> {
    let note = args.note;
    let removed = session.ask(verbs::NoteRemove { note })?;
    session.tell(&removed.into(), &format!("removed note {note}"))
}
