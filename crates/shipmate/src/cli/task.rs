//! `shipmate task`: the board.

mod assign;
mod claim;
mod complete;
mod create;
mod delete;
mod diff;
mod fail;
mod graph;
mod list;
mod next;
mod release;
mod renew;
mod retry;
mod set_aside;
mod show;
mod submit;
mod update;

pub(crate) use list::table;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// The board: create, take, hand in and follow tasks
#[derive(clap::Subcommand, Debug)]
pub(crate) enum TaskCommand {
    Create(Box<create::CreateArgs>),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Diff(diff::DiffArgs),
    Graph(graph::GraphArgs),
    Update(update::UpdateArgs),
    Claim(claim::ClaimArgs),
    Next(next::NextArgs),
    Renew(renew::RenewArgs),
    Submit(submit::SubmitArgs),
    Complete(complete::CompleteArgs),
    Fail(fail::FailArgs),
    Release(release::ReleaseArgs),
    Assign(assign::AssignArgs),
    Retry(retry::RetryArgs),
    Delete(delete::DeleteArgs),
    SetAside(set_aside::SetAsideArgs),
}

pub(crate) fn run(command: TaskCommand, session: Session) -> Result<(), Failure> {
    match command {
        TaskCommand::Create(args) => create::run(*args, session),
        TaskCommand::List(args) => list::run(args, session),
        TaskCommand::Show(args) => show::run(&args, session),
        TaskCommand::Diff(args) => diff::run(&args, session),
        TaskCommand::Graph(args) => graph::run(&args, session),
        TaskCommand::Update(args) => update::run(args, session),
        TaskCommand::Claim(args) => claim::run(args, session),
        TaskCommand::Next(args) => next::run(&args, session),
        TaskCommand::Renew(args) => renew::run(args, session),
        TaskCommand::Submit(args) => submit::run(args, session),
        TaskCommand::Complete(args) => complete::run(args, session),
        TaskCommand::Fail(args) => fail::run(args, session),
        TaskCommand::Release(args) => release::run(args, session),
        TaskCommand::Assign(args) => assign::run(args, session),
        TaskCommand::Retry(args) => retry::run(args, session),
        TaskCommand::Delete(args) => delete::run(args, session),
        TaskCommand::SetAside(args) => set_aside::run(args, session),
    }
}

/// `KEY=VALUE`.
fn parse_meta(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write it as KEY=VALUE".to_owned()),
    }
}
