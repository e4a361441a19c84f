//! `shipmate team`: create, list, show and delete teams.

mod create;
mod delete;
mod list;
mod show;

pub(crate) use list::table;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Teams: create, list, show, delete
#[derive(clap::Subcommand, Debug)]
pub(crate) enum TeamCommand {
    Create(create::CreateArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Delete(delete::DeleteArgs),
}

pub(crate) fn run(command: TeamCommand, session: Session) -> Result<(), Failure> {
    match command {
        TeamCommand::Create(args) => create::run(args, session),
        TeamCommand::List(args) => list::run(&args, session),
        TeamCommand::Show(args) => show::run(&args, session),
        TeamCommand::Delete(args) => delete::run(args, session),
    }
}
