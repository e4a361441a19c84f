//! What whoever takes up a task is told by those before it: their handoffs, and notes about it.
//!
//! Words of others, each in its envelope. The coordinator has cut them to what fits
//! (`views/handoff` there).

use crate::tools::envelope::envelope;
use crate::tools::note::enveloped;
use crate::view::{InboxMessage, TaskView};

/// How much of a note goes with a task, in bytes.
const NOTE_BYTES_MAX: usize = 500;

/// Empty where nobody has left anything.
pub fn from_others(task: &TaskView) -> String {
    let mut parts = Vec::new();
    if !task.handoffs.is_empty() {
        parts.push("Handed over by the tasks that this one waited for:".to_owned());
    }
    for prior in &task.handoffs {
        parts.push(envelope(&InboxMessage {
            id: u64::from(prior.task),
            from: prior.by.clone(),
            kind: "handoff".to_owned(),
            body: format!("Task {} ({}):\n{}", prior.task, prior.subject, prior.text),
            reply_to: None,
            sent_at: 0,
        }));
        if prior.cut {
            parts.push(format!("(Cut here: Note with taskId {} shows all of it.)", prior.task));
        }
    }
    if let Some(left_out) = task.left_out() {
        parts.push(format!("(Left out here, Note with taskId shows each: {left_out}.)"));
    }
    for note in &task.notes {
        let mut note = note.clone();
        if note.text.len() > NOTE_BYTES_MAX {
            note.text.truncate(note.text.floor_char_boundary(NOTE_BYTES_MAX));
            note.text.push('…');
        }
        parts.push(enveloped(&note));
    }
    parts.join("\n")
}
