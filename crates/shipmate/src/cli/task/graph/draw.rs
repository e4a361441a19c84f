//! The two drawings for a terminal: a tree, and a list by levels.

use super::Graph;
use crate::cli::screen::{Paint, Screen, columns, cut, plain, status_paint};
use crate::cli::task::list::short_owner;
use shipmate_protocol::view::{TaskRow, TaskStatus};

const LEGEND: &str = "✓ completed  ▶ in progress  ○ available  · blocked  ✗ failed\n";

/// Every task once, below the blocker on the deepest level (the first of those).
pub(super) fn tree(graph: &Graph<'_>, screen: &Screen) -> String {
    let tasks = graph.rows.len();
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); tasks];
    let mut parent: Vec<Option<usize>> = vec![None; tasks];
    let mut roots = Vec::new();
    for (at, parent) in parent.iter_mut().enumerate() {
        let members = graph.groups[at].iter().filter_map(|group| graph.members.get(group));
        let candidates = graph.blockers[at].iter().chain(members.flatten()).copied();
        // Not itself below itself, whatever a coordinator of another release may send.
        let candidates = candidates.filter(|before| graph.level[*before] < graph.level[at]);
        let chosen = candidates.max_by_key(|before| (graph.level[*before], tasks - *before));
        *parent = chosen;
        match chosen {
            Some(before) => below[before].push(at),
            None => roots.push(at),
        }
    }
    let mut text = String::new();
    for root in roots {
        let drawing = Drawing { graph, screen, below: &below, parent: &parent };
        drawing.push(&mut text, root, "", "");
    }
    text.push('\n');
    text.push_str(LEGEND);
    text
}

struct Drawing<'a> {
    graph: &'a Graph<'a>,
    screen: &'a Screen,
    below: &'a [Vec<usize>],
    parent: &'a [Option<usize>],
}

impl Drawing<'_> {
    fn push(&self, text: &mut String, at: usize, branch: &str, indent: &str) {
        let row = &self.graph.rows[at];
        let parent = self.parent[at].map(|before| self.graph.rows[before].id.to_string());
        let others = row.blocked_by.iter().filter(|on| Some(*on) != parent.as_ref());
        let others: Vec<&str> = others.map(String::as_str).collect();
        text.push_str(&line(row, &others, &format!("{indent}{branch}"), self.screen));
        let deeper = match branch {
            "" => indent.to_owned(),
            "└─ " => format!("{indent}   "),
            _ => format!("{indent}│  "),
        };
        let children = &self.below[at];
        for (nth, child) in children.iter().enumerate() {
            let branch = if nth + 1 == children.len() { "└─ " } else { "├─ " };
            self.push(text, *child, branch, &deeper);
        }
    }
}

pub(super) fn levels(graph: &Graph<'_>, screen: &Screen) -> String {
    let mut by_level: Vec<Vec<&TaskRow>> = vec![Vec::new(); graph.depth()];
    for (row, level) in graph.rows.iter().zip(&graph.level) {
        by_level[*level].push(row);
    }
    let mut text = String::with_capacity(graph.rows.len() * 48);
    for (level, rows) in by_level.iter().enumerate() {
        let noun = if rows.len() == 1 { "task" } else { "tasks" };
        let title = format!("level {}, {} {noun}", level + 1, rows.len());
        text.push_str(&screen.paint(Paint::Bold, &title));
        text.push('\n');
        for row in rows {
            let on: Vec<&str> = row.blocked_by.iter().map(String::as_str).collect();
            text.push_str(&line(row, &on, "  ", screen));
        }
    }
    text.push('\n');
    text.push_str(LEGEND);
    text
}

fn line(row: &TaskRow, on: &[&str], indent: &str, screen: &Screen) -> String {
    let owner = match short_owner(row) {
        owner if row.status == TaskStatus::InProgress && !owner.is_empty() => {
            format!("  {}", plain(owner))
        }
        _ => String::new(),
    };
    let on = if on.is_empty() { String::new() } else { format!("  ← {}", plain(&on.join(", "))) };
    let mark = screen.paint(status_paint(row.status.word()), mark(row));
    let id = row.id.to_string();
    let subject = plain(&row.subject);
    let subject = match screen.width {
        Some(width) => {
            let taken = columns(indent) + id.len() + 3 + columns(&owner) + columns(&on);
            cut(&subject, width.saturating_sub(taken).max(12))
        }
        None => subject.as_ref().into(),
    };
    let (owner, on) = (screen.paint(Paint::Busy, &owner), screen.paint(Paint::Dim, &on));
    format!("{indent}{mark} {id} {subject}{owner}{on}\n")
}

fn mark(row: &TaskRow) -> &'static str {
    match row.status {
        TaskStatus::Completed => "✓",
        TaskStatus::InProgress => "▶",
        TaskStatus::Failed => "✗",
        _ if row.available => "○",
        _ => "·",
    }
}
