//! What the page asks of the team, as the person: the protocol's own words, those on the list.
//!
//! The list is of names, so that a new ask is none of the page's until somebody writes it here.
//! Nothing on it tells a token, reads a file, or runs for longer than a moment.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use shipmate_protocol::verbs::Supervision;
use shipmate_protocol::{Answer, Ask, Code, answers, verbs};

use crate::web::Deck;
use crate::web::door::{BODY_BYTES_MAX, too_large};
use crate::web::reply::{self, Refusal};

const ALLOWED: [&str; 32] = [
    "account_resume",
    "agents",
    "answer",
    "message_acknowledge",
    "message_trace",
    "note_add",
    "note_remove",
    "notes",
    "phase_approve",
    "phase_skip",
    "plan_approve",
    "plan_reject",
    "plans",
    "questions",
    "send",
    "shutdown",
    "task_assign",
    "task_create",
    "task_delete",
    "task_release",
    "task_retry",
    "task_show",
    "task_update",
    "team_continue",
    "team_pause",
    "teammate_add",
    "teammate_continue",
    "teammate_mode",
    "teammate_pause",
    "teammate_remove",
    "teammate_show",
    "teammate_start",
];

/// A body that trickles in is not waited for.
const BODY_MAX: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
struct Asked {
    /// A team below the root; the root itself where none is named.
    #[serde(default)]
    team: Option<String>,
    ask: Value,
}

pub(super) async fn ask(
    State(deck): State<Arc<Deck>>,
    Path(root): Path<String>,
    body: Body,
) -> Result<Response, Refusal> {
    let read = tokio::time::timeout(BODY_MAX, to_bytes(body, BODY_BYTES_MAX));
    let bytes = match read.await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => return Err(too_large()),
        Err(_) => {
            let text = "the request did not come to an end";
            return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, Code::Slow, text, ""));
        }
    };
    let Asked { team, ask } = serde_json::from_slice(&bytes)
        .map_err(|e| Refusal::bad(&format!("this is not {{\"team\"?, \"ask\"}}: {e}")))?;
    let ask = permitted(ask)?;
    let mut answer = deck.clients.ask(Some(team.unwrap_or(root)), ask).await?;
    if let Answer::Started(answers::Started { token, .. }) = &mut answer {
        token.clear();
    }
    Ok(reply::json(&json!({ "answer": answer })))
}

fn permitted(ask: Value) -> Result<Ask, Refusal> {
    let name = match &ask {
        Value::String(name) => Some(name),
        Value::Object(fields) if fields.len() == 1 => fields.keys().next(),
        _ => None,
    };
    let Some(name) = name else {
        return Err(Refusal::bad("an ask is a word, or an object with that word as its one key"));
    };
    if !ALLOWED.contains(&name.as_str()) {
        let text = format!("{} is not for the page", name.chars().take(64).collect::<String>());
        let remedy = "use the command line";
        return Err(Refusal::new(StatusCode::FORBIDDEN, Code::NotForThePage, &text, remedy));
    }
    let name = name.clone();
    let ask = serde_json::from_value(ask)
        .map_err(|e| Refusal::bad(&format!("{name} cannot be understood: {e}")))?;
    if let Ask::TeammateStart(verbs::TeammateStart { supervision: Supervision::None, name }) = &ask
    {
        let text = format!("{name} would be started by hand, and its token would be for nobody");
        let remedy = "ask for \"supervised\", or use `shipmate teammate start`";
        return Err(Refusal::new(StatusCode::FORBIDDEN, Code::NotForThePage, &text, remedy));
    }
    Ok(ask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_on_the_list_is_refused_by_its_name() {
        for ask in [
            json!({ "team_create": { "name": "x" } }),
            json!({ "team_delete": { "reason": "x", "deadline_ms": 1, "now": true } }),
            json!("stay"),
            json!({ "attach": { "name": "ana" } }),
            json!({ "follow": { "after": 0 } }),
            json!({ "enrol": { "name": "x" } }),
            json!({ "task_claim": { "task": "1", "lease_ms": null } }),
            json!({ "merge": { "branches": true } }),
            json!({ "no_such_thing": {} }),
        ] {
            let refusal = permitted(ask.clone()).unwrap_err();
            assert_eq!(refusal.status, StatusCode::FORBIDDEN, "{ask}");
            let name =
                ask.as_str().unwrap_or_else(|| ask.as_object().unwrap().keys().next().unwrap());
            assert!(refusal.refused.message.starts_with(name), "{ask}");
        }
    }

    #[test]
    fn every_name_on_the_list_is_an_ask() {
        for name in ALLOWED {
            let as_word = serde_json::from_value::<Ask>(json!(name));
            let as_key = serde_json::from_value::<Ask>(json!({ name: {} }));
            let texts = [as_word.map(|_| ()), as_key.map(|_| ())].map(|found| match found {
                Ok(()) => String::new(),
                Err(e) => e.to_string(),
            });
            assert!(
                !texts.iter().all(|text| text.contains("unknown variant")),
                "{name}: {texts:?}"
            );
        }
    }

    #[test]
    fn a_life_whose_token_nobody_would_take_is_not_begun() {
        let by_hand = json!({ "teammate_start": { "name": "ana", "supervision": "none" } });
        assert_eq!(permitted(by_hand).unwrap_err().status, StatusCode::FORBIDDEN);
        let ours = json!({ "teammate_start": { "name": "ana", "supervision": "supervised" } });
        assert!(permitted(ours).is_ok());
    }
}
