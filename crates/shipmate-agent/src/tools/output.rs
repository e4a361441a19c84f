//! What a model is shown of an output: readable, and never more than it may be.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// A number as people write it.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().map(ascii).collect();
    groups.join(",")
}

fn ascii(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("digits are ASCII")
}

/// Text without what only a terminal understands; bytes that are none are replaced.
pub(super) fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut clean = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\n' | '\t' => clean.push(letter),
            '\r' if letters.peek() == Some(&'\n') => {}
            '\r' => clean.push('\n'),
            '\x1b' => skip_sequence(&mut letters),
            '\x08' => drop(clean.pop()),
            letter if letter.is_control() => clean.push(char::REPLACEMENT_CHARACTER),
            letter => clean.push(letter),
        }
    }
    clean
}

/// An escape sequence: `ESC [ … letter`, `ESC ] … BEL`, or `ESC` and one letter.
fn skip_sequence(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match letters.next() {
        Some('[') => {
            while letters.next_if(|letter| !('@'..='~').contains(letter)).is_some() {}
            letters.next();
        }
        Some(']') => {
            while letters.next_if(|letter| *letter != '\x07' && *letter != '\x1b').is_some() {}
            letters.next();
        }
        _ => {}
    }
}

/// A text that was made here, cut to what may be shown.
pub(super) fn cut(text: String, bytes_max: usize, remedy: &str) -> String {
    if text.len() <= bytes_max {
        return text;
    }
    let end = text.floor_char_boundary(bytes_max);
    let end = text[..end].rfind('\n').map_or(end, |at| at + 1);
    format!("{}[{} more bytes: {remedy}]", &text[..end], grouped((text.len() - end) as u64))
}

/// What a program printed, as it was kept: its beginning in one file, and in a second what came
/// last, where there was too much for the first.
#[derive(Debug, Clone)]
pub(super) struct Printed {
    pub(super) path: PathBuf,
}

/// What is shown of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) text: String,
    /// Nothing was left out.
    pub(super) whole: bool,
}

impl Printed {
    fn more(&self) -> PathBuf {
        self.path.with_added_extension("more")
    }

    pub(super) fn shown(&self, bytes_max: usize) -> Shown {
        let size = |path: &Path| path.metadata().map_or(0, |found| found.len());
        let (first, last) = (size(&self.path), size(&self.more()));
        let most = bytes_max as u64;
        if first + last <= most {
            let mut bytes = part(&self.path, 0, first).unwrap_or_default();
            bytes.extend(part(&self.more(), 0, last).unwrap_or_default());
            return Shown { text: readable(&bytes), whole: true };
        }
        let half = most / 2;
        let head = part(&self.path, 0, half).unwrap_or_default();
        let in_last = half.min(last);
        let in_first = half - in_last;
        let mut tail =
            part(&self.path, first.saturating_sub(in_first), in_first).unwrap_or_default();
        tail.extend(part(&self.more(), last - in_last, in_last).unwrap_or_default());
        let left_out = grouped(first + last - (head.len() + tail.len()) as u64);
        let files = match last {
            0 => self.path.display().to_string(),
            _ => format!("{}, and its end {}", self.path.display(), self.more().display()),
        };
        let text = format!(
            "{}\n[{left_out} bytes left out here; the whole output: {files}. Read it with \
             read_file or grep]\n{}",
            until_line_end(&readable(&head)),
            from_line_start(&readable(&tail))
        );
        Shown { text, whole: false }
    }

    pub(super) fn remove(&self) {
        for path in [&self.path, &self.more()] {
            // A file that stays is only in the way.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// How far a cut may be moved to the end of a line.
const MOVED_BYTES_MAX: usize = 400;

fn until_line_end(text: &str) -> &str {
    let end = text.rfind('\n').filter(|at| text.len() - at < MOVED_BYTES_MAX);
    &text[..end.unwrap_or(text.len())]
}

fn from_line_start(text: &str) -> &str {
    let start = text.find('\n').filter(|at| *at < MOVED_BYTES_MAX);
    &text[start.map_or(0, |at| at + 1)..]
}

fn part(path: &Path, from: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if length > 0 {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(from))?;
        file.take(length).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
