//! `shipmate teammate remove`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Remove a teammate from its team
///
/// One that still runs is shut down first, by you (`shipmate shutdown NAME`): what it was working
/// on is set aside then, and what it holds goes back to the board. Its name may be added again;
/// epochs go on counting, so that an old token stays stale.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate shutdown ana --deadline 5s
  shipmate teammate remove ana")]
pub(crate) struct RemoveArgs {
    name: String,
}

pub(crate) fn run(args: RemoveArgs, mut session: Session) -> Result<(), Failure> {
    // Asked first, because the answer to the removal does not say in which team it was.
    let mate = session.ask(verbs::TeammateShow { name: args.name.clone() })?;
    let said = format!("removed {}", args.name);
    session.change(verbs::TeammateRemove { name: args.name }, &said)?;
    // The token is worthless now; a file that cannot be removed does no harm.
    drop(std::fs::remove_file(session.place.teammate_token(&mate.team, &mate.name)));
    Ok(())
}
