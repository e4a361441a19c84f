//! Files of a folder and of those below it, as programs look for their agents: through links too, and each
//! folder once, whatever leads to it.

use std::collections::BTreeSet;
use std::fs::{self, FileType};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const FILES_MAX: usize = 1_000;
/// Files and folders that are looked at.
const ENTRIES_MAX: usize = 20_000;
const DEPTH_MAX: usize = 16;

/// Paths from a folder, sorted.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) found: Vec<PathBuf>,
    /// What was not looked into, and why.
    pub(super) left_out: Vec<(PathBuf, String)>,
}

/// Files that end so. A folder that was seen before is left alone, and so is, where they are to stay inside,
/// one that a link leads out to.
pub(super) fn files(
    root: &Path,
    end: &str,
    stay_inside: bool,
    seen: &mut BTreeSet<(u64, u64)>,
) -> Files {
    let mut files = Files::default();
    let top = root.canonicalize().unwrap_or_default();
    let mut entries = 0;
    // Folders that links lead to come last, so that a file is named by where it is.
    let mut folders = BTreeSet::from([(false, PathBuf::new())]);
    while let Some((by_link, below)) = folders.pop_first() {
        let folder = root.join(&below);
        let Ok(real) = folder.canonicalize() else { continue };
        let Ok(about) = real.metadata() else { continue };
        if !about.is_dir() || !seen.insert((about.dev(), about.ino())) {
            continue;
        }
        if stay_inside && !real.starts_with(&top) {
            files.left_out.push((below, "it leads out of the folder".to_owned()));
            continue;
        }
        for entry in fs::read_dir(&real).into_iter().flatten().filter_map(Result::ok) {
            entries += 1;
            if entries > ENTRIES_MAX {
                let reason = format!("it has more than {ENTRIES_MAX} files: the rest is left out");
                files.left_out.push((PathBuf::new(), reason));
                folders.clear();
                break;
            }
            let path = below.join(entry.file_name());
            let kind = entry.file_type();
            let is_link = kind.as_ref().is_ok_and(FileType::is_symlink);
            let is_folder = match is_link {
                true => entry.path().is_dir(),
                false => kind.is_ok_and(|kind| kind.is_dir()),
            };
            match (is_folder, path.components().count() > DEPTH_MAX) {
                (true, true) => files.left_out.push((path, "it lies too deep".to_owned())),
                (true, false) => drop(folders.insert((by_link || is_link, path))),
                (false, _) if path.extension().is_some_and(|own| own == end) => {
                    files.found.push(path);
                }
                (false, _) => {}
            }
        }
    }
    files.found.sort_unstable();
    if files.found.len() > FILES_MAX {
        files.found.truncate(FILES_MAX);
        let reason = format!("it has more than {FILES_MAX} definitions: the rest is left out");
        files.left_out.push((PathBuf::new(), reason));
    }
    files
}
