//! `shipmate teammate budget`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::Session;
use crate::cli::team::Limits;

/// Set how much a teammate may spend, within what its team may
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate teammate budget ana --cost 0.50
  shipmate teammate budget ana --none")]
pub(crate) struct BudgetArgs {
    name: String,

    #[command(flatten)]
    limits: Limits,
}

pub(crate) fn run(args: BudgetArgs, mut session: Session) -> Result<(), Failure> {
    let said = format!("{} may spend {}", args.name, args.limits.words());
    let budget = args.limits.budget();
    session.change(verbs::TeammateBudget { name: args.name, budget }, &said)
}
