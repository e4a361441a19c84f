//! What this machine is to the teams whose logs it shares, and the way to the server that has them: one
//! file of the workspace's state, which only its owner can read.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shipmate_model::Name;
use shipmate_protocol::Place;

/// What this machine is to the teams whose logs it shares.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostFile {
    pub name: Name,
    /// Made when it joined: two machines may have one name or one path, and never this.
    pub id: String,
    pub slots: u32,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<Name>,
    /// Teams that were in this workspace before there were hosts are at home here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub first: bool,
    /// The one that it joined by.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub invitation: String,
    /// How long a host may give no sign before it counts as lost: the same for all of them.
    pub lease_seconds: u64,
    pub server: Nats,
}

impl HostFile {
    /// None where this workspace has joined nothing.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn read(place: &Place) -> Result<Option<HostFile>, String> {
        HostFile::read_from(&place.host_file())
    }

    /// Where the file of a host is that takes its logs back.
    pub(crate) fn going_back(place: &Place) -> PathBuf {
        place.host_file().with_extension("back.json")
    }

    pub(crate) fn read_from(path: &Path) -> Result<Option<HostFile>, String> {
        let text = match fs::read(path) {
            // What stands in the way of the state is said when that is made.
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            text => text.map_err(|e| format!("{}: {e}", path.display()))?,
        };
        let file = serde_json::from_slice(&text);
        file.map(Some).map_err(|e| format!("{}: {e}; join again", path.display()))
    }

    /// In one step, readable by its owner only.
    ///
    /// # Errors
    /// The system's.
    pub fn write(&self, place: &Place) -> io::Result<()> {
        write(&place.host_file(), &serde_json::to_string_pretty(self)?)
    }
}

/// The server that holds the logs, and how it is told who we are.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Nats {
    pub url: String,
    /// Stream that holds the logs; created when missing.
    pub stream: String,
    /// A team's log is the subject `<prefix>.<team>.<generation>`.
    pub subject_prefix: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<PathBuf>,
    /// A user of a server of ours, and the seed of its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<(String, String)>,
    /// The seed of a key, for a server that knows users by theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nkey: Option<String>,
    /// For a server that has one word for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Whom to trust beside the platform's own, for `tls://`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// On how many servers a stream that is created is kept.
    pub replicas: usize,
    /// What hosts write is sealed. Up to this message of the stream it was not yet; found out by the first
    /// of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed_after: Option<u64>,
    /// What they seal it with; kept in a file of its own.
    #[serde(skip)]
    pub key: Option<Vec<u8>>,
}

impl Nats {
    /// `nats://user:password@machine`, or `nats://token@machine`: others on this machine could read it.
    pub fn has_password(url: &str) -> bool {
        let machine = |url: &str| url.split_once("://").map_or(url, |(_, rest)| rest).to_owned();
        url.split(',').any(|url| machine(url).contains('@'))
    }
}

/// Without what nobody may read.
impl std::fmt::Debug for Nats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Nats").field("url", &self.url).finish_non_exhaustive()
    }
}

/// In one step, readable by its owner only.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let fresh = path.with_extension("new");
    match fs::remove_file(&fresh) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(&fresh)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&fresh, path)
}
