//! The home folder of what a gate runs: one of its own, with links to what the person's has.
//!
//! Tests make folders in it, and behind the fence they could not. What they make is thrown away before the
//! next run; through a link nothing can be written, and what is hidden stays so. A set-up has none: what it
//! installs there would be gone.

use std::fs;
use std::io::Result;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use shipmate_process::remove_folder;
use shipmate_protocol::Place;

use super::{Grounds, caches, made};
use crate::agents::FenceSetting;

/// Folders of a home in which each program makes one of its own.
const SHARED: [&str; 5] = [".cache", ".config", ".local", ".local/share", ".local/state"];

/// Where the one of a tree is. Not below a folder that may be written behind the fence: nobody there can put
/// a link in its place.
pub(super) fn of(grounds: &Grounds, place: &Place, tree: &Path) -> Option<PathBuf> {
    let name = tree.strip_prefix(place.state()).ok()?.file_name()?;
    Some(grounds.own.join("homes").join(name))
}

/// Makes it anew for what is run in this tree next. Without one everything goes on in the person's.
pub fn make_home(grounds: &Grounds, place: &Place, tree: &Path) {
    let (Some(folder), Some(from)) = (of(grounds, place, tree), caches::home()) else { return };
    if grounds.level == FenceSetting::Off {
        return;
    }
    if let Err(e) = link_all(&from, &folder) {
        tracing::warn!(folder = %folder.display(), "no home folder for gates: {e}");
        drop(remove_folder(&folder));
    }
}

fn link_all(from: &Path, folder: &Path) -> Result<()> {
    if fs::symlink_metadata(folder).is_ok() {
        remove_folder(folder)?;
    }
    made(folder).map_err(std::io::Error::other)?;
    for below in [""].iter().chain(&SHARED) {
        let (from, to) = (from.join(below), folder.join(below));
        if !below.is_empty() {
            fs::create_dir(&to)?;
        }
        // What is not there has nothing to link; of what may not be read nobody behind the fence would.
        for entry in fs::read_dir(&from).into_iter().flatten().flatten() {
            let name = Path::new(below).join(entry.file_name());
            if !SHARED.iter().any(|shared| Path::new(shared) == name) {
                symlink(entry.path(), folder.join(&name))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_what_the_persons_has_and_nothing_that_was_made_in_it_before() {
        let top = std::env::temp_dir().join(format!("shipmate-home-{}", std::process::id()));
        let (from, folder) = (top.join("person"), top.join("own/homes/tree"));
        made(&from.join(".config/git")).unwrap();
        fs::write(from.join(".npmrc"), "a=b\n").unwrap();
        fs::write(from.join(".config/git/ignore"), "x\n").unwrap();
        for _ in 0..2 {
            link_all(&from, &folder).unwrap();
            assert_eq!(fs::read_to_string(folder.join(".npmrc")).unwrap(), "a=b\n");
            assert_eq!(fs::read_to_string(folder.join(".config/git/ignore")).unwrap(), "x\n");
            // Fails where one of before is there.
            fs::create_dir(folder.join(".local/share/tool")).unwrap();
            fs::write(folder.join(".config/tool"), "made").unwrap();
        }
        assert!(!from.join(".config/tool").exists() && !from.join(".local").exists());
        fs::remove_dir_all(&top).unwrap();
    }
}
