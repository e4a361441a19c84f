//! Modes, owners and times of what is outside a fence, which Landlock leaves to whoever owns the
//! files: there all is mounted read-only, in a mount namespace of the tree's own. In the same one
//! the sockets that are not its business are covered, and `/tmp`, terminals and shared memory are
//! its own.
//!
//! It takes the right to mount: root's, or anybody's in a user namespace, where the system lets
//! people make those. Files of other users, root's too, seem to be nobody's in one. ssh is known
//! to mind (it reads settings of its own or root's only), so it finds copies there.
//!
//! Deliberately absent: `/proc`, `/sys` and the rest of `/dev`: what is there belongs to the system.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change,
    mount_remount,
};
use rustix::process::{getegid, geteuid};
use rustix::thread::UnshareFlags;

use super::{Fence, sockets};

/// Where programs put temporary files without asking.
pub(super) const TEMP: &str = "/tmp";
const TEMPS: [&str; 2] = [TEMP, "/var/tmp"];

/// Makes all but what it may write read-only for this process; says whether `/tmp` is its own
/// now. A process that is fenced already may not.
pub(super) fn freeze(fence: &Fence) -> io::Result<bool> {
    let only_user = own_mounts()?;
    // What is mounted outside later is seen here, and never the other way round.
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    let real = |path: &PathBuf| path.canonicalize().ok();
    let mut open: Vec<PathBuf> = fence.write.iter().filter_map(real).collect();
    open.sort();
    open.dedup_by(|path, before| path.starts_with(before));
    for path in &open {
        mount_bind_recursive(path, path)?;
    }
    for socket in sockets::in_reach(fence)? {
        match mount_bind("/dev/null", &socket) {
            // Gone in this moment: then nobody reaches it.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    own_devices();
    if only_user {
        own_ssh_settings();
    }
    let has_temp = own_temp(fence, &mut open)?;
    let system = ["/proc", "/sys", "/dev"].map(PathBuf::from);
    let stays = |path: &Path| open.iter().chain(&system).any(|open| path.starts_with(open));
    let mounts = fs::read("/proc/self/mountinfo")?;
    for (path, flags) in mounts.split(|byte| *byte == b'\n').filter_map(mounted) {
        if stays(&path) {
            continue;
        }
        match mount_remount(&path, flags | MountFlags::BIND | MountFlags::RDONLY, "") {
            // Where this user gets to nothing, or behind another mount.
            Ok(()) | Err(Errno::ACCESS | Errno::NOENT | Errno::INVAL) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    // The folder it stands in is the same one as before, on the mount that is read-only now.
    env::set_current_dir(env::current_dir()?)?;
    Ok(has_temp)
}

/// Puts its own folder in the place of the system's temporary ones. Not where that would take
/// away something it works with.
fn own_temp(fence: &Fence, open: &mut Vec<PathBuf>) -> io::Result<bool> {
    let Some(temp) = fence.temp.as_ref().and_then(|temp| temp.canonicalize().ok()) else {
        return Ok(false);
    };
    let cwd = env::current_dir()?;
    let mut needed = fence.write.iter().chain(&fence.read).chain(&fence.reach).chain([&cwd]);
    let is_needed = needed.any(|path| TEMPS.iter().any(|temp| path.starts_with(temp)));
    let program = env::current_exe().is_ok_and(|path| TEMPS.iter().any(|t| path.starts_with(t)));
    let is_searched = env::var_os("PATH").is_some_and(|all| {
        env::split_paths(&all).any(|path| TEMPS.iter().any(|temp| path.starts_with(temp)))
    });
    if is_needed || program || is_searched {
        return Ok(false);
    }
    for place in TEMPS.iter().filter(|place| Path::new(place).is_dir()) {
        mount_bind(&temp, *place)?;
        open.push(place.into());
    }
    Ok(true)
}

/// Terminals and shared memory without those of the person's programs. What it has open stays.
fn own_devices() {
    let (quiet, data) = (MountFlags::NOSUID | MountFlags::NOEXEC, MountFlags::NOSUID);
    let terminals = c"newinstance,ptmxmode=0666,mode=0620";
    // Best effort, as all of this: where one of them is not there it is nobody's.
    if mount("devpts", "/dev/pts", "devpts", quiet, terminals).is_ok() {
        let _ = mount_bind("/dev/pts/ptmx", "/dev/ptmx");
    }
    let _ = mount("tmpfs", "/dev/shm", "tmpfs", data | MountFlags::NODEV, c"mode=1777");
}

/// What the system's settings of ssh include. It trusts none of nobody's.
fn own_ssh_settings() {
    const INCLUDED: &str = "/etc/ssh/ssh_config.d";
    let found = fs::read_dir(INCLUDED).into_iter().flatten().flatten();
    let files: Vec<_> =
        found.filter_map(|file| Some((file.path(), fs::read(file.path()).ok()?))).collect();
    let options = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    if files.is_empty() || mount("tmpfs", INCLUDED, "tmpfs", options, c"mode=0755").is_err() {
        return;
    }
    for (path, settings) in files {
        // Without one of them ssh works as it does elsewhere.
        let _ = fs::write(path, settings);
    }
}

/// Mounts of this process's own; says whether it took a user namespace, for which a process may
/// have no second thread.
#[expect(deprecated, reason = "unsafe only where descriptors are unshared, and they are not")]
fn own_mounts() -> io::Result<bool> {
    let own = UnshareFlags::NEWNS | UnshareFlags::NEWIPC;
    let (user, group) = (geteuid(), getegid());
    if user.is_root() {
        rustix::thread::unshare(own)?;
        return Ok(false);
    }
    rustix::thread::unshare(own | UnshareFlags::NEWUSER)?;
    // Whoever names no groups may say who is who.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw()))?;
    fs::write("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw()))?;
    Ok(true)
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
