//! `shipmate host list`.

use shipmate_protocol::view::{HostState, HostView};

use crate::cli::failure::Failure;
use crate::cli::screen::{Paint, plain};
use crate::cli::session::Session;
use crate::cli::table::{Column, Table, owned};
use crate::coordinator::host::Tunnel;

/// List the machines that share the teams here
///
/// RUNNING counts the teammates of all teams, of one team with --team; each team may use all slots.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate host list
  shipmate host list --json")]
pub(crate) struct ListArgs {}

pub(crate) fn run(_args: &ListArgs, mut session: Session) -> Result<(), Failure> {
    let hosts = super::hosts_of(&mut session)?;
    if session.screen.json {
        return session.screen.json(&hosts);
    }
    if hosts.is_empty() {
        return session.screen.line(
            "everything runs on this machine alone; `shipmate host add USER@MACHINE` adds another",
        );
    }
    let mut table = Table::new(&[
        Column::Left("HOST"),
        Column::Left("STATE"),
        Column::Right("RUNNING"),
        Column::Elastic("LABELS"),
        Column::Elastic("PROGRAMS"),
        Column::Left("SIGN"),
    ]);
    for host in &hosts {
        let is_whole = host.state.word() == "joined" && host.lacks.is_empty();
        let paint = if is_whole { Paint::Plain } else { Paint::Bad };
        table.row([
            owned(name(host), Paint::Plain),
            owned(state(host), paint),
            owned(format!("{} of {}", host.taken, host.slots), Paint::Plain),
            owned(host.labels.join(", "), Paint::Plain),
            owned(host.programs.join(", "), Paint::Plain),
            owned(sign(host), Paint::Plain),
        ]);
    }
    session.screen.print(&table.render(&session.screen))?;
    let lines = Tunnel::all(&session.place).unwrap_or_default();
    for (line, trouble) in lines.iter().filter_map(|it| Some((it, it.trouble(&session.place)?))) {
        let (fact, remedy) = trouble;
        session.screen.line(&format!("{}: {}\n  {}", line.host, plain(&fact), plain(&remedy)))?;
    }
    Ok(())
}

fn name(host: &HostView) -> String {
    let marks = [(host.home, "home"), (host.here, "here")];
    let marks: Vec<&str> = marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect();
    match marks.is_empty() {
        true => host.name.clone(),
        false => format!("{} ({})", host.name, marks.join(", ")),
    }
}

/// How it stands, and whether anything keeps teammates from it.
pub(crate) fn state(host: &HostView) -> String {
    match host.lacks.is_empty() || host.state != HostState::Joined {
        true => host.state.to_string(),
        false => format!("{}, gets the code", host.state),
    }
}

/// When it was last heard.
pub(crate) fn sign(host: &HostView) -> String {
    match (host.here, host.silent_ms) {
        (true, _) => "this machine".to_owned(),
        (false, None) => "not heard yet".to_owned(),
        (false, Some(ms)) => format!("{} s ago", ms / 1_000),
    }
}
