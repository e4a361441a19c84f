//! A repository, a team on it, and agents that do as they are told.
//!
//! A task's subject is the shell line that does it. `here` tells the test where an agent is,
//! `pass NAME` waits until the test opens that door. The log is followed from the first record on,
//! so nothing is looked for before it is there.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde_json::Value;
use shipmate_protocol::client::{Launch, TokenSource};
use shipmate_protocol::socket::Patience;
use shipmate_protocol::verbs::{Setup, TaskNew, TeamCreate, TeammateAdd};
use shipmate_protocol::view::{TaskView, TeammateView};
use shipmate_protocol::{Answer, Ask, Client, ClientFailure, Place, Refused, answers, verbs};

use crate::fifos::{Arrival, fifo, listen};
use crate::processes::{self, Marked, marked};
use crate::temp::TempDir;

pub(crate) const SHIPMATE: &str = env!("CARGO_BIN_EXE_shipmate");
pub(crate) const TEAM: &str = "alpha";

/// Where there is such a file, everybody's home folder is the one around the workspace.
const IS_HOME: &str = "is-home";

/// Nothing here takes so long, even on a loaded machine.
const LIMIT: Duration = Duration::from_secs(300);

/// What every agent's line may use.
const WORDS: &str = r#"
here() { echo "$SHIPMATE_TASK $SHIPMATE_TEAMMATE $SHIPMATE_EPOCH $$ $*" > "$S/here"; }
# A process that nobody waits for, in a session of its own; it says where it is.
daemon() { (setsid sh -c 'trap "" TERM; sleep 600 & echo "0 daemon 0 $! " > "$S/here"; wait' \
    >/dev/null 2>&1 &) }
pass() { read -r _ < "$S/$1.door"; }
put() { mkdir -p "$(dirname "$1")"; printf '%s\n' "$2" > "$1"; }
as() { "$SHIPMATE_BIN" "$@"; }
"#;

pub(crate) struct Stage {
    folder: TempDir,
    pub(crate) person: Client,
    doors: BTreeMap<String, File>,
    arrivals: Receiver<Arrival>,
    news: Option<Receiver<Value>>,
    /// Every record heard so far.
    pub(crate) log: Vec<Value>,
    pub(crate) base: String,
}

impl Stage {
    pub(crate) fn new(config: &str) -> Stage {
        Stage::in_folder(TempDir::new(), config)
    }

    /// The workspace lies below the home folder, as most do.
    pub(crate) fn below_home(config: &str) -> Stage {
        let folder = TempDir::new();
        std::fs::write(folder.join(IS_HOME), "").unwrap();
        std::fs::create_dir(folder.join(".ssh")).unwrap();
        std::fs::write(folder.join(".ssh/id"), "a key of a person").unwrap();
        Stage::in_folder(folder, config)
    }

    fn in_folder(folder: TempDir, config: &str) -> Stage {
        let root = folder.join("").canonicalize().unwrap();
        for name in ["repo/.shipmate", "home", "notes"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        std::fs::write(root.join("words.sh"), WORDS).unwrap();
        std::fs::write(root.join("open"), "").unwrap();
        let place = Place { workspace: root.join("repo") };
        // What agents tell the test by lies outside their trees.
        let write = ["here", "notes"].map(|name| root.join(name));
        let config = format!(
            "idle-exit-seconds = 0\ndurability = \"process\"\nfence-write = {write:?}\n{config}"
        );
        std::fs::write(place.config(), config).unwrap();
        let person = client(&root, &place, TokenSource::Person);
        let arrivals = listen(&fifo(&root.join("here")));
        let mut stage = Stage {
            folder,
            person,
            doors: BTreeMap::new(),
            arrivals,
            news: None,
            log: Vec::new(),
            base: String::new(),
        };
        stage.git(&["init", "--quiet", "--initial-branch=main"]);
        stage.git(&["config", "user.name", "P"]);
        stage.git(&["config", "user.email", "p@example.invalid"]);
        stage.write("README", "begin\n");
        stage.commit();
        stage
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.join("").canonicalize().unwrap()
    }

    pub(crate) fn place(&self) -> Place {
        Place { workspace: self.root().join("repo") }
    }

    /// Writes a file of the user's checkout.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.place().workspace.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Commits the user's checkout; teams begin there.
    pub(crate) fn commit(&mut self) {
        self.git(&["add", "--all", "--", ":!.shipmate/state"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "base"]);
        self.base = self.git(&["rev-parse", "HEAD"]).trim().to_owned();
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = hermetic(&self.root(), "git")
            .current_dir(self.place().workspace)
            .args(args)
            .output()
            .unwrap();
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Has everybody run this shell line for `git`; in it, `git` is the real one.
    pub(crate) fn replace_git(&self, line: &str) {
        let folder = self.root().join("bin");
        std::fs::create_dir(&folder).unwrap();
        let path = std::env::var("PATH").unwrap();
        std::fs::write(folder.join("git"), format!("#!/bin/sh\nPATH={path}\n{line}\n")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.join("git"), mode).unwrap();
    }

    /// Runs the program itself, as the person.
    pub(crate) fn shipmate(&self, args: &[&str]) -> Output {
        let mut command = hermetic(&self.root(), SHIPMATE);
        command.arg("--workspace").arg(self.place().workspace).args(args).output().unwrap()
    }

    pub(crate) fn client(&self) -> Client {
        client(&self.root(), &self.place(), TokenSource::Person)
    }

    /// One that acts as a teammate.
    #[allow(dead_code, reason = "not every test needs it")]
    pub(crate) fn client_of(&self, token: String) -> Client {
        client(&self.root(), &self.place(), TokenSource::Given(token))
    }

    /// A team with these teammates, which the runtime starts when there is work.
    pub(crate) fn team(&mut self, setup: Setup, names: &[&str]) {
        let setup = Setup { trees: setup.trees.or(Some("own".to_owned())), ..setup };
        let name = TEAM.to_owned();
        let create = TeamCreate { name, gate: true, setup: Some(setup), ..TeamCreate::default() };
        self.ask(Ask::TeamCreate(create));
        self.follow();
        for name in names {
            self.add(name, |add| add);
        }
    }

    /// Hears the log from its first record on, through all coordinators to come.
    pub(crate) fn follow(&mut self) {
        self.log.clear();
        let (tell, news) = channel();
        let mut follower = self.client();
        std::thread::spawn(move || {
            // Ends with the team, or with the stage.
            drop(follower.follow(0, |record| {
                let record = serde_json::from_str(record).unwrap();
                match tell.send(record) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            }));
        });
        self.news = Some(news);
    }

    /// Kills a coordinator that has no successor until `body` is over.
    pub(crate) fn without_coordinator(&mut self, body: impl FnOnce(&Stage)) {
        let open = self.root().join("open");
        std::fs::remove_file(&open).unwrap();
        processes::kill(self.coordinator());
        body(self);
        std::fs::write(&open, "").unwrap();
        self.follow();
    }

    pub(crate) fn add(&mut self, name: &str, change: impl FnOnce(TeammateAdd) -> TeammateAdd) {
        let add = TeammateAdd {
            name: name.to_owned(),
            command: "export S=${SHIPMATE_WORKSPACE%/repo}; . \"$S/words.sh\"; eval \"$SHIPMATE_SUBJECT\""
                .to_owned(),
            when_needed: true,
            ..TeammateAdd::default()
        };
        self.ask(Ask::TeammateAdd(change(add)));
    }

    /// Tasks that are done by these lines, whether they change anything or not; the ids of all.
    pub(crate) fn tasks(&mut self, lines: &[&str]) -> Vec<u32> {
        let new = |line: &&str| {
            let subject = (*line).to_owned();
            TaskNew { subject, no_change: true, ..TaskNew::default() }
        };
        self.create(lines.iter().map(new).collect())
    }

    pub(crate) fn create(&mut self, tasks: Vec<TaskNew>) -> Vec<u32> {
        match self.ask(Ask::TaskCreate(verbs::TaskCreate { tasks })) {
            Answer::Created(answers::Created { tasks }) => tasks,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn ask(&mut self, ask: Ask) -> Answer {
        self.person.ask(ask).unwrap()
    }

    pub(crate) fn refusal(&mut self, ask: Ask) -> Refused {
        match self.person.ask(ask) {
            Err(ClientFailure::Refused(refused)) => refused,
            other => panic!("expected a refusal: {other:?}"),
        }
    }

    pub(crate) fn task(&mut self, id: u32) -> TaskView {
        match self.ask(Ask::TaskShow(verbs::TaskShow { task: id.to_string() })) {
            Answer::Task(task) => *task,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn teammate(&mut self, name: &str) -> TeammateView {
        match self.ask(Ask::TeammateShow(verbs::TeammateShow { name: name.to_owned() })) {
            Answer::Teammate(mate) => *mate,
            other => panic!("{other:?}"),
        }
    }

    /// Everything in the person's inbox.
    pub(crate) fn inbox(&mut self) -> Vec<String> {
        match self.ask(Ask::InboxRead(verbs::InboxRead { max: 1000, wait: false })) {
            Answer::Messages(mail) => mail.into_iter().map(|one| one.body).collect(),
            other => panic!("{other:?}"),
        }
    }

    /// Makes a door; agents that `pass` it wait until it is opened.
    pub(crate) fn door(&mut self, name: &str) {
        let file = fifo(&self.root().join(format!("{name}.door")));
        self.doors.insert(name.to_owned(), file);
    }

    /// Lets so many through.
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

    pub(crate) fn arrivals(&mut self, count: usize) -> Vec<Arrival> {
        (0..count).map(|_| self.arrival()).collect()
    }

    /// An agent and the daemon it left, in whichever order they came.
    pub(crate) fn with_daemon(&mut self) -> (Arrival, Arrival) {
        let (one, other) = (self.arrival(), self.arrival());
        if other.name == "daemon" { (one, other) } else { (other, one) }
    }

    /// The next record that fits, among those not heard of yet.
    #[track_caller]
    pub(crate) fn hear(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let heard = self.news.as_ref().unwrap().recv_timeout(LIMIT);
            let Ok(record) = heard else { panic!("it was never recorded\n{}", self.story()) };
            self.log.push(record.clone());
            if fits(&record["event"]) {
                return record;
            }
        }
    }

    /// Waits for the next event of this name; its fields.
    #[track_caller]
    pub(crate) fn event(&mut self, name: &str) -> Value {
        self.hear(|event| event.get(name).is_some())["event"][name].clone()
    }

    /// Waits until so many tasks are completed or failed.
    #[track_caller]
    pub(crate) fn finished(&mut self, count: usize) {
        let ends = ["task.completed", "task.failed"];
        let done = |log: &[Value]| ends.iter().map(|end| of(log, end).len()).sum::<usize>();
        while done(&self.log) < count {
            self.hear(|event| ends.iter().any(|end| event.get(end).is_some()));
        }
    }

    /// All events of this name heard so far.
    pub(crate) fn events(&self, name: &str) -> Vec<Value> {
        of(&self.log, name)
    }

    /// Reads the rest of the log, so that `events` knows all that was recorded by now.
    pub(crate) fn catch_up(&mut self) {
        let Answer::Status(status) = self.ask(Ask::Status) else { panic!() };
        while self.log.last().map_or(0, |last| last["n"].as_u64().unwrap()) < status.position {
            self.hear(|_| true);
        }
    }

    pub(crate) fn story(&self) -> String {
        let lines = self.log.iter().map(|record| format!("{} {}", record["n"], record["event"]));
        lines.collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn processes(&self, kind: &str) -> Vec<Marked> {
        let all = marked(&self.place().digest());
        all.into_iter().filter(|one| one.kind == kind).collect()
    }

    /// The supervisor of a teammate's present life.
    #[track_caller]
    pub(crate) fn supervisor(&self, name: &str) -> u32 {
        let of = format!("{TEAM}.{name}@");
        let found = self.processes("supervisor");
        found.iter().find(|one| one.label.starts_with(&of)).expect("it has a supervisor").pid
    }

    pub(crate) fn coordinator(&self) -> u32 {
        std::fs::read_to_string(self.place().lock()).unwrap().trim().parse().unwrap()
    }

    /// The tasks whose work is on the team branch, oldest first.
    pub(crate) fn landed(&self) -> Vec<u32> {
        let branch = format!("shipmate/{TEAM}");
        if self.git(&["branch", "--list", &branch]).is_empty() {
            return Vec::new();
        }
        let range = format!("{}..{branch}", self.base);
        let ours = ["log", "--merges", "--committer=shipmate@localhost", "--topo-order"];
        let text = self.git(&[&ours[..], &["--reverse", "--format=%B", &range]].concat());
        let tasks = text.lines().filter_map(|line| line.strip_prefix("Shipmate-Task: "));
        tasks.map(|id| id.parse().unwrap()).collect()
    }

    /// A file at the tip of the team branch.
    pub(crate) fn file(&self, name: &str) -> String {
        self.git(&["show", &format!("shipmate/{TEAM}:{name}")])
    }

    pub(crate) fn has_file(&self, name: &str) -> bool {
        let listed = self.git(&["ls-tree", "-r", "--name-only", &format!("shipmate/{TEAM}")]);
        listed.lines().any(|line| line == name)
    }

    /// Where a life's files lie.
    pub(crate) fn life(&self, name: &str, epoch: u32) -> PathBuf {
        self.place().life(TEAM, &format!("{TEAM}.{name}@{epoch}"))
    }

    pub(crate) fn tree(&self, name: &str) -> PathBuf {
        self.place().team(TEAM).join("trees").join(format!("{TEAM}.{name}"))
    }

    /// Each task was completed once, landed once, and nothing at all is left behind.
    #[track_caller]
    pub(crate) fn all_once(&mut self, tasks: &[u32]) {
        self.catch_up();
        let mut completed: Vec<u32> = self.events("task.completed").iter().map(task_of).collect();
        completed.sort_unstable();
        assert_eq!(completed, tasks, "{}", self.story());
        let mut landed = self.landed();
        landed.sort_unstable();
        assert_eq!(landed, tasks, "{}", self.story());
        self.nothing_left();
    }

    /// Ends the coordinator; then no process, lock or half-written file is there any more.
    #[track_caller]
    pub(crate) fn nothing_left(&mut self) {
        while !self.running().is_empty() {
            self.hear(|event| {
                event.get("teammate.stopped").is_some()
                    || event.get("teammate.disappeared").is_some()
            });
        }
        self.news = None;
        self.end_coordinator();
        // Whoever still asks for a coordinator is a shell that starts none.
        let left = marked(&self.place().digest()).into_iter();
        let left: Vec<_> = left.filter(|one| one.kind != "coordinator").collect();
        assert_eq!(left, []);
        let mut locks = Vec::new();
        find(&self.place().state(), "lock", &mut locks);
        for lock in &locks {
            let file = File::open(lock).unwrap();
            assert!(flock(&file, FlockOperation::NonBlockingLockShared).is_ok(), "{lock:?}");
        }
        let mut left = Vec::new();
        find(&self.place().workspace, "index.lock", &mut left);
        assert_eq!(left, Vec::<PathBuf>::new());
        self.git(&["fsck", "--strict"]);
    }

    fn running(&mut self) -> Vec<String> {
        let Answer::Teammates(mates) = self.ask(Ask::Teammates) else { panic!() };
        let runs = |mate: &TeammateView| {
            ["active", "idle", "paused", "stopping"].contains(&mate.state.word())
        };
        mates.into_iter().filter(runs).map(|mate| mate.name).collect()
    }

    fn end_coordinator(&self) {
        std::fs::remove_file(self.root().join("open")).unwrap();
        drop(self.shipmate(&["coordinator", "stop"]));
        let lock = File::open(self.place().lock()).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // A test that failed may leave anything: coordinator first, or it would start more.
        self.news = None;
        drop(std::fs::remove_file(self.root().join("open")));
        for _ in 0..3 {
            if let Ok(text) = std::fs::read_to_string(self.place().lock())
                && let Ok(pid) = text.trim().parse::<u32>()
            {
                let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                let own = self.place().workspace;
                if String::from_utf8_lossy(&words).contains(own.to_str().unwrap()) {
                    processes::kill(pid);
                }
            }
            for one in marked(&self.place().digest()) {
                processes::kill(one.pid);
            }
        }
    }
}

pub(crate) fn of(log: &[Value], name: &str) -> Vec<Value> {
    log.iter().filter_map(|record| record["event"].get(name)).cloned().collect()
}

pub(crate) fn task_of(event: &Value) -> u32 {
    event["task"].as_u64().unwrap() as u32
}

/// A program that sees nothing of this machine's user.
pub(crate) fn hermetic(root: &Path, program: &str) -> Command {
    let mut command = Command::new(program);
    command.envs(environment(root)).env_remove("SHIPMATE_TOKEN").env_remove("SHIPMATE_TEAM");
    command
}

fn environment(root: &Path) -> Vec<(&'static str, String)> {
    let path = std::env::var("PATH").unwrap();
    let is_home = root.join(IS_HOME).exists();
    let home = if is_home { root.to_owned() } else { root.join("home") };
    let mut all = vec![
        // A test may put programs of its own before the machine's.
        ("PATH", format!("{}:{path}", root.join("bin").display())),
        ("HOME", home.display().to_string()),
        ("XDG_CONFIG_HOME", root.join("home").display().to_string()),
        ("GIT_CONFIG_SYSTEM", "/dev/null".to_owned()),
    ];
    if !is_home {
        all.push(("GIT_CONFIG_GLOBAL", "/dev/null".to_owned()));
    }
    all
}

/// A shell sets what the coordinator, and with it everybody, sees; when the stage has ended it
/// starts none any more, whoever still asks for one.
fn client(root: &Path, place: &Place, token: TokenSource) -> Client {
    let line = "[ ! -e \"$0/open\" ] || exec env \"$@\"";
    let mut args: Vec<std::ffi::OsString> = vec!["-c".into(), line.into(), root.into()];
    args.extend(
        environment(root).into_iter().map(|(name, value)| format!("{name}={value}").into()),
    );
    args.extend([SHIPMATE.into(), "--workspace".into(), place.workspace.clone().into()]);
    args.extend(["coordinator".into(), "run".into()]);
    let launch = Launch::Program { program: "sh".into(), args };
    let mut client = Client::new(place.clone(), launch, token);
    client.team = Some(TEAM.to_owned());
    client.patience = Patience { give_up_after: 2 * LIMIT, ..Patience::default() };
    client
}

/// Files of this name anywhere below.
fn find(below: &Path, name: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(below).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            find(&path, name, found);
        } else if entry.file_name() == name {
            found.push(path);
        }
    }
}
