//! `shipmate note`: the team's scratchpad.

mod add;
mod list;
mod remove;
mod search;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Notes: what one found out and the others should know
#[derive(clap::Subcommand, Debug)]
pub(crate) enum NoteCommand {
    Add(add::AddArgs),
    Search(search::SearchArgs),
    List(list::ListArgs),
    Remove(remove::RemoveArgs),
}

pub(crate) fn run(command: NoteCommand, session: Session) -> Result<(), Failure> {
    match command {
        NoteCommand::Add(args) => add::run(args, session),
        NoteCommand::Search(args) => search::run(args, session),
        NoteCommand::List(args) => list::run(args.page, None, session),
        NoteCommand::Remove(args) => remove::run(args, session),
    }
}
