//! A NATS server of our own: one process on this machine's loopback that outlives the coordinator.
//!
//! Each host has a user there with a key of its own; the server is shown signatures only, so whoever
//! takes its port while it is away learns nothing to come back with. The configuration is written from
//! the list of users and read again by the server when it changes, so whoever is taken off it is out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nkeys::KeyPair;
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};
use shipmate_model::Name;
use shipmate_process::MARKER_VARIABLE;
use shipmate_protocol::Place;

use crate::host_file::write;
use crate::settings::HostFile;

/// The first release that syncs every message when it is told to.
const RELEASE_MIN: (u32, u32) = (2, 10);
/// How long a server may take to listen.
const STARTS_WITHIN: Duration = Duration::from_secs(20);
/// How often one is started that is ended from outside before it listens.
const STARTS_MAX: usize = 3;

/// What became of a server that was started.
enum Start {
    Listens,
    Killed,
    Ended,
}

/// How many ports are tried that others have taken meanwhile.
const PORTS_MAX: u32 = 8;
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// The largest message: what a request needs in the log at once.
const PAYLOAD_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What a server of ours is, in a file beside its configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Kept {
    port: u16,
    program: PathBuf,
    /// The seed of each host's key.
    users: BTreeMap<String, String>,
    /// Those that were let in and are on record in no team yet.
    #[serde(default)]
    invited: BTreeSet<String>,
}

/// The server of one workspace.
#[derive(Debug, Clone)]
pub struct OwnServer {
    folder: PathBuf,
    kept: Kept,
    marker: String,
}

/// Where `nats-server` is, and its release.
///
/// # Errors
/// It is not there, or too old.
fn find() -> Result<(PathBuf, String), String> {
    let program = std::env::var_os("SHIPMATE_NATS_SERVER").map(PathBuf::from);
    let program = program.or_else(|| in_path("nats-server")).ok_or_else(|| {
        let [fact, remedy] = [
            "the program nats-server is not on this machine",
            "install it: the package nats-server of Debian and Ubuntu, Homebrew or Nix; or name a server \
             that runs: `shipmate log move nats --url URL`",
        ];
        format!("{fact}\n  {remedy}")
    })?;
    let said = Command::new(&program).arg("--version").output();
    let said = said.map_err(|e| {
        let remedy = "SHIPMATE_NATS_SERVER or the PATH names it: install the package nats-server";
        format!("{}: {e}\n  {remedy}", program.display())
    })?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let release = said.rsplit('v').next().unwrap_or_default().trim().to_owned();
    let mut numbers = release.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if found < RELEASE_MIN {
        let (major, minor) = RELEASE_MIN;
        return Err(format!(
            "{} is release {release}\n  {major}.{minor} or later is needed: only then it keeps what it \
             has acknowledged when the power fails",
            program.display()
        ));
    }
    Ok((program, release))
}

fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

impl OwnServer {
    /// Whether one can be made on this machine.
    ///
    /// # Errors
    /// Why not, with a remedy.
    pub fn can_be_made() -> Result<(), String> {
        find().map(drop)
    }

    /// The one of this workspace, if it has one. One that it had before its logs were on another's server is none.
    ///
    /// # Errors
    /// Its file cannot be read.
    pub fn of(place: &Place) -> Result<Option<OwnServer>, String> {
        let folder = folder(place);
        let host = match HostFile::read(place)? {
            None => HostFile::read_from(&HostFile::going_back(place))?,
            host => host,
        };
        if host.is_some_and(|host| !host.first || host.server.login.is_none()) {
            return Ok(None);
        }
        let path = folder.join("server.json");
        let text = match fs::read(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|e| format!("{}: {e}", path.display()))?,
        };
        let kept = serde_json::from_slice(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Some(OwnServer { folder, kept, marker: marker(place) }))
    }

    /// There is none any more.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn forget(place: &Place) -> io::Result<()> {
        match fs::remove_file(folder(place).join("server.json")) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    /// Makes one, on a free port; the one that is there stays as it is.
    ///
    /// # Errors
    /// There is no program for it, or no room.
    pub fn make(place: &Place) -> Result<OwnServer, String> {
        let (program, _) = find()?;
        let folder = folder(place);
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|e| format!("{}: {e}", folder.display()))?;
        let _alone = alone(&folder).map_err(|e| e.to_string())?;
        let server = match OwnServer::of(place)? {
            Some(mut server) => {
                server.kept.program = program;
                server
            }
            None => {
                let (port, users) = (free_port()?, BTreeMap::new());
                let kept = Kept { port, program, users, invited: BTreeSet::new() };
                OwnServer { folder, kept, marker: marker(place) }
            }
        };
        server.keep().map_err(|e| e.to_string())?;
        Ok(server)
    }

    /// Those that have a key.
    pub fn hosts(&self) -> Vec<Name> {
        self.kept.users.keys().filter_map(|name| name.parse().ok()).collect()
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.kept.port)
    }

    pub fn port(&self) -> u16 {
        self.kept.port
    }

    /// A user of the server and the seed of its key: those that a host has, or new ones.
    ///
    /// # Errors
    /// The system's.
    pub fn let_in(&mut self, host: &str) -> io::Result<(String, String)> {
        let fresh = KeyPair::new_user().seed().map_err(io::Error::other)?;
        self.change(|kept| {
            kept.users.entry(host.to_owned()).or_insert(fresh);
            kept.invited.insert(host.to_owned());
        })?;
        Ok((host.to_owned(), self.kept.users[host].clone()))
    }

    /// The server knows this host no more.
    ///
    /// # Errors
    /// The system's.
    pub fn shut_out(&mut self, host: &str) -> io::Result<()> {
        self.change(|kept| {
            kept.users.remove(host);
            kept.invited.remove(host);
        })
    }

    /// Brings the list to what is on record: whoever left while nobody was there to hear of it is out,
    /// unless it was invited again since.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn settle(
        &mut self,
        there: &BTreeSet<Name>,
        left: &BTreeSet<Name>,
    ) -> io::Result<()> {
        self.change(|kept| {
            kept.invited.retain(|host| !there.iter().any(|name| name.as_str() == host));
            let is_out = |host: &str| {
                left.iter().any(|name| name.as_str() == host) && !kept.invited.contains(host)
            };
            kept.users.retain(|host, _| !is_out(host));
        })
    }

    /// Changes what is kept as it is now: a command and the coordinator may do so at one time.
    fn change(&mut self, change: impl FnOnce(&mut Kept)) -> io::Result<()> {
        let _alone = alone(&self.folder)?;
        let text = fs::read(self.folder.join("server.json"))?;
        let before: Kept = serde_json::from_slice(&text)?;
        self.kept = before.clone();
        change(&mut self.kept);
        if before != self.kept {
            self.keep()?;
        }
        if before.users != self.kept.users {
            self.read_again();
        }
        Ok(())
    }

    fn keep(&self) -> io::Result<()> {
        write(&self.folder.join("server.json"), &serde_json::to_string_pretty(&self.kept)?)?;
        write(&self.folder.join("server.conf"), &self.configuration())
    }

    fn configuration(&self) -> String {
        let quoted = |text: &str| serde_json::to_string(text).unwrap_or_default();
        let path = |name: &str| quoted(&self.folder.join(name).to_string_lossy());
        let keys = self.kept.users.values().filter_map(|seed| KeyPair::from_seed(seed).ok());
        let users: String =
            keys.map(|key| format!("    {{ nkey: {} }}\n", key.public_key())).collect();
        format!(
            "# Written by shipmate.\nlisten: \"127.0.0.1:{}\"\nserver_name: shipmate\n\
             max_payload: {PAYLOAD_BYTES_MAX}\npid_file: {}\nlog_file: {}\nlogfile_size_limit: 8MB\n\
             jetstream {{\n  store_dir: {}\n  sync_interval: always\n}}\n\
             authorization {{\n  users = [\n{users}  ]\n}}\n",
            self.kept.port,
            path("server.pid"),
            path("server.log"),
            path("data"),
        )
    }

    fn is_listening(&self) -> bool {
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, self.kept.port));
        TcpStream::connect_timeout(&at, Duration::from_secs(1)).is_ok()
    }

    /// Its process is there, whether it listens or not.
    fn is_there(&self) -> bool {
        self.pid().is_some()
    }

    /// Starts it where it does not run. Only the coordinator does, so nobody starts a second one.
    ///
    /// # Errors
    /// Why it does not listen.
    pub fn ensure(&mut self) -> Result<(), String> {
        for _ in 0..PORTS_MAX {
            match self.try_ensure() {
                // Another took it since: the line and this machine's own file follow.
                Err(_) if self.is_listening() && !self.is_there() => {
                    let port = free_port()?;
                    self.change(|kept| kept.port = port).map_err(|e| e.to_string())?;
                }
                ensured => return ensured,
            }
        }
        self.try_ensure()
    }

    /// The same, on the port that it has: others go by it already.
    pub(crate) fn try_ensure(&self) -> Result<(), String> {
        let limit = Instant::now() + STARTS_WITHIN;
        // One that is there and reads its store is waited for: a second would write to the same store.
        while self.is_there() {
            if self.is_listening() {
                return Ok(());
            }
            if Instant::now() > limit {
                return Err("the NATS server is there and does not listen".to_owned());
            }
            std::thread::park_timeout(LOOK_AGAIN);
        }
        for _ in 0..STARTS_MAX {
            match self.try_start()? {
                Start::Listens => return Ok(()),
                // Somebody took it for a process that was left over.
                Start::Killed => {}
                Start::Ended => break,
            }
        }
        let why = self.last_words();
        Err(format!("the NATS server did not start on port {}: {why}", self.kept.port))
    }

    fn try_start(&self) -> Result<Start, String> {
        let said = self.folder.join("server.out");
        let words = File::create(&said).map_err(|e| format!("{}: {e}", said.display()))?;
        let again = words.try_clone().map_err(|e| e.to_string())?;
        let mut command = Command::new(&self.kept.program);
        command.arg("-c").arg(self.folder.join("server.conf"));
        command.stdin(Stdio::null()).stdout(words).stderr(again).env_clear().process_group(0);
        // By that it is known when the workspace is gone.
        command.current_dir(&self.folder);
        // It is nobody's tree: without a marker it would be taken for an orphan of one.
        command.env(MARKER_VARIABLE, &self.marker);
        let mut child =
            command.spawn().map_err(|e| format!("{}: {e}", self.kept.program.display()))?;
        let limit = Instant::now() + STARTS_WITHIN;
        while Instant::now() < limit {
            // Another's may listen there: this one ends then, and says so.
            if let Ok(Some(status)) = child.try_wait() {
                return Ok(if status.signal().is_some() { Start::Killed } else { Start::Ended });
            }
            let told = fs::read_to_string(self.folder.join("server.pid")).unwrap_or_default();
            if told.trim() == child.id().to_string() && self.is_listening() {
                return Ok(Start::Listens);
            }
            std::thread::park_timeout(LOOK_AGAIN);
        }
        Ok(Start::Ended)
    }

    /// Its disk takes the largest message.
    pub(crate) fn has_room(&self) -> bool {
        let found = rustix::fs::statvfs(&self.folder);
        found.is_ok_and(|found| found.f_bavail * found.f_frsize > PAYLOAD_BYTES_MAX as u64)
    }

    fn last_words(&self) -> String {
        let files = ["server.log", "server.out"];
        let texts = files.iter().filter_map(|file| fs::read_to_string(self.folder.join(file)).ok());
        let last =
            texts.filter_map(|text| text.lines().rfind(|line| !line.is_empty()).map(str::to_owned));
        { last }.next_back().unwrap_or_else(|| "it said nothing".to_owned())
    }

    /// By its marker: the number in a file may be another process's by now.
    fn pid(&self) -> Option<Pid> {
        let marked = shipmate_process::marked(self.marker.split(':').next().unwrap_or_default());
        marked.into_iter().find(|(_, marker)| marker.kind() == "server").map(|(pid, _)| pid)
    }

    /// Has it take the list of users as it is now.
    fn read_again(&self) {
        if self.is_listening()
            && let Some(pid) = self.pid()
        {
            let _ = rustix::process::kill_process(pid, Signal::HUP);
        }
    }

    /// Ends it, and waits until it has: the logs are elsewhere.
    pub(crate) async fn end(&self) {
        let Some(pid) = self.pid().filter(|_| self.is_listening()) else { return };
        let Some(watched) = shipmate_process::Watched::open(pid) else { return };
        if watched.signal(Signal::TERM).is_ok() {
            // One that does not end is in nobody's way.
            drop(tokio::time::timeout(STARTS_WITHIN, watched.gone()).await);
        }
    }

    /// Begins with nothing when it is started again: its logs have moved, and what becomes of them elsewhere it
    /// does not hear. What it had stays to be read.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn put_aside(&self) -> io::Result<()> {
        let (data, aside) = (self.folder.join("data"), self.folder.join("data.moved"));
        if self.is_there() || !data.exists() {
            return Ok(());
        }
        if aside.exists() {
            fs::remove_dir_all(&aside)?;
        }
        fs::rename(data, aside)
    }
}

/// One at a time writes what is kept, for as long as this is held.
fn alone(folder: &Path) -> io::Result<File> {
    let alone = File::create(folder.join("server.lock"))?;
    rustix::fs::flock(&alone, rustix::fs::FlockOperation::LockExclusive)?;
    Ok(alone)
}

fn free_port() -> Result<u16, String> {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|it| it.local_addr());
    free.map(|at| at.port()).map_err(|e| format!("no port is free: {e}"))
}

fn marker(place: &Place) -> String {
    format!("{}:server:nats:0", place.digest())
}

fn folder(place: &Place) -> PathBuf {
    place.state().join("nats")
}
