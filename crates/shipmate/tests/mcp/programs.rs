//! A person's own session of a real agent program: it gets the tools and the hooks from
//! `shipmate install`, leads a team over MCP on the scripted model, and hears its mail.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use shipmate_testkit::model::Server;
use shipmate_testkit::programs::{Environment, Program, Surroundings, strays};

use crate::stage::{SHIPMATE, Stage};

const SCRIPT: &str = r#"
on "make a team"
  tool TeamCreate {"team_name":"alpha","description":"the parser"}
  tool TaskCreate {"subject":"Parse","description":"all of it"}
  hold first
  shell echo busy
  hold second
  tool TaskList {}
  hold third
  say All done.
on "third mail"
  say I have read it.
"#;

/// The environment with this program first among those found by name.
fn with_shipmate(mut environment: Environment) -> Environment {
    let path = environment.iter_mut().find(|(name, _)| name == "PATH").unwrap();
    let mut whole = OsString::from(Path::new(SHIPMATE).parent().unwrap());
    whole.push(":");
    whole.push(&path.1);
    path.1 = whole;
    environment
}

/// Ends what it holds.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Runs the program through the script: one message comes by a hook after another tool, one with
/// the result of a tool of the team, one by the hook before it would stop.
fn lead_over_mcp(
    program: Program,
    install: &str,
    seat: &str,
    arguments: &[&str],
    surroundings: fn(&Path, &Server) -> Environment,
    prepare: fn(&Stage),
) {
    let stage = Stage::new();
    let server = Server::start(SCRIPT);
    let environment = with_shipmate(surroundings(&stage.root().join("home"), &server));
    prepare(&stage);
    let person = |args: &[&str]| {
        let mut command = Command::new(SHIPMATE);
        command.current_dir(stage.repo()).env_clear().envs(environment.clone()).args(args);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    person(&["install", install, "--yes"]);
    let child = Command::new(program.path())
        .args(arguments)
        .current_dir(stage.repo())
        .env_clear()
        .envs(environment.clone())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut child = Ended(child);
    for (hold, sign, mail) in [
        ("first", "Task #1 created successfully", "first mail"),
        ("second", "first mail", "second mail"),
        ("third", "second mail", "third mail"),
    ] {
        server.wait_for(|request| request.contains(sign));
        person(&["send", seat, mail]);
        server.release(hold);
    }
    let last = server.wait_for(|request| request.contains("third mail"));
    assert!(child.0.wait().unwrap().success());
    // Claude itself says twice what a hook has stopped it for, so of the last it is not asked.
    for mail in ["first mail", "second mail"] {
        let told = last.body.to_string().matches(mail).count();
        assert_eq!(told, 1, "{mail} is told once");
    }
    let listed = person(&["teammate", "list"]);
    assert!(listed.contains(&format!("{seat}@1 (lead)")) && listed.contains("stopped"), "{listed}");
    person(&["install", install, "--undo", "--yes"]);
    assert_eq!(stage.git(&["status", "--porcelain"]), "");
    let strays: Vec<String> = strays(&server).into_iter().map(|request| request.path).collect();
    assert!(strays.is_empty(), "{strays:?}");
}

#[test]
fn a_claude_session_leads_a_team_and_hears_its_mail() {
    let options = ["-p", "--dangerously-skip-permissions", "make a team"];
    lead_over_mcp(Program::Claude, "claude", "claude", &options, Surroundings::claude, |_| {});
}

const CODEX: [&str; 4] = [
    "exec",
    "--dangerously-bypass-approvals-and-sandbox",
    "--dangerously-bypass-hook-trust",
    "make a team",
];

fn trust(stage: &Stage) {
    let path = stage.root().join("home/.codex/config.toml");
    let mut config = std::fs::read_to_string(&path).unwrap();
    config.push_str(&format!("[projects.{:?}]\ntrust_level = \"trusted\"\n", stage.repo()));
    std::fs::write(&path, config).unwrap();
}

#[test]
fn a_codex_session_leads_a_team_and_hears_its_mail() {
    lead_over_mcp(Program::Codex, "codex", "codex", &CODEX, Surroundings::codex, trust);
}

/// Codex starts its MCP servers in a bare environment: whom the coordinator starts that comes of it has the
/// person's key all the same.
#[test]
fn the_persons_key_reaches_the_teammates_of_a_codex_session() {
    let server = Server::start(
        r#"
        on "make a team"
          tool TeamCreate {"team_name":"alpha","description":"the harbour"}
          tool Agent {"name":"bo","agent":"claude","prompt":"count the ships"}
          hold end
          say All done.
        as bo
        on "count the ships"
          say I count.
        "#,
    );
    let stage = Stage::new();
    let home = stage.root().join("home");
    let key = |name: &OsString| name == "ANTHROPIC_API_KEY";
    let claude = Surroundings::claude(&home, &server).into_iter();
    let (key, others): (Vec<_>, Vec<_>) = claude.partition(|(name, _)| key(name));
    let bin = stage.root().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let lines = format!(
        "#!/bin/sh\n{}exec '{}' \"$@\"\n",
        Surroundings::exports(others),
        Program::Claude.path().display()
    );
    std::fs::write(bin.join("claude"), lines).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bin.join("claude"), mode).unwrap();
    let mut environment = with_shipmate(Surroundings::codex(&home, &server));
    environment.extend(key);
    let path = environment.iter_mut().find(|(name, _)| name == "PATH").unwrap();
    let mut whole = OsString::from(&bin);
    whole.push(":");
    whole.push(&path.1);
    path.1 = whole;
    trust(&stage);
    let mut install = Command::new(SHIPMATE);
    install.args(["install", "codex", "--yes"]).env_clear().envs(environment.clone());
    assert!(install.current_dir(stage.repo()).output().unwrap().status.success());
    assert!(!stage.place().lock().exists(), "no coordinator before that of the session");
    let mut session = Command::new(Program::Codex.path());
    session.args(CODEX).current_dir(stage.repo()).env_clear().envs(environment.clone());
    session.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut session = Ended(session.spawn().unwrap());
    // Without a key Claude Code asks no model at all.
    server
        .wait_for(|request| request.contains("count the ships") && request.contains("You are bo"));
    server.release("end");
    assert!(session.0.wait().unwrap().success());
    let mut delete = Command::new(SHIPMATE);
    delete.args(["--team", "alpha", "team", "delete", "alpha", "--now"]).env_clear();
    let deleted = delete.envs(environment).current_dir(stage.repo()).output().unwrap();
    assert!(deleted.status.success(), "{deleted:?}");
}

/// A lead's own Claude Code in this repository, installed and trusted.
fn claude_lead(stage: &Stage, server: &Server) -> Environment {
    let home = stage.root().join("home");
    let environment = with_shipmate(Surroundings::claude(&home, server));
    let change = |path: &Path, more: Value| {
        let mut settings: Value =
            serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        std::fs::write(path, settings.to_string()).unwrap();
    };
    let more = json!({ "enableAllProjectMcpServers": true });
    change(&home.join(".claude/settings.json"), more);
    let mut install = Command::new(SHIPMATE);
    install.args(["install", "claude", "--yes"]).env_clear().envs(environment.clone());
    assert!(install.current_dir(stage.repo()).output().unwrap().status.success());
    environment
}

#[test]
fn a_claude_lead_that_is_resumed_has_a_leads_tools_from_its_first_request() {
    let server = Server::start(
        r#"
        on "make a team"
          tool TeamCreate {"team_name":"alpha","description":"the harbour"}
          say The team is there.
        on "go on now"
          say I go on.
        "#,
    );
    let stage = Stage::new();
    let environment = claude_lead(&stage, &server);
    for more in [&["make a team"][..], &["--continue", "go on now"]] {
        let mut session = Command::new(Program::Claude.path());
        session.args(["-p", "--dangerously-skip-permissions"]).args(more);
        session.current_dir(stage.repo()).env_clear().envs(environment.clone());
        let output = session.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let first = server.wait_for(|request| request.contains("go on now"));
    let body = first.body.to_string();
    assert!(body.contains("The team is there."), "{body}");
    for tool in ["Agent", "AnswerQuestion", "TaskStop", "TeamDelete"] {
        assert!(body.contains(&format!("mcp__shipmate__{tool}\"")), "{tool}: {body}");
    }
    assert!(!body.contains("no longer available"), "{body}");
}

/// A session at a terminal of its own.
struct AtTerminal {
    socket: PathBuf,
}

impl AtTerminal {
    fn tmux(&self) -> Command {
        let mut tmux = Command::new(std::env::var("SHIPMATE_TMUX").unwrap_or("tmux".to_owned()));
        tmux.env_remove("TMUX").arg("-S").arg(&self.socket).args(["-u", "-f", "/dev/null"]);
        tmux
    }

    fn start(stage: &Stage, environment: &Environment, line: &str) -> AtTerminal {
        let terminal = AtTerminal { socket: stage.root().join("tmux") };
        let mut tmux = terminal.tmux();
        tmux.args(["new-session", "-d", "-x", "120", "-y", "40", line]);
        tmux.current_dir(stage.repo()).env_clear().envs(environment.clone());
        assert!(tmux.env("TERM", "xterm").env("LC_ALL", "C.UTF-8").status().unwrap().success());
        terminal
    }

    fn enters(&self, text: &str) {
        assert!(self.tmux().args(["send-keys", text, "Enter"]).status().unwrap().success());
    }
}

impl Drop for AtTerminal {
    fn drop(&mut self) {
        drop(self.tmux().arg("kill-server").status());
    }
}

#[test]
fn a_claude_lead_that_is_idle_at_its_terminal_is_woken_by_mail() {
    let server = Server::start(
        r#"
        on "make a team"
          tool TeamCreate {"team_name":"alpha","description":"the harbour"}
          say The team is there.
        on "news from the harbour"
          say I have heard it.
        "#,
    );
    let stage = Stage::new();
    let environment = claude_lead(&stage, &server);
    // Mail that comes before its turn has ended waits for its end too.
    let path = stage.repo().join(".claude/settings.local.json");
    let settings = std::fs::read_to_string(&path).unwrap();
    let without = settings.replace("shipmate inbox --hook Stop", "true");
    assert_ne!(settings, without);
    std::fs::write(path, without).unwrap();
    let trusted = stage.root().join("home/.claude.json");
    let mut known: Value = serde_json::from_slice(&std::fs::read(&trusted).unwrap()).unwrap();
    let repo = stage.repo().canonicalize().unwrap();
    known["projects"][repo.to_str().unwrap()] = json!({ "hasTrustDialogAccepted": true });
    std::fs::write(trusted, known.to_string()).unwrap();

    let line =
        format!("exec '{}' --dangerously-skip-permissions", Program::Claude.path().display());
    let terminal = AtTerminal::start(&stage, &environment, &format!("{line} 'make a team: 0'"));
    // It asks its model before its servers are there, and has their tools in one of the next turns.
    for n in 0..100 {
        if n > 0 {
            terminal.enters(&format!("make a team: {n}"));
        }
        let words = format!("make a team: {n}");
        let asked = server.wait_for(|request| request.contains(&words));
        if asked.body.to_string().contains("mcp__shipmate__TeamCreate\"") {
            break;
        }
    }
    // The team is there. A lead's tools may be in the request that says so, or in the next one.
    server.wait_for(|request| request.contains("tool_result"));
    let mut send = Command::new(SHIPMATE);
    send.args(["send", "claude", "news from the harbour"]).current_dir(stage.repo());
    assert!(send.env_clear().envs(environment).output().unwrap().status.success());
    let woken = server.wait_for(|request| request.contains("news from the harbour"));
    assert!(woken.contains("The team is there."), "{}", woken.body);
    assert!(woken.contains("Stop hook feedback"), "{}", woken.body);
    drop(terminal);
}
