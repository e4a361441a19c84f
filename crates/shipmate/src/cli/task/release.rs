//! `shipmate task release`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Give a claimed task back, or take it away as a person
///
/// Costs no retry. Whoever still works on it is refused from then on.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate --as ana task release 3 --reason \"bo knows this part\"
  shipmate task release 3 --reason \"ana is stuck\"")]
pub(crate) struct ReleaseArgs {
    /// Its id or alias
    task: String,

    /// The claim's token [default: that of the claim this teammate holds now]
    #[arg(long, value_name = "N")]
    token: Option<u64>,

    #[arg(long, value_name = "TEXT", default_value = "given back")]
    reason: String,
}

pub(crate) fn run(args: ReleaseArgs, mut session: Session) -> Result<(), Failure> {
    let token = session.held_token(&args.task, args.token)?;
    let said = format!("task {} may be taken again", args.task);
    session.change(verbs::TaskRelease { task: args.task, token, reason: args.reason }, &said)
}
