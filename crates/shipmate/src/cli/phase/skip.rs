//! `shipmate phase skip`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::screen::plain;
use crate::cli::session::Session;

/// Leave out a phase that waits
///
/// Only a phase that its playbook calls optional can be left out, and only before it has begun.
/// What it would have made is not waited for afterwards.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate phase skip security --reason 'audited last week'")]
pub(crate) struct SkipArgs {
    /// The phase
    phase: String,

    /// Why, for the record
    #[arg(long, value_name = "TEXT", default_value = "left out by the person")]
    reason: String,
}

pub(crate) fn run(args: SkipArgs, mut session: Session) -> Result<(), Failure> {
    let SkipArgs { phase, reason } = args;
    let done = format!("phase {phase} is left out");
    session.change(verbs::PhaseSkip { phase, reason }, &done)?;
    let team = session.ask(verbs::TeamShow)?;
    match team.paused.filter(|_| !session.screen.json) {
        Some(_) => session.screen.line(&format!(
            "the team is paused: `shipmate{} --team {} continue` lets it go on",
            session.here(),
            plain(&team.name)
        )),
        None => Ok(()),
    }
}
