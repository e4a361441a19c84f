//! `shipmate team list`.

use shipmate_protocol::verbs;
use shipmate_protocol::view::TeamView;

use crate::cli::failure::Failure;
use crate::cli::screen::{Paint, Screen};
use crate::cli::session::Session;
use crate::cli::table::{Column, Table, cell, owned, painted};

/// List the teams of the workspace
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate team list
  shipmate team list --json | jq -r '.[].name'")]
pub(crate) struct ListArgs {}

pub(crate) fn run(_: &ListArgs, mut session: Session) -> Result<(), Failure> {
    let teams = session.ask(verbs::Teams)?;
    if session.screen.json {
        return session.screen.json(&teams);
    }
    if teams.is_empty() {
        return session.screen.line("no teams yet; `shipmate team create NAME` makes one");
    }
    session.screen.print(&table(&teams, &session.screen))
}

pub(crate) fn table(teams: &[TeamView], screen: &Screen) -> String {
    let mut table = Table::new(&[
        Column::Left("TEAM"),
        Column::Left("PARENT"),
        Column::Left("LEAD"),
        Column::Left("PHASE"),
        Column::Right("RUNNING"),
        Column::Right("PENDING"),
        Column::Right("IN PROGRESS"),
        Column::Right("COMPLETED"),
        Column::Right("FAILED"),
        Column::Elastic("DESCRIPTION"),
    ]);
    for team in teams {
        let failed = if team.tasks.failed > 0 { Paint::Bad } else { Paint::Plain };
        let number = |n: usize| owned(n.to_string(), Paint::Plain);
        table.row([
            cell(&team.name),
            cell(team.parent.as_deref().unwrap_or_default()),
            cell(team.lead.as_deref().unwrap_or_default()),
            match team.state() {
                "paused" => painted("paused", Paint::Busy),
                "done" => painted("done", Paint::Good),
                state => cell(state),
            },
            owned(format!("{} of {}", team.running, team.teammates), Paint::Plain),
            number(team.tasks.pending),
            number(team.tasks.in_progress),
            number(team.tasks.completed),
            owned(team.tasks.failed.to_string(), failed),
            cell(&team.description),
        ]);
    }
    table.render(screen)
}
