//! `write_file` and `edit_file`: whole or not at all.
//!
//! What must hold: a file that another changed is never overwritten unread; a reader sees the
//! old content or the new one; mode and line endings stay. A new file takes the place of the old
//! one: what shares its inode by a hard link keeps the old content.

use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;

use rustix::fs::{AtFlags, Mode, OFlags};

use super::grounds::Target;
use super::output::grouped;
use super::read::EDITED_BYTES_MAX;

/// How many places an answer names.
const PLACES_MAX: usize = 10;

/// A file as it is now.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) content: Vec<u8>,
    mode: u32,
}

/// None where there is no file.
pub(super) fn current(target: &Target, shown: &str) -> Result<Option<Current>, String> {
    let failed = |error: io::Error| format!("{shown} could not be read: {error}");
    let Some(file) = target.open().map_err(failed)? else { return Ok(None) };
    let facts = file.metadata().map_err(failed)?;
    if facts.len() > EDITED_BYTES_MAX {
        return Err(format!(
            "{shown} has {} bytes, more than the {} that this tool edits: use bash",
            grouped(facts.len()),
            grouped(EDITED_BYTES_MAX)
        ));
    }
    let mut content = Vec::new();
    file.take(EDITED_BYTES_MAX).read_to_end(&mut content).map_err(failed)?;
    Ok(Some(Current { content, mode: facts.permissions().mode() & 0o7777 }))
}

/// Puts the content in place, with the mode of what was there.
pub(super) fn put(target: &Target, content: &[u8], before: Option<&Current>) -> io::Result<()> {
    let folder = target.folder()?;
    let mut random = [0; 8];
    getrandom::fill(&mut random).expect("the system gives random bytes");
    let name = format!(".shipmate-{:016x}.tmp", u64::from_ne_bytes(random));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o666);
    let mut file = File::from(rustix::fs::openat(&folder, &name, flags, mode)?);
    let mut written = || -> io::Result<()> {
        file.write_all(content)?;
        if let Some(before) = before {
            file.set_permissions(Permissions::from_mode(before.mode))?;
        }
        Ok(rustix::fs::renameat(&folder, &name, &folder, target.name())?)
    };
    written().inspect_err(|_| {
        let _ = rustix::fs::unlinkat(&folder, &name, AtFlags::empty());
    })
}

/// The whole new content, with the line endings of the old one.
pub(super) fn like_before(content: &str, before: &Current) -> Vec<u8> {
    match str::from_utf8(&before.content) {
        Ok(old) if ends_in_crlf(old) && !content.contains('\r') => {
            content.replace('\n', "\r\n").into_bytes()
        }
        _ => content.as_bytes().to_vec(),
    }
}

fn ends_in_crlf(text: &str) -> bool {
    let ends = text.matches('\n').count();
    ends > 0 && text.matches("\r\n").count() == ends
}

/// A text with one part of it exchanged, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Edited {
    pub(super) content: Vec<u8>,
    pub(super) lines: Vec<usize>,
}

pub(super) fn edit(
    before: &[u8],
    old: &str,
    new: &str,
    replace_all: bool,
    shown: &str,
) -> Result<Edited, String> {
    if old.is_empty() {
        return Err(format!("old_string is empty: give the text of {shown} that is to go"));
    }
    if old == new {
        return Err("old_string and new_string are the same: nothing would change".to_owned());
    }
    // What is not UTF-8 is edited byte by byte, each as a character of its own.
    let (mut text, mut old, mut new) = match str::from_utf8(before) {
        Ok(text) => (text.to_owned(), old.to_owned(), new.to_owned()),
        Err(_) => (widened(before), widened(old.as_bytes()), widened(new.as_bytes())),
    };
    let is_utf8 = text.as_bytes() == before;
    if ends_in_crlf(&text) {
        old = old.replace("\r\n", "\n").replace('\n', "\r\n");
        new = new.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    let places: Vec<usize> = text.match_indices(&old).map(|(at, _)| at).collect();
    let lines: Vec<usize> = places.iter().map(|at| line_of(&text, *at)).collect();
    match lines.as_slice() {
        [] => return Err(nowhere(&text, &old, shown)),
        [_] => {}
        _ if replace_all => {}
        lines => {
            let named: Vec<String> = lines.iter().take(PLACES_MAX).map(usize::to_string).collect();
            let more = if lines.len() > PLACES_MAX { ", …" } else { "" };
            return Err(format!(
                "old_string is {} times in {shown}, at lines {}{more}: take in more of the text \
                 around it, or set replace_all",
                lines.len(),
                named.join(", ")
            ));
        }
    }
    text = text.replace(&old, &new);
    let content = if is_utf8 { text.into_bytes() } else { narrowed(&text) };
    Ok(Edited { content, lines })
}

fn widened(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

fn narrowed(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(letter).expect("each was a byte")).collect()
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Why the text is not found: the nearest there is, where that is cheap to say.
fn nowhere(text: &str, old: &str, shown: &str) -> String {
    let fact = format!("old_string is not in {shown}");
    let unnumbered: Option<Vec<&str>> = old
        .lines()
        .map(|line| {
            line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('\t')
        })
        .collect();
    if unnumbered.is_some_and(|lines| text.contains(&lines.join("\n"))) {
        return format!("{fact}: leave out the line numbers and the tabs after them");
    }
    let wanted: Vec<&str> = old.lines().map(str::trim).collect();
    let Some(first) = wanted.iter().position(|line| !line.is_empty()) else {
        return format!("{fact}: it is blank; take in the text around it");
    };
    let lines: Vec<&str> = text.lines().collect();
    let near = lines.iter().position(|line| line.trim() == wanted[first]);
    let Some(near) = near else {
        return format!("{fact}: read the file and copy the text as it stands");
    };
    let begin = near.saturating_sub(first);
    let differs = (0..wanted.len())
        .find(|at| lines.get(begin + at).is_none_or(|line| line.trim() != wanted[*at]));
    match differs {
        None => format!(
            "{fact}; but for blanks at the ends of lines it is at line {}, which reads {:?}",
            near + 1,
            cut(lines[near])
        ),
        Some(at) => format!(
            "{fact}: it begins like line {}, but line {} reads {:?} where old_string has {:?}",
            near + 1,
            begin + at + 1,
            cut(lines.get(begin + at).copied().unwrap_or("(the end of the file)")),
            cut(wanted[at])
        ),
    }
}

fn cut(line: &str) -> String {
    line.chars().take(200).collect()
}
