//! `shipmate merge`: the team's verified work comes to the person.

mod progress;

use shipmate_protocol::verbs;
use shipmate_protocol::view::Merged;

use crate::cli::failure::Failure;
use crate::cli::screen::plain;
use crate::cli::session::Session;
pub(crate) use progress::ask_with_progress;

/// Merge the team's verified work into your branch, or make a branch per feature
///
/// The team's branch, shipmate/NAME, is merged into the branch that is checked out. The gate is run
/// on the result first, unless that is a commit of the team's which is on record as green: your
/// branch may have moved since, somebody may have committed on the team's, and the gate may be new.
/// If it is red, if it conflicts, or if your own changes are in the way, nothing is changed and
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
    name_repository(&session)?;
    let ask = verbs::Merge { branches: args.branches, no_gate: args.no_gate };
    let merged = ask_with_progress(&mut session, ask)?;
    if session.screen.json {
        return session.screen.json(&merged);
    }
    session.screen.print(&text(&merged, args.branches))
}

/// Says which repository is about to be changed, where the person does not stand in it.
pub(crate) fn name_repository(session: &Session) -> Result<(), Failure> {
    match session.repository_elsewhere() {
        Some(root) if !session.screen.json => {
            let root = root.display().to_string();
            session.screen.line(&format!("in the repository {}", plain(&root)))
        }
        _ => Ok(()),
    }
}

fn text(merged: &Merged, branches: bool) -> String {
    let tasks: Vec<String> = merged.tasks.iter().map(ToString::to_string).collect();
    let plural = if tasks.len() == 1 { "task" } else { "tasks" };
    let tasks = format!("{plural} {}", tasks.join(", "));
    let mut text = format!("{}: {tasks}\n", plain(&merged.branch));
    let mut line = |words: &str| text.push_str(&format!("  {}\n", plain(words)));
    for note in &merged.notes {
        line(note);
    }
    if let Some(commit) = &merged.commit {
        line(&format!("commit {commit}"));
        line(&format!("as it was before: git reset --keep {commit}~1"));
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
