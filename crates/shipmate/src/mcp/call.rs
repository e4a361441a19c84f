//! One tool call: from a seat, within its time, with the mail that came meanwhile.
//!
//! Who acts is the session's token. Whatever a model writes into `from` or a like argument
//! changes nothing.

use serde_json::{Value, json};
use shipmate_protocol::Refused;
use shipmate_protocol::tools::envelope::envelope;
use shipmate_protocol::tools::{self, Outcome, SeatKind};
use shipmate_protocol::verbs;
use tokio::time::Instant;

use crate::mcp::link::Link;
use crate::mcp::session::{Session, Standing};
use crate::mcp::session_board::SessionBoard;

/// More than this comes with the next call.
const MAIL_MAX: usize = 20;
/// Beyond the call's own time, so that there is always enough to read in.
const MAIL_WITHIN: std::time::Duration = std::time::Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) outcome: Outcome,
    /// Unread messages, each in its envelope; they count as read.
    pub(crate) mail: Vec<String>,
}

pub(crate) async fn call(
    session: &Session,
    program: &str,
    tool: &str,
    arguments: Value,
    until: Instant,
) -> Called {
    let standing = match session.stand(program, until).await {
        Ok(standing) => standing,
        Err(refused) => return Called { outcome: refusal(&refused), mail: Vec::new() },
    };
    let Standing { seat, link, .. } = standing;
    let board = SessionBoard::new(&session.hub, &link, &seat.team, until);
    let mut outcome = tools::call(&board, &seat, tool, arguments).await;
    if seat.kind != SeatKind::Visitor {
        return Called { outcome, mail: mail(&link, until).await };
    }
    let Some(team) = board.created() else { return Called { outcome, mail: Vec::new() } };
    if let Some(note) = uncommitted(&link, until).await {
        outcome.text.push_str(&note);
    }
    match session.lead(team, program, until).await {
        Ok(standing) => {
            let said = match standing.seat.kind {
                SeatKind::Lead => "You lead team",
                _ => "Somebody leads already; you are in team",
            };
            outcome.text.push_str(&format!(
                "\n{said} {} as {}; your tools have changed.",
                standing.seat.team, standing.seat.name
            ));
            Called { outcome, mail: mail(&standing.link, until).await }
        }
        Err(refused) => {
            outcome.text.push_str(&format!("\nThe team is there, but no seat in it: {refused}"));
            Called { outcome, mail: Vec::new() }
        }
    }
}

/// A team begins at the last commit: what is not in it nobody in the team sees.
async fn uncommitted(link: &Link, until: Instant) -> Option<String> {
    let survey = link.ask(verbs::Survey, until).await.ok()?;
    let first: Vec<&str> = survey.dirty.iter().take(5).map(String::as_str).collect();
    let more = match survey.dirty.len().saturating_sub(first.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!first.is_empty()).then(|| {
        format!(
            "\nThe team begins at the last commit. Uncommitted, so not seen by teammates: {}{more}",
            first.join(", ")
        )
    })
}

/// Reads what has come for this seat. Where that fails it is still unread, and comes next time.
async fn mail(link: &Link, until: Instant) -> Vec<String> {
    // A read that is given up may still be carried out, and then nobody would see the mail.
    let until = until + MAIL_WITHIN;
    let read = link.ask(verbs::InboxRead { max: MAIL_MAX, wait: false }, until).await;
    read.unwrap_or_default().iter().map(envelope).collect()
}

fn refusal(refused: &Refused) -> Outcome {
    Outcome {
        text: format!("refused: {refused}"),
        structured: json!({ "error": refused }),
        is_error: true,
    }
}
