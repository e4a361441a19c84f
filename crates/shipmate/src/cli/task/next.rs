//! `shipmate task next`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::Session;
use crate::cli::task::claim;
use crate::time::parse_duration_ms;

/// Claim the best task there is for a teammate
///
/// What a gate sent back comes first, then priority, then the longest path behind it. With nothing
/// available it ends with exit code 4, or waits with --wait until there is something.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate --as ana task next
  while shipmate --as ana task next --wait --json > task.json; do work-on task.json; done")]
pub(crate) struct NextArgs {
    /// How long the claim holds without a renewal, like 10m [default: lease-seconds]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ms)]
    lease: Option<u64>,

    /// Wait until there is a task
    #[arg(long)]
    wait: bool,
}

pub(crate) fn run(args: &NextArgs, mut session: Session) -> Result<(), Failure> {
    let lease_ms = Some(session.lease_ms(args.lease)?);
    let answer = session.ask(verbs::TaskNext { lease_ms, wait: args.wait })?;
    claim::show(&session, &answer)
}
