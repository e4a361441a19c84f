//! `shipmate task delete`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Delete a task
///
/// What depends on it stays blocked, with that reason shown, until the dependency is removed
/// (`shipmate task update 4 --unblock 3`). The task stays in the log.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  shipmate task delete 3")]
pub(crate) struct DeleteArgs {
    /// Its id or alias
    task: String,
}

pub(crate) fn run(args: DeleteArgs, mut session: Session) -> Result<(), Failure> {
    let said = format!("deleted task {}", args.task);
    session.change(verbs::TaskDelete { task: args.task }, &said)
}
