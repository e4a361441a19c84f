//! A repository with a team in it, and `shipmate serve` beside it.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::Value;
use shipmate_protocol::client::{Launch, TokenSource};
use shipmate_protocol::socket::Patience;
use shipmate_protocol::verbs::{TaskNew, TeamCreate};
use shipmate_protocol::{Answer, Ask, Client, Place, answers, verbs};

use crate::http::{LIMIT, Request, Response};
use crate::temp::TempDir;

pub(crate) const SHIPMATE: &str = env!("CARGO_BIN_EXE_shipmate");

pub(crate) struct Stage {
    folder: TempDir,
}

impl Stage {
    /// With the team `alpha` and one task that is nobody's business.
    pub(crate) fn new() -> Stage {
        let stage = Stage::empty();
        stage.shipmate(&["team", "create", "alpha"]);
        stage.create("keep-this-quiet");
        stage
    }

    /// With `alpha`, which works in the repository, and `ana`, who runs this for each task; `GO`
    /// stands for a pipe at which it can wait.
    pub(crate) fn with_agent(command: &str) -> Stage {
        let stage = Stage::empty();
        assert!(stage.command("mkfifo").arg(stage.go()).status().unwrap().success());
        let command = &command.replace("GO", &stage.go().display().to_string());
        stage.shipmate(&["team", "create", "alpha", "--trees", "own"]);
        stage.shipmate(&["teammate", "add", "ana", "--command", command]);
        stage
    }

    fn empty() -> Stage {
        let stage = Stage { folder: TempDir::new() };
        for name in ["repo/.shipmate", "home"] {
            std::fs::create_dir_all(stage.root().join(name)).unwrap();
        }
        let config = "idle-exit-seconds = 0\ndurability = \"process\"\n";
        std::fs::write(stage.place().config(), config).unwrap();
        stage.git(&["init", "--quiet", "--initial-branch=main"]);
        stage.git(&["config", "user.name", "P"]);
        stage.git(&["config", "user.email", "p@example.invalid"]);
        std::fs::write(stage.repo().join("README"), "begin\n").unwrap();
        stage.git(&["add", "--all"]);
        stage.git(&["commit", "--quiet", "--message", "base"]);
        stage
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.join("").canonicalize().unwrap()
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.root().join("repo")
    }

    pub(crate) fn go(&self) -> PathBuf {
        self.root().join("go")
    }

    pub(crate) fn place(&self) -> Place {
        Place { workspace: self.repo() }
    }

    /// A command that finds nothing of this machine's user.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["SHIPMATE_", "XDG_", "GIT_"].iter().any(|prefix| text.starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        command
            .current_dir(self.repo())
            .env("HOME", self.root().join("home"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null");
        command
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = self.command("git").args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    #[track_caller]
    pub(crate) fn shipmate(&self, args: &[&str]) -> String {
        let output = self.command(SHIPMATE).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn person(&self) -> Client {
        let mut client = self.client(TokenSource::Person);
        client.team = Some("alpha".to_owned());
        client
    }

    fn client(&self, token: TokenSource) -> Client {
        let mut client = Client::new(self.place(), Launch::Never, token);
        client.patience = Patience { give_up_after: 2 * LIMIT, ..Patience::default() };
        client
    }

    pub(crate) fn create(&self, subject: &str) -> u32 {
        let task = TaskNew { subject: subject.to_owned(), ..TaskNew::default() };
        match self.person().ask(Ask::TaskCreate(verbs::TaskCreate { tasks: vec![task] })).unwrap() {
            Answer::Created(answers::Created { tasks }) => tasks[0],
            other => panic!("{other:?}"),
        }
    }

    /// A teammate of `alpha` that acts by hand.
    pub(crate) fn teammate(&self, name: &str) -> Client {
        self.shipmate(&["teammate", "add", name]);
        let token = std::fs::read_to_string(self.place().teammate_token("alpha", name)).unwrap();
        self.client(TokenSource::Given(token.trim().to_owned()))
    }

    /// Another team below `alpha`.
    pub(crate) fn department(&self, name: &str) {
        let parent = Some("alpha".to_owned());
        let create = TeamCreate { name: name.to_owned(), parent, ..TeamCreate::default() };
        self.person().ask(Ask::TeamCreate(create)).unwrap();
    }

    pub(crate) fn position(&self) -> u64 {
        match self.person().ask(Ask::Status).unwrap() {
            Answer::Status(status) => status.position,
            other => panic!("{other:?}"),
        }
    }

    /// Kills the coordinator as a crash would; it is gone when this returns.
    pub(crate) fn kill_coordinator(&self) {
        let pid = self.coordinator();
        let handle =
            rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        let mut wait = [rustix::event::PollFd::new(&handle, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut wait, None).unwrap();
    }

    pub(crate) fn coordinator(&self) -> rustix::process::Pid {
        let text = std::fs::read_to_string(self.place().lock()).unwrap();
        rustix::process::Pid::from_raw(text.trim().parse().unwrap()).unwrap()
    }

    /// Waits until the coordinator holds no more sockets than so many: that somebody has gone is
    /// noticed a moment later.
    #[track_caller]
    pub(crate) fn has_at_most(&self, count: usize) {
        let end = Instant::now() + LIMIT;
        while self.connections() > count {
            assert!(Instant::now() < end, "{} instead of {count}", self.connections());
            std::thread::yield_now();
        }
    }

    /// How many sockets the coordinator holds.
    pub(crate) fn connections(&self) -> usize {
        let pid = self.coordinator().as_raw_nonzero();
        let held = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        let targets = held.filter_map(|held| std::fs::read_link(held.ok()?.path()).ok());
        targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // Agents outlive their coordinator; those of a test that failed would wait for ever.
        if self.place().team("alpha").join("lives").exists() {
            drop(self.command(SHIPMATE).args(["shutdown", "--now", "--wait"]).output());
        }
        // There may be none; either way none is left.
        drop(self.command(SHIPMATE).args(["coordinator", "stop"]).output());
    }
}

pub(crate) struct Serving {
    child: Child,
    pub(crate) port: u16,
    pub(crate) token: String,
}

impl Serving {
    pub(crate) fn start(stage: &Stage) -> Serving {
        let mut command = stage.command(SHIPMATE);
        let mut child =
            command.args(["--json", "serve"]).stdout(Stdio::piped()).spawn().expect("it is built");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let link = said["page"].as_str().unwrap();
        let rest = link.strip_prefix("http://127.0.0.1:").unwrap();
        let (port, token) = rest.split_once("/#token=").unwrap();
        Serving { child, port: port.parse().unwrap(), token: token.to_owned() }
    }

    /// A request of somebody who has the token.
    pub(crate) fn request(&self, method: &str, path: &str) -> Request {
        let bearer = format!("Bearer {}", self.token);
        Request::new(self.port, method, path).header("Authorization", &bearer)
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Value {
        let response = self.request("GET", path).send();
        assert_eq!(response.status, 200, "{path}: {}", response.body);
        response.json()
    }

    pub(crate) fn ask(&self, ask: Value) -> Response {
        let body = serde_json::json!({ "ask": ask }).to_string();
        self.request("POST", "/api/t/alpha/ask")
            .header("Content-Type", "application/json")
            .body(&body)
            .send()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
