//! `shipmate tui`: the team on a screen in the terminal.

use std::io::IsTerminal;
use std::sync::Arc;

use shipmate_protocol::client::TokenSource;
use shipmate_protocol::view::TeamView;
use shipmate_protocol::{Ask, Client, verbs};

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::session::{Session, launch};
use crate::tui::{self, End, Start, Theme};

/// Show the team on a screen in the terminal, live
///
/// The board, the team, its messages, what waits for your decision, and the log; everything that
/// can be done with a task, a teammate or a decision is a key away. `?` shows the keys. Nothing
/// stops when the screen is closed. Where there are several teams, choose one or name it with
/// --team. It needs a terminal of 80 columns and 24 lines.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Keys:
  1 3 4 5 6     board, team, messages, decisions, log
  j k, arrows   move; Enter opens, Esc goes back, / searches
  n e a x r     new task; edit, assign, release, retry the selected one
  m p s         message, pause or continue, shut down
  y d 1-9       approve, deny with a reason, choose an option
  ? q           all keys, quit

Examples:
  shipmate tui
  shipmate --team alpha tui
  NO_COLOR=1 shipmate tui")]
pub(crate) struct TuiArgs {}

pub(crate) fn run(_: &TuiArgs, mut session: Session) -> Result<Exit, Failure> {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    let screen = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !screen || dumb || session.screen.json {
        return Err(Failure::Usage(
            "the screen needs a terminal to draw on\n  `shipmate status` prints where everything \
             stands, `shipmate status --json` the same for programs"
                .to_owned(),
        ));
    }
    let actor = session.client.welcome()?.actor;
    if actor != "person" {
        return Err(Failure::Usage(format!(
            "the screen is a person's, and this is {actor}\n  leave --as out and unset \
             SHIPMATE_TOKEN"
        )));
    }
    let trees = trees(&mut session)?;
    let deadline_ms = session.deadline_ms(None)?;
    let (place, launch) = (session.place.clone(), launch(&session.place)?);
    let connect = move |team: Option<String>| {
        let mut client = Client::new(place.clone(), launch.clone(), TokenSource::Person);
        client.team = team;
        client
    };
    let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let start = Start { connect: Arc::new(connect), trees, theme: Theme { colour }, deadline_ms };
    match tui::run(start) {
        Ok(End::Quit) => Ok(Exit::Done),
        Ok(End::Panicked) => Ok(Exit::Bug),
        Err(e) => Err(Failure::Storage(format!("the terminal cannot be used: {e}"))),
    }
}

/// The trees to choose from: the one that is meant, where one is.
fn trees(session: &mut Session) -> Result<Vec<TeamView>, Failure> {
    let teams = session.ask(verbs::Teams)?;
    let Some(mut named) = session.client.team.clone() else {
        let roots: Vec<TeamView> = teams.into_iter().filter(|team| team.parent.is_none()).collect();
        if roots.is_empty() {
            // For the refusal that says how to begin.
            session.ask(Ask::Status)?;
        }
        return Ok(roots);
    };
    let find = |name: &str| teams.iter().find(|team| team.name == name);
    while let Some(parent) = find(&named).and_then(|team| team.parent.clone()) {
        named = parent;
    }
    match find(&named) {
        Some(root) => Ok(vec![root.clone()]),
        None => {
            let team = session.ask(verbs::TeamShow)?;
            Ok(vec![team])
        }
    }
}
