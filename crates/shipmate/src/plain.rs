//! Text of others on a screen: nothing in it can hide, reorder or overwrite what stands beside it.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

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

/// Columns that a text takes, counted by what is drawn as one character.
pub(crate) fn columns(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { graphemes(text).map(|(_, columns)| columns).sum() }
}

/// What is drawn as one character, with its columns: a letter with its accents, an emoji of several.
pub(crate) fn graphemes(text: &str) -> impl Iterator<Item = (&str, usize)> {
    text.graphemes(true).map(|part| (part, part.width()))
}

pub(crate) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The beginning of a text that fits, with `…` where something was left out.
pub(crate) fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if columns(text) <= width {
        return Cow::Borrowed(text);
    }
    let mut kept = String::new();
    let mut used = 0;
    for (part, columns) in graphemes(text) {
        used += columns;
        if used + 1 > width {
            break;
        }
        kept.push_str(part);
    }
    if width > 0 {
        kept.push('…');
    }
    Cow::Owned(kept)
}

/// `1 run`, `3 runs`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// As a shell takes it for one word.
pub(crate) fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:+".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
