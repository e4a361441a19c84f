//! A real program as a child of a test: JSON lines in and out, a folder of its own, an end.

#![allow(dead_code, reason = "each test file uses what it needs")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

/// Long enough for a program of hundreds of megabytes to start on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// A folder for one test, gone with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("shipmate-model-{}-{number}", std::process::id());
        let folder = Self(std::env::temp_dir().join(name));
        fs::create_dir_all(folder.path("work")).unwrap();
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A program in its own process group, which dies with this.
pub(crate) struct Child {
    child: std::process::Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Child {
    pub(crate) fn start(
        program: &Path,
        arguments: &[&str],
        folder: &Path,
        environment: Vec<(OsString, OsString)>,
    ) -> Self {
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .envs(environment)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|e| panic!("{} does not start: {e}", program.display()));
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, seen: Vec::new() }
    }

    /// A program that was given all it needs reads its input to the end first.
    pub(crate) fn without_input(mut self) -> Self {
        drop(self.stdin.take());
        self
    }

    pub(crate) fn send(&mut self, line: &Value) {
        let stdin = self.stdin.as_mut().expect("this child takes input");
        writeln!(stdin, "{line}").unwrap();
    }

    /// The next line that fits.
    pub(crate) fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|e| {
                panic!("no such line came ({e}); there were:\n{}", self.seen.join("\n"))
            });
            self.seen.push(line.chars().take(600).collect());
            if let Ok(value) = serde_json::from_str(&line)
                && fits(&value)
            {
                return value;
            }
        }
    }

    /// Closes its input and waits for its end.
    pub(crate) fn end(mut self) -> ExitStatus {
        drop(self.stdin.take());
        while self.lines.recv_timeout(PATIENCE).is_ok() {}
        self.child.wait().unwrap()
    }

    /// Everything it still says, up to its end.
    pub(crate) fn rest(mut self) -> (ExitStatus, Vec<Value>) {
        drop(self.stdin.take());
        let mut told = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            told.push(serde_json::from_str(&line).unwrap_or(Value::String(line)));
        }
        (self.child.wait().unwrap(), told)
    }

    /// Without warning, with everything it started.
    pub(crate) fn kill(mut self) {
        self.kill_group();
    }

    fn kill_group(&mut self) {
        // Once it was waited for, its number may be somebody else's.
        if let Ok(None) = self.child.try_wait() {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill_group();
    }
}

/// The lines of one type.
pub(crate) fn lines<'a>(told: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    told.iter().filter(move |line| line["type"] == kind)
}
