//! Files that two tasks write which do not wait for each other.
//!
//! That is no mistake: the board lets one of them run at a time. But a plan that was meant to be
//! parallel and is not is worth a note. Only plain paths are compared, as themselves and as
//! folders; the search is bounded, because a note may not cost more than reading the plan.

use std::collections::{BTreeMap, HashSet};

use crate::verbs::TaskNew;

use super::graph::Graph;
use crate::problem::{Place, quoted};

const NOTES_MAX: usize = 20;
/// Steps through the dependencies, over all files.
const STEPS_MAX: usize = 500_000;

pub(super) fn notes(tasks: &[(TaskNew, Place)], graph: &Graph) -> Vec<String> {
    let mut writers: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, (task, _)) in tasks.iter().enumerate() {
        for file in task.files.iter().filter(|file| !file.contains(['*', '?'])) {
            let of_file = writers.entry(normal(file)).or_default();
            if of_file.last() != Some(&index) {
                of_file.push(index);
            }
        }
    }
    let mut search = Search::new(graph);
    let (mut notes, mut more) = (Vec::new(), 0);
    for (path, own) in &writers {
        let above = above(path).filter_map(|folder| writers.get(folder)).flatten();
        let mut all: Vec<usize> = own.iter().chain(above).copied().collect();
        if all.len() < 2 {
            continue;
        }
        search.steps += all.len();
        all.sort_by_key(|index| search.position[*index]);
        all.dedup();
        // In this order a pair that is not ordered shows itself between neighbours. A pair of a
        // folder's own writers is told at the folder.
        let apart = all.windows(2).find(|pair| {
            pair.iter().any(|index| own.binary_search(index).is_ok())
                && !search.waits(pair[1], pair[0])
        });
        match apart {
            Some(pair) if notes.len() < NOTES_MAX => notes.push(note(path, pair, tasks)),
            Some(_) => more += 1,
            None => {}
        }
        if search.steps > STEPS_MAX {
            break;
        }
    }
    if more > 0 {
        notes.push(format!(
            "{more} more files are written by tasks that do not wait for each other"
        ));
    }
    notes
}

fn note(path: &str, pair: &[usize], tasks: &[(TaskNew, Place)]) -> String {
    let mut pair = [pair[0], pair[1]];
    pair.sort_unstable();
    let [first, second] = pair.map(|index| {
        let (task, place) = &tasks[index];
        format!("{} ({place})", task.alias.as_deref().unwrap_or_default())
    });
    let path = if path.is_empty() { "." } else { path };
    format!(
        "{} is written by {first} and {second}, which do not wait for each other: one at a time",
        quoted(path)
    )
}

/// Equal meanings get equal texts.
fn normal(path: &str) -> String {
    let parts: Vec<&str> =
        path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    parts.join("/")
}

/// The folders that contain a path, up to the whole tree.
fn above(path: &str) -> impl Iterator<Item = &str> {
    let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
    let root = (!path.is_empty()).then_some("");
    folders.chain(root)
}

/// Whether one task waits for another, however many are between them.
struct Search<'g> {
    graph: &'g Graph,
    /// Place of each node in the order of the graph.
    position: Vec<usize>,
    seen: HashSet<usize>,
    steps: usize,
}

impl<'g> Search<'g> {
    fn new(graph: &'g Graph) -> Search<'g> {
        let mut position = vec![0; graph.order.len()];
        for (at, node) in graph.order.iter().enumerate() {
            position[*node] = at;
        }
        Search { graph, position, seen: HashSet::new(), steps: 0 }
    }

    /// True also where the search was given up: no note is better than a wrong one.
    fn waits(&mut self, later: usize, earlier: usize) -> bool {
        self.seen.clear();
        let mut open = vec![later];
        while let Some(node) = open.pop() {
            for on in &self.graph.waits[node] {
                self.steps += 1;
                if *on == earlier || self.steps > STEPS_MAX {
                    return true;
                }
                let between = self.position[*on] > self.position[earlier];
                if between && self.seen.insert(*on) {
                    open.push(*on);
                }
            }
        }
        false
    }
}
