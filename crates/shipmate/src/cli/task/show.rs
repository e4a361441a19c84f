//! `shipmate task show`.

use shipmate_protocol::verbs;
use shipmate_protocol::view::{TaskStage, TaskView};

use crate::cli::failure::Failure;
use crate::cli::screen::{plain, plain_lines};
use crate::cli::session::Session;
use crate::time::{date_and_time, duration};

/// Show everything about one task
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate task show 3
  shipmate task show 03-01/T3 --json")]
pub(crate) struct ShowArgs {
    /// Its id or alias
    task: String,
}

pub(crate) fn run(args: &ShowArgs, mut session: Session) -> Result<(), Failure> {
    let task = session.ask(verbs::TaskShow { task: args.task.clone() })?;
    if session.screen.json {
        return session.screen.json(&task);
    }
    session.screen.print(&text(&task))
}

/// The task as a list of facts, without those that are absent.
pub(crate) fn text(task: &TaskView) -> String {
    let row = &task.row;
    let mut text = format!("task {}: {}\n", row.id, plain(&row.subject));
    let mut fact = |name: &str, value: &str| {
        if !value.is_empty() {
            let value = plain_lines(value).replace('\n', "\n               ");
            text.push_str(&format!("  {name:<12} {value}\n"));
        }
    };
    let number = |n: Option<u64>| n.map(|n| n.to_string()).unwrap_or_default();
    let time = |ms: Option<u64>| ms.map(duration).unwrap_or_default();
    let stage =
        row.stage.map(TaskStage::word).map(|stage| format!(", {stage}")).unwrap_or_default();
    fact("status", &format!("{}{stage}", row.status));
    fact("why not", &row.why.join("; "));
    if row.available {
        fact("available", "yes");
    }
    fact("owner", row.owner.as_deref().unwrap_or_default());
    fact("claim token", &number(task.token));
    fact("lease", &time(task.lease_ms));
    fact("alias", row.alias.as_deref().unwrap_or_default());
    fact("group", row.group.as_deref().unwrap_or_default());
    fact("blocked by", &row.blocked_by.join(", "));
    let blocks: Vec<String> = task.blocks.iter().map(ToString::to_string).collect();
    fact("blocks", &blocks.join(", "));
    fact("files", &task.files.join(", "));
    fact("role", task.role.as_deref().unwrap_or_default());
    fact("assignee", task.assignee.as_deref().unwrap_or_default());
    fact("priority", &row.priority.to_string());
    fact("duration", &time(task.duration_ms));
    fact("path", &duration(task.path_ms));
    fact("retries", &format!("{} of {}", task.retries, task.retries_max));
    fact("last failure", task.last_failure.as_deref().unwrap_or_default());
    fact("commit", task.commit.as_deref().unwrap_or_default());
    fact("result", task.result.as_deref().unwrap_or_default());
    fact("handoff", &task.handoff.as_ref().map(ToString::to_string).unwrap_or_default());
    for prior in &task.handoffs {
        let cut = if prior.cut {
            format!(" (cut; task show {} has all)", prior.task)
        } else {
            String::new()
        };
        fact("from before", &format!("task {} by {}{cut}\n{}", prior.task, prior.by, prior.text));
    }
    let left_out = task.left_out().map(|tasks| format!("{tasks} left more: `task show` has each"));
    fact("from before", &left_out.unwrap_or_default());
    for note in &task.notes {
        fact("note", &format!("{} by {}\n{}", date_and_time(note.at), note.by, note.text));
    }
    fact("set aside", &task.set_aside.join("\n"));
    let metadata: Vec<String> =
        task.metadata.iter().map(|(key, value)| format!("{key}={value}")).collect();
    fact("metadata", &metadata.join("\n"));
    fact("active form", &task.active_form);
    fact("created", &format!("{} by {}", date_and_time(task.created_at), task.created_by));
    fact("changed", &date_and_time(task.changed_at));
    fact("description", &task.description);
    text
}
