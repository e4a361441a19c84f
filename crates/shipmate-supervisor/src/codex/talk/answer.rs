//! What codex asks for, and what it is told: the team's tools, and leave to do something.

use std::rc::Rc;

use serde_json::{Value, json};

use super::Talk;
use crate::desk::May;
use crate::permission;
use crate::spending::refusal;

const UNKNOWN: i64 = -32601;
const NOBODY: &str = "Nobody can answer here. Ask your lead or a teammate with SendMessage, or \
                      decide yourself and say what you decided.";

/// Answers one request, however long that takes. What is not known is refused at once.
pub(super) async fn answer(talk: Rc<Talk>, id: Value, method: String, params: Value) {
    match method.as_str() {
        "item/tool/call" => {
            let tool = params["tool"].as_str().unwrap_or_default();
            let spent = talk.calls().await;
            let outcome = talk.desk.call(tool, params["arguments"].clone()).await;
            // The team's own tools cost nothing, and one says what came of the task.
            if spent.is_some() {
                talk.break_off();
            }
            let text = json!([{ "type": "inputText", "text": outcome.text }]);
            talk.peer.answer(id, json!({ "contentItems": text, "success": !outcome.is_error }));
        }
        "item/tool/requestUserInput" => talk.peer.answer(id, no_answers(&params)),
        "item/commandExecution/requestApproval"
        | "item/fileChange/requestApproval"
        | "item/permissions/requestApproval"
        | "mcpServer/elicitation/request" => {
            let mut request = permission::codex(&method, &params);
            if let Some(item) = params["itemId"].as_str()
                && let Some(paths) = talk.turn.borrow().edits.get(item)
            {
                // Only the edit that was announced before names its files.
                request.paths.extend(paths.iter().cloned());
            }
            if let Some(reason) = talk.calls().await {
                talk.break_off();
                talk.peer.answer(id, decision(&method, &params, false));
                return talk.transcript.say(&format!("refused: {}", refusal(&reason)));
            }
            let may = talk.desk.may(request).await;
            talk.peer.answer(id, decision(&method, &params, may == May::Yes));
            if let May::No(words) = may {
                talk.transcript.say(&format!("refused: {words}"));
                // A refusal has no room for its reason.
                talk.steer(&words).await;
            }
        }
        _ => {
            let text = format!("{method} is not known here");
            talk.peer.refuse(id, UNKNOWN, &text);
        }
    }
}

fn decision(method: &str, params: &Value, yes: bool) -> Value {
    match (method, yes) {
        ("item/permissions/requestApproval", true) => {
            json!({ "permissions": params["permissions"], "scope": "turn" })
        }
        ("item/permissions/requestApproval", false) => {
            json!({ "permissions": {}, "scope": "turn" })
        }
        ("mcpServer/elicitation/request", true) => {
            json!({ "action": "accept", "content": {}, "_meta": null })
        }
        ("mcpServer/elicitation/request", false) => {
            json!({ "action": "decline", "content": null, "_meta": null })
        }
        (_, true) => json!({ "decision": "accept" }),
        (_, false) => json!({ "decision": "decline" }),
    }
}

fn no_answers(params: &Value) -> Value {
    let questions = params["questions"].as_array().into_iter().flatten();
    let answers = questions.filter_map(|question| {
        Some((question["id"].as_str()?.to_owned(), json!({ "answers": [NOBODY] })))
    });
    json!({ "answers": answers.collect::<serde_json::Map<_, _>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_request_is_answered_in_its_own_words() {
        let asked = json!({ "permissions": { "network": { "enabled": true } } });
        let told = |method: &str, yes| decision(method, &asked, yes);
        let command = "item/commandExecution/requestApproval";
        assert_eq!(told(command, true), json!({ "decision": "accept" }));
        assert_eq!(told(command, false), json!({ "decision": "decline" }));
        let more = told("item/permissions/requestApproval", true);
        assert_eq!(more["permissions"], asked["permissions"]);
        let none = told("item/permissions/requestApproval", false);
        assert_eq!(none["permissions"], json!({}));
        assert_eq!(told("mcpServer/elicitation/request", false)["action"], "decline");
    }

    #[test]
    fn a_question_to_the_user_is_answered_and_never_waits() {
        let params = json!({ "questions": [{ "id": "q1", "question": "?" }, { "id": "q2" }] });
        let answers = no_answers(&params);
        assert_eq!(answers["answers"].as_object().unwrap().len(), 2);
        assert_eq!(answers["answers"]["q1"]["answers"][0], NOBODY);
    }
}
