//! How a run looks while it lasts: a table that is drawn over itself on a terminal, or one line
//! per event anywhere else.
//!
//! Pure rendering: it is given a view and writes text, and has no clock of its own. A line is
//! never wider than the terminal and the table never higher, because either would leave remains of
//! old tables behind. A terminal that became narrower has wrapped the lines of the last table: they
//! are counted as they lie there now. What a person has to know even after the table is gone
//! (health, fallbacks) is printed above it and stays.

mod parts;

use std::collections::VecDeque;
use std::io::{self, Write};

use shipmate_protocol::view::PhaseView;

use crate::cli::screen::{Paint, Screen, columns, hanging};
use crate::time::time_of_day;

/// Narrower than this there is no table.
const COLUMNS_MIN: usize = 60;
const RECENT_MAX: usize = 3;
/// A terminal that was made smaller than this gets its table cut.
const ROWS_LEAST: usize = 3;

/// A run at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunView {
    pub(crate) title: String,
    pub(crate) team: String,
    /// What comes after `shipmate` in a command about this workspace.
    pub(crate) here: String,
    /// Where it is in its playbook.
    pub(crate) phase: Option<String>,
    /// The phases of its playbook and of its departments', in their order.
    pub(crate) phases: Vec<TeamPhases>,
    pub(crate) tasks: TaskCounts,
    pub(crate) teammates: Vec<Row>,
    /// Milliseconds of the longest path: behind us, and altogether.
    pub(crate) critical_path: (u64, u64),
    /// What the merge queue does now.
    pub(crate) gate: Option<String>,
    /// The team is being ended, and waits for this.
    pub(crate) stopping: Option<String>,
    /// Decisions that wait for the person.
    pub(crate) waiting: Vec<Waiting>,
    /// The page that shows it, where one is served.
    pub(crate) link: Option<String>,
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
    pub(crate) state_word: &'static str,
    pub(crate) task: Option<(u32, String)>,
    pub(crate) since_ms: u64,
    pub(crate) last_words: String,
    pub(crate) tasks_done: usize,
}

/// The name of a department, or none for the run's own team; and its phases.
pub(crate) type TeamPhases = (Option<String>, Vec<PhaseView>);

/// Something that waits for a person, and the words that decide it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// The record that asks.
    pub(crate) id: u64,
    pub(crate) what: String,
    /// The command after `shipmate --team …`.
    pub(crate) command: String,
    /// What may be said instead.
    pub(crate) instead: String,
    /// The team to act on, where it is not the run's own.
    pub(crate) team: Option<String>,
    /// Whoever it waits for may not know: they are called.
    pub(crate) calls: bool,
    /// Who asked.
    pub(crate) who: String,
    /// The work that was handed in and waits for it.
    pub(crate) task: Option<u32>,
    /// A lead may decide it too.
    pub(crate) for_lead: bool,
    /// Whoever asked may go on with something else meanwhile.
    pub(crate) may_go_on: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventKind {
    Step,
    /// A teammate disappeared, was restarted, stalls.
    Health,
    /// Something was done in another way than asked; its text is the reason.
    Fallback,
}

/// What a person hears of a record.
pub(super) type EventText = Option<(EventKind, String)>;

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
    /// The table that is on the screen now: the columns of each of its lines.
    drawn: Vec<usize>,
    recent: VecDeque<String>,
}

impl Live {
    /// Nothing where there is no terminal, or one too small: then events go out as lines.
    pub(crate) fn new(screen: Screen, rows: usize, unicode: bool) -> Option<Live> {
        const ROWS_MIN: usize = 10;
        let width = screen.width.filter(|width| *width >= COLUMNS_MIN && rows >= ROWS_MIN)?;
        Some(Live { screen, width, rows, unicode, drawn: Vec::new(), recent: VecDeque::new() })
    }

    /// The terminal has another size now; the next table has it too.
    pub(crate) fn resize(&mut self, width: usize, rows: usize) {
        (self.width, self.rows) = (width.max(1), rows.max(ROWS_LEAST));
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
        self.drawn = table.iter().map(|line| visible(line)).collect();
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

    /// Up to the first line of the table, wherever a narrower terminal has put it, and everything
    /// from there on cleared.
    fn erase(&mut self) -> String {
        let lines = std::mem::take(&mut self.drawn);
        let rows: usize = lines.iter().map(|columns| columns.div_ceil(self.width).max(1)).sum();
        // What has left the screen cannot be cleared.
        match rows.min(self.rows.saturating_sub(1)) {
            0 => String::new(),
            rows => format!("\x1b[{rows}A\r\x1b[J"),
        }
    }

    /// What says most comes first where there is little room; on the screen it stands in the order
    /// in which it is read.
    fn table(&self, view: &RunView) -> Vec<String> {
        let most = self.rows - 1;
        let mut lines = self.head(view);
        lines.truncate(most);
        let mut waiting = self.waiting(view);
        waiting.truncate((most - lines.len()).div_ceil(2));
        let mut phases = self.phases(view);
        phases.truncate((most - lines.len() - waiting.len()).div_ceil(2));
        lines.extend(phases);
        lines.extend(self.teammates(&view.teammates, most - lines.len() - waiting.len()));
        lines.extend(waiting);
        let room = (most - lines.len()).min(self.recent.len());
        let recent = self.recent.iter().skip(self.recent.len() - room);
        lines.extend(recent.map(|line| self.screen.paint(Paint::Dim, &self.fit(line, self.width))));
        lines
    }
}

/// Columns that a line takes, without its colours and links.
fn visible(line: &str) -> usize {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, escape)) = rest.split_once('\x1b') {
        shown.push_str(before);
        rest = match escape.strip_prefix(']') {
            Some(link) => link.split_once("\x1b\\").map_or("", |(_, rest)| rest),
            None => escape.split_once('m').map_or("", |(_, rest)| rest),
        };
    }
    columns(&shown) + columns(rest)
}

#[cfg(test)]
mod tests;
