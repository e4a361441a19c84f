//! Whole frames as text, compared with the files in `frames/`.
//!
//! Each file is a frame and, below it, the same grid with a letter for the style of every cell.
//! `SHIPMATE_BLESS=1 cargo nextest run -p shipmate frames` writes them anew: look at the difference
//! before it is committed.

pub(super) mod scene;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::{Color, Modifier};

use shipmate_protocol::Answer;

use super::app::App;
use super::draw::draw;
use super::message::{Effect, Found, Message, Output, Then};
use super::theme::Theme;

/// Types keys, and looks at the screen after each of them.
pub(super) fn typed(app: &mut App, keys: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    for word in keys.split(' ') {
        let code = match word {
            "Enter" => KeyCode::Enter,
            "Esc" => KeyCode::Esc,
            "Tab" => KeyCode::Tab,
            "Down" => KeyCode::Down,
            "PgUp" => KeyCode::PageUp,
            "Space" => KeyCode::Char(' '),
            word => {
                for c in word.chars() {
                    let key = KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
                    effects.extend(app.update(Message::Key(key)));
                    frame(app, 80, 24);
                }
                continue;
            }
        };
        effects.extend(app.update(Message::Key(KeyEvent::new(code, KeyModifiers::NONE))));
        frame(app, 80, 24);
    }
    effects
}

pub(super) fn frame(app: &App, columns: u16, rows: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(frame, app)).unwrap();
    terminal.backend().buffer().clone()
}

fn text(buffer: &Buffer) -> String {
    grid(buffer, ' ', |cell| cell.symbol().to_owned())
}

/// One letter for each style that there is; `.` is none.
fn styles(buffer: &Buffer) -> String {
    grid(buffer, '.', |cell| {
        let colour = match cell.fg {
            Color::Reset => "",
            Color::Cyan => "c",
            Color::Green => "g",
            Color::Yellow => "y",
            Color::Red => "r",
            other => panic!("{other:?} is no colour of ours"),
        };
        let has = |modifier: Modifier| cell.modifier.contains(modifier);
        let letter = match (has(Modifier::REVERSED), has(Modifier::BOLD), has(Modifier::DIM)) {
            (true, ..) => "#",
            (_, true, _) if colour.is_empty() => "b",
            (_, true, _) => return colour.to_uppercase(),
            (.., true) => "d",
            _ if colour.is_empty() => ".",
            _ => colour,
        };
        letter.to_owned()
    })
}

fn grid(buffer: &Buffer, nothing: char, cell: impl Fn(&Cell) -> String) -> String {
    let mut text = String::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        let mut x = 0;
        while x < buffer.area.width {
            let here = &buffer[(x, y)];
            line.push_str(&cell(here));
            x += super::text::width(here.symbol()).max(1) as u16;
        }
        text.push_str(line.trim_end_matches(nothing));
        text.push('\n');
    }
    text
}

/// Compares with the file of this name, or writes it.
fn check(name: &str, app: &App, (columns, rows): (u16, u16)) {
    let buffer = frame(app, columns, rows);
    let shown = format!("{}{}\n{}", text(&buffer), "~".repeat(40), styles(&buffer));
    let path = format!("{}/src/tui/frames/{name}-{columns}x{rows}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("SHIPMATE_BLESS").is_some() {
        std::fs::write(&path, &shown).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == shown, "{path} is\n{kept}\nand now it would be\n{shown}");
}

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (120, 40);

fn check_both(name: &str, app: &App) {
    check(name, app, SMALL);
    check(name, app, LARGE);
}

#[test]
fn the_board() {
    let mut app = scene::team();
    typed(&mut app, "j");
    check_both("board", &app);
}

#[test]
fn the_board_without_colour() {
    let mut app = scene::team();
    app.theme = Theme { colour: false };
    typed(&mut app, "j");
    check("board-no-colour", &app, SMALL);
}

#[test]
fn the_board_of_a_new_team() {
    check_both("board-empty", &scene::empty());
}

#[test]
fn a_search_in_the_board() {
    let mut app = scene::team();
    typed(&mut app, "/ parser");
    check("board-search", &app, SMALL);
}

#[test]
fn a_task() {
    let mut app = scene::team();
    typed(&mut app, "Enter");
    app.found(Found::TaskPage(Box::new(scene::task_page())));
    app.update(scene::task_answer());
    check_both("task", &app);
}

#[test]
fn what_a_task_handed_over_and_was_handed() {
    let mut app = scene::team();
    typed(&mut app, "Enter");
    app.update(scene::handed_over());
    check_both("task-handoff", &app);
}

#[test]
fn the_notes_of_the_team() {
    let mut app = scene::team();
    typed(&mut app, "N");
    app.update(Message::Answered(Then::Notes(412), Ok(Answer::Notes(scene::notes()))));
    check_both("notes", &app);
    app.update(Message::Answered(Then::Notes(412), Ok(Answer::Notes(Vec::new()))));
    check("notes-empty", &app, SMALL);
}

#[test]
fn the_team() {
    let mut app = scene::team();
    typed(&mut app, "3");
    check_both("team", &app);
}

/// Of somebody at work the tasks stand in a column already; of anybody else the words say why it stands,
/// whatever they begin with.
#[test]
fn why_a_teammate_stands_is_shown_unless_it_works() {
    use shipmate_protocol::view::TeammateState;

    let mut app = scene::team();
    let mut delta = scene::whole();
    for (mate, state) in delta.teammates.iter_mut().zip(["active", "disappeared"]) {
        let state: TeammateState = state.parse().unwrap();
        mate.why = format!("task 3 made it {}", state.word());
        mate.state = state;
    }
    app.update(Message::Delta(Box::new(delta)));
    typed(&mut app, "3");
    let shown = text(&frame(&app, 120, 40));
    assert!(shown.contains("task 3 made it disappeared"), "{shown}");
    assert!(!shown.contains("task 3 made it active"), "{shown}");
}

#[test]
fn the_team_on_several_machines() {
    let mut app = scene::on_hosts();
    typed(&mut app, "3");
    check_both("team-hosts", &app);
}

#[test]
fn the_team_with_an_account_that_is_parked() {
    let mut app = scene::on_accounts();
    typed(&mut app, "3");
    check_both("team-accounts", &app);
    typed(&mut app, "j Enter");
    check_both("teammate-parked", &app);
    typed(&mut app, "Esc j j Enter");
    check("teammate-unpriced", &app, SMALL);
}

#[test]
fn an_empty_team() {
    let mut app = scene::empty();
    typed(&mut app, "3");
    check("team-empty", &app, SMALL);
}

#[test]
fn a_teammate_and_what_it_prints() {
    let mut app = scene::team();
    typed(&mut app, "3 j Enter");
    let address = "alpha/ana".to_owned();
    let who = "alpha/ana@2".to_owned();
    app.update(Message::Output(Output::Life { address: address.clone(), who }));
    let text = "cargo test\n\x1b[32mok\x1b[0m 12 passed\n漢字 は広い\nwriting src/pars".to_owned();
    app.update(Message::Output(Output::Text { address, text }));
    check_both("teammate", &app);
}

#[test]
fn messages() {
    let mut app = scene::team();
    typed(&mut app, "4");
    check_both("messages", &app);
}

#[test]
fn a_conversation() {
    let mut app = scene::team();
    typed(&mut app, "4 k k Enter");
    check("conversation", &app, SMALL);
}

#[test]
fn decisions() {
    let mut app = scene::team();
    typed(&mut app, "5");
    check_both("decisions", &app);
}

#[test]
fn a_decision_with_an_option_marked() {
    let mut app = scene::team();
    typed(&mut app, "5 j 2");
    check("decision-options", &app, SMALL);
}

#[test]
fn a_decision_that_can_still_be_taken_back() {
    let mut app = scene::team();
    typed(&mut app, "5 y");
    app.now += 1_500;
    check_both("decision-held", &app);
}

#[test]
fn what_was_decided() {
    let mut app = scene::team();
    typed(&mut app, "5 h");
    check_both("decided", &app);
}

#[test]
fn a_team_that_waits_says_who_asks() {
    check("paused-by-lead", &scene::paused_by("alpha/lea@1", "asked"), SMALL);
    let mut app = scene::paused_by("runtime", "approval");
    typed(&mut app, "5");
    check("approval", &app, SMALL);
}

#[test]
fn nothing_to_decide() {
    let mut app = scene::empty();
    typed(&mut app, "5");
    check("decisions-empty", &app, SMALL);
}

#[test]
fn the_log() {
    let mut app = scene::team();
    typed(&mut app, "6");
    check_both("log", &app);
}

#[test]
fn a_refusal_with_its_remedy() {
    let mut app = scene::team();
    app.update(scene::refusal());
    check("refusal", &app, SMALL);
}

#[test]
fn the_help() {
    let mut app = scene::team();
    typed(&mut app, "?");
    check_both("help", &app);
}

#[test]
fn a_new_task_is_filled_in() {
    let mut app = scene::team();
    typed(&mut app, "n Enter");
    check("form-new-task", &app, SMALL);
}

#[test]
fn a_message_is_written() {
    let mut app = scene::team();
    typed(&mut app, "3 m");
    app.update(Message::Paste("first line\nsecond line with 漢字".to_owned()));
    check("form-message", &app, SMALL);
}

#[test]
fn the_watch_is_over() {
    let mut app = scene::team();
    app.update(scene::over());
    check("over", &app, SMALL);
}

#[test]
fn several_teams_to_choose_from() {
    check("teams", &scene::several(), SMALL);
}

#[test]
fn a_window_that_is_too_small() {
    check("too-small", &scene::team(), (60, 10));
    check("too-small", &scene::team(), (12, 3));
}
