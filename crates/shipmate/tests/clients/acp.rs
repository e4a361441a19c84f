//! Programs that speak ACP: Gemini CLI, opencode, claude-agent-acp and codex-acp.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;
use shipmate_protocol::ask::{Setup, TaskNew};
use shipmate_testkit::model::Server;
use shipmate_testkit::programs::{Environment, Program, Surroundings};

use crate::stage::Stage;

struct Client {
    /// As a teammate's agent is named.
    agent: &'static str,
    program: Program,
    surroundings: fn(&Path, &Server) -> Environment,
}

const CLAUDE_AGENT_ACP: Client = Client {
    agent: "claude-agent-acp",
    program: Program::ClaudeAgentAcp,
    surroundings: Surroundings::claude,
};

const CODEX_ACP: Client =
    Client { agent: "codex-acp", program: Program::CodexAcp, surroundings: Surroundings::codex };

const OPENCODE: Client =
    Client { agent: "opencode", program: Program::Opencode, surroundings: opencode };

const GEMINI: Client = Client { agent: "gemini", program: Program::Gemini, surroundings: gemini };

/// A team of one, whose program is found first in the coordinator's PATH.
fn stage(client: &Client, server: &Server) -> Stage {
    let mut stage = Stage::new("");
    let home = stage.root().join("home");
    let bin = stage.root().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let mut script = "#!/bin/sh\n".to_owned();
    for (name, value) in (client.surroundings)(&home, server) {
        let (name, value) = (name.into_string().unwrap(), value.into_string().unwrap());
        script.push_str(&format!("export {name}='{value}'\n"));
    }
    script.push_str(&format!("exec '{}' \"$@\"\n", client.program.path().display()));
    let path = bin.join(client.agent);
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let trees = Setup { gate: vec!["test -e one.txt".to_owned()], ..Setup::default() };
    stage.team(trees, &[]);
    stage.add("ana", |mut add| {
        add.command = String::new();
        add.agent = client.agent.to_owned();
        add
    });
    stage
}

const DOES_IT: &str = r#"
    as ana
    on "write one"
      say I will write the file.
      shell echo one > one.txt
      tool TaskUpdate {"taskId":"1","status":"completed","result":"one is there"}
      say All done.
"#;

fn does_a_task(client: &Client) {
    let server = Server::start(DOES_IT);
    let mut stage = stage(client, &server);
    let subject = "write one".to_owned();
    let tasks = stage.create(vec![TaskNew { subject, ..TaskNew::default() }]);
    stage.finished(1);
    assert_eq!(stage.task(1).result.unwrap(), "one is there");
    assert_eq!(stage.file("one.txt"), "one\n");
    stage.all_once(&tasks);
}

#[test]
#[ignore = "needs claude-agent-acp: cargo xtask test clients"]
fn claude_agent_acp_does_a_task_and_it_is_merged() {
    does_a_task(&CLAUDE_AGENT_ACP);
}

#[test]
#[ignore = "needs codex-acp: cargo xtask test clients"]
fn codex_acp_does_a_task_and_it_is_merged() {
    does_a_task(&CODEX_ACP);
}

#[test]
#[ignore = "needs opencode: cargo xtask test clients"]
fn opencode_does_a_task_and_it_is_merged() {
    does_a_task(&OPENCODE);
}

#[test]
#[ignore = "needs gemini: cargo xtask test clients"]
fn gemini_does_a_task_and_it_is_merged() {
    does_a_task(&GEMINI);
}

fn opencode(home: &Path, server: &Server) -> Environment {
    let config = json!({
        "$schema": "https://opencode.ai/config.json",
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "autoupdate": false,
        "share": "disabled",
        "provider": { "scripted": {
            "npm": "@ai-sdk/openai-compatible",
            "options": { "baseURL": format!("{}/v1", server.url()), "apiKey": "fake" },
            "models": { "scripted": { "name": "scripted", "limit": { "context": 200_000, "output": 8_000 } } },
        } },
    });
    let mut environment = Surroundings::claude(home, server);
    environment.push(("OPENCODE_CONFIG_CONTENT".into(), config.to_string().into()));
    environment.push(("OPENCODE_DISABLE_MODELS_FETCH".into(), "1".into()));
    environment.push(("OPENCODE_DISABLE_AUTOUPDATE".into(), "1".into()));
    environment
}

fn gemini(home: &Path, server: &Server) -> Environment {
    let mut environment = Surroundings::claude(home, server);
    environment.push(("GEMINI_API_KEY".into(), "fake".into()));
    environment.push(("GOOGLE_GEMINI_BASE_URL".into(), server.url().into()));
    environment
}
