//! Sockets that are files and that somebody listens on: a fence of Landlock alone leaves them in
//! reach. Found in the kernel's list, so whoever cannot read that finds none.
//!
//! Left out is what answers everybody alike and does nothing for them: names of hosts and users,
//! the system's log.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

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
pub fn in_reach(fence: &Fence) -> Vec<PathBuf> {
    let Ok(list) = fs::read_to_string("/proc/net/unix") else { return Vec::new() };
    let real = |path: &PathBuf| path.canonicalize().ok();
    let kept = fence.write.iter().chain(&fence.reach).filter_map(real);
    let kept: Vec<PathBuf> = kept.chain(HARMLESS.map(PathBuf::from)).collect();
    let mut found: Vec<PathBuf> = list
        .lines()
        .filter_map(listening)
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| !kept.iter().any(|kept| path.starts_with(kept)))
        .filter(|path| fs::metadata(path).is_ok_and(|file| file.file_type().is_socket()))
        .filter(|path| may_connect(path))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// The path in a line of the list, where it is a socket that takes connections or messages.
fn listening(line: &str) -> Option<&Path> {
    const TAKES_CONNECTIONS: u32 = 0x1_0000;
    const DATAGRAM: &str = "0002";
    // Its number, users, protocol, flags, type, state, inode and path.
    let mut fields = line.split_ascii_whitespace();
    let flags = u32::from_str_radix(fields.nth(3)?, 16).ok()?;
    let kind = fields.next()?;
    let path = line.find(" /").map(|at| &line[at + 1..])?;
    (flags & TAKES_CONNECTIONS != 0 || kind == DATAGRAM).then(|| Path::new(path))
}

fn may_connect(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_list_is_read() {
        let stream = "0000000000000000: 00000002 00000000 00010000 0001 01 2231 /run/a b.sock";
        assert_eq!(listening(stream), Some(Path::new("/run/a b.sock")));
        let message = "0000000000000000: 00000002 00000000 00000000 0002 01 2231 /run/log";
        assert_eq!(listening(message), Some(Path::new("/run/log")));
        let connected = "0000000000000000: 00000003 00000000 00000000 0001 03 2231 /run/a.sock";
        assert_eq!(listening(connected), None);
        let abstract_one = "0000000000000000: 00000002 00000000 00010000 0001 01 2231 @name";
        assert_eq!(listening(abstract_one), None);
        assert_eq!(listening("Num       RefCount Protocol Flags    Type St Inode Path"), None);
    }

    #[test]
    fn one_that_is_listened_on_is_found_unless_it_is_named() {
        let name = format!("shipmate-sockets-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let path = folder.canonicalize().unwrap().join("s");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(in_reach(&Fence::default()).contains(&path));
        for fence in [
            Fence { reach: vec![path.clone()], ..Fence::default() },
            Fence { write: vec![folder.clone()], ..Fence::default() },
        ] {
            assert!(!in_reach(&fence).contains(&path), "{fence:?}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
