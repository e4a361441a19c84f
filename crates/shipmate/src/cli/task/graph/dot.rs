//! The graph in the DOT language.

use super::Graph;
use crate::cli::screen::plain;
use shipmate_protocol::view::{TaskRow, TaskStatus};

pub(super) fn text(graph: &Graph<'_>) -> String {
    let mut text = String::from(
        "digraph tasks {\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", \
         fillcolor=white];\n",
    );
    for row in graph.rows {
        let label = quoted(&format!("{} {}", row.id, row.subject));
        text.push_str(&format!("  {} [label={label}, fillcolor={}];\n", row.id, colour(row)));
    }
    let mut groups: Vec<&str> = graph.groups.iter().flatten().copied().collect();
    groups.sort_unstable();
    groups.dedup();
    for group in &groups {
        let (id, label) = (quoted(&format!("group:{group}")), quoted(&format!("group {group}")));
        text.push_str(&format!("  {id} [shape=ellipse, label={label}];\n"));
    }
    for (at, row) in graph.rows.iter().enumerate() {
        for before in &graph.blockers[at] {
            text.push_str(&format!("  {} -> {};\n", graph.rows[*before].id, row.id));
        }
        for group in &graph.groups[at] {
            text.push_str(&format!("  {} -> {};\n", quoted(&format!("group:{group}")), row.id));
        }
    }
    for group in groups {
        let id = quoted(&format!("group:{group}"));
        for member in graph.members.get(group).into_iter().flatten() {
            text.push_str(&format!("  {} -> {id} [style=dashed];\n", graph.rows[*member].id));
        }
    }
    text.push_str("}\n");
    text
}

/// A DOT string: only the quote has to be escaped, and a backslash would begin an escape of the
/// label, so it is doubled.
fn quoted(text: &str) -> String {
    let text = plain(text).replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{text}\"")
}

fn colour(row: &TaskRow) -> &'static str {
    match row.status {
        TaskStatus::Completed => "palegreen",
        TaskStatus::InProgress => "khaki",
        TaskStatus::Failed => "lightsalmon",
        _ if row.available => "white",
        _ => "gray92",
    }
}
