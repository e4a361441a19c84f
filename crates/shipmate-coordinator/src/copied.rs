//! Files of the home that this machine got for its trees: which they are, and that they go with its leave.
//!
//! A file is told by a mark that nobody can make without the key of the teams: what somebody has put in the
//! place of one, here or in a tree, is never removed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use shipmate_process::regular_file::read_inside;
use shipmate_protocol::Place;

use crate::secret::Secrets;

/// They go whole, and are held in memory.
pub(crate) const BYTES_MAX: usize = 8 << 20;

/// Of each file that came, the marks of what it was last, the newest at the end.
pub(crate) type Marks = BTreeMap<String, Vec<String>>;

pub(crate) fn register(place: &Place) -> PathBuf {
    place.state().join("copied.json")
}

pub(crate) fn marks(place: &Place) -> Marks {
    serde_json::from_slice(&fs::read(register(place)).unwrap_or_default()).unwrap_or_default()
}

/// What the line between hosts marks these with (`Here::mark`), where there is no line: a machine that leaves
/// has none any more.
fn mark(key: &[u8], bytes: &[u8]) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(key).expect("any length is a key");
    let mac = mac.chain_update("mark").chain_update([0]).chain_update(bytes);
    HEXLOWER.encode(&mac.finalize().into_bytes())
}

/// What became of the files that came from the home.
#[derive(Debug, Default)]
pub struct CopiesLeft {
    /// Gone from the checkout and from all trees here.
    pub removed: BTreeSet<String>,
    /// Files there that somebody has changed since, or that could not be removed.
    pub kept: BTreeSet<PathBuf>,
}

/// Removes what came from the home, from the checkout and from the trees that have copies of it.
///
/// # Errors
/// The key cannot be read, or the list of what came cannot be removed.
pub fn remove_copies(place: &Place) -> io::Result<CopiesLeft> {
    let mut left = CopiesLeft::default();
    let marks = marks(place);
    if marks.is_empty() {
        return Ok(left);
    }
    let key = Secrets::load(place)?.line_key();
    for folder in std::iter::once(place.workspace.clone()).chain(trees(place)) {
        for (path, marks) in &marks {
            let is_same = |bytes: &[u8]| marks.contains(&mark(&key, bytes));
            let file = folder.join(path);
            match read_inside(&folder, Path::new(path), BYTES_MAX) {
                Ok(bytes) if is_same(&bytes) && fs::remove_file(&file).is_ok() => {
                    left.removed.insert(path.clone());
                }
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Ok(_) | Err(_) => drop(left.kept.insert(file)),
            }
        }
    }
    fs::remove_file(register(place))?;
    Ok(left)
}

/// The trees of all teams here.
fn trees(place: &Place) -> Vec<PathBuf> {
    let folders = |below: PathBuf| {
        let entries = fs::read_dir(below).into_iter().flatten().filter_map(Result::ok);
        entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
    };
    let teams = folders(place.teams()).map(|team| team.path().join("trees"));
    teams.flat_map(folders).map(|tree| tree.path()).collect()
}
