//! A file that is replaced whole, so that a reader never sees half of it.

use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use shipmate_process::regular_file::read_start;

/// A view is its owner's, and nobody writes it.
pub(super) const MODE: u32 = 0o400;

/// Replaces a file in one step, unless it is as it should be.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mode = |path: &Path| Ok::<u32, std::io::Error>(path.metadata()?.permissions().mode());
    if read_start(path, bytes.len() as u64 + 1).is_ok_and(|there| there == bytes)
        && mode(path).is_ok_and(|mode| mode & 0o7777 == MODE)
    {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let fresh: PathBuf = folder.join(name);
    drop(std::fs::remove_file(&fresh));
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(MODE).open(&fresh)?;
    file.write_all(bytes)?;
    std::fs::rename(&fresh, path)
}
