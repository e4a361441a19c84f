//! `shipmate team update`: the person's branch comes to the team.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::merge::{ask_with_progress, name_repository};
use crate::cli::screen::plain;
use crate::cli::session::Session;

/// Bring what your branch got since into the team's branch
///
/// The branch that is checked out is merged into the team's, if the gate passes on both together;
/// each teammate has it with its next task. If it conflicts or the gate is red, nothing is changed
/// and the refusal says what to do. Your own branch and files stay as they are.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate team update
  shipmate --team crew team update")]
pub(crate) struct UpdateArgs {}

pub(crate) fn run(_: &UpdateArgs, mut session: Session) -> Result<(), Failure> {
    name_repository(&session)?;
    let updated = ask_with_progress(&mut session, verbs::TeamUpdate)?;
    if session.screen.json {
        return session.screen.json(&updated);
    }
    let mut text = format!("{}: {}\n", plain(&updated.branch), plain(&updated.notes.join("; ")));
    if let Some(commit) = &updated.commit {
        text.push_str(&format!("  commit {commit}\n"));
    }
    session.screen.print(&text)
}
