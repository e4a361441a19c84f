//! Lines by ssh: each gives another machine a port of its own loopback that leads to our server.
//!
//! A line is a process that outlives the coordinator, as the server does. It is found again by its marker,
//! and begun anew when it ends, after a while that grows with every failure.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use shipmate_model::Name;
use shipmate_playbook::fill::quoted;
use shipmate_process::{MARKER_VARIABLE, Marker, Pid, Watched, marked};
use shipmate_protocol::Place;

use super::server::OwnServer;
use crate::host_file::write;

const AGAIN_FIRST: Duration = Duration::from_secs(1);
const AGAIN_MAX: Duration = Duration::from_secs(60);
/// One that held so long was good.
const GOOD_AFTER: Duration = Duration::from_secs(30);

/// What a machine is reached by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tunnel {
    pub host: Name,
    /// As ssh takes it.
    pub destination: String,
    /// The workspace there.
    pub folder: String,
    /// The program there.
    pub program: String,
    /// The port on its loopback that leads here.
    pub port: u16,
    /// Those that the machine knows besides, for as long as that one is taken: by another program, or by the
    /// sshd of an earlier line that has not noticed yet that nobody is at its other end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spare_ports: Vec<u16>,
}

/// What every ssh of ours is given: nobody is there to answer a question.
pub const SSH_OPTIONS: [&str; 8] = [
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=15",
    // A machine that falls asleep meanwhile is not waited for for hours.
    "-o",
    "ServerAliveInterval=5",
    "-o",
    "ServerAliveCountMax=3",
];

/// What ssh prints where another program listens on the port there.
pub const PORT_TAKEN: &str = "forwarding failed";

impl Tunnel {
    /// All of this workspace.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn all(place: &Place) -> Result<Vec<Tunnel>, String> {
        let path = file(place);
        match fs::read(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(e) => Err(format!("{}: {e}", path.display())),
            Ok(text) => {
                serde_json::from_slice(&text).map_err(|e| format!("{}: {e}", path.display()))
            }
        }
    }

    /// Keeps this one, in place of an earlier one of its host.
    ///
    /// # Errors
    /// The system's.
    pub fn keep(self, place: &Place) -> Result<(), String> {
        let mut all = Tunnel::all(place)?;
        all.retain(|one| one.host != self.host);
        all.push(self);
        store(place, &all)
    }

    /// Ends and forgets the one of a host.
    ///
    /// # Errors
    /// The system's.
    pub fn forget(place: &Place, host: &Name) -> Result<Option<Tunnel>, String> {
        let mut all = Tunnel::all(place)?;
        let found = all.iter().position(|one| one.host == *host).map(|at| all.remove(at));
        if let Some(found) = &found {
            store(place, &all)?;
            if let Some((pid, _)) = found.process(place) {
                let _ = rustix::process::kill_process(pid, shipmate_process::Signal::TERM);
            }
        }
        Ok(found)
    }

    /// Ends and forgets them all.
    pub(super) fn forget_all(place: &Place) {
        drop(fs::remove_file(file(place)));
        Tunnel::end_all(place);
    }

    /// Ends those that run: each is begun anew by whoever keeps it up, to where the server is then.
    pub(super) fn end_all(place: &Place) {
        let lines =
            marked(&place.digest()).into_iter().filter(|(_, marker)| marker.kind() == "line");
        for (pid, _) in lines {
            let _ = rustix::process::kill_process(pid, shipmate_process::Signal::TERM);
        }
    }

    /// Its process, if there is one.
    fn process(&self, place: &Place) -> Option<(Pid, Marker)> {
        let own = |marker: &Marker| marker.kind() == "line" && marker.label() == self.host.as_str();
        marked(&place.digest()).into_iter().find(|(_, marker)| own(marker))
    }

    pub fn is_running(&self, place: &Place) -> bool {
        self.process(place).is_some()
    }

    fn running(&self, place: &Place) -> Option<Watched> {
        let (pid, marker) = self.process(place)?;
        Watched::carrying(pid, &marker)
    }

    /// In the order in which they are tried.
    pub fn ports(&self) -> impl Iterator<Item = u16> {
        std::iter::once(self.port).chain(self.spare_ports.iter().copied())
    }

    /// Where the machine reaches the server: at whichever of its ports leads here.
    pub fn url(&self) -> String {
        let urls = self.ports().map(|port| format!("nats://127.0.0.1:{port}"));
        urls.collect::<Vec<_>>().join(",")
    }

    /// Begins it on a port. What ssh says goes to a file beside.
    ///
    /// # Errors
    /// The system's.
    pub fn begin(&self, place: &Place, port: u16, server_port: u16) -> Result<Child, String> {
        let mut command = self.command(place, port, server_port)?;
        command.spawn().map_err(|e| format!("ssh: {e}"))
    }

    fn command(&self, place: &Place, port: u16, server_port: u16) -> Result<Command, String> {
        let said = self.said(place);
        let words = fs::File::create(&said).map_err(|e| format!("{}: {e}", said.display()))?;
        let mut command = Command::new("ssh");
        command.args(SSH_OPTIONS).args(["-N", "-T", "-o", "ExitOnForwardFailure=yes"]);
        command.args(["-o", "ControlMaster=no", "-o", "ControlPath=none"]);
        command.arg("-R").arg(format!("127.0.0.1:{port}:127.0.0.1:{server_port}"));
        command.arg("--").arg(&self.destination);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(words).process_group(0);
        // By that it is known when the workspace is gone.
        command.current_dir(place.state());
        let marker = format!("{}:line:{}:0", place.digest(), self.host);
        command.env(MARKER_VARIABLE, marker).env_remove("SHIPMATE_TOKEN");
        Ok(command)
    }

    /// Where what ssh last said is kept.
    pub fn said(&self, place: &Place) -> PathBuf {
        place.state().join(format!("line-{}.txt", self.host))
    }

    /// What is wrong with it: why it ended and when it is begun again, and what helps.
    pub fn trouble(&self, place: &Place) -> Option<(String, String)> {
        if self.is_running(place) {
            return None;
        }
        let said = fs::read_to_string(self.said(place)).unwrap_or_default();
        let (why, remedy) = describe_unreached(&self.destination, &said);
        let again = fs::metadata(self.waits(place)).and_then(|it| it.modified()).ok();
        let left = again.map(|at| at.duration_since(SystemTime::now()).unwrap_or_default());
        let again = match left {
            Some(left) => format!("trying again in {} s", left.as_secs()),
            None => "begun again by the coordinator here".to_owned(),
        };
        Some((format!("the line is down: {why}; {again}"), remedy))
    }

    /// A file whose time is when it is begun again.
    fn waits(&self, place: &Place) -> PathBuf {
        place.state().join(format!("line-{}.again", self.host))
    }

    /// Leaves word when it is begun again; nobody goes by it.
    fn wait(&self, place: &Place, again: Duration) {
        let made = fs::File::create(self.waits(place));
        drop(made.and_then(|file| file.set_modified(SystemTime::now() + again)));
    }

    /// A command of ours on the machine.
    pub fn there(&self, args: &[&str]) -> Command {
        let mut line = format!("{} --workspace {}", quoted(&self.program), quoted(&self.folder));
        for arg in args {
            line.push(' ');
            line.push_str(&quoted(arg));
        }
        let mut command = Command::new("ssh");
        command.args(SSH_OPTIONS).arg("--").arg(&self.destination).arg(line);
        command
    }
}

/// Why ssh did not get to a machine, by what it printed, and what helps.
pub fn describe_unreached(destination: &str, said: &str) -> (String, String) {
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    let last = last.trim();
    if said.contains("REMOTE HOST IDENTIFICATION HAS CHANGED") {
        let fact = "its host key has changed: the machine was set up anew, or another one answers";
        return (fact.to_owned(), describe_key_removal(destination, said));
    }
    if last.contains("Host key verification failed") {
        let remedy = format!("connect once by hand and check its key: `ssh {destination}`");
        return (format!("its host key is not known here: {last}"), remedy);
    }
    let remedy = if last.contains("Permission denied") {
        format!(
            "`ssh {destination} true` must work without a question: load your key with `ssh-add`"
        )
    } else if last.contains("Could not resolve") {
        "check the name of the machine".to_owned()
    } else if last.contains(PORT_TAKEN) {
        "see what listens on the ports of the line there".to_owned()
    } else {
        format!("see whether `ssh {destination} true` works")
    };
    (last.to_owned(), remedy)
}

/// How an old host key is taken out, under the name and in the file that ssh has it.
fn describe_key_removal(destination: &str, said: &str) -> String {
    let within = |start: &str, end: &str| {
        let found = said.lines().find_map(|line| line.strip_prefix(start)?.split_once(end));
        found.map(|(found, _)| found.to_owned())
    };
    let machine = destination.rsplit('@').next().unwrap_or_default().to_owned();
    let known_as = within("Host key for ", " has changed").unwrap_or(machine);
    let file = within("Add correct host key in ", " to get rid").map(|file| quoted(&file));
    let file = file.map(|file| format!(" -f {file}")).unwrap_or_default();
    let known_as = quoted(&known_as);
    format!("if it was set up anew: `ssh-keygen -R {known_as}{file}`, then `ssh {destination}`")
}

fn file(place: &Place) -> PathBuf {
    place.state().join("lines.json")
}

fn store(place: &Place, all: &[Tunnel]) -> Result<(), String> {
    let path = file(place);
    let text = serde_json::to_string_pretty(all).expect("lines are JSON");
    write(&path, &text).map_err(|e| format!("{}: {e}", path.display()))
}

/// Keeps a line up for as long as the coordinator runs.
pub(crate) async fn keep_up(place: Place, tunnel: Tunnel) {
    let mut again = AGAIN_FIRST;
    loop {
        let began = tokio::time::Instant::now();
        match tunnel.running(&place) {
            Some(watched) => watched.gone().await,
            None => match OwnServer::of(&place) {
                Ok(Some(server)) => hold(&place, &tunnel, server.port()).await,
                Ok(None) => return,
                Err(reason) => tracing::warn!(host = %tunnel.host, reason, "no line"),
            },
        }
        let held = began.elapsed();
        again = if held > GOOD_AFTER { AGAIN_FIRST } else { (again * 2).min(AGAIN_MAX) };
        let said = fs::read_to_string(tunnel.said(&place)).unwrap_or_default();
        let seconds = again.as_secs();
        tracing::warn!(host = %tunnel.host, said = said.trim(), seconds, "a line has ended, and is begun again");
        tunnel.wait(&place, again);
        tokio::time::sleep_until(tokio::time::Instant::now() + again).await;
        // Its host may have been removed meanwhile.
        if Tunnel::all(&place).is_ok_and(|all| !all.contains(&tunnel)) {
            return;
        }
    }
}

/// Begins it on the first port that is free there, and waits until it ends.
async fn hold(place: &Place, tunnel: &Tunnel, server_port: u16) {
    for port in tunnel.ports() {
        // It outlives a coordinator that ends, which waits for none.
        let command = tunnel.command(place, port, server_port).map(tokio::process::Command::from);
        match command.and_then(|mut line| line.spawn().map_err(|e| format!("ssh: {e}"))) {
            Ok(mut child) => {
                tracing::info!(host = %tunnel.host, port, pid = child.id(), "a line is begun");
                wake(tunnel);
                drop(child.wait().await);
            }
            Err(reason) => tracing::warn!(host = %tunnel.host, reason, "no line"),
        }
        let said = fs::read_to_string(tunnel.said(place)).unwrap_or_default();
        if !said.contains(PORT_TAKEN) {
            return;
        }
    }
}

/// The coordinator there runs; a machine that was started again has none.
fn wake(tunnel: &Tunnel) {
    let mut command = tokio::process::Command::from(tunnel.there(&["team", "list"]));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut child) = command.spawn() {
        tokio::task::spawn_local(async move { drop(child.wait().await) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_down_says_why_and_when_it_is_tried_again() {
        let workspace = std::env::temp_dir().join(format!("shipmate-line-{}", std::process::id()));
        let place = Place { workspace: workspace.clone() };
        fs::create_dir_all(place.state()).unwrap();
        let tunnel = Tunnel {
            host: "box".parse().unwrap(),
            destination: "me@box".to_owned(),
            folder: "shop".to_owned(),
            program: "shipmate".to_owned(),
            port: 4222,
            spare_ports: vec![4323],
        };
        assert_eq!(tunnel.url(), "nats://127.0.0.1:4222,nats://127.0.0.1:4323");
        fs::write(tunnel.said(&place), "debug\nConnection refused\n\n").unwrap();
        tunnel.wait(&place, Duration::from_secs(3_600));
        let (trouble, remedy) = tunnel.trouble(&place).unwrap();
        let said = "the line is down: Connection refused; trying again in 35";
        assert!(trouble.starts_with(said), "{trouble}");
        assert_eq!(remedy, "see whether `ssh me@box true` works");
        fs::remove_dir_all(workspace).unwrap();
    }
}
