//! The team: its phases and limits, every teammate with its state and why it is in it. And the
//! list of teams to choose from.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use shipmate_protocol::view::{
    AccountView, BreakerState, HostView, PhaseState, TeamView, TeammateState, TeammateView,
};

use super::super::app::App;
use super::super::text::{Columns, cut, fit, safe, width};
use super::super::theme::Tone;
use super::super::words::{ago, count, host_state, mate_state, phase_state, tokens};
use super::{nothing, put, put_row};
use crate::money::{budget_of_team, cost_of, estimated, used_by_team};

/// Machines that have a line of their own.
const HOSTS_MAX: usize = 6;
const ACCOUNTS_MAX: usize = 4;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &App) {
    let mut y = area.y;
    for line in about(app, usize::from(area.width)) {
        put(buffer, area, y, &line);
        y += 1;
    }
    let area = Rect { y, height: area.bottom().saturating_sub(y), ..area };
    if app.store.teammates.is_empty() {
        let add = "`shipmate teammate add NAME` adds one.";
        return nothing(buffer, area, &["Nobody is in the team yet.", add], app);
    }
    if app.team.keys().is_empty() {
        return nothing(buffer, area, &["No teammate is like that.", "Esc shows all."], app);
    }
    let role = if area.width >= super::WIDE { 18 } else { 12 };
    let dim = app.theme.style(Tone::Dim);
    let head = Columns::default()
        .column(" STATE", 14, dim)
        .column("TEAMMATE", 18, dim)
        .column("ROLE", role, dim)
        .column("TASK", 12, dim)
        .right("CONTEXT", 7, dim)
        .right("SEEN", 8, dim);
    put(buffer, area, area.y, &head.line());
    let rows = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    for (at, row) in app.team.window(usize::from(rows.height) / 2).enumerate() {
        let Some(mate) = app.store.teammates.get(&app.team.keys()[row]) else { continue };
        let y = rows.y + at as u16 * 2;
        let selected = row == app.team.at();
        put_row(buffer, rows, y, &first_line(mate, app, role), app, selected);
        let second = second_line(mate, app, usize::from(rows.width));
        put(buffer, rows, y + 1, &second);
    }
}

/// The teams of the tree with what they work by, as far as there is something to say.
fn about(app: &App, columns: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let several = app.store.teams.len() > 1;
    for team in app.store.teams.iter().take(6) {
        let mut line = Columns::default().word(" ", app.theme.style(Tone::Plain));
        if several {
            line = line.word(format!("{}  ", safe(&team.name)), app.theme.style(Tone::Bold));
        }
        for (text, tone) in team_words(team) {
            line = line.word(format!("{text}  "), app.theme.style(tone));
        }
        if line.width() > 1 {
            lines.push(line.line());
        }
        if let Some(budget) = budget_of_team(team) {
            let line = Columns::default().word(" budget  ", app.theme.style(Tone::Dim));
            lines.push(line.word(budget, app.theme.style(Tone::Plain)).line());
        }
        if !team.phases.is_empty() {
            lines.push(phases(team, app, columns));
        }
    }
    lines.extend(hosts(app, columns));
    lines.extend(accounts(app, columns));
    lines
}

/// What agents ask their models with: those of which something is known.
fn accounts(app: &App, columns: usize) -> Vec<Line<'static>> {
    let dim = app.theme.style(Tone::Dim);
    let told = |account: &&AccountView| account.parked.is_some() || !account.windows.is_empty();
    let mut lines = Vec::new();
    for account in app.store.accounts.iter().filter(told).take(ACCOUNTS_MAX) {
        let (text, tone) = match (&account.parked, &account.held) {
            (Some(parked), _) => (format!("‖ parked {}", parked.shown()), Tone::Bad),
            (None, Some(held)) => (format!("‖ {held}"), Tone::Busy),
            (None, None) => (account.windows_shown(), Tone::Dim),
        };
        let line = Columns::default()
            .column(if lines.is_empty() { " limits" } else { "" }, 8, dim)
            .word(format!("{}  ", safe(&account.name)), app.theme.style(Tone::Bold));
        let room = columns.saturating_sub(line.width());
        lines.push(line.word(cut(&safe(&text), room), app.theme.style(tone)).line());
    }
    lines
}

/// The machines that share the team, a line for each.
fn hosts(app: &App, columns: usize) -> Vec<Line<'static>> {
    let dim = app.theme.style(Tone::Dim);
    let all = &app.store.hosts;
    let name = all.iter().map(|host| width(&host.name)).max().unwrap_or_default().min(20);
    let mut lines = Vec::new();
    for (at, host) in all.iter().take(HOSTS_MAX).enumerate() {
        let state = host_state(host.state.word());
        let (sign, tone) = (format!("{} {:<8}", state.sign, state.word), state.tone);
        let line = Columns::default()
            .column(if at == 0 { " hosts" } else { "" }, 8, dim)
            .column(&safe(&host.name), name, app.theme.style(Tone::Bold))
            .word(format!("{sign}  "), app.theme.style(tone));
        let room = columns.saturating_sub(line.width());
        lines.push(line.word(cut(&host_words(host, app), room), dim).line());
    }
    if all.len() > HOSTS_MAX {
        let text = format!("         and {} more: `shipmate host list`", all.len() - HOSTS_MAX);
        lines.push(Line::styled(text, dim));
    }
    lines
}

fn host_words(host: &HostView, app: &App) -> String {
    let mut words = vec![format!("{} of {}", host.taken, count(host.slots as usize, "slot"))];
    let marks = [(host.home, "home"), (host.here, "this machine")];
    words.extend(marks.iter().filter(|(is, _)| *is).map(|(_, mark)| (*mark).to_owned()));
    if !host.lacks.is_empty() {
        words.push("still gets the code".to_owned());
    }
    if !host.labels.is_empty() {
        words.push(safe(&host.labels.join(", ")));
    }
    let sign = host.sign_at.map(|at| ago(app.now.saturating_sub(at)));
    words.extend(sign.filter(|_| !host.here).map(|ago| format!("last sign {ago}")));
    words.join(" · ")
}

fn team_words(team: &TeamView) -> Vec<(String, Tone)> {
    let mut words = vec![(format!("{}/{} running", team.running, team.teammates), Tone::Plain)];
    if let Some(reason) = super::paused(team) {
        words.push((format!("‖ {}", safe(&reason)), Tone::Busy));
    }
    if team.breaker != BreakerState::Closed && !team.breaker.word().is_empty() {
        let text =
            format!("✕ breaker {}: nobody is started", team.breaker.word().replace('_', " "));
        words.push((text, Tone::Bad));
    }
    words.extend(used_by_team(team).map(|used| (used, Tone::Plain)));
    if let Some(playbook) = &team.playbook {
        words.push((format!("playbook {}", safe(playbook)), Tone::Dim));
    }
    if let Some(branch) = &team.branch {
        words.push((format!("branch {}", safe(branch)), Tone::Dim));
    }
    words
}

/// The phases in one line, around the one that runs.
fn phases(team: &TeamView, app: &App, columns: usize) -> Line<'static> {
    let word = |phase: &shipmate_protocol::view::PhaseView| {
        let state = phase_state(phase.state.word());
        let round = if phase.round > 1 { format!(" ×{}", phase.round) } else { String::new() };
        let why = match phase.state {
            PhaseState::Waits | PhaseState::Failed if !phase.why.is_empty() => {
                format!(" ({})", safe(&phase.why))
            }
            _ => String::new(),
        };
        let text = format!("{} {} {}{round}{why}  ", state.sign, safe(&phase.name), state.word);
        (text, state.tone)
    };
    let is_over = |state: &str| matches!(state, "done" | "skipped" | "passed");
    let now = team.phases.iter().position(|phase| !is_over(phase.state.word()));
    let mut from = now.unwrap_or(team.phases.len()).saturating_sub(1);
    let fits = |from: usize| {
        let used: usize = team.phases[from..].iter().map(|phase| width(&word(phase).0)).sum();
        used + 10 <= columns
    };
    while from > 0 && fits(from - 1) {
        from -= 1;
    }
    let mut line = Columns::default().word(" phases  ", app.theme.style(Tone::Dim));
    if from > 0 {
        line = line.word("…  ", app.theme.style(Tone::Dim));
    }
    for phase in &team.phases[from..] {
        let (text, tone) = word(phase);
        line = line.word(text, app.theme.style(tone));
    }
    line.line()
}

fn first_line(mate: &TeammateView, app: &App, role: usize) -> Line<'static> {
    let state = mate_state(mate.state.word());
    let dim = app.theme.style(Tone::Dim);
    let lead = if mate.lead { " (lead)" } else { "" };
    let name = match app.store.teams.len() > 1 && mate.team != app.store.root {
        true => format!("{}/{}@{}{lead}", mate.team, mate.name, mate.epoch),
        false => format!("{}@{}{lead}", mate.name, mate.epoch),
    };
    let seen = mate.sign_at.map(|at| ago(app.now.saturating_sub(at))).unwrap_or_default();
    Columns::default()
        .column(&format!("{} {}", state.sign, state.word), 13, app.theme.style(state.tone))
        .column(&safe(&name), 18, app.theme.style(Tone::Bold))
        .column(&safe(mate.role.as_deref().unwrap_or("–")), role, dim)
        .column(&tasks(mate), 12, app.theme.style(Tone::Plain))
        .right(&context(mate), 7, app.theme.style(Tone::Plain))
        .right(&seen, 8, dim)
        .line()
}

fn tasks(mate: &TeammateView) -> String {
    let part = |ids: &[u32], sign: &str| {
        ids.iter().map(|id| format!("{sign}{id}")).collect::<Vec<_>>().join(" ")
    };
    let parts = [part(&mate.holds, "◐ "), part(&mate.returned, "↩ "), part(&mate.submitted, "◑ ")];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { "–".to_owned() } else { parts.join(" ") }
}

/// How full its conversation is.
pub(super) fn context(mate: &TeammateView) -> String {
    match (mate.context_used, mate.context_max) {
        (Some(used), Some(max)) if max > 0 => format!("{}%", used.saturating_mul(100) / max),
        (Some(used), _) => tokens(used),
        _ => "–".to_owned(),
    }
}

fn second_line(mate: &TeammateView, app: &App, columns: usize) -> Line<'static> {
    let mut text = String::from("    ");
    let mut parts = Vec::new();
    // Of somebody at work it is the tasks, which stand in a column of their own.
    if !mate.why.is_empty() && mate.state != TeammateState::Active {
        parts.push(safe(&mate.why));
    }
    let program = if mate.agent.is_empty() { "command" } else { &mate.agent };
    let program = match mate.model_shown().as_str() {
        "" => safe(program),
        model => safe(&format!("{program} {model}")),
    };
    if app.store.teammates.len() < 200 {
        parts.push(program);
    }
    parts.extend(app.store.host_of(mate).map(|host| format!("on {}", safe(host))));
    if mate.tokens_used > 0 {
        let guessed = estimated(mate.tokens_estimated);
        parts.push(format!("{} tokens{guessed}", tokens(mate.tokens_used)));
        parts.push(cost_of(mate));
    }
    if mate.unread > 0 {
        parts.push(format!("{} unread", mate.unread));
    }
    if !mate.last_words.is_empty() {
        parts.push(format!("“{}”", safe(mate.last_words.trim())));
    }
    text.push_str(&parts.join(" · "));
    Line::styled(fit(&text, columns), app.theme.style(Tone::Dim))
}

/// The teams of this workspace.
pub(super) fn choice(buffer: &mut Buffer, area: Rect, app: &App) {
    put(buffer, area, area.y, &Line::raw(" Which team?"));
    let rows = Rect { y: area.y + 2, height: area.height.saturating_sub(2), ..area };
    for (at, row) in app.choice.window(usize::from(rows.height)).enumerate() {
        let Some(tree) = app.trees.get(row) else { continue };
        let done = tree.tasks.completed;
        let open = tree.tasks.pending + tree.tasks.in_progress;
        let running = format!("{}/{} running", tree.running, tree.teammates);
        let tasks = format!("{}, {done} completed", count(open, "open task"));
        let line = Columns::default()
            .column(&safe(&tree.name), 20, app.theme.style(Tone::Bold))
            .column(tree.phase.word(), 8, app.theme.style(Tone::Plain))
            .column(&running, 14, app.theme.style(Tone::Plain))
            .column(&tasks, 28, app.theme.style(Tone::Plain))
            .word(safe(&tree.description), app.theme.style(Tone::Dim))
            .line();
        put_row(buffer, rows, rows.y + at as u16, &line, app, row == app.choice.at());
    }
}

/// Its last sign of life, for the page of a teammate.
pub(super) fn seen(mate: &TeammateView, app: &App) -> String {
    let seen = mate.sign_at.map(|at| ago(app.now.saturating_sub(at)));
    seen.map(|ago| format!("last sign of life {ago}")).unwrap_or_default()
}
