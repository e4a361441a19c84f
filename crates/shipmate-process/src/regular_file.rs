//! Files that an agent may have written, or put something else in the place of.
//!
//! Only a regular file is read, without following a link, without waiting and up to a limit: a
//! pipe would be waited for, and `/dev/zero` has no end.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

const READS: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// The first bytes of a file.
pub fn read_start(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The whole of a file that a person keeps, so links are followed; an error where it is longer.
pub fn read_whole(path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
    whole(open_with(path, OFlags::empty())?, bytes_max)
}

/// The same of a file in a folder that agents may write: links are followed, and none out of it.
pub fn read_inside(root: &Path, path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
    let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::openat(CWD, root, folder, Mode::empty())?;
    let file = openat2(root, path, READS, Mode::empty(), ResolveFlags::BENEATH);
    let file = file.map_err(|errno| match errno {
        Errno::XDEV => io::Error::other("it leads out of the folder"),
        errno => errno.into(),
    });
    whole(regular(file?, path)?, bytes_max)
}

fn whole(file: File, bytes_max: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    match bytes.len() > bytes_max {
        true => Err(io::Error::other(format!("it is longer than {bytes_max} bytes"))),
        false => Ok(bytes),
    }
}

/// The last bytes of a file.
pub fn read_end(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(bytes_max)))?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::NOFOLLOW)
}

fn open_with(path: &Path, flags: OFlags) -> io::Result<File> {
    regular(rustix::fs::openat(CWD, path, flags | READS, Mode::empty())?, path)
}

fn regular(file: OwnedFd, path: &Path) -> io::Result<File> {
    let stat = rustix::fs::fstat(&file)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(file.into()),
        _ => Err(io::Error::other(format!("{} is not a regular file", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read_and_only_so_much_of_them() {
        let folder = std::env::temp_dir().join(format!("shipmate-regular-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let (file, pipe, link) = (folder.join("file"), folder.join("pipe"), folder.join("link"));
        std::fs::write(&file, "0123456789").unwrap();
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        assert_eq!(read_start(&file, 4).unwrap(), b"0123");
        assert_eq!(read_end(&file, 4).unwrap(), b"6789");
        assert_eq!(read_end(&file, 40).unwrap(), b"0123456789");
        for other in [&pipe, &link, &folder, Path::new("/dev/zero")] {
            assert!(read_start(other, 4).is_err() && read_end(other, 4).is_err(), "{other:?}");
            assert!(read_whole(other, 4).is_err(), "{other:?}");
        }
        let kept = folder.join("kept");
        std::os::unix::fs::symlink(&file, &kept).unwrap();
        assert_eq!(read_whole(&kept, 10).unwrap(), b"0123456789");
        assert!(read_whole(&kept, 9).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
