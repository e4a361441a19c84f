//! Where a hub is found, and how it comes to be there.
//!
//! Its folder lies with the team's, one for each program and environment, readable by its
//! owner only. Two locks decide all races: `starting` is held by the supervisor that starts
//! a hub, `lock` by the hub for as long as anything of its program is alive. Every life has
//! a third, `hosted`, which a hub holds while something of that life may go on in it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use sha2::{Digest, Sha256};
use shipmate_process::{MARKER_VARIABLE, Marker};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

use super::super::super::order::{LifeFolder, Order};
use super::super::super::tree::off_the_thread;

/// How long a life's end waits for a hub, which gives up a program that does not let go.
const LET_GO_WITHIN: Duration = Duration::from_secs(30);
/// What differs between two shells of the same user and means nothing to a program.
const OF_THE_SHELL: [&str; 4] = ["PWD", "OLDPWD", "SHLVL", "_"];

#[derive(Debug, Clone)]
pub(crate) struct HubFolder(pub(crate) PathBuf);

impl HubFolder {
    /// All of a tree of teams.
    pub(crate) fn all(team: &Path) -> PathBuf {
        team.join("hubs")
    }

    /// The one that lives of the same team, program and environment share.
    fn of(order: &Order, life: &LifeFolder) -> HubFolder {
        let team = life.0.ancestors().nth(2).unwrap_or(&life.0);
        let mut key = Sha256::new();
        let mut add = |bytes: &[u8]| {
            key.update((bytes.len() as u64).to_le_bytes());
            key.update(bytes);
        };
        add(order.team.as_bytes());
        order.argv.iter().for_each(|word| add(word.as_bytes()));
        let own = order.env.iter().map(|(name, value)| (name.into(), value.into()));
        let mut around: Vec<(std::ffi::OsString, std::ffi::OsString)> = std::env::vars_os()
            .filter(|(name, _)| {
                let name = name.to_string_lossy();
                !name.starts_with("SHIPMATE_") && !OF_THE_SHELL.contains(&&*name)
            })
            .collect();
        around.sort();
        for (name, value) in around.into_iter().chain(own) {
            add(name.as_encoded_bytes());
            add(value.as_encoded_bytes());
        }
        let key: String = key.finalize().iter().take(8).map(|b| format!("{b:02x}")).collect();
        HubFolder(HubFolder::all(team).join(format!("{}.{key}", order.team)))
    }

    fn file(&self, name: &str) -> io::Result<File> {
        lock_file(&self.0.join(name))
    }

    pub(crate) fn lock_file(&self) -> io::Result<File> {
        self.file("lock")
    }

    pub(crate) fn is_alive(&self) -> bool {
        let file = self.lock_file();
        file.is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockShared).is_err())
    }

    /// What the program of the last hub carries.
    pub(crate) fn marker(&self) -> Option<Marker> {
        fs::read_to_string(self.0.join("marker")).ok()?.trim().parse().ok()
    }

    /// Before the program is started: it must be found again by it.
    pub(crate) fn keep_marker(&self, marker: &Marker) -> io::Result<()> {
        let fresh = self.0.join("marker.new");
        fs::write(&fresh, marker.to_string())?;
        fs::rename(fresh, self.0.join("marker"))
    }

    /// A name for the socket that is short however deep the workspace lies: the system takes
    /// no more than 107 bytes.
    fn socket(&self) -> io::Result<(OwnedFd, PathBuf)> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&self.0, flags, Mode::empty())?;
        let path = format!("/proc/self/fd/{}/sock", folder.as_raw_fd());
        Ok((folder, path.into()))
    }

    pub(crate) fn listen(&self) -> io::Result<UnixListener> {
        let (_open, path) = self.socket()?;
        // Left by one that was killed: whoever holds the lock is alone here.
        drop(fs::remove_file(&path));
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        Ok(listener)
    }

    pub(crate) fn close(&self, listener: UnixListener) {
        drop(fs::remove_file(self.0.join("sock")));
        drop(listener);
    }

    async fn connect(&self) -> io::Result<UnixStream> {
        let (_open, path) = self.socket()?;
        UnixStream::connect(path).await
    }

    /// Starts a hub and waits until it listens, or says why it does not.
    async fn start(&self, order: &Order) -> Result<(), String> {
        let named = |e: io::Error| format!("{}: {e}", self.0.display());
        let digest = order.marker.split(':').next().unwrap_or_default();
        let label = format!("{}.codex", order.team);
        let marker = |kind| Marker::new(digest, kind, &label).map_err(|e| e.to_string());
        let mut env = order.env.clone();
        // What it complains about is quoted.
        env.entry("NO_COLOR".to_owned()).or_insert_with(|| "1".to_owned());
        // Nothing of the life that happens to start it is in the hub's order.
        let own = Order {
            env,
            name: "codex".to_owned(),
            token: String::new(),
            session: String::new(),
            mode: "normal".to_owned(),
            tree: None,
            scope: Vec::new(),
            marker: marker("agent")?.to_string(),
            own_marker: marker("supervisor")?.to_string(),
            ..order.clone()
        };
        LifeFolder(self.0.clone()).write(&own).map_err(named)?;
        let words = self.0.join("supervisor.log");
        let words = OpenOptions::new().create(true).append(true).mode(0o600).open(words);
        let words = words.map_err(named)?;
        let mut child = tokio::process::Command::new(&order.program)
            .arg("host-agent")
            .arg(&self.0)
            .current_dir(&order.workspace)
            .env(MARKER_VARIABLE, &own.own_marker)
            .env_remove("SHIPMATE_TOKEN")
            .env_remove("SHIPMATE_TEAM")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(words)
            .process_group(0)
            .spawn()
            .map_err(|e| format!("{}: {e}", order.program.display()))?;
        let stdout = child.stdout.take().expect("stdout was piped");
        // Reaped when it ends; it outlives this life as a rule.
        tokio::task::spawn_local(async move { child.wait().await });
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).await.map_err(named)?;
        match line.trim() {
            super::READY => Ok(()),
            "" => Err("the process that runs codex ended at once".to_owned()),
            reason => Err(reason.to_owned()),
        }
    }
}

/// Connects to the hub of a life, starting one where there is none.
pub(crate) async fn enter(order: &Order, life: &LifeFolder) -> Result<UnixStream, String> {
    let folder = HubFolder::of(order, life);
    if let Ok(stream) = folder.connect().await {
        return Ok(stream);
    }
    let named = |e: io::Error| format!("{}: {e}", folder.0.display());
    DirBuilder::new().recursive(true).mode(0o700).create(&folder.0).map_err(named)?;
    let starting = folder.file("starting").map_err(named)?;
    let _alone = off_the_thread(move || {
        let locked = flock(&starting, FlockOperation::LockExclusive);
        locked.map(|()| starting).map_err(|e| e.to_string())
    })
    .await?;
    if let Ok(stream) = folder.connect().await {
        return Ok(stream);
    }
    folder.start(order).await?;
    folder.connect().await.map_err(named)
}

fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true).mode(0o600).open(path)
}

/// For the hub: something of this life may go on from now on.
pub(crate) fn hold(life: &Path) -> io::Result<File> {
    let file = lock_file(&life.join("hosted"))?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

/// Waits until no hub has anything of a life going that has ended.
pub(crate) async fn let_go(life: &LifeFolder) {
    let path = life.0.join("hosted");
    if !path.exists() {
        return;
    }
    let free = off_the_thread(move || {
        let file = lock_file(&path).map_err(|e| e.to_string())?;
        flock(&file, FlockOperation::LockShared).map_err(|e| e.to_string())
    });
    drop(tokio::time::timeout(LET_GO_WITHIN, free).await);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(team: &str, program: &str, key: &str) -> Order {
        serde_json::from_value(serde_json::json!({
            "workspace": "/w", "team": team, "name": "ana", "epoch": 1, "token": "t",
            "one_shot": false, "agent": "codex", "protocol": "codex", "argv": [program],
            "env": { "KEY": key }, "command": "", "scope": [], "tree": null, "session": "",
            "marker": "d:agent:l:n", "own_marker": "d:supervisor:l:n",
            "output_bytes_max": 1, "stop_grace_ms": 1, "program": "/p",
        }))
        .unwrap()
    }

    #[test]
    fn lives_share_a_hub_where_team_program_and_environment_are_the_same() {
        let of = |order: &Order, life: &str| {
            HubFolder::of(order, &LifeFolder(Path::new("/s/teams/root/lives").join(life))).0
        };
        let first = of(&order("alpha", "codex", "1"), "alpha.ana@1");
        assert!(first.starts_with("/s/teams/root/hubs"), "{}", first.display());
        let other_life = Order { name: "bo".to_owned(), ..order("alpha", "codex", "1") };
        assert_eq!(of(&other_life, "alpha.bo@7"), first);
        for other in [
            order("beta", "codex", "1"),
            order("alpha", "other-codex", "1"),
            order("alpha", "codex", "2"),
        ] {
            assert_ne!(of(&other, "alpha.ana@1"), first);
        }
    }
}
