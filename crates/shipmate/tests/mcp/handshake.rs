//! Beginning and end of a session, and what is no request at all.

use serde_json::json;

use crate::pipe::Pipe;
use crate::stage::{SHIPMATE, Stage};

#[test]
fn every_version_with_a_handshake_is_spoken_and_others_get_the_newest() {
    let stage = Stage::new();
    for (asked, spoken) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut session = stage.session();
        let answer = session.initialize(asked, "probe");
        assert_eq!(answer["result"]["protocolVersion"], spoken, "{asked}: {answer}");
        assert_eq!(answer["result"]["serverInfo"]["name"], "shipmate");
        assert!(session.end().success());
    }
}

#[test]
fn the_newest_version_needs_no_handshake() {
    let stage = Stage::new();
    let mut session = stage.session();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "probe", "version": "1" },
    });
    let found = session.result("server/discover", json!({ "_meta": meta }));
    assert!(found["supportedVersions"].to_string().contains("2026-07-28"), "{found}");
    let listed = session.result("tools/list", json!({ "_meta": meta }));
    let names: Vec<_> = listed["tools"].as_array().unwrap().iter().map(|t| &t["name"]).collect();
    assert_eq!(names, ["TeamCreate", "ListAgents", "TaskList"]);
    assert!(session.end().success());
}

#[test]
fn a_probe_before_the_handshake_is_answered_at_once_and_the_handshake_goes_on() {
    let stage = Stage::new();
    let mut session = stage.session();
    let probe = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } });
    assert!(session.ask("server/discover", probe)["error"]["code"].is_i64());
    let mut session = session.ready();
    assert!(session.tools().contains(&"TeamCreate".to_owned()));
}

#[test]
fn an_unknown_method_and_parameters_of_a_wrong_type_are_told_apart() {
    let stage = Stage::new();
    let mut session = stage.session().ready();
    let code = |session: &mut Pipe, method: &str, params| {
        session.ask(method, params)["error"]["code"].as_i64().unwrap()
    };
    assert_eq!(code(&mut session, "team/rule", json!({})), -32601);
    assert_eq!(code(&mut session, "tools/call", json!({ "name": 3 })), -32602);
    assert_eq!(code(&mut session, "tools/call", json!({ "name": "X", "arguments": [1] })), -32602);
    assert_eq!(code(&mut session, "resources/read", json!({ "uri": {} })), -32602);
    assert_eq!(
        code(&mut session, "resources/read", json!({ "uri": "file:///etc/passwd" })),
        -32002
    );
    assert_eq!(code(&mut session, "prompts/get", json!({ "name": "other" })), -32602);
    // And it goes on.
    assert_eq!(session.result("ping", json!({})), json!({}));
    assert_eq!(session.result("logging/setLevel", json!({ "level": "debug" })), json!({}));
}

#[test]
fn lines_that_are_no_messages_end_nothing() {
    let stage = Stage::new();
    let mut session = stage.session().ready();
    for line in ["", "no json", "{\"jsonrpc\":\"2.0\"}", "[1,2]", "{\"id\":1,\"method\":", "\u{0}"]
    {
        session.send(line);
    }
    session.notices.clear();
    assert_eq!(session.result("ping", json!({})), json!({}));
}

#[test]
fn with_agent_teams_off_nothing_is_registered_and_the_instructions_say_why() {
    let stage = Stage::with("agent-teams = false\n");
    let mut session = stage.session();
    let answer = session.initialize("2025-11-25", "claude-code");
    assert_eq!(answer["result"]["capabilities"], json!({}));
    let why = answer["result"]["instructions"].as_str().unwrap();
    assert!(why.contains("agent-teams = false"), "{why}");
    for (method, params) in [
        ("tools/list", json!({})),
        ("tools/call", json!({ "name": "TeamCreate", "arguments": { "team_name": "a" } })),
        ("resources/list", json!({})),
        ("prompts/list", json!({})),
    ] {
        assert_eq!(session.ask(method, params)["error"]["code"], -32601, "{method}");
    }
    assert!(session.end().success());
}

#[test]
fn a_variable_that_the_settings_ask_for_has_to_be_on() {
    let variable = "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS";
    let stage = Stage::with(&format!("agent-teams-env = \"{variable}\"\n"));
    for (value, is_on) in [(None, false), (Some("0"), false), (Some("1"), true)] {
        let mut command = stage.command(SHIPMATE);
        command.arg("mcp");
        if let Some(value) = value {
            command.env(variable, value);
        }
        let mut session = Pipe::open(&mut command);
        let answer = session.initialize("2025-11-25", "claude-code");
        let has_tools = answer["result"]["capabilities"].get("tools").is_some();
        assert_eq!(has_tools, is_on, "{value:?}: {answer}");
        if !is_on {
            assert_eq!(answer["result"]["capabilities"], json!({}), "{value:?}: {answer}");
        }
        let listed = session.ask("tools/list", json!({}));
        assert_eq!(listed["result"]["tools"].is_array(), is_on, "{value:?}: {listed}");
        let why = answer["result"]["instructions"].as_str().unwrap_or_default();
        assert_eq!(why.contains("agent-teams-env"), !is_on, "{value:?}: {why}");
    }
}

#[test]
fn the_end_of_the_input_and_a_signal_both_end_it_well() {
    let stage = Stage::new();
    assert!(stage.session().end().success(), "before anything was said");
    assert!(stage.session().ready().end().success());
    assert!(stage.session().ready().terminate().success());
}

#[test]
fn an_empty_token_is_refused_before_the_session_begins() {
    let stage = Stage::new();
    let output = stage.command(SHIPMATE).arg("mcp").env("SHIPMATE_TOKEN", "").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(output.stdout, b"", "standard output is the protocol's");
}

#[test]
fn a_session_in_a_workspace_without_teams_starts_no_coordinator() {
    let stage = Stage::new();
    let mut session = stage.session().ready();
    assert_eq!(session.tools(), ["TeamCreate", "ListAgents", "TaskList"]);
    assert!(!stage.place().lock().exists());
}
