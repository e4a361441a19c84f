//! The home folder of what a gate runs: one of its own, with links to what the person's has.
//!
//! Tests make folders in it, and behind the fence they could not. What they make is thrown away before the
//! next run; through a link nothing can be written, and what is hidden stays so. A set-up has none: what it
//! installs there would be gone.

use std::fs;
use std::io::Result;
use std::os::unix::fs::symlink;
use std::path::Path;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use shipmate_process::remove_folder;

use super::{Grounds, caches, made};

/// Folders of a home in which each program makes one of its own.
const SHARED: [&str; 5] = [".cache", ".config", ".local", ".local/share", ".local/state"];

impl Grounds {
    /// Those of what judges in this tree: what one gate leaves in its folders is not there for the next. They
    /// lie in a folder that nobody behind the fence may write, so nobody there can put a link in its place.
    pub fn judging(mut self, tree: &Path) -> Grounds {
        // Short: names of sockets have room for a hundred bytes.
        let digest = Sha256::digest(tree.as_os_str().as_encoded_bytes());
        self.own.push(&HEXLOWER.encode(&digest)[..4]);
        self
    }

    /// Empties them for the next run. Without a home folder there it goes on in the person's.
    pub fn make_anew(&self) -> std::result::Result<(), String> {
        if fs::symlink_metadata(&self.own).is_ok() {
            remove_folder(&self.own).map_err(|e| format!("{}: {e}", self.own.display()))?;
        }
        made(&self.temp())?;
        if let Some(from) = caches::home()
            && let Err(e) = link_all(&from, &self.home())
        {
            tracing::warn!(folder = %self.home().display(), "no home folder for gates: {e}");
            drop(remove_folder(&self.home()));
        }
        Ok(())
    }
}

fn link_all(from: &Path, folder: &Path) -> Result<()> {
    made(folder).map_err(std::io::Error::other)?;
    for below in [""].iter().chain(&SHARED) {
        let (from, to) = (from.join(below), folder.join(below));
        if !below.is_empty() {
            fs::create_dir(&to)?;
        }
        // What is not there has nothing to link; of what may not be read nobody behind the fence would.
        for entry in fs::read_dir(&from).into_iter().flatten().flatten() {
            let name = Path::new(below).join(entry.file_name());
            if !SHARED.iter().any(|shared| Path::new(shared) == name) {
                symlink(entry.path(), folder.join(&name))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use shipmate_process::environment;

    use super::*;

    #[test]
    fn it_has_what_the_persons_has_and_nothing_that_was_made_in_it_before() {
        let top = std::env::temp_dir().join(format!("shipmate-home-{}", std::process::id()));
        let from = top.join("person");
        let grounds = Grounds { own: top.join("own"), ..Grounds::default() };
        let grounds = grounds.judging(Path::new("/tree"));
        let folder = grounds.home();
        made(&from.join(".config/git")).unwrap();
        fs::write(from.join(".npmrc"), "a=b\n").unwrap();
        fs::write(from.join(".config/git/ignore"), "x\n").unwrap();
        environment::renew([("HOME".to_owned(), from.display().to_string())].into());
        for _ in 0..2 {
            grounds.make_anew().unwrap();
            assert!(fs::read_dir(grounds.temp()).unwrap().next().is_none());
            fs::write(grounds.temp().join("left"), "made").unwrap();
            assert_eq!(fs::read_to_string(folder.join(".npmrc")).unwrap(), "a=b\n");
            assert_eq!(fs::read_to_string(folder.join(".config/git/ignore")).unwrap(), "x\n");
            // Fails where one of before is there.
            fs::create_dir(folder.join(".local/share/tool")).unwrap();
            fs::write(folder.join(".config/tool"), "made").unwrap();
        }
        assert!(!from.join(".config/tool").exists() && !from.join(".local").exists());
        fs::remove_dir_all(&top).unwrap();
    }
}
