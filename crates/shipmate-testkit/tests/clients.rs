//! The heavier agent programs on the scripted model, and everything that speaks ACP.
//!
//! `cargo xtask test clients` installs them and runs these; every other run names them as left
//! out. What is proved: each program takes our wire format, runs a command that the script wants,
//! ends its turn, and never looks beyond loopback.

#[path = "support/program.rs"]
mod program;

use program::{Child, Folder};
use serde_json::{Value, json};
use shipmate_testkit::model::Server;
use shipmate_testkit::programs::{Environment, Program, Surroundings, strays};

const SCRIPT: &str = r#"
as ana
on "task 1"
  say I will write the file.
  shell mkdir -p src && echo one > src/one.txt && echo made-it
  write src/two.txt two
  say Done.
"#;

const PROMPT: &str = "You are ana. Please do task 1";

fn assert_done(server: &Server, folder: &Folder) {
    assert_eq!(folder.read("work/src/one.txt"), "one\n");
    assert_eq!(folder.read("work/src/two.txt"), "two\n");
    let steps: Vec<_> = server
        .requests()
        .into_iter()
        .filter(|request| request.actor.is_some())
        .map(|request| request.reply)
        .collect();
    assert_eq!(steps, ["line 3 step 1", "line 3 step 2", "line 3 step 3"]);
    let strays: Vec<_> = strays(server).into_iter().map(|request| request.path).collect();
    assert!(strays.is_empty(), "{strays:?}");
}

/// Runs a program to its end with the prompt among its arguments.
fn once(
    program: Program,
    arguments: &[&str],
    surroundings: fn(&std::path::Path, &Server) -> Environment,
) {
    let server = Server::start(SCRIPT);
    let folder = Folder::new();
    let environment = surroundings(&folder.path("home"), &server);
    let child = Child::start(&program.path(), arguments, &folder.path("work"), environment);
    let (status, told) = child.rest();
    assert!(status.success(), "{told:#?}");
    assert!(told.iter().any(|line| line.to_string().contains("Done.")), "{told:#?}");
    assert_done(&server, &folder);
}

/// Starts a session over ACP, gives the prompt and allows whatever is asked.
fn over_acp(
    program: Program,
    arguments: &[&str],
    surroundings: fn(&std::path::Path, &Server) -> Environment,
    mode: Option<&str>,
) {
    let server = Server::start(SCRIPT);
    let folder = Folder::new();
    let environment = surroundings(&folder.path("home"), &server);
    let mut child = Child::start(&program.path(), arguments, &folder.path("work"), environment);
    let files = json!({"readTextFile": false, "writeTextFile": false});
    let initialize = json!({"protocolVersion": 1, "clientCapabilities": {"fs": files}});
    ask(&mut child, 1, "initialize", &initialize);
    let new = json!({"cwd": folder.path("work"), "mcpServers": []});
    let session = ask(&mut child, 2, "session/new", &new)["sessionId"].clone();
    if let Some(mode) = mode {
        ask(&mut child, 3, "session/set_mode", &json!({"sessionId": session, "modeId": mode}));
    }
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": PROMPT}]});
    let result = ask(&mut child, 4, "session/prompt", &prompt);
    assert_eq!(result["stopReason"], "end_turn", "{result}");
    assert_done(&server, &folder);
    child.kill();
}

/// The result of a request; what the agent asks meanwhile is allowed.
fn ask(child: &mut Child, id: u64, method: &str, params: &Value) -> Value {
    child.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    loop {
        let line = child.until(|line| {
            line["method"] == "session/request_permission"
                || (line["id"] == id && line.get("method").is_none())
        });
        if line["method"] != "session/request_permission" {
            assert!(line.get("error").is_none(), "{method}: {line}");
            return line["result"].clone();
        }
        let mut options = line["params"]["options"].as_array().expect("there are options").iter();
        let allowed = options.find(|option| option["kind"] == "allow_once");
        let option = &allowed.expect("it can be allowed")["optionId"];
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
        child.send(&json!({"jsonrpc": "2.0", "id": line["id"], "result": outcome}));
    }
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test clients"]
fn gemini_follows_the_script_and_stays_on_loopback() {
    once(Program::Gemini, &["--yolo", "-p", PROMPT], Surroundings::gemini);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test clients"]
fn gemini_over_acp_follows_the_script_and_stays_on_loopback() {
    over_acp(Program::Gemini, &["--acp"], Surroundings::gemini, None);
}

#[test]
#[ignore = "needs opencode: cargo xtask test clients"]
fn opencode_follows_the_script_and_stays_on_loopback() {
    once(Program::Opencode, &["run", PROMPT], Surroundings::opencode);
}

#[test]
#[ignore = "needs opencode: cargo xtask test clients"]
fn opencode_over_acp_follows_the_script_and_stays_on_loopback() {
    over_acp(Program::Opencode, &["acp"], Surroundings::opencode, None);
}

#[test]
#[ignore = "needs claude-agent-acp: cargo xtask test clients"]
fn claude_over_acp_follows_the_script_and_stays_on_loopback() {
    over_acp(Program::ClaudeAgentAcp, &[], Surroundings::claude, None);
}

#[test]
#[ignore = "needs codex-acp: cargo xtask test clients"]
fn codex_over_acp_follows_the_script_and_stays_on_loopback() {
    over_acp(Program::CodexAcp, &[], Surroundings::codex, Some("agent-full-access"));
}
