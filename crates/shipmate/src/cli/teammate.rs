//! `shipmate teammate`: members of a team and their lives.

mod add;
mod budget;
mod r#continue;
mod list;
mod mode;
mod r#move;
mod pause;
mod remove;
mod show;
mod start;

pub(crate) use list::table;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Teammates: add, list, show, start, pause, continue, mode, move, budget, remove
#[derive(clap::Subcommand, Debug)]
pub(crate) enum TeammateCommand {
    Add(add::AddArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Start(start::StartArgs),
    Pause(pause::PauseArgs),
    Continue(r#continue::ContinueArgs),
    Mode(mode::ModeArgs),
    Move(r#move::MoveArgs),
    Budget(budget::BudgetArgs),
    Remove(remove::RemoveArgs),
}

pub(crate) fn run(command: TeammateCommand, session: Session) -> Result<(), Failure> {
    match command {
        TeammateCommand::Add(args) => add::run(args, session),
        TeammateCommand::List(args) => list::run(&args, session),
        TeammateCommand::Show(args) => show::run(&args, session),
        TeammateCommand::Start(args) => start::run(&args, session),
        TeammateCommand::Pause(args) => pause::run(args, session),
        TeammateCommand::Continue(args) => r#continue::run(args, session),
        TeammateCommand::Mode(args) => mode::run(args, session),
        TeammateCommand::Move(args) => r#move::run(args, session),
        TeammateCommand::Budget(args) => budget::run(args, session),
        TeammateCommand::Remove(args) => remove::run(args, session),
    }
}
