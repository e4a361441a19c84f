//! Where a session's hooks find its seat: a file named after the process that started the session.
//!
//! A client runs its hooks as processes of its own, beside the MCP server and without its
//! environment. What both have is the client above them. The file holds a token, so it is its
//! owner's alone, and it goes when the session does.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use shipmate_protocol::Place;

/// How many processes may lie between a hook and its client.
const ANCESTORS_MAX: usize = 32;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SeatNote {
    pub(crate) team: String,
    pub(crate) who: String,
    pub(crate) token: String,
}

/// Removes the file when it goes.
#[derive(Debug)]
pub(crate) struct SeatFile {
    path: PathBuf,
    text: Vec<u8>,
}

impl SeatFile {
    /// Without it the session works; only its hooks have nothing to say.
    pub(crate) fn write(place: &Place, client: u32, note: &SeatNote) -> Option<SeatFile> {
        let folder = folder(place);
        fs::create_dir_all(&folder).ok()?;
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).ok()?;
        let path = folder.join(format!("{client}.json"));
        let fresh = folder.join(format!("{client}.{}", std::process::id()));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&fresh)
            .ok()?;
        let text = serde_json::to_vec(note).ok()?;
        file.write_all(&text).ok()?;
        fs::rename(&fresh, &path).ok()?;
        Some(SeatFile { path, text })
    }
}

impl Drop for SeatFile {
    fn drop(&mut self) {
        // A second session of the same client has written its own there.
        if fs::read(&self.path).is_ok_and(|text| text == self.text) {
            drop(fs::remove_file(&self.path));
        }
    }
}

/// The seat of the session that this process belongs to: a hook of its client. With it comes the
/// file, to be removed when the seat turns out to be another's or gone.
pub(crate) fn seat_above(place: &Place) -> Option<(SeatNote, PathBuf)> {
    let named = std::env::var("CLAUDE_PID").ok().and_then(|pid| pid.parse().ok());
    named.into_iter().chain(ancestors()).find_map(|pid| {
        let path = folder(place).join(format!("{pid}.json"));
        let note = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
        Some((note, path))
    })
}

/// Whether this process belongs to a teammate's program. That carries the marker of its life, but
/// some programs keep their environment from the servers they start: then one above has it.
pub(crate) fn is_below_teammate() -> bool {
    std::env::var_os("SHIPMATE_LIFE").is_some() || ancestors().any(is_marked)
}

fn is_marked(pid: u32) -> bool {
    let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environ.split(|byte| *byte == 0).any(|pair| pair.starts_with(b"SHIPMATE_LIFE="))
}

/// The processes above this one, the nearest first.
fn ancestors() -> impl Iterator<Item = u32> {
    let mut next = Some(std::process::id());
    let all = std::iter::from_fn(move || {
        next = parent(next?);
        next
    });
    all.take(ANCESTORS_MAX)
}

fn folder(place: &Place) -> PathBuf {
    place.state().join("seats")
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold spaces and brackets.
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok().filter(|pid| *pid > 1)
}
