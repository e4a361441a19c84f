//! `shipmate host drain`, `remove` and `home`: what becomes of a machine.

use crate::coordinator::host::OwnServer;
use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Start nobody there any more; whoever runs there goes on
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate host drain box
  shipmate host drain box --undo")]
pub(crate) struct DrainArgs {
    name: String,

    /// Start teammates there again
    #[arg(long)]
    undo: bool,
}

/// Take a machine out of the team; its tasks are free again
///
/// Where somebody runs there it is refused: drain it first, or say --now, and what they have not handed in
/// is set aside. On a server of shipmate's own the machine's password ends with it; on another server its
/// operator has to take it away.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate host remove box
  shipmate host remove box --now")]
pub(crate) struct RemoveArgs {
    name: String,

    /// Also while somebody runs there
    #[arg(long)]
    now: bool,
}

/// Merge, gate and run phases on another machine from now on
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  shipmate host home box")]
pub(crate) struct HomeArgs {
    name: String,
}

pub(crate) fn drain(args: DrainArgs, mut session: Session) -> Result<(), Failure> {
    let said = match args.undo {
        true => format!("teammates are started on {} again", args.name),
        false => format!("nobody is started on {} any more; who runs there goes on", args.name),
    };
    session.change(verbs::HostDrain { host: args.name, draining: !args.undo }, &said)
}

pub(crate) fn remove(args: RemoveArgs, mut session: Session) -> Result<(), Failure> {
    let said = format!("{} is no host of this team any more", args.name);
    session.change(verbs::HostRemove { host: args.name.clone(), now: args.now }, &said)?;
    let ours = OwnServer::of(&session.place).map_err(Failure::Storage)?;
    let Some(mut ours) = ours else {
        let note = "its access to the server is the server's operator's to take away";
        return if session.screen.json { Ok(()) } else { session.screen.line(note) };
    };
    ours.shut_out(&args.name).map_err(|e| Failure::Storage(e.to_string()))
}

pub(crate) fn home(args: HomeArgs, mut session: Session) -> Result<(), Failure> {
    let said = format!("work is merged on {} from now on", args.name);
    session.change(verbs::HostHome { host: args.name }, &said)
}
