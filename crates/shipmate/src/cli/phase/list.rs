//! `shipmate phase list`.

use shipmate_protocol::verbs;
use shipmate_protocol::view::TeamView;

use crate::cli::failure::Failure;
use crate::cli::screen::{Paint, Screen, hanging, plain};
use crate::cli::session::Session;

/// Show the phases of a team and its departments
///
/// Each with its state: ahead, waits (and for what), runs, done, skipped, failed, passed (it failed
/// and the team went on) or back (an earlier one began again).
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate phase list
  shipmate phase list --json")]
pub(crate) struct ListArgs {}

pub(crate) fn run(_: &ListArgs, mut session: Session) -> Result<(), Failure> {
    let status = session.ask(verbs::Status)?;
    let teams: Vec<&TeamView> =
        status.teams.iter().filter(|team| !team.phases.is_empty()).collect();
    if session.screen.json {
        let view = |team: &&TeamView| {
            let (name, playbook, phases) = (&team.name, &team.playbook, &team.phases);
            serde_json::json!({ "team": name, "playbook": playbook, "phases": phases })
        };
        let views: Vec<_> = teams.iter().map(view).collect();
        return session.screen.json(&views);
    }
    if teams.is_empty() {
        return session.screen.line("no team here works by a playbook");
    }
    let text: Vec<String> = teams.iter().map(|team| one(team, &session.screen)).collect();
    session.screen.print(&text.join("\n"))
}

fn one(team: &TeamView, screen: &Screen) -> String {
    let playbook = team.playbook.as_deref().unwrap_or_default();
    let head = format!("{} ({playbook})", plain(&team.name));
    let mut text = screen.paint(Paint::Bold, &head);
    text.push('\n');
    let width = team.phases.iter().map(|phase| phase.name.len()).max().unwrap_or_default();
    for phase in &team.phases {
        let round =
            if phase.round > 1 { format!(", round {}", phase.round) } else { String::new() };
        let why = match phase.why.as_str() {
            "" => String::new(),
            why => format!("  {}", hanging(why, width + 14)),
        };
        let state = format!("{}{round}", phase.state);
        text.push_str(&format!("  {:<width$}  {state:<8}{why}\n", plain(&phase.name)));
    }
    text
}
