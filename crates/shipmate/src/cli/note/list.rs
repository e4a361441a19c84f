//! `shipmate note list`.

use shipmate_protocol::verbs;
use shipmate_protocol::view::NoteView;

use crate::cli::failure::Failure;
use crate::cli::screen::{Screen, plain};
use crate::cli::session::Session;
use crate::time::date_and_time;

/// List the team's notes, newest first
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate note list
  shipmate note list --task 3
  shipmate note list --before 120 --limit 50 --json")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(super) page: Page,
}

/// Which of them.
#[derive(clap::Args, Debug)]
pub(crate) struct Page {
    /// Only those about this task
    #[arg(long, value_name = "TASK")]
    task: Option<String>,

    /// Only those older than this note: the next page
    #[arg(long, value_name = "NOTE")]
    before: Option<u64>,

    /// At most so many, up to 200
    #[arg(long, value_name = "N", default_value_t = 20,
        value_parser = clap::value_parser!(u16).range(1..=200))]
    limit: u16,
}

pub(crate) fn run(page: Page, search: Option<String>, mut session: Session) -> Result<(), Failure> {
    let Page { task, before, limit } = page;
    let limit = usize::from(limit);
    let notes = session.ask(verbs::Notes { search, task, before, limit: Some(limit) })?;
    if session.screen.json {
        return session.screen.json(&notes);
    }
    if notes.is_empty() {
        return session.screen.line("no notes");
    }
    let mut text: String = notes.iter().map(|note| one(note, &session.screen)).collect();
    if let Some(last) = notes.last().filter(|_| notes.len() == limit) {
        text.push_str(&format!("there may be older ones: --before {}\n", last.id));
    }
    session.screen.print(&text)
}

/// Somebody's words, quoted below who wrote them.
fn one(note: &NoteView, screen: &Screen) -> String {
    let task = note.task.map(|task| format!(" on task {task}")).unwrap_or_default();
    let by = plain(&note.by);
    let head = format!("note {} by {by}{task}, {}", note.id, date_and_time(note.at));
    screen.quote(&head, &note.text)
}
