//! `shipmate task submit`.

use shipmate_protocol::Ask;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Hand in the work on a task
///
/// In a team with a gate the task stays in progress until the gate has decided; in a team without
/// one it is completed at once. An agent should pass the token of its claim.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate --as ana task submit 3 --token 41 --commit 1f3a9c2 --result \"all tests pass\"
  shipmate --as ana task submit 3")]
pub(crate) struct SubmitArgs {
    /// Its id or alias
    task: String,

    /// The claim's token [default: that of the claim this teammate holds now]
    #[arg(long, value_name = "N")]
    token: Option<u64>,

    /// The commit that holds the work
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,

    /// What came of it
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    result: String,
}

pub(crate) fn run(args: SubmitArgs, mut session: Session) -> Result<(), Failure> {
    let token = session.claim_token(&args.task, args.token)?;
    let SubmitArgs { task, commit, result, .. } = args;
    let said = format!("submitted task {task}");
    session.change(Ask::TaskSubmit { task, token, commit, result }, &said)
}
