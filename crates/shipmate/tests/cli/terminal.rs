//! `shipmate run` at a real terminal: what is drawn, what rings, and what a resize leaves.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use crate::transcript::Workspace;

/// Nothing here takes so long, even on a loaded machine.
const LIMIT: Duration = Duration::from_secs(300);

const ONE: &str = r#"
title = "One thing"
[[tasks]]
id = "one"
subject = "Do it"
files = ["mine.txt"]
"#;

/// A command that runs at a terminal of its own.
pub(crate) struct Terminal {
    keys: File,
    child: Child,
    told: Receiver<Vec<u8>>,
    /// The beginning of a character whose rest has not come.
    part: Vec<u8>,
    screen: String,
}

impl Terminal {
    pub(crate) fn start(workspace: &Workspace, line: &str, columns: u16) -> Terminal {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let name = std::ffi::OsStr::from_bytes(name.as_bytes());
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave: OwnedFd = rustix::fs::open(name, flags, Mode::empty()).unwrap();
        // Ctrl-C throws away what was printed and not read yet, unless the terminal is told to keep it.
        let mut modes = tcgetattr(&slave).unwrap();
        modes.local_modes.insert(LocalModes::NOFLSH);
        tcsetattr(&slave, OptionalActions::Now, &modes).unwrap();
        let keys: File = File::from(master);
        resize(&keys, columns);
        // The program is the leader of a session of its own, and the terminal is that session's.
        let plain = workspace.command(line);
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(plain.get_program()).args(plain.get_args());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.current_dir(&workspace.path);
        command.envs([("TERM", "xterm"), ("LANG", "C.UTF-8"), ("LC_ALL", ""), ("NO_COLOR", "1")]);
        command.env_remove("VTE_VERSION");
        command.stdin(slave.try_clone().unwrap());
        command.stdout(slave.try_clone().unwrap()).stderr(slave);
        let child = command.spawn().unwrap();
        drop(command);
        let (tell, told) = channel();
        let mut output = keys.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // It fails when the last one at the terminal has gone.
            while let Ok(length @ 1..) = output.read(&mut buffer) {
                if tell.send(buffer[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Terminal { keys, child, told, part: Vec::new(), screen: String::new() }
    }

    /// Waits until the screen was told this.
    #[track_caller]
    pub(crate) fn until(&mut self, text: &str) {
        while !self.screen.contains(text) {
            match self.told.recv_timeout(LIMIT) {
                Ok(bytes) => self.hear(&bytes),
                Err(_) => panic!("{text:?} does not come:\n{}", self.screen),
            }
        }
    }

    /// Waits for one more table in the place of the one before.
    #[track_caller]
    fn until_drawn_again(&mut self) {
        let tables = |screen: &str| screen.matches("\r\x1b[J").count();
        let before = tables(&self.screen);
        while tables(&self.screen) == before {
            match self.told.recv_timeout(LIMIT) {
                Ok(bytes) => self.hear(&bytes),
                Err(_) => panic!("nothing is drawn any more:\n{}", self.screen),
            }
        }
    }

    /// A terminal hands its bytes over in pieces that begin and end anywhere, also in a character.
    fn hear(&mut self, bytes: &[u8]) {
        self.part.extend(bytes);
        let whole = std::str::from_utf8(&self.part).map_or_else(|e| e.valid_up_to(), str::len);
        let rest = self.part.split_off(whole);
        self.screen.push_str(std::str::from_utf8(&self.part).unwrap());
        self.part = rest;
    }

    /// The rest of what it says, and how it ends.
    pub(crate) fn end(mut self) -> (String, i32) {
        while let Ok(bytes) = self.told.recv_timeout(LIMIT) {
            self.hear(&bytes);
        }
        (self.screen.replace("\r\n", "\n"), self.child.wait().unwrap().code().unwrap())
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    fn rings(&self) -> usize {
        self.screen.matches('\x07').count()
    }
}

fn resize(terminal: &File, columns: u16) {
    let size = Winsize { ws_row: 30, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}

/// A workspace with a plan of one task, whose agent touches a file that is not the task's.
fn workspace() -> Workspace {
    let workspace = Workspace::with_repository();
    std::fs::write(workspace.beside("one.toml"), ONE).unwrap();
    workspace
}

const RUN: &str = "shipmate run $W/../one.toml --agent 'echo x > mine.txt; echo y > other.txt'";

/// The number of the question on the screen.
fn question(terminal: &mut Terminal) -> String {
    terminal.until("waits for you: question ");
    terminal.until("or: refuse");
    let (_, rest) = terminal.screen.rsplit_once("waits for you: question ").unwrap();
    rest.split(':').next().unwrap().to_owned()
}

fn link(terminal: &Terminal) -> String {
    let (_, link) = terminal.screen.split_once("\npage   http://127.0.0.1:").unwrap();
    format!("http://127.0.0.1:{}", link.split(['\r', '\n']).next().unwrap())
}

#[test]
fn a_decision_rings_once_and_is_shown_with_the_command_that_decides_it() {
    let workspace = workspace();
    let mut terminal = Terminal::start(&workspace, RUN, 120);
    let question = question(&mut terminal);
    terminal.until(&format!("\n  shipmate --team one answer {question} grant   or: refuse"));
    terminal.until("\x07");
    // The clock is drawn again and again, and the bell stays silent.
    for _ in 0..3 {
        terminal.until_drawn_again();
    }
    assert_eq!(terminal.rings(), 1, "{}", terminal.screen);
    // The link is told once, where it has room.
    let link = link(&terminal);
    assert!(link.contains("/#token="), "{link}");
    assert!(!terminal.screen.contains("page: "), "{}", terminal.screen);
    workspace.succeed(&format!("shipmate --team one answer {question} grant"));
    terminal.until("done: 1 of 1 tasks");
    let (screen, code) = terminal.end();
    assert_eq!((screen.matches('\x07').count(), code), (2, 0), "{screen}");
}

#[test]
fn what_phases_wait_for_is_shown() {
    let workspace = Workspace::with_repository();
    workspace.write(".shipmate/playbooks/steps.toml", STEPS);
    let line = "shipmate run --dirty --no-page --agent true --playbook steps 'say hello'";
    let mut terminal = Terminal::start(&workspace, line, 100);
    terminal.until("phases first waits, second ahead\r\n");
    terminal.until("\r\n       first waits: never.txt is not there");
    let (screen, code) = terminal.end();
    assert_eq!(code, 8, "{screen}");
    assert!(!screen.contains("page"), "{screen}");
}

const STEPS: &str = r#"name = "steps"
[roles.lead]
lead = true
[[phases]]
name = "first"
roles = ["lead"]
entry = ["never.txt"]
[[phases.tasks]]
id = "a"
lead = true
subject = "a"
[[phases]]
name = "second"
optional = true
[[phases.tasks]]
id = "b"
lead = true
subject = "b"
"#;

#[test]
fn a_notice_goes_to_the_terminal_and_to_the_desktop() {
    let mut workspace = workspace();
    workspace.write(".shipmate/config.toml", "notify = \"desktop\"\n");
    let pipe = workspace.pipe("notices");
    let bin = workspace.beside("bin");
    std::fs::create_dir(&bin).unwrap();
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$*\" > {}\n", pipe.display());
    let mut writer = Command::new("sh");
    writer.args(["-c", "printf '%s' \"$1\" > \"$0\" && chmod 755 \"$0\""]);
    assert!(writer.arg(bin.join("notify-send")).arg(script).status().unwrap().success());
    workspace.set("PATH", &format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
    workspace.set("DISPLAY", ":7");
    let mut terminal = Terminal::start(&workspace, &format!("{RUN} --dirty --no-page"), 120);
    let question = question(&mut terminal);
    terminal.until(&format!("\x07\x1b]9;shipmate: waits for you: question {question}: "));
    let notice = || {
        let mut line = String::new();
        BufReader::new(File::open(&pipe).unwrap()).read_line(&mut line).unwrap();
        line
    };
    let told = notice();
    let begins = format!("--app-name shipmate -- shipmate waits for you: question {question}: ");
    assert!(told.starts_with(&begins), "{told}");
    workspace.succeed(&format!("shipmate --team one answer {question} grant"));
    assert_eq!(notice(), "--app-name shipmate -- shipmate team one: done, 1 of 1 tasks\n");
    let (screen, code) = terminal.end();
    assert!(screen.contains("\x1b]9;shipmate: team one: done, 1 of 1 tasks\x1b\\"), "{screen}");
    assert_eq!(code, 0);
}

#[test]
fn a_terminal_that_becomes_narrower_keeps_nothing_of_the_old_table() {
    let workspace = workspace();
    workspace.write(".shipmate/config.toml", "notify = \"off\"\n");
    let mut terminal = Terminal::start(&workspace, &format!("{RUN} --dirty"), 120);
    let question = question(&mut terminal);
    resize(&terminal.keys, 70);
    // A line of the table at its new width: the link is cut there, and can be opened all the same.
    terminal.until("\npage   \x1b]8;;http://127.0.0.1:");
    terminal.keys.write_all(b"\x03").unwrap();
    terminal.until("[c]ontinue? ");
    terminal.keys.write_all(b"c\n").unwrap();
    workspace.succeed(&format!("shipmate --team one answer {question} grant"));
    let (screen, code) = terminal.end();
    assert_eq!((screen.matches('\x07').count(), code), (0, 0), "{screen}");

    // Each table is taken away with the rows that it takes at the width of that moment.
    let (mut width, mut before) = (120, Vec::new());
    for (rows, drawn) in tables(&screen) {
        let taken = |width: usize| -> usize {
            before.iter().map(|columns: &usize| columns.div_ceil(width).max(1)).sum()
        };
        if rows > 0 && rows != taken(width) {
            assert_eq!((width, rows), (120, taken(70)), "{before:?} in {screen}");
            width = 70;
        }
        assert!(drawn.iter().all(|columns| *columns <= width), "{drawn:?} in {screen}");
        before = drawn;
    }
    assert_eq!(width, 70);
}

/// Each table: how many rows are taken away before it, and the columns of its lines.
fn tables(screen: &str) -> Vec<(usize, Vec<usize>)> {
    let mut found = Vec::new();
    let mut rest = screen;
    let mut rows = 0;
    loop {
        let end = rest.find("\r\x1b[J");
        let part = &rest[..end.unwrap_or(rest.len())];
        let (drawn, up) = match end {
            Some(_) => part.rsplit_once("\x1b[").unwrap(),
            None => (part, "0A"),
        };
        // What must stay stands above the table, which begins with its title.
        let table = drawn.find("One thing  team one").map_or("", |at| &drawn[at..]);
        // What somebody types is echoed below it, on a line that has no end.
        let lines = table.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        found.push((rows, lines.map(columns).collect()));
        let Some(end) = end else { return found };
        rows = up.trim_end_matches('A').parse().unwrap();
        rest = &rest[end + "\r\x1b[J".len()..];
    }
}

/// Columns of a line without its escapes; all of its characters are narrow.
fn columns(line: &str) -> usize {
    let mut count = 0;
    let mut rest = line;
    while let Some((before, escape)) = rest.split_once('\x1b') {
        count += before.chars().count();
        rest = escape.split_once("\x1b\\").map_or("", |(_, rest)| rest);
    }
    count + rest.chars().count()
}

/// Three tasks, the first two of which are handed in while the gate waits at a pipe.
const GATED: &str = r#"
title = "One thing"
[[tasks]]
id = "one"
subject = "One"
[[tasks]]
id = "two"
subject = "Two"
[[tasks]]
id = "three"
subject = "Three"
"#;

#[test]
fn a_run_that_is_shut_down_reports_what_was_at_the_gate() {
    let workspace = Workspace::with_repository();
    std::fs::write(workspace.beside("one.toml"), GATED).unwrap();
    let (gate, hang) = (workspace.pipe("gate"), workspace.pipe("hang"));
    workspace.write(".shipmate/config.toml", "shutdown-deadline-seconds = 1\n");
    let line = format!(
        "shipmate run $W/../one.toml --dirty --no-page --teammates 1 --gate 'test ! -e One.txt || \
         cat {}' --agent 'test $SHIPMATE_SUBJECT = One || cat {}; echo x > $SHIPMATE_SUBJECT.txt'",
        gate.display(),
        hang.display()
    );
    let mut terminal = Terminal::start(&workspace, &line, 100);
    terminal.until("takes task 2 (Two)");
    terminal.keys.write_all(b"\x03").unwrap();
    terminal.until("[c]ontinue? ");
    // Whatever is none of the answers is asked again.
    terminal.keys.write_all(b"what?\n").unwrap();
    terminal.until("type d, s or c");
    terminal.keys.write_all(b"s\n").unwrap();
    terminal.until("Stopping the team… 1 task is at the gate");
    assert!(!terminal.screen.contains("waits for you: the run"), "{}", terminal.screen);
    std::fs::write(&gate, "").unwrap();
    terminal.until("stopped: 1 of 3 tasks");
    let (screen, code) = terminal.end();
    let (_, report) = screen.split_once("stopped: 1 of 3 tasks").unwrap();
    assert_eq!(code, 8, "{screen}");
    assert!(report.contains("task 2 pending: dev-1 had taken it"), "{report}");
    assert!(report.contains("\nnext       shipmate resume "), "{report}");
    assert!(report.contains("\n           shipmate merge "), "{report}");
}

#[test]
fn a_second_ctrl_c_leaves_at_once() {
    let workspace = workspace();
    let hang = workspace.pipe("hang");
    let line = format!("shipmate run $W/../one.toml --no-page --agent 'cat {}'", hang.display());
    let mut terminal = Terminal::start(&workspace, &line, 100);
    terminal.until("takes task 1");
    // What is typed over the table is not shown, and moves nothing.
    terminal.keys.write_all(b"\n\nhello").unwrap();
    terminal.keys.write_all(b"\x03").unwrap();
    terminal.until("[c]ontinue? ");
    assert!(!terminal.screen.contains("hello"), "{}", terminal.screen);
    terminal.keys.write_all(b"\x03").unwrap();
    terminal.until("left at work: `shipmate --team one status`");
    assert_eq!(terminal.end().1, 0);
    // And while it is shut down.
    workspace.succeed("shipmate team delete one --now");
    let mut terminal =
        Terminal::start(&workspace, &line.replace("--no-page", "--no-page --team x"), 100);
    terminal.until("takes task 1");
    terminal.keys.write_all(b"\x03").unwrap();
    terminal.until("[c]ontinue? ");
    terminal.keys.write_all(b"s\n").unwrap();
    terminal.until("Stopping the team…");
    terminal.keys.write_all(b"\x03").unwrap();
    terminal.until("the team is still stopping: `shipmate --team x status`");
    let (screen, _) = terminal.end();
    assert!(!screen.contains("left at work"), "{screen}");
}

#[test]
fn a_page_that_is_open_when_the_run_ends_stays_with_the_outcome() {
    let workspace = workspace();
    let go = workspace.pipe("go");
    let agent = format!("cat {}; echo x > mine.txt", go.display());
    let line = format!("shipmate run $W/../one.toml --agent '{agent}'");
    let mut terminal = Terminal::start(&workspace, &line, 120);
    terminal.until("takes task 1");
    terminal.until("\npage   http://");
    let link = link(&terminal);
    let (host, token) = link.strip_prefix("http://").unwrap().split_once("/#token=").unwrap();
    let mut tab = std::net::TcpStream::connect(host).unwrap();
    let head = format!(
        "GET /api/t/one/stream?after=0 HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    tab.write_all(head.as_bytes()).unwrap();
    let mut tab = BufReader::new(tab);
    let mut until = |text: &str| {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert_ne!(tab.read_line(&mut line).unwrap(), 0, "the page has gone before {text}");
        }
        line
    };
    until("event: delta");
    std::fs::write(&go, "").unwrap();
    until("event: ended");
    let told = until("data: ");
    assert!(told.contains("team one: done, 1 of 1 tasks"), "{told}");
    assert!(told.contains("shipmate merge"), "{told}");
    terminal.until("the page stays open; press Enter to leave it");
    terminal.keys.write_all(b"\n").unwrap();
    until("event: gone");
    assert_eq!(terminal.end().1, 0);
    // Nobody looks: the command ends by itself.
    let line = "shipmate --team two run $W/../one.toml --agent 'echo y > mine.txt'";
    let (screen, code) = Terminal::start(&workspace, line, 120).end();
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("the page stays open"), "{screen}");
}
