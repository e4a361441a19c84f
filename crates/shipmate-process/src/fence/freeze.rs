//! Modes, owners and times of what is outside a fence, which Landlock leaves to whoever owns the
//! files: there all is mounted read-only, in a mount namespace of the tree's own.
//!
//! Best effort: it takes the right to mount, which is root's.
//!
//! Deliberately absent: a user namespace, in which everybody may mount. Files of other users seem
//! to be nobody's there, and programs that look whose their settings are (ssh) refuse to work.
//! And `/proc`, `/sys` and `/dev`: what is there belongs to the system.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

use rustix::mount::{
    MountFlags, MountPropagationFlags, mount_bind_recursive, mount_change, mount_remount,
};
use rustix::thread::UnshareFlags;

/// Makes all but these read-only for this process. A process that is fenced already may not.
pub(super) fn freeze(write: &[PathBuf]) -> io::Result<()> {
    own_mounts()?;
    // What is mounted outside later is seen here, and never the other way round.
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    let mut open: Vec<PathBuf> = write.iter().filter_map(|path| path.canonicalize().ok()).collect();
    open.sort();
    open.dedup_by(|path, before| path.starts_with(before));
    for path in &open {
        mount_bind_recursive(path, path)?;
    }
    let system = ["/proc", "/sys", "/dev"].map(PathBuf::from);
    let stays = |path: &Path| open.iter().chain(&system).any(|open| path.starts_with(open));
    let mounts = fs::read("/proc/self/mountinfo")?;
    for (path, flags) in mounts.split(|byte| *byte == b'\n').filter_map(mounted) {
        if !stays(&path) {
            mount_remount(&path, flags | MountFlags::BIND | MountFlags::RDONLY, "")?;
        }
    }
    // The folder it stands in is the same one as before, on the mount that is read-only now.
    env::set_current_dir(env::current_dir()?)
}

#[expect(deprecated, reason = "unsafe only where descriptors are unshared, and they are not")]
fn own_mounts() -> io::Result<()> {
    rustix::thread::unshare(UnshareFlags::NEWNS)?;
    Ok(())
}

/// A line of `mountinfo`: where, and with which options that a remount must repeat.
fn mounted(line: &[u8]) -> Option<(PathBuf, MountFlags)> {
    let mut fields = line.split(|byte| *byte == b' ');
    let path = PathBuf::from(OsString::from_vec(unescaped(fields.nth(4)?)));
    let flags = fields.next()?.split(|byte| *byte == b',').map(|option| match option {
        b"nosuid" => MountFlags::NOSUID,
        b"nodev" => MountFlags::NODEV,
        b"noexec" => MountFlags::NOEXEC,
        b"noatime" => MountFlags::NOATIME,
        b"nodiratime" => MountFlags::NODIRATIME,
        b"relatime" => MountFlags::RELATIME,
        b"nosymfollow" => MountFlags::NOSYMFOLLOW,
        _ => MountFlags::empty(),
    });
    Some((path, flags.collect()))
}

/// The kernel writes blanks, line ends and backslashes as three octal digits.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).and_then(|digits| str::from_utf8(digits).ok());
        let code = octal.filter(|_| *first == b'\\').map(|digits| u8::from_str_radix(digits, 8));
        if let Some(Ok(byte)) = code {
            bytes.push(byte);
            rest = &after[3..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn a_mount_is_read_with_its_odd_name_and_its_options() {
        let line = br"28 27 0:25 / /mnt/a\040b\134c rw,nosuid,nodev,relatime shared:1 - tmpfs t rw";
        let (path, flags) = mounted(line).unwrap();
        assert_eq!(path.as_os_str().as_bytes(), br"/mnt/a b\c");
        assert_eq!(flags, MountFlags::NOSUID | MountFlags::NODEV | MountFlags::RELATIME);
        assert!(mounted(b"").is_none());
    }
}
