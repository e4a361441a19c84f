//! `SendMessage`: mail, and the decisions that agents send as mail.
//!
//! A shutdown request, its answer and the verdict on a plan are decisions of the board: the
//! message that tells of them comes with the decision. Everything else is text to somebody.

mod plain_words;

use serde_json::{Value, json};

use crate::Code;
use crate::answers;
use crate::refused::Refused;
use crate::tools::arguments::{Arguments, Bad};
use crate::tools::outcome::Reply;
use crate::tools::team::{deadline, shut_down};
use crate::tools::words;
use crate::tools::{Board, Outcome, Seat, Tool, plan, schema};
use crate::verbs;
use crate::verbs::ShutdownAnswer;

/// Its description for whoever answers requests with it.
pub(super) const ANSWERS_REQUESTS: &str = "Writes to a teammate by name, to \"lead\", \"person\" (the human) or \
    \"*\" (everybody). Nobody sees what you do not send. With type shutdown_response or \
    plan_approval_response, request_id and approve it answers a request; message is then the reason.";

pub(crate) fn tool() -> Tool {
    let text = |what: &str| json!({ "type": "string", "description": what });
    Tool {
        name: "SendMessage",
        title: "Send a message",
        description: "Writes to a teammate by name, to \"lead\", \"person\" (the human) or \"*\" (everybody). \
             Nobody sees what you do not send. Answers come later as messages.",
        input_schema: schema(
            json!({
                "to": { "type": "string" },
                "recipient": text("The same"),
                "message": {
                    "description": "The text; or an object {type: shutdown_request, reason}, {type: \
                         shutdown_response, request_id, approve, reason}, {type: \
                         plan_approval_response, request_id, approve, feedback}, or another type \
                         with fields of its own: a typed handoff",
                    "anyOf": [
                        { "type": "string" },
                        { "type": "object", "properties": {
                            "type": text("What the object is"),
                            "request_id": text("The request that is answered"),
                            "approve": { "type": "boolean" },
                            "reason": text("Why"),
                            "feedback": text("What to change in a rejected plan"),
                        }, "required": ["type"], "additionalProperties": true },
                    ],
                },
                "content": {
                    "description": "The same as message",
                    "anyOf": [{ "type": "string" }, { "type": "object" }],
                },
                "summary": text("A short preview; sent only if there is no message"),
                "type": text("message, broadcast, shutdown_request, shutdown_response, \
                     plan_approval_request, plan_approval_response, or a kind of handoff that your \
                     playbook names; default message"),
                "request_id": text("The request that is answered"),
                "approve": { "type": "boolean", "description": "The answer to that request" },
                "notify_when_idle": { "type": "boolean", "description": "Accepted and not used" },
            }),
            &[],
        ),
        ..Tool::default()
    }
}

/// What a call says.
#[derive(Debug)]
enum Say {
    Text { kind: Option<String>, request: Option<u64>, body: String },
    Broadcast { body: String },
    ShutDown { reason: String, deadline_ms: u64 },
    AnswerShutdown { request: Option<u64>, answer: ShutdownAnswer },
    Plan { task: Option<String>, body: String },
    Decide { request: Option<u64>, verdict: plan::Verdict },
}

/// An object, also one that was written as text.
fn as_object(value: &Value) -> Option<Value> {
    let parsed = match value {
        Value::Object(_) => value.clone(),
        Value::String(text) if text.trim_start().starts_with('{') => {
            serde_json::from_str(text).ok()?
        }
        _ => return None,
    };
    let kind = parsed["type"].as_str()?;
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let is_kind = !kind.is_empty() && kind.len() <= 64 && kind.bytes().all(is_word);
    is_kind.then_some(parsed)
}

fn read(arguments: &mut Arguments) -> Result<Say, Bad> {
    let message = arguments.value(&["message", "content", "text", "body"])?;
    let summary = arguments.text(&["summary"])?.unwrap_or_default();
    if let Some((field, value)) = &message
        && let Some(object) = as_object(value)
    {
        let whole = match value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        let mut inner = Arguments::new(object).map_err(|bad| bad.within(field))?;
        let kind = inner.required_word(&["type"], "what the message is");
        let kind = plain(kind.map_err(|bad| bad.within(field))?);
        // The outer shape may carry the rest of the answer.
        for name in ["request_id", "approve"] {
            if let Some((_, value)) = arguments.value(&[name])? {
                inner.add(name, value);
            }
        }
        arguments.skip(&["type"]);
        let own = inner.text(&["content", "message", "text"]).map_err(|bad| bad.within(field))?;
        let body = if matches!(kind.as_str(), "message" | "broadcast") {
            own.unwrap_or(whole)
        } else if is_control(&kind) {
            own.unwrap_or_default()
        } else {
            whole
        };
        return say(&kind, body, &mut inner).map_err(|bad| bad.within(field));
    }
    let kind = arguments.word(&["type", "msg_type"])?.unwrap_or_else(|| "message".to_owned());
    let kind = plain(kind);
    let body = match message {
        // The fields of a handoff whose kind stands beside them.
        Some((_, value @ Value::Object(_))) if is_handoff(&kind) => value.to_string(),
        Some((field, value)) => crate::tools::arguments::text(&field, value)?,
        None => String::new(),
    };
    let body = if body.trim().is_empty() { summary } else { body };
    say(&kind, body, arguments)
}

/// A seed calls a plain message `direct`.
fn plain(kind: String) -> String {
    if kind == "direct" { "message".to_owned() } else { kind }
}

fn is_control(kind: &str) -> bool {
    kind.starts_with("shutdown_") || kind.starts_with("plan_approval_")
}

fn is_handoff(kind: &str) -> bool {
    !is_control(kind) && !matches!(kind, "message" | "broadcast")
}

fn say(kind: &str, body: String, fields: &mut Arguments) -> Result<Say, Bad> {
    let filled = |text: String| Some(text).filter(|text| !text.trim().is_empty());
    let request = |fields: &mut Arguments| -> Result<Option<u64>, Bad> {
        let id = fields.word(&["request_id", "shutdown_id", "plan_id"])?;
        id.map(|id| words::request_id("request_id", &id)).transpose()
    };
    let why = |fields: &mut Arguments| -> Result<Option<String>, Bad> {
        let reason = fields.text(&["reason"])?.and_then(filled);
        Ok(fields.text(&["feedback"])?.and_then(filled).or(reason))
    };
    Ok(match kind {
        "message" | "broadcast" => {
            let body = filled(body).ok_or_else(|| Bad::missing("message", "the text to send"))?;
            match kind {
                "broadcast" => Say::Broadcast { body },
                // What is no number of a question means nothing in plain mail.
                _ => Say::Text { kind: None, request: request(fields).ok().flatten(), body },
            }
        }
        "shutdown_request" => {
            let reason =
                why(fields)?.or(filled(body)).unwrap_or_else(|| "asked to stop".to_owned());
            Say::ShutDown { reason, deadline_ms: deadline(fields)? }
        }
        "shutdown_response" | "shutdown_approved" | "shutdown_rejected" => {
            let request = request(fields)?;
            let reason = why(fields)?.or(filled(body));
            let answer = shutdown_answer(kind, reason, fields)?;
            Say::AnswerShutdown { request, answer }
        }
        "plan_approval_request" => {
            let task = fields.word(&["task_id", "task"])?.map(|task| words::task(&task));
            let plan = fields.text(&["plan", "plan_content"])?.and_then(filled).or(filled(body));
            Say::Plan { task, body: plan.ok_or_else(|| Bad::missing("content", "the plan"))? }
        }
        "plan_approval_response" => {
            let request = request(fields)?;
            let feedback = why(fields)?.or(filled(body));
            let approve = fields.flag(&["approve", "approved"])?;
            let approve = approve.ok_or_else(|| Bad::missing("approve", "true or false"))?;
            Say::Decide { request, verdict: plan::verdict(approve, feedback)? }
        }
        // A kind of its own: who gets it knows its fields.
        kind => {
            let body = filled(body).ok_or_else(|| Bad::missing("message", "the text to send"))?;
            Say::Text { kind: Some(kind.to_owned()), request: None, body }
        }
    })
}

/// What is left where somebody says that its artifacts are not committed. That they are is a claim
/// that the runtime looks at itself.
const UNCOMMITTED: &str = "artifacts are not committed";

/// `approve`, or the words clean, in_progress and error with what is left.
fn shutdown_answer(
    kind: &str,
    reason: Option<String>,
    fields: &mut Arguments,
) -> Result<ShutdownAnswer, Bad> {
    let approve = fields.flag(&["approve", "approved"])?;
    let mut pending = fields.words(&["pending_work", "pending"])?.unwrap_or_default();
    let uncommitted = fields.flag(&["artifacts_committed"])? == Some(false);
    pending.extend(uncommitted.then(|| UNCOMMITTED.to_owned()));
    let words = || reason.clone().unwrap_or_else(|| "no reason was given".to_owned());
    let status = fields.word(&["status"])?;
    match (status.as_deref(), approve, kind) {
        (Some("clean"), ..) if !uncommitted => Ok(ShutdownAnswer::Clean),
        (Some("clean" | "in_progress"), ..) => Ok(ShutdownAnswer::InProgress { pending }),
        (Some("error"), ..) if uncommitted => {
            Ok(ShutdownAnswer::Error { reason: format!("{}; {UNCOMMITTED}", words()) })
        }
        (Some("error"), ..) => Ok(ShutdownAnswer::Error { reason: words() }),
        (Some("rejected"), ..) => Ok(ShutdownAnswer::Rejected { reason: words() }),
        (Some(other), ..) => {
            let expected = "clean, in_progress, error or rejected";
            Err(Bad::new("status", &Value::from(other), expected))
        }
        (None, Some(true), _) | (None, None, "shutdown_approved") if pending.is_empty() => {
            Ok(ShutdownAnswer::Clean)
        }
        (None, Some(true), _) => Ok(ShutdownAnswer::InProgress { pending }),
        (None, Some(false), _) | (None, None, "shutdown_rejected") => {
            Ok(ShutdownAnswer::Rejected { reason: words() })
        }
        (None, None, _) => Err(Bad::missing("approve", "true or false")),
    }
}

pub(crate) async fn run(board: &impl Board, seat: &Seat, arguments: &mut Arguments) -> Reply {
    let to = arguments.word(&["to", "recipient", "target"])?;
    let said = read(arguments)?;
    arguments.skip(&["notify_when_idle", "team_name"]);
    let to = match to.as_deref() {
        Some("*" | "all" | "everyone" | "@all") => Some("all".to_owned()),
        Some(to) => Some(words::teammate(to)),
        None => None,
    };
    let recipient = || to.clone().ok_or_else(|| Bad::missing("to", "whom to write to"));
    match said {
        Say::Text { kind, request, body } => {
            let to = recipient()?;
            match kind {
                None => plain_words::say(board, seat, to, request, body).await,
                kind => send(board, to, kind, body).await,
            }
        }
        Say::Broadcast { body } => send(board, "all".to_owned(), None, body).await,
        Say::ShutDown { reason, deadline_ms } => {
            let name = Some(recipient()?).filter(|to| to != "all");
            shut_down(board, name, reason, deadline_ms).await
        }
        Say::AnswerShutdown { request, answer } => answer_shutdown(board, request, answer).await,
        Say::Plan { task, body } => plan::submit(board, seat, task, body, None).await,
        Say::Decide { request, verdict } => {
            let plan = match request {
                Some(id) => id,
                None => plan::open_of(board, seat, &recipient()?).await?,
            };
            plan::decide(board, plan, verdict).await
        }
    }
}

async fn send(board: &impl Board, to: String, kind: Option<String>, body: String) -> Reply {
    let ask = |to: &str| verbs::Send {
        to: to.to_owned(),
        body: body.clone(),
        kind: kind.clone(),
        reply_to: None,
    };
    // What agents call the lead and the human is tried as a name first: it may be one.
    let other = match to.as_str() {
        "team-lead" | "main" | "leader" | "team_lead" => Some("lead"),
        "user" | "human" => Some("person"),
        _ => None,
    };
    let sent = match (board.ask(ask(&to)).await, other) {
        (Err(refused), Some(other)) if refused.code == Code::UnknownTeammate => {
            board.ask(ask(other)).await.map_err(|_| refused)?
        }
        (sent, _) => sent?,
    };
    let answers::Sent { message, to: reached } = sent;
    let text = match (to.as_str(), reached.len()) {
        (_, 0) => format!("Recorded as {message}; nobody could be written to."),
        ("all", count) => format!("Message {message} sent to {count}: {}", reached.join(", ")),
        _ => format!("Message {message} sent to {to}'s inbox"),
    };
    let fields = json!({ "success": true, "msg_id": message.to_string(), "to": reached });
    Ok(Outcome::done(text, fields))
}

async fn answer_shutdown(
    board: &impl Board,
    request: Option<u64>,
    answer: ShutdownAnswer,
) -> Reply {
    let shutdown = match request {
        Some(id) => id,
        None => unread_shutdown(board).await?.ok_or_else(|| {
            Bad::missing("request_id", "the request id that the shutdown message names")
        })?,
    };
    let said = match &answer {
        ShutdownAnswer::Clean => "approved: end now, do nothing more",
        ShutdownAnswer::InProgress { .. } => "answered with what is left: end now",
        ShutdownAnswer::Error { .. } => "answered with an error",
        ShutdownAnswer::Rejected { .. } => "rejected: go on with your work",
    };
    board.ask(verbs::AnswerShutdown { shutdown, answer }).await?;
    let text = format!("Shutdown request {shutdown} is {said}.");
    Ok(Outcome::done(text, json!({ "success": true, "request_id": shutdown.to_string() })))
}

/// The shutdown request that lies unread, if there is one.
async fn unread_shutdown(board: &impl Board) -> Result<Option<u64>, Refused> {
    let messages = board.ask(verbs::InboxPeek).await?;
    let asked = messages.iter().rev().find(|m| m.kind == "shutdown_request");
    Ok(asked.and_then(|message| message.reply_to))
}
