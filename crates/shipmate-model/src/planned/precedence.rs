//! What comes before what among the tasks of one plan, by their places in its list.
//!
//! Small on purpose: a plan has at most [`crate::limits::PLANNED_TASKS_MAX`] tasks, so that
//! everything reachable can be written down.

use std::collections::VecDeque;

#[derive(Debug, Clone)]
pub struct Precedence {
    /// For each task those it waits for directly.
    after: Vec<Vec<usize>>,
    /// `waits[a][b]`: a waits for b, directly or through others.
    waits: Vec<Vec<bool>>,
}

impl Precedence {
    /// Of what each task waits for. Places beyond the list are left out.
    pub fn new(after: Vec<Vec<usize>>) -> Precedence {
        let count = after.len();
        let known = |on: Vec<usize>| on.into_iter().filter(|on| *on < count).collect();
        let after: Vec<Vec<usize>> = after.into_iter().map(known).collect();
        let mut waits = vec![vec![false; count]; count];
        for (from, reached) in waits.iter_mut().enumerate() {
            let mut next = after[from].clone();
            while let Some(on) = next.pop() {
                if !std::mem::replace(&mut reached[on], true) {
                    next.extend(&after[on]);
                }
            }
        }
        Precedence { after, waits }
    }

    /// Neither waits for the other: both may be worked on at once.
    pub fn may_meet(&self, a: usize, b: usize) -> bool {
        a != b && !self.waits[a][b] && !self.waits[b][a]
    }

    /// A shortest circle, from some task back to itself.
    pub fn circle(&self) -> Option<Vec<usize>> {
        let start = (0..self.after.len()).find(|at| self.waits[*at][*at])?;
        let mut from: Vec<Option<usize>> = vec![None; self.after.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            for on in &self.after[at] {
                if *on == start {
                    let back = std::iter::successors(Some(at), |at| from[*at]);
                    let mut path: Vec<usize> = back.collect();
                    path.reverse();
                    path.push(start);
                    return Some(path);
                }
                if from[*on].is_none() {
                    from[*on] = Some(at);
                    queue.push_back(*on);
                }
            }
        }
        None
    }

    /// The largest set of tasks of which none waits for another: all tasks less the largest
    /// matching of tasks with ones they wait for (Dilworth).
    pub fn width(&self) -> usize {
        let count = self.after.len();
        let mut matched: Vec<Option<usize>> = vec![None; count];
        let mut pairs = 0;
        for from in 0..count {
            let mut seen = vec![false; count];
            if self.augment(from, &mut seen, &mut matched) {
                pairs += 1;
            }
        }
        // In a circle everything waits for everything; one at a time is the most.
        (count - pairs).max(usize::from(count > 0))
    }

    /// Finds a free partner, moving others aside. No deeper than there are tasks.
    fn augment(&self, from: usize, seen: &mut [bool], matched: &mut [Option<usize>]) -> bool {
        for on in 0..self.after.len() {
            if !self.waits[from][on] || std::mem::replace(&mut seen[on], true) {
                continue;
            }
            let free = match matched[on] {
                None => true,
                Some(other) => self.augment(other, seen, matched),
            };
            if free {
                matched[on] = Some(from);
                return true;
            }
        }
        false
    }

    /// The longest path by these lengths, first task first. Not for circles.
    pub fn longest(&self, lengths: &[u64]) -> (Vec<usize>, u64) {
        let count = self.after.len();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|at| self.waits[*at].iter().filter(|waits| **waits).count());
        let mut best: Vec<(u64, Option<usize>)> = vec![(0, None); count];
        for at in order {
            let before = self.after[at].iter().map(|on| (best[*on].0, Some(*on)));
            let (length, through) = before.max_by_key(|(length, _)| *length).unwrap_or((0, None));
            best[at] = (length.saturating_add(lengths[at]), through);
        }
        let Some(last) = (0..count).max_by_key(|at| best[*at].0) else { return (Vec::new(), 0) };
        let mut path = vec![last];
        while let Some(before) = best[path[path.len() - 1]].1 {
            path.push(before);
        }
        path.reverse();
        (path, best[last].0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(after: &[&[usize]]) -> Precedence {
        Precedence::new(after.iter().map(|on| on.to_vec()).collect())
    }

    #[test]
    fn the_width_is_the_most_that_can_be_done_at_once() {
        assert_eq!(of(&[]).width(), 0);
        assert_eq!(of(&[&[]]).width(), 1);
        assert_eq!(of(&[&[], &[0], &[1]]).width(), 1);
        assert_eq!(of(&[&[], &[0], &[0], &[1, 2]]).width(), 2);
        assert_eq!(of(&[&[], &[], &[]]).width(), 3);
        // Two chains beside each other, of which one has a fork at its end.
        assert_eq!(of(&[&[], &[0], &[], &[2], &[2]]).width(), 3);
        // By levels it would be two: 0 | 1, and 2 behind 0 beside 1.
        assert_eq!(of(&[&[], &[], &[0], &[2]]).width(), 2);
        assert_eq!(of(&[&[1], &[0]]).width(), 1);
    }

    #[test]
    fn a_circle_is_found_with_its_tasks_in_order() {
        assert_eq!(of(&[&[], &[0]]).circle(), None);
        assert_eq!(of(&[&[0]]).circle(), Some(vec![0, 0]));
        assert_eq!(of(&[&[2], &[0], &[1], &[0]]).circle(), Some(vec![0, 2, 1, 0]));
    }

    #[test]
    fn the_longest_path_counts_lengths_and_not_tasks() {
        let plan = of(&[&[], &[], &[0], &[2, 1]]);
        assert_eq!(plan.longest(&[1, 1, 1, 1]), (vec![0, 2, 3], 3));
        assert_eq!(plan.longest(&[1, 9, 1, 1]), (vec![1, 3], 10));
        assert_eq!(of(&[]).longest(&[]), (Vec::new(), 0));
    }

    #[test]
    fn a_plan_as_large_as_one_may_be_is_weighed_at_once() {
        let count = crate::limits::PLANNED_TASKS_MAX;
        let every_earlier = (0..count).map(|at| (0..at).collect()).collect();
        assert_eq!(Precedence::new(every_earlier).width(), 1);
        assert_eq!(Precedence::new(vec![Vec::new(); count]).width(), count);
    }
}
