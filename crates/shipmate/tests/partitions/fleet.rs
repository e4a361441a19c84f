//! Three hosts on a network of the test's own, whose logs are on three servers.
//!
//! A host is a node, a workspace and a coordinator. `north` is the home. Team `alpha` does the work, by
//! commands that wait at a door; team `board` has teammates without any program, for whom clients of the
//! test claim tasks.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use shipmate_protocol::client::{Launch, TokenSource};
use shipmate_protocol::{Client, ClientFailure, Code, Place, Verb};
use shipmate_testkit::network::{Network, Node};
use shipmate_testkit::processes::{self, Marked};

use crate::LIMIT;
use crate::cluster::{self, Server};
use crate::fifos::fifo;
use crate::temp::TempDir;

pub(crate) const SHIPMATE: &str = env!("CARGO_BIN_EXE_shipmate");
pub(crate) const HOSTS: [&str; 3] = ["north", "east", "west"];
pub(crate) const TEAMMATES: usize = 9;
/// Room for those of a host that is away.
const SLOTS: &str = "6";
/// Waits for whoever was refused because a line is down: it is asked again after this, or at the next change.
const ASK_AGAIN: Duration = Duration::from_millis(200);

/// How clients start a coordinator: none when the test is over.
pub(crate) const START_UNLESS_CLOSED: &str = "[ -e \"$0/closed\" ] || exec \"$@\"";

/// Waits at the door, then writes its file. A task's subject is what it says in there.
const AGENT: &str = r#"
set -e
read -r _ < "$S/go.door"
mkdir -p out
printf '%s\n' "$SHIPMATE_SUBJECT" > "out/$SHIPMATE_SUBJECT"
"#;

/// Green when every file holds its own name.
pub(crate) const GATE: &str = "for f in out/*; do [ -e \"$f\" ] || continue; \
    [ \"$(cat \"$f\")\" = \"${f#out/}\" ] || exit 1; done";

/// One machine: where it is on the network, and its workspace.
#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) name: &'static str,
    pub(crate) node: Node,
    pub(crate) place: Place,
    root: PathBuf,
    pub(crate) ending: Arc<Ending>,
}

/// Said once to everybody who works beside the test.
#[derive(Default)]
pub(crate) struct Ending {
    is_over: AtomicBool,
    lock: Mutex<()>,
    told: Condvar,
}

impl Ending {
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        drop(self.lock.lock().unwrap());
        self.told.notify_all();
    }

    /// Lets time pass, unless it is over.
    pub(crate) fn pass(&self, time: Duration) {
        let lock = self.lock.lock().unwrap();
        if !self.is_over() {
            drop(self.told.wait_timeout(lock, time).unwrap());
        }
    }
}

impl Host {
    /// A client on this machine; a coordinator that it starts is on it too.
    pub(crate) fn client(&self, team: &str, token: TokenSource) -> Client {
        let mut args: Vec<OsString> = vec!["-i".into()];
        let environment = environment(&self.root, self.name).into_iter();
        let environment = environment.chain([self.place.coordinator_marker()]);
        args.extend(environment.map(|(name, value)| format!("{name}={value}").into()));
        args.extend(["sh", "-c", START_UNLESS_CLOSED].map(Into::into));
        args.extend([self.root.clone().into(), SHIPMATE.into(), "--workspace".into()]);
        args.extend([self.place.workspace.clone().into(), "coordinator".into(), "run".into()]);
        let launch = Launch::Program { program: "env".into(), args };
        let mut client = Client::new(self.place.clone(), launch, token);
        client.team = Some(team.to_owned());
        client
    }

    /// Does something on a thread of this machine.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        what: impl FnOnce(Host) -> T + Send + 'static,
    ) -> std::thread::JoinHandle<T> {
        let host = self.clone();
        std::thread::spawn(move || {
            host.node.enter();
            what(host)
        })
    }

    /// Asks until it is answered, through everything that happens to the machine and its lines, or until
    /// the test is over. Refusals that stay come back.
    pub(crate) fn insist<V: Verb + Clone>(
        &self,
        client: &mut Client,
        verb: V,
    ) -> Result<V::Answer, Code> {
        loop {
            match client.ask(verb.clone()) {
                Ok(answer) => return Ok(answer),
                Err(ClientFailure::Refused(refused)) if !is_passing(refused.code) => {
                    return Err(refused.code);
                }
                Err(_) if self.ending.is_over() => return Err(Code::LogUnavailable),
                Err(_) => {}
            }
            self.ending.pass(ASK_AGAIN);
        }
    }

    pub(crate) fn processes(&self, kind: &str) -> Vec<Marked> {
        let all = processes::marked(&self.place.digest());
        all.into_iter().filter(|one| one.kind == kind).collect()
    }

    /// Runs the program on this machine, as the person.
    pub(crate) fn shipmate(&self, args: &[&str]) -> Output {
        let mut command = hermetic(&self.root, self.name, SHIPMATE);
        command.arg("--workspace").arg(&self.place.workspace).args(args);
        self.node.run(&mut command).unwrap()
    }

    #[track_caller]
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let output = self.shipmate(args);
        assert!(output.status.success(), "{} {args:?}: {output:?}", self.name);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut command = hermetic(&self.root, self.name, "git");
        let output = command.current_dir(&self.place.workspace).args(args).output().unwrap();
        assert!(output.status.success(), "{} git {args:?}: {output:?}", self.name);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Whether the same may be answered otherwise in a while: the line or the log is not there now.
pub(crate) fn is_passing(code: Code) -> bool {
    matches!(code, Code::LogUnavailable | Code::Busy | Code::CodeUnavailable)
}

pub(crate) struct Fleet {
    pub(crate) hosts: Vec<Host>,
    pub(crate) servers: Vec<Server>,
    pub(crate) door: File,
    pub(crate) base: String,
    pub(crate) root: PathBuf,
    pub(crate) ending: Arc<Ending>,
    folder: Option<TempDir>,
    _network: Network,
}

impl Fleet {
    /// Everything up, the teams made, and every host with the code.
    pub(crate) fn new() -> Fleet {
        Fleet::reached_by(|_, servers| servers.iter().map(Server::url).collect())
    }

    /// The same, with the way to the servers that each host is given.
    pub(crate) fn reached_by(ways: impl Fn(&Host, &[Server]) -> Vec<String>) -> Fleet {
        let folder = TempDir::new();
        let root = folder.join("").canonicalize().unwrap();
        let mut network = Network::new().unwrap();
        let servers = cluster::start(&mut network, &root);
        std::fs::write(root.join("agent.sh"), AGENT).unwrap();
        let door = fifo(&root.join("go.door"));
        let ending = Arc::new(Ending::default());
        let hosts: Vec<Host> = HOSTS
            .iter()
            .map(|name| Host {
                name,
                node: network.node().unwrap(),
                place: Place { workspace: root.join(name) },
                root: root.clone(),
                ending: Arc::clone(&ending),
            })
            .collect();
        hosts.iter().for_each(make);
        let (folder, _network) = (Some(folder), network);
        let mut fleet =
            Fleet { hosts, servers, door, base: String::new(), root, ending, folder, _network };
        fleet.begin();
        let ways: Vec<String> =
            fleet.hosts.iter().map(|host| ways(host, &fleet.servers).join(",")).collect();
        fleet.join(&ways);
        fleet
    }

    pub(crate) fn home(&self) -> &Host {
        &self.hosts[0]
    }

    /// The repository and the teams, while the logs are still in the workspace.
    fn begin(&mut self) {
        let home = self.home().clone();
        home.git(&["init", "--quiet", "--initial-branch=main"]);
        home.git(&["config", "user.name", "P"]);
        home.git(&["config", "user.email", "p@example.invalid"]);
        std::fs::write(home.place.workspace.join("README"), "begin\n").unwrap();
        home.git(&["add", "README", ".shipmate/config.toml"]);
        home.git(&["commit", "--quiet", "--message", "base"]);
        self.base = home.git(&["rev-parse", "HEAD"]).trim().to_owned();
        home.ok(&["team", "create", "alpha", "--trees", "own", "--gate", "--check", GATE]);
        home.ok(&["team", "create", "board"]);
        let line = format!("export S={}; . \"$S/agent.sh\"", self.root.display());
        for n in 1..=TEAMMATES {
            let name = format!("mate-{n}");
            home.ok(&["--team", "alpha", "teammate", "add", &name, "--command", &line]);
        }
    }

    fn join(&self, ways: &[String]) {
        let home = self.home();
        let words = ["log", "move", "nats", "--url", &ways[0], "--replicas", "3"];
        let is = ["--server-is-durable", "--name", home.name, "--slots", SLOTS];
        let words = [&words[..], &is].concat();
        let mut moved = home.shipmate(&words);
        // A cluster that has a leader may still have to hear of a server.
        while String::from_utf8_lossy(&moved.stderr).contains("cannot be had") {
            moved = home.shipmate(&words);
        }
        assert!(moved.status.success(), "{moved:?}");
        for (host, way) in self.hosts.iter().zip(ways).skip(1) {
            let invitation = self.root.join(format!("{}.join", host.name));
            let invitation = invitation.to_str().unwrap();
            home.ok(&["host", "invite", host.name, "--file", invitation]);
            let is = ["--token-file", invitation, "--name", host.name, "--slots", SLOTS];
            host.ok(&[&["host", "join", way][..], &is].concat());
        }
        // With the code it is there.
        let mut story = self.follow(home, "alpha");
        let mut awaited: BTreeSet<&str> = HOSTS.into();
        while !awaited.is_empty() {
            let joined = story.await_event(|event| event.get("host.joined").is_some());
            let joined = &joined["host.joined"];
            if joined["spec"].get("lacks").is_none() {
                awaited.remove(joined["host"].as_str().unwrap());
            }
        }
    }

    /// Hears a log from its first record on, through every coordinator that a machine has.
    pub(crate) fn follow(&self, host: &Host, team: &'static str) -> Story {
        let (tell, news) = channel();
        host.spawn(move |host| {
            let mut client = host.client(team, TokenSource::Person);
            let mut heard = 0;
            while !host.ending.is_over() {
                let followed = client.follow(heard, |record| {
                    let record: Value = serde_json::from_str(record).unwrap();
                    heard = record["n"].as_u64().unwrap();
                    match tell.send(record) {
                        Ok(()) => ControlFlow::Continue(()),
                        Err(_) => ControlFlow::Break(()),
                    }
                });
                if followed.is_ok() {
                    return;
                }
                host.ending.pass(ASK_AGAIN);
            }
        });
        Story { news, log: Vec::new() }
    }

    /// The test is over: clients that still ask start no coordinator any more.
    pub(crate) fn close(&self) {
        self.ending.end();
        std::fs::write(self.root.join("closed"), "").unwrap();
    }

    /// Lets so many agents go on.
    pub(crate) fn open(&mut self, count: usize) {
        // One byte each, because a shell reads byte by byte.
        self.door.write_all(&vec![b'\n'; count]).unwrap();
    }
}

/// A log as it is heard.
pub(crate) struct Story {
    pub(crate) news: Receiver<Value>,
    pub(crate) log: Vec<Value>,
}

impl Story {
    /// The next record that fits, among those not heard of yet.
    #[track_caller]
    pub(crate) fn await_event(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let Ok(record) = self.news.recv_timeout(LIMIT) else {
                panic!("it was never recorded\n{}", self.text())
            };
            self.log.push(record.clone());
            if fits(&record["event"]) {
                return record["event"].clone();
            }
        }
    }

    pub(crate) fn events(&self, name: &str) -> Vec<(u64, &Value)> {
        let found = self.log.iter().filter_map(|record| {
            let event = record["event"].get(name)?;
            Some((record["n"].as_u64().unwrap(), event))
        });
        found.collect()
    }

    pub(crate) fn text(&self) -> String {
        let lines = self.log.iter().map(|record| format!("{} {}", record["n"], record["event"]));
        lines.collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.close();
        // A test that failed may leave anything on the nodes; whoever is stopped starts nobody.
        let all = || self.hosts.iter().flat_map(|host| host.node.processes()).collect::<Vec<u32>>();
        for _ in 0..3 {
            all().into_iter().for_each(|pid| processes::signal(pid, Signal::STOP));
        }
        for pid in all() {
            processes::kill(pid);
            let _ended = processes::ends(pid, LIMIT);
        }
        if std::thread::panicking() && std::env::var_os("SHIPMATE_KEEP").is_some() {
            eprintln!("kept: {}", self.root.display());
            std::mem::forget(self.folder.take());
        }
    }
}

fn make(host: &Host) {
    std::fs::create_dir_all(host.place.workspace.join(".shipmate")).unwrap();
    std::fs::create_dir_all(host.root.join("users").join(host.name)).unwrap();
    // A lease as short as there is: some cuts are longer, some are not.
    let config = "idle-exit-seconds = 0\n[hosts]\nlease-seconds = 3\n";
    std::fs::write(host.place.config(), config).unwrap();
}

/// What a program sees of this machine's user: nothing.
fn environment(root: &Path, name: &str) -> [(&'static str, String); 5] {
    let home = root.join("users").join(name).display().to_string();
    [
        ("PATH", std::env::var("PATH").unwrap()),
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
