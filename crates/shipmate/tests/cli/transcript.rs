//! Runs transcripts: `$ shipmate …` lines, what they print, and `=> N` for an exit code.
//!
//! What a command prints is its standard output followed by its standard error. `[..]` in an
//! expected line stands for anything, a line `...` for any lines, and `$W` for the workspace.
//! A line that ends in a backslash goes on in the next.
//! Without a `=>` line the command has to succeed. A workspace stops its agents and its coordinator
//! when it goes, also when its test has failed.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug)]
pub(crate) struct Workspace {
    folder: PathBuf,
    pub(crate) path: PathBuf,
    env: Vec<(String, String)>,
}

impl Workspace {
    pub(crate) fn new() -> Workspace {
        Workspace::named("w")
    }

    pub(crate) fn named(name: &str) -> Workspace {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("shipmate-test-{}-{count}", std::process::id()));
        let path = folder.join(name);
        std::fs::create_dir_all(&path).unwrap();
        Workspace { folder, path, env: Vec::new() }
    }

    /// A workspace with the team `alpha` and these running teammates.
    pub(crate) fn with_team(teammates: &[&str]) -> Workspace {
        let workspace = Workspace::new();
        workspace.succeed("shipmate team create alpha");
        for name in teammates {
            workspace.succeed(&format!("shipmate teammate add {name}"));
        }
        workspace
    }

    /// A workspace that is a git repository with one commit on `main`.
    pub(crate) fn with_repository() -> Workspace {
        Workspace::repository_named("w")
    }

    pub(crate) fn repository_named(name: &str) -> Workspace {
        let workspace = Workspace::named(name);
        workspace.write("README", "base\n");
        workspace.git("init --quiet --initial-branch main");
        workspace.git("config user.name Pat");
        workspace.git("config user.email pat@example.invalid");
        workspace.git("add README");
        workspace.git("commit --quiet --message base");
        workspace
    }

    /// Runs git in the workspace and returns what it printed.
    pub(crate) fn git(&self, args: &str) -> String {
        let output = Command::new("git")
            .args(args.split(' '))
            .current_dir(&self.path)
            .env("HOME", &self.folder)
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")])
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A pipe with a name, at which an agent waits until the test lets it go on.
    pub(crate) fn pipe(&self, name: &str) -> PathBuf {
        let path = self.beside(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }

    /// Follows the log until a line holds this, and returns that line.
    pub(crate) fn until(&self, text: &str) -> String {
        let mut following = self.start("shipmate log --follow --after 0");
        let found = loop {
            match following.line() {
                Some(line) if line.contains(text) => break line,
                Some(_) => {}
                None => panic!("the log ended before {text:?}"),
            }
        };
        following.end();
        found
    }

    /// Starts a command and lets it run beside the test.
    pub(crate) fn start(&self, line: &str) -> Running {
        let mut command = self.command(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Running { child, stdout }
    }

    pub(crate) fn set(&mut self, variable: &str, value: &str) {
        self.env.push((variable.to_owned(), value.to_owned()));
    }

    /// A folder that belongs to this test and is not the workspace.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut words = split(&line.replace("$W", &self.path.display().to_string()));
        let mut env = Vec::new();
        while let Some((name, value)) = words[0].split_once('=') {
            env.push((name.to_owned(), value.to_owned()));
            words.remove(0);
        }
        assert_eq!(words.remove(0), "shipmate", "in {line}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_shipmate"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SHIPMATE_") {
                command.env_remove(name);
            }
        }
        command
            .args(words)
            .current_dir(&self.path)
            .env("HOME", &self.folder)
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("CLAUDE_CONFIG_DIR")
            .env_remove("CODEX_HOME")
            .env_remove("OPENCODE_CONFIG_DIR")
            .env("SHIPMATE_WORKSPACE", &self.path)
            .env("SHIPMATE_IDLE_EXIT_SECONDS", "600")
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")])
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .envs(env);
        command
    }

    pub(crate) fn run(&self, line: &str, stdin: &[u8]) -> Output {
        let mut child = self
            .command(line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that reads nothing may be gone already.
        drop(child.stdin.take().unwrap().write_all(stdin));
        child.wait_with_output().unwrap()
    }

    /// Runs a command that has to succeed and returns what it printed.
    pub(crate) fn succeed(&self, line: &str) -> String {
        let output = self.run(line, b"");
        let text = self.printed(&output);
        assert!(output.status.success(), "$ {line}\n{text}");
        text
    }

    fn printed(&self, output: &Output) -> String {
        let (stdout, errors) = (String::from_utf8_lossy(&output.stdout), errors(&output.stderr));
        format!("{stdout}{errors}").replace(&self.path.display().to_string(), "$W")
    }

    /// Runs a transcript to its end, then panics with the commands that printed something else.
    pub(crate) fn check(&self, transcript: &str) {
        self.check_with(transcript, b"");
    }

    /// The same with this on the standard input of every command.
    pub(crate) fn check_with(&self, transcript: &str, stdin: &[u8]) {
        let differences = self.differences(transcript, stdin);
        assert!(differences.is_empty(), "{differences}");
    }

    /// What was printed otherwise than a transcript says.
    pub(crate) fn differences(&self, transcript: &str, stdin: &[u8]) -> String {
        let mut differences = String::new();
        for Step { line, expected, exit } in steps(transcript) {
            let output = self.run(&line, stdin);
            let text = self.printed(&output);
            let code = output.status.code().unwrap_or(-1);
            if matches(&expected, &text.lines().collect::<Vec<_>>()) && code == exit {
                continue;
            }
            let expected = expected.join("\n");
            differences.push_str(&format!(
                "\n$ {line}\n{text}=> {code}\n\ninstead of\n\n{expected}\n=> {exit}\n"
            ));
        }
        differences
    }
}

/// What a command said where errors are said, without the line that it waits for a coordinator:
/// any process may stand still for a while, and what it says and does after that is the same.
pub(crate) fn errors(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr).into_owned();
    let waits =
        |line: &str| line.ends_with("; waiting for it\n") || line.starts_with("{\"waiting\":");
    text.split_inclusive('\n').filter(|line| !waits(line)).collect()
}

/// Tries something with the first of these limits, and with the next where that was too short.
///
/// For tests in which a limit has to pass: it is short, so that nobody waits for it for long, and a
/// process that stands still may miss it. `attempt` says what was wrong, or nothing.
#[track_caller]
pub(crate) fn with_longer_limits(limits: &[&str], attempt: impl Fn(&str) -> String) {
    let mut wrong = String::new();
    for limit in limits {
        wrong = attempt(limit);
        if wrong.is_empty() {
            return;
        }
    }
    panic!("{wrong}");
}

/// A command that runs beside the test.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Running {
    /// The next line that it prints, or nothing when it has ended.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.stdout.read_line(&mut line).unwrap();
        (read > 0).then(|| line.trim_end().to_owned())
    }

    /// The next line has to be this one; `[..]` stands for anything.
    pub(crate) fn expect(&mut self, expected: &str) -> String {
        let line = self.line().unwrap_or_else(|| panic!("it ended instead of {expected:?}"));
        assert!(line_matches(expected, &line), "{line:?} instead of {expected:?}");
        line
    }

    /// Types a line.
    pub(crate) fn type_line(&mut self, text: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(format!("{text}\n").as_bytes()).unwrap();
    }

    /// Waits until it has ended by itself, with nothing more to say.
    pub(crate) fn exit_code(mut self) -> i32 {
        let rest = self.line();
        assert_eq!(rest, None, "it had more to say");
        self.child.wait().unwrap().code().unwrap()
    }

    pub(crate) fn end(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // Agents outlive their coordinator; those of a test that failed half-way would wait for
        // ever.
        let teams = std::fs::read_dir(self.path.join(".shipmate/state/teams"));
        for team in teams.into_iter().flatten().flatten().map(|team| team.path()) {
            if team.join("lives").exists() {
                let name = team.file_name().unwrap().to_string_lossy().into_owned();
                drop(self.run(&format!("shipmate --team {name} shutdown --now --wait"), b""));
            }
        }
        // It is killed after the deadline, and only one that hangs takes so long.
        let stopped = self.run("shipmate coordinator stop --deadline 5m", b"");
        let text = self.printed(&stopped);
        drop(std::fs::remove_dir_all(&self.folder));
        let harmless = text.contains("not a folder");
        if !stopped.status.success() && !harmless && !std::thread::panicking() {
            panic!("the coordinator was not stopped: {text}");
        }
    }
}

struct Step {
    line: String,
    expected: Vec<String>,
    exit: i32,
}

fn steps(transcript: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in joined(dedent(transcript)) {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { line: command.to_owned(), expected: Vec::new(), exit: 0 });
            continue;
        }
        let Some(step) = steps.last_mut() else {
            assert!(line.is_empty(), "a transcript begins with a command, not {line:?}");
            continue;
        };
        match line.strip_prefix("=> ") {
            Some(exit) => step.exit = exit.parse().unwrap(),
            None => step.expected.push(line),
        }
    }
    for step in &mut steps {
        while step.expected.last().is_some_and(String::is_empty) {
            step.expected.pop();
        }
    }
    steps
}

/// The lines without the indentation that they share.
fn dedent(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let filled = lines.iter().filter(|line| !line.trim().is_empty());
    let indent = filled.map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    let cut = |line: &&str| line.get(indent..).unwrap_or_default().trim_end().to_owned();
    lines.iter().map(cut).collect()
}

/// Lines that end in a backslash go on in the next.
fn joined(lines: Vec<String>) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for line in lines {
        match joined.last_mut() {
            Some(before) if before.ends_with('\\') => {
                before.pop();
                before.push_str(line.trim_start());
            }
            _ => joined.push(line),
        }
    }
    joined
}

/// Words as a shell would see them, as far as the transcripts need it.
fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c == ' ' => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

fn matches(expected: &[String], printed: &[&str]) -> bool {
    match expected.first().map(String::as_str) {
        None => printed.is_empty(),
        Some("...") => (0..=printed.len()).any(|at| matches(&expected[1..], &printed[at..])),
        Some(line) => {
            printed.first().is_some_and(|text| line_matches(line, text.trim_end()))
                && matches(&expected[1..], &printed[1..])
        }
    }
}

fn line_matches(expected: &str, printed: &str) -> bool {
    match expected.split_once("[..]") {
        None => expected == printed,
        Some((before, after)) => {
            let Some(rest) = printed.strip_prefix(before) else { return false };
            let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            let mut rests = ends.map(|at| &rest[at..]);
            rests.any(|rest| line_matches(after, rest))
        }
    }
}

pub(crate) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
