//! Puts a change in place: the file whole or not at all, a copy of what was there kept first.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::{Change, Unfit, Way};

/// Writes one file; where its copy is, if there was anything to copy.
pub(crate) fn write(change: &Change, way: Way, backups: &Path) -> Result<Option<PathBuf>, Unfit> {
    let failed = |e: std::io::Error| {
        Unfit::of(&change.path, &e.to_string(), "nothing was changed in it; check permissions")
    };
    // The text that was shown is the text that is replaced.
    let now = match fs::read_to_string(&change.path) {
        Ok(text) => Some(text),
        Err(e) if e.kind() == ErrorKind::NotFound => None,
        Err(e) => return Err(failed(e)),
    };
    if now != change.before {
        return Err(Unfit::of(&change.path, "it was changed meanwhile", "run the command again"));
    }
    let backup = backup_of(backups, &change.path);
    let kept = match (&change.before, way) {
        (Some(before), Way::Install) => {
            private_folder(backups).map_err(failed)?;
            put(&backup, before, 0o600).map_err(failed)?;
            Some(backup.clone())
        }
        _ => None,
    };
    match &change.after {
        Some(after) => {
            // A link stays one: what it leads to is replaced.
            let path = change.path.canonicalize().unwrap_or_else(|_| change.path.clone());
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).map_err(failed)?;
            let mode = fs::metadata(&path).map_or(0o644, |meta| meta.permissions().mode() & 0o777);
            put(&path, after, mode).map_err(failed)?;
        }
        None => {
            fs::remove_file(&change.path).map_err(failed)?;
            // A folder that was made for it alone goes too; one that holds more does not.
            drop(change.path.parent().map(fs::remove_dir));
        }
    }
    if way == Way::Undo {
        // There is none where there was no file before.
        drop(fs::remove_file(&backup));
    }
    Ok(kept)
}

/// Where the copy of a file is kept.
pub(crate) fn backup_of(backups: &Path, path: &Path) -> PathBuf {
    let name = path.to_string_lossy().replace(['/', '\\'], "%");
    backups.join(name)
}

fn private_folder(path: &Path) -> std::io::Result<()> {
    fs::create_dir_all(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    // A coordinator has perhaps never run here, which would have hidden all state from git.
    fs::write(path.join(".gitignore"), "*\n")
}

fn put(path: &Path, text: &str, mode: u32) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let fresh = path.with_file_name(name);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&fresh)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::set_permissions(&fresh, fs::Permissions::from_mode(mode)))
        .and_then(|()| fs::rename(&fresh, path));
    if written.is_err() {
        // What is half written is nobody's.
        drop(fs::remove_file(&fresh));
    }
    written
}
