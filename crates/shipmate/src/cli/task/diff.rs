//! `shipmate task diff`.
//!
//! What goes elsewhere than to a terminal is the diff as it is, byte for byte, so that
//! `git apply` and reviewers' tools can read it; notes go to standard error.

use shipmate_protocol::verbs;
use shipmate_protocol::view::TaskDiff;

use crate::cli::failure::Failure;
use crate::cli::screen::{Paint, Screen, plain, plain_lines};
use crate::cli::session::Session;

/// Show what a task has changed
///
/// Of a task that is done: what it brought to the team's branch. Of one that was handed in: its
/// commit against what it was built on. Of one in progress: its tree as it is now, with what is not
/// committed and new files. What is longer than 512 kB is cut.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate task diff 3
  shipmate task diff 3 | git apply
  shipmate task diff 03-01/T3 --json")]
pub(crate) struct DiffArgs {
    /// Its id or alias
    task: String,
}

pub(crate) fn run(args: &DiffArgs, mut session: Session) -> Result<(), Failure> {
    let diff = session.ask(verbs::TaskDiff { task: args.task.clone() })?;
    if session.screen.json {
        return session.screen.json(&diff);
    }
    for note in notes(&diff) {
        eprintln!("{}", plain_lines(&note));
    }
    match session.screen.width {
        None => session.screen.print(&diff.text),
        Some(_) => session.screen.print(&coloured(&session.screen, &diff.text)),
    }
}

fn notes(diff: &TaskDiff) -> Vec<String> {
    let cut = format!("cut: this is the beginning of {} changed files", diff.files.len());
    let note = (!diff.note.is_empty()).then(|| diff.note.clone());
    note.into_iter().chain(diff.cut.then_some(cut)).collect()
}

fn coloured(screen: &Screen, diff: &str) -> String {
    let mut text = String::with_capacity(diff.len() + diff.len() / 8);
    // Within a hunk a line is content, whatever it looks like.
    let mut in_hunk = false;
    for line in diff.split_terminator('\n') {
        in_hunk = match line.as_bytes().first() {
            Some(b'@') => true,
            Some(b'+' | b'-' | b' ' | b'\\') | None => in_hunk,
            Some(_) => false,
        };
        let paint = match line.as_bytes().first() {
            Some(b'+') if in_hunk => Paint::Good,
            Some(b'-') if in_hunk => Paint::Bad,
            Some(b'@') => Paint::Busy,
            _ if !in_hunk => Paint::Bold,
            _ => Paint::Plain,
        };
        let line = line.replace('\t', "    ");
        text.push_str(&screen.paint(paint, &plain(&line)));
        text.push('\n');
    }
    text
}
