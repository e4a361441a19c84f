//! The team's scratchpad: what one found out and the others should know, newest first.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use shipmate_protocol::view::NoteView;

use super::super::app::App;
use super::super::list::Scroll;
use super::super::text::{safe, wrap};
use super::super::theme::Tone;
use super::super::words::ago;
use super::{nothing, put_text, rule};

pub(super) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    app: &App,
    notes: Option<&[NoteView]>,
    scroll: &Scroll,
) {
    if notes.is_some_and(<[NoteView]>::is_empty) {
        let how = "shipmate note add \"…\" writes one; teammates use the tool Note.";
        return nothing(buffer, area, &["No notes yet.", how, "Esc goes back."], app);
    }
    rule(buffer, area, area.y, "Notes", app);
    let inside =
        Rect { x: area.x + 1, y: area.y + 1, width: area.width - 2, height: area.height - 1 };
    let columns = usize::from(inside.width);
    let mut lines = Vec::new();
    for note in notes.unwrap_or_default() {
        push(&mut lines, note, app, columns);
    }
    put_text(buffer, inside, app, &lines, scroll);
}

/// Who wrote it and when, and below that its words behind a bar: whatever they say, they are quoted.
pub(super) fn push(lines: &mut Vec<Line<'static>>, note: &NoteView, app: &App, columns: usize) {
    let task = note.task.map(|task| format!(" on task {task}")).unwrap_or_default();
    let since = ago(app.now.saturating_sub(note.at));
    let head = format!("note {} by {}{task}, {since}", note.id, app.store.who(&note.by));
    lines.push(Line::styled(safe(&head), app.theme.style(Tone::Bold)));
    let rows = wrap(&note.text, columns.saturating_sub(2));
    lines.extend(rows.into_iter().map(|row| Line::raw(format!("│ {row}"))));
}
