//! The team's tools as an MCP server on the pipe of Claude Code.
//!
//! The program is the only client, so this is the few methods it asks for and an answer at once
//! to all others: it waits for each before it goes on.

use serde_json::{Value, json};
use shipmate_protocol::tools::{Outcome, Tool};

/// Revisions whose shapes are used here; the client's own is answered if it is one of them.
const REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_REQUEST: i64 = -32600;

/// What a message of the client comes to.
#[derive(Debug, PartialEq)]
pub(super) enum Wants {
    Answer(Value),
    /// A tool is to be called; the answer is [`called`].
    Call {
        id: Value,
        tool: String,
        arguments: Value,
    },
}

pub(super) fn read(message: &Value, tools: impl FnOnce() -> Vec<Tool>) -> Wants {
    let id = message["id"].clone();
    let params = &message["params"];
    let result = match message["method"].as_str() {
        None => return Wants::Answer(error(id, INVALID_REQUEST, "there is no method in it")),
        // A notification: the pipe wants an answer all the same.
        Some(_) if id.is_null() => json!({}),
        Some("initialize") => json!({
            "protocolVersion": revision(&params["protocolVersion"]),
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "shipmate", "version": env!("CARGO_PKG_VERSION") },
        }),
        Some("ping") => json!({}),
        Some("tools/list") => {
            json!({ "tools": tools().iter().map(offered).collect::<Vec<_>>() })
        }
        Some("tools/call") => {
            let tool = params["name"].as_str().unwrap_or_default().to_owned();
            return Wants::Call { id, tool, arguments: params["arguments"].clone() };
        }
        Some(other) => {
            return Wants::Answer(error(id, METHOD_NOT_FOUND, &format!("no method {other}")));
        }
    };
    Wants::Answer(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn revision(asked: &Value) -> &'static str {
    let known = REVISIONS.into_iter().find(|revision| asked == revision);
    known.unwrap_or(REVISIONS[0])
}

fn offered(tool: &Tool) -> Value {
    json!({
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "annotations": {
            "title": tool.title,
            "readOnlyHint": tool.read_only,
            "destructiveHint": tool.destructive,
            "idempotentHint": tool.idempotent,
            "openWorldHint": false,
        },
        // Otherwise the model would have to search for its own team's tools.
        "_meta": { "anthropic/alwaysLoad": true },
    })
}

/// The answer to a call: the words alone, since the program would show a model the data instead.
pub(super) fn called(id: Value, outcome: &Outcome) -> Value {
    let content = json!([{ "type": "text", "text": outcome.text }]);
    let result = json!({ "content": content, "isError": outcome.is_error });
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn error(id: Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool() -> Tool {
        Tool {
            name: "SendMessage",
            title: "Send a message",
            description: "d",
            input_schema: json!({ "type": "object" }),
            output_schema: None,
            read_only: false,
            destructive: false,
            idempotent: false,
        }
    }

    fn answer(message: Value) -> Value {
        match read(&message, || vec![tool()]) {
            Wants::Answer(answer) => answer,
            call => panic!("{call:?}"),
        }
    }

    #[test]
    fn the_clients_revision_is_answered_if_it_is_known() {
        let asked = |revision: &str| {
            let params = json!({ "protocolVersion": revision });
            let message = json!({ "id": 0, "method": "initialize", "params": params });
            answer(message)["result"]["protocolVersion"].clone()
        };
        assert_eq!(asked("2025-06-18"), "2025-06-18");
        assert_eq!(asked("2031-01-01"), "2025-11-25");
    }

    #[test]
    fn tools_are_offered_so_that_they_are_loaded_at_once() {
        let answer = answer(json!({ "id": 1, "method": "tools/list" }));
        let tool = &answer["result"]["tools"][0];
        assert_eq!(tool["name"], "SendMessage");
        assert_eq!(tool["_meta"]["anthropic/alwaysLoad"], true);
        assert_eq!(tool["annotations"]["readOnlyHint"], false);
    }

    #[test]
    fn what_is_not_known_is_refused_at_once() {
        for method in ["server/discover", "resources/list", "tools/calls"] {
            let answer = answer(json!({ "id": "p", "method": method }));
            assert_eq!(answer["error"]["code"], -32601, "{answer}");
            assert_eq!(answer["id"], "p");
        }
        assert_eq!(answer(json!({ "id": 3 }))["error"]["code"], -32600);
        assert_eq!(answer(json!([]))["error"]["code"], -32600);
    }

    #[test]
    fn notifications_and_pings_have_an_empty_answer() {
        assert_eq!(answer(json!({ "method": "notifications/initialized" }))["result"], json!({}));
        assert_eq!(answer(json!({ "id": 4, "method": "ping" }))["result"], json!({}));
    }

    #[test]
    fn a_call_keeps_its_id_and_its_arguments_whatever_they_are() {
        let params = json!({ "name": "SendMessage", "arguments": ["odd"] });
        let message = json!({ "id": 7, "method": "tools/call", "params": params });
        let wants = read(&message, Vec::new);
        let (id, tool) = (json!(7), "SendMessage".to_owned());
        assert_eq!(wants, Wants::Call { id, tool, arguments: json!(["odd"]) });
    }
}
