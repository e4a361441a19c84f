//! Text of others on a screen: nothing in it can hide, reorder or overwrite what stands beside it.

use std::borrow::Cow;

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
