//! `read_file`: a file's lines with their numbers, or what a folder holds.
//!
//! A file is streamed: one that is far too large costs time, never memory. What was read is
//! remembered by its digest, so that an edit of something that changed since can be refused.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::grounds::Grounds;
use super::output::{grouped, readable};

const LINES_MAX: u64 = 2_000;
const LINE_CHARS_MAX: usize = 2_000;
const ENTRIES_MAX: usize = 500;
const WITHIN: Duration = Duration::from_secs(10);
const PEEKED_BYTES: usize = 8 * 1024;
/// Larger ones can be read, and are not edited.
pub(super) const EDITED_BYTES_MAX: u64 = 10 * 1024 * 1024;

/// The content of a file at some time.
pub(super) type Print = [u8; 32];

pub(super) fn print(content: &[u8]) -> Print {
    Sha256::digest(content).into()
}

#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) path: PathBuf,
    /// The first line is 1.
    pub(super) offset: u64,
    pub(super) limit: Option<u64>,
    pub(super) bytes_max: usize,
}

#[derive(Debug)]
pub(super) struct Page {
    pub(super) text: String,
    /// What was read, by its path without links; none for a folder and for what is too large.
    pub(super) seen: Option<(PathBuf, Print)>,
}

pub(super) fn read(grounds: &Grounds, wanted: &Wanted) -> Result<Page, String> {
    let facts =
        fs::metadata(&wanted.path).map_err(|error| missing(grounds, &wanted.path, &error))?;
    if facts.is_dir() {
        return Ok(Page { text: listing(grounds, &wanted.path)?, seen: None });
    }
    let shown = grounds.shown(&wanted.path);
    let opened = grounds.open_to_read(&wanted.path)?;
    let failed = |error| format!("{shown} could not be read: {error}");
    let mut file = BufReader::with_capacity(PEEKED_BYTES, opened.file);
    if file.fill_buf().map_err(failed)?.contains(&0) {
        let size = grouped(opened.facts.len());
        return Err(format!(
            "{shown} is a binary file of {size} bytes: read_file shows text only. Look at it \
             through bash (file, xxd, strings)"
        ));
    }
    if opened.facts.len() > EDITED_BYTES_MAX {
        return Ok(Page { text: page(&shown, &mut file, wanted, Rest::Left)?, seen: None });
    }
    let mut content = Vec::new();
    file.take(EDITED_BYTES_MAX).read_to_end(&mut content).map_err(failed)?;
    let text = page(&shown, &mut content.as_slice(), wanted, Rest::Counted)?;
    Ok(Page { text, seen: Some((opened.real, print(&content))) })
}

/// What is done with the lines after those that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    Counted,
    Left,
}

/// The lines that are wanted, and how to go on.
fn page(
    shown: &str,
    file: &mut impl BufRead,
    wanted: &Wanted,
    rest: Rest,
) -> Result<String, String> {
    let until = Instant::now() + WITHIN;
    let first = wanted.offset.max(1);
    let most = wanted.limit.unwrap_or(LINES_MAX).clamp(1, LINES_MAX);
    let (mut text, mut number, mut shown_to) = (String::new(), 0, 0);
    let (mut returns, mut full) = (0, false);
    let mut line = Vec::new();
    loop {
        line.clear();
        // A line may be as long as the file: what is over is read and not kept.
        let (length, ended) = next_line(file, &mut line, 4 * LINE_CHARS_MAX)
            .map_err(|error| format!("{shown} could not be read: {error}"))?;
        if length == 0 {
            break;
        }
        number += 1;
        if Instant::now() > until {
            let within = WITHIN.as_secs();
            return Err(format!(
                "{shown} is too large to be read up to line {number} in {within} s: use bash (sed \
                 -n, tail)"
            ));
        }
        if full && rest == Rest::Left {
            break;
        }
        if number < first || full {
            continue;
        }
        if line.ends_with(b"\r") && ended {
            line.pop();
            returns += 1;
        }
        let words = cut_line(&readable(&line), length);
        if number >= first + most || text.len() + words.len() > wanted.bytes_max {
            full = true;
            if shown_to > 0 {
                continue;
            }
        }
        let _ = writeln!(text, "{number}\t{words}");
        shown_to = number;
    }
    if number == 0 {
        return Ok(format!("[{shown} is empty]"));
    }
    if shown_to == 0 {
        return Err(format!("{shown} has {number} lines: there is no line {first}"));
    }
    if shown_to < number {
        let of = match rest {
            Rest::Counted => format!("of {number}"),
            Rest::Left => "of many".to_owned(),
        };
        let next = shown_to + 1;
        let _ = write!(text, "[lines {first} to {shown_to} {of}: read on with offset {next}]");
    } else if first > 1 {
        let _ = write!(text, "[the end: {number} lines]");
    }
    if returns > 0 {
        text.push_str("[its lines end in CR LF; edits keep that]");
    }
    Ok(text)
}

/// Reads a line, keeps at most `kept_max` bytes of it without its end, and tells how long it is
/// and whether it has an end.
fn next_line(
    file: &mut impl BufRead,
    kept: &mut Vec<u8>,
    kept_max: usize,
) -> std::io::Result<(usize, bool)> {
    let mut length = 0;
    loop {
        let chunk = file.fill_buf()?;
        if chunk.is_empty() {
            return Ok((length, false));
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        kept.extend_from_slice(&part[..part.len().min(kept_max - kept.len())]);
        let used = end.map_or(chunk.len(), |end| end + 1);
        length += used;
        file.consume(used);
        if end.is_some() {
            return Ok((length, true));
        }
    }
}

fn cut_line(line: &str, bytes: usize) -> String {
    match line.char_indices().nth(LINE_CHARS_MAX) {
        None => line.to_owned(),
        Some((at, _)) => {
            let over = grouped(bytes.saturating_sub(at) as u64);
            format!("{}[… {over} more bytes in this line: see bash, cut -c]", &line[..at])
        }
    }
}

fn listing(grounds: &Grounds, path: &Path) -> Result<String, String> {
    let real = grounds.folder_to_read(path)?;
    let shown = grounds.shown(path);
    let failed = |error| format!("{shown} could not be read: {error}");
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(&real).map_err(failed)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type();
        names.push(match kind {
            Ok(kind) if kind.is_dir() => format!("{name}/"),
            Ok(kind) if kind.is_symlink() => {
                let to = fs::read_link(entry.path()).unwrap_or_default();
                format!("{name} -> {}", to.display())
            }
            _ => name,
        });
    }
    names.sort();
    let all = names.len();
    names.truncate(ENTRIES_MAX);
    let mut text = format!("{shown} is a folder of {all} entries:\n{}", names.join("\n"));
    if all > names.len() {
        let _ = write!(text, "\n[{} more: narrow them with glob]", all - names.len());
    }
    Ok(text)
}

/// Why there is nothing, and what there is that has nearly that name.
pub(super) fn missing(grounds: &Grounds, path: &Path, error: &std::io::Error) -> String {
    let shown = grounds.shown(path);
    if error.kind() != std::io::ErrorKind::NotFound {
        return format!("{shown} could not be read: {error}");
    }
    if path.symlink_metadata().is_ok() {
        return format!("{shown} is a link to nothing");
    }
    let folder = path.ancestors().skip(1).find(|folder| folder.is_dir());
    let folder = folder.unwrap_or(Path::new("/"));
    // The first part of the path that is not there.
    let rest = path.strip_prefix(folder).unwrap_or(path);
    let name = rest.iter().next().unwrap_or_default().to_string_lossy().into_owned();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(10_000);
    let mut near: Vec<(usize, String)> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter_map(|entry| Some((distance(&name, &entry)?, entry)))
        .collect();
    near.sort();
    let near: Vec<String> =
        near.iter().take(3).map(|(_, name)| grounds.shown(&folder.join(name))).collect();
    match near.as_slice() {
        [] => format!("{shown} does not exist: look for it with glob"),
        near => format!("{shown} does not exist; near it there is {}", near.join(", ")),
    }
}

/// How far two names are apart; none when it is too far.
fn distance(one: &str, other: &str) -> Option<usize> {
    let (one, other) = (one.to_lowercase(), other.to_lowercase());
    if one.len() > 100 || other.len() > 100 {
        return None;
    }
    if one.len() > 2 && (other.contains(&one) || (other.len() > 2 && one.contains(&other))) {
        return Some(1);
    }
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (to, against) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *against);
            diagonal = row[to + 1];
            row[to + 1] = replaced.min(diagonal + 1).min(row[to] + 1);
        }
    }
    row.last().copied().filter(|apart| *apart <= 2 && *apart * 2 < one.len().max(2))
}
