//! The index of a clone, read by file: which files its agent's git leaves out on purpose, and what
//! is staged.
//!
//! The bytes are an agent's, so no git of ours is given them: lengths are checked, and what does not
//! fit is no index. Only what a rescue and a hand-in need is read; nothing is believed about what
//! the files hold.

use std::collections::BTreeSet;

use super::dot_git::{DotGit, FILE_BYTES_MAX};

/// Before this version an entry cannot say that it is left out of the working tree.
const FLAGS_SINCE: u32 = 3;

/// Index files of a split index begin so, and then have their id.
pub(super) const SHARED: &str = "sharedindex.";

const PATH_BYTES_MAX: usize = 1 << 16;

const FOLDER: u32 = 0o040_000;
const SUBMODULE: u32 = 0o160_000;

struct Entry {
    mode: u32,
    id: String,
    path: Vec<u8>,
    stage: u16,
    /// The agent's git does not expect it in the working tree (a sparse checkout).
    is_left_out: bool,
    /// `git add --intent-to-add`: nothing is staged yet.
    is_intent: bool,
}

/// The files that an agent's git leaves out of the working tree.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    files: BTreeSet<Vec<u8>>,
    /// Whole folders of a sparse index; each ends in `/`.
    folders: BTreeSet<Vec<u8>>,
}

impl LeftOut {
    /// Nothing, at the cost of a few bytes read, in a clone that is not sparse.
    pub(super) fn of(dot_git: &DotGit, id_chars: usize) -> Option<LeftOut> {
        let start = dot_git.read_start("index", 8).ok().flatten()?;
        let may_leave_out = number(&start, 4).is_some_and(|version| version >= FLAGS_SINCE);
        if !may_leave_out && !dot_git.has_like(SHARED) {
            return None;
        }
        let mut found = LeftOut::default();
        for entry in entries(dot_git, id_chars)?.into_iter().filter(|entry| entry.is_left_out) {
            match entry.mode {
                FOLDER => found.folders.insert(entry.path),
                _ => found.files.insert(entry.path),
            };
        }
        (!found.files.is_empty() || !found.folders.is_empty()).then_some(found)
    }

    pub(super) fn has(&self, path: &[u8]) -> bool {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        self.files.contains(path) || { ends }.any(|end| self.folders.contains(&path[..=end]))
    }
}

/// A file that is staged, as git lists one: `MODE ID 0<tab>PATH`.
pub(super) struct StagedFile {
    pub(super) id: String,
    pub(super) line: Vec<u8>,
}

/// Every file of a clone's index; nothing where it cannot be read.
pub(super) fn staged_files(dot_git: &DotGit, id_chars: usize) -> Vec<StagedFile> {
    let entries = entries(dot_git, id_chars).unwrap_or_default().into_iter();
    let is_file = |entry: &Entry| {
        let is_other = entry.mode == FOLDER || entry.mode == SUBMODULE;
        entry.stage == 0 && !entry.is_intent && !is_other
    };
    let line = |entry: Entry| {
        let line =
            [format!("{:06o} {} 0\t", entry.mode, entry.id).as_bytes(), &entry.path].concat();
        StagedFile { id: entry.id, line }
    };
    entries.filter(is_file).map(line).collect()
}

fn entries(dot_git: &DotGit, id_chars: usize) -> Option<Vec<Entry>> {
    let bytes = dot_git.read("index").ok().flatten()?;
    let Parsed { mut entries, shared } = parse(&bytes, id_chars / 2)?;
    if let Some(shared) = shared {
        // What it has replaced of the shared part has no name there, and comes last here.
        let bytes = dot_git.read(&format!("{SHARED}{shared}")).ok().flatten()?;
        entries.extend(parse(&bytes, id_chars / 2)?.entries);
        entries.retain(|entry| !entry.path.is_empty());
    }
    Some(entries)
}

struct Parsed {
    entries: Vec<Entry>,
    /// The id of the part that is in a file of its own.
    shared: Option<String>,
}

/// As `gitformat-index` has it.
fn parse(bytes: &[u8], id_bytes: usize) -> Option<Parsed> {
    let version = number(bytes, 4)?;
    if !bytes.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let (mut entries, mut at) = (Vec::new(), 12);
    let (mut path, mut path_bytes) = (Vec::new(), 0);
    for _ in 0..number(bytes, 8)? {
        let begin = at;
        let mode = number(bytes, begin + 24)?;
        let id = data_encoding::HEXLOWER.encode(bytes.get(begin + 40..begin + 40 + id_bytes)?);
        at = begin + 40 + id_bytes;
        let flags = short(bytes, at)?;
        at += 2;
        let mut more = 0;
        if flags & 0x4000 != 0 {
            more = short(bytes, at)?;
            at += 2;
        }
        if version == 4 {
            let (cut, length) = varint(bytes.get(at..)?)?;
            at += length;
            path.truncate(path.len().checked_sub(cut)?);
        } else {
            path.clear();
        }
        let rest = bytes.get(at..)?;
        let end = rest.iter().take(PATH_BYTES_MAX).position(|byte| *byte == 0)?;
        path.extend_from_slice(&rest[..end]);
        path_bytes += path.len() as u64;
        if path.len() > PATH_BYTES_MAX || path_bytes > FILE_BYTES_MAX {
            return None;
        }
        at = match version {
            4 => at + end + 1,
            // Filled up to a multiple of eight, with one zero at least.
            _ => begin + ((at + end - begin + 8) & !7),
        };
        let (is_left_out, is_intent) = (more & 0x4000 != 0, more & 0x2000 != 0);
        let (path, stage) = (path.clone(), flags >> 12 & 3);
        entries.push(Entry { mode, id, path, stage, is_left_out, is_intent });
    }
    Some(Parsed { entries, shared: shared_part(bytes, at, id_bytes) })
}

/// Looks through the extensions, which lie between the entries and the checksum.
fn shared_part(bytes: &[u8], mut at: usize, id_bytes: usize) -> Option<String> {
    let end = bytes.len().checked_sub(id_bytes)?;
    while at + 8 <= end {
        let size = usize::try_from(number(bytes, at + 4)?).ok()?;
        if bytes[at..].starts_with(b"link") {
            let id = bytes.get(at + 8..at + 8 + id_bytes)?;
            return id.iter().any(|byte| *byte != 0).then(|| data_encoding::HEXLOWER.encode(id));
        }
        at = at.checked_add(8)?.checked_add(size)?;
    }
    None
}

/// Git's own: every further byte counts on from where shorter numbers end.
fn varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().take(8).enumerate() {
        value = value << 7 | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
        value += 1;
    }
    None
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}
