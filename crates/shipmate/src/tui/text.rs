//! Text in columns: what fits, what is cut, where lines break.
//!
//! Everything that others wrote comes through [`safe`] first: it cannot drive the terminal. Widths
//! are those that the screen itself counts with, so that a wide character never breaks a column.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::plain::{graphemes, plain};

pub(super) use crate::plain::columns as width;

/// Text of others on one line.
pub(super) fn safe(text: &str) -> String {
    plain(text).into_owned()
}

/// The beginning that fits, with `…` where something was left out.
pub(super) fn cut(text: &str, columns: usize) -> String {
    crate::plain::cut(text, columns).into_owned()
}

/// Exactly so many columns.
pub(super) fn fit(text: &str, columns: usize) -> String {
    let mut text = cut(text, columns);
    let used = width(&text);
    text.extend(std::iter::repeat_n(' ', columns.saturating_sub(used)));
    text
}

/// Exactly so many columns, with the text at the right.
pub(super) fn fit_right(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    let pad = columns.saturating_sub(width(&text));
    format!("{:pad$}{text}", "")
}

/// Lines of others that each fit, broken between words where that is possible.
pub(super) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(4);
    let mut lines = Vec::new();
    for line in text.trim_end_matches('\n').split('\n') {
        let line = safe(&line.trim_end_matches('\r').replace('\t', "    "));
        if width(&line) <= columns {
            lines.push(line);
        } else {
            wrap_line(&line, columns, &mut lines);
        }
    }
    lines
}

fn wrap_line(line: &str, columns: usize, lines: &mut Vec<String>) {
    let (mut now, mut used) = (String::new(), 0);
    for word in line.split_inclusive(' ') {
        let wide = width(word.trim_end_matches(' '));
        if used > 0 && used + wide > columns {
            lines.push(std::mem::take(&mut now).trim_end().to_owned());
            used = 0;
        }
        for (part, wide) in graphemes(word) {
            if used + wide > columns {
                if part == " " {
                    continue;
                }
                lines.push(std::mem::take(&mut now));
                used = 0;
            }
            now.push_str(part);
            used += wide;
        }
    }
    if !now.is_empty() {
        lines.push(now.trim_end().to_owned());
    }
}

/// A line of columns, one after the other.
#[derive(Debug, Default)]
pub(super) struct Columns(Vec<Span<'static>>);

impl Columns {
    /// A column of this width and a blank.
    pub(super) fn column(mut self, text: &str, columns: usize, style: Style) -> Columns {
        self.0.push(Span::styled(fit(text, columns), style));
        self.0.push(Span::raw(" "));
        self
    }

    pub(super) fn right(mut self, text: &str, columns: usize, style: Style) -> Columns {
        self.0.push(Span::styled(fit_right(text, columns), style));
        self.0.push(Span::raw(" "));
        self
    }

    /// As wide as it is.
    pub(super) fn word(mut self, text: impl Into<String>, style: Style) -> Columns {
        self.0.push(Span::styled(text.into(), style));
        self
    }

    pub(super) fn width(&self) -> usize {
        self.0.iter().map(|span| width(&span.content)).sum()
    }

    pub(super) fn line(self) -> Line<'static> {
        Line::from(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_fits_whatever_its_characters() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(fit("漢字漢字", 6), "漢字… ");
        assert_eq!(fit_right("7", 3), "  7");
        assert_eq!(cut("abc", 0), "");
    }

    #[test]
    fn lines_break_between_words_and_long_words_anywhere() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("a\n\n  b", 8), ["a", "", "  b"]);
        assert_eq!(wrap("漢字漢字", 5), ["漢字", "漢字"]);
        assert_eq!(wrap("x\x1b[2Jy", 20), ["x\\x1b[2Jy"]);
    }
}
