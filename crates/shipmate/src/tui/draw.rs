//! Draws a frame: what is known of the team, what is opened over it, what was said.
//!
//! Drawing changes nothing but what the lists remember of the room they had.

mod board;
mod decisions;
mod form;
mod help;
mod log;
mod messages;
mod notes;
mod task;
mod team;
mod teammate;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::app::{App, Page, Place, Said};
use super::list::Scroll;
use super::text::{Columns, cut, fit, safe, width, wrap};
use super::theme::Tone;
use super::words::{self, Standing};
use shipmate_protocol::view::{PhaseState, TeamState, TeamView};

pub(super) const WIDTH_MIN: u16 = 80;
pub(super) const HEIGHT_MIN: u16 = 24;
/// From here on there is room beside a list.
const WIDE: u16 = 110;
/// Lines that a refusal may take.
const SAID_MAX: usize = 3;

pub(crate) fn draw(frame: &mut Frame<'_>, app: &App) {
    let area = frame.area();
    if area.width < WIDTH_MIN || area.height < HEIGHT_MIN {
        return too_small(frame.buffer_mut(), area);
    }
    let said = said(app, usize::from(area.width));
    let below = said.len() as u16 + 1;
    let body = Rect { y: 2, height: area.height - 2 - below, ..area };
    let buffer = frame.buffer_mut();
    app.seen.replace(None);
    header(buffer, area, app);
    match app.pages.last() {
        Some(Page::Task { id, view, page, scroll }) => {
            task::draw(buffer, body, app, *id, view.as_deref(), page.as_deref(), scroll);
        }
        Some(Page::Teammate { address, tail, scroll }) => {
            teammate::draw(buffer, body, app, address, tail, scroll);
        }
        Some(Page::Thread { first, scroll }) => {
            messages::thread(buffer, body, app, *first, scroll);
        }
        Some(Page::Notes { notes, scroll, .. }) => {
            notes::draw(buffer, body, app, notes.as_deref(), scroll);
        }
        Some(Page::Record { n, text, scroll }) => {
            log::record(buffer, body, app, *n, text.as_deref(), scroll);
        }
        None => match app.place {
            Place::Teams => team::choice(buffer, body, app),
            _ if !app.live => put(buffer, body, body.y + 1, &Line::raw(" Looking at the team …")),
            Place::Board => board::draw(buffer, body, app),
            Place::Team => team::draw(buffer, body, app),
            Place::Messages => messages::draw(buffer, body, app),
            Place::Decisions => decisions::draw(buffer, body, app),
            Place::Log => log::draw(buffer, body, app),
        },
    }
    for (at, line) in said.iter().enumerate() {
        put(buffer, area, body.bottom() + at as u16, line);
    }
    footer(buffer, area, app);
    if let Some(scroll) = &app.help {
        help::draw(buffer, body, app, scroll);
    }
    if let Some(form) = &app.form {
        let cursor = form::draw(buffer, body, app, form);
        frame.set_cursor_position(cursor);
    } else if let Some(typing) = &app.typing {
        let (_, (_, column)) = typing.rows(usize::from(area.width) - 12);
        frame.set_cursor_position((9 + column as u16, body.bottom()));
    }
}

fn too_small(buffer: &mut Buffer, area: Rect) {
    let needs = format!("shipmate needs {WIDTH_MIN}x{HEIGHT_MIN};");
    let has = format!("this is {}x{}.", area.width, area.height);
    let lines = [needs, has, "Make the window larger, or q quits.".to_owned()];
    let lines = lines.iter().flat_map(|line| wrap(line, usize::from(area.width)));
    for (at, line) in lines.enumerate().take(usize::from(area.height)) {
        put(buffer, area, at as u16, &Line::raw(line));
    }
}

/// A line at this row of the screen, cut where the area ends.
fn put(buffer: &mut Buffer, area: Rect, y: u16, line: &Line<'_>) {
    if y < buffer.area.height {
        buffer.set_line(area.x, y, &shortened(line, usize::from(area.width)), area.width);
    }
}

/// The line with `…` where it is longer than its room.
fn shortened<'a>(line: &Line<'a>, columns: usize) -> Line<'a> {
    if line.width() <= columns {
        return line.clone();
    }
    let mut left = columns;
    let mut spans = Vec::new();
    for span in &line.spans {
        let wide = span.width();
        if wide < left {
            left -= wide;
            spans.push(span.clone());
            continue;
        }
        let fits = cut(span.content.trim_end(), left.saturating_sub(1));
        let text = if fits.ends_with('…') { fits } else { format!("{fits}…") };
        spans.push(Span::styled(text, span.style));
        break;
    }
    Line { spans, ..line.clone() }
}

/// A row of a list: with a sign at its margin where it is the selected one.
fn put_row(buffer: &mut Buffer, area: Rect, y: u16, line: &Line<'_>, app: &App, selected: bool) {
    let row = Rect { y, height: 1, ..area };
    buffer.set_string(area.x, y, if selected { "›" } else { " " }, Style::new());
    put(buffer, Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area }, y, line);
    if selected {
        buffer.set_style(row, app.theme.selected());
    }
}

/// A text that is longer than its room, and where in it this is.
fn put_text(buffer: &mut Buffer, area: Rect, app: &App, lines: &[Line<'_>], scroll: &Scroll) {
    let rows = usize::from(area.height);
    let window = scroll.window(lines.len(), rows);
    let (from, to) = (window.start, window.end);
    for (at, line) in lines[window].iter().enumerate() {
        put(buffer, area, area.y + at as u16, line);
    }
    // On the line above, which is the title's.
    if lines.len() > rows && area.y > 0 {
        let place = format!(" {}–{to} of {} ", from + 1, lines.len());
        let x = area.right().saturating_sub(width(&place) as u16 + 1);
        buffer.set_string(x, area.y - 1, place, app.theme.style(Tone::Dim));
    }
}

/// `── title ─────`
fn rule(buffer: &mut Buffer, area: Rect, y: u16, title: &str, app: &App) {
    let room = usize::from(area.width).saturating_sub(5);
    let title = cut(title, room);
    let line = match title.is_empty() {
        true => "─".repeat(usize::from(area.width)),
        false => {
            let rest = usize::from(area.width).saturating_sub(width(&title) + 4);
            format!("── {title} {}", "─".repeat(rest))
        }
    };
    buffer.set_stringn(area.x, y, line, usize::from(area.width), app.theme.style(Tone::Dim));
}

fn header(buffer: &mut Buffer, area: Rect, app: &App) {
    let bold = app.theme.style(Tone::Bold);
    let name = if app.live { safe(&app.store.root) } else { "shipmate".to_owned() };
    let mut tabs = Columns::default().word(format!(" {} ", cut(&name, 20)), bold);
    for (key, place, title) in Place::ALL {
        let number = match (place, app.decisions.keys().len()) {
            (Place::Decisions, n) if n > 0 => format!(" ({n})"),
            _ => String::new(),
        };
        let on = place == app.place;
        let (open, close) = if on { ("[", "]") } else { (" ", " ") };
        let style = match (on, number.is_empty()) {
            (true, _) => bold.add_modifier(Modifier::REVERSED),
            (false, true) => Style::new(),
            (false, false) => app.theme.style(Tone::Busy).add_modifier(Modifier::BOLD),
        };
        tabs = tabs.word(format!("{open}{key} {title}{number}{close}"), style);
    }
    let state = match (&app.over, app.live) {
        (Some(_), _) => "✕ not live".to_owned(),
        (None, false) => "…".to_owned(),
        (None, true) => format!("● live {}", app.store.position),
    };
    let used = tabs.width();
    put(buffer, area, 0, &tabs.line());
    let room = usize::from(area.width).saturating_sub(used + 1);
    if width(&state) < room {
        let tone = if app.over.is_some() { Tone::Bad } else { Tone::Dim };
        let x = usize::from(area.width) - width(&state) - 1;
        buffer.set_string(x as u16, 0, &state, app.theme.style(tone));
    }
    put(buffer, area, 1, &summary(app, usize::from(area.width)));
}

/// How many tasks are where, what the team waits for, what it cost.
fn summary(app: &App, columns: usize) -> Line<'static> {
    let dim = app.theme.style(Tone::Dim);
    let mut line = Columns::default().word(" ", dim);
    let Some(team) = app.store.root_team().filter(|_| app.live) else {
        return line.line();
    };
    if let Some(words) = paused(team) {
        let text = format!("‖ {}  ", cut(&safe(&words), 44));
        line = line.word(text, app.theme.style(Tone::Busy));
    } else if team.phase != TeamState::Active {
        line = line.word(format!("■ {}  ", safe(team.phase.word())), app.theme.style(Tone::Bold));
    }
    for (state, text) in counts(app, columns) {
        line = line.word(text, app.theme.style(state.tone));
    }
    if let Some(phase) = team.phases.iter().find(|phase| phase.state == PhaseState::Runs) {
        let title = if phase.title.is_empty() { &phase.name } else { &phase.title };
        line = line.word(format!("phase {}  ", safe(title)), dim);
    }
    if let Some(queue) = &app.store.queue {
        line = line.word(format!("{}  ", safe(queue)), dim);
    }
    if team.cost_micros > 0 {
        line = line.word(crate::money::cost_of_team(team), dim);
    }
    line.line()
}

/// That a team waits, and who asks: what a lead wrote is told as its words.
/// Accounts that have no room, above what does not move because of them; the area that is left.
fn limits(buffer: &mut Buffer, area: Rect, app: &App) -> Rect {
    let mut left = area;
    for account in &app.store.accounts {
        let text = match (&account.parked, &account.held) {
            (Some(parked), _) => format!("is parked {}", parked.shown()),
            (None, Some(held)) => format!("is at its cap: {held}"),
            (None, None) => continue,
        };
        let text = format!(" ‖ account {} {text}", account.name);
        put(buffer, left, left.y, &Line::styled(safe(&text), app.theme.style(Tone::Bad)));
        left = Rect { y: left.y + 1, height: left.height.saturating_sub(1), ..left };
    }
    left
}

fn paused(team: &TeamView) -> Option<String> {
    let reason = team.paused.as_ref()?;
    Some(match (team.paused_by(), &team.pause) {
        (Some(who), _) => format!("paused by {who}: {reason}"),
        (None, Some(pause)) if pause.is_approval() => {
            let phase = pause.phase.as_deref().unwrap_or("the next phase");
            format!("{phase} waits for your approval")
        }
        _ => format!("paused: {reason}"),
    })
}

/// How many tasks stand where; where there is little room, all in progress are one.
fn counts(app: &App, columns: usize) -> Vec<(words::State, String)> {
    let counted = |as_shown: fn(Standing) -> Standing| -> Vec<(words::State, String)> {
        let mut counts = Standing::SHOWN.map(|standing| (standing, 0));
        for card in app.store.cards.values() {
            let standing = as_shown(app.store.standing(card));
            let count = counts.iter_mut().find(|(other, _)| *other == standing);
            count.into_iter().for_each(|(_, n)| *n += 1);
        }
        let words = counts.into_iter().filter(|(_, n)| *n > 0).map(|(standing, n)| {
            let state = standing.state();
            let text = format!("{} {n} {}  ", state.sign, state.word);
            (state, text)
        });
        words.collect()
    };
    let all = counted(|standing| standing);
    if all.iter().map(|(_, text)| width(text)).sum::<usize>() < columns {
        return all;
    }
    counted(|standing| match standing {
        Standing::Returned | Standing::Submitted | Standing::Asks => Standing::Claimed,
        other => other,
    })
}

/// What was said last, or is being typed; always at least one line.
fn said(app: &App, columns: usize) -> Vec<Line<'static>> {
    let said = |sign: &str, text: &str, tone: Tone| {
        let rows = wrap(&text.replace('\n', " "), columns.saturating_sub(4));
        let more = rows.len() > SAID_MAX;
        let style = app.theme.style(tone);
        let mut lines: Vec<Line<'static>> = Vec::new();
        for (at, row) in rows.into_iter().take(SAID_MAX).enumerate() {
            let sign = if at == 0 { sign } else { " " };
            let rest = if more && at + 1 == SAID_MAX { "…" } else { "" };
            lines.push(Line::styled(format!(" {sign} {row}{rest}"), style));
        }
        lines
    };
    if let Some(typing) = &app.typing {
        let (rows, (row, _)) = typing.rows(columns.saturating_sub(12));
        let row = &rows[row];
        return vec![Line::raw(format!(" search: {row}"))];
    }
    if let Some(reason) = &app.over {
        let text = format!("no longer live: {reason}; R tries again, q quits");
        return said("✕", &text, Tone::Bad);
    }
    match &app.said {
        Some(Said::Done(text)) => said("✓", text, Tone::Good),
        Some(Said::Refused(text)) => said("✕", &format!("refused: {text}"), Tone::Bad),
        None if app.waiting > 0 => vec![Line::styled(" …", app.theme.style(Tone::Dim))],
        None => vec![narrowed(app)],
    }
}

/// Which part of a list is shown, where it is not all of it.
fn narrowed(app: &App) -> Line<'static> {
    let mut words = Vec::new();
    if app.place == Place::Board && app.filter != super::store::Filter::All {
        words.push(format!("only {}", app.filter.word()));
    }
    if !app.search.is_empty() {
        words.push(format!("only with “{}”", safe(&app.search)));
    }
    match (words.is_empty(), app.pages.is_empty()) {
        (false, true) => Line::styled(
            format!(" {}; Esc shows all", words.join(", ")),
            app.theme.style(Tone::Bold),
        ),
        _ => Line::raw(""),
    }
}

fn footer(buffer: &mut Buffer, area: Rect, app: &App) {
    const ALWAYS: &str = "? help  q quit ";
    let room = usize::from(area.width) - width(ALWAYS);
    let mut text = String::from(" ");
    for (key, does) in help::hints(app) {
        let hint = format!("{key} {does}  ");
        if width(&text) + width(&hint) > room {
            break;
        }
        text.push_str(&hint);
    }
    let text = format!("{}{ALWAYS}", fit(&text, room));
    let line = Line::styled(fit(&text, usize::from(area.width)), app.theme.style(Tone::Dim));
    put(buffer, area, area.height - 1, &line);
}

/// A list and what is known of its selected row: side by side, or one above the other.
fn split(area: Rect, below: u16) -> (Rect, Rect) {
    if area.width >= WIDE {
        let side = (area.width * 2 / 5).min(70);
        let list = Rect { width: area.width - side, ..area };
        return (list, Rect { x: list.right(), width: side, ..area });
    }
    let below = below.min(area.height / 2);
    let list = Rect { height: area.height - below, ..area };
    (list, Rect { y: list.bottom(), height: below, ..area })
}

/// Draws the border between a list and its detail and gives the room inside.
fn framed(buffer: &mut Buffer, list: Rect, detail: Rect, title: &str, app: &App) -> Rect {
    if detail.x > list.x {
        for y in detail.y..detail.bottom() {
            buffer.set_string(detail.x, y, "│", app.theme.style(Tone::Dim));
        }
        let title = cut(title, usize::from(detail.width) - 3);
        buffer.set_string(detail.x + 2, detail.y, title, app.theme.style(Tone::Bold));
        return Rect {
            x: detail.x + 2,
            y: detail.y + 1,
            width: detail.width - 3,
            height: detail.height - 1,
        };
    }
    rule(buffer, detail, detail.y, title, app);
    Rect { x: 1, y: detail.y + 1, width: detail.width - 2, height: detail.height - 1 }
}

fn nothing(buffer: &mut Buffer, area: Rect, lines: &[&str], app: &App) {
    for (at, line) in lines.iter().enumerate() {
        let style = app.theme.style(if at == 0 { Tone::Plain } else { Tone::Dim });
        put(buffer, area, area.y + 1 + at as u16, &Line::styled(format!(" {line}"), style));
    }
}

/// `label      text`, wrapped behind its label; nothing where there is no text.
fn fact(lines: &mut Vec<Line<'static>>, label: &str, text: &str, app: &App, columns: usize) {
    if text.is_empty() {
        return;
    }
    const LABEL: usize = 12;
    let rows = wrap(text, columns.saturating_sub(LABEL + 1));
    for (at, row) in rows.into_iter().enumerate() {
        let label = if at == 0 { label } else { "" };
        let line = Columns::default().column(label, LABEL, app.theme.style(Tone::Dim));
        lines.push(line.word(row, Style::new()).line());
    }
}

fn heading(lines: &mut Vec<Line<'static>>, text: &str, app: &App) {
    if !lines.is_empty() {
        lines.push(Line::raw(""));
    }
    lines.push(Line::styled(text.to_owned(), app.theme.style(Tone::Bold)));
}
