//! `shipmate team`: create, list, show, set, budget, update and delete teams.

mod budget;
mod create;
mod delete;
mod list;
mod set;
mod show;
mod update;

pub(crate) use budget::{Limits, micros, thousandths};
pub(crate) use list::table;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Teams: create, list, show, set, budget, update, delete
#[derive(clap::Subcommand, Debug)]
pub(crate) enum TeamCommand {
    Create(create::CreateArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Set(set::SetArgs),
    Budget(budget::BudgetArgs),
    Update(update::UpdateArgs),
    Delete(delete::DeleteArgs),
}

pub(crate) fn run(command: TeamCommand, session: Session) -> Result<(), Failure> {
    match command {
        TeamCommand::Create(args) => create::run(args, session),
        TeamCommand::List(args) => list::run(&args, session),
        TeamCommand::Show(args) => show::run(&args, session),
        TeamCommand::Set(args) => set::run(args, session),
        TeamCommand::Budget(args) => budget::run(&args, session),
        TeamCommand::Update(args) => update::run(&args, session),
        TeamCommand::Delete(args) => delete::run(args, session),
    }
}
