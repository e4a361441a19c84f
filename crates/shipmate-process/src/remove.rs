//! Deletes folders that agents have filled: of any depth, with folders that may not be entered, and
//! while somebody may still be changing them.
//!
//! Every folder is held open and none is entered through a link. What is deep is moved up first, so
//! nothing here grows with the depth.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, chmodat, openat, renameat, unlinkat};
use rustix::io::Errno;

/// Like [`std::fs::remove_dir_all`]; a path that is no folder is an error.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    let top = open(CWD, path)?;
    // Each folder below is emptied where it lies right in the top: what it holds goes up to it.
    loop {
        let mut is_empty = true;
        for (name, is_folder) in entries(&top)? {
            is_empty = false;
            if is_folder { empty(&top, &name)? } else { gone(unlink(&top, &name))? }
        }
        if is_empty {
            break;
        }
    }
    drop(top);
    gone(unlinkat(CWD, path, AtFlags::REMOVEDIR))?;
    Ok(())
}

/// Gives its owner every right over a folder and those below it, so that whoever is to delete in them can. One
/// that cannot be entered all the same is left as it is.
pub fn open_folders(path: &Path) {
    let mut left = vec![path.to_owned()];
    while let Some(path) = left.pop() {
        let Ok(inside) = open(CWD, &path).and_then(|folder| entries(&folder)) else { continue };
        let folders = inside.into_iter().filter(|(_, is_folder)| *is_folder);
        left.extend(folders.map(|(name, _)| path.join(OsStr::from_bytes(name.as_bytes()))));
    }
}

/// Takes a folder that lies in the top apart, and removes it if nothing was added meanwhile.
fn empty(top: &OwnedFd, name: &CString) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    if unlinkat(top, name, AtFlags::REMOVEDIR).is_ok() {
        return Ok(());
    }
    let folder = match open(top, name) {
        Ok(folder) => folder,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        // No folder any more: the next look finds what it is.
        Err(error) if is_swapped(&error) => return Ok(()),
        Err(error) => return Err(error),
    };
    for (inner, is_folder) in entries(&folder)? {
        if !is_folder {
            gone(unlink(&folder, &inner))?;
            continue;
        }
        if unlinkat(&folder, &inner, AtFlags::REMOVEDIR).is_ok() {
            continue;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let up = format!(".deleted-{}-{number}", std::process::id());
        let moved = || renameat(&folder, &inner, top, &up);
        match moved() {
            // Moving a folder changes what it holds, its own name for its parent.
            Err(Errno::ACCESS) => {
                give_rights(&folder, &inner)?;
                gone(moved())?;
            }
            other => gone(other)?,
        }
    }
    drop(folder);
    match unlinkat(top, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn is_swapped(error: &io::Error) -> bool {
    [Errno::LOOP, Errno::NOTDIR]
        .iter()
        .any(|errno| errno.raw_os_error() == error.raw_os_error().unwrap_or(0))
}

/// Opens a folder itself, never what a link leads to; one without permissions gets them.
fn open(folder: impl AsFd, name: impl rustix::path::Arg + Copy) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = folder.as_fd();
    let open = || openat(folder, name, flags, Mode::empty());
    match open() {
        Ok(opened) => {
            // To delete in it takes the right to write, which its owner can give.
            let _ = rustix::fs::fchmod(&opened, Mode::RWXU);
            Ok(opened)
        }
        Err(Errno::ACCESS) => {
            give_rights(folder, name)?;
            Ok(open()?)
        }
        Err(errno) => Err(errno.into()),
    }
}

/// To its owner, over a folder itself and not over what a link leads to.
fn give_rights(folder: impl AsFd, name: impl rustix::path::Arg) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let it = openat(folder, name, flags, Mode::empty())?;
    let path = format!("/proc/self/fd/{}", it.as_raw_fd());
    Ok(chmodat(CWD, path, Mode::RWXU, AtFlags::empty())?)
}

fn unlink(folder: &OwnedFd, name: &CString) -> rustix::io::Result<()> {
    unlinkat(folder, name, AtFlags::empty())
}

/// What is gone already, or became something else, is for the next look.
fn gone(done: rustix::io::Result<()>) -> io::Result<()> {
    match done {
        Ok(()) | Err(Errno::NOENT | Errno::ISDIR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn entries(folder: &OwnedFd) -> io::Result<Vec<(CString, bool)>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if [c".", c".."].contains(&name) {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
                stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
            }
            kind => kind,
        };
        found.push((name.to_owned(), kind == FileType::Directory));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn folders_that_may_not_be_entered_can_be_given_back_to_their_owner() {
        let top = std::env::temp_dir().join(format!("shipmate-open-{}", std::process::id()));
        let deep = top.join("a/b/c");
        fs::create_dir_all(&deep).unwrap();
        for folder in [&deep, &top.join("a/b"), &top.join("a")] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o000)).unwrap();
        }
        open_folders(&top);
        assert_eq!(fs::metadata(&deep).unwrap().permissions().mode() & 0o777, 0o700);
        fs::remove_dir_all(&top).unwrap();
    }

    #[test]
    fn a_folder_is_deleted_however_deep_and_nothing_outside() {
        let top = std::env::temp_dir().join(format!("shipmate-remove-{}", std::process::id()));
        let folder = top.join("folder");
        fs::create_dir_all(folder.join("a/b/c")).unwrap();
        fs::write(top.join("kept"), "kept").unwrap();
        fs::write(folder.join("a/b/file"), "x").unwrap();
        symlink(&top, folder.join("a/out")).unwrap();
        symlink("../..", folder.join("up")).unwrap();
        fs::set_permissions(folder.join("a/b"), fs::Permissions::from_mode(0o000)).unwrap();
        // Deeper than a stack or a path is long.
        let mut at = open(CWD, &folder).unwrap();
        for _ in 0..20_000 {
            rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
            at = open(&at, "d").unwrap();
        }
        remove_folder(&folder).unwrap();
        assert!(!folder.exists());
        assert_eq!(fs::read_to_string(top.join("kept")).unwrap(), "kept");
        assert_eq!(remove_folder(&folder).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::remove_dir_all(&top).unwrap();
    }
}
