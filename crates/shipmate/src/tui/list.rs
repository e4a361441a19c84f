//! A list of which only what fits is ever drawn, and a text that is scrolled.
//!
//! The selection stays with its row when rows come, go or move: on a live screen a key must never
//! act on something else than what was looked at.

use std::cell::Cell;
use std::ops::Range;

/// How a selection or a text moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
}

#[derive(Debug)]
pub(super) struct List<K> {
    keys: Vec<K>,
    at: usize,
    /// Whoever looks at the last row goes on looking at the last row.
    follow: bool,
    /// Only a step selects a row: none takes the place of one that is gone.
    by_hand: bool,
    /// No row is selected.
    none: bool,
    /// What the last frame showed; only the drawing knows how much room there is.
    top: Cell<usize>,
    rows: Cell<usize>,
}

impl<K: PartialEq + Clone> List<K> {
    pub(super) fn new() -> List<K> {
        let (top, rows) = (Cell::new(0), Cell::new(10));
        List { keys: Vec::new(), at: 0, follow: false, by_hand: false, none: false, top, rows }
    }

    /// Begins at the end, and stays there.
    pub(super) fn following() -> List<K> {
        List { follow: true, ..List::new() }
    }

    /// Selects what somebody chooses and nothing else: a key must not act on what came by itself.
    pub(super) fn by_hand() -> List<K> {
        List { by_hand: true, none: true, ..List::new() }
    }

    pub(super) fn set(&mut self, keys: Vec<K>) {
        let was_last = self.at + 1 >= self.keys.len();
        let selected = self.selected().cloned();
        self.keys = keys;
        if self.follow && was_last {
            self.at = self.last();
            return;
        }
        let found = selected.and_then(|key| self.keys.iter().position(|other| *other == key));
        self.none |= self.by_hand && found.is_none();
        self.at = found.unwrap_or(self.at).min(self.last());
    }

    fn last(&self) -> usize {
        self.keys.len().saturating_sub(1)
    }

    pub(super) fn keys(&self) -> &[K] {
        &self.keys
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn selected(&self) -> Option<&K> {
        self.keys.get(self.at).filter(|_| !self.none)
    }

    /// The row that is selected.
    pub(super) fn row(&self) -> Option<usize> {
        self.selected().map(|_| self.at)
    }

    /// Selects the row that would be next.
    pub(super) fn choose(&mut self) {
        self.none = false;
    }

    pub(super) fn select(&mut self, key: &K) {
        if let Some(at) = self.keys.iter().position(|other| other == key) {
            (self.at, self.none) = (at, false);
        }
    }

    pub(super) fn step(&mut self, step: Step) {
        // The first step shows what is there.
        if std::mem::take(&mut self.none) && matches!(step, Step::Up | Step::Down) {
            return;
        }
        let page = self.rows.get().max(2) - 1;
        let at = match step {
            Step::Up => self.at.saturating_sub(1),
            Step::Down => self.at + 1,
            Step::PageUp => self.at.saturating_sub(page),
            Step::PageDown => self.at + page,
            Step::First => 0,
            Step::Last => self.last(),
        };
        self.at = at.min(self.last());
    }

    /// The rows to draw where there is room for so many.
    pub(super) fn window(&self, rows: usize) -> Range<usize> {
        let rows = rows.max(1);
        let mut top = self.top.get();
        if self.at < top {
            top = self.at;
        } else if self.at >= top + rows {
            top = self.at + 1 - rows;
        }
        // No empty room below while there is something above.
        top = top.min(self.keys.len().saturating_sub(rows));
        self.top.set(top);
        self.rows.set(rows);
        top..(top + rows).min(self.keys.len())
    }
}

#[derive(Debug, Default)]
pub(super) struct Scroll {
    from: Cell<usize>,
    /// At the end, and staying there.
    pub(super) follow: Cell<bool>,
    rows: Cell<usize>,
    lines: Cell<usize>,
}

impl Scroll {
    pub(super) fn following() -> Scroll {
        Scroll { follow: Cell::new(true), ..Scroll::default() }
    }

    pub(super) fn step(&self, step: Step) {
        let page = self.rows.get().max(2) - 1;
        let last = self.lines.get().saturating_sub(self.rows.get());
        let from = self.from.get().min(last);
        let from = match step {
            Step::Up => from.saturating_sub(1),
            Step::Down => from + 1,
            Step::PageUp => from.saturating_sub(page),
            Step::PageDown => from + page,
            Step::First => 0,
            Step::Last => last,
        };
        self.from.set(from.min(last));
        let forward = matches!(step, Step::Down | Step::PageDown | Step::Last);
        self.follow.set(forward && (self.follow.get() || from >= last));
    }

    /// The lines to draw of so many, where there is room for so many.
    pub(super) fn window(&self, lines: usize, rows: usize) -> Range<usize> {
        let last = lines.saturating_sub(rows);
        let from = if self.follow.get() { last } else { self.from.get().min(last) };
        self.from.set(from);
        self.rows.set(rows);
        self.lines.set(lines);
        from..(from + rows).min(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selection_stays_with_its_row() {
        let mut list = List::new();
        list.set(vec![1, 2, 3]);
        list.step(Step::Down);
        list.set(vec![3, 1, 9, 2]);
        assert_eq!(list.selected(), Some(&2));
        list.set(vec![3, 1]);
        assert_eq!(list.selected(), Some(&1));
        list.set(vec![]);
        assert_eq!(list.selected(), None);
    }

    #[test]
    fn a_list_that_is_chosen_from_by_hand_never_moves_on_by_itself() {
        let mut list = List::by_hand();
        list.set(vec![1, 2, 3]);
        assert_eq!(list.selected(), None, "it came by itself");
        list.step(Step::Down);
        assert_eq!(list.selected(), Some(&1));
        list.set(vec![0, 1, 2, 3]);
        assert_eq!(list.selected(), Some(&1));
        list.set(vec![0, 2, 3]);
        assert_eq!(list.selected(), None, "another is in its place");
        list.step(Step::Up);
        assert_eq!(list.selected(), Some(&2));
    }

    #[test]
    fn a_following_list_stays_at_its_end_until_it_is_left() {
        let mut list = List::following();
        list.set(vec![1, 2]);
        list.set(vec![1, 2, 3]);
        assert_eq!(list.selected(), Some(&3));
        list.step(Step::Up);
        list.set(vec![1, 2, 3, 4]);
        assert_eq!(list.selected(), Some(&2));
    }

    #[test]
    fn only_what_fits_is_drawn() {
        let mut list = List::new();
        list.set((0..10_000).collect());
        assert_eq!(list.window(20), 0..20);
        list.step(Step::PageDown);
        list.step(Step::PageDown);
        assert_eq!(list.window(20), 19..39);
        list.step(Step::Last);
        assert_eq!(list.window(20), 9_980..10_000);
        list.set(vec![1, 2]);
        assert_eq!(list.window(20), 0..2);
    }

    #[test]
    fn a_text_that_grows_is_followed_only_from_its_end() {
        let scroll = Scroll::following();
        assert_eq!(scroll.window(30, 10), 20..30);
        scroll.step(Step::Up);
        assert_eq!(scroll.window(40, 10), 19..29);
        scroll.step(Step::Last);
        assert_eq!(scroll.window(50, 10), 40..50);
    }
}
