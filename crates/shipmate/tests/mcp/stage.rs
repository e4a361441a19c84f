//! A repository, its coordinator, and the program run in it.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use shipmate_protocol::client::{Launch, TokenSource};
use shipmate_protocol::socket::Patience;
use shipmate_protocol::{Client, Place};

use crate::pipe::Pipe;
use crate::temp::TempDir;

pub(crate) const SHIPMATE: &str = env!("CARGO_BIN_EXE_shipmate");

pub(crate) struct Stage {
    folder: TempDir,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        Stage::with("")
    }

    pub(crate) fn with(config: &str) -> Stage {
        let stage = Stage { folder: TempDir::new() };
        for name in ["repo/.shipmate", "home"] {
            std::fs::create_dir_all(stage.root().join(name)).unwrap();
        }
        let config = format!("idle-exit-seconds = 0\ndurability = \"process\"\n{config}");
        std::fs::write(stage.place().config(), config).unwrap();
        std::fs::write(stage.repo().join("README"), "begin\n").unwrap();
        stage.git(&["init", "--quiet", "--initial-branch=main"]);
        stage.git(&["config", "user.name", "P"]);
        stage.git(&["config", "user.email", "p@example.invalid"]);
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

    pub(crate) fn place(&self) -> Place {
        Place { workspace: self.repo() }
    }

    /// A command that finds nothing of this machine's user.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.repo())
            .env("HOME", self.root().join("home"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null");
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let foreign = ["SHIPMATE_", "XDG_", "CLAUDE", "ANTHROPIC_", "CODEX_", "OPENAI_"];
            if foreign.iter().any(|prefix| text.starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        command
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = self.command("git").args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs the program as the person.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(SHIPMATE).args(args).output().unwrap()
    }

    #[track_caller]
    pub(crate) fn shipmate(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A team with these teammates, who act with their tokens.
    pub(crate) fn team(&self, names: &[&str]) {
        self.shipmate(&["team", "create", "alpha"]);
        for name in names {
            self.shipmate(&["teammate", "add", name]);
        }
    }

    pub(crate) fn token(&self, name: &str) -> String {
        let path = self.place().teammate_token("alpha", name);
        std::fs::read_to_string(path).unwrap().trim().to_owned()
    }

    /// A session on a pipe, without a token.
    pub(crate) fn session(&self) -> Pipe {
        Pipe::open(self.command(SHIPMATE).arg("mcp"))
    }

    /// A session on a pipe that acts as this teammate.
    pub(crate) fn session_of(&self, name: &str) -> Pipe {
        Pipe::open(self.command(SHIPMATE).arg("mcp").env("SHIPMATE_TOKEN", self.token(name)))
    }

    pub(crate) fn person(&self) -> Client {
        let mut client = Client::new(self.place(), Launch::Never, TokenSource::Person);
        // Only a test that fails waits so long.
        let give_up_after = Duration::from_secs(600);
        client.patience = Patience { give_up_after, ..Patience::default() };
        client
    }

    /// Kills the coordinator as a crash would; it is gone when this returns.
    pub(crate) fn kill_coordinator(&self) {
        let text = std::fs::read_to_string(self.place().lock()).unwrap();
        let pid = rustix::process::Pid::from_raw(text.trim().parse().unwrap()).unwrap();
        let handle =
            rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        let mut wait = [rustix::event::PollFd::new(&handle, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut wait, None).unwrap();
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // There may be none; either way none is left.
        drop(self.command(SHIPMATE).args(["coordinator", "stop"]).output());
    }
}
