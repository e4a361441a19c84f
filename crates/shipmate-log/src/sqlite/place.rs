//! Whether a directory can hold a log at all.
//!
//! SQLite's write-ahead log needs shared memory and locks that every process sees alike. Network
//! file systems give neither reliably and lose data without a word, so they are refused. FUSE is
//! refused as a whole: what it promises depends on the program behind it, sshfs and virtiofs are
//! among them, and the kernel does not say which one it is.

use crate::OpenFailure;
use std::path::Path;

/// Refuses a directory that is missing or lies on a file system that cannot hold a log.
pub(super) fn check(directory: &Path) -> Result<(), OpenFailure> {
    if !directory.is_dir() {
        return Err(OpenFailure::Unsuitable(format!(
            "the directory {} for the log does not exist: create it",
            directory.display()
        )));
    }
    if let Some(name) = file_system(directory) {
        return Err(OpenFailure::Unsuitable(format!(
            "{} is on {name}, where a log could lose records: keep the state directory on a \
             local disk, or use a JetStream log",
            directory.display()
        )));
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn file_system(directory: &Path) -> Option<&'static str> {
    remote(rustix::fs::statfs(directory).ok()?.f_type as u32)
}

/// Elsewhere there is no such number to ask for, and the choice is left to the person.
#[cfg(not(target_os = "linux"))]
fn file_system(_directory: &Path) -> Option<&'static str> {
    None
}

/// The name of a file system that is shared over a network, by the number `statfs` gives it.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux has the number"))]
fn remote(magic: u32) -> Option<&'static str> {
    Some(match magic {
        0x6969 => "NFS",
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => "an SMB share",
        0x0102_1997 => "a 9p share",
        0x6573_5546 => "a FUSE file system (such as sshfs or virtiofs)",
        0x5346_414f | 0x6b41_4653 => "AFS",
        0x00c3_6400 => "Ceph",
        0x0bd0_0bd0 => "Lustre",
        0x0116_1970 => "GFS2",
        0x7461_636f => "OCFS2",
        0x4750_4653 => "GPFS",
        0x7375_7245 => "Coda",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_number_and_local_ones_are_let_through() {
        assert_eq!(remote(0x6969), Some("NFS"));
        assert_eq!(remote(0xff53_4d42), Some("an SMB share"));
        assert_eq!(remote(0x0102_1997), Some("a 9p share"));
        assert!(remote(0x6573_5546).is_some_and(|name| name.contains("sshfs")));
        for local in [0xef53, 0x9123_683e, 0x5846_5342, 0x0102_1994, 0x794c_7630, 0x2fc1_2fc1] {
            assert_eq!(remote(local), None);
        }
    }

    #[test]
    fn a_missing_directory_is_named() {
        let failure = check(Path::new("/nowhere/at/all")).unwrap_err();
        assert!(failure.to_string().contains("/nowhere/at/all"), "{failure}");
    }
}
