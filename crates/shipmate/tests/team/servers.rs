//! MCP servers of the native agent: processes, and servers that are reached by HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::Value;
use shipmate_protocol::verbs::Setup;
use shipmate_protocol::{Ask, verbs};
use shipmate_testkit::model::Server;

use super::{configured, native, said};
use crate::stage::Stage;

/// An MCP server in a few lines of shell: the tide, and what it cannot do.
const HARBOUR: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case "$line" in
    *'"initialize"'*) say '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"h"}}';;
    *'"tools/list"'*) say '{"tools":[{"name":"tide","description":"The tide","inputSchema":{"type":"object"}}]}';;
    *'"tools/call"'*) say '{"content":[{"type":"text","text":"it is high at noon"}]}';;
  esac
done
"#;

#[test]
fn a_native_teammate_uses_the_servers_that_the_repository_names_once_it_is_allowed_to() {
    let server = Server::start(
        "as a\non \"Task 1:\"\n  tool mcp__harbour__tide {}\n  tool mcp__harbour__tide {}\n  say {{last 100}}\n",
    );
    let config = format!(
        "[models]\ndefault = \"test/scripted\"\n[models.test]\nprotocol = \"anthropic\"\nbase-url = \
         \"{}\"\nkey-variable = \"\"\n",
        server.url()
    );
    let mut stage = Stage::new(&config);
    stage.write("harbour.sh", HARBOUR);
    let file = r#"{"mcpServers": {"harbour": {"command": "sh", "args": ["harbour.sh"]},
        "shipmate": {"command": "shipmate", "args": ["mcp"]}, "gone": {"command": "no-such-server"},
        "ends": {"command": "false"}}}"#;
    stage.write(".mcp.json", file);
    stage.commit();
    stage.team(Setup::default(), &[]);
    native(&mut stage, "a", "normal");
    stage.tasks(&["look"]);
    // One question for the tool, however often it is used.
    let asked = stage.hear(|event| event.get("question.asked").is_some());
    let text = asked["event"]["question.asked"]["text"].as_str().unwrap();
    assert!(text.contains("mcp__harbour__tide"), "{text}");
    let (question, answer) = (asked["n"].as_u64().unwrap(), "allow".to_owned());
    stage.ask(Ask::Answer(verbs::QuestionAnswer { question, answer }));
    stage.finished(1);
    let request = server.wait_for(|request| request.contains("it is high at noon"));
    let tools = request.body["tools"].as_array().unwrap().iter();
    let tools: Vec<&str> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(tools.contains(&"mcp__harbour__tide"), "{tools:?}");
    stage.catch_up();
    assert_eq!(stage.events("question.asked").len(), 1);
    assert!(said(&stage, "a", 1).contains("the MCP server gone is not there"));
    stage.nothing_left();
}

/// One that has its tools on two pages, and some that no model can be offered.
const PAGES: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case "$line" in
    *'"initialize"'*) say '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"h"}}';;
    *'"cursor":"2"'*) say '{"tools":[{"name":"second"}]}';;
    *'"tools/list"'*) say '{"tools":[{"name":"first"},{"name":"first"},{"name":"in two"}],"nextCursor":"2"}';;
  esac
done
"#;

#[test]
fn what_a_server_has_that_no_model_can_be_offered_is_left_out_and_said() {
    let server = Server::start("as a\non \"Task 1:\"\n  say Looked.\n");
    let mut stage = configured(&server, "anthropic", "");
    stage.write("pages.sh", PAGES);
    let file = r#"{"mcpServers": {"my.pages": {"command": "sh", "args": ["pages.sh"]},
        "pages": {"command": "sh", "args": ["pages.sh"]}, "far": {"type": "http", "url": "http://localhost:1/"}}}"#;
    stage.write(".mcp.json", file);
    stage.commit();
    stage.team(Setup::default(), &[]);
    native(&mut stage, "a", "normal");
    stage.tasks(&["look"]);
    stage.finished(1);
    let request = server.wait_for(|request| request.contains("Task 1:"));
    let tools = request.body["tools"].as_array().unwrap().iter();
    let tools: Vec<&str> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
    let servers: Vec<&&str> = tools.iter().filter(|tool| tool.starts_with("mcp__")).collect();
    assert_eq!(servers, [&"mcp__pages__first", &"mcp__pages__second"]);
    let said = said(&stage, "a", 1);
    for words in [
        "no model can be offered \"mcp__pages__in two\"",
        "no model can be offered \"mcp__my.pages__first\"",
        "there is a tool mcp__pages__first already",
        "the MCP server far is not there: http://localhost:1 cannot be reached",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn a_native_teammate_uses_servers_that_are_reached_by_http_once_it_is_allowed_to() {
    let server = Server::start(
        "as a\non \"Task 1:\"\n  tool mcp__far__TaskList {}\n  tool mcp__far__TaskList {}\n  \
         tool mcp__old__tide {}\n  tool mcp__old__tide {}\n  say {{last 100}}\n",
    );
    let mut stage = configured(&server, "anthropic", "");
    // The server of another workspace, which has sessions and answers in streams of events.
    let mut command = crate::stage::hermetic(&stage.root(), crate::stage::SHIPMATE);
    let other = stage.root().join("other");
    std::fs::create_dir_all(other.join(".shipmate")).unwrap();
    command.arg("--workspace").arg(&other).args(["--json", "serve"]);
    let mut serving = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(serving.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let said_first: Value = serde_json::from_str(&line).unwrap();
    let url = said_first["mcp"].as_str().unwrap();
    let token = format!("Bearer {}", said_first["token"].as_str().unwrap());
    let old = older_server();
    let file = serde_json::json!({ "mcpServers": {
        "far": { "type": "http", "url": url, "headers": { "Authorization": token } },
        "old": { "type": "sse", "url": format!("http://127.0.0.1:{old}/sse") },
        "locked": { "type": "http", "url": url },
        "odd": { "type": "http", "url": "ftp://127.0.0.1/" },
    }});
    stage.write(".mcp.json", &file.to_string());
    stage.commit();
    stage.team(Setup::default(), &[]);
    native(&mut stage, "a", "normal");
    stage.tasks(&["look"]);
    // One question for each tool, however often it is used.
    for tool in ["mcp__far__TaskList", "mcp__old__tide"] {
        let asked = stage.hear(|event| event.get("question.asked").is_some());
        let text = asked["event"]["question.asked"]["text"].as_str().unwrap();
        assert!(text.contains(tool), "{text}");
        let (question, answer) = (asked["n"].as_u64().unwrap(), "allow".to_owned());
        stage.ask(Ask::Answer(verbs::QuestionAnswer { question, answer }));
    }
    stage.finished(1);
    server.wait_for(|request| request.contains("it is high at noon"));
    // A call that can have no answer any more is told so at once.
    server.wait_for(|request| request.contains("the stream of the server has ended"));
    let said = said(&stage, "a", 1);
    for words in [
        "the MCP server locked is not there: it answers 401 Unauthorized; give it a login in its headers",
        "the MCP server odd is not there: its url is no http:// or https:// address",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    stage.catch_up();
    assert_eq!(stage.events("question.asked").len(), 2);
    serving.kill().unwrap();
    serving.wait().unwrap();
    drop(
        crate::stage::hermetic(&stage.root(), crate::stage::SHIPMATE)
            .arg("--workspace")
            .arg(&other)
            .args(["coordinator", "stop"])
            .output(),
    );
    stage.nothing_left();
}

/// A server of the older kind: one stream that all answers come on, which says where messages go.
fn older_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut events, mut is_called): (Option<TcpStream>, bool) = (None, false);
        for stream in listener.incoming().map(Result::unwrap) {
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            let (mut first, mut length) = (String::new(), 0);
            lines.read_line(&mut first).unwrap();
            loop {
                let mut line = String::new();
                lines.read_line(&mut line).unwrap();
                match line.to_ascii_lowercase().strip_prefix("content-length:") {
                    Some(count) => length = count.trim().parse().unwrap(),
                    None if line.trim().is_empty() => break,
                    None => {}
                }
            }
            let mut body = vec![0; length];
            lines.read_exact(&mut body).unwrap();
            let mut stream = stream;
            if first.starts_with("GET /sse") {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n\
                            event: endpoint\r\ndata: /messages?session=1\r\n\r\n";
                stream.write_all(head.as_bytes()).unwrap();
                events = Some(stream);
                continue;
            }
            let is_message = first.starts_with("POST /messages?session=1");
            let status = if is_message { "202 Accepted" } else { "405 Method Not Allowed" };
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            let message: Value = serde_json::from_slice(&body).unwrap_or_default();
            let result = match message["method"].as_str() {
                Some("initialize") => {
                    r#"{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},
                    "serverInfo":{"name":"old","version":"1"}}"#
                }
                Some("tools/list") => r#"{"tools":[{"name":"tide"}]}"#,
                Some("tools/call") if is_called => {
                    let events = events.take().unwrap();
                    events.shutdown(std::net::Shutdown::Both).unwrap();
                    continue;
                }
                Some("tools/call") => {
                    is_called = true;
                    r#"{"content":[{"type":"text","text":"it is high at noon"}]}"#
                }
                _ => continue,
            };
            if let Some(events) = events.as_mut().filter(|_| is_message) {
                let answer =
                    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", message["id"]);
                let answer = answer.replace('\n', "\ndata: ");
                write!(events, "event: message\ndata: {answer}\n\n").unwrap();
            }
        }
    });
    port
}
