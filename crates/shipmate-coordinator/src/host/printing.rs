//! What a life prints, copied from the machine where it runs: both files of its output as they are there,
//! a piece after the other.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The most of one file that is asked for at once.
const PIECE_BYTES_MAX: u64 = 512 * 1024;
/// Opening waits for nobody.
const NO_WAIT: i32 = rustix::fs::OFlags::NONBLOCK.bits() as i32;
/// The longest mark of something left out.
const MARK_BYTES_MAX: u64 = 64;

/// How much of a life's output is here: of the first file, and of the one that holds what came after
/// that was full, which is replaced by its own last part again and again and then begins otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Printing {
    head: u64,
    more: u64,
    begins: String,
}

/// What came after that; the bytes of both files follow, in this order.
#[derive(Debug, Serialize, Deserialize)]
struct Piece {
    head: usize,
    more: usize,
    /// The second file is another one than before: this is its beginning.
    is_new: bool,
    /// There is more of it than fits in one piece.
    goes_on: bool,
}

impl Printing {
    pub(crate) fn of(path: &Path) -> io::Result<Printing> {
        let length = |path: &Path| match fs::metadata(path) {
            Ok(found) => Ok(found.len()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(e) => Err(e),
        };
        let more = more_path(path);
        Ok(Printing { head: length(path)?, more: length(&more)?, begins: begins(&more)? })
    }

    /// What came after that, of the output that lies there.
    pub(crate) fn give(&self, path: &Path) -> io::Result<Vec<u8>> {
        let more_path = more_path(path);
        let is_new = begins(&more_path)? != self.begins;
        let head = read(path, self.head, PIECE_BYTES_MAX)?;
        let goes_on = head.len() as u64 == PIECE_BYTES_MAX;
        // The second one is of use only behind the whole first.
        let more = match goes_on {
            true => Vec::new(),
            false => read(&more_path, if is_new { 0 } else { self.more }, PIECE_BYTES_MAX)?,
        };
        let goes_on = goes_on || more.len() as u64 == PIECE_BYTES_MAX;
        let is_new = is_new && !more.is_empty();
        let piece = Piece { head: head.len(), more: more.len(), is_new, goes_on };
        let mut answer = serde_json::to_vec(&piece).expect("a piece is JSON");
        answer.push(b'\n');
        answer.extend(head);
        answer.extend(more);
        Ok(answer)
    }

    /// Adds a piece to the copy; whether there is another one.
    pub(crate) fn take(path: &Path, answer: &[u8]) -> io::Result<bool> {
        let cut = || io::Error::other("what came from there is no output");
        let end = answer.iter().position(|byte| *byte == b'\n').ok_or_else(cut)?;
        let piece: Piece = serde_json::from_slice(&answer[..end])?;
        let (head, more) = answer[end + 1..].split_at_checked(piece.head).ok_or_else(cut)?;
        if more.len() != piece.more {
            return Err(cut());
        }
        let append = |path: &Path, bytes: &[u8]| {
            let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
            file.write_all(bytes)
        };
        append(path, head)?;
        let more_path = more_path(path);
        match (piece.is_new, more.is_empty()) {
            (true, _) => {
                let fresh = more_path.with_extension("new");
                drop(fs::remove_file(&fresh));
                append(&fresh, more)?;
                fs::rename(&fresh, &more_path)?;
            }
            (false, false) => append(&more_path, more)?,
            (false, true) => {}
        }
        Ok(piece.goes_on)
    }
}

fn more_path(path: &Path) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(".more");
    path.into()
}

/// What tells one second file from the next: how much it says was left out before it.
fn begins(path: &Path) -> io::Result<String> {
    let begin = read(path, 0, MARK_BYTES_MAX)?;
    let text = String::from_utf8_lossy(&begin);
    let mark = text.strip_prefix("\n[").and_then(|rest| rest.split_once(" bytes left out]\n"));
    Ok(mark.map(|(bytes, _)| bytes.to_owned()).unwrap_or_default())
}

fn read(path: &Path, from: u64, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // What is no file has no end, or none that comes.
    let opened = OpenOptions::new().read(true).custom_flags(NO_WAIT).open(path);
    match opened {
        Ok(mut file) => {
            if !file.metadata()?.is_file() {
                return Err(io::Error::other("it is no file"));
            }
            file.seek(SeekFrom::Start(from))?;
            file.take(most).read_to_end(&mut bytes)?;
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(e),
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let name = format!("shipmate-copy-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// A copy that is brought up again and again is what was printed.
    #[test]
    fn a_copy_is_what_was_printed_whenever_it_is_brought_up() {
        let folder = folder("whenever");
        let (there, here) = (folder.join("there"), folder.join("here"));
        let mut log = shipmate_process::LogFile::open(&there, 6000).unwrap();
        for step in 0..400_u32 {
            log.push(format!("line {step}\u{e4}\n").repeat(1 + step as usize % 7).as_bytes());
            if step % 3 == 0 {
                let piece = || Printing::of(&here).unwrap().give(&there).unwrap();
                while Printing::take(&here, &piece()).unwrap() {}
                for of in [Path::to_owned, more_path] {
                    let (there, here) = (fs::read(of(&there)).ok(), fs::read(of(&here)).ok());
                    assert_eq!(there, here, "after step {step}");
                }
            }
        }
        assert!(more_path(&here).exists(), "the second file was used");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_no_piece_is_refused() {
        let folder = folder("no-piece");
        let here = folder.join("here");
        let long = br#"{"head":9,"more":0,"is_new":false,"goes_on":false}"#;
        let more = br#"{"head":0,"more":9,"is_new":false,"goes_on":false}"#;
        for answer in
            [&b""[..], b"{}\n", &[&long[..], b"\nabc"].concat(), &[&more[..], b"\na"].concat()]
        {
            assert!(Printing::take(&here, answer).is_err());
        }
        assert!(!here.exists());
        fs::remove_dir_all(folder).unwrap();
    }
}
