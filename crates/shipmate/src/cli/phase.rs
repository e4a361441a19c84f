//! `shipmate phase`: where a team is in its playbook.

mod list;
mod skip;

use shipmate_protocol::view::{PhaseState, TeamView};

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Phases of a team's playbook: list, skip
#[derive(clap::Subcommand, Debug)]
pub(crate) enum PhaseCommand {
    List(list::ListArgs),
    Skip(skip::SkipArgs),
}

pub(crate) fn run(command: PhaseCommand, session: Session) -> Result<(), Failure> {
    match command {
        PhaseCommand::List(args) => list::run(&args, session),
        PhaseCommand::Skip(args) => skip::run(args, session),
    }
}

/// A team's place in its playbook on one line.
pub(crate) fn now(team: &TeamView) -> Option<String> {
    let playbook = team.playbook.as_ref()?;
    let at = team
        .phases
        .iter()
        .position(|phase| matches!(phase.state, PhaseState::Waits | PhaseState::Runs));
    let many = team.phases.len();
    Some(match at {
        Some(at) => {
            let phase = &team.phases[at];
            let why = if phase.why.is_empty() { String::new() } else { format!(": {}", phase.why) };
            let (name, state, at) = (&phase.name, &phase.state, at + 1);
            format!("{}: {name} {state}{why} ({at} of {many}, {playbook})", team.name)
        }
        None => match team.phases.iter().find(|phase| phase.state == PhaseState::Failed) {
            Some(phase) => format!("{}: stopped in {}: {}", team.name, phase.name, phase.why),
            None => format!("{}: through all {many} ({playbook})", team.name),
        },
    })
}
