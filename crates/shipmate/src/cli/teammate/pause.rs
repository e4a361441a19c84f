//! `shipmate teammate pause`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Pause a teammate: it keeps what it holds and takes no new task
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  shipmate teammate pause ana --reason \"wait for the review\"")]
pub(crate) struct PauseArgs {
    name: String,

    #[arg(long, value_name = "TEXT", default_value = "paused by hand")]
    reason: String,
}

pub(crate) fn run(args: PauseArgs, mut session: Session) -> Result<(), Failure> {
    let said = format!("{} is paused", args.name);
    session
        .change(verbs::TeammatePause { name: args.name, reason: args.reason, spent: false }, &said)
}
