//! A person's own session of a real agent program: it gets the tools and the hooks from
//! `shipmate install`, leads a team over MCP on the scripted model, and hears its mail.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};

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

#[test]
fn a_codex_session_leads_a_team_and_hears_its_mail() {
    let trust = |stage: &Stage| {
        let path = stage.root().join("home/.codex/config.toml");
        let mut config = std::fs::read_to_string(&path).unwrap();
        config.push_str(&format!("[projects.{:?}]\ntrust_level = \"trusted\"\n", stage.repo()));
        std::fs::write(&path, config).unwrap();
    };
    let options = [
        "exec",
        "--dangerously-bypass-approvals-and-sandbox",
        "--dangerously-bypass-hook-trust",
        "make a team",
    ];
    lead_over_mcp(Program::Codex, "codex", "codex", &options, Surroundings::codex, trust);
}
