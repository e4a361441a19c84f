//! `shipmate task graph`: the dependencies, drawn.
//!
//! A small plan is drawn as a tree in which every task stands once, below the blocker that comes
//! last, with its other blockers beside it. A large or deep one would leave the screen to the
//! right, so it is listed level by level instead. Groups are nodes of their own: a plan that
//! depends on a group of a thousand tasks has one edge, not a thousand.

mod dot;
mod draw;

use std::collections::HashMap;

use shipmate_protocol::verbs;
use shipmate_protocol::verbs::TaskFilter;
use shipmate_protocol::view::TaskRow;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Draw the dependencies between tasks
///
/// A task stands once, below the last of its blockers; the others follow after ←. Plans of more
/// than 500 tasks or 16 levels are listed level by level.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate task graph
  shipmate task graph --levels
  shipmate task graph --dot | dot -Tsvg > plan.svg")]
pub(crate) struct GraphArgs {
    /// Print the graph in the DOT language, for graphviz
    #[arg(long, conflicts_with = "levels")]
    dot: bool,

    /// List level by level, whatever the size
    #[arg(long)]
    levels: bool,
}

const TREE_TASKS_MAX: usize = 500;
const TREE_LEVELS_MAX: usize = 16;

pub(crate) fn run(args: &GraphArgs, mut session: Session) -> Result<(), Failure> {
    let ask = verbs::Tasks { filter: TaskFilter::default() };
    let rows = session.ask(ask)?;
    // As in the list: the process ends next, and its memory with it.
    let rows = std::mem::ManuallyDrop::new(rows);
    let graph = Graph::new(&rows);
    if session.screen.json {
        return session.screen.json(&graph.edges());
    }
    if args.dot {
        return session.screen.print(&dot::text(&graph));
    }
    if rows.is_empty() {
        return session.screen.line("no tasks");
    }
    let small = rows.len() <= TREE_TASKS_MAX && graph.depth() <= TREE_LEVELS_MAX;
    let text = match small && !args.levels {
        true => draw::tree(&graph, &session.screen),
        false => draw::levels(&graph, &session.screen),
    };
    session.screen.print(&text)
}

/// The tasks with their dependencies resolved and their levels found.
#[derive(Debug)]
struct Graph<'a> {
    rows: &'a [TaskRow],
    /// For each task, the tasks it waits for directly (by index); groups stand in `groups`.
    blockers: Vec<Vec<usize>>,
    /// For each task, the groups it waits for.
    groups: Vec<Vec<&'a str>>,
    members: HashMap<&'a str, Vec<usize>>,
    /// How many tasks come before it, one after the other; 0 waits for nothing.
    level: Vec<usize>,
}

/// A task and what it waits for, for programs.
#[derive(serde::Serialize)]
struct Edges<'a> {
    id: u32,
    level: usize,
    blocked_by: &'a [String],
}

impl<'a> Graph<'a> {
    fn new(rows: &'a [TaskRow]) -> Graph<'a> {
        let index: HashMap<u32, usize> =
            rows.iter().enumerate().map(|(at, row)| (row.id, at)).collect();
        let mut members: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, row) in rows.iter().enumerate() {
            if let Some(group) = &row.group {
                members.entry(group).or_default().push(at);
            }
        }
        let mut blockers = Vec::with_capacity(rows.len());
        let mut groups = Vec::with_capacity(rows.len());
        for row in rows {
            let (of_groups, of_tasks): (Vec<&str>, Vec<&str>) =
                row.blocked_by.iter().map(String::as_str).partition(|on| on.starts_with("group:"));
            let of_tasks = of_tasks.into_iter().filter_map(|id| id.parse::<u32>().ok());
            // A deleted blocker is not among the rows; the list says that it blocks.
            blockers.push(of_tasks.filter_map(|id| index.get(&id).copied()).collect());
            groups.push(of_groups.into_iter().filter_map(|on| on.strip_prefix("group:")).collect());
        }
        let mut graph = Graph { rows, blockers, groups, members, level: Vec::new() };
        graph.level = graph.find_levels();
        graph
    }

    /// Longest way from a beginning, by Kahn's order. A group is one node between its members and
    /// those that wait for it.
    fn find_levels(&self) -> Vec<usize> {
        let names: Vec<&str> = self.members.keys().copied().collect();
        let tasks = self.rows.len();
        let group_at: HashMap<&str, usize> =
            names.iter().enumerate().map(|(at, name)| (*name, tasks + at)).collect();
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); tasks + names.len()];
        let mut waits: Vec<usize> = vec![0; tasks + names.len()];
        for (at, groups) in self.groups.iter().enumerate() {
            let of_groups = groups.iter().filter_map(|name| group_at.get(name));
            for before in self.blockers[at].iter().chain(of_groups) {
                next[*before].push(at);
                waits[at] += 1;
            }
        }
        for (name, members) in &self.members {
            for member in members {
                next[*member].push(group_at[name]);
                waits[group_at[name]] += 1;
            }
        }
        let mut level = vec![0; waits.len()];
        let mut ready: Vec<usize> = (0..waits.len()).filter(|at| waits[*at] == 0).collect();
        while let Some(at) = ready.pop() {
            // A group adds no level of its own.
            let step = usize::from(at < tasks);
            for after in &next[at] {
                level[*after] = level[*after].max(level[at] + step);
                waits[*after] -= 1;
                if waits[*after] == 0 {
                    ready.push(*after);
                }
            }
        }
        level.truncate(tasks);
        level
    }

    fn depth(&self) -> usize {
        self.level.iter().max().map_or(0, |level| level + 1)
    }

    fn edges(&self) -> Vec<Edges<'a>> {
        let rows = self.rows.iter().zip(&self.level);
        rows.map(|(row, level)| Edges { id: row.id, level: *level, blocked_by: &row.blocked_by })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::screen::Screen;
    use shipmate_protocol::view::TaskStatus;

    /// Tasks from `id: blockers` lines; `*` marks a completed one and `(g)` its group.
    fn rows(plan: &str) -> Vec<TaskRow> {
        let row = |line: &str| {
            let (head, on) = line.split_once(':').unwrap();
            let group = head.split_once('(').map(|(_, group)| group.trim_end_matches([')', '*']));
            let id = head.split(['(', '*']).next().unwrap().trim();
            let done = head.contains('*');
            TaskRow {
                id: id.parse().unwrap(),
                subject: format!("Task {id}"),
                status: if done { TaskStatus::Completed } else { TaskStatus::Pending },
                available: !done && on.trim().is_empty(),
                blocked_by: on.split_whitespace().map(str::to_owned).collect(),
                group: group.map(str::to_owned),
                team: "alpha".to_owned(),
                ..TaskRow::default()
            }
        };
        plan.trim().lines().map(row).collect()
    }

    const PLAN: &str = "
1*:
2: 1
3: 1
4(docs): 2 3
5(docs): 2
6: group:docs 1
7:";

    #[test]
    fn a_small_plan_is_a_tree_in_which_every_task_stands_once() {
        let rows = rows(PLAN);
        assert_eq!(
            draw::tree(&Graph::new(&rows), &Screen::of_width(None)),
            "\
✓ 1 Task 1
├─ · 2 Task 2
│  ├─ · 4 Task 4  ← 3
│  │  └─ · 6 Task 6  ← group:docs, 1
│  └─ · 5 Task 5
└─ · 3 Task 3
○ 7 Task 7

✓ completed  ▶ in progress  ○ available  · blocked  ✗ failed
"
        );
    }

    #[test]
    fn a_large_plan_is_listed_level_by_level() {
        let rows = rows(PLAN);
        let text = draw::levels(&Graph::new(&rows), &Screen::of_width(None));
        assert_eq!(
            text.lines().take(8).collect::<Vec<_>>(),
            [
                "level 1, 2 tasks",
                "  ✓ 1 Task 1",
                "  ○ 7 Task 7",
                "level 2, 2 tasks",
                "  · 2 Task 2  ← 1",
                "  · 3 Task 3  ← 1",
                "level 3, 2 tasks",
                "  · 4 Task 4  ← 2, 3",
            ]
        );
    }

    #[test]
    fn dot_has_every_task_and_edge_and_quotes_what_a_peer_wrote() {
        let mut rows = rows("1:\n2(g): 1\n3: group:g");
        rows[0].subject = "say \"hi\"\n\\".to_owned();
        assert_eq!(
            dot::text(&Graph::new(&rows)),
            r#"digraph tasks {
  rankdir=LR;
  node [shape=box, style="rounded,filled", fillcolor=white];
  1 [label="1 say \"hi\"\\n\\", fillcolor=white];
  2 [label="2 Task 2", fillcolor=gray92];
  3 [label="3 Task 3", fillcolor=gray92];
  "group:g" [shape=ellipse, label="group g"];
  1 -> 2;
  "group:g" -> 3;
  2 -> "group:g" [style=dashed];
}
"#
        );
    }

    #[test]
    fn a_chain_of_ten_thousand_is_laid_out() {
        let mut plan = String::from("1:\n");
        for id in 2..=10_000 {
            plan.push_str(&format!("{id}: {}\n", id - 1));
        }
        let rows = rows(&plan);
        let graph = Graph::new(&rows);
        assert_eq!(graph.depth(), 10_000);
        assert_eq!(draw::levels(&graph, &Screen::of_width(None)).lines().count(), 20_002);
    }
}
