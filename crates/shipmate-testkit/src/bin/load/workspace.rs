//! A workspace of its own for one run: made fresh, served by a coordinator, ended and removed.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use shipmate_model::Record;
use shipmate_protocol::client::{Launch, TokenSource};
use shipmate_protocol::verbs::{Supervision, TaskNew, TeamCreate, TeammateAdd};
use shipmate_protocol::{Answer, Ask, Client, Place, answers, verbs};

use crate::arguments::Arguments;

/// The one team of every run.
pub(crate) const TEAM: &str = "load";
/// How a worker is told who it is: not on the command line, which everybody on the machine sees.
pub(crate) const TOKEN: &str = "SHIPMATE_LOAD_TOKEN";
/// How long an asked coordinator may take to end before it is killed.
const END_TIMEOUT: Duration = Duration::from_secs(30);
/// Tasks in one request.
const BATCH: usize = 2_000;
/// Records in one page of the log.
const PAGE: usize = 10_000;

#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) place: Place,
    pub(crate) program: PathBuf,
    pub(crate) durability: String,
    pub(crate) person: Client,
}

impl Workspace {
    /// A fresh workspace with an empty team, as the options say.
    pub(crate) fn fresh(arguments: &mut Arguments) -> Result<Workspace, String> {
        let place = place(arguments)?;
        let program = arguments.path("shipmate")?;
        let program = program.canonicalize().map_err(|e| format!("{}: {e}", program.display()))?;
        let durability = arguments.optional("durability").unwrap_or_else(|| "power".to_owned());
        if !matches!(durability.as_str(), "power" | "process") {
            return Err(format!("--durability {durability}: power or process"));
        }
        if place.project().exists() {
            return Err(format!("{} is in use", place.workspace.display()));
        }
        let named = |e: std::io::Error| format!("{}: {e}", place.workspace.display());
        fs::create_dir_all(place.project()).map_err(named)?;
        // Should this process be killed, nothing of it stays for long.
        let config = format!("durability = \"{durability}\"\nidle-exit-seconds = 30\n");
        fs::write(place.config(), config).map_err(named)?;
        let person = Client::new(place.clone(), launch(&program, &place), TokenSource::Person);
        let mut workspace = Workspace { place, program, durability, person };
        let create = TeamCreate { name: TEAM.to_owned(), ..TeamCreate::default() };
        workspace.ask(Ask::TeamCreate(create))?;
        Ok(workspace)
    }

    pub(crate) fn ask(&mut self, ask: Ask) -> Result<Answer, String> {
        self.person.ask(ask).map_err(|e| e.to_string())
    }

    /// Adds and starts a teammate; its token.
    pub(crate) fn teammate(&mut self, name: &str, tasks_max: u32) -> Result<String, String> {
        let name = name.to_owned();
        let tasks_max = Some(tasks_max);
        let add = TeammateAdd { name: name.clone(), tasks_max, ..TeammateAdd::default() };
        self.ask(Ask::TeammateAdd(add))?;
        match self.ask(Ask::TeammateStart(verbs::TeammateStart {
            name,
            supervision: Supervision::None,
        }))? {
            Answer::Started(answers::Started { token, .. }) => Ok(token),
            other => Err(format!("the start was answered by {other:?}")),
        }
    }

    /// A client that acts as a teammate and starts no coordinator.
    pub(crate) fn client(&self, token: &str) -> Client {
        Client::new(self.place.clone(), Launch::Never, TokenSource::Given(token.to_owned()))
    }

    /// Creates tasks, many in a request; their ids.
    pub(crate) fn tasks(&mut self, tasks: &[TaskNew]) -> Result<Vec<u32>, String> {
        let mut ids = Vec::with_capacity(tasks.len());
        for batch in tasks.chunks(BATCH) {
            match self.ask(Ask::TaskCreate(verbs::TaskCreate { tasks: batch.to_vec() }))? {
                Answer::Created(answers::Created { tasks }) => ids.extend(tasks),
                other => return Err(format!("the creation was answered by {other:?}")),
            }
        }
        Ok(ids)
    }

    /// Every record of the log, in order.
    pub(crate) fn log(&mut self) -> Result<Vec<Record>, String> {
        let mut records: Vec<Record> = Vec::new();
        loop {
            let after = records.last().map_or(0, |record| record.n);
            let Answer::Log(page) = self.ask(Ask::Log(verbs::Log { after, max: PAGE }))? else {
                return Err("the log was answered by something else".to_owned());
            };
            if page.is_empty() {
                return Ok(records);
            }
            for text in page {
                let record = serde_json::from_str(text.get());
                records.push(record.map_err(|e| format!("{e} in {}", text.get()))?);
            }
        }
    }

    /// The coordinator that serves this workspace now.
    pub(crate) fn coordinator(&self) -> Option<u32> {
        serving(&self.place)
    }

    /// Asks the coordinator to end and waits until it has.
    pub(crate) fn end_coordinator(&self) -> Result<(), String> {
        match self.coordinator() {
            Some(pid) => end(&self.place, pid, Signal::TERM),
            None => Ok(()),
        }
    }

    /// Ends the coordinator as a crash would and waits until it is gone.
    pub(crate) fn kill_coordinator(&self) -> Result<(), String> {
        match self.coordinator() {
            Some(pid) => end(&self.place, pid, Signal::KILL),
            None => Ok(()),
        }
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if let Err(message) = self.end_coordinator() {
            eprintln!("{message}");
        }
        if let Err(e) = fs::remove_dir_all(&self.place.workspace) {
            eprintln!("{}: {e}", self.place.workspace.display());
        }
    }
}

/// The folder in `--workspace`, made absolute, because a coordinator may run elsewhere.
pub(crate) fn place(arguments: &mut Arguments) -> Result<Place, String> {
    let path = arguments.path("workspace")?;
    let workspace = std::path::absolute(&path).map_err(|e| e.to_string())?;
    Ok(Place { workspace })
}

pub(crate) fn launch(program: &Path, place: &Place) -> Launch {
    let workspace = place.workspace.clone().into_os_string();
    let args: Vec<OsString> =
        vec!["--workspace".into(), workspace, "coordinator".into(), "run".into()];
    Launch::Program { program: program.to_owned(), args }
}

pub(crate) fn token_from_environment() -> Result<TokenSource, String> {
    std::env::var(TOKEN).map(TokenSource::Given).map_err(|e| format!("{TOKEN}: {e}"))
}

/// The process that holds the workspace's lock, if it is a live coordinator of this workspace.
pub(crate) fn serving(place: &Place) -> Option<u32> {
    let pid: u32 = fs::read_to_string(place.lock()).ok()?.trim().parse().ok()?;
    // The file outlives its writer, and its number may belong to somebody else by now.
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = words.split(|byte| *byte == 0);
    let ours = words.any(|word| word == place.workspace.as_os_str().as_encoded_bytes());
    ours.then_some(pid)
}

/// Sends a signal and waits for the lock that the process holds as long as it lives.
fn end(place: &Place, pid: u32, signal: Signal) -> Result<(), String> {
    send(pid, signal)?;
    let lock = place.lock();
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let freed = freed(&lock).map_err(|e| format!("{}: {e}", lock.display()));
        // Nobody listens any more when it took too long.
        drop(tell.send(freed));
    });
    match told.recv_timeout(END_TIMEOUT) {
        Ok(freed) => freed,
        Err(_) if signal != Signal::KILL => {
            send(pid, Signal::KILL)?;
            Err(format!("the coordinator {pid} did not end when asked and was killed"))
        }
        Err(_) => Err(format!("the coordinator {pid} does not end")),
    }
}

fn freed(lock: &Path) -> std::io::Result<()> {
    let file = File::open(lock)?;
    flock(&file, FlockOperation::LockShared)?;
    Ok(())
}

pub(crate) fn send(pid: u32, signal: Signal) -> Result<(), String> {
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = raw.ok_or_else(|| format!("{pid} is no process"))?;
    match kill_process(pid, signal) {
        // It was about to go by itself.
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(e) => Err(format!("{pid:?}: {e}")),
    }
}
