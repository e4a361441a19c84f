//! Standard output: text or JSON, colour where it helps, and nothing a peer could forge.
//!
//! Whatever came from a teammate is shown through [`plain`] or [`plain_lines`]: a subject or a
//! message with escape sequences could otherwise move the cursor, hide lines or set the title of
//! the terminal of whoever reads it. Colour repeats what a word says and never replaces it.

use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};

use serde::Serialize;

use crate::cli::failure::Failure;

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

/// Text of others on one line: control characters are shown as escapes, and nothing can
/// reorder or hide what stands beside it.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|b| (0x20..0x7f).contains(&b)) || !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            _ if !is_unsafe(c) => safe.push(c),
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            '\r' => safe.push_str("\\r"),
            c if (c as u32) < 0x100 => safe.push_str(&format!("\\x{:02x}", c as u32)),
            c => safe.push_str(&format!("\\u{{{:x}}}", c as u32)),
        }
    }
    Cow::Owned(safe)
}

/// The same for text that keeps its lines and tabs.
pub(crate) fn plain_lines(text: &str) -> String {
    let lines = text.split('\n').map(|line| plain(&line.replace('\t', "    ")).into_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// The same with every line after the first set in: nobody's words look like a line of ours.
pub(crate) fn hanging(text: &str, indent: usize) -> String {
    let lines = plain_lines(text.trim_end());
    lines.replace('\n', &format!("\n{:indent$}", ""))
}

fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || c == '\u{feff}'
}

/// Columns a text takes: wide characters count twice, combining ones not at all.
pub(crate) fn columns(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char_columns).sum() }
}

fn char_columns(c: char) -> usize {
    match c as u32 {
        0x300..=0x36f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// The beginning of a text that fits, with `…` where something was left out.
pub(crate) fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if columns(text) <= width {
        return Cow::Borrowed(text);
    }
    let mut kept = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += char_columns(c);
        if used + 1 > width {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    Cow::Owned(kept)
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
        assert_eq!(columns("漢字"), 4);
    }
}
