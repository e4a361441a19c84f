//! Reads an agent's output as it grows: the file, and the one beside it that holds what came after
//! the first was full.
//!
//! The second is replaced by its own last part again and again. Whoever reads along goes on exactly
//! where it was, because the new file says how much it left out; whoever was too slow for that is
//! shown the mark that says so.

use std::fs::File;
use std::io::{ErrorKind, Read, Result, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How far back the last lines are looked for.
const TAIL_BYTES_MAX: u64 = 64 * 1024;
/// The longest mark of something left out; that much less is kept when a file is replaced.
const MARK_BYTES_MAX: u64 = 64;

#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    /// How much of the first file was read.
    at: u64,
    more: Option<More>,
}

#[derive(Debug)]
struct More {
    file: File,
    at: u64,
}

impl Output {
    pub(crate) fn from_start(path: PathBuf) -> Output {
        Output { path, at: 0, more: None }
    }

    /// Begins with the last `lines` lines of what is there.
    pub(crate) fn from_end(path: PathBuf, lines: usize) -> Result<Output> {
        let mut output = Output::from_start(path);
        if let Some(mut more) = open(&output.more_path())? {
            output.at = open(&output.path)?.map_or(Ok(0), |file| length(&file))?;
            let at = tail(&mut more, lines)?;
            output.more = Some(More { file: more, at });
        } else if let Some(mut head) = open(&output.path)? {
            output.at = tail(&mut head, lines)?;
        }
        Ok(output)
    }

    fn more_path(&self) -> PathBuf {
        let mut path = self.path.as_os_str().to_owned();
        path.push(".more");
        path.into()
    }

    /// Everything that was not read yet.
    pub(crate) fn read(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if self.more.is_none() {
            self.read_head(&mut bytes)?;
            let Some(file) = open(&self.more_path())? else { return Ok(bytes) };
            // The first file is complete from here on; it may not have been a moment ago.
            self.read_head(&mut bytes)?;
            self.more = Some(More { file, at: 0 });
        }
        let path = self.more_path();
        let Some(more) = &mut self.more else { return Ok(bytes) };
        loop {
            more.read(&mut bytes)?;
            let Some(now) = open(&path)? else { return Ok(bytes) };
            if identity(&now)? == identity(&more.file)? {
                return Ok(bytes);
            }
            // Nobody writes to the old one any more, so this is the rest of it.
            more.read(&mut bytes)?;
            *more = more.replaced_by(now)?;
        }
    }

    fn read_head(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        let Some(mut file) = open(&self.path)? else { return Ok(()) };
        file.seek(SeekFrom::Start(self.at))?;
        self.at += file.read_to_end(bytes)? as u64;
        Ok(())
    }
}

impl More {
    fn read(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        self.file.seek(SeekFrom::Start(self.at))?;
        self.at += self.file.read_to_end(bytes)? as u64;
        Ok(())
    }

    /// The new file begins with a mark and the last half of the old one, less a mark's room. If
    /// its mark counts more than that, there was another one in between.
    fn replaced_by(&mut self, mut file: File) -> Result<More> {
        let old = length(&self.file)?;
        let kept = (old / 2).saturating_sub(MARK_BYTES_MAX);
        let (before, _) = mark(&mut self.file)?;
        let (now, mark_bytes) = mark(&mut file)?;
        let next = now == before + (old - kept);
        Ok(More { file, at: if next { mark_bytes + kept } else { 0 } })
    }
}

fn open(path: &Path) -> Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

fn length(file: &File) -> Result<u64> {
    Ok(file.metadata()?.len())
}

fn identity(file: &File) -> Result<(u64, u64)> {
    let found = file.metadata()?;
    Ok((found.dev(), found.ino()))
}

/// How much the mark at the beginning of a file says was left out, and how long it is.
fn mark(file: &mut File) -> Result<(u64, u64)> {
    file.seek(SeekFrom::Start(0))?;
    let mut begin = Vec::new();
    (&*file).take(MARK_BYTES_MAX).read_to_end(&mut begin)?;
    let text = String::from_utf8_lossy(&begin);
    let found = text.strip_prefix("\n[").and_then(|rest| rest.split_once(" bytes left out]\n"));
    let number = found.and_then(|(number, _)| Some((number.len(), number.parse().ok()?)));
    Ok(number.map_or((0, 0), |(digits, n)| (n, (2 + digits + " bytes left out]\n".len()) as u64)))
}

/// Where the last `lines` lines begin.
fn tail(file: &mut File, lines: usize) -> Result<u64> {
    let end = length(file)?;
    let from = end.saturating_sub(TAIL_BYTES_MAX);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    // The newline that ends the last line begins no other one.
    let searched = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let begins = searched.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    let at = begins.map(|(at, _)| at + 1).nth(lines.saturating_sub(1));
    Ok(from + at.unwrap_or(0) as u64)
}

/// How many bytes of a text are whole characters, or can never be any.
pub(crate) fn whole_characters(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(3);
    let begins = (from..bytes.len()).rev().find(|at| bytes[*at] & 0xc0 != 0x80);
    let is_cut = |at: &usize| matches!(std::str::from_utf8(&bytes[*at..]), Err(e) if e.error_len().is_none());
    begins.filter(is_cut).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let name = format!("shipmate-output-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::write(self.0.join(name), text).unwrap();
        }

        fn log(&self) -> PathBuf {
            self.0.join("output.log")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }

    fn text(output: &mut Output) -> String {
        String::from_utf8(output.read().unwrap()).unwrap()
    }

    #[test]
    fn output_is_read_once_as_it_grows() {
        let folder = Folder::new("grows");
        let mut output = Output::from_start(folder.log());
        assert_eq!(text(&mut output), "");
        folder.write("output.log", "one\n");
        assert_eq!(text(&mut output), "one\n");
        folder.write("output.log", "one\ntwo\n");
        folder.write("output.log.more", "three\n");
        assert_eq!(text(&mut output), "two\nthree\n");
        assert_eq!(text(&mut output), "");
    }

    #[test]
    fn the_last_lines_come_from_the_newest_file() {
        let folder = Folder::new("tail");
        folder.write("output.log", "a\nb\nc\nd");
        assert_eq!(text(&mut Output::from_end(folder.log(), 2).unwrap()), "c\nd");
        assert_eq!(text(&mut Output::from_end(folder.log(), 9).unwrap()), "a\nb\nc\nd");
        folder.write("output.log.more", "e\nf\n");
        assert_eq!(text(&mut Output::from_end(folder.log(), 1).unwrap()), "f\n");
    }

    #[test]
    fn a_replaced_file_is_read_on_without_a_gap_or_a_repetition() {
        let folder = Folder::new("replaced");
        let old: String = (0..300).map(|n| format!("{n:03}\n")).collect();
        folder.write("output.log", "");
        folder.write("output.log.more", &old[..1000]);
        let mut output = Output::from_start(folder.log());
        assert_eq!(text(&mut output), old[..1000]);
        folder.write("output.log.more", &old);
        let kept = &old[1200 - (600 - 64)..];
        folder.write("fresh", &format!("\n[664 bytes left out]\n{kept}more\n"));
        let replaced = || std::fs::rename(folder.0.join("fresh"), folder.0.join("output.log.more"));
        replaced().unwrap();
        assert_eq!(text(&mut output), format!("{}more\n", &old[1000..]));

        folder.write("fresh", "\n[99999 bytes left out]\nlate\n");
        replaced().unwrap();
        assert_eq!(text(&mut output), "\n[99999 bytes left out]\nlate\n", "one was missed");
    }
}
