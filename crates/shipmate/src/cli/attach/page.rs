//! What an agent prints, shown so that it cannot be taken for shipmate's own words.
//!
//! Every line of the agent's stands behind a bar, as a message does in the inbox; what shipmate
//! says begins at the margin. With `--json` each chunk is an object.

use std::borrow::Cow;

use serde_json::json;

use crate::cli::failure::Failure;
use crate::cli::screen::{Paint, Screen, plain};
use crate::output::whole_characters;

#[derive(Debug)]
pub(super) struct Page {
    screen: Screen,
    /// The next character begins a line.
    fresh: bool,
    /// The beginning of a character whose other bytes were not printed yet.
    partial: Vec<u8>,
}

impl Page {
    pub(super) fn new(screen: Screen) -> Page {
        Page { screen, fresh: true, partial: Vec::new() }
    }

    /// Shows what `who` printed.
    pub(super) fn output(&mut self, who: &str, bytes: &[u8]) -> Result<(), Failure> {
        let mut bytes = [std::mem::take(&mut self.partial).as_slice(), bytes].concat();
        self.partial = bytes.split_off(whole_characters(&bytes));
        if bytes.is_empty() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&bytes);
        if self.screen.json {
            return self.screen.json(&json!({ "who": who, "text": text }));
        }
        let shown = self.behind_the_bar(&text);
        self.screen.print(&shown)
    }

    fn behind_the_bar(&mut self, text: &str) -> String {
        // A bar that is drawn over and over again becomes lines.
        let text = text.replace("\r\n", "\n").replace('\r', "\n").replace('\t', "    ");
        let mut shown = String::with_capacity(text.len() + 64);
        for line in text.split_inclusive('\n') {
            if self.fresh {
                shown.push_str("│ ");
            }
            self.fresh = line.ends_with('\n');
            shown.push_str(&plain(line.trim_end_matches('\n')));
            if self.fresh {
                shown.push('\n');
            }
        }
        shown
    }

    /// Says what happened to a teammate, or to something that was typed.
    pub(super) fn say(&mut self, who: &str, event: &str, detail: &str) -> Result<(), Failure> {
        if self.screen.json {
            return self.screen.json(&json!({ "who": who, "event": event, "detail": detail }));
        }
        let detail = match detail {
            "" => Cow::Borrowed(""),
            detail => Cow::Owned(format!(": {}", plain(detail))),
        };
        let words = self.screen.paint(Paint::Bold, &format!("{} {event}{detail}", plain(who)));
        let begin = if std::mem::replace(&mut self.fresh, true) { "" } else { "\n" };
        self.screen.print(&format!("{begin}{words}\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_prints_stays_behind_the_bar() {
        let mut page = Page::new(Screen::of_width(None));
        assert_eq!(page.behind_the_bar("one\r\ntwo"), "│ one\n│ two");
        assert_eq!(page.behind_the_bar(" and\rana@1 stopped\n"), " and\n│ ana@1 stopped\n");
        assert_eq!(page.behind_the_bar("\x1b[2J\n\n"), "│ \\x1b[2J\n│ \n");
    }

    #[test]
    fn a_character_is_shown_when_it_is_whole() {
        let text = "grüße".as_bytes();
        assert_eq!(whole_characters(&text[..3]), 2);
        assert_eq!(whole_characters(text), text.len());
        assert_eq!(whole_characters(b"\xff\xfe"), 2);
        assert_eq!(whole_characters(b"\xff\xe6\xbc"), 1);
    }
}
