//! `shipmate plan reject`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::{Session, text_or_stdin};

/// Reject a plan with the feedback that its teammate revises by
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  shipmate plan reject 41 \"keep the public interface as it is\"")]
pub(crate) struct RejectArgs {
    /// The id that `plan list` shows
    plan: u64,

    /// What to change; `-` is standard input
    #[arg(required = true)]
    feedback: Vec<String>,
}

pub(crate) fn run(args: RejectArgs, mut session: Session) -> Result<(), Failure> {
    let feedback = text_or_stdin(&args.feedback)?;
    let said = format!("rejected plan {}", args.plan);
    session.change(verbs::PlanReject { plan: args.plan, feedback, unworkable: false }, &said)
}
