//! `shipmate teammate mode`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Change what a teammate may do
///
/// normal; plan: it writes only after its plan is approved; delegate: it plans the board and
/// neither writes nor runs; read_only.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  shipmate teammate mode ana plan")]
pub(crate) struct ModeArgs {
    name: String,

    #[arg(value_parser = ["normal", "plan", "delegate", "read_only"])]
    mode: String,
}

pub(crate) fn run(args: ModeArgs, mut session: Session) -> Result<(), Failure> {
    let said = format!("the mode of {} is {}", args.name, args.mode);
    session.change(verbs::TeammateMode { name: args.name, mode: args.mode }, &said)
}
