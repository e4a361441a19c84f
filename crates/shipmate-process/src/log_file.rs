//! Output kept on disk: the first `bytes_max` in one file, the last ones in another beside it.
//!
//! Never more than twice `bytes_max` on disk, also while the second file is cut, and never an
//! error that would end a pump and block the program that prints: what cannot be written is
//! counted, and a line says so where it is missing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MARK_BYTES_MAX: u64 = 64;
const BYTES_MIN: u64 = 4096;

#[derive(Debug)]
pub struct LogFile {
    more_path: PathBuf,
    bytes_max: u64,
    head: File,
    head_bytes: u64,
    more: Option<File>,
    more_bytes: u64,
    /// Lost since the last byte that was written; a mark is owed for them.
    missing: u64,
    dropped: u64,
}

impl LogFile {
    /// Goes on at the end of what is there: a supervisor that was replaced loses no output.
    pub fn open(path: &Path, bytes_max: u64) -> io::Result<Self> {
        let bytes_max = bytes_max.max(BYTES_MIN);
        let head = append_to(path)?;
        let head_bytes = head.metadata()?.len();
        let mut more_path = path.as_os_str().to_owned();
        more_path.push(".more");
        let more_path = PathBuf::from(more_path);
        let more_bytes = fs::metadata(&more_path).map_or(0, |found| found.len());
        let (more, missing, dropped) = (None, 0, 0);
        Ok(Self { more_path, bytes_max, head, head_bytes, more, more_bytes, missing, dropped })
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let shown = crate::hidden::shown_bytes(bytes);
        let mut bytes = &*shown;
        while !bytes.is_empty() {
            match self.write_some(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(_) => {
                    self.missing += bytes.len() as u64;
                    self.dropped += bytes.len() as u64;
                    return;
                }
            }
        }
    }

    /// How many bytes are in neither file.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.missing > 0 {
            let mark = mark(self.missing);
            self.write_once(mark.as_bytes())?;
            self.missing = 0;
        }
        self.write_once(bytes)
    }

    fn write_once(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.head_bytes < self.bytes_max && self.more_bytes == 0 {
            let room = usize::try_from(self.bytes_max - self.head_bytes).unwrap_or(usize::MAX);
            let written = wrote(self.head.write(&bytes[..bytes.len().min(room)]))?;
            self.head_bytes += written as u64;
            return Ok(written);
        }
        // Cut at two thirds to the last third: the new file and the old one together stay inside.
        if self.more_bytes >= self.bytes_max / 3 * 2 {
            self.cut()?;
        }
        let room = self.bytes_max / 3 * 2 - self.more_bytes;
        let most = usize::try_from(room).unwrap_or(usize::MAX);
        let more = match &mut self.more {
            Some(more) => more,
            none => none.insert(append_to(&self.more_path)?),
        };
        let written = wrote(more.write(&bytes[..bytes.len().min(most)]))?;
        self.more_bytes += written as u64;
        Ok(written)
    }

    fn cut(&mut self) -> io::Result<()> {
        let mut old = File::open(&self.more_path)?;
        let keep = self.bytes_max / 3 - MARK_BYTES_MAX;
        let gone = self.more_bytes.saturating_sub(keep);
        old.seek(SeekFrom::Start(gone))?;
        let mut path = self.more_path.as_os_str().to_owned();
        path.push(".new");
        let mut new = OpenOptions::new().write(true).create(true).truncate(true).open(&path)?;
        let written = new
            .write_all(mark(self.dropped + gone).as_bytes())
            .and_then(|()| io::copy(&mut old, &mut new))
            .and_then(|_| fs::rename(&path, &self.more_path));
        if let Err(error) = written {
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        self.more_bytes = new.metadata()?.len();
        self.more = Some(append_to(&self.more_path)?);
        self.dropped += gone;
        Ok(())
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

fn wrote(result: io::Result<usize>) -> io::Result<usize> {
    match result {
        Ok(0) => Err(io::ErrorKind::WriteZero.into()),
        other => other,
    }
}

fn mark(bytes: u64) -> String {
    format!("\n[{bytes} bytes left out]\n")
}
