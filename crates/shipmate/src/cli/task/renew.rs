//! `shipmate task renew`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Renew the lease of a claim
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  shipmate --as ana task renew 3 --token 41")]
pub(crate) struct RenewArgs {
    /// Its id or alias
    task: String,

    /// The claim's token [default: that of the claim this teammate holds now]
    #[arg(long, value_name = "N")]
    token: Option<u64>,
}

pub(crate) fn run(args: RenewArgs, mut session: Session) -> Result<(), Failure> {
    let token = session.claim_token(&args.task, args.token)?;
    let said = format!("renewed the lease on task {}", args.task);
    session.change(verbs::TaskRenew { task: args.task, token }, &said)
}
