//! `shipmate team create`.

use shipmate_protocol::Ask;
use shipmate_protocol::verbs::{Setup, TeamCreate};

use crate::cli::failure::Failure;
use crate::cli::session::Session;
use crate::config::Config;

/// Create a team
///
/// A workspace may have several teams. A team with --parent is a department of that team: both
/// share one log, so that rules across departments are one decision.
///
/// With --trees the team works in the git repository: it begins at the commit that is checked out,
/// and what passes its checks is merged onto the branch shipmate/NAME. Your branch is touched by
/// `shipmate merge` alone. Checks, clocks and protected paths are those of the configuration unless
/// they are given here, and stay as they are for as long as the team lives.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate team create alpha
  shipmate team create alpha --lead lou --description \"The parser\"
  shipmate team create backend --parent alpha --gate
  shipmate team create alpha --trees own --check \"cargo test\"")]
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

    /// Work in git: `own` gives each teammate a clone, `shared` one to all; work is merged onto
    /// the branch shipmate/NAME
    #[arg(long, value_name = "MODE", value_parser = ["own", "shared"])]
    trees: Option<String>,

    /// A command that must succeed on the merged tree; may be given several times [default:
    /// gate.commands, with --trees]
    #[arg(long, value_name = "COMMAND")]
    check: Vec<String>,

    /// Start teammates although the gate fails on the last commit: the work is to make it pass
    #[arg(long)]
    red_base: bool,

    /// Begin at the last commit although there are uncommitted changes
    #[arg(long)]
    dirty: bool,
}

pub(crate) fn run(args: CreateArgs, mut session: Session) -> Result<(), Failure> {
    let said = match &args.parent {
        Some(parent) => format!("created team {} below {parent}", args.name),
        None => format!("created team {}", args.name),
    };
    let CreateArgs { name, parent, description, gate, lead, trees, check, red_base, dirty } = args;
    let config = session.config()?.config;
    let mut setup = Setup { dirty, red_base, ..config.setup() };
    if trees.is_none() {
        setup.gate.clear();
        setup.protected.clear();
    }
    if !check.is_empty() {
        setup.gate = check;
    }
    setup.trees = trees;
    let gate = gate || setup.trees.is_some() || !setup.gate.is_empty();
    let default = Config::default();
    let same_clocks = config.team == default.team
        && config.shutdown_deadline_seconds == default.shutdown_deadline_seconds;
    let setup = Some(setup).filter(|_| gate || !same_clocks);
    let ask =
        Ask::TeamCreate(TeamCreate { name, parent, description, gate, lead, setup, check: false });
    session.change(ask, &said)
}
