//! `shipmate teammate continue`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Let a paused teammate go on
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  shipmate teammate continue ana")]
pub(crate) struct ContinueArgs {
    name: String,
}

pub(crate) fn run(args: ContinueArgs, mut session: Session) -> Result<(), Failure> {
    let said = format!("{} goes on", args.name);
    session.change(verbs::TeammateContinue { name: args.name }, &said)
}
