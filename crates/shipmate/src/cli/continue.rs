//! `shipmate continue`: what was paused goes on. Of a team it is another word for `resume`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::resume;
use crate::cli::session::Session;

/// Let a paused team, or one teammate, go on
///
/// Of a team it is another word for `shipmate resume`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate continue
  shipmate continue ana")]
pub(crate) struct ContinueArgs {
    /// The teammate [default: the whole team]
    name: Option<String>,
}

pub(crate) fn run(args: ContinueArgs, mut session: Session) -> Result<(), Failure> {
    match args.name {
        Some(name) => {
            let said = format!("{name} goes on");
            session.change(verbs::TeammateContinue { name }, &said)
        }
        None => resume::go_on(session),
    }
}
