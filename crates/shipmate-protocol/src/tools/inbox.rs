//! `Inbox`: the mail of whoever calls, each message in an envelope.
//!
//! Reading is exactly once, so nothing here waits in a read that could be given up on: it waits
//! for news, then reads what is there.

use serde_json::json;

use crate::refused::Refused;
use crate::tools::arguments::Arguments;
use crate::tools::envelope::envelope;
use crate::tools::outcome::Reply;
use crate::tools::{Board, Outcome, Seat, Tool, WAIT_MAX_MS, schema};
use crate::verbs;
use crate::view::InboxMessage;

const READ_DEFAULT: u64 = 50;
const READ_MAX: u64 = 1000;

pub(crate) fn tool() -> Tool {
    Tool {
        name: "Inbox",
        title: "Read your mail",
        description: "Reads your unread messages, oldest first, each once. Call it between two steps of \
             your work, and with `wait` when there is nothing else to do.",
        input_schema: schema(
            json!({
                "wait": { "type": "integer", "description": "Seconds, at most 15" },
                "max": { "type": "integer", "description": "Most messages to read; default 50" },
            }),
            &[],
        ),
        output_schema: Some(json!({
            "type": "object",
            "properties": { "messages": { "type": "array", "items": { "type": "object" } } },
        })),
        // What was read is read: not even a repetition is the same.
        ..Tool::default()
    }
}

pub(crate) async fn run(board: &impl Board, _seat: &Seat, arguments: &mut Arguments) -> Reply {
    let max = arguments.whole(&["max", "limit"])?.unwrap_or(READ_DEFAULT).clamp(1, READ_MAX);
    let mut left = match arguments.peek("wait") {
        Some(serde_json::Value::Bool(_)) => {
            if arguments.flag(&["wait"])?.unwrap_or(false) {
                WAIT_MAX_MS
            } else {
                0
            }
        }
        _ => {
            let seconds = arguments.whole(&["wait", "wait_seconds"])?.unwrap_or(0);
            seconds.saturating_mul(1000).min(WAIT_MAX_MS)
        }
    };
    loop {
        let messages = read(board, max as usize).await?;
        if !messages.is_empty() || left == 0 {
            return Ok(told(&messages));
        }
        // Never more than before, whatever the board says: this ends.
        left = board.news(left).await.min(left - 1);
    }
}

async fn read(board: &impl Board, max: usize) -> Result<Vec<InboxMessage>, Refused> {
    board.ask(verbs::InboxRead { max, wait: false }).await
}

fn told(messages: &[InboxMessage]) -> Outcome {
    let text = match messages {
        [] => "No unread messages.".to_owned(),
        messages => messages.iter().map(shown).collect::<Vec<_>>().join("\n"),
    };
    Outcome::done(text, json!({ "messages": messages }))
}

/// The message, and how to answer it where an answer is wanted.
fn shown(message: &InboxMessage) -> String {
    let text = envelope(message);
    let Some(request) = message.reply_to else { return text };
    let how = match message.kind.as_str() {
        "shutdown_request" => format!(
            "SendMessage, message {{type: shutdown_response, request_id: \"{request}\", approve: \
             true, or false with a reason}}"
        ),
        "plan_approval_request" => {
            format!("Plan, plan_id {request}, action approve, or reject with feedback")
        }
        "question" => format!("AnswerQuestion, question_id {request}"),
        _ => return text,
    };
    format!("{text}\nAnswer with {how}.")
}
