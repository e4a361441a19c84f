//! `shipmate host add`: another machine, by ssh, in one command whose every step may be repeated.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use data_encoding::HEXLOWER;
use serde_json::Value;
use sha2::{Digest, Sha256};
use shipmate_model::Name;
use shipmate_protocol::view::{HostState, HostView};
use shipmate_protocol::{ClientFailure, verbs};

use super::{As, become_first, join, name_of};
use crate::cli::failure::Failure;
use crate::cli::session::Session;
use crate::config::LogKind;
use crate::coordinator::HostFile;
use crate::coordinator::host::{
    Invitation, OwnServer, PORT_TAKEN, SSH_OPTIONS, Tunnel, describe_unreached, quoted,
};

/// How long a machine may take to get the code and be there.
const JOINS_WITHIN: Duration = Duration::from_secs(300);
/// How many ports a line may take there, and how far apart they are.
const PORTS_MAX: u16 = 4;
const PORTS_APART: u16 = 101;
const TRIES_MAX: u32 = 20;
const AGAIN_AFTER: Duration = Duration::from_millis(500);

/// What is looked at on the machine, in one go; a line for each fact.
const LOOK: &str = r#"
echo "system $(uname -s) $(uname -m)"
echo "home $HOME"
if command -v git >/dev/null 2>&1; then echo "git $(git --version | sed 's/^git version //')"; fi
own=$(command -v shipmate 2>/dev/null || true)
if [ -n "$own" ]; then
    echo "program $own"
    echo "release $("$own" --version 2>/dev/null | sed 's/^shipmate //')"
fi
if [ -x "$HOME/.local/share/shipmate/$COPY" ]; then echo "copy yes"; fi
case $DIR in /*) ;; *) DIR=$HOME/$DIR;; esac
echo "folder $DIR"
if [ -e "$DIR/.shipmate/state/host.json" ]; then echo "is host"
elif [ -e "$DIR/.git" ]; then
    if ! git -C "$DIR" rev-parse --verify --quiet HEAD >/dev/null 2>&1; then echo "is unborn"
    elif [ -n "$ROOT" ] && git -C "$DIR" cat-file -e "$ROOT" 2>/dev/null; then echo "is checkout"
    else echo "is other-repository"; fi
elif [ ! -e "$DIR" ] || [ -z "$(ls -A "$DIR" 2>/dev/null)" ]; then echo "is empty"
else echo "is full"; fi
"#;

/// Add a machine by ssh: everything that it needs, in one command
///
/// Moves the logs of this workspace to a NATS server (one of its own, on loopback, unless the configuration
/// names one), looks at the machine, copies this program there if it has none of this release, keeps a
/// line to it by `ssh -R`, and has it join. Every step is shown and safe to repeat: after a failure the same
/// command goes on. ssh must work without a question: a key in the agent, and a known host.
///
/// Agent programs and their logins must be there: keys of model providers never travel.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate host add me@box
  shipmate host add me@box:work/shop --slots 4 --label gpu
  shipmate host add box --dry-run")]
pub(crate) struct AddArgs {
    /// As ssh takes it, with the folder there after a colon [default: the name of this folder]
    #[arg(value_name = "[USER@]MACHINE[:DIR]")]
    destination: String,

    #[command(flatten)]
    is: As,

    /// Only look at the machine and say what would be done
    #[arg(long)]
    dry_run: bool,
}

/// What is on the machine.
#[derive(Debug, Default)]
struct Found {
    system: String,
    home: String,
    git: String,
    program: String,
    release: String,
    has_copy: bool,
    folder: String,
    is: String,
}

pub(crate) fn run(args: &AddArgs, mut session: Session) -> Result<(), Failure> {
    let (destination, folder) = split(&args.destination, &session)?;
    let name = match &args.is.name {
        Some(name) => name_of(name)?,
        None => name_from(&destination)?,
    };
    // Before anything is done: what is wrong with a label is no matter of the machine.
    args.is.wanted()?;
    let (program, copy) = own_program()?;
    let found = look(&session, &destination, &folder, &copy)?;
    require_fit(&destination, &found)?;
    say(
        &session,
        &format!("{destination}: {}, git {}, {}", found.system, found.git, folder_in_words(&found)),
    )?;
    let copies = found.release != env!("CARGO_PKG_VERSION");
    let there = match copies {
        true => format!("{}/.local/share/shipmate/{copy}", found.home),
        false => found.program.clone(),
    };
    if copies && !found.has_copy && found.system != own_system() {
        return Err(Failure::Usage(format!(
            "{destination} is {}, and this program is for {}\n  install shipmate {} there, so that \
             `ssh {destination} shipmate --version` says so",
            found.system,
            own_system(),
            env!("CARGO_PKG_VERSION")
        )));
    }
    if args.dry_run {
        let lacks = lacks_server(&mut session)?;
        return told_only(&session, &name, copies && !found.has_copy, &there, &found, lacks);
    }
    let known = Tunnel::all(&session.place).map_err(Failure::Storage)?;
    let is_there = |one: &&Tunnel| one.destination == destination && one.folder == found.folder;
    if let Some(other) = known.iter().find(is_there).filter(|other| other.host != name) {
        return Err(Failure::Usage(format!(
            "{destination}:{} is host {other} already\n  `shipmate host add` with --name {other} goes on with \
             it; `shipmate host remove {other}` ends that",
            found.folder,
            other = other.host
        )));
    }
    let known = known.into_iter().find(|one| one.host == name);
    if let Some(other) = known.as_ref().filter(|one| !is_there(one)) {
        return Err(Failure::Usage(format!(
            "host {name} is {}:{} already\n  choose another name with --name, or `shipmate host remove \
             {name}` first",
            other.destination, other.folder
        )));
    }
    become_first(&mut session, &As { name: None, slots: None, labels: Vec::new() }, None)?;
    if copies && !found.has_copy {
        copy_program(&destination, &program, &copy)?;
        say(&session, &format!("{destination}: copied this program to {there}"))?;
    }
    tell_path(&session, &destination, &found, &there)?;
    let invitation = Invitation::make(&session.place, &name);
    let invitation =
        invitation.map_err(|refused| Failure::Client(ClientFailure::Refused(refused)))?;
    let own = OwnServer::of(&session.place).map_err(Failure::Storage)?;
    let port = known.map_or_else(|| own.as_ref().map_or(0, OwnServer::port), |one| one.port);
    let spare = |step| port.wrapping_add(step * PORTS_APART).max(1024);
    let tunnel = Tunnel {
        host: name.clone(),
        destination: destination.clone(),
        folder: found.folder.clone(),
        program: there,
        port,
        spare_ports: (1..PORTS_MAX).map(spare).collect(),
    };
    let url = match &own {
        Some(own) => {
            forward(&session, &tunnel, own.port())?;
            tunnel.clone().keep(&session.place).map_err(Failure::Storage)?;
            tunnel.url()
        }
        None => invitation.server.url.clone(),
    };
    has_joined(&session, &tunnel, &url, &invitation, &args.is)?;
    if own.is_some() {
        // The next coordinator keeps the line up.
        join::restart(&session)?;
    }
    wait_until_there(&mut session, &name)
}

fn say(session: &Session, text: &str) -> Result<(), Failure> {
    if session.screen.json { Ok(()) } else { session.screen.line(text) }
}

fn split(text: &str, session: &Session) -> Result<(String, String), Failure> {
    let (destination, folder) = machine_and_folder(text);
    let folder = folder.unwrap_or_else(|| {
        let own = session.place.workspace.file_name().unwrap_or_default();
        own.to_string_lossy().into_owned()
    });
    if destination.is_empty() || destination.starts_with('-') || folder.is_empty() {
        return Err(Failure::Usage(format!(
            "{text:?} names no machine\n  write [USER@]MACHINE[:DIR], as for scp"
        )));
    }
    Ok((destination, folder))
}

/// As scp takes it: an address with colons stands in brackets, `~/` is the home folder there.
fn machine_and_folder(text: &str) -> (String, Option<String>) {
    let bracketed = text.split_once('[').and_then(|(user, rest)| {
        let (address, rest) = rest.split_once(']')?;
        Some((format!("{user}{address}"), rest.strip_prefix(':')))
    });
    let (machine, folder) = match (bracketed, text.split_once(':')) {
        (Some(bracketed), _) => bracketed,
        (None, Some((machine, folder))) => (machine.to_owned(), Some(folder)),
        (None, None) => (text.to_owned(), None),
    };
    let in_home = |folder: &str| folder.strip_prefix("~/").unwrap_or(folder).to_owned();
    (machine, folder.map(in_home))
}

fn name_from(destination: &str) -> Result<Name, Failure> {
    let host = destination.rsplit('@').next().unwrap_or_default();
    let host = host.split('.').next().unwrap_or_default();
    host.parse().map_err(|_| {
        Failure::Usage(format!("{host:?} cannot be the name of a host\n  give it one with --name"))
    })
}

fn own_system() -> String {
    let system = rustix::system::uname();
    format!("{} {}", system.sysname().to_string_lossy(), system.machine().to_string_lossy())
}

/// This program, and what its copy on another machine is called.
fn own_program() -> Result<(std::path::PathBuf, String), Failure> {
    let program = std::env::current_exe().map_err(|e| Failure::Storage(e.to_string()))?;
    let storage = |e: std::io::Error| Failure::Storage(format!("{}: {e}", program.display()));
    let bytes = std::fs::read(&program).map_err(storage)?;
    let digest = HEXLOWER.encode(&Sha256::digest(&bytes)[..6]);
    Ok((program, format!("shipmate-{}-{digest}", env!("CARGO_PKG_VERSION"))))
}

/// Runs a shell line on the machine, with this on its standard input.
fn ssh(destination: &str, line: &str, stdin: Stdin<'_>) -> Result<Output, Failure> {
    let failed = |e: std::io::Error| Failure::Usage(format!("ssh: {e}\n  install the ssh client"));
    let mut command = Command::new("ssh");
    command.args(SSH_OPTIONS).arg("--").arg(destination).arg(line);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = match stdin {
        Stdin::File(path) => {
            let file = std::fs::File::open(path);
            command.stdin(file.map_err(|e| Failure::Storage(e.to_string()))?).output()
        }
        Stdin::Text(text) => {
            let mut child = command.stdin(Stdio::piped()).spawn().map_err(failed)?;
            let mut pipe = child.stdin.take().expect("it was piped");
            // Who does not read it says why below.
            drop(pipe.write_all(text.as_bytes()));
            drop(pipe);
            child.wait_with_output()
        }
    };
    let output = output.map_err(failed)?;
    match output.status.code() {
        Some(255) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let (fact, remedy) = describe_unreached(destination, &said);
            Err(Failure::Usage(format!("ssh does not reach {destination}: {fact}\n  {remedy}")))
        }
        _ => Ok(output),
    }
}

enum Stdin<'a> {
    Text(&'a str),
    File(&'a Path),
}

fn look(session: &Session, destination: &str, folder: &str, copy: &str) -> Result<Found, Failure> {
    let root = Command::new("git")
        .arg("-C")
        .arg(&session.place.workspace)
        .args(["rev-list", "--max-parents=0", "HEAD"])
        .output();
    let root = root.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let root = root.unwrap_or_default().lines().last().unwrap_or_default().to_owned();
    let script =
        format!("DIR={}\nROOT={}\nCOPY={}\n{LOOK}", quoted(folder), quoted(&root), quoted(copy));
    let output = ssh(destination, "sh -s", Stdin::Text(&script))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut found = Found::default();
    for (word, rest) in text.lines().filter_map(|line| line.split_once(' ')) {
        let rest = rest.trim().to_owned();
        match word {
            "system" => found.system = rest,
            "home" => found.home = rest,
            "git" => found.git = rest,
            "program" => found.program = rest,
            "release" => found.release = rest,
            "copy" => found.has_copy = true,
            "folder" => found.folder = rest,
            "is" => found.is = rest,
            _ => {}
        }
    }
    if found.system.is_empty() || found.is.is_empty() {
        return Err(Failure::Usage(format!(
            "{destination} gives no shell that can be used: {}\n  `ssh {destination} sh -c true` must work",
            String::from_utf8_lossy(&output.stderr).trim()
        )));
    }
    Ok(found)
}

fn require_fit(destination: &str, found: &Found) -> Result<(), Failure> {
    if found.git.is_empty() {
        return Err(Failure::Usage(format!(
            "{destination} has no git\n  install it there: the package git"
        )));
    }
    let why = match found.is.as_str() {
        "other-repository" => "is another repository",
        "full" => "has files and is no repository",
        _ => return Ok(()),
    };
    Err(Failure::Usage(format!(
        "{} on {destination} {why}\n  name another folder: `shipmate host add {destination}:DIR`",
        found.folder
    )))
}

fn folder_in_words(found: &Found) -> String {
    let what = match found.is.as_str() {
        "host" => "a host already",
        "checkout" => "a checkout of this repository",
        _ => "empty, and gets the code",
    };
    format!("{} is {what}", found.folder)
}

fn told_only(
    session: &Session,
    name: &Name,
    copies: bool,
    there: &str,
    found: &Found,
    lacks: Option<String>,
) -> Result<(), Failure> {
    if session.screen.json {
        return session.screen.json(&serde_json::json!({
            "host": name, "system": found.system, "git": found.git, "folder": found.folder,
            "folder_is": found.is, "program": there, "copies_program": copies, "lacks": lacks
        }));
    }
    let lacks = lacks.map(|lacks| format!("would fail: {lacks}\n")).unwrap_or_default();
    let first = "would have this machine a host, with its logs at a NATS server, unless it is one";
    let copy = if copies { format!("would copy this program to {there}\n") } else { String::new() };
    session.screen.print(&format!(
        "{lacks}{first}\n{copy}would keep a line to it by ssh, and have it join as host {name}\nnothing was done\n"
    ))
}

/// Why this machine could not begin a server of its own, where it would have to.
fn lacks_server(session: &mut Session) -> Result<Option<String>, Failure> {
    let is_host = HostFile::read(&session.place).map_err(Failure::Storage)?.is_some();
    match is_host || session.config()?.config.log == LogKind::Nats {
        true => Ok(None),
        false => Ok(OwnServer::can_be_made().err()),
    }
}

/// What whoever logs in there has to know to use shipmate by hand.
fn tell_path(
    session: &Session,
    destination: &str,
    found: &Found,
    there: &str,
) -> Result<(), Failure> {
    match found.program.is_empty() {
        true => say(
            session,
            &format!("{destination}: there is no shipmate on its PATH; by hand it is {there}"),
        ),
        false => Ok(()),
    }
}

fn copy_program(destination: &str, program: &Path, copy: &str) -> Result<(), Failure> {
    let line = format!(
        "umask 077; cd && mkdir -p .local/share/shipmate && cd .local/share/shipmate || exit 1; \
         cat > {copy}.new && chmod 755 {copy}.new && ./{copy}.new --version && mv {copy}.new {copy} || \
         {{ rm -f {copy}.new; exit 1; }}"
    );
    let output = ssh(destination, &line, Stdin::File(program))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(Failure::Usage(format!(
            "the program cannot be copied to {destination}: {}\n  make room there, then say this again",
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
    }
}

/// Begins the line, on a port that is free there.
fn forward(session: &Session, tunnel: &Tunnel, server_port: u16) -> Result<(), Failure> {
    let destination = &tunnel.destination;
    if tunnel.is_running(&session.place) {
        return say(session, &format!("{destination}: the line to the server here is up"));
    }
    for port in tunnel.ports() {
        let begun = tunnel.begin(&session.place, port, server_port);
        let mut child = begun.map_err(Failure::Storage)?;
        // It ends at once where the port is taken, and says nothing where it is not.
        for _ in 0..TRIES_MAX {
            std::thread::park_timeout(AGAIN_AFTER / 5);
            if let Ok(Some(_)) = child.try_wait() {
                break;
            }
        }
        if let Ok(None) = child.try_wait() {
            let text = format!("{destination}: its port {port} leads to the server here");
            return say(session, &text);
        }
        let said = std::fs::read_to_string(tunnel.said(&session.place)).unwrap_or_default();
        if !said.contains(PORT_TAKEN) {
            return Err(Failure::Usage(format!(
                "no line to {destination}: {}\n  `ssh -R` must be allowed there (AllowTcpForwarding)",
                said.trim()
            )));
        }
    }
    let tried = tunnel.ports().map(|port| port.to_string()).collect::<Vec<_>>().join(", ");
    Err(Failure::Usage(format!(
        "no port is free on {destination} for the line: {tried} are taken\n  see what listens there, then say \
         this again"
    )))
}

fn has_joined(
    session: &Session,
    tunnel: &Tunnel,
    url: &str,
    invitation: &Invitation,
    is: &As,
) -> Result<(), Failure> {
    let mut line = format!(
        "mkdir -p {folder} && {program} --workspace {folder} host join {} --token-file - --name {}",
        quoted(url),
        tunnel.host,
        folder = quoted(&tunnel.folder),
        program = quoted(&tunnel.program),
    );
    if let Some(slots) = is.slots {
        line.push_str(&format!(" --slots {slots}"));
    }
    for label in &is.labels {
        line.push_str(&format!(" --label {}", name_of(label)?));
    }
    let mut said = String::new();
    for _ in 0..TRIES_MAX {
        let output = ssh(&tunnel.destination, &line, Stdin::Text(&invitation.text()))?;
        if output.status.success() {
            let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            return say(session, &format!("{}: {text}", tunnel.destination));
        }
        said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        // The line may not be up yet.
        if !said.contains("cannot be reached") {
            break;
        }
        std::thread::park_timeout(AGAIN_AFTER);
    }
    Err(Failure::Usage(format!("{} did not join: {said}", tunnel.destination)))
}

/// Waits until the machine is on record in every team, with the code.
fn wait_until_there(session: &mut Session, name: &Name) -> Result<(), Failure> {
    for team in session.ask(verbs::Teams)?.into_iter().filter(|team| team.parent.is_none()) {
        let mut follower = session.again()?;
        follower.client.team = Some(team.name.clone());
        // A record of an earlier time says nothing of now.
        let position = follower.ask(verbs::Status)?.position;
        let hosts = follower.ask(verbs::Hosts)?;
        let is_it = |host: &&HostView| host.name == name.as_str();
        let is_there = |host: &HostView| {
            matches!(host.state, HostState::Joined | HostState::Draining) && host.lacks.is_empty()
        };
        if hosts.iter().find(is_it).is_some_and(is_there) {
            continue;
        }
        let (tell, told) = channel();
        let own = name.to_string();
        std::thread::spawn(move || {
            drop(follower.client.follow(position, |record| {
                let record: Value = serde_json::from_str(record).unwrap_or_default();
                let joined = &record["event"]["host.joined"];
                let is_there =
                    joined["host"] == own.as_str() && joined["spec"].get("lacks").is_none();
                if is_there {
                    let _ = tell.send(());
                    return std::ops::ControlFlow::Break(());
                }
                std::ops::ControlFlow::Continue(())
            }));
        });
        if told.recv_timeout(JOINS_WITHIN).is_err() {
            return Err(Failure::Usage(format!(
                "host {name} has joined and is not on record in team {}\n  `shipmate host list` says how it \
                 stands; its own account is in .shipmate/state/trace.log there",
                team.name
            )));
        }
    }
    match session.screen.json {
        true => session.screen.json(&serde_json::json!({ "host": name })),
        false => session.screen.line(&format!(
            "host {name} is there; teammates are placed on it from now on. `shipmate host show {name}` \
             names the agent programs that it has"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::machine_and_folder;

    #[test]
    fn a_destination_is_read_as_scp_reads_it() {
        for (text, machine, folder) in [
            ("box", "box", None),
            ("me@box:work/shop", "me@box", Some("work/shop")),
            ("box:/srv/a:b", "box", Some("/srv/a:b")),
            ("box:~/shop", "box", Some("shop")),
            ("me@[::1]:shop", "me@::1", Some("shop")),
            ("[fe80::1%eth0]", "fe80::1%eth0", None),
            ("box:", "box", Some("")),
        ] {
            let read = machine_and_folder(text);
            assert_eq!((read.0.as_str(), read.1.as_deref()), (machine, folder), "{text}");
        }
    }
}
