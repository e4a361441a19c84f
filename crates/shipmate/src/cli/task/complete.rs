//! `shipmate task complete`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Complete a task
///
/// A person may complete any task that is in progress. A teammate completes the one it holds, in a
/// team without a gate. Whatever waited for it becomes available at once.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate task complete 3 --result \"done by hand\"
  shipmate --as ana task complete 3 --token 41")]
pub(crate) struct CompleteArgs {
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

pub(crate) fn run(args: CompleteArgs, mut session: Session) -> Result<(), Failure> {
    let token = session.held_token(&args.task, args.token)?;
    let CompleteArgs { task, commit, result, .. } = args;
    let said = format!("completed task {task}");
    session.change(verbs::TaskComplete { task, token, commit, result }, &said)
}
