//! `shipmate task list`: the board, and why a task cannot be taken.

use shipmate_protocol::verbs;
use shipmate_protocol::verbs::TaskFilter;
use shipmate_protocol::view::{TaskRow, TaskStage};

use crate::cli::failure::Failure;
use crate::cli::screen::{Paint, Screen, status_paint};
use crate::cli::session::Session;
use crate::cli::table::{Column, Table, cell, owned, painted};

/// List the tasks, with the reason why one cannot be taken
///
/// A pending task is `available`, or the note says what stands in the way: blocked by 3, files
/// held by ana, role tester, assigned to bo.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate task list
  shipmate task list --available
  shipmate --as ana task list --available       what ana could take now
  shipmate task list --status failed,in_progress --json | jq '.[].id'")]
pub(crate) struct ListArgs {
    /// pending, in_progress, completed, failed, deleted [default: all but deleted]
    #[arg(long, value_name = "STATUS", value_delimiter = ',')]
    #[arg(value_parser = ["pending", "in_progress", "completed", "failed", "deleted"])]
    status: Vec<String>,

    /// Only what could be taken now
    #[arg(long)]
    available: bool,

    /// Only tasks of this teammate
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,

    /// Only tasks of this group
    #[arg(long, value_name = "NAME")]
    group: Option<String>,

    /// Only tasks with this in their subject
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,

    /// Only ids above this one: the next page
    #[arg(long, value_name = "ID", default_value_t = 0, hide_default_value = true)]
    after: u32,

    /// At most this many
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

pub(crate) fn run(args: ListArgs, mut session: Session) -> Result<(), Failure> {
    let filter = TaskFilter {
        status: args.status,
        available: args.available,
        owner: args.owner,
        group: args.group,
        search: args.search,
        after: args.after,
        limit: args.limit,
    };
    let rows = session.ask(verbs::Tasks { filter })?;
    // The process ends next: taking ten thousand rows apart would only make it later.
    let rows = std::mem::ManuallyDrop::new(rows);
    if session.screen.json {
        return session.screen.json(&*rows);
    }
    if rows.is_empty() {
        return session.screen.line("no tasks");
    }
    session.screen.print(&table(&rows, &session.screen))
}

pub(crate) fn table(rows: &[TaskRow], screen: &Screen) -> String {
    let several = rows.iter().any(|row| row.team != rows[0].team);
    let mut table = Table::new(&[
        Column::Right("ID"),
        Column::Left("TEAM"),
        Column::Left("STATUS"),
        Column::Left("OWNER"),
        Column::Left("GROUP"),
        Column::Left("ALIAS"),
        Column::Elastic("SUBJECT"),
        Column::Elastic("NOTE"),
    ]);
    for row in rows {
        let note = if row.available && row.why.is_empty() {
            painted("available", Paint::Bold)
        } else {
            owned(note(row), Paint::Plain)
        };
        table.row([
            owned(row.id.to_string(), Paint::Plain),
            cell(if several { &row.team } else { "" }),
            painted(row.status.word(), status_paint(row.status.word())),
            cell(short_owner(row)),
            cell(row.group.as_deref().unwrap_or_default()),
            cell(row.alias.as_deref().unwrap_or_default()),
            cell(&row.subject),
            note,
        ]);
    }
    table.render(screen)
}

/// The owner without its team, which is the task's.
pub(crate) fn short_owner(row: &TaskRow) -> &str {
    let owner = row.owner.as_deref().unwrap_or_default();
    owner.split_once('/').map_or(owner, |(team, name)| if team == row.team { name } else { owner })
}

fn note(row: &TaskRow) -> String {
    let mut facts: Vec<&str> = Vec::new();
    if row.available {
        facts.push("available");
    }
    facts.extend(row.stage.filter(|stage| *stage != TaskStage::Claimed).map(TaskStage::word));
    // What a gate has printed is in `task show`.
    facts.extend(row.why.iter().filter_map(|why| why.lines().next()));
    facts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: u32, status: &str, available: bool, why: &[&str]) -> TaskRow {
        TaskRow {
            id,
            subject: format!("Task {id}"),
            status: status.parse().unwrap(),
            available,
            why: why.iter().map(|why| (*why).to_owned()).collect(),
            team: "alpha".to_owned(),
            ..TaskRow::default()
        }
    }

    #[test]
    fn a_list_says_why_a_task_cannot_be_taken() {
        let mut held = row(2, "in_progress", false, &[]);
        held.owner = Some("alpha/ana@1".to_owned());
        held.stage = Some(TaskStage::Submitted);
        let rows = [
            row(1, "pending", true, &[]),
            held,
            row(3, "pending", false, &["blocked by 2\nand more of it", "role tester"]),
            row(10, "pending", true, &["role tester"]),
        ];
        assert_eq!(
            table(&rows, &Screen::of_width(None)),
            "\
ID  STATUS       OWNER  SUBJECT  NOTE
 1  pending             Task 1   available
 2  in_progress  ana@1  Task 2   submitted
 3  pending             Task 3   blocked by 2; role tester
10  pending             Task 10  available; role tester
"
        );
    }
}
