//! The workspaces of this user, each a file in the user's state folder: who works in one must not
//! read the tokens of another.

use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use shipmate_process::environment;
use shipmate_process::regular_file::read_start;
use shipmate_protocol::Place;

/// Of those that were there longest ago, more than these are not looked for.
const KNOWN_MAX: usize = 1000;
const PATH_BYTES_MAX: u64 = 4096;

/// Where shipmate keeps what is one for all workspaces of a user.
pub fn user_state() -> Option<PathBuf> {
    let named = |variable: &str| {
        environment::var(variable).map(PathBuf::from).filter(|path| path.is_absolute())
    };
    let state = named("XDG_STATE_HOME").or_else(|| Some(named("HOME")?.join(".local/state")));
    Some(state?.join("shipmate"))
}

fn folder() -> Option<PathBuf> {
    Some(user_state()?.join("workspaces"))
}

/// Makes this one known to the others; best effort.
pub fn make_known(place: &Place) {
    let Some(folder) = folder() else { return };
    let path = place.workspace.as_os_str().as_bytes();
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    drop(made.and_then(|()| fs::write(folder.join(place.digest()), path)));
}

/// The state folders of all that are known. One that is gone is forgotten.
pub(super) fn states() -> Vec<PathBuf> {
    let entries = folder().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten();
    let place = |entry: fs::DirEntry| {
        let path = read_start(&entry.path(), PATH_BYTES_MAX).ok()?;
        let place = Place { workspace: PathBuf::from(std::ffi::OsString::from_vec(path)) };
        let state = place.state();
        if state.is_absolute() && state.is_dir() {
            return Some(state);
        }
        drop(fs::remove_file(entry.path()));
        None
    };
    entries.flatten().take(KNOWN_MAX).filter_map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_known_until_it_is_gone() {
        let top = std::env::temp_dir().join(format!("shipmate-known-{}", std::process::id()));
        let home = top.join("home").display().to_string();
        environment::renew([("XDG_STATE_HOME".to_owned(), home)].into());
        let places = ["one", "two"].map(|name| Place { workspace: top.join(name) });
        for place in &places {
            fs::create_dir_all(place.state()).unwrap();
            make_known(place);
            make_known(place);
        }
        let mut known = states();
        known.sort();
        assert_eq!(known, places.each_ref().map(Place::state));
        fs::remove_dir_all(&places[0].workspace).unwrap();
        assert_eq!(states(), [places[1].state()]);
        assert_eq!(fs::read_dir(folder().unwrap()).unwrap().count(), 1);
        fs::remove_dir_all(&top).unwrap();
    }
}
