//! One command under strace, with a kill at exactly its n-th call of the system.
//!
//! strace's own `signal=KILL:when=N` counts for each thread and each call apart, so it reaches the
//! first process that gets so far and never the moments of those behind it. Here every call that
//! changes something stops its process (`signal=STOP`), whoever makes it: the command, the
//! coordinator it starts, their threads and every git. The stops are counted over all of them; all but the
//! n-th go on. What the n-th call does has happened when its process stands still.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use shipmate_protocol::Place;

use crate::processes;

/// Calls after which something is different, for others or after a crash. A new process counts when
/// it begins its program: `clone` does not come back to a process that has a signal to take.
const CALLS: &str = "write,pwrite64,writev,sendto,sendmsg,connect,bind,listen,rename,renameat,\
    renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat,symlink,symlinkat,chmod,fchmod,\
    fchmodat,utimensat,ftruncate,fsync,fdatasync,execve,kill";

/// Longer than any command takes under strace on a loaded machine.
const LIMIT: Duration = Duration::from_secs(300);

/// Who dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The process that makes the call: the command, the coordinator or one of their gits.
    Caller,
    /// The coordinator, whoever makes the call; calls made before there is one do not count.
    Coordinator,
    /// Everything the command has started, at once.
    Everything,
}

impl Target {
    pub const ALL: [Target; 3] = [Target::Caller, Target::Coordinator, Target::Everything];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Target::Caller => "caller",
            Target::Coordinator => "coordinator",
            Target::Everything => "everything",
        }
    }
}

/// What became of a command under strace.
#[derive(Debug)]
pub(super) struct Traced {
    /// How many calls were counted.
    pub(super) calls: u64,
    /// The call at which was killed, and who.
    pub(super) fired: Option<String>,
    /// None: it did not end.
    pub(super) status: Option<ExitStatus>,
}

/// Runs a shell line with arguments under strace and kills at its `at`-th call.
///
/// `attach` names a process that is there already and whose calls count too.
pub(super) fn run(
    mut line: Command,
    place: &Place,
    at: u64,
    target: Target,
    attach: Option<u32>,
) -> Result<Traced, String> {
    let mut command = Command::new(program());
    // As a grandchild (-D), so that the command is our child; by `-I 1` it leaves when it is told.
    command.args(["-D", "-I", "1", "-f", "-s", "80", "-o", "/dev/stderr", "-e"]);
    command.arg(format!("trace={CALLS}")).arg("-e").arg(format!("inject={CALLS}:signal=STOP"));
    if let Some(pid) = attach {
        command.arg("-p").arg(pid.to_string());
    }
    command.arg("--").arg(line.get_program()).args(line.get_args());
    for (name, value) in line.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    if let Some(folder) = line.get_current_dir() {
        command.current_dir(folder);
    }
    line = command;
    let mut child = line
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("{}: {e}; `apt-get install strace`", program().display()))?;
    let lines = read_lines(&mut child);
    let mut run = Run {
        place,
        at,
        target,
        own: child.id(),
        tracer: None,
        calls: 0,
        fired: None,
        alive: BTreeSet::from_iter(attach),
        last: BTreeMap::new(),
    };
    let end = Instant::now() + LIMIT;
    loop {
        match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => run.hear(&line),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                run.detach();
                break;
            }
        }
    }
    // A stop that strace sent before it left must hold nobody.
    processes::let_go_on(&run.alive, &place.digest());
    let status = match processes::ends(child.id(), LIMIT) {
        true => Some(child.wait().map_err(|e| e.to_string())?),
        false => {
            processes::kill(child.id());
            let _ = child.wait();
            None
        }
    };
    Ok(Traced { calls: run.calls, fired: run.fired, status })
}

/// strace, where `cargo xtask` found it.
fn program() -> std::path::PathBuf {
    std::env::var_os("SHIPMATE_STRACE")
        .filter(|path| !path.is_empty())
        .unwrap_or("strace".into())
        .into()
}

fn read_lines(child: &mut Child) -> Receiver<String> {
    let (tell, told) = channel();
    let stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
    std::thread::spawn(move || {
        for line in stderr.split(b'\n').map_while(Result::ok) {
            if tell.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
    told
}

struct Run<'a> {
    place: &'a Place,
    at: u64,
    target: Target,
    own: u32,
    tracer: Option<u32>,
    calls: u64,
    fired: Option<String>,
    alive: BTreeSet<u32>,
    /// The last call of each.
    last: BTreeMap<u32, String>,
}

impl Run<'_> {
    fn hear(&mut self, line: &str) {
        let Some((pid, rest)) = line.split_once(' ') else { return };
        let Ok(pid) = pid.parse::<u32>() else { return };
        let rest = rest.trim_start();
        self.alive.insert(pid);
        if self.tracer.is_none() {
            self.tracer = tracer_of(self.own);
        }
        if rest.starts_with("+++") {
            self.alive.remove(&pid);
            if pid == self.own {
                self.detach();
            }
        } else if rest.starts_with("--- SIGSTOP {") {
            self.count(pid);
        } else if rest.starts_with("--- stopped by SIGSTOP") {
            processes::signal(pid, Signal::CONT);
        } else if !rest.starts_with("---") {
            self.last.insert(pid, rest.to_owned());
        }
    }

    fn count(&mut self, pid: u32) {
        if self.fired.is_some() {
            return;
        }
        let coordinator = match self.target {
            Target::Coordinator => match processes::coordinator(self.place) {
                Some(found) => Some(found),
                None => return,
            },
            _ => None,
        };
        self.calls += 1;
        if self.calls != self.at {
            return;
        }
        let call = self.last.get(&pid).cloned().unwrap_or_default();
        let call: String = call.chars().take(100).collect();
        self.fired = Some(format!("{} in `{}`", call, shortened(&processes::words(pid))));
        match coordinator {
            Some(coordinator) => processes::kill(coordinator),
            None if self.target == Target::Caller => processes::kill(pid),
            None => self.alive.iter().for_each(|pid| processes::kill(*pid)),
        }
        self.detach();
    }

    /// strace leaves; whoever it traced goes on by itself.
    fn detach(&self) {
        if let Some(tracer) = self.tracer {
            processes::signal(tracer, Signal::TERM);
        }
    }
}

fn shortened(words: &str) -> String {
    let words = words.rsplit_once("--workspace").map_or(words, |(_, rest)| rest);
    words.chars().take(90).collect()
}

fn tracer_of(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status"));
    let status = status.ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix("TracerPid:"))?;
    value.trim().parse().ok().filter(|pid| *pid > 0)
}
