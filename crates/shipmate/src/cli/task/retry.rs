//! `shipmate task retry`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Let a failed task be tried again, with all its retries
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  shipmate task retry 3")]
pub(crate) struct RetryArgs {
    /// Its id or alias
    task: String,
}

pub(crate) fn run(args: RetryArgs, mut session: Session) -> Result<(), Failure> {
    let said = format!("task {} may be tried again", args.task);
    session.change(verbs::TaskRetry { task: args.task }, &said)
}
