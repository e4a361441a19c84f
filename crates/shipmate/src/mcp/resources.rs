//! What can be read without calling a tool: the board, a task, the inbox and the log.
//!
//! Reading changes nothing: mail that is looked at here stays unread.

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;
use shipmate_protocol::Refused;
use shipmate_protocol::tools::envelope::envelope;
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::TaskFilter;
use tokio::time::Instant;

use crate::mcp::hub::Caller;
use crate::mcp::link::Link;
use crate::mcp::news::{Happening, is_mail_of, is_of_board, is_of_task};
use crate::mcp::session::Session;

const BOARD: &str = "shipmate://board";
const INBOX: &str = "shipmate://inbox";
const LOG: &str = "shipmate://log";
const TASK: &str = "shipmate://task/";
/// How much of the log is read at once: the end of it.
const LOG_RECORDS_MAX: u64 = 200;

pub(crate) fn list() -> Vec<Resource> {
    vec![
        Resource::new(BOARD, "board")
            .with_title("The board")
            .with_description("Where the team stands: teammates, tasks and what holds them up")
            .with_mime_type("application/json"),
        Resource::new(INBOX, "inbox")
            .with_title("The inbox")
            .with_description("Unread messages of this session; they stay unread")
            .with_mime_type("text/plain"),
        Resource::new(LOG, "log")
            .with_title("The log")
            .with_description("The last records of the team's log, one JSON object a line")
            .with_mime_type("application/x-ndjson"),
    ]
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("shipmate://task/{id}", "task")
            .with_title("A task")
            .with_description("Everything about one task, by its id or alias")
            .with_mime_type("application/json"),
    ]
}

/// It could be read if there were a team.
pub(crate) fn is_known(uri: &str) -> bool {
    matches!(uri, BOARD | INBOX | LOG) || uri.strip_prefix(TASK).is_some_and(|id| !id.is_empty())
}

pub(crate) async fn read(
    session: &Session,
    program: &str,
    uri: &str,
    until: Instant,
) -> Result<ReadResourceResult, ErrorData> {
    let missing = |why: &str| ErrorData::resource_not_found(format!("{uri}: {why}"), None);
    if !is_known(uri) {
        return Err(missing("there is board, task/{id}, inbox and log"));
    }
    if session.caller == Caller::Guest {
        session.stand(program, until).await.map_err(|refused| missing(&refused.to_string()))?;
    }
    let Some((link, _)) = session.reader(until).await.map_err(|r| missing(&r.to_string()))? else {
        return Err(missing("there is no team yet; TeamCreate makes one"));
    };
    let read = match uri {
        BOARD => board(&link, until).await,
        LOG => log(&link, until).await,
        INBOX => match session.taken().await {
            Some(seated) => inbox(&seated.link, until).await,
            None => Ok("no mail: this session has no seat yet".to_owned()),
        },
        _ => task(&link, &uri[TASK.len()..], until).await,
    };
    let text = read.map_err(|refused| missing(&refused.to_string()))?;
    let mime = match uri {
        INBOX => "text/plain",
        LOG => "application/x-ndjson",
        _ => "application/json",
    };
    let contents = ResourceContents::text(text, uri).with_mime_type(mime);
    Ok(ReadResourceResult::new(vec![contents]))
}

async fn board(link: &Link, until: Instant) -> Result<String, Refused> {
    let status = link.ask(verbs::Status, until).await?;
    let tasks = link.ask(verbs::Tasks { filter: TaskFilter::default() }, until).await?;
    Ok(json!({ "status": status, "tasks": tasks }).to_string())
}

async fn task(link: &Link, task: &str, until: Instant) -> Result<String, Refused> {
    let task = link.ask(verbs::TaskShow { task: task.to_owned() }, until).await?;
    Ok(json!(task).to_string())
}

async fn inbox(link: &Link, until: Instant) -> Result<String, Refused> {
    let messages = link.ask(verbs::InboxPeek, until).await?;
    match messages.is_empty() {
        true => Ok("no unread messages".to_owned()),
        false => Ok(messages.iter().map(envelope).collect::<Vec<_>>().join("\n\n")),
    }
}

async fn log(link: &Link, until: Instant) -> Result<String, Refused> {
    let end = link.ask(verbs::Status, until).await?.position;
    let after = end.saturating_sub(LOG_RECORDS_MAX);
    let records = link.ask(verbs::Log { after, max: LOG_RECORDS_MAX as usize }, until).await?;
    Ok(records.iter().map(|record| format!("{}\n", record.get())).collect())
}

/// Whether what happened changes what a reader of `uri` sees. `who` is `team/name`.
pub(crate) fn is_changed(uri: &str, happening: &Happening, who: Option<&str>) -> bool {
    let event = match happening {
        Happening::Connected => return false,
        Happening::Missed | Happening::Unreadable => return true,
        Happening::Record(event) => event,
    };
    match uri {
        LOG => true,
        INBOX => who.is_some_and(|who| is_mail_of(event, who)),
        BOARD => is_of_board(event),
        task => {
            let id = task.strip_prefix(TASK).and_then(|id| id.parse().ok());
            id.is_some_and(|id| is_of_task(event, id))
        }
    }
}
