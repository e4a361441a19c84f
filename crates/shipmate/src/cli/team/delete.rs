//! `shipmate team delete`.

use shipmate_protocol::Ask;

use crate::cli::failure::Failure;
use crate::cli::session::Session;
use crate::cli::time::{duration, parse_duration_ms};

/// Delete a team and the departments below it
///
/// Everybody who runs is asked to shut down and has until the deadline; the team is gone when the
/// last of them is. With nobody running it is gone at once. Its log stays readable on disk.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate team delete alpha
  shipmate team delete alpha --reason \"the release is out\" --deadline 2m
  shipmate team delete alpha --now")]
pub(crate) struct DeleteArgs {
    name: String,

    #[arg(long, value_name = "TEXT", default_value = "the team is deleted")]
    reason: String,

    /// How long the teammates have to answer, like 90s [default: shutdown-deadline-seconds]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ms, conflicts_with = "now")]
    deadline: Option<u64>,

    /// Ask nobody: end everything at once
    #[arg(long)]
    now: bool,
}

pub(crate) fn run(args: DeleteArgs, mut session: Session) -> Result<(), Failure> {
    let deadline_ms = session.deadline_ms(args.deadline)?;
    let said = match args.now {
        true => format!("team {} is ended", args.name),
        false => format!(
            "team {} is deleted as soon as its teammates have stopped, at the latest in {}",
            args.name,
            duration(deadline_ms)
        ),
    };
    session.client.team = Some(args.name);
    session.change(Ask::TeamDelete { reason: args.reason, deadline_ms, now: args.now }, &said)
}
