//! Definitions of agents that people have already, behind the vendors' real programs: the body is in the
//! request, a tool that is not given is not used, the server of the definition is there, the model is asked.

use std::os::unix::fs::PermissionsExt;

use shipmate_protocol::verbs::TaskNew;
use shipmate_testkit::model::{Request, Server};

use crate::cast::{self, CLAUDE, CODEX, GEMINI, Kind, OPENCODE};
use crate::stage::Stage;

const BODY: &str = "Begin every answer with the words of the harbour master.";

/// An MCP server in a few lines of shell.
const SERVER: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case "$line" in
    *'"initialize"'*) say '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},
      "serverInfo":{"name":"own","version":"1"}}' | tr -d '\n'; echo;;
    *'"tools/list"'*) say '{"tools":[{"name":"tide","description":"The tide of the harbour",
      "inputSchema":{"type":"object","properties":{}}}]}' | tr -d '\n'; echo;;
    *'"id"'*) say '{}';;
  esac
done
"#;

const SCRIPT: &str = r#"
    as ana
    on "write one"
      say I will write the file.
      shell echo one > one.txt
      say I could not.
"#;

/// A team of one that is made from `.claude/agents/harbour.md`.
fn stage(kind: &Kind, server: &Server) -> Stage {
    let mut stage = cast::stage(kind, server);
    let path = stage.root().join("own-server");
    std::fs::write(&path, SERVER).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let text = format!(
        "---\nname: harbour\ndescription: Knows the harbour\ntools: Read, Grep, Edit, Write\nmodel: \
         claude-harbour-1\nmcpServers:\n  - own:\n      command: {}\n---\n{BODY}\n",
        path.display()
    );
    stage.write(".claude/agents/harbour.md", &text);
    stage.commit();
    cast::team(&mut stage, kind, |add| add.from = "harbour".to_owned());
    stage
}

/// The first request that is about the task.
fn first(stage: &mut Stage, server: &Server) -> Request {
    let (subject, no_change) = ("write one".to_owned(), true);
    stage.create(vec![TaskNew { subject, no_change, ..TaskNew::default() }]);
    // opencode has a title made first.
    server.wait_for(|request| request.contains("write one") && !request.contains("title generator"))
}

/// What its program does not hold, as it was recorded.
fn noted(stage: &mut Stage) -> String {
    stage.teammate("ana").unheld.join("; ")
}

fn is_held(kind: &Kind) -> (Request, String) {
    let server = Server::start(SCRIPT);
    let mut stage = stage(kind, &server);
    let request = first(&mut stage, &server);
    assert!(request.contains(BODY), "{}", request.body);
    let transcript = || {
        std::fs::read_to_string(stage.life("ana", 1).join("transcript.jsonl")).unwrap_or_default()
    };
    // Codex tells its model of a server's tools when that looks for them.
    let is_there = request.contains("The tide of the harbour")
        || transcript().contains(r#""name":"own","status":"ready""#);
    assert!(is_there, "{}", request.body);
    stage.finished(1);
    assert!(!stage.has_file("one.txt"), "its shell wrote");
    let noted = noted(&mut stage);
    (request, noted)
}

#[test]
fn claude_is_what_its_definition_says() {
    let (request, noted) = is_held(&CLAUDE);
    assert_eq!(request.body["model"], "claude-harbour-1");
    let tools = request.body["tools"].as_array().unwrap().iter();
    let tools: Vec<&str> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(tools.contains(&"Edit") && !tools.contains(&"Bash"), "{tools:?}");
    assert_eq!(noted, "");
}

#[test]
fn codex_is_what_its_definition_says() {
    let (_, noted) = is_held(&CODEX);
    assert!(noted.contains("the model claude-harbour-1 is one of claude's"), "{noted}");
    assert!(noted.contains("runs commands that only look"), "{noted}");
}

#[test]
#[ignore = "needs gemini: cargo xtask test clients"]
fn gemini_is_what_its_definition_says() {
    let (_, noted) = is_held(&GEMINI);
    assert!(noted.contains("the model claude-harbour-1 is one of claude's"), "{noted}");
}

#[test]
#[ignore = "needs opencode: cargo xtask test clients"]
fn opencode_is_what_its_definition_says() {
    let (_, noted) = is_held(&OPENCODE);
    assert_eq!(noted, "");
}
