//! Machines for a measurement: workspaces with coordinators of their own on one computer, of which the
//! first has the team, and the server that has its log.
//!
//! What is between two of them is the real server and no network: a figure says what the program costs,
//! and a line of so many milliseconds comes on top of it.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use shipmate_model::Record;
use shipmate_model::event::Event;
use shipmate_protocol::client::{Launch, TokenSource};
use shipmate_protocol::verbs::{Setup, TeamCreate, TeammateAdd};
use shipmate_protocol::{Ask, Client, Place, verbs};
use shipmate_testkit::processes::{self, Marked, marked};

use crate::arguments::Arguments;
use crate::workspace::{TEAM, Workspace, launch};

/// No record of any measurement takes so long to come.
pub(crate) const LIMIT: Duration = Duration::from_secs(300);
/// How long a host may be silent, unless a measurement says otherwise: the default of the product.
const LEASE_S: u64 = 30;

/// How the machines are made.
#[derive(Debug)]
pub(crate) struct Scene {
    folder: PathBuf,
    program: PathBuf,
    /// Files of the repository that the team begins with; without a repository, none.
    pub(crate) files: Option<usize>,
    pub(crate) lease_s: u64,
    /// Without it the log stays in a file.
    pub(crate) on_server: bool,
    /// Results wait for the merge queue.
    pub(crate) gate: bool,
}

impl Scene {
    pub(crate) fn take(arguments: &mut Arguments) -> Result<Scene, String> {
        let folder = crate::workspace::place(arguments)?.workspace;
        let program = arguments.path("shipmate")?;
        let program = program.canonicalize().map_err(|e| format!("{}: {e}", program.display()))?;
        Ok(Scene { folder, program, files: None, lease_s: LEASE_S, on_server: true, gate: false })
    }
}

/// All machines of one measurement; the first is the home.
pub(crate) struct Machines {
    scene: Scene,
    pub(crate) all: Vec<Workspace>,
    news: Receiver<(Instant, Record)>,
    pub(crate) log: Vec<Record>,
}

impl Machines {
    /// The home, with a team of nobody yet.
    pub(crate) fn new(scene: Scene, slots: u32) -> Result<Machines, String> {
        let (_, news) = channel();
        let mut machines = Machines { scene, all: Vec::new(), news, log: Vec::new() };
        machines.make("home")?;
        let workspace = machines.all[0].place.workspace.clone();
        if let Some(files) = machines.scene.files {
            repository(&workspace, files)?;
        }
        let (gate, trees) = (machines.scene.gate, machines.scene.files.map(|_| "own".to_owned()));
        machines.all[0].ask(Ask::TeamCreate(TeamCreate {
            name: TEAM.to_owned(),
            gate,
            setup: Some(Setup { trees, ..Setup::default() }),
            ..TeamCreate::default()
        }))?;
        if machines.scene.on_server {
            let slots = slots.to_string();
            machines.run(0, &["log", "move", "nats", "--name", "home", "--slots", &slots])?;
        }
        machines.follow();
        Ok(machines)
    }

    /// A further machine, which joins from an empty folder; how long it takes until it has the code.
    pub(crate) fn join(&mut self, name: &str, slots: u32) -> Result<Duration, String> {
        let at = self.make(name)?;
        let invitation = self.scene.folder.join(format!("{name}.join"));
        let invitation = invitation.to_str().ok_or("the folder is no text")?.to_owned();
        self.run(0, &["host", "invite", name, "--file", &invitation])?;
        let file = fs::read_to_string(self.all[0].place.host_file()).map_err(|e| e.to_string())?;
        let file: serde_json::Value = serde_json::from_str(&file).map_err(|e| e.to_string())?;
        let url = file["server"]["url"].as_str().ok_or("the server has no address")?;
        let slots = slots.to_string();
        let begin = Instant::now();
        self.run(at, &["host", "join", url, "--token-file", &invitation, "--slots", &slots])?;
        let (end, _) = self.hear(|event| {
            matches!(event, Event::HostJoined { host, spec }
                if host.as_str() == name && spec.lacks.is_empty())
        })?;
        Ok(end - begin)
    }

    fn make(&mut self, name: &str) -> Result<usize, String> {
        let workspace = self.scene.folder.join(name);
        let place = Place { workspace };
        let named = |e: std::io::Error| format!("{}: {e}", place.workspace.display());
        fs::create_dir_all(place.project()).map_err(named)?;
        let lease_s = self.scene.lease_s;
        let config = format!("idle-exit-seconds = 0\n[hosts]\nlease-seconds = {lease_s}\n");
        fs::write(place.config(), config).map_err(named)?;
        let program = self.scene.program.clone();
        let mut person = Client::new(place.clone(), launch(&program, &place), TokenSource::Person);
        person.team = Some(TEAM.to_owned());
        let durability = "power".to_owned();
        self.all.push(Workspace { place, program, durability, person });
        Ok(self.all.len() - 1)
    }

    /// Runs the program on a machine, as the person.
    pub(crate) fn run(&self, at: usize, args: &[&str]) -> Result<String, String> {
        let Workspace { place, program, .. } = &self.all[at];
        let mut command = Command::new(program);
        let ended = command.arg("--workspace").arg(&place.workspace).args(args).output();
        let ended = ended.map_err(|e| format!("{}: {e}", program.display()))?;
        match ended.status.success() {
            true => Ok(String::from_utf8_lossy(&ended.stdout).into_owned()),
            false => Err(format!("{args:?}: {}", String::from_utf8_lossy(&ended.stderr).trim())),
        }
    }

    /// Teammates whose agent is a command; they begin when there is something for them.
    pub(crate) fn add(&mut self, names: &[String], command: &str) -> Result<(), String> {
        for name in names {
            let (name, command) = (name.clone(), command.to_owned());
            let when_needed = true;
            let add = TeammateAdd { name, command, when_needed, ..TeammateAdd::default() };
            self.all[0].ask(Ask::TeammateAdd(add))?;
        }
        Ok(())
    }

    /// Hears the log from its first record on, with the moment when each came.
    fn follow(&mut self) {
        let (tell, news) = channel();
        let place = self.all[0].place.clone();
        let mut client = Client::new(place, Launch::Never, TokenSource::Person);
        client.team = Some(TEAM.to_owned());
        std::thread::spawn(move || {
            // It ends with the coordinator, or when nobody hears it any more.
            drop(client.follow(0, |text| {
                let Ok(record) = serde_json::from_str(text) else { return ControlFlow::Break(()) };
                match tell.send((Instant::now(), record)) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            }));
        });
        self.news = news;
    }

    /// The next record that fits, among those not heard of yet, and when it came.
    pub(crate) fn hear(
        &mut self,
        fits: impl Fn(&Event) -> bool,
    ) -> Result<(Instant, Record), String> {
        loop {
            let (at, record) = self.news.recv_timeout(LIMIT).map_err(|_| {
                let last = self.log.iter().rev().take(5).map(|record| record.event.name());
                format!("it was never recorded; the last were {:?}", last.collect::<Vec<_>>())
            })?;
            self.log.push(record.clone());
            if fits(&record.event) {
                return Ok((at, record));
            }
        }
    }

    /// Waits until so many tasks are completed.
    pub(crate) fn completed(&mut self, count: usize) -> Result<(), String> {
        let is_it = |event: &Event| matches!(event, Event::TaskCompleted { .. });
        let mut done = self.log.iter().filter(|record| is_it(&record.event)).count();
        while done < count {
            let (_, record) = self.hear(|event| {
                is_it(event)
                    || matches!(event, Event::TaskReturned { .. } | Event::TaskFailed { .. })
            })?;
            if !is_it(&record.event) {
                return Err(format!("a task came back: {:?}", record.event));
            }
            done += 1;
        }
        Ok(())
    }

    /// Has every machine know what was recorded until now: what one is asked, it answers from the log's end.
    pub(crate) fn settle(&mut self) -> Result<(), String> {
        for at in &mut self.all {
            at.ask(Ask::Log(verbs::Log { after: 0, max: 1 }))?;
        }
        Ok(())
    }

    /// What a machine runs, of one kind or of all.
    pub(crate) fn processes(&self, at: usize, kind: &str) -> Vec<Marked> {
        let all = marked(&self.all[at].place.digest());
        all.into_iter().filter(|one| kind.is_empty() || one.kind == kind).collect()
    }

    /// Takes a machine away as a cut line does, or gives it back: nothing of it runs meanwhile.
    pub(crate) fn freeze(&self, at: usize, is_frozen: bool) {
        let signal = if is_frozen { Signal::STOP } else { Signal::CONT };
        for one in self.processes(at, "") {
            processes::signal(one.pid, signal);
        }
    }

    /// The server that the home has started.
    pub(crate) fn server(&self) -> Result<u32, String> {
        self.processes(0, "server").pop().map(|one| one.pid).ok_or("no server runs".to_owned())
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        // Agents may still run, and coordinators start whatever ends: all stand still before any is ended.
        for signal in [Signal::STOP, Signal::KILL, Signal::KILL] {
            for at in 0..self.all.len() {
                for one in self.processes(at, "") {
                    processes::signal(one.pid, signal);
                }
            }
        }
        for at in 0..self.all.len() {
            for one in self.processes(at, "") {
                let _it_was_killed = processes::ends(one.pid, Duration::from_secs(30));
            }
        }
        self.all.clear();
        drop(fs::remove_dir_all(&self.scene.folder));
    }
}

/// Milliseconds since 1970, as the records have them.
pub(crate) fn wall_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// A repository with one commit of so many files.
fn repository(folder: &Path, files: usize) -> Result<(), String> {
    let named = |e: std::io::Error| format!("{}: {e}", folder.display());
    for n in 0..files {
        let source = folder.join("src").join(format!("part-{}", n % 40));
        fs::create_dir_all(&source).map_err(named)?;
        // Lines that differ from file to file: a pack of equal files would be too small.
        let line = |k: usize| format!("let value_{k} = {};\n", (n * 7919 + k * 104_729) % 999_983);
        fs::write(source.join(format!("{n}.rs")), (0..60).map(line).collect::<String>())
            .map_err(named)?;
    }
    fs::write(folder.join("README"), "what the team begins with\n").map_err(named)?;
    git(folder, &["init", "--quiet", "--initial-branch=main"])?;
    git(folder, &["add", "."])?;
    let author = ["-c", "user.name=bench", "-c", "user.email=bench@example.invalid"];
    let commit = ["commit", "--quiet", "--no-gpg-sign", "-m", "what the team begins with"];
    git(folder, &[&author[..], &commit[..]].concat()).map(drop)
}

pub(crate) fn git(folder: &Path, args: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(args).stdin(Stdio::null());
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let ended = command.output().map_err(|e| format!("git: {e}"))?;
    match ended.status.success() {
        true => Ok(String::from_utf8_lossy(&ended.stdout).into_owned()),
        false => {
            let told = String::from_utf8_lossy(&ended.stderr);
            Err(format!("git {}: {}", args.join(" "), told.trim()))
        }
    }
}
