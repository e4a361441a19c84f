//! `shipmate task assign`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Reserve a task for a teammate, or for nobody
///
/// Only the assignee may take it then. A task that is in progress elsewhere is taken away.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate task assign 3 ana
  shipmate task assign 3 --nobody")]
pub(crate) struct AssignArgs {
    /// Its id or alias
    task: String,

    /// The teammate
    #[arg(required_unless_present = "nobody", conflicts_with = "nobody")]
    to: Option<String>,

    /// Anybody may take it again
    #[arg(long)]
    nobody: bool,
}

pub(crate) fn run(args: AssignArgs, mut session: Session) -> Result<(), Failure> {
    let said = match &args.to {
        Some(to) => format!("task {} is for {to}", args.task),
        None => format!("task {} is for anybody", args.task),
    };
    session.change(verbs::TaskAssign { task: args.task, to: args.to }, &said)
}
