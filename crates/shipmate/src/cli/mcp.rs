//! `shipmate mcp`.

use crate::cli::failure::Failure;
use crate::cli::session::{self, Globals};
use crate::config::{self, Config, Resolved};
use crate::mcp::{Wish, is_below_teammate, stdio};

/// Serve the team's tools to an MCP client, on standard input and output
///
/// The client starts it; `shipmate install` writes its settings. With SHIPMATE_TOKEN the session
/// acts as that teammate. Without it, it is enrolled as a new member of the team (SHIPMATE_TEAM, or
/// the only one), and leaves when the client does; while there is no team it can create one and
/// leads it.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Environment:
  SHIPMATE_TOKEN      the token of a teammate: the session acts as it
  SHIPMATE_SEAT       the name to be enrolled with [default: the client's own, `claude`]
  SHIPMATE_SEAT_LEAD  1: take the lead's seat if it is free

Examples:
  shipmate install claude
  claude mcp add shipmate -- shipmate mcp")]
pub(crate) struct McpArgs {}

pub(crate) fn run(_: &McpArgs, globals: &Globals) -> Result<(), Failure> {
    let place = session::place(globals.workspace.as_deref())?;
    let launch = session::launch(&place)?;
    // A session goes on without settings, and then without a team.
    let config = config::load(&place.config()).map_or_else(
        |bad| {
            eprintln!("{}", Resolved::unreadable(&bad).fallback_notice.unwrap_or_default());
            Config { agent_teams: false, ..Config::default() }
        },
        |loaded| loaded.config,
    );
    // A teammate's program may find this server in the person's or the project's settings. Its
    // tools come from its own supervisor; here it would be somebody else.
    let is_inside = std::env::var_os("SHIPMATE_TOKEN").is_none() && is_below_teammate();
    if is_inside {
        eprintln!(
            "shipmate: no tools are offered to a teammate here: it has them from its runtime"
        );
    }
    let config = Config { agent_teams: config.agent_teams && !is_inside, ..config };
    let caller = session::caller(globals, &place)?;
    let wish = Wish {
        team: globals.for_team.clone(),
        client: rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs()),
        ..Wish::of_environment()
    };
    stdio::serve(place, launch, config, caller, wish, is_inside)
        .map_err(|e| Failure::Storage(format!("standard input cannot be served: {e}")))
}
