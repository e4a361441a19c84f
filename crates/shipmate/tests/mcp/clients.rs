//! Programs of others against this server: the protocol's conformance suite and its inspector.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Output;

use serde_json::Value;
use shipmate_testkit::programs::Program;

use crate::http::Serving;
use crate::stage::{SHIPMATE, Stage};

/// Scenarios that ask for tools, resources or prompts which the suite names itself
/// (`test_image_content`, `test://static-text`, …), which a server of its own kind has not got.
const FIXTURES: [&str; 19] = [
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-with-logging",
    "tools-call-with-progress",
    "tools-call-sampling",
    "tools-call-elicitation",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
    "resources-read-text",
    "resources-read-binary",
    "resources-templates-read",
    "resources-subscribe",
    "resources-unsubscribe",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-embedded-resource",
    "prompts-get-with-image",
];

/// Stands before the server and adds the token: the suite cannot send one.
fn with_token(serving: &Serving) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (server, token) = (serving.port, serving.token.clone());
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let token = token.clone();
            std::thread::spawn(move || relay(client.unwrap(), port, server, &token));
        }
    });
    port
}

/// One request a connection, so that only the first head is one.
fn relay(mut client: TcpStream, here: u16, server: u16, token: &str) {
    let mut read = Vec::new();
    let mut part = [0; 4096];
    let end = loop {
        let Ok(count @ 1..) = client.read(&mut part) else { return };
        read.extend_from_slice(&part[..count]);
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
    };
    let head = String::from_utf8_lossy(&read[..end]);
    let kept = head.lines().filter(|line| !line.to_lowercase().starts_with("connection:"));
    let mut head: String = kept.map(|line| format!("{line}\r\n")).collect();
    head = head.replace(&format!(":{here}"), &format!(":{server}"));
    head.push_str(&format!("Authorization: Bearer {token}\r\nConnection: close\r\n"));
    let mut upstream = TcpStream::connect(("127.0.0.1", server)).unwrap();
    // Whichever side goes first ends the other; a broken pipe is no failure of the test.
    drop(write!(upstream, "{head}\r\n").and_then(|()| upstream.write_all(&read[end + 4..])));
    let (mut from, mut to) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
    std::thread::spawn(move || drop(std::io::copy(&mut from, &mut to)));
    drop(std::io::copy(&mut upstream, &mut client));
    drop(client.shutdown(Shutdown::Both));
}

#[test]
#[ignore = "needs the MCP conformance suite: cargo xtask test clients"]
fn the_conformance_suite_misses_only_what_it_names_itself() {
    let stage = Stage::new();
    stage.team(&[]);
    let serving = Serving::start(&stage);
    let url = format!("http://127.0.0.1:{}/mcp", with_token(&serving));
    let baseline = stage.root().join("expected.yml");
    let list: String = FIXTURES.iter().map(|name| format!("  - {name}\n")).collect();
    std::fs::write(&baseline, format!("server:\n{list}")).unwrap();
    let output = stage
        .command(Program::Conformance.path().to_str().unwrap())
        .current_dir(stage.root())
        .args(["server", "--url", &url, "--expected-failures"])
        .arg(&baseline)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let summary = said.split("=== SUMMARY ===").nth(1).unwrap_or(&said);
    println!("{summary}");
    assert!(output.status.success(), "{summary}\n{}", String::from_utf8_lossy(&output.stderr));
    for scenario in [
        "server-initialize",
        "logging-set-level",
        "ping",
        "completion-complete",
        "tools-list",
        "tools-call-error",
        "server-sse-multiple-streams",
        "resources-list",
        "prompts-list",
        "dns-rebinding-protection",
    ] {
        assert!(summary.contains(&format!("✓ {scenario}:")), "{scenario}: {summary}");
    }
}

fn inspect(stage: &Stage, args: &[&str]) -> Output {
    stage
        .command(Program::Inspector.path().to_str().unwrap())
        .arg("--cli")
        .args(args)
        .output()
        .unwrap()
}

#[track_caller]
fn data(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}

#[test]
#[ignore = "needs the MCP inspector: cargo xtask test clients"]
fn the_inspector_lists_and_calls_tools_on_a_pipe_and_over_http() {
    let stage = Stage::new();
    stage.team(&["ana"]);
    stage.shipmate(&["task", "create", "Parse"]);
    let token = stage.token("ana");
    let variable = format!("SHIPMATE_TOKEN={token}");
    let serving = Serving::start(&stage);
    let url = format!("http://127.0.0.1:{}/mcp", serving.port);
    let header = format!("Authorization: Bearer {token}");
    let pipe = [SHIPMATE, "mcp", "-e", &variable];
    let http = [url.as_str(), "--transport", "http", "--header", &header];
    for target in [&pipe[..], &http[..]] {
        let ask = |more: &[&str]| data(&inspect(&stage, &[target, more].concat()));
        let tools = ask(&["--method", "tools/list", "--strict"]);
        assert!(tools["tools"].as_array().is_some_and(|tools| tools.len() > 5), "{tools}");
        let listed = ask(&["--method", "tools/call", "--tool-name", "TaskList"]);
        assert_eq!(listed["structuredContent"]["tasks"][0]["subject"], "Parse", "{listed}");
        let board = ask(&["--method", "resources/read", "--uri", "shipmate://board"]);
        assert!(board.to_string().contains("Parse"), "{board}");
        let brief = ask(&["--method", "prompts/get", "--prompt-name", "teammate-brief"]);
        assert!(brief.to_string().contains("a teammate in team alpha"), "{brief}");
    }
}
