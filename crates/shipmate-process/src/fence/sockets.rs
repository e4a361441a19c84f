//! Sockets that are files and that somebody listens on: a fence of Landlock alone leaves them in
//! reach. Found in the kernel's list, in which names are whatever bytes somebody chose, and in the
//! folders where sockets usually lie. One that lies elsewhere, under another name than it was bound
//! by, is not found.
//!
//! Left out is what answers everybody alike and does nothing for them: names of hosts and users,
//! the system's log.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::Fence;

/// Of no use to who wants to leave a fence.
const HARMLESS: [&str; 7] = [
    "/run/nscd/socket",
    "/run/systemd/journal",
    "/run/systemd/resolve",
    "/run/systemd/userdb",
    "/run/systemd/notify",
    "/run/systemd/io.system.ManagedOOM",
    "/dev/log",
];

/// Those that a process behind this fence could connect to and has no business with, by their
/// real paths.
pub fn in_reach(fence: &Fence) -> io::Result<Vec<PathBuf>> {
    let list = fs::read("/proc/net/unix")?;
    let real = |path: &PathBuf| path.canonicalize().ok();
    let kept = fence.write.iter().chain(&fence.reach).filter_map(real);
    let kept: Vec<PathBuf> = kept.chain(HARMLESS.map(PathBuf::from)).collect();
    let listed = list.split(|byte| *byte == b'\n').filter_map(listening).map(Path::to_owned);
    let mut found: Vec<PathBuf> = listed
        .chain(lying())
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| !kept.iter().any(|kept| path.starts_with(kept)))
        .filter(|path| fs::metadata(path).is_ok_and(|file| file.file_type().is_socket()))
        .filter(|path| may_connect(path))
        .collect();
    found.sort();
    found.dedup();
    Ok(found)
}

/// Those that lie where sockets usually do: the list has the name that one was bound by, which may
/// have been changed since, and none of another network namespace.
fn lying() -> Vec<PathBuf> {
    const LOOKED_AT_MAX: usize = 20_000;
    let mut found = Vec::new();
    let mut folders = [("/run", 6), ("/tmp", 2), ("/var/tmp", 2)]
        .map(|(folder, depth)| (PathBuf::from(folder), depth))
        .to_vec();
    let mut looked_at = 0;
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            looked_at += 1;
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_socket() {
                found.push(entry.path());
            } else if kind.is_dir() && depth > 1 && looked_at < LOOKED_AT_MAX {
                folders.push((entry.path(), depth - 1));
            }
        }
    }
    found
}

/// The path in a line of the list, where it is a socket that takes connections or messages.
fn listening(line: &[u8]) -> Option<&Path> {
    const TAKES_CONNECTIONS: u32 = 0x1_0000;
    const DATAGRAM: &[u8] = b"0002";
    // Its number, users, protocol, flags, type, state, inode and path.
    let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let flags = str::from_utf8(fields.nth(3)?).ok()?;
    let flags = u32::from_str_radix(flags, 16).ok()?;
    let kind = fields.next()?;
    let at = line.windows(2).position(|two| two == b" /")?;
    let path = Path::new(OsStr::from_bytes(&line[at + 1..]));
    (flags & TAKES_CONNECTIONS != 0 || kind == DATAGRAM).then_some(path)
}

fn may_connect(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_list_is_read() {
        let stream = b"0000000000000000: 00000002 00000000 00010000 0001 01 2231 /run/a b.sock";
        assert_eq!(listening(stream), Some(Path::new("/run/a b.sock")));
        let message = b"0000000000000000: 00000002 00000000 00000000 0002 01 2231 /run/log";
        assert_eq!(listening(message), Some(Path::new("/run/log")));
        let connected = b"0000000000000000: 00000003 00000000 00000000 0001 03 2231 /run/a.sock";
        assert_eq!(listening(connected), None);
        let abstract_one = b"0000000000000000: 00000002 00000000 00010000 0001 01 2231 @name";
        assert_eq!(listening(abstract_one), None);
        assert_eq!(listening(b"Num       RefCount Protocol Flags    Type St Inode Path"), None);
    }

    #[test]
    fn one_that_is_listened_on_is_found_unless_it_is_named() {
        let name = format!("shipmate-sockets-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let path = folder.canonicalize().unwrap().join("s");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        // Whatever others are called.
        let odd = path.with_file_name(OsStr::from_bytes(b"\xff s"));
        let _other = std::os::unix::net::UnixListener::bind(&odd).unwrap();
        for path in [&path, &odd] {
            assert!(in_reach(&Fence::default()).unwrap().contains(path));
        }
        for fence in [
            Fence { reach: vec![path.clone()], ..Fence::default() },
            Fence { write: vec![folder.clone()], ..Fence::default() },
        ] {
            assert!(!in_reach(&fence).unwrap().contains(&path), "{fence:?}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
