//! `shipmate status`: a whole tree of teams at a glance.

use shipmate_protocol::view::Status;
use shipmate_protocol::{Answer, Ask};

use crate::cli::failure::{Failure, unexpected};
use crate::cli::screen::{Screen, hanging, plain};
use crate::cli::session::Session;
use crate::cli::{phase, team, teammate};

/// Show where everything stands
///
/// Teams with their tasks, teammates with what they do and said last, what the merge queue does,
/// what waits for you, and where the work is. Where there are several teams and none is named, one
/// after the other; with --json, a line for each.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate status
  shipmate status --json | jq .position")]
pub(crate) struct StatusArgs {}

pub(crate) fn run(_: &StatusArgs, mut session: Session) -> Result<(), Failure> {
    for (at, root) in roots(&mut session)?.into_iter().enumerate() {
        session.client.team = root;
        let Answer::Status(status) = session.ask(Ask::Status)? else {
            return Err(unexpected("a status"));
        };
        if session.screen.json {
            session.screen.json(&status)?;
            continue;
        }
        let gap = if at > 0 { "\n" } else { "" };
        session.screen.print(&format!("{gap}{}", text(&status, &session.screen)))?;
    }
    Ok(())
}

/// The team that is meant; where none is named and there are several, each of them.
fn roots(session: &mut Session) -> Result<Vec<Option<String>>, Failure> {
    let named = session.client.team.clone();
    if named.is_some() || session.client.welcome()?.actor != "person" {
        return Ok(vec![named]);
    }
    let Answer::Teams(teams) = session.ask(Ask::Teams)? else {
        return Err(unexpected("teams"));
    };
    let roots = teams.into_iter().filter(|team| team.parent.is_none()).map(|team| Some(team.name));
    let roots: Vec<Option<String>> = roots.collect();
    Ok(if roots.is_empty() { vec![None] } else { roots })
}

pub(crate) fn text(status: &Status, screen: &Screen) -> String {
    let mut text = team::table(&status.teams, screen);
    if !status.teammates.is_empty() {
        text.push('\n');
        text.push_str(&teammate::table(&status.teammates, screen));
    }
    text.push('\n');
    let available: Vec<String> = status.available.iter().map(ToString::to_string).collect();
    let available = if available.is_empty() { "none".to_owned() } else { available.join(", ") };
    text.push_str(&format!("available tasks  {available}\n"));
    for (what, count, command) in [
        ("open plans", status.open_plans, "shipmate plan list"),
        ("open questions", status.open_questions, "shipmate questions"),
        ("unread by you", status.unread_by_person, "shipmate inbox"),
    ] {
        let hint = if count > 0 { format!("  ({command})") } else { String::new() };
        text.push_str(&format!("{what:<15}  {count}{hint}\n"));
    }
    if let Some(queue) = &status.queue {
        text.push_str(&format!("{:<15}  {}\n", "merge queue", plain(queue)));
    }
    for team in &status.teams {
        if let (Some(branch), Some(base)) = (&team.branch, &team.base) {
            let base = base.get(..12).unwrap_or(base);
            let line = format!("{branch}, from {base}  (shipmate merge)");
            text.push_str(&format!("{:<15}  {}\n", "branch", plain(&line)));
        }
        if let Some(line) = phase::now(team) {
            text.push_str(&format!("{:<15}  {}\n", "phase", hanging(&line, 17)));
        }
        if let Some(reason) = &team.paused {
            let line = format!("{}: {reason}  (shipmate continue)", team.name);
            text.push_str(&format!("{:<15}  {}\n", "paused", hanging(&line, 17)));
        }
    }
    text.push_str(&format!("{:<15}  {} records in {}\n", "log", status.position, status.log));
    text
}
