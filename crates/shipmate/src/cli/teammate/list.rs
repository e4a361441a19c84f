//! `shipmate teammate list`.

use shipmate_protocol::verbs::Context;
use shipmate_protocol::view::{TeammateState, TeammateView};
use shipmate_protocol::{Mode, verbs};

use crate::cli::failure::Failure;
use crate::cli::screen::{Paint, Screen};
use crate::cli::session::Session;
use crate::cli::table::{Column, Table, cell, owned, painted};
use crate::time::about;

/// List the teammates of a team
///
/// Of those that shipmate runs, also how full the agent's context is where its program tells, the
/// machine it runs on where there are several, the process that watches over the agent, how long the
/// agent has shown no sign of progress, and the last line it printed.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate teammate list
  shipmate teammate list --json | jq -r '.[] | select(.state == \"idle\") | .name'")]
pub(crate) struct ListArgs {}

pub(crate) fn run(_: &ListArgs, mut session: Session) -> Result<(), Failure> {
    let teammates = session.ask(verbs::Teammates)?;
    if session.screen.json {
        return session.screen.json(&teammates);
    }
    if teammates.is_empty() {
        return session.screen.line("no teammates yet; `shipmate teammate add NAME` adds one");
    }
    session.screen.print(&table(&teammates, &session.screen))
}

/// How full the agent's context is, in a few columns.
fn fill(mate: &TeammateView) -> String {
    let Some(used) = mate.context_used else { return String::new() };
    match (Context { used, max: mate.context_max }).percent() {
        Some(percent) => format!("{percent}%"),
        None => format!("{}k", used.div_ceil(1000)),
    }
}

pub(crate) fn table(teammates: &[TeammateView], screen: &Screen) -> String {
    let several = teammates.iter().any(|mate| mate.team != teammates[0].team);
    let mut table = Table::new(&[
        Column::Left("TEAMMATE"),
        Column::Left("TEAM"),
        Column::Left("ROLE"),
        Column::Left("STATE"),
        Column::Elastic("WHY"),
        Column::Left("MODE"),
        Column::Left("AGENT"),
        Column::Left("HOST"),
        Column::Right("UNREAD"),
        Column::Right("CONTEXT"),
        Column::Right("PID"),
        Column::Right("SILENT"),
        Column::Elastic("LAST WORDS"),
    ]);
    for mate in teammates {
        let paint = match mate.state {
            TeammateState::Active => Paint::Busy,
            TeammateState::Disappeared | TeammateState::Failed => Paint::Bad,
            TeammateState::Stopped | TeammateState::Added => Paint::Dim,
            _ => Paint::Plain,
        };
        let lead = if mate.lead { " (lead)" } else { "" };
        table.row([
            owned(format!("{}@{}{lead}", mate.name, mate.epoch), Paint::Plain),
            cell(if several { &mate.team } else { "" }),
            cell(mate.role.as_deref().unwrap_or_default()),
            painted(mate.state.word(), paint),
            owned(mate.why.split_whitespace().collect::<Vec<_>>().join(" "), Paint::Plain),
            cell(if mate.mode == Mode::Normal { "" } else { mate.mode.word() }),
            cell(&mate.agent),
            cell(mate.host.as_deref().unwrap_or_default()),
            owned(mate.unread.to_string(), Paint::Plain),
            owned(fill(mate), Paint::Plain),
            owned(mate.pid.map(|pid| pid.to_string()).unwrap_or_default(), Paint::Dim),
            owned(mate.silent_ms.map(about).unwrap_or_default(), Paint::Plain),
            cell(&mate.last_words),
        ]);
    }
    table.render(screen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_teammate_stands_is_one_line_to_its_last_word() {
        let mate = TeammateView {
            name: "ana".to_owned(),
            epoch: 1,
            state: TeammateState::Failed,
            why: "the set-up failed:\n\tnpm: not found\u{1b}[2J\r\n\nmend that, then `shipmate resume`".to_owned(),
            ..TeammateView::default()
        };
        let text = table(&[mate], &Screen::of_width(None));
        let row = "the set-up failed: npm: not found\\x1b[2J mend that, then `shipmate resume`";
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.lines().nth(1).unwrap().contains(row), "{text}");
    }
}
