//! The work: tasks of known length, what each waits for, and the least time that all of it takes.
//!
//! The same seed gives the same lengths to every shape and variant, so that rows can be compared.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::str::FromStr;

use shipmate_testkit::Random;

/// Spread of the lengths (log-normal): a few tasks take many times the usual.
const SIGMA: f64 = 0.8;
/// Of the layered graph.
const LAYERS: usize = 10;
const DEPENDENCIES: usize = 3;
/// Of the fork-join graph.
const FAN_OUT: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Nothing waits for anything.
    Wide,
    /// Ten layers; each task waits for three of the layer before.
    Layered,
    /// Eight at once, one that waits for all of them, and again.
    ForkJoin,
}

impl Shape {
    pub(crate) const NAMES: [&str; 3] = ["wide", "layered", "fork-join"];

    pub(crate) fn name(self) -> &'static str {
        Shape::NAMES[self as usize]
    }
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Shape, String> {
        let known = [Shape::Wide, Shape::Layered, Shape::ForkJoin];
        let found = known.into_iter().find(|shape| shape.name() == text);
        found.ok_or_else(|| format!("{text} is no graph; known: {}", Shape::NAMES.join(", ")))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) ms: u64,
    /// Indices, all of them lower.
    pub(crate) on: Vec<usize>,
}

#[derive(Debug, Clone)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
}

/// Which of the available tasks is taken first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    CriticalPath,
    FirstCome,
}

impl Graph {
    /// Tasks that take `work_ms` together.
    pub(crate) fn new(shape: Shape, tasks: usize, work_ms: f64, seed: u64) -> Graph {
        let lengths = lengths(tasks, work_ms, &mut Random::new(seed));
        let mut random = Random::new(seed.wrapping_add(1));
        let on = |index: usize| match shape {
            Shape::Wide => Vec::new(),
            Shape::Layered => layered(index, tasks, &mut random),
            Shape::ForkJoin => fork_join(index),
        };
        let on = (0..tasks).map(on).collect::<Vec<_>>();
        Graph { nodes: lengths.into_iter().zip(on).map(|(ms, on)| Node { ms, on }).collect() }
    }

    pub(crate) fn work_ms(&self) -> u64 {
        self.nodes.iter().map(|node| node.ms).sum()
    }

    /// The longest way from each task to the end, its own length included.
    pub(crate) fn paths_ms(&self) -> Vec<u64> {
        let mut paths: Vec<u64> = self.nodes.iter().map(|node| node.ms).collect();
        for (index, node) in self.nodes.iter().enumerate().rev() {
            for before in &node.on {
                paths[*before] = paths[*before].max(self.nodes[*before].ms + paths[index]);
            }
        }
        paths
    }

    pub(crate) fn critical_path_ms(&self) -> u64 {
        self.paths_ms().into_iter().max().unwrap_or(0)
    }

    /// No team of this size can be faster.
    pub(crate) fn bound_ms(&self, teammates: usize) -> u64 {
        self.critical_path_ms().max(self.work_ms().div_ceil(teammates as u64))
    }

    /// What the same order comes to where nothing but the work takes time: the difference to the
    /// bound is the order's and the graph's, the rest of a measured time is the runtime's.
    pub(crate) fn ideal_ms(&self, teammates: usize, order: Order) -> u64 {
        let paths = self.paths_ms();
        let rank = |index: usize| match order {
            Order::CriticalPath => (Reverse(paths[index]), index),
            Order::FirstCome => (Reverse(0), index),
        };
        let mut open: Vec<usize> = self.nodes.iter().map(|node| node.on.len()).collect();
        let free = (0..open.len()).filter(|index| open[*index] == 0);
        let mut ready: BTreeSet<_> = free.map(rank).collect();
        let mut at_work: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
        let mut now = 0;
        loop {
            while at_work.len() < teammates
                && let Some((_, index)) = ready.pop_first()
            {
                at_work.push(Reverse((now + self.nodes[index].ms, index)));
            }
            let Some(Reverse((end, done))) = at_work.pop() else { return now };
            now = end;
            let waits = |index: &usize| self.nodes[*index].on.contains(&done);
            for index in (done + 1..self.nodes.len()).filter(waits) {
                open[index] -= 1;
                if open[index] == 0 {
                    ready.insert(rank(index));
                }
            }
        }
    }
}

/// Log-normal lengths, scaled so that they add up.
fn lengths(tasks: usize, work_ms: f64, random: &mut Random) -> Vec<u64> {
    let raw: Vec<f64> = (0..tasks).map(|_| (SIGMA * normal(random)).exp()).collect();
    let scale = work_ms / raw.iter().sum::<f64>();
    raw.iter().map(|length| ((length * scale).round() as u64).max(1)).collect()
}

/// Box and Muller's way from two even chances to a normal one.
fn normal(random: &mut Random) -> f64 {
    let mut even = || ((random.draw() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    let (radius, angle) = (even(), even());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

fn layered(index: usize, tasks: usize, random: &mut Random) -> Vec<usize> {
    let width = tasks.div_ceil(LAYERS);
    let Some(layer) = (index / width).checked_sub(1) else { return Vec::new() };
    let mut on = BTreeSet::new();
    while on.len() < DEPENDENCIES.min(width) {
        on.insert(layer * width + random.index(width));
    }
    on.into_iter().collect()
}

fn fork_join(index: usize) -> Vec<usize> {
    let stage = index / (FAN_OUT + 1) * (FAN_OUT + 1);
    match (index - stage, stage) {
        (FAN_OUT, _) => (stage..index).collect(),
        (_, 0) => Vec::new(),
        (_, stage) => vec![stage - 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(nodes: &[(u64, &[usize])]) -> Graph {
        Graph { nodes: nodes.iter().map(|(ms, on)| Node { ms: *ms, on: on.to_vec() }).collect() }
    }

    #[test]
    fn shapes_have_the_dependencies_they_are_named_for() {
        let wide = Graph::new(Shape::Wide, 200, 320_000.0, 1);
        assert!(wide.nodes.iter().all(|node| node.on.is_empty()));
        let layered = Graph::new(Shape::Layered, 200, 320_000.0, 1);
        for (index, node) in layered.nodes.iter().enumerate() {
            let expected = if index < 20 { 0 } else { 3 };
            assert_eq!(node.on.len(), expected, "task {index}");
            assert!(node.on.iter().all(|before| before / 20 + 1 == index / 20), "task {index}");
        }
        let joined = Graph::new(Shape::ForkJoin, 200, 320_000.0, 1);
        assert_eq!(joined.nodes[8].on, (0..8).collect::<Vec<_>>());
        assert_eq!((&joined.nodes[9].on, &joined.nodes[16].on), (&vec![8], &vec![8]));
        assert_eq!(joined.nodes[17].on, (9..17).collect::<Vec<_>>());
    }

    #[test]
    fn lengths_add_up_and_are_the_same_for_every_shape() {
        let [wide, joined] = [Shape::Wide, Shape::ForkJoin].map(|shape| {
            let graph = Graph::new(shape, 200, 320_000.0, 7);
            graph.nodes.iter().map(|node| node.ms).collect::<Vec<_>>()
        });
        assert_eq!(wide, joined);
        assert!(wide.iter().sum::<u64>().abs_diff(320_000) < 200);
        let mut sorted = wide;
        sorted.sort_unstable();
        assert!(sorted[199] > 4 * sorted[100], "a few are long: {sorted:?}");
    }

    #[test]
    fn the_bound_is_the_critical_path_or_the_work_for_each() {
        let chain = graph(&[(10, &[]), (20, &[0]), (5, &[])]);
        assert_eq!((chain.critical_path_ms(), chain.bound_ms(2)), (30, 30));
        assert_eq!(chain.paths_ms(), [30, 20, 5]);
        let wide = graph(&[(10, &[]), (10, &[]), (11, &[])]);
        assert_eq!((wide.critical_path_ms(), wide.bound_ms(2)), (11, 16));
    }

    #[test]
    fn the_longest_path_first_is_better_than_the_first_come() {
        let graph = graph(&[(1, &[]), (1, &[]), (1, &[]), (3, &[])]);
        assert_eq!(graph.ideal_ms(2, Order::CriticalPath), 3);
        assert_eq!(graph.ideal_ms(2, Order::FirstCome), 4);
    }
}
