//! What waits for what: every reference is resolved, circles are named, and the tasks get an
//! order in which each comes after what it waits for.
//!
//! Groups are nodes of their own (a group waits for its members), so that a plan that waits for a
//! thousand tasks is one edge and everything here stays linear in the size of the files.

use std::collections::HashMap;

use crate::verbs::TaskNew;

use crate::problem::{Place, Problems, nearest, shown_id};

/// Ids among which the one that was meant is looked for.
const CANDIDATES_MAX: usize = 1_000;
/// Most dependencies that the board gives one task.
const DEPENDENCIES_MAX: usize = 1024;
/// Members of a circle that are named.
const CIRCLE_SHOWN: usize = 12;

type Node = usize;

/// The tasks are the first nodes, in the order of the plan; then come the groups.
#[derive(Debug)]
pub(super) struct Graph {
    /// What each node waits for.
    pub(super) waits: Vec<Vec<Node>>,
    groups: Vec<String>,
    /// Each node comes after what it waits for.
    pub(super) order: Vec<Node>,
}

/// Reads the references of all tasks. `torn`: some record could not be read, so that an id that
/// is not here may well be in it.
pub(super) fn build(tasks: &[(TaskNew, Place)], torn: bool, problems: &mut Problems) -> Graph {
    let ids = ids(tasks, problems);
    let mut groups: HashMap<&str, Node> = HashMap::new();
    let mut waits: Vec<Vec<Node>> = vec![Vec::new(); tasks.len()];
    let mut names = Vec::new();
    for (index, (task, _)) in tasks.iter().enumerate() {
        let Some(group) = task.group.as_deref() else { continue };
        let node = *groups.entry(group).or_insert_with(|| {
            names.push(group.to_owned());
            waits.push(Vec::new());
            waits.len() - 1
        });
        waits[node].push(index);
    }
    for (index, (task, place)) in tasks.iter().enumerate() {
        if task.blocked_by.len() > DEPENDENCIES_MAX {
            let (id, count) = (shown_id(alias(task)), task.blocked_by.len());
            let fact =
                format!("task {id} waits for {count} others, the limit is {DEPENDENCIES_MAX}");
            problems.add(place, fact, "let the others form a group and wait for group:NAME");
            continue;
        }
        for on in &task.blocked_by {
            let group = on.strip_prefix("group:");
            let found = match group {
                Some(group) => groups.get(group).copied(),
                None => ids.get(on.as_str()).copied(),
            };
            let id = shown_id(alias(task));
            match found {
                Some(node) if node == index => {
                    problems.add(place, format!("task {id} waits for itself"), "take it out");
                }
                Some(_) if group.is_some() && group == task.group.as_deref() => {
                    let fact = format!("task {id} waits for {on}, to which it belongs");
                    problems.add(place, fact, "take it out, or let the task leave the group");
                }
                Some(node) => waits[index].push(node),
                None if torn => {}
                None => {
                    let what = if group.is_some() { "has no member" } else { "is not in the plan" };
                    let fact = format!("task {id} waits for {}, which {what}", shown_id(on));
                    let guess = problems.worth_a_guess().then(|| meant(on, tasks, &groups));
                    let remedy = match guess.flatten() {
                        Some(near) => format!("did you mean {}?", shown_id(&near)),
                        None => "add it, or take the dependency out".to_owned(),
                    };
                    problems.add(place, fact, remedy);
                }
            }
        }
    }
    let mut graph = Graph { waits, groups: names, order: Vec::new() };
    let circles = graph.sort();
    for circle in circles {
        graph.tell(tasks, circle, problems);
    }
    graph
}

fn alias(task: &TaskNew) -> &str {
    task.alias.as_deref().unwrap_or_default()
}

fn ids<'t>(tasks: &'t [(TaskNew, Place)], problems: &mut Problems) -> HashMap<&'t str, Node> {
    let mut ids: HashMap<&str, Node> = HashMap::with_capacity(tasks.len());
    for (index, (task, place)) in tasks.iter().enumerate() {
        let first = *ids.entry(alias(task)).or_insert(index);
        if first != index {
            let earlier = tasks[first].1.line;
            let fact = format!("task {} is there already: line {earlier}", shown_id(alias(task)));
            problems.add(place, fact, "give each task an id of its own");
        }
    }
    ids
}

fn meant(on: &str, tasks: &[(TaskNew, Place)], groups: &HashMap<&str, Node>) -> Option<String> {
    match on.strip_prefix("group:") {
        Some(group) => {
            let names = groups.keys().copied().take(CANDIDATES_MAX);
            nearest(group, names.filter(|name| !other_number(group, name)))
                .map(|near| format!("group:{near}"))
        }
        None if groups.contains_key(on) => Some(format!("group:{on}")),
        None => {
            let ids = tasks.iter().take(CANDIDATES_MAX).map(|(task, _)| alias(task));
            nearest(on, ids.filter(|id| !other_number(on, id))).map(str::to_owned)
        }
    }
}

/// `T9` was not meant to be `T1`.
fn other_number(a: &str, b: &str) -> bool {
    let letters = |id: &str| -> String { id.chars().filter(|c| !c.is_ascii_digit()).collect() };
    !a.eq_ignore_ascii_case(b) && letters(a).eq_ignore_ascii_case(&letters(b))
}

impl Graph {
    /// Orders the nodes and returns those that wait for each other in a circle.
    ///
    /// Tarjan's algorithm with a stack of its own: a chain of 100,000 tasks is a plan, not a
    /// reason to run out of stack. Components come out after everything they wait for, which is
    /// the order that is wanted; one of several nodes is a knot of circles.
    fn sort(&mut self) -> Vec<Vec<Node>> {
        const NEW: usize = usize::MAX;
        let count = self.waits.len();
        let (mut number, mut low, mut next) = (vec![NEW; count], vec![0; count], 0);
        let (mut open, mut is_open) = (Vec::new(), vec![false; count]);
        let mut knots = Vec::new();
        for start in 0..count {
            let mut path: Vec<(Node, usize)> = Vec::new();
            if number[start] == NEW {
                path.push((start, 0));
            }
            while let Some((node, edge)) = path.pop() {
                if edge == 0 {
                    (number[node], low[node]) = (next, next);
                    next += 1;
                    open.push(node);
                    is_open[node] = true;
                }
                if let Some(on) = self.waits[node].get(edge).copied() {
                    path.push((node, edge + 1));
                    if number[on] == NEW {
                        path.push((on, 0));
                    } else if is_open[on] {
                        low[node] = low[node].min(number[on]);
                    }
                    continue;
                }
                if low[node] == number[node] {
                    let begin = open.iter().rposition(|other| *other == node);
                    let knot = open.split_off(begin.expect("an open node is on the stack"));
                    for other in &knot {
                        is_open[*other] = false;
                    }
                    self.order.extend(&knot);
                    if knot.len() > 1 {
                        knots.push(knot);
                    }
                }
                if let Some((parent, _)) = path.last() {
                    low[*parent] = low[*parent].min(low[node]);
                }
            }
        }
        knots
    }

    /// The shortest circle through the first node of a knot.
    fn circle(&self, mut knot: Vec<Node>) -> Vec<Node> {
        knot.sort_unstable();
        let start = knot[0];
        let mut from: HashMap<Node, Node> = HashMap::new();
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            for on in &self.waits[node] {
                if *on == start {
                    let mut circle = vec![node];
                    while circle[circle.len() - 1] != start {
                        circle.push(from[&circle[circle.len() - 1]]);
                    }
                    circle.reverse();
                    return circle;
                }
                if knot.binary_search(on).is_ok() && !from.contains_key(on) {
                    from.insert(*on, node);
                    queue.push_back(*on);
                }
            }
        }
        unreachable!("every node of a knot lies on a circle")
    }

    fn tell(&self, tasks: &[(TaskNew, Place)], knot: Vec<Node>, problems: &mut Problems) {
        let circle = self.circle(knot);
        let place = &tasks[circle[0]].1;
        let named = |node: &Node| match tasks.get(*node) {
            Some((task, at)) if at.file == place.file => {
                format!("{} (line {})", shown_id(alias(task)), at.line)
            }
            Some((task, at)) => format!("{} ({at})", shown_id(alias(task))),
            None => format!("group:{}", self.groups[*node - tasks.len()]),
        };
        let mut names: Vec<String> = circle.iter().take(CIRCLE_SHOWN).map(named).collect();
        if circle.len() > CIRCLE_SHOWN {
            names.push(format!("{} more", circle.len() - CIRCLE_SHOWN));
        }
        let first = shown_id(alias(&tasks[circle[0]].0));
        let fact = format!("a circle: {} -> {first}", names.join(" -> "));
        problems.add(place, fact, "each waits for the next; take one of these dependencies out");
    }
}
