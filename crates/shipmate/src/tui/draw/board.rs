//! The board: every task in one list, whoever works on it or what it waits for, and more about
//! the one that is selected.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use shipmate_protocol::view::Card;

use super::super::app::App;
use super::super::app::keys;
use super::super::text::{Columns, safe};
use super::super::theme::Tone;
use super::super::words::{Standing, age, ago, count, lasted};
use super::{fact, framed, nothing, put, put_row, split};

const STATE: usize = 13;
const AGE: usize = 4;
/// What a task has that was given none.
const PRIORITY: i32 = 100;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &App) {
    if app.store.cards.is_empty() {
        let lines = ["The board is empty.", "n creates the first task."];
        return nothing(buffer, area, &lines, app);
    }
    let area = super::limits(buffer, area, app);
    let (list, detail) = split(area, 7);
    let (id, subject, who) = widths(list, app);
    let head = Columns::default()
        .column(" STATE", STATE + 1, app.theme.style(Tone::Dim))
        .right("ID", id, app.theme.style(Tone::Dim))
        .column("SUBJECT", subject, app.theme.style(Tone::Dim))
        .column("WHO OR WHY", who, app.theme.style(Tone::Dim))
        .right("AGE", AGE, app.theme.style(Tone::Dim));
    put(buffer, list, list.y, &head.line());
    let rows = Rect { y: list.y + 1, height: list.height - 1, ..list };
    if app.board.keys().is_empty() {
        nothing(buffer, rows, &["No task is like that.", "Esc shows all."], app);
    }
    for (at, row) in app.board.window(usize::from(rows.height)).enumerate() {
        let Some(card) = app.store.cards.get(&app.board.keys()[row]) else { continue };
        let line = line(card, app, (id, subject, who));
        put_row(buffer, rows, rows.y + at as u16, &line, app, row == app.board.at());
    }
    let Some(card) = keys::task(app) else { return };
    let title = format!("{} {}", card.id, safe(&card.subject));
    let inside = framed(buffer, list, detail, &title, app);
    let lines = facts(card, app, usize::from(inside.width));
    for (at, line) in lines.iter().take(usize::from(inside.height)).enumerate() {
        put(buffer, inside, inside.y + at as u16, line);
    }
}

/// Columns of the id, the subject, and of who or why.
fn widths(list: Rect, app: &App) -> (usize, usize, usize) {
    let last = app.store.cards.keys().next_back().copied().unwrap_or(0);
    let id = last.to_string().len().max(3);
    let left = usize::from(list.width).saturating_sub(2 + STATE + id + AGE + 5);
    let who = (left * 2 / 5).clamp(16, 40);
    (id, left.saturating_sub(who), who)
}

fn line(card: &Card, app: &App, (id, subject, who): (usize, usize, usize)) -> Line<'static> {
    let standing = app.store.standing(card);
    let state = standing.state();
    let tone = match standing {
        Standing::Completed => Tone::Dim,
        _ => Tone::Plain,
    };
    let since = app.now.saturating_sub(card.changed_at);
    Columns::default()
        .column(&format!("{} {}", state.sign, state.word), STATE, app.theme.style(state.tone))
        .right(&card.id.to_string(), id, app.theme.style(Tone::Dim))
        .column(&safe(&card.subject), subject, app.theme.style(tone))
        .column(&safe(&who_or_why(card, standing, app)), who, app.theme.style(tone))
        .right(&age(since), AGE, app.theme.style(Tone::Dim))
        .line()
}

fn who_or_why(card: &Card, standing: Standing, app: &App) -> String {
    let owner = card.owner.as_deref().map(|who| app.store.who(who).to_owned());
    match standing {
        Standing::Failed => card.last_failure.clone().or(owner).unwrap_or_default(),
        Standing::Pending | Standing::Ready => match (card.why.first(), &card.assignee) {
            (Some(why), _) => why.clone(),
            (None, Some(to)) => format!("for {}", app.store.who(to)),
            (None, None) => String::new(),
        },
        _ => owner.unwrap_or_default(),
    }
}

/// What is worth knowing at a glance.
pub(super) fn facts(card: &Card, app: &App, columns: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let standing = app.store.standing(card);
    let state = standing.state();
    let mut stands = format!("{} {}", state.sign, state.word);
    if let Some(owner) = &card.owner {
        let verb = if standing == Standing::Completed { "by" } else { "with" };
        stands.push_str(&format!(" {verb} {}", app.store.who(owner)));
    }
    let since = app.now.saturating_sub(card.changed_at);
    match standing {
        Standing::Completed | Standing::Failed => stands.push_str(&format!(" {}", ago(since))),
        _ if since >= 1000 => stands.push_str(&format!(" for {}", age(since))),
        _ => {}
    }
    if card.retries > 0 {
        stands.push_str(&format!(
            "; {} of {}",
            count(card.retries as usize, "retry").replace("retrys", "retries"),
            card.retries_max
        ));
    }
    fact(&mut lines, "State", &stands, app, columns);
    fact(&mut lines, "Why", &card.why.join("; "), app, columns);
    fact(&mut lines, "Failed", card.last_failure.as_deref().unwrap_or_default(), app, columns);
    if let Some(gate) = card.gate {
        let verdict = if gate.passed { "● passed" } else { "✕ failed" };
        let when = ago(app.now.saturating_sub(gate.at));
        let red = if gate.red > 0 { format!(", {} red", gate.red) } else { String::new() };
        let text = format!("{verdict} {when}, {}{red}", count(gate.runs as usize, "run"));
        fact(&mut lines, "Gate", &text, app, columns);
    }
    fact(&mut lines, "Blocked by", &card.blocked_by.join(", "), app, columns);
    fact(&mut lines, "Files", &card.files.join(", "), app, columns);
    let assignee = card.assignee.as_deref().map(|to| app.store.who(to)).unwrap_or_default();
    fact(&mut lines, "Assigned to", assignee, app, columns);
    fact(&mut lines, "Role", card.role.as_deref().unwrap_or_default(), app, columns);
    let group = card.group.as_deref().unwrap_or_default();
    let alias = card.alias.as_deref().unwrap_or_default();
    fact(&mut lines, "Alias", alias, app, columns);
    fact(&mut lines, "Group", group, app, columns);
    if app.store.teams.len() > 1 {
        fact(&mut lines, "Team", &card.team, app, columns);
    }
    if let Some(ms) = card.duration_ms {
        let text = format!("{}, {} to the end of the plan", lasted(ms), lasted(card.path_ms));
        fact(&mut lines, "Takes", &text, app, columns);
    }
    if card.priority != PRIORITY {
        fact(&mut lines, "Priority", &card.priority.to_string(), app, columns);
    }
    lines
}
