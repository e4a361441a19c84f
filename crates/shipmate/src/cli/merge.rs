//! `shipmate merge`: the team's verified work comes to the person.

mod progress;

use std::path::Path;

use shipmate_protocol::view::Merged;
use shipmate_protocol::{Answer, Ask};

use crate::cli::failure::{Failure, unexpected};
use crate::cli::screen::plain;
use crate::cli::session::Session;
pub(crate) use progress::ask_with_progress;

/// Merge the team's verified work into your branch, or make a branch per feature
///
/// The team's branch, shipmate/NAME, only holds work that passed its gate. It is merged into the
/// branch that is checked out. If your branch has moved since, the gate is run on the result first.
/// If that is red, if it conflicts, or if your own changes are in the way, nothing is changed and
/// the refusal says what to do. With --branches your branch stays as it is: each group of tasks (or
/// each task without one) becomes a branch of its own, to look at and merge one by one.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate merge
  shipmate merge --no-gate
  shipmate merge --branches")]
pub(crate) struct MergeArgs {
    /// Make a branch for each feature instead of merging
    #[arg(long)]
    branches: bool,

    /// Merge without running the gate on the result
    #[arg(long, conflicts_with = "branches")]
    no_gate: bool,
}

pub(crate) fn run(args: &MergeArgs, mut session: Session) -> Result<(), Failure> {
    let ask = Ask::Merge { branches: args.branches, no_gate: args.no_gate };
    let Answer::Merged(merged) = ask_with_progress(&mut session, ask)? else {
        return Err(unexpected("a merge"));
    };
    if session.screen.json {
        return session.screen.json(&merged);
    }
    let text = text(&merged, args.branches, elsewhere(&session));
    session.screen.print(&text)
}

/// The repository, where it is not the current folder.
pub(crate) fn elsewhere(session: &Session) -> Option<&Path> {
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).ok();
    let workspace = session.place.workspace.as_path();
    (here.as_deref() != Some(workspace)).then_some(workspace)
}

fn text(merged: &Merged, branches: bool, elsewhere: Option<&Path>) -> String {
    let tasks: Vec<String> = merged.tasks.iter().map(ToString::to_string).collect();
    let plural = if tasks.len() == 1 { "task" } else { "tasks" };
    let tasks = format!("{plural} {}", tasks.join(", "));
    let mut text = format!("{}: {tasks}\n", plain(&merged.branch));
    let mut line = |words: &str| text.push_str(&format!("  {}\n", plain(words)));
    if let Some(root) = elsewhere {
        line(&format!("in {}", root.display()));
    }
    for note in &merged.notes {
        line(note);
    }
    if let Some(commit) = &merged.commit {
        line(&format!("commit {commit}"));
    }
    for branch in &merged.branches {
        line(&format!("made branch {branch}"));
    }
    if let Some(first) = merged.branches.first() {
        line("each can be a pull request of its own, such as:");
        line(&format!("git push origin {first} && gh pr create --head {first}"));
    }
    if branches && merged.branches.is_empty() {
        line("no branch was made");
    }
    text
}
