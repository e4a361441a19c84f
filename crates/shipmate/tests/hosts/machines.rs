//! Machines: workspaces with coordinators of their own, of which the first has the team and the server.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use shipmate_protocol::client::{Launch, TokenSource};
use shipmate_protocol::socket::Patience;
use shipmate_protocol::{Client, Place};

use crate::fifos::{Arrival, fifo, listen};
use crate::processes::{self, Marked, marked};
use crate::temp::TempDir;

const SHIPMATE: &str = env!("CARGO_BIN_EXE_shipmate");

/// Nothing here takes so long, even on a loaded machine.
const LIMIT: Duration = Duration::from_secs(300);

/// How often is looked for what no record tells of; each look reads all processes or runs a command.
const LOOKS_MAX: u32 = 20_000;

/// What every agent's line may use.
const WORDS: &str = r#"
here() { echo "$SHIPMATE_TASK $SHIPMATE_TEAMMATE $SHIPMATE_EPOCH $$ $*" > "$S/here"; }
pass() { read -r _ < "$S/$1.door"; }
put() { mkdir -p "$(dirname "$1")"; printf '%s\n' "$2" > "$1"; }
"#;

/// All machines of a test, in one folder, with the doors that their agents share.
pub(crate) struct Machines {
    folder: TempDir,
    doors: BTreeMap<String, File>,
    arrivals: Receiver<Arrival>,
    news: Receiver<Value>,
    pub(crate) log: Vec<Value>,
    names: Vec<String>,
    config: String,
}

impl Machines {
    /// `home` with a team of nobody yet, on a server of its own.
    pub(crate) fn new(slots: u32) -> Machines {
        Machines::with(slots, |_| {})
    }

    /// The same, of a workspace that was made ready before the team began.
    pub(crate) fn with(slots: u32, prepare: impl FnOnce(&Path)) -> Machines {
        Machines::gated(slots, prepare, |_| "true".to_owned())
    }

    /// The same, where every machine has these settings as well.
    pub(crate) fn configured(slots: u32, settings: &str) -> Machines {
        Machines::begun(slots, settings, |_| {}, |_| "true".to_owned())
    }

    /// The same, with a gate that is made of the folder of all machines.
    pub(crate) fn gated(
        slots: u32,
        prepare: impl FnOnce(&Path),
        gate: impl FnOnce(&Path) -> String,
    ) -> Machines {
        Machines::begun(slots, "", prepare, gate)
    }

    fn begun(
        slots: u32,
        settings: &str,
        prepare: impl FnOnce(&Path),
        gate: impl FnOnce(&Path) -> String,
    ) -> Machines {
        let folder = TempDir::new();
        let root = folder.join("").canonicalize().unwrap();
        std::fs::write(root.join("words.sh"), WORDS).unwrap();
        let arrivals = listen(&fifo(&root.join("here")));
        let write = [root.join("here")];
        // A lease as short as there is: a lost machine is waited for.
        let config = format!(
            "idle-exit-seconds = 0\nfence-write = {write:?}\n[hosts]\nlease-seconds = 3\n{settings}"
        );
        let (_, news) = channel();
        let mut machines = Machines {
            folder,
            doors: BTreeMap::new(),
            arrivals,
            news,
            log: Vec::new(),
            names: Vec::new(),
            config,
        };
        machines.make("home");
        let workspace = machines.workspace("home");
        machines.git("home", &["init", "--quiet", "--initial-branch=main"]);
        machines.git("home", &["config", "user.name", "P"]);
        machines.git("home", &["config", "user.email", "p@example.invalid"]);
        std::fs::write(workspace.join("README"), "begin\n").unwrap();
        machines.git("home", &["add", "README", ".shipmate/config.toml"]);
        machines.git("home", &["commit", "--quiet", "--message", "base"]);
        prepare(&workspace);
        machines.ok(
            "home",
            &["team", "create", "alpha", "--trees", "own", "--gate", "--check", &gate(&root)],
        );
        let slots = slots.to_string();
        machines.ok("home", &["log", "move", "nats", "--name", "home", "--slots", &slots]);
        machines.follow();
        machines
    }

    /// A further machine, which joins from an empty folder.
    pub(crate) fn join(&mut self, name: &str, slots: u32) {
        self.make(name);
        let invitation = self.root().join(format!("{name}.join"));
        let invitation = invitation.to_str().unwrap();
        self.ok("home", &["host", "invite", name, "--file", invitation]);
        let url = self.url();
        let slots = slots.to_string();
        let args = ["host", "join", &url, "--token-file", invitation, "--slots", &slots];
        self.ok(name, &args);
        // With the code it is there.
        let is_it = |event: &Value| {
            let joined = &event["host.joined"];
            joined["host"] == name && joined["spec"].get("lacks").is_none()
        };
        self.hear(is_it);
    }

    /// Where the server of the first machine is.
    pub(crate) fn url(&self) -> String {
        let file = std::fs::read_to_string(self.place("home").host_file()).unwrap();
        let file: Value = serde_json::from_str(&file).unwrap();
        file["server"]["url"].as_str().unwrap().to_owned()
    }

    /// A machine that is reached by ssh: its workspace will be there, and is cleaned up.
    pub(crate) fn expect(&mut self, name: &str) {
        self.names.push(name.to_owned());
    }

    fn make(&mut self, name: &str) {
        let workspace = self.workspace(name);
        std::fs::create_dir_all(workspace.join(".shipmate")).unwrap();
        std::fs::create_dir_all(self.root().join("users").join(name)).unwrap();
        std::fs::write(self.place(name).config(), &self.config).unwrap();
        self.names.push(name.to_owned());
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.join("").canonicalize().unwrap()
    }

    pub(crate) fn workspace(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn place(&self, name: &str) -> Place {
        Place { workspace: self.workspace(name) }
    }

    pub(crate) fn git(&self, name: &str, args: &[&str]) -> String {
        let output = hermetic(&self.root(), name, "git")
            .current_dir(self.workspace(name))
            .args(args)
            .output()
            .unwrap();
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs the program on a machine, as the person.
    pub(crate) fn shipmate(&self, name: &str, args: &[&str]) -> Output {
        self.command(name, args).output().unwrap()
    }

    pub(crate) fn command(&self, name: &str, args: &[&str]) -> Command {
        let mut command = hermetic(&self.root(), name, SHIPMATE);
        command.arg("--workspace").arg(self.workspace(name)).args(args);
        command
    }

    /// What is on a machine of the first life's output of a teammate.
    pub(crate) fn copy_of(&self, name: &str, who: &str) -> String {
        let path = self.place(name).life("alpha", &format!("alpha.{who}@1")).join("output.log");
        std::fs::read_to_string(path).unwrap_or_default()
    }

    /// The same; what it printed.
    #[track_caller]
    pub(crate) fn ok(&self, name: &str, args: &[&str]) -> String {
        let output = self.shipmate(name, args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Looks until it is so; for what no record tells of.
    pub(crate) fn until(&self, what: &str, is_so: impl Fn(&Machines) -> bool) {
        let is_so = (0..LOOKS_MAX).any(|_| is_so(self));
        assert!(is_so, "{what}: never\n{}", self.story());
    }

    /// Waits until the coordinator of a machine has its log again.
    pub(crate) fn answers(&self, name: &str) {
        self.until("it answers", |at| at.shipmate(name, &["task", "list"]).status.success());
    }

    /// What it said instead.
    #[track_caller]
    pub(crate) fn refused(&self, name: &str, args: &[&str]) -> String {
        let output = self.shipmate(name, args);
        assert!(!output.status.success(), "{args:?}: {output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Teammates whose tasks' subjects are the lines that do them.
    pub(crate) fn add(&self, names: &[&str]) {
        for name in names {
            self.ok("home", &["teammate", "add", name, "--command", &self.line()]);
        }
    }

    /// One that runs on this machine only.
    pub(crate) fn add_on(&self, host: &str, name: &str) {
        self.ok("home", &["teammate", "add", name, "--host", host, "--command", &self.line()]);
    }

    /// What does the task that its subject is.
    pub(crate) fn line(&self) -> String {
        let root = self.root();
        format!("export S={}; . \"$S/words.sh\"; eval \"$SHIPMATE_SUBJECT\"", root.display())
    }

    pub(crate) fn task(&self, line: &str) {
        self.ok("home", &["task", "create", line]);
    }

    /// Hears the log from its first record on, through all coordinators of the first machine.
    pub(crate) fn follow(&mut self) {
        self.follow_on("home");
    }

    /// The same through another machine.
    pub(crate) fn follow_on(&mut self, name: &str) {
        self.log.clear();
        let (tell, news) = channel();
        let mut follower = self.client(name);
        std::thread::spawn(move || {
            drop(follower.follow(
                0,
                |record| match tell.send(serde_json::from_str(record).unwrap()) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                },
            ));
        });
        self.news = news;
    }

    /// Clients that still ask start no coordinator any more.
    pub(crate) fn close(&self) {
        drop(std::fs::write(self.root().join("closed"), ""));
    }

    fn client(&self, name: &str) -> Client {
        let place = self.place(name);
        // As a command of that machine starts it; when the test is over it starts none any more.
        let line = "[ -e \"$0/closed\" ] || exec \"$@\"";
        let environment = environment(&self.root(), name).into_iter();
        let environment = environment.chain([place.coordinator_marker()]);
        let mut args: Vec<OsString> = vec!["-i".into()];
        args.extend(environment.map(|(name, value)| format!("{name}={value}").into()));
        args.extend(["sh", "-c", line].map(Into::into));
        args.extend([self.root().into(), SHIPMATE.into(), "--workspace".into()]);
        args.extend([place.workspace.clone().into(), "coordinator".into(), "run".into()]);
        let launch = Launch::Program { program: "env".into(), args };
        let mut client = Client::new(place, launch, TokenSource::Person);
        client.team = Some("alpha".to_owned());
        client.patience = Patience { give_up_after: 2 * LIMIT, ..Patience::default() };
        client
    }

    /// The next record that fits, among those not heard of yet.
    #[track_caller]
    pub(crate) fn hear(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let Ok(record) = self.news.recv_timeout(LIMIT) else {
                panic!("it was never recorded\n{}", self.story())
            };
            self.log.push(record.clone());
            if fits(&record["event"]) {
                return record["event"].clone();
            }
        }
    }

    /// The next event of this name; its fields.
    #[track_caller]
    pub(crate) fn event(&mut self, name: &str) -> Value {
        self.hear(|event| event.get(name).is_some())[name].clone()
    }

    pub(crate) fn events(&self, name: &str) -> Vec<Value> {
        self.log.iter().filter_map(|record| record["event"].get(name)).cloned().collect()
    }

    /// Waits until so many tasks are completed.
    #[track_caller]
    pub(crate) fn completed(&mut self, count: usize) {
        while self.events("task.completed").len() < count {
            self.event("task.completed");
        }
    }

    pub(crate) fn story(&self) -> String {
        let lines = self.log.iter().map(|record| format!("{} {}", record["n"], record["event"]));
        lines.collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn door(&mut self, name: &str) {
        let file = fifo(&self.root().join(format!("{name}.door")));
        self.doors.insert(name.to_owned(), file);
    }

    pub(crate) fn open(&mut self, name: &str, count: usize) {
        // One byte each, because a shell reads byte by byte.
        self.doors.get_mut(name).unwrap().write_all(&vec![b'\n'; count]).unwrap();
    }

    /// The next agent that says where it is.
    #[track_caller]
    pub(crate) fn arrival(&mut self) -> Arrival {
        match self.arrivals.recv_timeout(LIMIT) {
            Ok(arrival) => arrival,
            Err(_) => panic!("nobody arrives\n{}", self.story()),
        }
    }

    /// Everything that a machine runs.
    pub(crate) fn processes(&self, name: &str, kind: &str) -> Vec<Marked> {
        let all = marked(&self.place(name).digest());
        all.into_iter().filter(|one| kind.is_empty() || one.kind == kind).collect()
    }

    /// Takes a machine away as a cut line does, or gives it back: nothing of it runs meanwhile.
    pub(crate) fn freeze(&self, name: &str, is_frozen: bool) {
        let signal = if is_frozen { Signal::STOP } else { Signal::CONT };
        for one in self.processes(name, "") {
            processes::signal(one.pid, signal);
        }
    }

    /// Where a life runs.
    pub(crate) fn host_of(&self, who: &str) -> String {
        let started = self.events("teammate.started");
        let own = started.iter().filter(|one| one["who"].as_str().unwrap().starts_with(who));
        { own }
            .next_back()
            .map(|one| one["host"].as_str().unwrap_or_default().to_owned())
            .unwrap_or_default()
    }

    /// Where the team's branch stands on a machine.
    pub(crate) fn tip(&self, name: &str) -> String {
        self.git(name, &["for-each-ref", "--format=%(objectname)", "refs/heads/shipmate/alpha"])
    }

    /// What a file holds at the tip of the team's branch on a machine.
    pub(crate) fn landed(&self, name: &str, file: &str) -> String {
        self.git(name, &["show", &format!("shipmate/alpha:{file}")])
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        // A test that failed may leave anything: coordinators first, or they would start more.
        let (_, nobody) = channel();
        self.news = nobody;
        self.close();
        for name in self.names.clone() {
            let stop = |kind: &str| {
                for one in self.processes(&name, kind) {
                    processes::signal(one.pid, Signal::STOP);
                }
            };
            ["supervisor", "coordinator", "agent"].iter().for_each(|kind| stop(kind));
        }
        for _ in 0..3 {
            for name in self.names.clone() {
                for one in self.processes(&name, "") {
                    processes::kill(one.pid);
                }
            }
        }
    }
}

/// What a program sees of this machine's user: nothing.
fn environment(root: &Path, name: &str) -> [(&'static str, String); 6] {
    let home = root.join("users").join(name).display().to_string();
    let [server, path] = ["SHIPMATE_NATS_SERVER", "PATH"].map(|name| std::env::var(name).unwrap());
    [
        // A test may put programs of its own before the machine's.
        ("PATH", format!("{}:{path}", root.join("bin").display())),
        ("SHIPMATE_NATS_SERVER", server),
        ("HOME", home.clone()),
        ("XDG_CONFIG_HOME", home),
        ("GIT_CONFIG_SYSTEM", "/dev/null".to_owned()),
        ("GIT_CONFIG_GLOBAL", "/dev/null".to_owned()),
    ]
}

fn hermetic(root: &Path, name: &str, program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(environment(root, name));
    command
}
