//! `shipmate task set-aside`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::{Session, text_or_stdin};

/// Keep the work of a claim that has ended, for the lead to look at
///
/// Late work is never merged and never lost: it is recorded with the task and shown by
/// `shipmate task show`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate --as ana task set-aside 3 --token 41 \"branch ana/parser, commit 1f3a9c2\"
  git diff | shipmate --as ana task set-aside 3 --token 41 -")]
pub(crate) struct SetAsideArgs {
    /// Its id or alias
    task: String,

    /// Where the work is, or the work itself; `-` is standard input
    #[arg(required = true)]
    work: Vec<String>,

    /// The token of the claim that has ended
    #[arg(long, value_name = "N")]
    token: u64,
}

pub(crate) fn run(args: SetAsideArgs, mut session: Session) -> Result<(), Failure> {
    let work = text_or_stdin(&args.work)?;
    let said = format!("the work on task {} is set aside", args.task);
    let (task, token) = (args.task, args.token);
    session.change(verbs::TaskSetAside { task, token, work, commit: None }, &said)
}
