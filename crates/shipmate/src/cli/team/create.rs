//! `shipmate team create`.

use shipmate_protocol::Ask;
use shipmate_protocol::ask::TeamCreate;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Create a team
///
/// A workspace may have several teams. A team with --parent is a department of that team: both
/// share one log, so that rules across departments are one decision.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate team create alpha
  shipmate team create alpha --lead lou --description \"The parser\"
  shipmate team create backend --parent alpha --gate")]
pub(crate) struct CreateArgs {
    /// Letters, digits, '_' and '-', beginning with a letter or digit, at most 64
    name: String,

    /// The team this one is a department of
    #[arg(long, value_name = "TEAM")]
    parent: Option<String>,

    /// What the team is for
    #[arg(long, value_name = "TEXT", default_value = "")]
    description: String,

    /// Submitted work is completed by a gate instead of by the holder's word
    #[arg(long)]
    gate: bool,

    /// Add a teammate of this name as its lead
    #[arg(long, value_name = "NAME")]
    lead: Option<String>,
}

pub(crate) fn run(args: CreateArgs, mut session: Session) -> Result<(), Failure> {
    let said = match &args.parent {
        Some(parent) => format!("created team {} below {parent}", args.name),
        None => format!("created team {}", args.name),
    };
    let CreateArgs { name, parent, description, gate, lead } = args;
    let ask = Ask::TeamCreate(TeamCreate { name, parent, description, gate, lead });
    session.change(ask, &said)
}
