//! How a run looks while it lasts: a table that is drawn over itself on a terminal, or one line
//! per event anywhere else.
//!
//! Pure rendering: it is given a view and writes text, and has no clock of its own. A line is
//! never wider than the terminal and the table never higher, because either would leave remains of
//! old tables behind. What a person has to know even after the table is gone (health, fallbacks)
//! is printed above it and stays.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::time::Duration;

use crate::cli::screen::{Paint, Screen, columns, cut, hanging, plain};
use crate::cli::time::{about, time_of_day};

/// Narrower than this there is no table.
const COLUMNS_MIN: usize = 60;
const RECENT_MAX: usize = 3;
const WAITING_MAX: usize = 3;

/// A run at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunView {
    pub(crate) title: String,
    pub(crate) team: String,
    /// Where it is in its playbook.
    pub(crate) phase: Option<String>,
    pub(crate) tasks: TaskCounts,
    pub(crate) teammates: Vec<Row>,
    /// Milliseconds of the longest path: behind us, and altogether.
    pub(crate) critical_path: (u64, u64),
    /// What the merge queue does now.
    pub(crate) gate: Option<String>,
    /// Decisions that wait for the person.
    pub(crate) waiting: Vec<String>,
    /// What happened since the last view.
    pub(crate) events: Vec<Event>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TaskCounts {
    pub(crate) done: usize,
    pub(crate) in_progress: usize,
    pub(crate) submitted: usize,
    pub(crate) available: usize,
    pub(crate) blocked: usize,
    pub(crate) failed: usize,
    pub(crate) total: usize,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) state_word: String,
    pub(crate) task: Option<(u32, String)>,
    pub(crate) since: Duration,
    pub(crate) last_words: String,
    pub(crate) tasks_done: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventKind {
    Step,
    /// A teammate disappeared, was restarted, stalls.
    Health,
    /// Something was done in another way than asked; its text is the reason.
    Fallback,
}

#[derive(Debug, Clone)]
pub(crate) struct Event {
    /// Milliseconds since 1970.
    pub(crate) at_ms: u64,
    pub(crate) kind: EventKind,
    pub(crate) text: String,
    /// Tasks done and all tasks, where the event changed them.
    pub(crate) tally: Option<(usize, usize)>,
}

impl Event {
    /// `12:03:01 task 3 completed (ana) 4/12`
    /// One line, and below it, set in, what else it says: nobody's words look like an event.
    fn lines(&self) -> String {
        let mark = if self.kind == EventKind::Fallback { "[FALLBACK] " } else { "" };
        let tally = self.tally.map_or(String::new(), |(done, total)| format!(" {done}/{total}"));
        let text = hanging(&self.text.replace("\n  ", "\n"), 2);
        format!("{} {mark}{}{tally}", time_of_day(self.at_ms), text)
    }
}

/// Events, one a line.
pub(crate) fn write_plain(out: &mut impl Write, events: &[Event]) -> io::Result<()> {
    let lines: String = events.iter().map(|event| event.lines() + "\n").collect();
    out.write_all(lines.as_bytes())?;
    out.flush()
}

/// Whether the locale can show block characters. `get` reads the environment.
pub(crate) fn is_unicode(get: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &&str| get(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// The table on a terminal.
#[derive(Debug)]
pub(crate) struct Live {
    screen: Screen,
    width: usize,
    /// Lines of the terminal.
    rows: usize,
    unicode: bool,
    /// Lines of the table that is on the screen now.
    drawn: usize,
    recent: VecDeque<String>,
}

impl Live {
    /// Nothing where there is no terminal, or one too small: then events go out as lines.
    ///
    /// A terminal of another size needs a new table: the lines of the old one may have been
    /// wrapped, and drawing over them would leave pieces.
    pub(crate) fn new(screen: Screen, rows: usize, unicode: bool) -> Option<Live> {
        const ROWS_MIN: usize = 10;
        let width = screen.width.filter(|width| *width >= COLUMNS_MIN && rows >= ROWS_MIN)?;
        Some(Live { screen, width, rows, unicode, drawn: 0, recent: VecDeque::new() })
    }

    /// Puts the table over the last one, and what has to stay above it. One write, so that the
    /// screen does not flicker.
    pub(crate) fn draw(&mut self, out: &mut impl Write, view: &RunView) -> io::Result<()> {
        let mut text = self.erase();
        for event in &view.events {
            let line = event.lines();
            if event.kind == EventKind::Step {
                self.recent.extend(line.lines().map(str::to_owned));
            } else {
                let paint =
                    if event.kind == EventKind::Fallback { Paint::Busy } else { Paint::Plain };
                text.push_str(&self.screen.paint(paint, &self.ascii(&line)));
                text.push('\n');
            }
        }
        while self.recent.len() > RECENT_MAX {
            self.recent.pop_front();
        }
        let table = self.table(view);
        self.drawn = table.len();
        for line in table {
            text.push_str(&line);
            text.push('\n');
        }
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Takes the table away, before something else is printed.
    pub(crate) fn clear(&mut self, out: &mut impl Write) -> io::Result<()> {
        let text = self.erase();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Up to the first line of the table, each line cleared, and the cursor there.
    fn erase(&mut self) -> String {
        std::iter::repeat_n("\x1b[1A\x1b[2K", std::mem::take(&mut self.drawn)).collect()
    }

    fn table(&self, view: &RunView) -> Vec<String> {
        let mut lines = self.head(view);
        let waiting = self.waiting(view);
        let room = self.rows - 1 - lines.len() - waiting.len();
        lines.extend(self.teammates(&view.teammates, room));
        lines.extend(waiting);
        let room = (self.rows - 1 - lines.len()).min(self.recent.len());
        let recent = self.recent.iter().skip(self.recent.len() - room);
        lines.extend(recent.map(|line| self.screen.paint(Paint::Dim, &self.fit(line, self.width))));
        lines
    }

    fn head(&self, view: &RunView) -> Vec<String> {
        let counts = &view.tasks;
        let phase = view.phase.as_ref().map(|phase| format!(", {phase}")).unwrap_or_default();
        let team = format!("  team {}{phase}", view.team);
        let room = self.width.saturating_sub(columns(&self.fit(&team, self.width / 2)));
        let title = self.screen.paint(Paint::Bold, &self.fit(&view.title, room));
        let mut lines = vec![format!("{title}{}", self.fit(&team, self.width / 2))];
        let words = [
            (counts.failed, "failed"),
            (counts.in_progress, "in progress"),
            (counts.submitted, "submitted"),
            (counts.available, "available"),
            (counts.blocked, "blocked"),
        ];
        let words: Vec<String> = words
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        let busy = counts.in_progress + counts.submitted;
        let bar = self.bar(counts.done, busy, counts.total);
        let told = format!("{}/{} done  {}", counts.done, counts.total, words.join(", "));
        lines.push(self.labelled("tasks", &format!("{bar}  {told}")));
        let (done, total) = view.critical_path;
        if total > 0 {
            let bar = self.bar(done as usize, 0, total as usize);
            let [done, total] = [done, total].map(about);
            lines.push(self.labelled("path", &format!("{bar}  {done} of {total}")));
        }
        lines.extend(view.gate.as_ref().map(|gate| self.labelled("gate", &plain(gate))));
        lines
    }

    fn labelled(&self, label: &str, text: &str) -> String {
        self.fit(&format!("{label:<6} {text}"), self.width).trim_end().to_owned()
    }

    /// What is done, what is under way, and the rest. Full only when everything is done.
    fn bar(&self, done: usize, busy: usize, total: usize) -> String {
        let width = if self.width < 80 { 12 } else { 20 };
        let signs = if self.unicode { ['█', '▒', '░'] } else { ['#', '=', '.'] };
        let cells = |amount: usize| (amount * width).checked_div(total).unwrap_or(0).min(width);
        let (full, half) = (cells(done), cells(done + busy));
        (0..width)
            .map(|cell| match cell {
                cell if cell < full => signs[0],
                cell if cell < half => signs[1],
                _ => signs[2],
            })
            .collect()
    }

    fn teammates(&self, rows: &[Row], room: usize) -> Vec<String> {
        if rows.is_empty() || room < 2 {
            return Vec::new();
        }
        // The title takes a line, and so does the count of those that do not fit.
        let shown = if rows.len() < room { rows.len() } else { room - 2 };
        let widest = |of: fn(&Row) -> &str, title: &str, most: usize| {
            let cells = rows.iter().map(|row| columns(&plain(of(row))));
            cells.chain([title.len()]).max().unwrap_or(0).min(most)
        };
        let name = widest(|row| &row.name, "NAME", 14);
        let state = widest(|row| &row.state_word, "STATE", 11);
        let left = self.width.saturating_sub(name + state + 6 + 4 + 4 * 2);
        // Two columns of a few letters each say less than one.
        let words = if left < 40 { 0 } else { left / 2 - 2 };
        let task = if words == 0 { left } else { left - words - 2 };
        let line = |cells: [&str; 6], paint: Paint| {
            let [who, is, done, since, on, said] = cells;
            let is = self.screen.paint(paint, &self.pad(is, state));
            let (who, on) = (self.pad(who, name), self.pad(on, task));
            let said = if words == 0 { String::new() } else { self.fit(said, words) };
            format!("{who}  {is}  {done:>4}  {since:>6}  {on}  {said}").trim_end().to_owned()
        };
        let titles = ["NAME", "STATE", "DONE", "FOR", "TASK", "LAST WORDS"];
        let mut lines = vec![line(titles, Paint::Plain)];
        for row in &rows[..shown] {
            let on = row.task.as_ref().map(|(id, subject)| format!("{id} {subject}"));
            let (done, since) = (row.tasks_done.to_string(), about(row.since.as_millis() as u64));
            let (on, said) = (on.as_deref().unwrap_or("-"), row.last_words.trim());
            lines.push(line(
                [&row.name, &row.state_word, &done, &since, on, said],
                state_paint(&row.state_word),
            ));
        }
        if shown < rows.len() {
            lines.push(format!("and {} more: shipmate teammate list", rows.len() - shown));
        }
        lines
    }

    fn waiting(&self, view: &RunView) -> Vec<String> {
        let shown = view.waiting.iter().take(WAITING_MAX);
        let mut lines: Vec<String> = shown
            .map(|what| what.lines().next().unwrap_or_default())
            .map(|what| self.fit(&format!("waits for you: {what}"), self.width))
            .map(|line| self.screen.paint(Paint::Busy, &line))
            .collect();
        if view.waiting.len() > WAITING_MAX {
            lines.push(format!("waits for you: {} more", view.waiting.len() - WAITING_MAX));
        }
        lines
    }

    /// Text of others that fits, in characters that the terminal has.
    fn fit(&self, text: &str, width: usize) -> String {
        let text = self.ascii(&plain(text));
        let fits = cut(&text, width);
        if self.unicode { fits.into_owned() } else { fits.replace('…', "~") }
    }

    fn pad(&self, text: &str, width: usize) -> String {
        let text = self.fit(text, width);
        let room = width.saturating_sub(columns(&text));
        text + &" ".repeat(room)
    }

    fn ascii(&self, text: &str) -> String {
        if self.unicode {
            return text.to_owned();
        }
        text.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect()
    }
}

fn state_paint(word: &str) -> Paint {
    match word {
        "active" | "working" => Paint::Good,
        "stalled" | "paused" | "starting" | "stopping" => Paint::Busy,
        "disappeared" | "failed" => Paint::Bad,
        _ => Paint::Dim,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: EventKind, text: &str, tally: Option<(usize, usize)>) -> Event {
        Event { at_ms: 43_381_000, kind, text: text.to_owned(), tally }
    }

    fn row(name: &str, state: &str, task: Option<(u32, &str)>, secs: u64, said: &str) -> Row {
        Row {
            name: name.to_owned(),
            state_word: state.to_owned(),
            task: task.map(|(id, subject)| (id, subject.to_owned())),
            since: Duration::from_secs(secs),
            last_words: said.to_owned(),
            tasks_done: 2,
        }
    }

    fn view() -> RunView {
        RunView {
            title: "Add search".to_owned(),
            team: "search".to_owned(),
            phase: None,
            tasks: TaskCounts {
                done: 4,
                in_progress: 2,
                submitted: 1,
                available: 1,
                blocked: 3,
                failed: 1,
                total: 12,
            },
            teammates: vec![
                row("ana", "active", Some((5, "Write the parser of queries")), 130, "cargo test …"),
                row("bo", "idle", None, 7, ""),
            ],
            critical_path: (300_000, 725_000),
            gate: Some("testing 2 submissions on top of 1f3a9c0".to_owned()),
            waiting: vec!["plan 12 of ana (shipmate plan list)".to_owned()],
            events: vec![event(EventKind::Step, "task 3 completed (ana)", Some((4, 12)))],
        }
    }

    fn live(width: usize, rows: usize, unicode: bool) -> Live {
        Live::new(Screen::of_width(Some(width)), rows, unicode).unwrap()
    }

    fn drawn(live: &mut Live, view: &RunView) -> String {
        let mut out = Vec::new();
        live.draw(&mut out, view).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_table_says_where_a_run_stands() {
        assert_eq!(
            drawn(&mut live(80, 24, true), &view()),
            "\
Add search  team search
tasks  ██████▒▒▒▒▒░░░░░░░░░  4/12 done  1 failed, 2 in progress, 1 submitted, 1…
path   ████████░░░░░░░░░░░░  5m00s of 12m05s
gate   testing 2 submissions on top of 1f3a9c0
NAME  STATE   DONE     FOR  TASK                        LAST WORDS
ana   active     2   2m10s  5 Write the parser of que…  cargo test …
bo    idle       2      7s  -
waits for you: plan 12 of ana (shipmate plan list)
12:03:01 task 3 completed (ana) 4/12
"
        );
    }

    #[test]
    fn a_narrow_terminal_without_unicode_gets_letters_only() {
        let text = drawn(&mut live(60, 24, false), &view());
        assert!(text.is_ascii(), "{text}");
        assert_eq!(
            text,
            "\
Add search  team search
tasks  ####===.....  4/12 done  1 failed, 2 in progress, 1 ~
path   ####........  5m00s of 12m05s
gate   testing 2 submissions on top of 1f3a9c0
NAME  STATE   DONE     FOR  TASK
ana   active     2   2m10s  5 Write the parser of queries
bo    idle       2      7s  -
waits for you: plan 12 of ana (shipmate plan list)
12:03:01 task 3 completed (ana) 4/12
"
        );
    }

    #[test]
    fn a_table_is_drawn_over_the_last_one_and_what_must_stay_stands_above_it() {
        let mut live = live(80, 24, true);
        let first = drawn(&mut live, &view());
        let events = vec![
            event(EventKind::Fallback, "no terminal for bo: one-shot agent", None),
            event(EventKind::Health, "bo disappeared\x1b[2J", None),
        ];
        let second = drawn(&mut live, &RunView { events, ..view() });
        let (up, rest) = second.split_at("\x1b[1A\x1b[2K".len() * first.lines().count());
        assert_eq!(up, "\x1b[1A\x1b[2K".repeat(9));
        let (above, table) = rest.split_at(rest.find("Add search").unwrap());
        assert_eq!(
            above,
            "12:03:01 [FALLBACK] no terminal for bo: one-shot agent\n\
             12:03:01 bo disappeared\\x1b[2J\n"
        );
        assert_eq!(table, first);
        let mut out = Vec::new();
        live.clear(&mut out).unwrap();
        assert_eq!(out, "\x1b[1A\x1b[2K".repeat(9).as_bytes());
        live.clear(&mut out).unwrap();
        assert_eq!(out.len(), 72, "there is nothing left to take away");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_no_table_higher() {
        let mut view = view();
        view.title = "漢字 ".repeat(60);
        view.team = "t".repeat(64);
        view.gate = Some("g".repeat(300));
        view.waiting = vec!["w".repeat(200); 9];
        view.teammates = (0..200)
            .map(|n| row(&format!("name-{n:060}"), "disappeared", Some((n, "漢字漢字")), 9, "x\ny"))
            .collect();
        view.teammates[3].last_words = "words ".repeat(90);
        for (width, rows) in [(60, 10), (61, 12), (79, 24), (80, 24), (200, 60), (500, 10)] {
            for unicode in [true, false] {
                let text = drawn(&mut live(width, rows, unicode), &view);
                assert!(text.lines().count() < rows, "{width}x{rows}:\n{text}");
                for line in text.lines() {
                    assert!(columns(line) <= width, "{width}: {line}");
                }
            }
        }
        let text = drawn(&mut live(100, 24, true), &view);
        assert!(text.contains("and 187 more: shipmate teammate list"), "{text}");
        assert!(text.contains("waits for you: 6 more"), "{text}");
        let empty = drawn(&mut live(80, 10, true), &RunView::default());
        assert!(empty.contains("tasks  ░░░░░░░░░░░░░░░░░░░░  0/0 done\n"), "{empty}");
    }

    #[test]
    fn without_a_terminal_there_is_a_line_per_event() {
        assert!(Live::new(Screen::of_width(None), 24, true).is_none());
        assert!(Live::new(Screen::of_width(Some(59)), 24, true).is_none());
        let mut view = view();
        view.events.push(event(EventKind::Fallback, "no teammate could be started", None));
        let mut out = Vec::new();
        write_plain(&mut out, &view.events).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "12:03:01 task 3 completed (ana) 4/12\n\
             12:03:01 [FALLBACK] no teammate could be started\n"
        );
    }

    #[test]
    fn the_first_locale_that_is_set_decides_about_unicode() {
        for (vars, unicode) in [
            (vec![("LANG", "de_DE.UTF-8")], true),
            (vec![("LANG", "C.utf8")], true),
            (vec![("LANG", "C")], false),
            (vec![], false),
            (vec![("LC_ALL", "C"), ("LANG", "en_US.UTF-8")], false),
            (vec![("LC_ALL", ""), ("LANG", "en_US.UTF-8")], true),
        ] {
            let get = |name: &str| {
                vars.iter().find(|(var, _)| *var == name).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(is_unicode(get), unicode, "{vars:?}");
        }
    }
}
