//! A folder of its own for each teammate's program: its sessions and logs are there, and links to
//! what is the person's.
//!
//! Made anew for each life. Settings, hooks, skills and servers are the person's, and behind the
//! fence nothing can be written through the links. A login is used where it is, never copied: where
//! a refresh token rotates, a copy would log the person out. So its file, and nothing beside it, may
//! be written by the program: in place, as all known ones do.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, renameat, symlinkat, unlinkat};
use rustix::io::Errno;
use shipmate_process::remove_folder;
use shipmate_protocol::view::OwnFolder;

use super::base::Base;
use super::{Around, Profile};

/// The text of a file as it is to be; nothing where it stays the person's.
type Change = fn(&str) -> Option<String>;

/// One folder that a program is told of by a variable.
#[derive(Debug)]
pub(super) struct Home {
    pub(super) variable: &'static str,
    /// The person's, which the variable stands for, and what it is called below the variable's.
    pub(super) of: Base,
    pub(super) inside: &'static str,
    /// What is the person's there.
    pub(super) read: &'static [&'static str],
    pub(super) logins: &'static [&'static str],
    /// Files that the program writes anew by itself: each life begins with the person's.
    pub(super) copied: &'static [(Base, &'static str)],
    /// Files of the person's that are changed where the function says how.
    pub(super) changed: &'static [(&'static str, Change)],
}

/// What a program is started with so that it is at home.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct AtHome {
    pub(crate) env: BTreeMap<String, String>,
    /// What it must be able to write, in any mode.
    pub(crate) write: Vec<PathBuf>,
}

impl Profile {
    /// What it has of its own, for people.
    pub(crate) fn own(&self, around: &Around) -> Vec<OwnFolder> {
        let words = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let folders = self.known.map_or(&[][..], |known| known.homes).iter();
        let folders = folders.map(|own| OwnFolder {
            variable: own.variable.to_owned(),
            instead_of: self
                .path(around, own.of, own.inside)
                .map(|path| path.display().to_string())
                .unwrap_or_default(),
            read: words(own.read),
            logins: words(own.logins),
            copied: own.copied.iter().map(|(_, name)| (*name).to_owned()).collect(),
        });
        folders.collect()
    }

    /// Makes the program's folders below this one.
    pub(crate) fn at_home(&self, around: &Around, home: &Path) -> io::Result<AtHome> {
        let mut all = AtHome::default();
        for own in self.known.map_or(&[][..], |known| known.homes) {
            let named = home.join(own.variable.to_ascii_lowercase());
            fs::create_dir_all(&named)?;
            let folder = Folder::open(&named, home)?;
            let inside = if own.inside.is_empty() { folder } else { folder.below(own.inside)? };
            all.env.insert(own.variable.to_owned(), named.display().to_string());
            all.write.push(named);
            let Some(persons) = self.path(around, own.of, own.inside) else { continue };
            for name in own.read.iter().chain(own.logins) {
                let from = persons.join(name);
                inside.clear(name)?;
                if from.exists() {
                    symlinkat(&from, &inside.itself, *name)?;
                }
            }
            let logins = own.logins.iter().map(|name| persons.join(name));
            all.write.extend(logins.filter(|path| path.is_file()));
            for (name, change) in own.changed {
                let text = fs::read_to_string(persons.join(name)).unwrap_or_default();
                if let Some(text) = change(&text) {
                    inside.clear(name)?;
                    inside.create(name)?.write_all(text.as_bytes())?;
                }
            }
            for (base, name) in own.copied {
                inside.clear(name)?;
                let beside = persons.join(name);
                // Beside a folder that somebody has named there is another login's.
                let is_named = self.var(around, own.variable).is_some();
                let elsewhere = self.path(around, *base, name).filter(|_| !is_named);
                let from = Some(beside).filter(|path| path.is_file()).or(elsewhere);
                if let Some(from) = from.filter(|path| path.is_file()) {
                    io::copy(&mut File::open(from)?, &mut inside.create(name)?)?;
                }
            }
        }
        Ok(all)
    }
}

/// A folder that programs write, held open: a link that one of them, left running, puts in the place
/// of something here is never followed.
struct Folder<'a> {
    itself: OwnedFd,
    /// Where nobody but us writes.
    safe: &'a Path,
}

impl<'a> Folder<'a> {
    fn open(path: &Path, safe: &'a Path) -> io::Result<Folder<'a>> {
        Ok(Folder { itself: openat(CWD, path, FOLDER, Mode::empty())?, safe })
    }

    /// A folder in this one; whatever else stands there goes.
    fn below(&self, name: &str) -> io::Result<Folder<'a>> {
        let open = || openat(&self.itself, name, FOLDER, Mode::empty());
        let itself = match open() {
            Ok(itself) => itself,
            Err(_) => {
                self.clear(name)?;
                mkdirat(&self.itself, name, Mode::RWXU)?;
                open()?
            }
        };
        Ok(Folder { itself, safe: self.safe })
    }

    /// Takes away what an earlier life has put there. A folder is moved out first, where nobody can
    /// fill it any more, and deleted beside everything else: it may be large.
    fn clear(&self, name: &str) -> io::Result<()> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        match unlinkat(&self.itself, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(_) => {}
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let away = self.safe.join(format!("deleted-{}-{number}", std::process::id()));
        renameat(&self.itself, name, CWD, &away)?;
        std::thread::spawn(move || drop(remove_folder(&away)));
        Ok(())
    }

    fn create(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(openat(&self.itself, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }
}

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
