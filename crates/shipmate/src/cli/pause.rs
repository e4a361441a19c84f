//! `shipmate pause`: the team, or one teammate.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Pause the team, or one teammate
///
/// A paused team starts nobody and hands out no task; a paused teammate takes no new one. Whoever
/// works goes on to the end of its task, and what is handed in is still verified and merged. To
/// stop work in progress, shut it down.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate pause --reason \"wait for the review\"
  shipmate pause ana
  shipmate continue")]
pub(crate) struct PauseArgs {
    /// The teammate [default: the whole team]
    name: Option<String>,

    /// Shown wherever somebody asks why nothing happens
    #[arg(long, value_name = "TEXT", default_value = "paused by hand")]
    reason: String,
}

pub(crate) fn run(args: PauseArgs, mut session: Session) -> Result<(), Failure> {
    let PauseArgs { name, reason } = args;
    match name {
        Some(name) => {
            let said = format!("{name} is paused; `shipmate continue {name}` lets it go on");
            session.change(verbs::TeammatePause { name, reason, spent: false }, &said)
        }
        None => {
            let said =
                "the team is paused: nobody starts or claims; `shipmate continue` lets it go on";
            session.change(verbs::TeamPause { reason }, said)
        }
    }
}
