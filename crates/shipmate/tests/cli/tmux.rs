//! A real terminal: a tmux session of its own, driven and read in tmux's control mode.
//!
//! tmux tells whenever something is written to the pane, so that a test waits for what it wants to
//! see and never guesses how long that takes. tmux is Debian's package; `cargo xtask test` installs
//! it where it is missing.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::transcript::Workspace;

/// Far longer than anything takes: for a test that would never end.
const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Debug)]
pub(crate) struct Tmux {
    socket: PathBuf,
    client: Child,
    typing: ChildStdin,
    lines: Receiver<String>,
    /// Something was written since the screen was looked at.
    changed: bool,
    over: bool,
}

fn program() -> String {
    std::env::var("SHIPMATE_TMUX").unwrap_or_else(|_| "tmux".to_owned())
}

impl Tmux {
    /// A window of 80x24 in which this shell command runs, in the workspace and as its user.
    pub(crate) fn start(workspace: &Workspace, line: &str) -> Tmux {
        // Each has a server of its own: one that is about to end would take the next session along.
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let socket = workspace.beside(&format!("tmux{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        let mut command = Command::new(program());
        for (name, value) in workspace.command("shipmate status").get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
            .env("LC_ALL", "C.UTF-8")
            .env("SHIPMATE", env!("CARGO_BIN_EXE_shipmate"))
            .env_remove("TMUX")
            .current_dir(&workspace.path)
            .arg("-S")
            .arg(&socket)
            .args(["-u", "-f", "/dev/null", "-C", "new-session", "-x", "80", "-y", "24", line])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut client = command.spawn().unwrap_or_else(|e| panic!("{}: {e}", program()));
        let (tell, lines) = channel();
        let stdout = BufReader::new(client.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        let typing = client.stdin.take().unwrap();
        let mut tmux = Tmux { socket, client, typing, lines, changed: true, over: false };
        // The answer to new-session itself.
        tmux.answer("new-session");
        tmux.resize(80, 24);
        tmux
    }

    fn line(&mut self, doing: &str) -> Option<String> {
        let line = self.lines.recv_timeout(PATIENCE);
        let line = line.unwrap_or_else(|e| panic!("tmux said no more ({e}): {doing}"));
        if line.starts_with("%output") {
            self.changed = true;
        }
        if line.starts_with("%exit") {
            self.over = true;
            return None;
        }
        Some(line)
    }

    /// What a command of tmux answers.
    fn answer(&mut self, doing: &str) -> Vec<String> {
        while let Some(line) = self.line(doing) {
            if !line.starts_with("%begin") {
                continue;
            }
            let mut answer = Vec::new();
            while let Some(line) = self.line(doing) {
                match line.split(' ').next() {
                    Some("%end") => return answer,
                    Some("%error") => panic!("{doing}: {}", answer.join("\n")),
                    _ => answer.push(line),
                }
            }
        }
        Vec::new()
    }

    fn command(&mut self, line: &str) -> Vec<String> {
        if self.over {
            return Vec::new();
        }
        writeln!(self.typing, "{line}").unwrap();
        self.typing.flush().unwrap();
        self.answer(line)
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.command(&format!("refresh-client -C {columns}x{rows}"));
    }

    /// Keys by tmux's names: `Enter`, `Escape`, `C-z`, `n`.
    pub(crate) fn keys(&mut self, keys: &str) {
        self.command(&format!("send-keys {keys}"));
    }

    /// Text as it is.
    pub(crate) fn text(&mut self, text: &str) {
        assert!(!text.contains('\''), "{text}");
        self.command(&format!("send-keys -l '{text}'"));
    }

    pub(crate) fn screen(&mut self) -> String {
        self.changed = false;
        self.command("capture-pane -p").join("\n")
    }

    /// Waits until the screen shows this, and returns it.
    pub(crate) fn until(&mut self, text: &str) -> String {
        self.until_screen(text, |screen| screen.contains(text))
    }

    /// Waits until the screen does not show this any more.
    pub(crate) fn until_gone(&mut self, text: &str) -> String {
        self.until_screen(text, |screen| !screen.contains(text))
    }

    fn until_screen(&mut self, what: &str, is: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if is(&screen) {
                return screen;
            }
            assert!(!self.over, "it ended before {what:?}; last:\n{screen}");
            while !self.changed && !self.over {
                let left = until.saturating_duration_since(Instant::now());
                let line = self.lines.recv_timeout(left);
                let line = line.unwrap_or_else(|_| panic!("no {what:?} on\n{screen}"));
                self.changed = line.starts_with("%output") || line.starts_with("%layout-change");
                self.over = line.starts_with("%exit");
            }
        }
    }

    /// Waits until what ran in the window has ended.
    pub(crate) fn ended(mut self) {
        while self.line("it should end").is_some() {}
        assert!(self.client.wait().unwrap().success());
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let mut kill = Command::new(program());
        drop(kill.arg("-S").arg(&self.socket).arg("kill-server").output());
        drop(self.client.wait());
    }
}
