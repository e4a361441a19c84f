//! The demo: native teammates that edit real files on a recorded model, a red gate, a killed
//! teammate, and everything left to look at; or for real, if somebody says so.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use shipmate_testkit::model::Server;

use crate::transcript::{Workspace, exists};

/// The log of the demo's team.
fn records(workspace: &Workspace) -> Vec<Value> {
    let log = workspace.succeed("shipmate --workspace $W/demo/calc log --json --after 0");
    log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect()
}

/// The events of a kind in it.
fn events(workspace: &Workspace, kind: &str) -> Vec<Value> {
    let records = records(workspace);
    records.iter().filter_map(|record| record["event"].get(kind).cloned()).collect()
}

/// What the agents printed in all their lives.
fn printed(workspace: &Workspace) -> String {
    let lives = workspace.path.join("demo/calc/.shipmate/state/teams/demo/lives");
    let lives = std::fs::read_dir(lives).unwrap().map(|life| life.unwrap().path());
    lives.map(|life| std::fs::read_to_string(life.join("output.log")).unwrap()).collect()
}

/// The coordinators of the demo's own workspace end with it; this one was asked for a log.
fn stop(workspace: &Workspace) {
    workspace.succeed("shipmate --workspace $W/demo/calc coordinator stop");
}

#[test]
fn the_demo_comes_through_and_leaves_everything_to_look_at() {
    let mut workspace = Workspace::new();
    // A key alone spends nothing: nobody was there to agree.
    workspace.set("ANTHROPIC_API_KEY", "a key");
    workspace.set("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    let played = workspace.succeed("shipmate demo --keep $W/demo");
    for line in [
        "their model is a recording; --real asks a real one, with your key",
        "disappeared: its supervisor's process ended",
        "starts again, life 2",
        "the gate is red on task 4",
        "failing: tests/mul.sh: mul 6 7 should be 42, is 13",
        "done: 12 of 12 tasks",
        "12 commits on shipmate/demo",
        "the repository's own tests on it: 11 passed",
    ] {
        assert!(played.contains(line), "{line} is not in\n{played}");
    }
    for line in played.lines().take(3) {
        assert!(line.len() <= 80 || line.contains("$W"), "{line}");
    }
    workspace.check(
        r#"
        $ shipmate --workspace $W/demo/calc coordinator status
        not running; the next command starts it

        $ shipmate --workspace $W/demo/calc task list --status pending,in_progress,failed
        no tasks
        "#,
    );
    stop(&workspace);
}

#[test]
fn the_demos_teammates_are_native_agents_that_edit_real_files() {
    let workspace = Workspace::new();
    workspace.succeed("shipmate demo --recorded --keep $W/demo");
    let added = events(&workspace, "teammate.added");
    assert_eq!(added.len(), 4);
    for one in &added {
        assert_eq!(one["profile"]["agent"], "native", "{one}");
        assert_eq!(one["profile"]["model"], "recorded/calculator", "{one}");
    }
    for one in events(&workspace, "teammate.session") {
        assert!(!one["fence"].as_str().unwrap_or_default().is_empty(), "{one}");
    }
    let used = events(&workspace, "usage.recorded");
    assert!(used.len() >= 12 * 3, "{}", used.len());
    assert!(used.iter().all(|one| one["usage"]["cost_micros"] == 0));
    let red: Vec<Value> = events(&workspace, "gate.ran");
    let red: Vec<&Value> = red.iter().filter(|one| one["passed"] == false).collect();
    assert!(red.iter().any(|one| one["tasks"] == serde_json::json!([4])), "{red:?}");
    assert_eq!(events(&workspace, "teammate.disappeared").len(), 1);
    let printed = printed(&workspace);
    for line in [
        "→ read_file run-tests.sh",
        "→ write_file lib/numbers.sh",
        "→ edit_file lib/div.sh",
        "→ bash sh run-tests.sh",
        "→ SendMessage ",
        "Somebody was cut off here.",
        "The gate is red: 6 times 7 is not 13.",
    ] {
        assert!(printed.contains(line), "{line} is not in\n{printed}");
    }
    // What one of them tells the others reaches them, in a running turn or with the next.
    let told = records(&workspace).into_iter().find(|record| {
        let body = record["event"]["message.sent"]["body"].as_str();
        body.is_some_and(|body| body.contains("is_number is in lib/numbers.sh"))
    });
    let told = told.expect("somebody tells the others")["n"].clone();
    let handed = events(&workspace, "message.injected");
    let has_it = |one: &Value| one["messages"].as_array().is_some_and(|all| all.contains(&told));
    assert!(handed.iter().any(has_it), "{told} is not among {handed:?}");
    let divides = workspace.git("-C demo/calc show main:lib/div.sh");
    assert!(divides.contains("no quotient by zero"), "{divides}");
    let calc = |args: &[&str]| {
        let ran = Command::new(workspace.path.join("demo/calc/calc")).args(args).output().unwrap();
        String::from_utf8(ran.stdout).unwrap()
    };
    assert_eq!(calc(&["6", "x", "7"]), "42\n");
    assert_eq!(calc(&["12", "^", "6"]), "2,985,984\n");
    assert_eq!(calc(&["7", "/", "0"]), "no quotient by zero\n");
    stop(&workspace);
}

/// A command at a terminal.
struct Terminal {
    child: Child,
    screen: File,
    shown: String,
}

impl Terminal {
    fn start(mut command: Command) -> Terminal {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&screen).unwrap();
        unlockpt(&screen).unwrap();
        let name = ptsname(&screen, Vec::new()).unwrap();
        let open = || {
            let both = File::options().read(true).write(true).open(name.to_str().unwrap());
            OwnedFd::from(both.unwrap())
        };
        let child = command.stdin(open()).stdout(open()).stderr(open()).spawn().unwrap();
        Terminal { child, screen: File::from(screen), shown: String::new() }
    }

    fn read(&mut self) -> bool {
        let mut bytes = [0; 4096];
        // A terminal that nobody has open any more is an error.
        let read = self.screen.read(&mut bytes).unwrap_or(0);
        self.shown.push_str(&String::from_utf8_lossy(&bytes[..read]));
        read > 0
    }

    fn until(&mut self, text: &str) {
        while !self.shown.contains(text) {
            assert!(self.read(), "it ended before {text:?}:\n{}", self.shown);
        }
    }

    fn answer(&mut self, line: &str) {
        self.screen.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// All that it showed, and its exit code.
    fn end(mut self) -> (String, Option<i32>) {
        while self.read() {}
        (self.shown, self.child.wait().unwrap().code())
    }
}

const QUESTION: &str =
    "run it for real with claude-sonnet-4-5 (costs money, up to 5 dollars)? [y/N] ";

#[test]
fn with_a_key_and_a_yes_the_same_plan_is_run_for_real() {
    let files = [
        "tests/numbers.sh",
        "lib/add.sh",
        "lib/sub.sh",
        "lib/mul.sh",
        "lib/div.sh",
        "lib/pow.sh",
        "lib/mod.sh",
        "lib/say.sh",
        "lib/choose.sh",
        "calc",
        "HELP.txt",
        "README.md",
    ];
    let rules = files.iter().enumerate().map(|(index, file)| {
        let id = index + 1;
        format!(
            "on \"Task {id}:\"\n  tool write_file {{\"path\":\"{file}\",\"content\":\"true\\n\"}}\n  \
             tool TaskUpdate {{\"taskId\":\"{id}\",\"status\":\"completed\",\"result\":\"ok\"}}\n  \
             say Done.\n"
        )
    });
    let server = Server::start(&rules.collect::<String>());
    let mut workspace = Workspace::new();
    workspace.set("ANTHROPIC_API_KEY", "a key");
    workspace.set("ANTHROPIC_BASE_URL", &server.url());
    let mut terminal = Terminal::start(workspace.command("shipmate demo --keep $W/demo"));
    terminal.until(QUESTION);
    terminal.answer("y");
    let (shown, code) = terminal.end();
    for line in [
        "twelve tasks, for real with claude-sonnet-4-5",
        "they stop before they have used 5 dollars, or 5 million tokens",
        ": 12 of 12 tasks",
        "the repository's own tests on it: 1 passed",
    ] {
        assert!(shown.contains(line), "{line} is not in\n{shown}");
    }
    assert_eq!(code, Some(0), "{shown}");
    let budget = &events(&workspace, "team.budget_set")[0]["budget"];
    assert_eq!(budget["cost_micros_max"], 5_000_000, "{budget}");
    assert_eq!(budget["tokens_max"], 5_000_000, "{budget}");
    assert!(events(&workspace, "teammate.disappeared").is_empty(), "nobody is killed");
    let used = events(&workspace, "usage.recorded");
    assert!(used.iter().all(|one| one["usage"]["cost_micros"].as_u64() > Some(0)), "{used:?}");
    assert_eq!(used.len(), server.requests().len());
    stop(&workspace);
}

#[test]
fn without_a_yes_nothing_is_spent() {
    let server = Server::start("on *\n  say Hello.\n");
    let mut workspace = Workspace::new();
    workspace.set("ANTHROPIC_API_KEY", "a key");
    workspace.set("ANTHROPIC_BASE_URL", &server.url());
    let mut terminal = Terminal::start(workspace.command("shipmate demo --keep $W/demo"));
    terminal.until(QUESTION);
    terminal.answer("");
    terminal.until("their model is a recording: no key, no network");
    terminal.until(" takes task ");
    let pid = terminal.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    terminal.until("[c]ontinue? ");
    terminal.answer("s");
    let (shown, code) = terminal.end();
    assert_eq!(code, Some(8), "{shown}");
    assert!(shown.contains("not every task was completed"), "{shown}");
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn for_real_without_a_model_is_refused_with_what_to_do() {
    let mut workspace = Workspace::new();
    for key in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"] {
        workspace.set(key, "");
    }
    workspace.check(
        r#"
        $ shipmate demo --real --keep $W/demo
        error: there is no model to run it with: no model is named, and no provider's key is set
          set one of ANTHROPIC_API_KEY, [..]
        => 2

        $ shipmate demo --real --recorded
        error: the argument '--real' cannot be used with '--recorded'
        ...
        => 2
        "#,
    );
    assert!(!exists(&workspace.path.join("demo")), "it can be named again");
}

#[test]
fn a_demo_that_is_left_merges_nothing() {
    let workspace = Workspace::new();
    let mut child = workspace
        .command("shipmate demo --keep $W/demo")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    lines.find(|line| line.contains(" takes task ")).unwrap();
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let rest: Vec<String> = lines.collect();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{rest:?}");
    let calc = workspace.path.join("demo/calc");
    let [.., left, word, command] = rest.as_slice() else { panic!("{rest:?}") };
    assert!(left.starts_with("left at work: "), "{left}");
    assert!(word.starts_with("nothing was merged; "), "{word}");
    assert_eq!(*command, format!("  shipmate --workspace {} shutdown", calc.display()));
    assert_eq!(workspace.git("-C demo/calc rev-list --count main"), "1\n");
    workspace.succeed("shipmate --workspace $W/demo/calc pause");
    workspace.run("shipmate --workspace $W/demo/calc shutdown --now --wait", b"");
    workspace.succeed("shipmate --workspace $W/demo/calc coordinator stop");
}

#[test]
fn the_demo_plays_only_where_nothing_else_is() {
    let workspace = Workspace::new();
    workspace.write("file", "mine");
    workspace.check(
        r#"
        $ shipmate demo --keep $W
        error: $W cannot be played in: it is not empty
          name a new or empty folder with --keep DIR
        => 2
        "#,
    );
    assert!(exists(&workspace.path.join("file")));
    assert!(!exists(&workspace.path.join("calc")));
}
