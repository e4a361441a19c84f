//! A user's repository and a team on it, in the states from which commands are tried.
//!
//! A state is made once and copied for each trial, always to the same path, which clones and logs
//! remember. The user has things of their own that nothing may touch: a branch, a tag, a stash, a
//! hook, an untracked file, a commit made while the team worked.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use shipmate_protocol::client::{Launch, TokenSource};
use shipmate_protocol::socket::Patience;
use shipmate_protocol::{Client, Place};

use crate::processes::{self, marked};

pub(super) const TEAM: &str = "crew";
pub(super) const TASKS: usize = 3;
/// Longer than any command takes on a loaded machine.
pub(super) const LIMIT: Duration = Duration::from_secs(300);

/// Where there is a file `hold`, it leaves work that is committed in its clone and work that is
/// not, says so and waits. Else it does its task.
const AGENT: &str = r#"
set -e
beside=${SHIPMATE_WORKSPACE%/repo}
mkdir -p out
if [ -e "$beside/hold" ]; then
    echo "kept $SHIPMATE_TASK" > out/kept-$SHIPMATE_TASK
    git add out/kept-$SHIPMATE_TASK
    git -c user.name=A -c user.email=a@example.invalid commit --allow-empty -qm kept
    echo "draft $SHIPMATE_TASK" > out/draft-$SHIPMATE_TASK
    echo "$SHIPMATE_TASK" > "$beside/here"
    exec sleep 600
fi
echo "$SHIPMATE_TASK" > out/$SHIPMATE_TASK
"#;

/// Green when every numbered file holds its own name.
pub(super) const GATE: &str = "for f in out/[0-9]*; do [ -e \"$f\" ] || continue; \
    [ \"$(cat \"$f\")\" = \"${f#out/}\" ] || exit 1; done";

/// How far a team has come when a command is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// A repository and no team.
    Bare,
    /// Two agents were at work when everything was killed.
    Halfway,
    /// All work is on the team branch, and the user's branch has moved.
    Done,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Bare => "bare",
            State::Halfway => "halfway",
            State::Done => "done",
        }
    }
}

/// What a command printed and how it ended; no code if it was killed or did not end.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) code: Option<i32>,
    pub(super) text: String,
}

#[derive(Debug)]
pub(super) struct Scene {
    pub(super) root: PathBuf,
    pub(super) place: Place,
    program: PathBuf,
    made: BTreeSet<State>,
    /// Held open, so that who writes to it never waits for a reader.
    here: BufReader<File>,
}

impl Scene {
    pub(super) fn new(program: &Path, name: &str) -> Result<Scene, String> {
        let root = std::env::temp_dir().join(format!("shipmate-{name}-{}", std::process::id()));
        fs::create_dir_all(root.join("home")).map_err(|e| format!("{}: {e}", root.display()))?;
        let root = root.canonicalize().map_err(|e| e.to_string())?;
        let here = root.join("here");
        mknodat(CWD, &here, FileType::Fifo, Mode::from_raw_mode(0o600), 0)
            .map_err(|e| format!("{}: {e}", here.display()))?;
        let here = File::options().read(true).write(true).open(&here).map_err(|e| e.to_string())?;
        let place = Place { workspace: root.join("repo") };
        let program = program.canonicalize().map_err(|e| format!("{}: {e}", program.display()))?;
        let scene =
            Scene { root, place, program, made: BTreeSet::new(), here: BufReader::new(here) };
        scene.write("agent.sh", AGENT)?;
        scene.write("plan.toml", &plan())?;
        Ok(scene)
    }

    /// Brings the repository into this state.
    pub(super) fn set(&mut self, state: State) -> Result<(), String> {
        self.end_everything();
        let kept = self.root.join(state.name());
        if self.made.insert(state) {
            self.remove_repository()?;
            self.make(state)?;
            self.end_everything();
            fs::rename(&self.place.workspace, &kept).map_err(|e| e.to_string())?;
        }
        self.remove_repository()?;
        let copied = Command::new("cp").arg("-a").arg(&kept).arg(&self.place.workspace).status();
        match copied.map_err(|e| e.to_string())?.success() {
            true => Ok(()),
            false => Err("cp -a failed".to_owned()),
        }
    }

    fn make(&mut self, state: State) -> Result<(), String> {
        self.repository()?;
        match state {
            State::Bare => Ok(()),
            State::Done => {
                self.must(&["run", "../plan.toml", "--dirty"])?;
                self.must(&["coordinator", "stop"])?;
                self.write("repo/own.txt", "written while the team worked\n")?;
                self.git(&["add", "own.txt"])?;
                self.git(&["commit", "--quiet", "--message", "own"]).map(drop)
            }
            State::Halfway => {
                self.write("hold", "")?;
                self.must(&["run", "../plan.toml", "--dirty", "--detach"])?;
                self.arrivals(2)?;
                self.end_everything();
                fs::remove_file(self.root.join("hold")).map_err(|e| e.to_string())
            }
        }
    }

    /// Two agents at work, and the coordinator's process.
    pub(super) fn begin_work(&mut self) -> Result<u32, String> {
        self.write("hold", "")?;
        self.must(&["resume"])?;
        self.arrivals(2)?;
        fs::remove_file(self.root.join("hold")).map_err(|e| e.to_string())?;
        processes::coordinator(&self.place).ok_or_else(|| "no coordinator runs".to_owned())
    }

    /// Waits until so many agents have said that they are at work.
    fn arrivals(&mut self, count: usize) -> Result<(), String> {
        for _ in 0..count {
            // Two may have said it at once.
            if self.here.buffer().is_empty() && !readable(self.here.get_ref(), LIMIT) {
                return Err("no agent says that it is at work".to_owned());
            }
            let mut line = String::new();
            self.here.read_line(&mut line).map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    fn repository(&self) -> Result<(), String> {
        fs::create_dir_all(self.place.project()).map_err(|e| e.to_string())?;
        let here = self.root.join("here");
        let config = format!(
            "idle-exit-seconds = 0\ndurability = \"process\"\nnotify = \"off\"\nfence-write = [{here:?}]\n"
        );
        fs::write(self.place.config(), config).map_err(|e| e.to_string())?;
        self.write("repo/README", "begin\n")?;
        self.git(&["init", "--quiet", "--initial-branch=main"])?;
        self.git(&["config", "user.name", "P"])?;
        self.git(&["config", "user.email", "p@example.invalid"])?;
        self.git(&["config", "gc.auto", "0"])?;
        self.git(&["add", "README", ".shipmate/config.toml"])?;
        self.git(&["commit", "--quiet", "--message", "base"])?;
        self.git(&["branch", "topic"])?;
        self.git(&["tag", "v1"])?;
        self.write("repo/README", "stashed\n")?;
        self.git(&["stash", "--quiet"])?;
        self.write("repo/notes.txt", "of nobody else\n")?;
        let hook = self.write("repo/.git/hooks/post-merge", "#!/bin/sh\necho merged\n")?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(hook, mode).map_err(|e| e.to_string())
    }

    /// Writes a file beside the repository, or in it.
    fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.root.join(name);
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(path)
    }

    pub(super) fn git(&self, args: &[&str]) -> Result<String, String> {
        self.git_at(&self.place.workspace, args)
    }

    pub(super) fn git_at(&self, folder: &Path, args: &[&str]) -> Result<String, String> {
        let mut command = Command::new("git");
        let output = command.envs(self.environment()).current_dir(folder).args(args).output();
        let output = output.map_err(|e| format!("git: {e}"))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(format!("git {args:?}: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }

    /// The gate on some commit, in a clone beside the repository.
    pub(super) fn gate_at(&self, commit: &str) -> Result<bool, String> {
        let at = self.root.join("gated");
        drop(fs::remove_dir_all(&at));
        let (from, to) = (self.place.workspace.display().to_string(), at.display().to_string());
        self.git_at(&self.root, &["clone", "--quiet", "--no-checkout", &from, &to])?;
        self.git_at(&at, &["fetch", "--quiet", "origin", commit])?;
        self.git_at(&at, &["checkout", "--quiet", "--detach", commit])?;
        let gate = Command::new("sh").arg("-c").arg(GATE).current_dir(&at).status();
        Ok(gate.map_err(|e| e.to_string())?.success())
    }

    /// A command whose output goes to a file, so that nobody who outlives it holds a pipe of ours.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", "exec \"$0\" \"$@\" >../out 2>&1"])
            .arg(&self.program)
            .arg("--workspace")
            .arg(&self.place.workspace)
            .args(args)
            .current_dir(&self.place.workspace)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(self.environment())
            .stdin(Stdio::null());
        command
    }

    /// Runs the program as its user does.
    pub(super) fn shipmate(&self, args: &[&str]) -> Result<Ran, String> {
        let mut child = self.command(args).spawn().map_err(|e| e.to_string())?;
        let ended = processes::ends(child.id(), LIMIT);
        if !ended {
            processes::kill(child.id());
        }
        let status = child.wait().map_err(|e| e.to_string())?;
        let text = self.printed();
        match ended {
            true => Ok(Ran { code: status.code(), text }),
            false => Err(format!("`shipmate {}` hangs: {text}", args.join(" "))),
        }
    }

    /// What the last command printed.
    pub(super) fn printed(&self) -> String {
        let text = fs::read(self.root.join("out")).unwrap_or_default();
        String::from_utf8_lossy(&text).trim().to_owned()
    }

    /// Runs a command that has to work.
    pub(super) fn must(&self, args: &[&str]) -> Result<String, String> {
        let ran = self.shipmate(args)?;
        match ran.code {
            Some(0) => Ok(ran.text),
            code => Err(format!("`shipmate {}` ended with {code:?}: {}", args.join(" "), ran.text)),
        }
    }

    /// Waits until so many different tasks are completed.
    pub(super) fn completed(&self, count: usize) -> Result<(), String> {
        let (tell, told) = channel();
        let mut client = Client::new(self.place.clone(), Launch::Never, TokenSource::Person);
        client.team = Some(TEAM.to_owned());
        client.patience = Patience { give_up_after: 2 * LIMIT, ..Patience::default() };
        std::thread::spawn(move || {
            // Ends with the coordinator, or when nobody listens any more.
            drop(client.follow(0, |record| match tell.send(record.to_owned()) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }));
        });
        let end = Instant::now() + LIMIT;
        let mut done = BTreeSet::new();
        while done.len() < count {
            let record = match told.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(record) => record,
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!("it hangs with {done:?} of {count} tasks completed"));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(format!("the log ended with {done:?} completed"));
                }
            };
            let record: serde_json::Value = serde_json::from_str(&record).unwrap_or_default();
            let event = &record["event"];
            if let Some(completed) = event.get("task.completed") {
                done.insert(completed["task"].as_u64().unwrap_or(0));
            } else if let Some(failed) = event.get("task.failed") {
                return Err(format!("task {} failed: {}", failed["task"], failed["reason"]));
            }
        }
        Ok(())
    }

    /// Stops the coordinator and waits for the end of everybody who is about to end; who is left.
    pub(super) fn left_over(&self) -> Result<Vec<String>, String> {
        let working = |kind: &str| kind != "coordinator";
        for one in marked(&self.place.digest()).iter().filter(|one| working(&one.kind)) {
            if !processes::ends(one.pid, LIMIT) {
                return Ok(vec![format!("{} {}: {}", one.kind, one.pid, one.words)]);
            }
        }
        if processes::coordinator(&self.place).is_some() {
            self.must(&["coordinator", "stop"])?;
        }
        let left = marked(&self.place.digest()).into_iter();
        let left = left.filter(|one| !processes::ends(one.pid, LIMIT));
        Ok(left.map(|one| format!("{} {}: {}", one.kind, one.pid, one.words)).collect())
    }

    /// Kills everything of this workspace, coordinator first, until nothing is left.
    pub(super) fn end_everything(&self) {
        loop {
            let coordinator = processes::coordinator(&self.place);
            let mut all: Vec<u32> = coordinator.into_iter().collect();
            all.extend(marked(&self.place.digest()).into_iter().map(|one| one.pid));
            if all.is_empty() {
                return;
            }
            for pid in all {
                processes::kill(pid);
                let _ = processes::ends(pid, LIMIT);
            }
        }
    }

    fn remove_repository(&self) -> Result<(), String> {
        match fs::remove_dir_all(&self.place.workspace) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e.to_string()),
            _ => Ok(()),
        }
    }

    /// Keeps the repository as it is now for somebody who wants to know why.
    pub(super) fn keep(&self, name: &str, story: &str) -> Result<PathBuf, String> {
        let kept = self.root.join(name);
        fs::create_dir_all(&kept).map_err(|e| e.to_string())?;
        let copied = Command::new("cp").arg("-a").arg(&self.place.workspace).arg(&kept).status();
        copied.map_err(|e| e.to_string())?;
        let mut file = File::create(kept.join("story.txt")).map_err(|e| e.to_string())?;
        file.write_all(story.as_bytes()).map_err(|e| e.to_string())?;
        Ok(kept)
    }

    pub(super) fn remove(self) {
        self.end_everything();
        drop(fs::remove_dir_all(&self.root));
    }

    fn environment(&self) -> Vec<(&'static str, OsString)> {
        vec![
            ("HOME", self.root.join("home").into()),
            ("XDG_CONFIG_HOME", self.root.join("home").into()),
            ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
            ("GIT_CONFIG_SYSTEM", "/dev/null".into()),
        ]
    }
}

fn readable(file: &File, limit: Duration) -> bool {
    let limit = Timespec::try_from(limit).expect("a limit is short");
    poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&limit)).is_ok_and(|count| count == 1)
}

fn plan() -> String {
    let command = "sh \\\"${SHIPMATE_WORKSPACE%/repo}/agent.sh\\\"";
    let mut text = format!(
        "team = \"{TEAM}\"\ngate = ['''{GATE}''']\n\n[agents.default]\ncommand = \"{command}\"\n"
    );
    for name in ["ana", "bo"] {
        text.push_str(&format!("\n[[teammates]]\nname = \"{name}\"\nagent = \"default\"\n"));
    }
    for n in 1..=TASKS {
        let needs = if n == TASKS { "needs = [\"t1\", \"t2\"]\n" } else { "" };
        text.push_str(&format!(
            "\n[[tasks]]\nid = \"t{n}\"\nsubject = \"write {n}\"\nretries = 100\n{needs}"
        ));
    }
    text
}
