//! Mail from programs that are in no team: beside the view of each inbox lies a file into which anybody
//! on this machine who may write it appends lines of JSON, `{"content": "…"}`.
//!
//! Each whole line is a message from `outside`, whatever it says of its sender, once: how far a file
//! was read is on record with the message itself. A file that became shorter is a new one. What is no
//! message is told, and passed over. Nothing is read but these files, and no link is followed.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::OFlags;
use serde::Deserialize;
use shipmate_model::limits::TEXT_BYTES_MAX;
use shipmate_model::{Act, Actor, Address, Command, Refusal};
use shipmate_process::blocking;

use crate::file_watch::Watch;
use crate::phases::Phases;

/// A line may hold a text of escapes, and words around it.
const LINE_BYTES_MAX: usize = 6 * TEXT_BYTES_MAX + 1024;
/// What is taken of one file at a time.
const PART_BYTES_MAX: u64 = 4 * LINE_BYTES_MAX as u64;
/// How often something is told about one file.
const NOTES_MAX: u32 = 20;
/// What is told of a line that is no message.
const SHOWN_CHARS_MAX: usize = 80;

/// The drop files of a board, by whom they are for.
#[derive(Debug, Default)]
pub(crate) struct Drops {
    places: RefCell<BTreeMap<Address, PathBuf>>,
    watch: RefCell<Option<Watch>>,
    running: Cell<bool>,
    /// Something may have been dropped since the last look.
    due: Cell<bool>,
    /// How far each was read, lines that were none included.
    seen: RefCell<BTreeMap<Address, Seen>>,
    /// The end of the line that was handed over last, until it is on record.
    asked: RefCell<BTreeMap<Address, u64>>,
    /// How often something was said about a file.
    notes: RefCell<BTreeMap<Address, u32>>,
    /// Mail waits for room in somebody's inbox: it is looked at again with the next record.
    held: Cell<bool>,
    /// What was said about a file, once.
    told: RefCell<BTreeSet<String>>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    upto: u64,
    /// The file began anew: what is on record is of the one before.
    anew: bool,
}

/// From now on these are the files.
pub(super) fn at(phases: &Rc<Phases>, places: BTreeMap<Address, PathBuf>) -> Result<(), String> {
    if phases.drops.held.replace(false) {
        phases.drops.due.set(true);
        look(phases);
    }
    if *phases.drops.places.borrow() == places {
        return Ok(());
    }
    phases.drops.seen.borrow_mut().retain(|who, _| places.contains_key(who));
    let paths: BTreeSet<PathBuf> = places.values().cloned().collect();
    phases.drops.places.replace(places);
    let this = Rc::downgrade(phases);
    let watch = Watch::begin(paths, move || {
        if let Some(phases) = this.upgrade() {
            phases.drops.due.set(true);
            look(&phases);
        }
    });
    phases.drops.watch.replace(Some(watch.map_err(|e| format!("nothing can be watched: {e}"))?));
    Ok(())
}

/// Makes one where there is nothing.
pub(super) fn make(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = std::fs::OpenOptions::new();
    match options.write(true).create_new(true).mode(0o600).open(path) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(e),
        _ => Ok(()),
    }
}

/// Takes in what was dropped, one pass at a time.
fn look(phases: &Rc<Phases>) {
    if phases.drops.running.replace(true) {
        return;
    }
    let this = Rc::clone(phases);
    phases.beside(async move {
        while this.drops.due.replace(false) {
            let places = this.drops.places.borrow().clone();
            for (who, path) in places {
                if let Err(text) = take_in(&this, &who, path.clone()).await {
                    let text = format!("{}: {text}", path.display());
                    if this.drops.told.borrow_mut().insert(text.clone()) {
                        tell(&this, &who, text);
                    }
                }
            }
        }
        this.drops.running.set(false);
    });
}

async fn take_in(phases: &Rc<Phases>, who: &Address, path: PathBuf) -> Result<(), String> {
    let on_record = phases.board.with_state(|state| state.dropped.get(who).copied());
    let on_record = on_record.unwrap_or_default();
    let seen = phases.drops.seen.borrow().get(who).copied();
    let from = match seen {
        Some(Seen { upto, anew: true }) => upto,
        Some(Seen { upto, .. }) => upto.max(on_record),
        None => on_record,
    };
    let read = blocking(move || read(&path, from).map_err(|e| e.to_string())).await?;
    let Some(Part { mut at, bytes, len }) = read else { return Ok(()) };
    let mut anew = at < from || seen.is_some_and(|seen| seen.anew);
    let mut rest = bytes.as_slice();
    let (mut bad, mut is_full) = (Vec::new(), false);
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let line_end = at + end as u64 + 1;
        let taken = match message(&rest[..end]) {
            Ok(Some(body)) => {
                let brought = bring(phases, who, body, line_end).await;
                anew = anew && brought != Ok(true);
                brought
            }
            Ok(None) => Ok(true),
            Err(why) => Err(why),
        };
        match taken {
            // It keeps until there is room.
            Ok(false) => {
                is_full = true;
                break;
            }
            Ok(true) => {}
            Err(why) => bad.push(why),
        }
        rest = &rest[end + 1..];
        at = line_end;
    }
    if rest.len() > LINE_BYTES_MAX && !is_full {
        // Nobody looks for its end: what comes next is read.
        at = len;
        rest = &[];
        bad.push(format!("it has more than {LINE_BYTES_MAX} bytes"));
    }
    // A flood of lines is told in one.
    if let Some(first) = bad.first() {
        let others = match bad.len() {
            1 => String::new(),
            many => format!(", and {} more", many - 1),
        };
        tell(phases, who, format!("a line that is no message was passed over: {first}{others}"));
    }
    phases.drops.seen.borrow_mut().insert(who.clone(), Seen { upto: at, anew });
    match is_full {
        true => phases.drops.held.set(true),
        false if len > at + rest.len() as u64 => phases.drops.due.set(true),
        false => {}
    }
    Ok(())
}

/// Puts a message on record; whether there was room for it.
async fn bring(
    phases: &Rc<Phases>,
    who: &Address,
    body: String,
    line_end: u64,
) -> Result<bool, String> {
    let act = Act::TakeIn { to: who.clone(), body, line_end };
    let command = Command { by: Actor::Outside, req: None, act };
    match phases.board.with_state(|state| shipmate_core::decide(state, &command)) {
        Err(Refusal::InboxFull { .. }) => return Ok(false),
        Err(refusal) => return Err(refusal.to_string()),
        Ok(_) => {}
    }
    // Put off by a full log, it is still to come: it is not handed over twice.
    let asked = phases.drops.asked.borrow_mut().insert(who.clone(), line_end);
    if asked != Some(line_end) {
        phases.board.tell_as(command.by, command.act);
        phases.board.settled().await;
    }
    let on_record = phases.board.with_state(|state| state.dropped.get(who).copied());
    let is_there = on_record == Some(line_end);
    if is_there {
        phases.drops.asked.borrow_mut().remove(who);
    }
    Ok(is_there)
}

/// Whoever writes nonsense for ever does not fill the log with it.
fn tell(phases: &Rc<Phases>, who: &Address, note: String) {
    let mut notes = phases.drops.notes.borrow_mut();
    let said = notes.entry(who.clone()).or_default();
    *said += 1;
    let end = match (*said).cmp(&NOTES_MAX) {
        std::cmp::Ordering::Less => "",
        std::cmp::Ordering::Equal => "; more of this is not told",
        std::cmp::Ordering::Greater => return,
    };
    let note = format!("mail from outside for {who}: {note}{end}");
    let (team, hook) = (who.team.clone(), "outside".to_owned());
    phases.board.tell(Act::ReportHook { team, hook, note });
}

struct Part {
    /// Where it begins.
    at: u64,
    bytes: Vec<u8>,
    /// How long the file is.
    len: u64,
}

/// What lies behind a place of a file; nothing where nothing does.
fn read(path: &Path, from: u64) -> io::Result<Option<Part>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
        .open(path);
    let mut file = match opened {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Ok((from > 0).then(|| Part { at: 0, bytes: Vec::new(), len: 0 }));
        }
        Err(e) => return Err(e),
    };
    let there = file.metadata()?;
    if !there.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let at = if there.len() < from { 0 } else { from };
    if there.len() == from {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    file.take(PART_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(Some(Part { at, bytes, len: there.len() }))
}

#[derive(Deserialize)]
struct Dropped {
    #[serde(rename = "type")]
    kind: Option<String>,
    content: String,
}

/// The words of a line; nothing for an empty one.
fn message(line: &[u8]) -> Result<Option<String>, String> {
    let text = std::str::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned())?.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    let dropped: Dropped = serde_json::from_str(text).map_err(|e| format!("{e} in {shown}"))?;
    match dropped.kind.as_deref() {
        None | Some("message" | "direct") => {}
        Some(other) => return Err(format!("type {other:?} is the team's own, in {shown}")),
    }
    if dropped.content.is_empty() || dropped.content.len() > TEXT_BYTES_MAX {
        return Err(format!("content has to be 1 to {TEXT_BYTES_MAX} bytes, in {shown}"));
    }
    Ok(Some(dropped.content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_message_whatever_it_says_of_its_sender() {
        let line = br#"{"type": "message", "sender": "lead", "content": "hi", "timestamp": 1}"#;
        assert_eq!(message(line).unwrap().as_deref(), Some("hi"));
        assert_eq!(message(br#"{"content": "hi"}"#).unwrap().as_deref(), Some("hi"));
        assert_eq!(message(b"  \r").unwrap(), None);
        for (line, fact) in [
            (&b"hello"[..], "in hello"),
            (b"{\"content\": 7}", "expected a string"),
            (b"{}", "missing field `content`"),
            (b"{\"content\": \"\"}", "1 to"),
            (b"{\"type\": \"shutdown_request\", \"content\": \"x\"}", "the team's own"),
            (b"\xff", "not UTF-8"),
        ] {
            let told = message(line).unwrap_err();
            assert!(told.contains(fact), "{told}");
        }
        let long = format!("{{\"content\": \"{}\"}}", "x".repeat(TEXT_BYTES_MAX + 1));
        assert!(message(long.as_bytes()).unwrap_err().contains("1 to"));
    }
}
