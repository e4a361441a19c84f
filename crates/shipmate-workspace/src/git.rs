//! Runs the git command line: one builder for every call, so that no call forgets a guard.
//!
//! Three places, three sets of rules. [`Git::of_user`] is the user's own git, with their config
//! and hooks. [`Git::in_repository`] reads and writes the user's repository for the runtime: their
//! config, but no hook, no background maintenance, no signature prompt. [`Git::in_shadow`] looks at
//! a teammate's tree through a runtime-owned git folder and reads no config but that folder's own.
//! Whatever `GIT_*` the caller's environment holds (a coordinator may be started from a hook) is
//! taken away first. Nothing here waits for a terminal, and nothing but the user's own git (whose
//! hooks may take their time) waits for ever.
//!
//! An agent works in its tree while git looks at it, and may put a link in the place of a folder that
//! git has just entered, or lend its clone the objects of another. So whatever touches a tree runs
//! behind a fence: it writes there, and of shipmate's state it reads nothing else.
//!
//! Who is killed takes no git along. What a coordinator starts for itself carries a marker, and the
//! next coordinator ends it before it begins; the user's own merge runs apart, to its own end.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use shipmate_process::{Fence, MARKER_VARIABLE, Marker, beginning, environment};

use super::Commit;

/// In a shadow, where git writes while it works.
pub(super) const WORK: &str = "work";

/// The kind of the marker on every git that a coordinator starts for itself.
pub const MARKED_AS: &str = "git";

static MARKER: OnceLock<String> = OnceLock::new();

static STATE: OnceLock<PathBuf> = OnceLock::new();

/// From here on no git that touches a tree reads what else is in this folder.
pub fn hide_from_every_git(state: &Path) {
    STATE.get_or_init(|| state.to_owned());
}

/// From here on every git that this process starts for itself carries a marker. Without this
/// it carries what the process itself does, as a supervisor's does.
pub fn mark_every_git(digest: &str) {
    let marker = Marker::new(digest, MARKED_AS, "main").expect("a digest is hexadecimal");
    MARKER.get_or_init(|| marker.to_string());
}

/// An agent can make git wait for ever (a named pipe called `.gitignore`). Longer than any checkout
/// should take, shorter than a person's patience.
const LIMIT: Duration = Duration::from_secs(600);

/// Something that should have worked did not.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("`git {what}` failed in {}: {said}", place.display())]
    Git { what: String, place: PathBuf, said: String },
    #[error("cannot {what}: {source}")]
    File { what: String, source: io::Error },
    /// The teammate's clone cannot be read any more. Rescue with `keep_aside`, `remove` it and
    /// `prepare` it anew.
    #[error("the tree {} is not usable: {fact}; remove it, and it is made anew", tree.display())]
    BrokenTree { tree: PathBuf, fact: String },
    /// Another git works in the teammate's clone right now. Try again when it has ended.
    #[error("another git is at work in this tree: {} is held; try again when it has ended, or \
             delete the lock if none is running", lock.display())]
    Busy { lock: PathBuf },
}

impl Failure {
    pub(super) fn file(what: impl Into<String>) -> impl FnOnce(io::Error) -> Failure {
        let what = what.into();
        move |source| Failure::File { what, source }
    }
}

/// What a call gave back. Exit codes other than the allowed ones never get here.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) code: i32,
    pub(super) stdout: Vec<u8>,
}

impl Output {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end().to_owned()
    }

    /// The fields of a `-z` output.
    pub(super) fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let end = self.stdout.strip_suffix(b"\0").unwrap_or(&self.stdout);
        end.split(|byte| *byte == 0).filter(|field| !field.is_empty())
    }

    pub(super) fn commit(&self) -> Commit {
        Commit::parse(&self.text()).expect("git prints a commit id where a commit id was asked for")
    }
}

#[derive(Debug)]
pub(super) struct Git {
    command: Command,
    place: PathBuf,
    what: Vec<OsString>,
    input: Option<Vec<u8>>,
    allowed: &'static [i32],
    limit: Option<Duration>,
    most: Option<usize>,
    fence: Option<Fence>,
}

/// For every call but the user's own merge.
const GUARDS: [&str; 9] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "protocol.file.allow=always",
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
    "core.quotePath=false",
];

impl Git {
    /// The user's own git: their config, their hooks, their identity.
    pub(super) fn of_user(root: &Path) -> Git {
        let mut command = Command::new("git");
        command.envs(environment::newer());
        let kept =
            ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"];
        for (name, _) in environment::all() {
            let known = name.to_str().is_some_and(|name| {
                let identity =
                    name.starts_with("GIT_AUTHOR_") || name.starts_with("GIT_COMMITTER_");
                kept.contains(&name) || identity
            });
            if name.as_encoded_bytes().starts_with(b"GIT_") && !known {
                command.env_remove(name);
            }
        }
        command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C").env("GIT_EDITOR", "true");
        command.arg("--no-pager").arg("-C").arg(root);
        let (place, what) = (root.to_owned(), Vec::new());
        let (input, limit, most, fence) = (None, None, None, None);
        Git { command, place, what, input, allowed: &[0], limit, most, fence }
    }

    /// The user's repository, read and written by the runtime: never a hook, never a wait.
    pub(super) fn in_repository(root: &Path) -> Git {
        let mut git = Git::of_user(root);
        for guard in GUARDS {
            git.command.args(["-c", guard]);
        }
        if let Some(marker) = MARKER.get() {
            git.command.env(MARKER_VARIABLE, marker);
        }
        git.command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_NO_REPLACE_OBJECTS", "1");
        git.command.env_remove("GIT_AUTHOR_DATE").env_remove("GIT_COMMITTER_DATE");
        git.limit = Some(LIMIT);
        git
    }

    /// A teammate's tree through its shadow: the only config is the shadow's own.
    pub(super) fn in_shadow(shadow: &Path, tree: &Path) -> Git {
        let mut git = Git::in_repository(tree);
        git.command
            .env("GIT_DIR", shadow)
            .env("GIT_WORK_TREE", tree)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "none");
        // Not the shadow's settings: through a link in the tree git would write those as well.
        git.fenced(&[&shadow.join(WORK), &shadow.join("objects"), tree], &[shadow])
    }

    /// It writes nothing but these, and of the state it reads them and no more than these besides.
    pub(super) fn fenced(mut self, write: &[&Path], read: &[&Path]) -> Git {
        let all = |paths: &[&Path]| paths.iter().map(|path| path.to_path_buf()).collect();
        let hidden = STATE.get().cloned().into_iter().collect();
        self.fence = Some(Fence { write: all(write), read: all(read), hidden, ..Fence::default() });
        self
    }

    pub(super) fn index(self, index: &Path) -> Git {
        self.env("GIT_INDEX_FILE", index)
    }

    pub(super) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Git {
        self.command.env(name, value);
        self
    }

    pub(super) fn arg(mut self, arg: impl AsRef<OsStr>) -> Git {
        self.what.push(arg.as_ref().to_owned());
        self
    }

    pub(super) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Git {
        self.what.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(super) fn input(mut self, bytes: Vec<u8>) -> Git {
        self.input = Some(bytes);
        self
    }

    /// Exit codes that are answers rather than failures.
    pub(super) fn allow(mut self, codes: &'static [i32]) -> Git {
        self.allowed = codes;
        self
    }

    /// Enough of its output: git is ended when it has printed more than this.
    pub(super) fn most(mut self, bytes: usize) -> Git {
        self.most = Some(bytes);
        self
    }

    pub(super) fn run(mut self) -> Result<Output, Failure> {
        let stdin = if self.input.is_some() { Stdio::piped() } else { Stdio::null() };
        self.command.args(&self.what).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let command = &mut self.command;
        let started = match &self.fence {
            Some(fence) => fence.within(|| command.spawn()),
            None => command.spawn(),
        };
        let mut child = started.map_err(Failure::file("start git"))?;
        let stdin = child.stdin.take();
        let Heard { stdout, stderr, is_whole } = std::thread::scope(|scope| {
            if let (Some(mut stdin), Some(input)) = (stdin, &self.input) {
                // A git that ends early says why on stderr; its closed pipe is no news.
                scope.spawn(move || stdin.write_all(input));
            }
            let heard = listen(&mut child, self.limit, self.most);
            if !heard.as_ref().is_ok_and(|heard| heard.is_whole) {
                let _ = child.kill();
                let _ = child.wait();
            }
            heard
        })
        .map_err(Failure::file(format!("hear the end of `git {}`", self.shown())))?;
        let status = child.wait().map_err(Failure::file("wait for git"))?;
        if !is_whole {
            return Ok(Output { code: 0, stdout });
        }
        let code = status.code().unwrap_or(-1);
        if self.allowed.contains(&code) {
            return Ok(Output { code, stdout });
        }
        let stderr = String::from_utf8_lossy(&stderr).trim().to_owned();
        let said = if stderr.is_empty() { status.to_string() } else { stderr };
        Err(Failure::Git { what: self.shown(), place: self.place, said })
    }

    /// Starts it so that it comes to its end whatever becomes of this process: in a process group
    /// of its own, and with its output in a file, for a git whose reader is gone is killed.
    pub(super) fn start_apart(mut self, output: &Path, marker: &str) -> Result<Child, Failure> {
        let file = File::create(output)
            .and_then(|file| Ok((file.try_clone()?, file)))
            .map_err(Failure::file(format!("write {}", output.display())))?;
        self.command.args(&self.what).stdin(Stdio::null()).stdout(file.0).stderr(file.1);
        self.command.env(MARKER_VARIABLE, marker).process_group(0);
        self.command.spawn().map_err(Failure::file("start git"))
    }

    fn shown(&self) -> String {
        let words: Vec<_> = self.what.iter().map(|word| word.to_string_lossy()).collect();
        beginning(&words.join(" "), 200)
    }
}

struct Heard {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// Both were read to their ends.
    is_whole: bool,
}

/// Reads both pipes to their ends, which is when git and all it started have ended, or until
/// there is more than was asked for.
fn listen(child: &mut Child, limit: Option<Duration>, most: Option<usize>) -> io::Result<Heard> {
    let end = limit.map(|limit| Instant::now() + limit);
    let mut pipes: [File; 2] = [
        OwnedFd::from(child.stdout.take().expect("stdout is piped")).into(),
        OwnedFd::from(child.stderr.take().expect("stderr is piped")).into(),
    ];
    let mut heard = [Vec::new(), Vec::new()];
    let mut open = [true, true];
    let mut buffer = vec![0; 1 << 16];
    let mut is_whole = true;
    while is_whole && open.contains(&true) {
        let waiting: Vec<usize> = (0..2).filter(|pipe| open[*pipe]).collect();
        let mut fds: Vec<_> =
            waiting.iter().map(|pipe| PollFd::new(&pipes[*pipe], PollFlags::IN)).collect();
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let left = left.map(|left| Timespec::try_from(left).expect("a limit is short"));
        match poll(&mut fds, left.as_ref()) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Err(Errno::INTR) => continue,
            other => other?,
        };
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        for (pipe, _) in waiting.into_iter().zip(ready).filter(|(_, ready)| *ready) {
            match pipes[pipe].read(&mut buffer)? {
                0 => open[pipe] = false,
                length => heard[pipe].extend_from_slice(&buffer[..length]),
            }
        }
        is_whole = most.is_none_or(|most| heard[0].len() <= most);
    }
    let [stdout, stderr] = heard;
    Ok(Heard { stdout, stderr, is_whole })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_git_that_does_not_end_is_ended() {
        let folder = std::env::temp_dir();
        let pipe = folder.join(format!("shipmate-pipe-{}", std::process::id()));
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600));
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).unwrap();
        let mut git = Git::in_repository(&folder).arg("hash-object").arg(&pipe);
        git.limit = Some(Duration::from_millis(20));
        let failure = git.run().unwrap_err();
        std::fs::remove_file(&pipe).unwrap();
        let Failure::File { source, .. } = &failure else { panic!("{failure}") };
        assert_eq!(source.kind(), io::ErrorKind::TimedOut);
    }

    /// Whatever an agent makes of its tree while git works there.
    #[test]
    fn what_touches_a_tree_reads_no_state_and_writes_nothing_outside() {
        let name = format!("shipmate-git-{}", std::process::id());
        let top = std::env::temp_dir().canonicalize().unwrap().join(name);
        let state = top.join("state");
        let (tree, shadow) = (state.join("tree"), state.join("tree.shadow"));
        std::fs::create_dir_all(&tree).unwrap();
        std::fs::write(state.join("person.token"), "secret").unwrap();
        std::fs::write(top.join("plain"), "plain").unwrap();
        std::fs::write(tree.join("file"), "text").unwrap();
        let init = ["init", "--quiet", "--bare", "--template=", "--"];
        Git::in_repository(&top).args(init).arg(&shadow).run().unwrap();
        hide_from_every_git(&state);
        std::fs::create_dir(shadow.join(WORK)).unwrap();
        let index = shadow.join(WORK).join("index");
        let git = || Git::in_shadow(&shadow, &tree).index(&index);
        for readable in [tree.join("file"), top.join("plain")] {
            git().args(["hash-object", "-w"]).arg(readable).run().unwrap();
        }
        let hidden = git().arg("hash-object").arg(state.join("person.token")).run();
        assert!(hidden.unwrap_err().to_string().contains("Permission denied"));
        let settings = git().args(["config", "filter.x.clean", "anything"]).run();
        assert!(settings.unwrap_err().to_string().contains("Permission denied"));
        git().args(["update-index", "--add", "file"]).run().unwrap();
        let outside = format!("--prefix={}/", top.join("outside").display());
        let written = git().args(["checkout-index", "-a", &outside]).run();
        assert!(written.is_err() && !top.join("outside").exists());
        std::fs::remove_file(tree.join("file")).unwrap();
        git().args(["checkout-index", "-a"]).run().unwrap();
        assert!(tree.join("file").exists());
        std::fs::remove_dir_all(&top).unwrap();
    }
}
