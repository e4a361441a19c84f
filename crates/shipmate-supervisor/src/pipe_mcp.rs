//! The team's tools over MCP, for an agent whose messages reach the supervisor itself.
//!
//! One JSON-RPC message in, its reply out, and nothing kept in between: the same for a
//! control channel and for a socket. Whatever is not known is refused at once, since some
//! clients wait for the answer to a probe. A result is text alone: clients that get data
//! beside it show the model the data.

use serde_json::{Value, json};
use shipmate_protocol::tools::Tool;

use super::desk::{Desk, SERVER};

/// Versions whose initialize, tools and ping are the same; the last is offered to a client
/// that asks for another.
const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// The reply to a message; none to a notification or to an answer.
pub(crate) async fn answer(desk: &Desk, message: Value) -> Option<Value> {
    let id = message.get("id").filter(|id| !id.is_null()).cloned();
    let Some(method) = message.get("method") else {
        let is_answer = message.get("result").or(message.get("error")).is_some();
        let words = "a message must be an object with a method";
        return (!is_answer).then(|| reply(id, Err((INVALID_REQUEST, words.to_owned()))));
    };
    let id = Some(id?);
    let params = message.get("params").unwrap_or(&Value::Null);
    let answer = match method.as_str() {
        Some("initialize") => Ok(greeting(params)),
        Some("ping") => Ok(json!({})),
        Some("tools/list") => {
            let tools: Vec<Value> = desk.tools_ahead().iter().map(described).collect();
            Ok(json!({ "tools": tools }))
        }
        Some("tools/call") => called(desk, params).await,
        _ => Err((METHOD_NOT_FOUND, format!("there is no method {method}"))),
    };
    Some(reply(id, answer))
}

fn reply(id: Option<Value>, answer: Result<Value, (i64, String)>) -> Value {
    match answer {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err((code, message)) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
        }
    }
}

fn greeting(params: &Value) -> Value {
    let asked = params["protocolVersion"].as_str().unwrap_or_default();
    let [.., latest] = VERSIONS;
    let version = VERSIONS.into_iter().find(|version| *version == asked).unwrap_or(latest);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": SERVER, "version": env!("CARGO_PKG_VERSION") },
    })
}

fn described(tool: &Tool) -> Value {
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
        // Clients that load tools on demand would never look for a team.
        "_meta": { "anthropic/alwaysLoad": true },
    })
}

async fn called(desk: &Desk, params: &Value) -> Result<Value, (i64, String)> {
    let Some(name) = params["name"].as_str() else {
        return Err((INVALID_PARAMS, "a call must name its tool".to_owned()));
    };
    let arguments = match &params["arguments"] {
        Value::Null => json!({}),
        arguments => arguments.clone(),
    };
    let outcome = desk.call(name, arguments).await;
    let content = json!([{ "type": "text", "text": outcome.text }]);
    Ok(json!({ "content": content, "isError": outcome.is_error }))
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use shipmate_protocol::Place;

    use super::*;
    use crate::link::Line;
    use shipmate_programs::order::Order;

    /// A desk at which nobody is asked anything.
    fn desk() -> Desk {
        let order: Order = serde_json::from_value(json!({
            "workspace": "/nowhere", "team": "alpha", "name": "ana", "epoch": 1, "token": "",
            "one_shot": false, "agent": "gemini", "protocol": "acp", "command": "", "scope": [],
            "tree": null, "session": "", "marker": "", "own_marker": "", "output_bytes_max": 0, "mode": "normal",
            "stop_grace_ms": 0, "program": "/nowhere", "mode": "normal",
        }))
        .unwrap();
        let place = Place { workspace: order.workspace.clone() };
        let (token, life) = (String::new(), std::path::PathBuf::new());
        let line = Line { place, token, program: order.program.clone(), life };
        Desk::new(&order, &Rc::new(line))
    }

    /// A message, and below it `=>` its reply; `-` is none, and what a reply says beside what
    /// is written does not count.
    async fn check(table: &str) {
        let desk = desk();
        let mut lines = table.lines().map(str::trim).filter(|line| !line.is_empty());
        while let Some(line) = lines.next() {
            let expected = lines.next().unwrap().strip_prefix("=> ").unwrap();
            let reply = answer(&desk, serde_json::from_str(line).unwrap()).await;
            match (expected, reply) {
                ("-", reply) => assert_eq!(reply, None, "{line}"),
                (_, None) => panic!("no reply: {line}"),
                (expected, Some(reply)) => {
                    let expected = serde_json::from_str(expected).unwrap();
                    assert!(holds(&reply, &expected), "{line}\n{reply}");
                }
            }
        }
    }

    fn holds(value: &Value, part: &Value) -> bool {
        match part {
            Value::Object(part) => {
                value.is_object() && part.iter().all(|(key, part)| holds(&value[key], part))
            }
            part => value == part,
        }
    }

    #[tokio::test]
    async fn every_message_has_its_reply_and_nothing_is_left_waiting() {
        check(
            r#"
            {"id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}
              => {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}
            {"id":1,"method":"initialize","params":{"protocolVersion":"2099-01-01"}}
              => {"id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}
            {"id":1,"method":"initialize"}
              => {"id":1,"result":{"protocolVersion":"2025-11-25"}}
            {"method":"notifications/initialized"}
              => -
            {"method":"notifications/cancelled","params":{"requestId":1}}
              => -
            {"id":"p","method":"ping"}
              => {"id":"p","result":{}}
            {"id":"server-discover-probe-1","method":"server/discover"}
              => {"id":"server-discover-probe-1","error":{"code":-32601}}
            {"id":2,"method":"resources/list"}
              => {"id":2,"error":{"code":-32601}}
            {"id":2,"method":7}
              => {"id":2,"error":{"code":-32601}}
            {"id":3,"method":"tools/call","params":{}}
              => {"id":3,"error":{"code":-32602}}
            {"id":3,"method":"tools/call"}
              => {"id":3,"error":{"code":-32602}}
            {"id":4,"method":"tools/call","params":{"name":"NoSuch","arguments":{}}}
              => {"id":4,"result":{"isError":true}}
            {"id":5,"result":{}}
              => -
            {"id":5,"error":{"code":1,"message":"x"}}
              => -
            {"id":6}
              => {"id":6,"error":{"code":-32600}}
            [1]
              => {"id":null,"error":{"code":-32600}}
            "hi"
              => {"id":null,"error":{"code":-32600}}
            null
              => {"id":null,"error":{"code":-32600}}
            "#,
        )
        .await;
    }

    #[test]
    fn a_tool_is_described_so_that_clients_load_it_at_once() {
        let tool = Tool {
            name: "TaskList",
            title: "List tasks",
            description: "The board.",
            input_schema: json!({ "type": "object" }),
            output_schema: Some(json!({ "type": "object" })),
            read_only: true,
            destructive: false,
            idempotent: true,
        };
        let described = described(&tool);
        assert_eq!(described["_meta"]["anthropic/alwaysLoad"], true);
        assert_eq!(described["annotations"]["readOnlyHint"], true);
        assert_eq!(described["inputSchema"]["type"], "object");
        // Promised data would have to be sent.
        assert_eq!(described.get("outputSchema"), None);
    }
}
