//! Standard output: text or JSON, colour where it helps, and nothing a peer could forge.
//!
//! Whatever came from a teammate is shown through [`plain`] or [`plain_lines`]: a subject or a
//! message with escape sequences could otherwise move the cursor, hide lines or set the title of
//! the terminal of whoever reads it. Colour repeats what a word says and never replaces it.

use std::io::{ErrorKind, IsTerminal, Write};

use serde::Serialize;

use crate::cli::failure::Failure;

pub(crate) use crate::plain::{columns, counted, cut, first_line, hanging, plain, plain_lines};

/// How a command shows what it found.
#[derive(Debug, Clone)]
pub(crate) struct Screen {
    pub(crate) json: bool,
    colour: bool,
    /// Columns of the terminal; `None` when the output goes elsewhere and nothing is cut.
    pub(crate) width: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Dim,
    Bold,
    Good,
    Busy,
    Bad,
}

impl Paint {
    fn code(self) -> &'static str {
        match self {
            Paint::Plain => "",
            Paint::Dim => "2",
            Paint::Bold => "1",
            Paint::Good => "32",
            Paint::Busy => "33",
            Paint::Bad => "31",
        }
    }
}

impl Screen {
    pub(crate) fn new(json: bool) -> Screen {
        let terminal = std::io::stdout().is_terminal();
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let width = terminal.then(|| {
            let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
            size.map_or(80, |size| usize::from(size.ws_col).max(40))
        });
        Screen { json, colour: terminal && !no_colour && !dumb, width }
    }

    /// Neither colour nor JSON, wherever the test runs.
    #[cfg(test)]
    pub(crate) fn of_width(width: Option<usize>) -> Screen {
        Screen { json: false, colour: false, width }
    }

    /// One write: the system gets whole lines, and ten thousand of them at once.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(unwritten)
    }

    pub(crate) fn line(&self, text: &str) -> Result<(), Failure> {
        self.print(&format!("{text}\n"))
    }

    /// One JSON document on one line.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), Failure> {
        let mut text = serde_json::to_string(value)
            .map_err(|e| Failure::Bug(format!("a view is not JSON: {e}")))?;
        text.push('\n');
        self.print(&text)
    }

    /// A heading, and below it somebody's words: each line of theirs is marked.
    pub(crate) fn quote(&self, head: &str, words: &str) -> String {
        let lines =
            plain_lines(words).lines().map(|line| format!("│ {line}\n")).collect::<String>();
        format!("{}\n{lines}", self.paint(Paint::Bold, head))
    }

    pub(crate) fn paint(&self, paint: Paint, text: &str) -> String {
        if !self.colour || paint == Paint::Plain || text.is_empty() {
            return text.to_owned();
        }
        format!("\x1b[{}m{text}\x1b[0m", paint.code())
    }
}

fn unwritten(e: std::io::Error) -> Failure {
    match e.kind() {
        ErrorKind::BrokenPipe => Failure::PipeClosed,
        _ => Failure::Storage(format!("standard output cannot be written: {e}")),
    }
}

/// How a task's status is coloured.
pub(crate) fn status_paint(status: &str) -> Paint {
    match status {
        "completed" => Paint::Good,
        "in_progress" => Paint::Busy,
        "failed" => Paint::Bad,
        "deleted" => Paint::Dim,
        _ => Paint::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_peer_wrote_cannot_drive_the_terminal() {
        for (text, shown) in [
            ("plain", "plain"),
            ("grüße 漢字", "grüße 漢字"),
            ("\x1b[2J\x07", "\\x1b[2J\\x07"),
            ("a\r\nrefused: b", "a\\r\\nrefused: b"),
            ("\u{9b}31m", "\\x9b31m"),
            ("a\u{202e}b", "a\\u{202e}b"),
        ] {
            assert_eq!(plain(text), shown);
        }
        assert_eq!(plain_lines("a\n\tb\x1b"), "a\n    b\\x1b");
        assert_eq!(hanging("a\nrefused: b\n", 2), "a\n  refused: b");
    }

    #[test]
    fn a_cut_text_fits_and_shows_that_it_was_cut() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(cut("abcdef", 0), "");
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
    }

    #[test]
    fn a_text_takes_as_many_columns_as_a_terminal_gives_it() {
        // Wide, combining, Hebrew points and Hangul vowels, a flag of two letters, a sign that a
        // selector makes a picture, and signs that are pictures by themselves.
        for (text, width) in [
            ("grüße", 5),
            ("漢字", 4),
            ("e\u{301}", 1),
            ("ש\u{5b8}", 1),
            ("\u{1112}\u{1161}", 2),
            ("🇩🇪", 2),
            ("❤\u{fe0f}", 2),
            ("✅⌛", 4),
            ("✓✗…", 3),
        ] {
            assert_eq!(columns(text), width, "{text}");
        }
    }
}
