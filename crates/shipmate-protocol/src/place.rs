//! Where things lie: the workspace, its state folder and the coordinator's socket.

use std::fs::{DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

const TOKEN_BYTES_MAX: u64 = 4096;

/// The folders of one workspace.
#[derive(Debug, Clone)]
pub struct Place {
    pub workspace: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum BadPlace {
    #[error("{} is not a folder\n  name an existing folder with --workspace", .0.display())]
    NoFolder(PathBuf),
    #[error("{}: {}\n  check its permissions", .0.display(), .1)]
    Unreadable(PathBuf, std::io::Error),
}

impl Place {
    /// The workspace to use from `start`: the nearest folder at or above it that has
    /// `.shipmate` or `.git`, else `start` itself.
    ///
    /// What lies in a workspace's own state belongs to it: a teammate's tree there is a
    /// repository too, and may have a `.shipmate` of its own from the project.
    pub fn find(start: &Path) -> Result<Place, BadPlace> {
        let start = start.canonicalize().map_err(|e| BadPlace::Unreadable(start.to_owned(), e))?;
        if !start.is_dir() {
            return Err(BadPlace::NoFolder(start));
        }
        let state = start.ancestors().find(|at| at.ends_with(".shipmate/state"));
        let around = state.and_then(|state| state.ancestors().nth(2));
        let marked = |at: &&Path| at.join(".shipmate").exists() || at.join(".git").exists();
        let found = around.or_else(|| start.ancestors().find(marked));
        Ok(Place { workspace: found.unwrap_or(&start).to_owned() })
    }

    /// Whether anything was ever kept here: without it there is no team, and nobody has to
    /// be asked.
    pub fn has_state(&self) -> bool {
        self.state().exists()
    }

    /// `.shipmate`: configuration, hooks and playbooks of the project.
    pub fn project(&self) -> PathBuf {
        self.workspace.join(".shipmate")
    }

    pub fn config(&self) -> PathBuf {
        self.project().join("config.toml")
    }

    /// State of this workspace; only the coordinator writes it.
    pub fn state(&self) -> PathBuf {
        self.project().join("state")
    }

    /// A folder of the state, for its owner only, and those around it. The state itself is not made
    /// again: its workspace may have been removed while somebody still worked for it.
    ///
    /// # Errors
    /// The system's: what is not there, and what may not be written.
    pub fn make(&self, folder: &Path) -> io::Result<()> {
        let mut at = self.state();
        for part in folder.strip_prefix(&at).map_err(io::Error::other)?.to_owned().components() {
            at.push(part);
            match DirBuilder::new().mode(0o700).create(&at) {
                Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
                _ => {}
            }
        }
        Ok(())
    }

    pub fn teams(&self) -> PathBuf {
        self.state().join("teams")
    }

    pub fn person_token(&self) -> PathBuf {
        self.state().join("person.token")
    }

    /// With it a session is enrolled over MCP, and nothing else can be done.
    pub fn enrol_token(&self) -> PathBuf {
        self.state().join("enrol.token")
    }

    /// Tokens of teammates that were started by hand, readable by their owner only.
    pub fn teammate_token(&self, team: &str, name: &str) -> PathBuf {
        self.state().join("tokens").join(format!("{team}.{name}"))
    }

    /// Everything of a tree of teams on this machine, its log included.
    pub fn team(&self, root: &str) -> PathBuf {
        self.teams().join(root)
    }

    /// One life of a teammate: its lock, token, output.
    pub fn life(&self, root: &str, life: &str) -> PathBuf {
        self.team(root).join("lives").join(life)
    }

    /// What this machine is to the teams whose logs it shares.
    pub fn host_file(&self) -> PathBuf {
        self.state().join("host.json")
    }

    pub fn lock(&self) -> PathBuf {
        self.state().join("coordinator.lock")
    }

    pub fn starting_lock(&self) -> PathBuf {
        self.state().join("starting.lock")
    }

    /// Longer than the system takes where the workspace lies deep: made and reached by
    /// [`crate::socket`] only.
    pub fn socket(&self) -> PathBuf {
        match crate::socket::runtime_dir() {
            Some(dir) => dir.join(format!("{}.sock", self.digest())),
            None => self.state().join("coordinator.sock"),
        }
    }

    /// What a coordinator carries in its environment, whoever starts it: it is no part of
    /// the process tree of an agent that happened to need one.
    pub fn coordinator_marker(&self) -> (&'static str, String) {
        ("SHIPMATE_LIFE", format!("{}:coordinator:main:0", self.digest()))
    }

    /// Tells workspaces apart in a shared folder (FNV-1a of the path).
    pub fn digest(&self) -> String {
        let bytes = self.workspace.as_os_str().as_encoded_bytes();
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{hash:016x}")
    }
}

/// A token from its file. Whatever lies there instead is not waited for.
///
/// # Errors
/// The system's, and where it is no regular file.
pub fn read_token(path: &Path) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    file.take(TOKEN_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// From where a command is typed, and the workspace that it acts on; folders are made
    /// first, and what has a dot in its last part but no slash after it is a file.
    fn check(made: &[&str], expected: &[(&str, &str)]) {
        let name = format!("shipmate-place-{}-{:p}", std::process::id(), made);
        let top = std::env::temp_dir().join(name);
        for path in made {
            match path.strip_suffix('/') {
                Some(folder) => fs::create_dir_all(top.join(folder)).unwrap(),
                None => {
                    fs::create_dir_all(top.join(path).parent().unwrap()).unwrap();
                    fs::write(top.join(path), "").unwrap();
                }
            }
        }
        let top = top.canonicalize().unwrap();
        let found: Vec<(&str, String)> = expected
            .iter()
            .map(|(from, _)| {
                let place = Place::find(&top.join(from)).unwrap();
                (*from, place.workspace.strip_prefix(&top).unwrap().display().to_string())
            })
            .collect();
        fs::remove_dir_all(&top).unwrap();
        for ((from, found), (_, expected)) in found.into_iter().zip(expected) {
            assert_eq!(found, *expected, "from {from}");
        }
    }

    #[test]
    fn the_nearest_marker_is_the_workspace_whichever_it_is() {
        check(
            &[
                "home/.shipmate/state/",
                "home/plain/",
                "home/real/.git/",
                "home/real/src/",
                "home/tree/.git",
                "home/real/vendor/sub/.git",
                "home/real/package/.shipmate/config.toml",
                "home/real/package/src/",
            ],
            &[
                ("home", "home"),
                ("home/plain", "home"),
                ("home/real", "home/real"),
                ("home/real/src", "home/real"),
                ("home/tree", "home/tree"),
                ("home/real/vendor/sub", "home/real/vendor/sub"),
                ("home/real/package/src", "home/real/package"),
            ],
        );
    }

    #[test]
    fn a_teammates_tree_belongs_to_the_workspace_it_lies_in() {
        let tree = "repo/.shipmate/state/teams/t/trees/t.ana";
        check(
            &[
                "repo/.git/",
                &format!("{tree}/.git/"),
                &format!("{tree}/.shipmate/config.toml"),
                &format!("{tree}/src/inner/.git/"),
            ],
            &[(tree, "repo"), (&format!("{tree}/src/inner"), "repo")],
        );
    }

    #[test]
    fn folders_are_made_below_a_state_and_a_state_that_was_removed_is_not_made_again() {
        let top = std::env::temp_dir().join(format!("shipmate-place-{}-made", std::process::id()));
        let place = Place { workspace: top.clone() };
        let wanted = place.team("alpha").join("lives");
        assert_eq!(place.make(&wanted).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!top.exists());
        fs::create_dir_all(place.state()).unwrap();
        place.make(&wanted).unwrap();
        place.make(&wanted).unwrap();
        assert!(wanted.is_dir());
        place.make(&top.join("elsewhere")).unwrap_err();
        fs::remove_dir_all(top).unwrap();
    }
}
