//! `shipmate plan approve`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Approve a plan: its teammate may write
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  shipmate plan approve 41")]
pub(crate) struct ApproveArgs {
    /// The id that `plan list` shows
    plan: u64,
}

pub(crate) fn run(args: &ApproveArgs, mut session: Session) -> Result<(), Failure> {
    session.change(verbs::PlanApprove { plan: args.plan }, &format!("approved plan {}", args.plan))
}
