//! Where things lie: the workspace, its state folder and the coordinator's socket.

use std::path::{Path, PathBuf};

/// Longest socket path the system takes (`sun_path` less its final zero).
const SOCKET_BYTES_MAX: usize = 107;

/// The folders of one workspace.
#[derive(Debug, Clone)]
pub struct Place {
    pub workspace: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum BadPlace {
    #[error(
        "the socket path {} is {} bytes and the system takes {SOCKET_BYTES_MAX}\n  set \
         SHIPMATE_RUNTIME_DIR to a short folder of yours, the same for every command: for example \
         /tmp/shipmate-$USER",
        .0.display(), .0.as_os_str().len()
    )]
    SocketPathTooLong(PathBuf),
    #[error("{} is not a folder\n  name an existing folder with --workspace", .0.display())]
    NoFolder(PathBuf),
    #[error("{}: {}\n  check its permissions", .0.display(), .1)]
    Unreadable(PathBuf, std::io::Error),
}

impl Place {
    /// The workspace to use from `start`: the nearest folder at or above it that has
    /// `.shipmate` or `.git`, else `start` itself.
    pub fn find(start: &Path) -> Result<Place, BadPlace> {
        let start = start.canonicalize().map_err(|e| BadPlace::Unreadable(start.to_owned(), e))?;
        if !start.is_dir() {
            return Err(BadPlace::NoFolder(start));
        }
        let marked = |name: &str| start.ancestors().find(|at| at.join(name).exists());
        let found = marked(".shipmate").or_else(|| marked(".git"));
        Ok(Place { workspace: found.unwrap_or(&start).to_owned() })
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

    pub fn teams(&self) -> PathBuf {
        self.state().join("teams")
    }

    pub fn person_token(&self) -> PathBuf {
        self.state().join("person.token")
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

    pub fn lock(&self) -> PathBuf {
        self.state().join("coordinator.lock")
    }

    pub fn starting_lock(&self) -> PathBuf {
        self.state().join("starting.lock")
    }

    pub fn socket(&self) -> Result<PathBuf, BadPlace> {
        let path = match std::env::var_os("SHIPMATE_RUNTIME_DIR") {
            Some(dir) => PathBuf::from(dir).join(format!("{}.sock", self.digest())),
            None => self.state().join("coordinator.sock"),
        };
        if path.as_os_str().len() > SOCKET_BYTES_MAX {
            return Err(BadPlace::SocketPathTooLong(path));
        }
        Ok(path)
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
