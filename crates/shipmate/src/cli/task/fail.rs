//! `shipmate task fail`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Say that an attempt at a task has failed
///
/// The task may be taken again until its retries are used up; then it counts as failed and its
/// dependents stay blocked.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  shipmate --as ana task fail 3 --token 41 \"the parser needs a grammar first\"")]
pub(crate) struct FailArgs {
    /// Its id or alias
    task: String,

    /// What went wrong
    reason: String,

    /// The claim's token [default: that of the claim this teammate holds now]
    #[arg(long, value_name = "N")]
    token: Option<u64>,
}

pub(crate) fn run(args: FailArgs, mut session: Session) -> Result<(), Failure> {
    let token = session.claim_token(&args.task, args.token)?;
    let said = format!("the attempt at task {} has failed", args.task);
    session.change(verbs::TaskFail { task: args.task, token, reason: args.reason }, &said)
}
