//! What a teammate's agent has printed, for the page: its end as it grows, and what came before.
//!
//! A life's output lies in a file, and what came after that was full in another one beside it,
//! which is replaced by its own last part again and again. Here both are one text whose bytes are
//! counted from the first one that was printed. What was left out has its place in that count and
//! cannot be read. Pieces begin and end with whole characters.

use std::fs::File;
use std::io::{ErrorKind, Read, Result, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use shipmate_protocol::Place;

use crate::output::whole_characters;
use crate::web::reply::Refusal;

/// The most that is read at once, and what is shown of what was printed before.
pub(super) const PIECE_BYTES_MAX: u64 = 64 * 1024;
/// Whoever is so far behind goes on with the end.
const BEHIND_BYTES_MAX: u64 = 512 * 1024;
/// The longest mark of something left out.
const MARK_BYTES_MAX: u64 = 64;

/// A piece of one life's output.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) life: u32,
    pub(super) from: u64,
    pub(super) text: String,
}

/// `team/name`, where both can be names: what is none can be no part of a path either.
pub(super) fn teammate(who: &str) -> std::result::Result<(String, String), Refusal> {
    match who.split_once('/') {
        Some((team, name)) if is_name(team) && is_name(name) => {
            Ok((team.to_owned(), name.to_owned()))
        }
        _ => Err(Refusal::not_found("a teammate is named team/name")),
    }
}

pub(super) fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    text.len() <= 64
        && text.bytes().all(plain)
        && text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
}

/// The lives of a teammate that have left output here, first one first.
pub(super) fn lives(place: &Place, root: &str, (team, name): &(String, String)) -> Vec<u32> {
    let begin = format!("{team}.{name}@");
    let entries = std::fs::read_dir(place.team(root).join("lives")).into_iter().flatten();
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut lives: Vec<u32> =
        names.filter_map(|life| life.strip_prefix(&begin)?.parse().ok()).collect();
    lives.sort_unstable();
    lives
}

pub(super) fn path(place: &Place, root: &str, who: &(String, String), life: u32) -> PathBuf {
    place.life(root, &format!("{}.{}@{life}", who.0, who.1)).join("output.log")
}

/// Follows a teammate through its lives.
#[derive(Debug)]
pub(super) struct Follower {
    place: Place,
    root: String,
    who: (String, String),
    life: u32,
    at: u64,
    /// As the file said when it was read last.
    left_out: u64,
    /// There may be more to read.
    looks: bool,
}

impl Follower {
    pub(super) fn new(place: Place, root: &str, who: (String, String)) -> Follower {
        let root = root.to_owned();
        Follower { place, root, who, life: 0, at: 0, left_out: 0, looks: true }
    }

    pub(super) fn who(&self) -> &(String, String) {
        &self.who
    }

    /// Something has happened.
    pub(super) fn look_again(&mut self) {
        self.looks = true;
    }

    /// What was printed and not read yet, in the life that is the present one. A new life is
    /// announced by an empty piece where it has printed nothing.
    pub(super) async fn next(&mut self, life: u32) -> Option<Piece> {
        let is_new = life != self.life;
        if !is_new && !self.looks {
            return None;
        }
        let is_first = self.life == 0;
        if is_new {
            (self.life, self.at, self.left_out) = (life, 0, 0);
        }
        let path = path(&self.place, &self.root, &self.who, life);
        let (at, left_out) = (self.at, self.left_out);
        let read = tokio::task::spawn_blocking(move || {
            let mut output = Output::open(&path)?;
            let at = output.again(at, left_out);
            let end = output.size();
            let from = match is_first || end < at || end - at > BEHIND_BYTES_MAX {
                true => end.saturating_sub(PIECE_BYTES_MAX),
                false => at,
            };
            let slice = output.read(from, end)?;
            Ok::<_, std::io::Error>((slice, output.left_out(), end))
        });
        // What cannot be read now may be readable later.
        let (slice, left_out, end) = read.await.ok()?.ok()?;
        self.left_out = left_out;
        self.at = slice.to;
        self.looks = slice.to < end && slice.to > slice.from;
        match slice.text.is_empty() && !is_new {
            true => None,
            false => Some(Piece { life, from: slice.from, text: slice.text }),
        }
    }
}

/// A part of the text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) text: String,
}

/// The output of one life as it lies there now.
#[derive(Debug, Default)]
pub(super) struct Output {
    head: Option<File>,
    head_bytes: u64,
    more: Option<More>,
}

#[derive(Debug)]
struct More {
    file: File,
    bytes: u64,
    /// What its first line says was left out before it, and how long that line is.
    left_out: u64,
    mark_bytes: u64,
}

impl Output {
    /// What is not there yet is empty.
    pub(super) fn open(path: &Path) -> Result<Output> {
        let mut more_path = path.as_os_str().to_owned();
        more_path.push(".more");
        // The second file is there only once the first one is complete.
        let more = open(Path::new(&more_path))?.map(More::read).transpose()?;
        let head = open(path)?;
        let head_bytes = head.as_ref().map_or(Ok(0), length)?;
        Ok(Output { head, head_bytes, more })
    }

    fn left_out(&self) -> u64 {
        self.more.as_ref().map_or(0, |more| more.left_out)
    }

    /// Where the second file's first byte stands in the count. The mark takes the place of the
    /// last bytes that were left out.
    fn more_at(&self) -> u64 {
        let gap =
            self.more.as_ref().map_or(0, |more| more.left_out.saturating_sub(more.mark_bytes));
        self.head_bytes + gap
    }

    /// How much was printed.
    pub(super) fn size(&self) -> u64 {
        self.more_at() + self.more.as_ref().map_or(0, |more| more.bytes)
    }

    /// Where a reader goes on that was at this place when so much had been left out. The count
    /// of what is left out counts the mark before it too.
    fn again(&self, at: u64, left_out: u64) -> u64 {
        match left_out > 0 && left_out != self.left_out() {
            true => at + mark(left_out).len() as u64,
            false => at,
        }
    }

    /// The piece before a place; what is there of it where something was left out.
    pub(super) fn read_before(&mut self, to: u64) -> Result<Slice> {
        let more_at = self.more_at();
        let begin = if to > more_at && self.more.is_some() { more_at } else { 0 };
        let to = if begin == 0 { to.min(self.head_bytes) } else { to };
        self.read(to.saturating_sub(PIECE_BYTES_MAX).max(begin), to)
    }

    /// At most a piece, from the first whole character at `from` on, and nothing from `to` on.
    pub(super) fn read(&mut self, from: u64, to: u64) -> Result<Slice> {
        let more_at = self.more_at();
        let is_complete = self.more.is_some();
        let (file, from, offset, to, is_end) = match (&mut self.more, &mut self.head) {
            (Some(more), _) if to > more_at && from >= self.head_bytes => {
                let from = from.max(more_at);
                (&mut more.file, from, from - more_at, to, false)
            }
            (_, Some(head)) => {
                let to = to.min(self.head_bytes);
                (head, from, from, to, is_complete && to == self.head_bytes)
            }
            (_, None) => return Ok(Slice { from, to: from, text: String::new() }),
        };
        let length = to.saturating_sub(from).min(PIECE_BYTES_MAX);
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::with_capacity(length as usize);
        file.take(length).read_to_end(&mut bytes)?;
        let skipped = bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
        // A character may lie half in the one file and half in the other.
        let is_end = is_end && from + bytes.len() as u64 == to;
        let whole = if is_end { bytes.len() } else { whole_characters(&bytes) }.max(skipped);
        Ok(Slice {
            from: from + skipped as u64,
            to: from + whole as u64,
            text: String::from_utf8_lossy(&bytes[skipped..whole]).into_owned(),
        })
    }
}

impl More {
    fn read(mut file: File) -> Result<More> {
        let bytes = length(&file)?;
        let mut begin = Vec::new();
        (&mut file).take(MARK_BYTES_MAX).read_to_end(&mut begin)?;
        let text = String::from_utf8_lossy(&begin);
        let said = text.strip_prefix("\n[").and_then(|rest| rest.split_once(" bytes left out]\n"));
        let left_out: u64 = said.and_then(|(number, _)| number.parse().ok()).unwrap_or(0);
        let mark_bytes = if left_out > 0 { mark(left_out).len() as u64 } else { 0 };
        Ok(More { file, bytes, left_out, mark_bytes })
    }
}

fn mark(left_out: u64) -> String {
    format!("\n[{left_out} bytes left out]\n")
}

/// An agent may have put a pipe there, at which a reader would wait for ever, or a link to what is
/// nobody's output.
fn open(path: &Path) -> Result<Option<File>> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut options = File::options();
    match options.read(true).custom_flags(flags.bits() as i32).open(path) {
        Ok(file) if file.metadata()?.is_file() => Ok(Some(file)),
        Ok(_) => Err(ErrorKind::InvalidInput.into()),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

fn length(file: &File) -> Result<u64> {
    Ok(file.metadata()?.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let name = format!("shipmate-page-output-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn write(&self, name: &str, text: impl AsRef<[u8]>) {
            std::fs::write(self.0.join(name), text).unwrap();
        }

        fn output(&self) -> Output {
            Output::open(&self.0.join("output.log")).unwrap()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }

    fn slice(from: u64, to: u64, text: &str) -> Slice {
        Slice { from, to, text: text.to_owned() }
    }

    #[test]
    fn nothing_printed_is_an_empty_text() {
        let folder = Folder::new("empty");
        let mut output = folder.output();
        assert_eq!(output.size(), 0);
        assert_eq!(output.read(0, 9).unwrap(), slice(0, 0, ""));
    }

    #[test]
    fn what_is_no_file_of_its_own_is_no_output_and_holds_nobody_up() {
        let folder = Folder::new("strange");
        let path = folder.0.join("output.log");
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert!(Output::open(&path).is_err());
        std::fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(Output::open(&path).is_err());
    }

    #[test]
    fn a_piece_begins_and_ends_with_whole_characters() {
        let folder = Folder::new("characters");
        folder.write("output.log", "grüße");
        assert_eq!(folder.output().read(3, 4).unwrap(), slice(4, 4, ""));
        assert_eq!(folder.output().read(3, 7).unwrap(), slice(4, 7, "ße"));
        assert_eq!(folder.output().read(0, 3).unwrap(), slice(0, 2, "gr"));
        folder.write("output.log", b"a\xff\xfeb\xe2\x82");
        assert_eq!(folder.output().read(0, 9).unwrap(), slice(0, 4, "a\u{fffd}\u{fffd}b"));
    }

    #[test]
    fn both_files_are_one_text_and_what_was_left_out_has_its_place_in_it() {
        let folder = Folder::new("both");
        folder.write("output.log", "0123456789");
        folder.write("output.log.more", "abcdef");
        let mut output = folder.output();
        assert_eq!(output.size(), 16);
        assert_eq!(output.read(8, 16).unwrap(), slice(8, 10, "89"));
        assert_eq!(output.read(10, 16).unwrap(), slice(10, 16, "abcdef"));
        assert_eq!(output.read(12, 14).unwrap(), slice(12, 14, "cd"));

        let mark = "\n[100 bytes left out]\n";
        folder.write("output.log.more", format!("{mark}xyz"));
        let mut output = folder.output();
        assert_eq!(output.size(), 10 + 100 + 3);
        assert_eq!(output.read(110, 113).unwrap(), slice(110, 113, "xyz"));
        let begin = 110 - mark.len() as u64;
        assert_eq!(output.read(20, 113).unwrap(), slice(begin, 113, &format!("{mark}xyz")));
        assert_eq!(output.read(0, 20).unwrap(), slice(0, 10, "0123456789"));
        assert_eq!(output.read_before(113).unwrap(), slice(begin, 113, &format!("{mark}xyz")));
        assert_eq!(output.read_before(begin).unwrap(), slice(0, 10, "0123456789"));
        assert_eq!(output.read_before(4).unwrap(), slice(0, 4, "0123"));
        assert_eq!(output.read_before(0).unwrap(), slice(0, 0, ""));
    }

    #[test]
    fn a_character_in_both_files_holds_nobody_up() {
        let folder = Folder::new("seam");
        folder.write("output.log", b"a\xc3");
        assert_eq!(folder.output().read(0, 2).unwrap(), slice(0, 1, "a"));
        folder.write("output.log.more", b"\xbcb");
        assert_eq!(folder.output().read(1, 4).unwrap(), slice(1, 2, "\u{fffd}"));
        assert_eq!(folder.output().read(2, 4).unwrap(), slice(3, 4, "b"));
    }

    #[test]
    fn a_reader_goes_on_where_it_was_when_the_second_file_is_cut() {
        let folder = Folder::new("cut");
        folder.write("output.log", "head");
        folder.write("output.log.more", "abcdefgh".repeat(20));
        let at = folder.output().size();
        // The first 150 of 160 are cut away, then one more is printed.
        folder.write("output.log.more", "\n[150 bytes left out]\nghabcdefgh!");
        let mut output = folder.output();
        let end = output.size();
        assert_eq!(output.read(output.again(at, 0), end).unwrap().text, "!");

        // What is cut away the second time holds the first mark.
        let (at, left_out) = (end, output.left_out());
        folder.write("output.log.more", "\n[181 bytes left out]\nh!?");
        let mut output = folder.output();
        let (from, end) = (output.again(at, left_out), output.size());
        assert_eq!(output.read(from, end).unwrap().text, "?");
    }

    #[test]
    fn what_is_no_name_is_no_teammate() {
        for who in ["", "ana", "a/../b", "../../etc/passwd", "team/..", "team/a.b", "team/", "/x"] {
            assert!(teammate(who).is_err(), "{who}");
        }
        assert!(teammate("team/\0").is_err());
        assert!(teammate(&format!("team/{}", "a".repeat(65))).is_err());
        assert_eq!(teammate("alpha/ana_2").unwrap().1, "ana_2");
    }
}
