//! `shipmate plan submit`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::{Session, text_or_stdin};

/// Submit a plan for approval, as a teammate
///
/// A teammate in mode `plan` hands in work only after its plan is approved. The answer comes as a
/// message.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate --as ana plan submit --task 3 \"split the parser, then test it\"
  shipmate --as ana plan submit - < plan.md")]
pub(crate) struct SubmitArgs {
    /// The plan; `-` is standard input
    #[arg(required = true)]
    text: Vec<String>,

    /// The task it is for
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
}

pub(crate) fn run(args: &SubmitArgs, mut session: Session) -> Result<(), Failure> {
    let body = text_or_stdin(&args.text)?;
    let plan = session.ask(verbs::PlanSubmit { task: args.task.clone(), body, work: None })?;
    let said = format!("submitted plan {}; the answer comes as a message", plan.id);
    session.tell(&plan.into(), &said)
}
