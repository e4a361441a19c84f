//! One teammate: what it is, why it is in its state, and what its program prints.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use shipmate_protocol::view::TeammateView;

use super::super::app::App;
use super::super::list::Scroll;
use super::super::tail::Tail;
use super::super::text::{cut, safe, wrap};
use super::super::theme::Tone;
use super::super::words::{mate_state, tokens};
use super::{fact, nothing, put, put_text, rule, team};
use crate::money::{budget_of, cost_of, estimated};

/// Lines of facts above the output.
const FACTS_MAX: usize = 11;

pub(super) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    app: &App,
    address: &str,
    tail: &Tail,
    scroll: &Scroll,
) {
    let Some(mate) = app.store.teammates.get(address) else {
        let gone = format!("{} is no longer in the team.", safe(address));
        return nothing(buffer, area, &[&gone, "Esc goes back."], app);
    };
    let columns = usize::from(area.width) - 2;
    let inside = Rect { x: area.x + 1, width: area.width - 2, ..area };
    let state = mate_state(mate.state.word());
    let lead = if mate.lead { ", leads the team" } else { "" };
    let title = format!("{}/{}@{}{lead}", mate.team, mate.name, mate.epoch);
    rule(buffer, area, area.y, &safe(&title), app);
    let mut lines = Vec::new();
    let why = if mate.why.is_empty() { String::new() } else { format!(": {}", mate.why) };
    fact(&mut lines, "State", &format!("{} {}{why}", state.sign, state.word), app, columns);
    let program = if mate.agent.is_empty() { "command" } else { &mate.agent };
    let model = mate.model_shown();
    let program = [program, &model, &mate.command];
    let program: Vec<&str> = program.into_iter().filter(|word| !word.is_empty()).collect();
    let program = cut(&safe(&program.join(" ")), columns.saturating_sub(13));
    fact(&mut lines, "Program", &program, app, columns);
    let role = mate.role.as_deref().unwrap_or("any");
    let fence =
        if mate.fence.is_empty() { String::new() } else { format!(", fence {}", mate.fence) };
    let mode = format!("{role}, mode {}{fence}", mate.mode.word().replace('_', " "));
    fact(&mut lines, "Role", &mode, app, columns);
    fact(&mut lines, "Scope", &mate.scope.join(", "), app, columns);
    let id = |id: &u32| match app.store.cards.get(id) {
        Some(card) => format!("{id} {}", card.subject),
        None => id.to_string(),
    };
    let tasks =
        [("", &mate.holds), ("returned: ", &mate.returned), ("handed in: ", &mate.submitted)];
    let tasks = tasks.iter().flat_map(|(word, ids)| ids.iter().map(move |n| (word, n)));
    let tasks: Vec<String> = tasks.map(|(word, n)| format!("{word}{}", id(n))).collect();
    fact(&mut lines, "Task", &tasks.join("; "), app, columns);
    let (sum, guessed) = (tokens(mate.tokens_used), estimated(mate.tokens_estimated));
    let mut used = format!("{sum} tokens{guessed}, {}", cost_of(mate));
    if mate.context_used.is_some() {
        used.push_str(&format!(", context {}", team::context(mate)));
    }
    fact(&mut lines, "Used", &used, app, columns);
    fact(&mut lines, "Budget", &budget_of(mate).unwrap_or_default(), app, columns);
    fact(&mut lines, "Account", &account(mate, app), app, columns);
    let unread = if mate.unread > 0 { format!("{} unread", mate.unread) } else { String::new() };
    fact(&mut lines, "Inbox", &unread, app, columns);
    fact(&mut lines, "Host", app.store.host_of(mate).unwrap_or_default(), app, columns);
    fact(&mut lines, "Seen", &team::seen(mate, app), app, columns);
    let mut y = area.y + 1;
    for line in lines.iter().take(FACTS_MAX) {
        put(buffer, inside, y, line);
        y += 1;
    }
    let who = if tail.who.is_empty() { String::new() } else { format!(" of {}", safe(&tail.who)) };
    rule(buffer, area, y, &format!("Output{who}"), app);
    let room = Rect { y: y + 1, height: area.bottom().saturating_sub(y + 1), ..inside };
    output(buffer, room, app, tail, scroll);
}

/// What it asks its model with, and what is left there.
fn account(mate: &TeammateView, app: &App) -> String {
    let Some(name) = &mate.account else { return String::new() };
    let found = app.store.accounts.iter().find(|account| account.name == *name);
    let state = found.map(|account| match (&account.parked, &account.held) {
        (Some(parked), _) => format!(": parked {}", parked.shown()),
        (None, Some(held)) => format!(": {held}"),
        (None, None) => format!(": {}", account.windows_shown()),
    });
    let stands_in = match mate.instead_of.as_str() {
        "" => String::new(),
        first => format!(" (in place of {first}, whose account has no room)"),
    };
    safe(&format!("{name}{stands_in}{}", state.unwrap_or_default()))
}

fn output(buffer: &mut Buffer, area: Rect, app: &App, tail: &Tail, scroll: &Scroll) {
    if tail.lines.is_empty() {
        let why = tail.why.as_deref().map(safe);
        let text = why.unwrap_or_else(|| "It has printed nothing yet.".to_owned());
        let lines: Vec<Line<'_>> = wrap(&text, usize::from(area.width))
            .into_iter()
            .map(|line| Line::styled(line, app.theme.style(Tone::Dim)))
            .collect();
        return put_text(buffer, area, app, &lines, scroll);
    }
    let columns = usize::from(area.width);
    let mut lines = Vec::with_capacity(tail.lines.len());
    for line in &tail.lines {
        match line.strip_prefix("│ ") {
            // Its lines stand behind a bar, so that they are never taken for shipmate's own words.
            Some(printed) => {
                let rows = wrap(printed, columns.saturating_sub(2));
                lines.extend(rows.into_iter().map(|row| Line::raw(format!("│ {row}"))));
            }
            None => lines.push(Line::styled(safe(line), app.theme.style(Tone::Bold))),
        }
    }
    put_text(buffer, area, app, &lines, scroll);
}
