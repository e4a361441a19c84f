//! `Note`: the team's scratchpad, to write on and to look through.
//!
//! A note is somebody's words like a message: it is shown in an envelope, and no more than a few at once.

use serde_json::json;

use crate::tools::arguments::Arguments;
use crate::tools::envelope::envelope;
use crate::tools::outcome::Reply;
use crate::tools::task_read::show;
use crate::tools::{Board, Outcome, Seat, Tool, schema, words};
use crate::verbs;
use crate::view::{InboxMessage, NoteView, TaskView};

/// Notes of one answer.
const SHOWN: usize = 10;

pub(crate) fn tool() -> Tool {
    Tool {
        name: "Note",
        title: "Write or find a note",
        description: "The team's scratchpad. With text: adds what others would have to find out again. \
             With search: finds notes. With taskId alone: what that task handed over and notes about it.",
        input_schema: schema(
            json!({
                "text": { "type": "string" },
                "search": { "type": "string" },
                "taskId": { "type": "string" },
            }),
            &[],
        ),
        ..Tool::default()
    }
}

pub(crate) async fn run(board: &impl Board, _seat: &Seat, arguments: &mut Arguments) -> Reply {
    let text = arguments.text(&["text", "note"])?.filter(|text| !text.trim().is_empty());
    let search = arguments.text(&["search", "query"])?.filter(|text| !text.trim().is_empty());
    let task = arguments.word(&["task_id", "task"])?.map(|task| words::task(&task));
    let before = arguments.whole(&["before"])?;
    // Not in the schema, which every request carries: whoever has added a note is told of it.
    if let Some(note) = arguments.whole(&["remove"])? {
        board.ask(verbs::NoteRemove { note }).await?;
        return Ok(Outcome::done(format!("Note {note} is removed."), json!({ "removed": note })));
    }
    let mut added = Vec::new();
    let mut structured = json!({});
    if let Some(text) = text {
        let id = board.ask(verbs::NoteAdd { text, task: task.clone() }).await?.id;
        added
            .push(format!("Note {id} is on the team's scratchpad; call with remove {id} to undo."));
        structured["note"] = json!(id);
        if search.is_none() {
            return Ok(Outcome::done(added.concat(), structured));
        }
    }
    if let (None, None, Some(task)) = (&search, before, &task) {
        added.extend(handed_over(&show(board, task).await?));
    }
    let limit = Some(SHOWN);
    let notes = board.ask(verbs::Notes { search, task, before, limit }).await?;
    added.extend(notes.iter().map(enveloped));
    if notes.is_empty() && added.is_empty() {
        added.push("No notes found.".to_owned());
    }
    if let Some(last) = notes.last().filter(|_| notes.len() >= SHOWN) {
        added.push(format!("There may be older ones: call again with before {}.", last.id));
    }
    structured["notes"] = json!(notes);
    Ok(Outcome::done(added.join("\n"), structured))
}

/// All that a task handed over, or its result: a brief has only the beginning of a long one.
fn handed_over(task: &TaskView) -> Option<String> {
    let handoff = task.handoff.as_ref().map(ToString::to_string);
    let body = handoff.or_else(|| task.result.clone())?;
    let (kind, from) = ("handoff".to_owned(), task.row.owner.clone().unwrap_or_default());
    let (id, sent_at) = (u64::from(task.row.id), task.changed_at);
    Some(envelope(&InboxMessage { id, from, kind, body, reply_to: None, sent_at }))
}

/// The note between marks that name its author: whatever it says, it is no order.
pub(crate) fn enveloped(note: &NoteView) -> String {
    let kind = note.task.map_or_else(|| "note".to_owned(), |task| format!("note on task {task}"));
    envelope(&InboxMessage {
        id: note.id,
        from: note.by.clone(),
        kind,
        body: note.text.clone(),
        reply_to: None,
        sent_at: note.at,
    })
}
