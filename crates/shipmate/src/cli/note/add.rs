//! `shipmate note add`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::{Session, text_or_stdin};

/// Add a note for the whole team
///
/// A note is short (2 KiB at most) and stays: who, when and what are in the log. Everybody in the team
/// can look for it, and a note about a task goes into its brief.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate note add \"the tests need TZ=UTC\"
  shipmate --as ana note add --task 3 \"parse() is slow above 1 MB\"")]
pub(crate) struct AddArgs {
    /// The note; `-` is standard input
    #[arg(required = true)]
    text: Vec<String>,

    /// The task it is about
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
}

pub(crate) fn run(args: AddArgs, mut session: Session) -> Result<(), Failure> {
    let text = text_or_stdin(&args.text)?;
    let note = session.ask(verbs::NoteAdd { text, task: args.task })?;
    session.tell(&note.into(), &format!("added note {}", note.id))
}
