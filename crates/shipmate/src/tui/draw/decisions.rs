//! What waits for a decision, that behind which most work waits first, and all of the one that is
//! looked at; what was just decided, and what was decided before.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use shipmate_protocol::view::{DecisionKind, DecisionView, WorkView};

use super::super::app::App;
use super::super::app::keys;
use super::super::store::decision_key;
use super::super::text::{Columns, safe, wrap};
use super::super::theme::Tone;
use super::super::words::{ago, count, decision_sign, lasted, options, verdicts, waits};
use super::{heading, nothing, put, put_row, put_text, rule};

/// Decisions that can be taken back are shown one a line.
const HELD_MAX: usize = 3;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &App) {
    if app.is_past {
        return past(buffer, area, app);
    }
    let area = held(buffer, area, app);
    if app.decisions.keys().is_empty() {
        let lines = [
            if app.outbox.held().is_empty() {
                "Nothing waits for you."
            } else {
                "Nothing else waits."
            },
            "Plans, permissions and questions come here. h shows what was decided.",
        ];
        return nothing(buffer, area, &lines, app);
    }
    let rows = app.decisions.keys().len().min(usize::from(area.height) / 3) as u16;
    let list = Rect { height: rows, ..area };
    for (at, row) in app.decisions.window(usize::from(rows)).enumerate() {
        let key = &app.decisions.keys()[row];
        let Some(one) = app.store.decisions.iter().find(|one| decision_key(one) == *key) else {
            continue;
        };
        let line = line(one, app);
        put_row(buffer, list, list.y + at as u16, &line, app, Some(row) == app.decisions.row());
    }
    let Some(one) = keys::decision(app) else {
        // Nobody decides what nobody has chosen to look at.
        rule(buffer, area, list.bottom(), "", app);
        let below =
            Rect { y: list.bottom() + 1, height: area.bottom() - list.bottom() - 1, ..area };
        return nothing(buffer, below, &["j or k looks at one."], app);
    };
    app.seen.replace(Some(decision_key(one)));
    let title = match one.who.as_str() {
        "" => format!("{} for team {}, asked by shipmate", one.kind, one.team),
        who => format!("{} {} from {}", one.kind, one.id, app.store.who(who)),
    };
    rule(buffer, area, list.bottom(), &safe(&title), app);
    let inside = Rect {
        x: area.x + 1,
        y: list.bottom() + 1,
        width: area.width - 2,
        height: area.bottom().saturating_sub(list.bottom() + 2),
    };
    put_text(buffer, inside, app, &text(one, app, usize::from(inside.width)), &app.detail);
    put(buffer, area, area.bottom() - 1, &answers(one, app));
}

/// What was decided here and can still be taken back, the last one first; the room below it.
fn held(buffer: &mut Buffer, area: Rect, app: &App) -> Rect {
    let held = app.outbox.held();
    let shown = held.len().min(HELD_MAX);
    for (at, one) in held.iter().rev().take(shown).enumerate() {
        let left = one.left_ms(app.now).div_ceil(1000);
        let keys = if at == 0 { "   u takes it back   s sends it now" } else { "" };
        let text = format!(" ↶ {}, sent in {left} s{keys}", safe(&one.what));
        put(buffer, area, area.y + at as u16, &Line::styled(text, app.theme.style(Tone::Busy)));
    }
    let rows = shown as u16;
    Rect { y: area.y + rows, height: area.height - rows, ..area }
}

/// What was decided, by whom and when.
fn past(buffer: &mut Buffer, area: Rect, app: &App) {
    if app.decided.keys().is_empty() {
        let lines = ["Nothing was decided yet.", "h shows what waits."];
        return nothing(buffer, area, &lines, app);
    }
    let dim = app.theme.style(Tone::Dim);
    let (by, what, answer) = if area.width >= super::WIDE { (20, 18, 28) } else { (12, 15, 14) };
    let head = Columns::default()
        .column(" WHEN", 9, dim)
        .column("BY", by, dim)
        .column("SAID", answer, dim)
        .column("TO", what, dim)
        .word("ABOUT", dim);
    put(buffer, area, area.y, &head.line());
    let rows = Rect { y: area.y + 1, height: area.height - 1, ..area };
    for (at, row) in app.decided.window(usize::from(rows.height)).enumerate() {
        let n = app.decided.keys()[row];
        let Some(one) = app.store.decided.iter().find(|one| one.n == n) else { continue };
        let who = if one.who == "runtime" { one.team.as_str() } else { app.store.who(&one.who) };
        let said = match one.feedback.as_str() {
            "" => one.answer.clone(),
            feedback => format!("{}: {feedback}", one.answer),
        };
        let first = one.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let shown = Columns::default()
            .column(&ago(app.now.saturating_sub(one.at)), 8, dim)
            .column(&safe(app.store.who(&one.by)), by, app.theme.style(Tone::Bold))
            .column(&safe(said.lines().next().unwrap_or_default()), answer, Style::new())
            .column(&format!("{} {}", one.kind, one.id), what, app.theme.style(Tone::Busy))
            .word(safe(&format!("{who}: {}", first.trim())), Style::new())
            .line();
        put_row(buffer, rows, rows.y + at as u16, &shown, app, row == app.decided.at());
    }
}

fn line(one: &DecisionView, app: &App) -> Line<'static> {
    let first = one.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let who = if one.who.is_empty() { one.team.as_str() } else { app.store.who(&one.who) };
    let waiting = match one.waiting {
        0 => "–".to_owned(),
        n => format!("{} {}", count(n, "task"), if n == 1 { "waits" } else { "wait" }),
    };
    Columns::default()
        .column(
            &format!("{} {}", decision_sign(one.kind.word()), one.kind),
            12,
            app.theme.style(Tone::Busy),
        )
        .column(&safe(who), 14, app.theme.style(Tone::Bold))
        .column(&waiting, 13, Style::new())
        .column(&ago(app.now.saturating_sub(one.at)), 7, app.theme.style(Tone::Dim))
        .word(safe(first.trim()), Style::new())
        .line()
}

fn text(one: &DecisionView, app: &App, columns: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let about = one.task.and_then(|id| app.store.cards.get(&id));
    let mut facts = format!("{}, asked {}", waits(one), ago(app.now.saturating_sub(one.at)));
    if let Some(card) = about {
        facts.push_str(&format!(", about task {} {}", card.id, safe(&card.subject)));
    }
    lines.push(Line::styled(super::cut(&facts, columns), app.theme.style(Tone::Dim)));
    let rows = wrap(&one.text, columns.saturating_sub(2));
    lines.extend(rows.into_iter().map(|row| Line::raw(format!("│ {row}"))));
    if !options(one).is_empty() {
        let beside = verdicts(one).yes.is_some();
        heading(&mut lines, if beside { "Or choose" } else { "Choose one" }, app);
        let key = decision_key(one);
        let marked = app.marked.as_ref().filter(|(of, _)| *of == key).map(|(_, at)| *at);
        for (at, option) in options(one).iter().enumerate() {
            let on = marked == Some(at);
            let sign = if on { "(•)" } else { "( )" };
            let style = if on { app.theme.style(Tone::Bold) } else { Style::new() };
            lines.push(Line::styled(format!("{} {sign} {}", at + 1, safe(option)), style));
        }
    }
    if let Some(work) = &one.work {
        planned(&mut lines, work, app, columns);
    }
    lines
}

/// What the approval of a lead's plan brings about.
fn planned(lines: &mut Vec<Line<'static>>, work: &WorkView, app: &App, columns: usize) {
    let path = work.critical_path.join(" → ");
    let width = format!("{} at the same time at most", work.width);
    heading(lines, &format!("{}, {width}", count(work.tasks.len(), "task")), app);
    for task in &work.tasks {
        let mut text = format!("{} {}", task.key, task.subject);
        if !task.blocked_by.is_empty() {
            text.push_str(&format!("  after {}", task.blocked_by.join(", ")));
        }
        if !task.files.is_empty() {
            text.push_str(&format!("  [{}]", task.files.join(", ")));
        }
        lines.extend(wrap(&text, columns).into_iter().map(Line::raw));
    }
    if !path.is_empty() {
        let text = format!("longest path {path}, {}", lasted(work.critical_path_ms));
        let style = app.theme.style(Tone::Dim);
        lines.extend(wrap(&text, columns).into_iter().map(|row| Line::styled(row, style)));
    }
    if !work.teammates.is_empty() {
        heading(lines, &count(work.teammates.len(), "teammate"), app);
    }
    for mate in &work.teammates {
        let program = [mate.agent.as_str(), &mate.model, &mate.command];
        let program: Vec<&str> = program.into_iter().filter(|word| !word.is_empty()).collect();
        let role = mate.role.as_deref().map(|role| format!(" ({role})")).unwrap_or_default();
        let mut text =
            format!("{}{role} {}, mode {}", mate.name, program.join(" "), mate.mode.word());
        if !mate.place.is_anywhere() {
            text.push_str(&format!(", runs {}", mate.place));
        }
        lines.extend(wrap(&text, columns).into_iter().map(Line::raw));
    }
    if let Some(why) = &work.single {
        lines.extend(
            wrap(&format!("one teammate is enough: {why}"), columns).into_iter().map(Line::raw),
        );
    }
}

/// The keys that answer it.
fn answers(one: &DecisionView, app: &App) -> Line<'static> {
    let said = verdicts(one);
    let mut words = Vec::new();
    words.extend(said.yes.as_deref().map(|yes| format!("y {}", safe(yes))));
    words.extend(said.no.as_deref().map(|no| format!("d {}", safe(no))));
    if said.yes.is_none() && one.options.is_empty() {
        words.push("Enter answer".to_owned());
    } else if said.yes.is_none() {
        words.push(format!("1–{} choose, then Enter", one.options.len().min(9)));
    }
    if one.kind == DecisionKind::Approval {
        words.push("until then the team stays where it is".to_owned());
    }
    Line::styled(format!(" {}", words.join("   ")), app.theme.style(Tone::Bold))
}
