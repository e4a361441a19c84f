//! `shipmate resume`: go on after everything had ended, and say what became of everybody.

use shipmate_protocol::ask::TaskFilter;
use shipmate_protocol::view::{Resumed, TaskRow};
use shipmate_protocol::{Answer, Ask};

use crate::cli::failure::{Failure, unexpected};
use crate::cli::screen::{Paint, Screen, plain};
use crate::cli::session::Session;
use crate::cli::table::{Column, Table, cell, owned, painted};

/// Go on after a restart of the machine, or after a pause
///
/// When everything had ended at once, a team waits until somebody says that it should go on. Then
/// each teammate is `resumed` (its process went on), `restarted` in its old tree with what it had
/// done, `waits` for a task, or `lost`: only a person can start it again. Nothing that was
/// acknowledged is done twice.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate resume
  shipmate resume --json | jq -r '.teammates[] | select(.how == \"lost\") | .name'")]
pub(crate) struct ResumeArgs {}

pub(crate) fn run(_: &ResumeArgs, mut session: Session) -> Result<(), Failure> {
    let Answer::Resumed(teammates) = session.ask(Ask::Resume)? else {
        return Err(unexpected("what became of the teammates"));
    };
    let filter = TaskFilter { status: vec!["in_progress".to_owned()], ..TaskFilter::default() };
    let Answer::Tasks(in_flight) = session.ask(Ask::Tasks { filter })? else {
        return Err(unexpected("tasks"));
    };
    let Answer::Status(status) = session.ask(Ask::Status)? else {
        return Err(unexpected("a status"));
    };
    if session.screen.json {
        return session.screen.json(&serde_json::json!({
            "teammates": teammates, "in_flight": in_flight, "queue": status.queue
        }));
    }
    let queue = status.queue.as_deref().unwrap_or_default();
    session.screen.print(&text(&teammates, &in_flight, queue, &session.screen))
}

fn text(teammates: &[Resumed], in_flight: &[TaskRow], queue: &str, screen: &Screen) -> String {
    let mut text = match teammates {
        [] => "the team goes on; it has no teammates\n".to_owned(),
        _ => table(teammates, screen),
    };
    text.push('\n');
    match in_flight {
        [] => text.push_str("nothing is in flight\n"),
        tasks => text.push_str(&flight(tasks, screen)),
    }
    if !queue.is_empty() {
        text.push_str(&format!("\nmerge queue: {}\n", plain(queue)));
    }
    text
}

fn table(teammates: &[Resumed], screen: &Screen) -> String {
    let columns = [Column::Left("TEAMMATE"), Column::Left("BECAME"), Column::Elastic("WHY")];
    let mut table = Table::new(&columns);
    for mate in teammates {
        let paint = match mate.how.as_str() {
            "resumed" | "restarted" => Paint::Good,
            "lost" => Paint::Bad,
            _ => Paint::Dim,
        };
        table.row([cell(&mate.name), painted(&mate.how, paint), cell(&mate.why)]);
    }
    table.render(screen)
}

fn flight(tasks: &[TaskRow], screen: &Screen) -> String {
    let columns = [
        Column::Right("IN FLIGHT"),
        Column::Left("STAGE"),
        Column::Left("BY"),
        Column::Elastic("SUBJECT"),
    ];
    let mut table = Table::new(&columns);
    for task in tasks {
        table.row([
            owned(task.id.to_string(), Paint::Plain),
            cell(task.stage.as_deref().unwrap_or_default()),
            cell(task.owner.as_deref().unwrap_or_default()),
            cell(&task.subject),
        ]);
    }
    table.render(screen)
}
