//! Which keys there are: a line of them below every screen, and all of them on a page.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use shipmate_protocol::view::TeammateState;

use super::super::app::keys;
use super::super::app::{App, Page, Place};
use super::super::list::Scroll;
use super::super::text::Columns;
use super::super::theme::Tone;
use super::super::words::Standing;
use super::{form, put_text};

type Hint = (&'static str, &'static str);

const MOVE: Hint = ("j k", "move");
const BACK: Hint = ("Esc", "back");

/// The keys of what is looked at, the most useful first.
pub(super) fn hints(app: &App) -> Vec<Hint> {
    let paused = app.store.root_team().is_some_and(|team| team.paused.is_some());
    let team = if paused { ("p", "continue") } else { ("p", "pause") };
    let task = [("e", "edit"), ("a", "assign"), ("x", "release"), ("r", "retry")];
    let mate_paused = keys::mate(app).is_some_and(|mate| mate.state == TeammateState::Paused);
    let mate = [
        ("m", "message"),
        if mate_paused { ("p", "continue") } else { ("p", "pause") },
        ("s", "shut down"),
        ("r", "start again"),
    ];
    let mut hints: Vec<Hint> = Vec::new();
    match (app.pages.last(), app.place) {
        (Some(Page::Task { .. }), _) => {
            hints.extend(task);
            hints.extend([("m", "message"), ("o", "owner"), BACK]);
        }
        (Some(Page::Teammate { .. }), _) => {
            hints.extend(mate);
            hints.extend([("o", "task"), ("G", "follow"), BACK]);
        }
        (Some(Page::Thread { .. }), _) => hints.extend([("m", "reply"), MOVE, BACK]),
        (Some(Page::Record { .. } | Page::Notes { .. }), _) => hints.extend([MOVE, BACK]),
        (None, Place::Teams) => hints.extend([MOVE, ("Enter", "open")]),
        (None, Place::Board) => {
            hints.extend([("Enter", "open"), ("n", "new"), task[0], task[1], task[2], task[3]]);
            hints.extend([("m", "message"), ("/", "search"), ("f", "filter"), team]);
        }
        (None, Place::Team) => {
            hints.push(("Enter", "output"));
            hints.extend(mate);
            hints.push(("/", "search"));
        }
        (None, Place::Messages) => {
            hints.extend([("Enter", "conversation"), ("m", "reply"), ("/", "search"), MOVE]);
        }
        (None, Place::Decisions) if app.is_past => {
            hints.extend([("h", "what waits"), ("Enter", "record"), MOVE]);
        }
        (None, Place::Decisions) => {
            if !app.outbox.held().is_empty() {
                hints.extend([("u", "undo"), ("s", "send now")]);
            }
            if keys::decision(app).is_some() {
                hints.extend([("y", "yes"), ("d", "no"), ("Enter", "answer"), ("o", "task")]);
            }
            hints.extend([MOVE, ("h", "decided"), ("m", "message"), ("PgDn", "read on")]);
        }
        (None, Place::Log) => hints.extend([("Enter", "record"), ("/", "search"), MOVE]),
    }
    hints
}

const ALL: [(&str, &[Hint]); 6] = [
    (
        "Everywhere",
        &[
            ("1 3 4 5 6", "board, team, messages, decisions, log; Tab goes to the next"),
            ("j k ↓ ↑", "move; PgDn PgUp by a page, g G to the first and the last"),
            ("Enter, Esc", "open, back"),
            ("/", "search in the list"),
            ("n", "new task"),
            ("m", "write a message to whoever is selected"),
            ("N", "the notes of the team"),
            ("P, S", "pause or continue the team; shut everybody down"),
            ("?, q", "this page; quit (Ctrl-Z suspends, Ctrl-L draws anew)"),
        ],
    ),
    (
        "A task",
        &[
            ("e", "edit"),
            ("a", "assign it to somebody, or to nobody"),
            ("x", "release: take it away from whoever has it"),
            ("r", "retry after it has failed"),
            ("o", "open whoever has it"),
            ("f", "show only some: not completed, in progress, ready, …"),
        ],
    ),
    (
        "A teammate",
        &[
            ("Enter", "what it prints, live"),
            ("p", "pause or continue"),
            ("s", "shut down"),
            ("r", "start it again, in a new life"),
            ("o", "open its task"),
        ],
    ),
    (
        "A decision",
        &[
            ("y", "approve, allow"),
            ("d", "reject or deny, with a reason"),
            ("1–9, Enter", "choose an option"),
            ("Enter", "write the answer to a question"),
            ("u, s", "for five seconds: take it back; send it now"),
            ("h", "what was decided, by whom"),
            ("o", "open the task it is about"),
        ],
    ),
    ("Messages and log", &[("Enter", "the conversation; the record as it is stored")]),
    ("Forms", &[("Tab", "next field; Enter sends, Ctrl-J begins a line, Esc cancels")]),
];

pub(super) fn draw(buffer: &mut Buffer, body: Rect, app: &App, scroll: &Scroll) {
    let width = body.width.min(84) - 4;
    let mut lines: Vec<Line<'static>> = Vec::new();
    for (title, keys) in ALL {
        super::heading(&mut lines, title, app);
        for (key, does) in keys {
            let line = Columns::default().column(key, 12, app.theme.style(Tone::Bold));
            lines.push(line.word(*does, app.theme.style(Tone::Plain)).line());
        }
    }
    super::heading(&mut lines, "Signs", app);
    for standing in Standing::SHOWN {
        let state = standing.state();
        let line = Columns::default().column(state.sign, 12, app.theme.style(state.tone));
        lines.push(line.word(state.word, app.theme.style(Tone::Plain)).line());
    }
    let height = (lines.len() as u16 + 2).min(body.height);
    let area = Rect { x: (body.width - width) / 2, y: body.y, width, height };
    form::frame(buffer, area, "Keys (any other key closes)", app);
    let inside =
        Rect { x: area.x + 2, y: area.y + 1, width: width - 4, height: height.saturating_sub(2) };
    put_text(buffer, inside, app, &lines, scroll);
}
