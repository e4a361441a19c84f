//! `shipmate teammate move`.

use shipmate_protocol::verbs::TeammateMove;

use crate::cli::failure::Failure;
use crate::cli::session::Session;
use crate::cli::teammate::add::place_of;

/// Say where a teammate may run
///
/// Counts from its next life on: one that runs now goes on where it is. To move it at once, have it end
/// as well (`shipmate shutdown NAME`): it is started there when there is a task for it.
#[derive(clap::Args, Debug)]
#[command(
    group = clap::ArgGroup::new("where").required(true).multiple(true).args(["host", "labels", "anywhere"]),
    after_help = "\
Examples:
  shipmate teammate move ana --host box
  shipmate teammate move ana --label gpu
  shipmate teammate move ana --anywhere"
)]
pub(crate) struct MoveArgs {
    name: String,

    /// The machine it runs on; `shipmate host list` names them
    #[arg(long, value_name = "NAME")]
    host: Option<String>,

    /// It runs on machines that have this label; may be given several times
    #[arg(long = "label", value_name = "LABEL")]
    labels: Vec<String>,

    /// It runs wherever there is room
    #[arg(long, conflicts_with_all = ["host", "labels"])]
    anywhere: bool,
}

pub(crate) fn run(args: MoveArgs, mut session: Session) -> Result<(), Failure> {
    let place = place_of(args.host.as_deref(), &args.labels)?;
    let at = if place.is_anywhere() { "anywhere".to_owned() } else { place.to_string() };
    let said = format!("{} may run {at}, from its next life on", args.name);
    session.change(TeammateMove { name: args.name, place }, &said)
}
