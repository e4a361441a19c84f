//! A folder of its own for each teammate's program: its sessions and logs are there, and links to
//! what is the person's.
//!
//! Made anew for each life. Settings, hooks, skills and servers are the person's, and behind the
//! fence nothing can be written through the links. A login is used where it is, never copied: where
//! a refresh token rotates, a copy would log the person out. So its file, and nothing beside it, may
//! be written by the program: in place, as all known ones do.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use shipmate_protocol::view::OwnFolder;

use super::known::Base;
use super::{Around, Profile};

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
            let inside = named.join(own.inside);
            fs::create_dir_all(&named)?;
            // A link that an earlier life has put there would lead us into what is the person's.
            if inside.is_symlink() {
                fs::remove_file(&inside)?;
            }
            fs::create_dir_all(&inside)?;
            all.env.insert(own.variable.to_owned(), named.display().to_string());
            all.write.push(named);
            let Some(persons) = self.path(around, own.of, own.inside) else { continue };
            for name in own.read.iter().chain(own.logins) {
                let (from, to) = (persons.join(name), inside.join(name));
                clear(&to)?;
                if from.exists() {
                    symlink(&from, &to)?;
                }
            }
            let logins = own.logins.iter().map(|name| persons.join(name));
            all.write.extend(logins.filter(|path| path.is_file()));
            for (base, name) in own.copied {
                let to = inside.join(name);
                clear(&to)?;
                let beside = persons.join(name);
                let elsewhere = self.path(around, *base, name);
                let from = Some(beside).filter(|path| path.is_file()).or(elsewhere);
                if let Some(from) = from.filter(|path| path.is_file()) {
                    fs::copy(from, to)?;
                }
            }
        }
        Ok(all)
    }
}

/// Takes away what an earlier life has put there.
fn clear(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    }
}
