//! A teammate of Claude Code's own agent teams, led through the files of its mailbox.
//!
//! The program is the real one, started as Claude Code itself starts a teammate in a pane: in a
//! terminal, with its agent, name and team. The lead is this process: it writes a message into the
//! teammate's inbox under the lock that Claude Code uses, which is all that Claude Code's own
//! `SendMessage` does, and the teammate finds it by looking once a second. The sender's own model
//! call and tool call are not in the figure, as they are not in shipmate's.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use shipmate_testkit::model::Server;
use shipmate_testkit::programs::{Program, Surroundings};

use crate::workspace::send as signal;

const TEAM: &str = "native";

#[derive(Debug)]
pub(crate) struct Native {
    terminal: Child,
    inbox: PathBuf,
}

impl Native {
    /// Starts the teammate `alice`, in a home of its own.
    pub(crate) fn start(folder: &Path, server: &Server) -> std::io::Result<Native> {
        let (home, cwd) = (folder.join("home"), folder.join("cwd"));
        fs::create_dir_all(&cwd)?;
        let cwd = cwd.canonicalize()?;
        let environment = Surroundings::claude(&home, server);
        trust(&home.join(".claude.json"), &cwd)?;
        let team = home.join(".claude/teams").join(TEAM);
        fs::create_dir_all(team.join("inboxes"))?;
        fs::write(team.join("config.json"), roster(&cwd).to_string())?;
        let program = Program::Claude.path();
        let words = format!(
            "stty rows 50 cols 160; exec '{}' --agent-id alice@{TEAM} --agent-name alice \
             --team-name {TEAM} --agent-color blue --agent-type general-purpose \
             --parent-session-id 00000000-0000-4000-8000-000000000001 \
             --dangerously-skip-permissions",
            program.display()
        );
        let mut terminal = Command::new("script")
            .args(["--quiet", "--flush", "--command", &words, "/dev/null"])
            .env_clear()
            .envs(environment)
            .env("TERM", "xterm-256color")
            .env("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1")
            .current_dir(&cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let screen = terminal.stdout.take();
        // Nobody looks at the screen, but a full pipe would stop the program.
        std::thread::spawn(move || {
            let mut screen = screen?;
            let mut part = [0; 8192];
            while screen.read(&mut part).ok()? > 0 {}
            Some(())
        });
        Ok(Native { terminal, inbox: team.join("inboxes/alice.json") })
    }

    /// Puts a message into the inbox, as Claude Code does.
    pub(crate) fn send(&self, text: &str) -> std::io::Result<()> {
        let lock = self.inbox.with_extension("json.lock");
        // Held for a millisecond by whoever reads; a lock of this kind cannot be waited for.
        while let Err(error) = fs::create_dir(&lock) {
            if error.kind() != std::io::ErrorKind::AlreadyExists {
                return Err(error);
            }
            std::thread::yield_now();
        }
        let held = fs::read_to_string(&self.inbox).unwrap_or_default();
        let mut messages: Vec<Value> = serde_json::from_str(&held).unwrap_or_default();
        messages.push(json!({
            "from": "team-lead", "text": text, "summary": "news", "timestamp": timestamp(),
            "type": "message", "read": false,
        }));
        let new = self.inbox.with_extension("json.new");
        fs::write(&new, Value::from(messages).to_string())?;
        fs::rename(&new, &self.inbox)?;
        fs::remove_dir(&lock)
    }

    /// The program itself and everything it started, without the terminal's own process.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let mut found = children(self.terminal.id());
        let mut next = 0;
        while let Some(&one) = found.get(next) {
            found.extend(children(one));
            next += 1;
        }
        found
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        for one in self.processes() {
            drop(signal(one, rustix::process::Signal::KILL));
        }
        drop(self.terminal.kill());
        drop(self.terminal.wait());
    }
}

fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|c| c.parse().ok()).collect::<Vec<_>>())
        .collect()
}

fn roster(cwd: &Path) -> Value {
    let member = |name: &str, kind: &str| {
        json!({
            "agentId": format!("{name}@{TEAM}"), "name": name, "agentType": kind, "joinedAt": 1,
            "tmuxPaneId": if name == "alice" { "%1" } else { "leader" }, "cwd": cwd,
            "subscriptions": [], "backendType": if name == "alice" { "tmux" } else { "in-process" },
        })
    };
    json!({
        "name": TEAM, "createdAt": 1, "leadAgentId": format!("team-lead@{TEAM}"),
        "leadSessionId": "00000000-0000-4000-8000-000000000001",
        "members": [member("team-lead", "team-lead"), member("alice", "general-purpose")],
    })
}

/// Answers beforehand what a terminal would be asked in a folder that is new to it.
fn trust(path: &Path, cwd: &Path) -> std::io::Result<()> {
    let mut settings: Value = serde_json::from_str(&fs::read_to_string(path)?)?;
    let cwd = cwd.to_string_lossy();
    settings["projects"][&*cwd] = json!({"hasTrustDialogAccepted": true});
    fs::write(path, settings.to_string())
}

/// Any time does, in the form that is expected.
fn timestamp() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let day = since.as_secs() % 86_400;
    let (hour, minute, second) = (day / 3600, day / 60 % 60, day % 60);
    format!("2026-11-15T{hour:02}:{minute:02}:{second:02}.{:03}Z", since.subsec_millis())
}
