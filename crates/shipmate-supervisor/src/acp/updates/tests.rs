//! What is said of updates, as text: an update a line, and below it what is said at once.

use std::path::Path;

use serde_json::Value;
use shipmate_protocol::verbs::Context;

use super::{Updates, tool_words};

/// Lines that begin with `{` are updates, others are what is said; `.` ends the turn. A line
/// that ends in a backslash goes on in the next.
#[track_caller]
fn check(table: &str) {
    let mut updates = Updates::new(Path::new("/tree"));
    let mut said: Vec<String> = Vec::new();
    let mut expected: Vec<String> = Vec::new();
    for line in table.replace("\\\n", "").lines().map(str::trim).filter(|line| !line.is_empty()) {
        match line {
            "." => said.extend(updates.finish()),
            line if line.starts_with('{') => {
                assert_eq!(said, expected, "before {line}");
                let update: Value = serde_json::from_str(line).unwrap();
                let words = updates.take(&update);
                said.extend(words.iter().map(|words| words.trim().to_owned()));
            }
            words => expected.push(words.replace("\\n", "\n")),
        }
    }
    assert_eq!(said, expected);
}

#[test]
fn text_is_said_a_message_at_a_time() {
    check(
        r#"
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I will "}}
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"look."}}
        {"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}
        I will look.
        {"sessionUpdate":"agent_message_chunk","messageId":"1","content":{"text":"One."}}
        {"sessionUpdate":"agent_message_chunk","messageId":"2","content":{"text":"Two."}}
        One.
        .
        Two.
        "#,
    );
}

#[test]
fn a_tool_call_is_said_once_when_it_is_known() {
    check(
        r#"
        {"sessionUpdate":"tool_call","toolCallId":"1","title":"Terminal","kind":"execute",\
            "status":"pending","rawInput":{}}
        {"sessionUpdate":"tool_call_update","toolCallId":"1","title":"cargo test",\
            "rawInput":{"command":"cargo test"}}
        $ cargo test
        {"sessionUpdate":"tool_call_update","toolCallId":"1","status":"in_progress"}
        {"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed"}
        {"sessionUpdate":"tool_call","toolCallId":"2","title":"Edit","kind":"edit",\
            "status":"in_progress","locations":[{"path":"/tree/src/a.rs"},{"path":"/etc/hosts"}]}
        edits src/a.rs, /etc/hosts
        {"sessionUpdate":"tool_call_update","toolCallId":"2","status":"failed",\
            "content":[{"type":"content","content":{"type":"text","text":"no such\n file"}}]}
          failed: no such file
        {"sessionUpdate":"tool_call","toolCallId":"3","title":"x","kind":"execute",\
            "status":"completed","rawInput":{"command":["ls","-l"]}}
        $ ls -l
        {"sessionUpdate":"tool_call","toolCallId":"4","title":"src","kind":"read",\
            "status":"completed","rawInput":{"filePath":"/tree/b"}}
        reads b
        "#,
    );
}

#[test]
fn the_teams_own_tools_are_left_to_the_desk() {
    check(
        r#"
        {"sessionUpdate":"tool_call","toolCallId":"1","title":"mcp__team__TaskUpdate",\
            "kind":"other","status":"in_progress"}
        {"sessionUpdate":"tool_call","toolCallId":"2","title":"team_SendMessage",\
            "status":"in_progress"}
        {"sessionUpdate":"tool_call","toolCallId":"3","title":"TaskGet (team MCP Server)",\
            "status":"completed"}
        {"sessionUpdate":"tool_call","toolCallId":"4","title":"mcp__other__thing",\
            "status":"completed"}
        mcp__other__thing
        "#,
    );
    let arguments = serde_json::json!({ "to": "bo", "message": "it is\nin" });
    assert_eq!(tool_words("SendMessage", &arguments), "→ SendMessage to bo: it is in");
    let arguments = serde_json::json!({ "taskId": "1", "status": "completed" });
    assert_eq!(tool_words("TaskUpdate", &arguments), "→ TaskUpdate status=completed taskId=1");
    assert_eq!(tool_words("TaskList", &Value::Null), "→ TaskList");
}

#[test]
fn a_plan_is_said_when_it_changes_and_what_is_unknown_is_not() {
    check(
        r#"
        {"sessionUpdate":"plan","entries":[{"content":"a","status":"completed"},{"content":"b",\
            "status":"pending"}]}
        [x] a\n[ ] b
        {"sessionUpdate":"plan","entries":[{"content":"a","status":"completed"},{"content":"b",\
            "status":"pending"}]}
        {"sessionUpdate":"of_next_year","x":1}
        {"sessionUpdate":7}
        {}
        {"sessionUpdate":"tool_call"}
        {"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"x"}}
        {"sessionUpdate":"usage_update","used":1,"size":2}
        {"sessionUpdate":"current_mode_update","currentModeId":"plan"}
        [now in its mode plan]
        .
        "#,
    );
}

#[test]
fn what_is_kept_of_a_flood_is_bounded() {
    let mut updates = Updates::new(Path::new("/tree"));
    let text = "x".repeat(1000);
    let chunk = serde_json::json!({
        "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text },
    });
    for number in 0..10_000 {
        updates.take(&chunk);
        updates.take(&serde_json::json!({
            "sessionUpdate": "tool_call", "toolCallId": number.to_string(), "title": "t",
        }));
    }
    assert!(updates.text.len() < 2 * super::MESSAGE_BYTES_MAX);
    assert_eq!(updates.calls.len(), super::CALLS_MAX);
}

#[test]
fn permission_is_asked_with_all_that_is_known_of_a_call() {
    let mut updates = Updates::new(Path::new("/tree"));
    updates.take(&serde_json::json!({
        "sessionUpdate": "tool_call", "toolCallId": "1", "kind": "edit", "title": "Edit",
        "rawInput": { "file_path": "/tree/a" },
    }));
    let whole = updates.whole_call(&serde_json::json!({ "toolCallId": "1", "title": "Edit a" }));
    assert_eq!(whole["kind"], "edit");
    assert_eq!(whole["title"], "Edit a");
    assert_eq!(whole["rawInput"]["file_path"], "/tree/a");
}

#[test]
fn cost_is_counted_in_millionths() {
    let mut updates = Updates::new(Path::new("/tree"));
    updates.take(&serde_json::json!({
        "sessionUpdate": "usage_update", "cost": { "amount": 0.0125, "currency": "USD" },
    }));
    assert_eq!(updates.cost_micros(), 12_500);
}

#[test]
fn the_context_is_as_full_as_the_agent_says_last() {
    let mut updates = Updates::new(Path::new("/tree"));
    let mut context = |update: serde_json::Value| {
        updates.take(&update);
        updates.context
    };
    let update = |used: u64, size: u64| -> Value {
        serde_json::json!({ "sessionUpdate": "usage_update", "used": used, "size": size })
    };
    assert_eq!(
        context(update(53_000, 200_000)),
        Some(Context { used: 53_000, max: Some(200_000) })
    );
    assert_eq!(context(update(900, 0)), Some(Context { used: 900, max: None }));
    let cost = serde_json::json!({ "amount": 0.1, "currency": "USD" });
    let silent = serde_json::json!({ "sessionUpdate": "usage_update", "cost": cost });
    assert_eq!(context(silent), Some(Context { used: 900, max: None }));
}

#[test]
fn tools_that_are_called_at_once_are_one_round() {
    let mut updates = Updates::new(Path::new("/tree"));
    let mut call = |kind: &str, id: &str, status: &str| {
        updates.take(&serde_json::json!({
            "sessionUpdate": kind, "toolCallId": id, "status": status, "title": "t",
        }));
        updates.rounds
    };
    assert_eq!(call("tool_call", "1", "pending"), 1);
    assert_eq!(call("tool_call", "2", "pending"), 1);
    assert_eq!(call("tool_call_update", "1", "completed"), 1);
    assert_eq!(call("tool_call_update", "2", "completed"), 1);
    assert_eq!(call("tool_call_update", "2", "completed"), 1, "told twice");
    assert_eq!(call("tool_call_update", "3", "completed"), 2, "told only when it was over");
    updates.begin_turn();
    assert_eq!(updates.rounds, 0);
    updates.meet(&serde_json::json!({ "toolCallId": "4" }));
    assert_eq!(updates.rounds, 1, "leave was asked for it first");
}
