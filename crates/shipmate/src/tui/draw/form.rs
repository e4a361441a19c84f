//! A form over the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use super::super::app::App;
use super::super::form::Form;
use super::super::text::{fit, wrap};
use super::super::theme::Tone;
use super::put;

const LABEL: u16 = 13;
/// Rows that a field of several lines has at least, and any at most.
const LINES_MIN: usize = 3;
const LINES_MAX: usize = 6;

/// Draws it and says where the cursor is.
pub(super) fn draw(buffer: &mut Buffer, body: Rect, app: &App, form: &Form) -> (u16, u16) {
    let width = body.width.min(96) - 4;
    let inner = width - 4;
    let room = usize::from(inner - LABEL);
    let hint = wrap(&form.hint, usize::from(inner));
    let problem = form.problem.as_deref().map(|text| wrap(text, usize::from(inner) - 2));
    let problem = problem.unwrap_or_default();
    let rows = |at: usize| {
        let field = &form.fields[at];
        let needed = field.input.rows(room).0.len();
        let least = if field.lines { LINES_MIN } else { 1 };
        needed.clamp(least, if field.lines { LINES_MAX } else { 2 })
    };
    let fields: usize = (0..form.fields.len()).map(rows).sum();
    let hints = if form.hint.is_empty() { 0 } else { hint.len() };
    let height = ((fields + hints + problem.len() + 4) as u16).min(body.height);
    let area =
        Rect { x: (body.width - width) / 2, y: body.y + (body.height - height) / 3, width, height };
    frame(buffer, area, &form.title, app);
    let inside = Rect { x: area.x + 2, y: area.y + 1, width: inner, height: height - 2 };
    let mut y = inside.y;
    let mut cursor = (inside.x, inside.y);
    for (at, field) in form.fields.iter().enumerate() {
        let on = at == form.at;
        let tone = if on { Tone::Bold } else { Tone::Dim };
        let sign = if on { "› " } else { "  " };
        let label = Line::styled(format!("{sign}{}", field.label), app.theme.style(tone));
        put(buffer, inside, y, &label);
        let (text, (row, column)) = field.input.rows(room);
        let shown = rows(at);
        let from = (row + 1).saturating_sub(shown);
        for (at, row) in text.iter().skip(from).take(shown).enumerate() {
            buffer.set_string(inside.x + LABEL, y + at as u16, row, Style::new());
        }
        if on {
            cursor = (inside.x + LABEL + column as u16, y + (row - from) as u16);
        }
        y += shown as u16;
    }
    for line in &problem {
        let line = Line::styled(format!("✕ {line}"), app.theme.style(Tone::Bad));
        put(buffer, inside, y, &line);
        y += 1;
    }
    for line in hint.iter().take(hints) {
        put(buffer, inside, y, &Line::styled(line.clone(), app.theme.style(Tone::Dim)));
        y += 1;
    }
    let keys = match form.fields.len() {
        1 => "Enter sends   Esc cancels",
        _ => "Tab next field   Enter sends   Ctrl-J new line   Esc cancels",
    };
    let keys = Line::styled(keys, app.theme.style(Tone::Dim));
    put(buffer, inside, (area.bottom() - 2).min(y + 1), &keys);
    cursor
}

/// An empty box with a title.
pub(super) fn frame(buffer: &mut Buffer, area: Rect, title: &str, app: &App) {
    let inner = usize::from(area.width) - 2;
    let style = app.theme.style(Tone::Bold);
    for y in area.y..area.bottom() {
        let line = match y {
            y if y == area.y => format!("┌{}┐", "─".repeat(inner)),
            y if y + 1 == area.bottom() => format!("└{}┘", "─".repeat(inner)),
            _ => format!("│{}│", fit("", inner)),
        };
        // Half of a wide character cannot be drawn over.
        let before = (area.x.saturating_sub(1), y);
        if area.x > 0 && super::width(buffer[before].symbol()) > 1 {
            buffer[before].set_symbol(" ");
        }
        buffer.set_style(Rect { y, height: 1, ..area }, Style::reset());
        buffer.set_string(area.x, y, line, Style::new());
    }
    let title = format!(" {} ", super::cut(&super::safe(title), inner.saturating_sub(4)));
    buffer.set_string(area.x + 2, area.y, title, style);
}
