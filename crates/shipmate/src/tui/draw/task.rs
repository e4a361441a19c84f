//! One task: what is known of it, what the gates said, what happened to it, what was said about
//! it, what it cost.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use shipmate_protocol::view::{AccountView, CostRow, GateRow, TaskView};
use shipmate_protocol::watch::TaskPage;

use super::super::app::App;
use super::super::list::Scroll;
use super::super::text::{safe, wrap};
use super::super::theme::Tone;
use super::super::words::{ago, delivery, lasted, tokens};
use super::{board, fact, heading, notes, nothing, put_text, rule};
use crate::money::{self, Worth, estimated};
use crate::time::time_of_day;

/// Of a gate's output the last lines are shown.
const OUTPUT_LINES: usize = 12;

pub(super) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    app: &App,
    id: u32,
    view: Option<&TaskView>,
    page: Option<&TaskPage>,
    scroll: &Scroll,
) {
    let Some(card) = app.store.cards.get(&id) else {
        let gone = format!("There is no task {id}.");
        return nothing(buffer, area, &[&gone, "Esc goes back."], app);
    };
    rule(buffer, area, area.y, &format!("Task {id}  {}", safe(&card.subject)), app);
    let inside =
        Rect { x: area.x + 1, y: area.y + 1, width: area.width - 2, height: area.height - 1 };
    let columns = usize::from(inside.width);
    let mut lines = board::facts(card, app, columns);
    if let Some(view) = view {
        view_facts(&mut lines, view, app, columns);
    }
    if let Some(page) = page {
        page_lines(&mut lines, page, app, columns);
    }
    put_text(buffer, inside, app, &lines, scroll);
}

fn view_facts(lines: &mut Vec<Line<'static>>, view: &TaskView, app: &App, columns: usize) {
    let ids: Vec<String> = view.blocks.iter().map(ToString::to_string).collect();
    fact(lines, "Blocks", &ids.join(", "), app, columns);
    fact(lines, "Commit", view.commit.as_deref().unwrap_or_default(), app, columns);
    fact(lines, "Result", view.result.as_deref().unwrap_or_default(), app, columns);
    fact(lines, "Set aside", &view.set_aside.join(", "), app, columns);
    let created = ago(app.now.saturating_sub(view.created_at));
    let by = app.store.who(&view.created_by);
    fact(lines, "Created", &format!("{created} by {by}"), app, columns);
    if !view.description.trim().is_empty() {
        heading(lines, "Description", app);
        quote(lines, &view.description, columns);
    }
    if let Some(handoff) = &view.handoff {
        heading(lines, "Handed over", app);
        quote(lines, &handoff.to_string(), columns);
    }
    for prior in &view.handoffs {
        let by = app.store.who(&prior.by);
        heading(lines, &safe(&format!("From task {} by {by}", prior.task)), app);
        quote(lines, &prior.text, columns);
        if prior.cut {
            lines.push(Line::raw("  (cut; its own page has all of it)"));
        }
    }
    fact(lines, "Left more", &view.left_out().unwrap_or_default(), app, columns);
    if !view.notes.is_empty() {
        heading(lines, "Notes about it", app);
    }
    for note in &view.notes {
        notes::push(lines, note, app, columns);
    }
    if !view.metadata.is_empty() {
        heading(lines, "Metadata", app);
        for (key, value) in &view.metadata {
            fact(lines, &safe(key), value, app, columns);
        }
    }
}

/// Somebody's words, behind a bar.
fn quote(lines: &mut Vec<Line<'static>>, text: &str, columns: usize) {
    let rows = wrap(text, columns.saturating_sub(2));
    lines.extend(rows.into_iter().map(|row| Line::raw(format!("│ {row}"))));
}

fn page_lines(lines: &mut Vec<Line<'static>>, page: &TaskPage, app: &App, columns: usize) {
    if !page.gates.is_empty() {
        heading(lines, "Gates", app);
    }
    for gate in page.gates.iter().rev() {
        gate_lines(lines, gate, app, columns);
    }
    if !page.steps.is_empty() {
        heading(lines, "What happened", app);
    }
    for step in page.steps.iter().rev() {
        let by = app.store.who(&step.by);
        let text = format!("{}  {by}  {}  {}", time_of_day(step.at), step.event, step.text);
        lines.extend(wrap(&text, columns).into_iter().map(Line::raw));
    }
    if !page.messages.is_empty() {
        heading(lines, "Messages about it", app);
    }
    for message in page.messages.iter().rev() {
        let state = delivery(message);
        let from = app.store.who(&message.from);
        let time = time_of_day(message.sent_at);
        let text = format!("{time}  {} {}  {from}: {}", state.sign, state.word, message.body);
        lines.extend(wrap(&text, columns).into_iter().map(Line::raw));
    }
    if !page.costs.is_empty() {
        heading(lines, "Cost", app);
    }
    for cost in &page.costs {
        let text = format!(
            "{}  {}  {} in, {} out, {} cached{}  {}",
            app.store.who(&cost.who),
            cost.model,
            tokens(cost.tokens_in),
            tokens(cost.tokens_out),
            tokens(cost.tokens_cached),
            estimated(cost.tokens_estimated),
            price(cost, app)
        );
        lines.extend(wrap(&text, columns).into_iter().map(Line::raw));
    }
}

/// A subscription has windows instead of a price.
fn price(cost: &CostRow, app: &App) -> String {
    let own = |account: &&AccountView| Some(&account.name) == cost.account.as_ref();
    let account = app.store.accounts.iter().find(own);
    match account.is_some_and(|account| account.subscription) {
        true => {
            let worth = Worth { micros: cost.cost_micros, unpriced: cost.tokens_unpriced };
            money::cost(0, 0, Some(worth))
        }
        false => money::cost(cost.cost_micros, cost.tokens_unpriced, None),
    }
}

fn gate_lines(lines: &mut Vec<Line<'static>>, gate: &GateRow, app: &App, columns: usize) {
    let (verdict, tone) =
        if gate.passed { ("● passed", Tone::Good) } else { ("✕ failed", Tone::Bad) };
    let commit: String = gate.commit.chars().take(9).collect();
    let text = format!("{}  {verdict} in {}  {commit}", time_of_day(gate.at), lasted(gate.took_ms));
    lines.push(Line::styled(safe(&text), app.theme.style(tone)));
    let rows = wrap(gate.output.trim_end(), columns.saturating_sub(4));
    let from = rows.len().saturating_sub(OUTPUT_LINES);
    if !gate.output.trim().is_empty() {
        let rows = rows.into_iter().skip(from);
        lines.extend(rows.map(|row| Line::raw(format!("  │ {row}"))));
    }
}
