//! A real Chromium for tests: started, driven as a person drives it, and gone when the test is.
//!
//! It is driven over a pair of pipes, so there is no port that anybody else could use. It has a
//! home and a profile of its own, knows nothing of the person's, and reaches this machine alone:
//! every name is unknown to it but `localhost` and names that end in `.example`, which are this
//! machine, as an attacker's name would be after rebinding.
//!
//! Everything blocks, and nothing sleeps: a wait is a promise in the page that looks again with
//! every frame and every change, up to a bound. What is not there by then fails the test with what
//! the page showed instead.

mod keys;
mod measure;
mod page;
mod pipe;

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};
use serde_json::json;

pub use measure::{Finding, Frames, Metrics};
pub use page::Page;
use pipe::Pipe;

/// What says where Chromium and axe-core are; `cargo xtask browser` prints both.
const CHROMIUM: &str = "SHIPMATE_CHROMIUM";
const AXE: &str = "SHIPMATE_AXE";

/// The pipes come as standard input and output, because those can be handed on by safe means, and
/// become the descriptors where Chromium looks for them.
const LAUNCH: &str = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >&2";

const FLAGS: [&str; 18] = [
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-gpu",
    "--mute-audio",
    "--password-store=basic",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
    "--lang=en-GB",
    "--disable-features=Translate,OptimizationHints,MediaRouter",
    "--host-resolver-rules=MAP *.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
];

/// How often a Chromium is started that dies at once.
const STARTS_MAX: usize = 3;

/// A running Chromium; it ends, with all its processes and files, when this is dropped.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    folder: PathBuf,
    pipe: Arc<Pipe>,
}

impl Browser {
    /// # Panics
    ///
    /// If there is no Chromium, or it does not start. A test is never skipped in silence.
    #[must_use]
    pub fn start() -> Browser {
        // Chromium itself dies now and then before it has said a word, on a machine with much to do.
        for _ in 1..STARTS_MAX {
            if let Ok(browser) = Browser::try_start() {
                return browser;
            }
        }
        Browser::try_start().unwrap_or_else(|told| panic!("Chromium does not start: {told}"))
    }

    fn try_start() -> Result<Browser, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("shipmate-browser-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        // A process that was killed had this number before, and could not clean up.
        drop(fs::remove_dir_all(&folder));
        fs::create_dir(&folder).expect("a folder of our own can be made");
        let words = folder.join("words");
        let log = File::create(&words).expect("a file in our own folder can be made");
        let (commands, to_browser) = std::io::pipe().expect("a pipe can be made");
        let (from_browser, replies) = std::io::pipe().expect("a pipe can be made");
        let mut command = Command::new("sh");
        command.args(["-c", LAUNCH]).arg(variable(CHROMIUM)).args(FLAGS);
        if rustix::process::geteuid().is_root() {
            command.arg("--no-sandbox");
        }
        if !has_shared_memory() {
            command.arg("--disable-dev-shm-usage");
        }
        command.arg(format!("--user-data-dir={}", folder.join("profile").display()));
        command.env_clear().envs(environment(&folder)).current_dir(&folder);
        command.stdin(commands).stdout(replies).stderr(Stdio::from(log)).process_group(0);
        let child = command.spawn().expect("sh can be started");
        // The command holds our ends of what is the child's: as long as it lives, no pipe ends.
        drop(command);
        let pipe = Arc::new(Pipe::new(to_browser, from_browser, words));
        let browser = Browser { child, folder, pipe };
        browser.pipe.try_call(None, "Browser.getVersion", &json!({}))?;
        Ok(browser)
    }

    /// A tab on this address.
    #[must_use]
    pub fn page(&self, url: &str) -> Page {
        let page = Page::open(&self.pipe, None);
        page.goto(url);
        page
    }

    /// An empty tab that shares neither storage nor cookies with any other.
    #[must_use]
    pub fn page_in_new_context(&self) -> Page {
        let made = self.pipe.call(None, "Target.createBrowserContext", &json!({}));
        Page::open(&self.pipe, made["browserContextId"].as_str())
    }

    /// Ends whatever is being loaded or streamed, as a network does that goes away: the process
    /// that holds all lines is killed, and Chromium makes another.
    pub fn break_lines(&self) {
        for pid in self.of_type("network.mojom.NetworkService") {
            let Some(pid) = Pid::from_raw(pid as i32) else { continue };
            let watched = pidfd_open(pid, PidfdFlags::empty());
            let _ = kill_process(pid, Signal::KILL);
            if let Ok(watched) = watched {
                gone(&watched);
            }
        }
    }

    /// Bytes of memory that the processes of all its tabs have for themselves.
    #[must_use]
    pub fn memory_of_tabs(&self) -> u64 {
        self.of_type("--type=renderer").into_iter().map(own_memory).sum()
    }

    /// Its processes that were started with this word.
    fn of_type(&self, word: &str) -> Vec<u32> {
        let started_with = |pid: &u32| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).contains(word)
        };
        self.processes().into_iter().filter(started_with).collect()
    }

    /// Every process of this browser.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        members(self.child.id())
    }

    /// Where it keeps all of its files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Whoever is forked while the others are ended is found in the next round.
        loop {
            let found = self.processes();
            let open =
                |pid: &u32| pidfd_open(Pid::from_raw(*pid as i32)?, PidfdFlags::empty()).ok();
            let watched: Vec<_> = found.iter().filter_map(open).collect();
            if let Some(group) = Pid::from_raw(self.child.id() as i32) {
                let _ = kill_process_group(group, Signal::KILL);
            }
            watched.iter().for_each(gone);
            if found.is_empty() {
                break;
            }
        }
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Waits until the process behind a pidfd has ended.
fn gone(watched: &OwnedFd) {
    let limit = Timespec { tv_sec: 30, tv_nsec: 0 };
    let _ = poll(&mut [PollFd::new(watched, PollFlags::IN)], Some(&limit));
}

/// Whether there is room for what tabs share with each other; in most containers there is not.
fn has_shared_memory() -> bool {
    let room = rustix::fs::statvfs("/dev/shm").map(|of| of.f_bavail * of.f_frsize);
    room.is_ok_and(|bytes| bytes > 1 << 30)
}

fn environment(folder: &Path) -> Vec<(&'static str, String)> {
    let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned());
    let folder = folder.display().to_string();
    vec![
        ("PATH", path),
        ("HOME", folder.clone()),
        ("TMPDIR", folder.clone()),
        ("XDG_CONFIG_HOME", folder.clone()),
        ("XDG_CACHE_HOME", folder.clone()),
        ("XDG_RUNTIME_DIR", folder),
        ("LANG", "C.UTF-8".to_owned()),
        // Times in screenshots and tests are the same everywhere.
        ("TZ", "UTC".to_owned()),
    ]
}

fn variable(name: &str) -> PathBuf {
    let value = std::env::var_os(name).filter(|value| !value.is_empty());
    value.map(PathBuf::from).unwrap_or_else(|| {
        panic!("{name} must be set: run `cargo xtask test`, or `env $(cargo xtask browser) …`")
    })
}

/// The living processes of a process group.
fn members(group: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let belongs = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after = stat.rfind(')').map_or("", |end| &stat[end + 1..]);
        let mut fields = after.split_ascii_whitespace();
        let (state, of) = (fields.next(), fields.nth(1));
        state.is_some_and(|state| state != "Z") && of == Some(&group.to_string())
    };
    pids.filter(belongs).collect()
}

fn own_memory(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let sizes = text.lines().filter(|line| line.starts_with("Private_"));
    let kilobytes =
        sizes.filter_map(|line| line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.sum::<u64>() * 1024
}
