//! `shipmate install` and the hooks it installs.

use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::stage::{SHIPMATE, Stage};

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn a_change_is_shown_and_written_only_with_consent() {
    let stage = Stage::new();
    let output = stage.command(SHIPMATE).args(["install", "claude"]).stdin(Stdio::null()).output();
    let output = output.unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("+++ ") && shown.contains("/.mcp.json\n"), "{shown}");
    assert!(shown.contains("+    \"shipmate\": {"), "{shown}");
    assert_eq!(output.status.code(), Some(2), "nobody agreed");
    assert!(!stage.repo().join(".mcp.json").exists());
}

#[test]
fn an_installation_is_taken_back_exactly_although_the_files_were_edited() {
    let stage = Stage::new();
    let settings = stage.repo().join(".claude/settings.local.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let own = "{\n\t\"permissions\": { \"allow\": [\"Bash(ls)\"] },\n\t\"hooks\": {\n\t\t\"Stop\": [ \
               { \"hooks\": [] } ]\n\t}\n}\n";
    std::fs::write(&settings, own).unwrap();
    stage.shipmate(&["install", "claude", "--yes"]);
    let written = text(&settings);
    let said = stage.shipmate(&["install", "claude", "--yes"]);
    assert_eq!(said, "nothing to change: it is so already\n");
    assert_eq!(text(&settings), written);
    let value: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(value["hooks"]["Stop"].as_array().unwrap().len(), 3, "{written}");
    std::fs::write(&settings, written.replace("Bash(ls)", "Bash(cat)")).unwrap();
    stage.shipmate(&["install", "claude", "--undo", "--yes"]);
    assert_eq!(text(&settings), own.replace("Bash(ls)", "Bash(cat)"));
    assert!(!stage.repo().join(".mcp.json").exists());
    let again = stage.shipmate(&["install", "claude", "--undo", "--yes"]);
    assert_eq!(again, "nothing to change: it is so already\n");
}

#[test]
fn codex_settings_keep_every_byte_around_what_is_added() {
    let stage = Stage::new();
    let config = stage.root().join("home/.codex/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    let own = "# mine\nmodel = \"x\"   # kept\n\n[mcp_servers.other]\ncommand = 'o'\n";
    std::fs::write(&config, own).unwrap();
    let kept = stage.shipmate(&["install", "codex", "--scope", "user", "--yes", "--json"]);
    let kept: Value = serde_json::from_str(&kept).unwrap();
    let backup = kept["changed"][0]["backup"].as_str().unwrap();
    assert_eq!(text(Path::new(backup)), own);
    assert!(text(&config).starts_with(own));
    assert!(text(&config).contains("\n[mcp_servers.shipmate]\ncommand = "));
    std::fs::write(&config, format!("{}\n[later]\na = 1\n", text(&config))).unwrap();
    stage.shipmate(&["install", "codex", "--scope", "user", "--undo", "--yes"]);
    assert_eq!(text(&config), format!("{own}\n[later]\na = 1\n"));
    assert!(!stage.root().join("home/.codex/hooks.json").exists());
}

#[test]
fn a_file_that_cannot_be_understood_is_left_as_it_is() {
    let stage = Stage::new();
    let path = stage.repo().join(".mcp.json");
    for broken in ["{", "[1]", "{\"mcpServers\": {\"shipmate\": {\"command\": \"other\"}}}"] {
        std::fs::write(&path, broken).unwrap();
        let output = stage.run(&["install", "claude", "--yes"]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(".mcp.json: "), "{output:?}");
        assert_eq!(text(&path), broken);
    }
    assert!(!stage.repo().join(".claude").exists(), "nothing was changed at all");
}

fn hook(stage: &Stage, event: &str, told: &Value) -> Output {
    let mut command = stage.command(SHIPMATE);
    command.args(["inbox", "--hook", event]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    // It may have ended without reading.
    drop(child.stdin.take().unwrap().write_all(told.to_string().as_bytes()));
    child.wait_with_output().unwrap()
}

#[test]
fn a_hook_finds_the_seat_of_the_session_beside_it_and_says_each_message_once() {
    let stage = Stage::new();
    let silent = hook(&stage, "Stop", &json!({}));
    assert!(silent.status.success() && silent.stdout.is_empty(), "no seat: {silent:?}");
    stage.team(&["ana"]);
    // Both the session and the hooks are children of this process, as of a client.
    let mut session = stage.session().ready();
    session.call("TaskList", json!({}));
    let send = |text: &str| drop(stage.shipmate(&["--as", "ana", "send", "claude", text]));
    let said = |event: &str| -> Value {
        let output = hook(&stage, event, &json!({ "hook_event_name": event }));
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    };
    assert_eq!(said("UserPromptSubmit"), Value::Null, "no mail");
    send("one");
    let subagent = hook(&stage, "PostToolUse", &json!({ "agent_id": "a1" }));
    assert!(subagent.stdout.is_empty(), "mail is the session's: {subagent:?}");
    let context = said("PostToolUse");
    assert_eq!(context["hookSpecificOutput"]["hookEventName"], "PostToolUse");
    let text = context["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(text.contains("<teammate-message from=\"ana\"") && text.contains("one"), "{text}");
    send("two");
    let blocked = said("Stop");
    assert_eq!(blocked["decision"], "block");
    assert!(blocked["reason"].as_str().unwrap().contains("two"), "{blocked}");
    assert_eq!(said("Stop"), Value::Null, "it was told");
    // One that waits beside the idle session wakes it with what comes; a second one does not wait.
    let waits = || {
        let mut command = stage.command(SHIPMATE);
        command.args(["inbox", "--hook", "Wake"]).stdin(Stdio::null()).stderr(Stdio::piped());
        command.env("CLAUDE_CODE_ENTRYPOINT", "cli");
        command.spawn().unwrap()
    };
    let at_once = hook(&stage, "Wake", &json!({}));
    assert!(at_once.status.success(), "a session that ends with its answer: {at_once:?}");
    let first = waits();
    let lock = || std::fs::read_dir(stage.repo().join(".shipmate/state/seats")).unwrap();
    while !lock().any(|one| one.unwrap().path().extension().is_some_and(|end| end == "waiting")) {
        std::thread::yield_now();
    }
    send("four");
    let woken = first.wait_with_output().unwrap();
    assert_eq!(woken.status.code(), Some(2), "{woken:?}");
    assert!(String::from_utf8_lossy(&woken.stderr).contains("four"), "{woken:?}");
    let waiting = waits();
    session.terminate();
    let ended = waiting.wait_with_output().unwrap();
    assert!(ended.status.success() && ended.stderr.is_empty(), "{ended:?}");
    send("three");
    assert_eq!(said("Stop"), Value::Null, "the session is gone");
}
