//! Tools of an MCP server that the person has set up in the vendors' real programs: each is asked about once
//! in a life, before it runs; edits, commands and the team's own tools are not.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};
use shipmate_protocol::verbs::TaskNew;
use shipmate_protocol::{Ask, verbs};
use shipmate_testkit::model::Server;

use crate::cast::{self, CLAUDE, CODEX, GEMINI, Kind, OPENCODE};
use crate::stage::Stage;

/// An MCP server in a few lines of shell: the tide, and a tool that the person may deny.
const SERVER: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case "$line" in
    *'"initialize"'*) say '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},
      "serverInfo":{"name":"own","version":"1"}}' | tr -d '\n'; echo;;
    *'"tools/list"'*) say '{"tools":[{"name":"tide","description":"The tide",
      "inputSchema":{"type":"object","properties":{}}},{"name":"sink","description":"Sinks a ship",
      "inputSchema":{"type":"object","properties":{}}}]}' | tr -d '\n'; echo;;
    *'"tools/call"'*) say '{"content":[{"type":"text","text":"it is high at noon"}]}';;
    *'"id"'*) say '{}';;
  esac
done
"#;

const SCRIPT: &str = r#"
    as ana
    on "write one"
      say I will write the files.
      shell echo one > one.txt
      write two.txt two
      # Where it has to be looked for.
      & tool ToolSearch {"query":"select:mcp__own__tide"}
      tool tide {}
      tool tide {}
      tool TaskUpdate {"taskId":"1","status":"completed","result":"{{last 400}}"}
      say All done.
"#;

/// A team of one whose person has set this server up.
fn stage(kind: &Kind, server: &Server, set_up: fn(&Path, &Path)) -> Stage {
    let mut stage = cast::stage(kind, server);
    let path = stage.root().join("own-server");
    std::fs::write(&path, SERVER).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    set_up(&stage.root().join("home"), &path);
    cast::team(&mut stage, kind, |_| {});
    stage
}

pub(crate) fn change(file: &Path, more: &Value) {
    let text = std::fs::read_to_string(file).unwrap();
    let mut settings: Value = serde_json::from_str(&text).unwrap();
    for (name, value) in more.as_object().unwrap() {
        settings[name] = value.clone();
    }
    std::fs::write(file, settings.to_string()).unwrap();
}

fn claude(home: &Path, server: &Path) {
    let own = json!({ "own": { "type": "stdio", "command": server, "args": [] } });
    change(&home.join(".claude.json"), &json!({ "mcpServers": own }));
}

fn codex(home: &Path, server: &Path) {
    let path = home.join(".codex/config.toml");
    let config = std::fs::read_to_string(&path).unwrap();
    let own = format!("[mcp_servers.own]\ncommand = {:?}\n", server.display().to_string());
    std::fs::write(&path, config + &own).unwrap();
}

fn opencode(home: &Path, server: &Path) {
    let mcp = json!({ "own": { "type": "local", "command": [server], "enabled": true } });
    let more = json!({ "mcp": mcp, "permission": { "own_sink": "deny" } });
    change(&home.join(".config/opencode/opencode.json"), &more);
}

fn gemini_trusts(home: &Path, server: &Path) {
    let own = json!({ "own": { "command": server, "trust": true } });
    change(&home.join(".gemini/settings.json"), &json!({ "mcpServers": own }));
}

fn gemini_allows(home: &Path, server: &Path) {
    let own = json!({ "own": { "command": server } });
    let more = json!({
        "mcpServers": own,
        "mcp": { "allowed": ["own"] },
        "tools": { "allowed": ["mcp_own_tide"] },
    });
    change(&home.join(".gemini/settings.json"), &more);
}

/// The tool is used twice and asked about once; nothing else is asked about.
fn is_asked_once(kind: &Kind, set_up: fn(&Path, &Path)) {
    let server = Server::start(SCRIPT);
    let mut stage = stage(kind, &server, set_up);
    let subject = "write one".to_owned();
    stage.create(vec![TaskNew { subject, ..TaskNew::default() }]);
    let asked = stage.hear(|event| event.get("question.asked").is_some());
    let text = asked["event"]["question.asked"]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("tide"), "{text}");
    let request = server.wait_for(|request| request.contains("two.txt"));
    assert!(!request.contains("it is high at noon"), "it ran before it was allowed");
    let (question, answer) = (asked["n"].as_u64().unwrap(), "allow".to_owned());
    stage.ask(Ask::Answer(verbs::QuestionAnswer { question, answer }));
    stage.finished(1);
    let result = stage.task(1).result.unwrap();
    assert!(result.contains("it is high at noon"), "{result}");
    assert_eq!((stage.file("one.txt"), stage.file("two.txt")), ("one\n".into(), "two\n".into()));
    stage.catch_up();
    let questions = stage.events("question.asked");
    assert_eq!(questions.len(), 1, "{questions:?}");
}

#[test]
fn claude_asks_once_about_a_tool_of_a_persons_server() {
    is_asked_once(&CLAUDE, claude);
}

#[test]
fn codex_asks_once_about_a_tool_of_a_persons_server() {
    is_asked_once(&CODEX, codex);
}

#[test]
#[ignore = "needs opencode: cargo xtask test clients"]
fn opencode_asks_once_about_a_tool_of_a_persons_server() {
    is_asked_once(&OPENCODE, opencode);
}

#[test]
#[ignore = "needs opencode: cargo xtask test clients"]
fn what_the_person_denies_in_opencode_is_not_offered() {
    let server = Server::start(SCRIPT);
    let mut stage = stage(&OPENCODE, &server, opencode);
    let subject = "write one".to_owned();
    stage.create(vec![TaskNew { subject, ..TaskNew::default() }]);
    let about = |text: &str| text.contains("own_tide");
    let request = server.wait_for(|request| about(&request.body.to_string()));
    assert!(!request.contains("own_sink"), "{}", request.body);
}

#[test]
#[ignore = "needs gemini: cargo xtask test clients"]
fn gemini_asks_once_about_a_tool_of_a_server_that_the_person_trusts() {
    is_asked_once(&GEMINI, gemini_trusts);
}

#[test]
#[ignore = "needs gemini: cargo xtask test clients"]
fn gemini_asks_once_about_an_allowed_tool_and_keeps_the_teams() {
    is_asked_once(&GEMINI, gemini_allows);
}

/// It tells its model that the person cancelled; the reason comes with what it is told next.
#[test]
#[ignore = "needs gemini: cargo xtask test clients"]
fn gemini_is_told_why_a_tool_was_refused() {
    let server = Server::start("as ana\non \"write one\"\n  tool tide {}\n  say I looked.\n");
    let mut stage = stage(&GEMINI, &server, gemini_trusts);
    let subject = "write one".to_owned();
    stage.create(vec![TaskNew { subject, no_change: true, ..TaskNew::default() }]);
    let asked = stage.hear(|event| event.get("question.asked").is_some());
    let (question, answer) = (asked["n"].as_u64().unwrap(), "the tide is the harbour's".to_owned());
    stage.ask(Ask::Answer(verbs::QuestionAnswer { question, answer }));
    server.wait_for(|request| request.contains("the tide is the harbour's"));
}
