//! Who said what to whom, how far it came, and whole conversations.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use shipmate_protocol::view::MessageRow;

use super::super::app::App;
use super::super::list::Scroll;
use super::super::text::{Columns, safe, wrap};
use super::super::theme::Tone;
use super::super::words::{ago, delivery, delivery_state};
use super::{framed, nothing, put, put_row, put_text, rule, split};
use crate::time::time_of_day;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &App) {
    if app.store.messages.is_empty() {
        let lines = ["Nobody has written anything yet.", "m writes to somebody."];
        return nothing(buffer, area, &lines, app);
    }
    if app.messages.keys().is_empty() {
        return nothing(buffer, area, &["No message is like that.", "Esc shows all."], app);
    }
    let (list, detail) = split(area, 7);
    let people = if list.width >= 80 { 22 } else { 18 };
    let dim = app.theme.style(Tone::Dim);
    let head = Columns::default()
        .column(" TIME", 9, dim)
        .column("FROM → TO", people, dim)
        .column("DELIVERY", 10, dim)
        .word("MESSAGE", dim);
    put(buffer, list, list.y, &head.line());
    let rows = Rect { y: list.y + 1, height: list.height - 1, ..list };
    for (at, row) in app.messages.window(usize::from(rows.height)).enumerate() {
        let Some(message) = app.store.messages.get(&app.messages.keys()[row]) else { continue };
        let line = line(message, app, people);
        put_row(buffer, rows, rows.y + at as u16, &line, app, row == app.messages.at());
    }
    let selected = app.messages.selected().and_then(|id| app.store.messages.get(id));
    let Some(message) = selected else { return };
    let inside = framed(buffer, list, detail, &title(message, app), app);
    let mut lines = body(message, usize::from(inside.width));
    lines.extend(deliveries(message, app));
    put_text(buffer, inside, app, &lines, &Scroll::default());
}

fn title(message: &MessageRow, app: &App) -> String {
    let sent = ago(app.now.saturating_sub(message.sent_at));
    let kind = match message.kind.as_str() {
        "message" | "broadcast" => String::new(),
        kind => format!(", {}", safe(&kind.replace('_', " "))),
    };
    let reply = message.reply_to.map(|to| format!(", reply to {to}")).unwrap_or_default();
    format!("message {} from {}, {sent}{kind}{reply}", message.id, safe(from(message, app)))
}

fn from<'a>(message: &'a MessageRow, app: &App) -> &'a str {
    app.store.who(&message.from)
}

fn to(message: &MessageRow, app: &App) -> String {
    match message.to.as_slice() {
        [] => "nobody".to_owned(),
        [one] => app.store.who(&one.to).to_owned(),
        many => format!("{} recipients", many.len()),
    }
}

fn line(message: &MessageRow, app: &App, people: usize) -> Line<'static> {
    let state = delivery(message);
    let who = format!("{} → {}", from(message, app), to(message, app));
    let reply = if message.reply_to.is_some() { "↳ " } else { "" };
    let first = message.body.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let kind = match message.kind.as_str() {
        "message" | "broadcast" => String::new(),
        kind => format!("({}) ", kind.replace('_', " ")),
    };
    Columns::default()
        .column(&time_of_day(message.sent_at), 8, app.theme.style(Tone::Dim))
        .column(&safe(&who), people, app.theme.style(Tone::Plain))
        .column(&format!("{} {}", state.sign, state.word), 10, app.theme.style(state.tone))
        .word(safe(&format!("{reply}{kind}{}", first.trim())), Style::new())
        .line()
}

fn body(message: &MessageRow, columns: usize) -> Vec<Line<'static>> {
    // Behind a bar, as in the inbox: nobody's words look like a line of ours.
    let rows = wrap(&message.body, columns.saturating_sub(2));
    let mut lines: Vec<Line<'static>> =
        rows.into_iter().map(|row| Line::raw(format!("│ {row}"))).collect();
    if message.cut {
        let text = format!("… `shipmate message trace {}` shows the rest", message.id);
        lines.push(Line::raw(text));
    }
    lines
}

fn deliveries(message: &MessageRow, app: &App) -> Vec<Line<'static>> {
    let one = |to: &shipmate_protocol::view::Delivery| {
        let state = delivery_state(to.state.word());
        let since = ago(app.now.saturating_sub(to.at));
        let detail =
            if to.detail.is_empty() { String::new() } else { format!(": {}", safe(&to.detail)) };
        let text = format!(
            "{} {} by {}, {since}{detail}",
            state.sign,
            state.word,
            safe(app.store.who(&to.to))
        );
        let text = match state.word.as_str() {
            "read" => text,
            _ => text.replacen(" by ", " for ", 1),
        };
        Line::styled(text, app.theme.style(state.tone))
    };
    message.to.iter().map(one).collect()
}

/// A conversation from its beginning.
pub(super) fn thread(buffer: &mut Buffer, area: Rect, app: &App, first: u64, scroll: &Scroll) {
    rule(buffer, area, area.y, &format!("Conversation that began with message {first}"), app);
    let inside =
        Rect { x: area.x + 1, y: area.y + 1, width: area.width - 2, height: area.height - 1 };
    let mut lines = Vec::new();
    for message in app.store.messages.values().filter(|row| row.thread == first) {
        if !lines.is_empty() {
            lines.push(Line::raw(""));
        }
        let text = format!(
            "{}  {} → {}  (message {})",
            time_of_day(message.sent_at),
            from(message, app),
            to(message, app),
            message.id
        );
        lines.push(Line::styled(safe(&text), app.theme.style(Tone::Bold)));
        lines.extend(body(message, usize::from(inside.width)));
        lines.extend(deliveries(message, app));
    }
    put_text(buffer, inside, app, &lines, scroll);
}
