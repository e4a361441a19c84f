//! The log, record by record, and one record as it is stored.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use super::super::app::App;
use super::super::list::Scroll;
use super::super::text::{Columns, safe, wrap};
use super::super::theme::Tone;
use super::{nothing, put, put_row, put_text, rule};
use crate::time::{date_and_time, time_of_day};

pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &App) {
    if app.log.keys().is_empty() {
        return nothing(buffer, area, &["No record is like that.", "Esc shows all."], app);
    }
    let dim = app.theme.style(Tone::Dim);
    let n = app.store.position.to_string().len().max(4);
    let by = if area.width >= super::WIDE { 20 } else { 12 };
    let event = if area.width >= super::WIDE { 26 } else { 20 };
    let head = Columns::default()
        .right("N", n + 1, dim)
        .column("TIME UTC", 8, dim)
        .column("BY", by, dim)
        .column("EVENT", event, dim)
        .word("ABOUT", dim);
    put(buffer, area, area.y, &head.line());
    let rows = Rect { y: area.y + 1, height: area.height - 1, ..area };
    for (at, row) in app.log.window(usize::from(rows.height)).enumerate() {
        let Some(line) = app.store.line(app.log.keys()[row]) else { continue };
        let shown = Columns::default()
            .right(&line.n.to_string(), n, dim)
            .column(&time_of_day(line.at), 8, dim)
            .column(&safe(app.store.who(&line.by)), by, Style::new())
            .column(&safe(&line.event), event, app.theme.style(Tone::Notice))
            .word(safe(&line.text), Style::new())
            .line();
        put_row(buffer, rows, rows.y + at as u16, &shown, app, row == app.log.at());
    }
}

pub(super) fn record(
    buffer: &mut Buffer,
    area: Rect,
    app: &App,
    n: u64,
    text: Option<&str>,
    scroll: &Scroll,
) {
    let when = app.store.line(n).map(|line| date_and_time(line.at)).unwrap_or_default();
    rule(buffer, area, area.y, &format!("Record {n}  {when}"), app);
    let inside =
        Rect { x: area.x + 1, y: area.y + 1, width: area.width - 2, height: area.height - 1 };
    let text = text.unwrap_or("…");
    let lines: Vec<Line<'_>> =
        wrap(text, usize::from(inside.width)).into_iter().map(Line::raw).collect();
    put_text(buffer, inside, app, &lines, scroll);
}
