//! The acknowledged end, kept beside the database as a witness.
//!
//! SQLite takes a write-ahead log that was cut or flipped for one that simply ends there, so
//! acknowledged records can vanish without an error. The mark is one line of text that is
//! overwritten in place after each append, at the cost of one small write to the page cache and no
//! sync. It can therefore only lag behind the end of the log, never run ahead of it, except where
//! the log itself was not synced and the power went: under [`Durability::Process`] a mark counts
//! only within the boot it was written in.
//!
//! A mark that is missing or unreadable proves nothing and is ignored.

use crate::Durability;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

const DIGITS: usize = 20;

/// The file that holds the acknowledged end, open for the life of the log.
#[derive(Debug)]
pub(super) struct Mark {
    file: File,
    /// What follows the position on the line: the durability and the boot.
    conditions: String,
    line: Vec<u8>,
}

impl Mark {
    /// Opens or creates the mark and gives back the end that must at least be found in the log.
    pub(super) fn open(path: &Path, durability: Durability) -> io::Result<(Self, u64)> {
        let mut options = OpenOptions::new();
        let mut file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        let mut content = Vec::new();
        file.read_to_end(&mut content)?;
        let boot = boot_id();
        let owed = parse(&content).map_or(0, |(end, power, written_in)| {
            let holds = power || boot.as_deref().is_some_and(|boot| boot == written_in);
            if holds { end } else { 0 }
        });
        let kind = match durability {
            Durability::Power => "power",
            Durability::Process => "process",
        };
        let conditions = format!(" {kind} {} ", boot.as_deref().unwrap_or("-"));
        Ok((Self { file, conditions, line: Vec::new() }, owed))
    }

    /// Notes that everything up to `end` has been, or is about to be, acknowledged.
    pub(super) fn acknowledge(&mut self, end: u64) {
        self.line.clear();
        let mut digits = [b'0'; DIGITS];
        let mut rest = end;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.line.extend_from_slice(&digits);
        self.line.extend_from_slice(self.conditions.as_bytes());
        let crc = crc32fast::hash(&self.line);
        for shift in (0..8).rev() {
            self.line.push(b"0123456789abcdef"[(crc >> (shift * 4)) as usize & 0xf]);
        }
        self.line.push(b'\n');
        // The record is safe without it; only a later loss would go unnoticed.
        let _ = self.file.write_all_at(&self.line, 0);
    }
}

/// The end, whether it was written under full durability, and the boot it was written in.
fn parse(content: &[u8]) -> Option<(u64, bool, &str)> {
    let line = content.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let (body, crc) = line.split_at_checked(line.len().checked_sub(8)?)?;
    if u32::from_str_radix(crc, 16).ok()? != crc32fast::hash(body.as_bytes()) {
        return None;
    }
    let mut words = body.split(' ');
    let end = words.next()?.parse().ok()?;
    let power = words.next()? == "power";
    Some((end, power, words.next()?))
}

/// What changes with every boot of the machine, where the kernel tells.
fn boot_id() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(end: u64, kind: &str, boot: &str) -> String {
        let body = format!("{end:020} {kind} {boot} ");
        format!("{body}{:08x}\n", crc32fast::hash(body.as_bytes()))
    }

    fn owed_after(content: &str) -> u64 {
        let name = format!("shipmate-log-mark-{}-{:p}", std::process::id(), content);
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, content).unwrap();
        let (_, owed) = Mark::open(&path, Durability::Power).unwrap();
        std::fs::remove_file(&path).unwrap();
        owed
    }

    #[test]
    fn a_mark_counts_always_if_synced_and_else_only_within_its_boot() {
        let boot = boot_id().unwrap();
        assert_eq!(owed_after(&line(7, "power", "another-boot")), 7);
        assert_eq!(owed_after(&line(7, "process", &boot)), 7);
        assert_eq!(owed_after(&line(7, "process", "another-boot")), 0);
        assert_eq!(owed_after(&line(7, "process", "-")), 0);
        assert_eq!(owed_after(&line(7, "power", &boot).replace('7', "8")), 0);
    }

    #[test]
    fn what_is_acknowledged_is_what_is_owed() {
        let name = format!("shipmate-log-mark-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        for end in [1, 99, 100, 1_234_567_890, u64::MAX] {
            let (mut mark, _) = Mark::open(&path, Durability::Process).unwrap();
            mark.acknowledge(end);
            assert_eq!(Mark::open(&path, Durability::Power).unwrap().1, end);
        }
        std::fs::remove_file(&path).unwrap();
    }
}
