//! `shipmate plan`: what a teammate proposes before it may write.

mod approve;
mod list;
mod reject;
mod submit;
pub(crate) mod work;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Plans: submit, list, approve, reject
#[derive(clap::Subcommand, Debug)]
pub(crate) enum PlanCommand {
    Submit(submit::SubmitArgs),
    List(list::ListArgs),
    Approve(approve::ApproveArgs),
    Reject(reject::RejectArgs),
}

pub(crate) fn run(command: PlanCommand, session: Session) -> Result<(), Failure> {
    match command {
        PlanCommand::Submit(args) => submit::run(&args, session),
        PlanCommand::List(args) => list::run(&args, session),
        PlanCommand::Approve(args) => approve::run(&args, session),
        PlanCommand::Reject(args) => reject::run(args, session),
    }
}
