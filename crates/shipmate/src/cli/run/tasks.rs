//! The tasks of a run: how each stands, what they wait for, and the longest path through them.
//!
//! A record costs as much as the task it is about has edges, and a count costs nothing: a plan may
//! have a hundred thousand tasks, and every record of it passes here. Whether a task waits is a
//! number that is kept, never looked up among the others.

use std::collections::BTreeMap;

use shipmate_model::Name;
use shipmate_model::event::{Dependency, TaskId, TaskSpec};

use super::progress::TaskCounts;

#[derive(Debug, Default, Clone)]
pub(crate) struct TaskLine {
    pub(crate) subject: String,
    pub(crate) group: Option<Name>,
    pub(crate) owner: String,
    pub(crate) needs: Vec<Dependency>,
    pub(crate) planned_ms: Option<u64>,
    pub(crate) claimed_ms: u64,
    pub(crate) took_ms: Option<u64>,
    pub(crate) commit: Option<String>,
    pub(crate) why: String,
    pub(crate) gated: Gated,
    status: Status,
    /// How many of `needs` are not completed.
    unmet: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    #[default]
    Pending,
    Claimed,
    Submitted,
    Completed,
    Failed,
    Deleted,
}

impl Status {
    /// A group waits neither for what is completed nor for what is gone.
    fn is_settled(self) -> bool {
        matches!(self, Status::Completed | Status::Deleted)
    }
}

/// What gates have said about a task.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gated {
    #[default]
    Never,
    Red,
    Green,
    RedGreen,
}

impl Gated {
    pub(crate) fn then(self, passed: bool) -> Gated {
        match (self, passed) {
            (Gated::RedGreen, _) | (Gated::Red, true) => Gated::RedGreen,
            (_, true) => Gated::Green,
            (_, false) => Gated::Red,
        }
    }
}

impl TaskLine {
    pub(crate) fn of(spec: &TaskSpec) -> TaskLine {
        TaskLine {
            subject: spec.subject.clone(),
            group: spec.group.clone(),
            needs: spec.blocked_by.clone(),
            planned_ms: spec.duration_ms,
            ..TaskLine::default()
        }
    }

    pub(crate) fn status(&self) -> Status {
        self.status
    }

    pub(crate) fn is_unblocked(&self) -> bool {
        self.unmet == 0
    }

    /// The count that this task is part of.
    fn place<'a>(&self, counts: &'a mut TaskCounts) -> Option<&'a mut usize> {
        Some(match self.status {
            Status::Completed => &mut counts.done,
            Status::Claimed => &mut counts.in_progress,
            Status::Submitted => &mut counts.submitted,
            Status::Failed => &mut counts.failed,
            Status::Pending if self.is_unblocked() => &mut counts.available,
            Status::Pending => &mut counts.blocked,
            Status::Deleted => return None,
        })
    }
}

/// What tasks wait for: one task, or a group. A group is a node of its own, so that a plan that
/// waits for another is one edge and not as many as both have tasks.
#[derive(Debug, Default)]
struct Node {
    /// The tasks in it; a task that is not there yet has none.
    members: usize,
    /// How many of them are still waited for.
    left: usize,
    dependents: Vec<TaskId>,
}

#[derive(Debug, Default)]
pub(crate) struct Tasks {
    lines: BTreeMap<TaskId, TaskLine>,
    counts: TaskCounts,
    nodes: BTreeMap<Dependency, Node>,
    /// How often a task was looked at: what a record costs.
    #[cfg(test)]
    pub(crate) looks: std::cell::Cell<u64>,
}

impl Tasks {
    fn look(&self) {
        #[cfg(test)]
        self.looks.set(self.looks.get() + 1);
    }

    pub(crate) fn get(&self, id: TaskId) -> Option<&TaskLine> {
        self.look();
        self.lines.get(&id)
    }

    /// For everything but its status, which others count on.
    pub(crate) fn get_mut(&mut self, id: TaskId) -> Option<&mut TaskLine> {
        self.look();
        self.lines.get_mut(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (TaskId, &TaskLine)> {
        self.lines.iter().inspect(|_| self.look()).map(|(id, task)| (*id, task))
    }

    pub(crate) fn counts(&self) -> TaskCounts {
        self.counts
    }

    pub(crate) fn create(&mut self, id: TaskId, mut task: TaskLine) {
        task.needs.sort_unstable();
        task.needs.dedup();
        for need in &task.needs {
            let node = self.node(need);
            node.dependents.push(id);
            task.unmet += usize::from(node.left > 0);
        }
        self.counts.total += 1;
        if let Some(count) = task.place(&mut self.counts) {
            *count += 1;
        }
        self.node(&Dependency::Task(id)).members = 1;
        let group = task.group.clone();
        self.lines.insert(id, task);
        if let Some(group) = group.map(Dependency::Group) {
            self.node(&group).members += 1;
            self.settle(&group, true, false);
        }
    }

    pub(crate) fn set_status(&mut self, id: TaskId, status: Status) {
        let Some(task) = self.lines.get(&id) else { return };
        let (was, group) = (task.status, task.group.clone());
        self.recount(id, |task| task.status = status);
        let [completed, is_completed] = [was, status].map(|status| status == Status::Completed);
        self.settle(&Dependency::Task(id), completed, is_completed);
        if let Some(group) = group.map(Dependency::Group) {
            self.settle(&group, was.is_settled(), status.is_settled());
        }
        self.counts.total += usize::from(was == Status::Deleted);
        self.counts.total -= usize::from(status == Status::Deleted);
    }

    /// Whether somebody has to wait for it.
    pub(crate) fn is_open(&self, on: &Dependency) -> bool {
        self.look();
        self.nodes.get(on).is_some_and(|node| node.left > 0)
    }

    fn node(&mut self, on: &Dependency) -> &mut Node {
        // A task is waited for before it is there; a group without members is not.
        let left = usize::from(matches!(on, Dependency::Task(_)));
        self.nodes.entry(on.clone()).or_insert_with(|| Node { left, ..Node::default() })
    }

    /// One member of a node was settled or not, and is now or not.
    fn settle(&mut self, on: &Dependency, was: bool, is: bool) {
        if was == is {
            return;
        }
        let node = self.node(on);
        let was_open = node.left > 0;
        node.left = if is { node.left - 1 } else { node.left + 1 };
        if was_open == (node.left > 0) {
            return;
        }
        let dependents = std::mem::take(&mut node.dependents);
        for id in &dependents {
            self.recount(*id, |task| {
                task.unmet = if is { task.unmet - 1 } else { task.unmet + 1 };
            });
        }
        self.node(on).dependents = dependents;
    }

    /// Changes what decides in which count a task is.
    fn recount(&mut self, id: TaskId, change: impl FnOnce(&mut TaskLine)) {
        self.look();
        let Some(task) = self.lines.get_mut(&id) else { return };
        if let Some(count) = task.place(&mut self.counts) {
            *count -= 1;
        }
        change(task);
        if let Some(count) = task.place(&mut self.counts) {
            *count += 1;
        }
    }

    /// The longest path in milliseconds: the part of it that `counted`, and all of it. A task
    /// counts as long as it took; while it is not done, as planned or as the others did.
    pub(crate) fn path(&self, counted: impl Fn(&TaskLine) -> bool) -> (u64, u64) {
        let took = || self.lines.values().filter_map(|task| task.took_ms);
        let unknown_ms = took().sum::<u64>() / (took().count() as u64).max(1);
        let is_there = |on: &&Dependency| self.nodes[*on].members > 0;
        let mut waits: BTreeMap<Dependency, usize> = BTreeMap::new();
        for step in self.nodes.keys().filter(is_there) {
            let count = match step {
                Dependency::Task(id) => self.lines[id].needs.iter().filter(is_there).count(),
                Dependency::Group(_) => self.nodes[step].members,
            };
            waits.insert(step.clone(), count);
        }
        let ready = waits.iter().filter(|(_, count)| **count == 0);
        let mut ready: Vec<Dependency> = ready.map(|(step, _)| step.clone()).collect();
        let mut before: BTreeMap<Dependency, (u64, u64)> = BTreeMap::new();
        let mut longest = (0, 0);
        while let Some(step) = ready.pop() {
            let (mut all, mut part) = before.remove(&step).unwrap_or_default();
            let mut group = None;
            if let Dependency::Task(id) = step {
                let task = &self.lines[&id];
                let own = task.took_ms.or(task.planned_ms).unwrap_or(unknown_ms);
                let own = if task.status == Status::Deleted { 0 } else { own };
                all += own;
                part += if counted(task) { own } else { 0 };
                longest = longest.max((all, part));
                group = task.group.clone().map(Dependency::Group);
            }
            let dependents = self.nodes[&step].dependents.iter();
            for next in dependents.map(|id| Dependency::Task(*id)).chain(group) {
                let left = waits.get_mut(&next).expect("every step has its count");
                *left -= 1;
                if *left == 0 {
                    ready.push(next.clone());
                }
                let reached = before.entry(next).or_default();
                *reached = (*reached).max((all, part));
            }
        }
        (longest.1, longest.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(group: &str, needs: &[u32], needs_groups: &[&str], planned_ms: u64) -> TaskLine {
        let name = |name: &str| name.parse::<Name>().unwrap();
        let groups = needs_groups.iter().map(|group| Dependency::Group(name(group)));
        TaskLine {
            group: Some(group).filter(|group| !group.is_empty()).map(name),
            needs: needs.iter().map(|id| Dependency::Task(*id)).chain(groups).collect(),
            planned_ms: Some(planned_ms),
            ..TaskLine::default()
        }
    }

    /// Available and blocked.
    fn open(tasks: &Tasks) -> (usize, usize) {
        (tasks.counts().available, tasks.counts().blocked)
    }

    #[test]
    fn a_task_is_available_when_all_it_waits_for_is_completed() {
        let mut tasks = Tasks::default();
        // It waits for what comes after it, as tasks of one request may.
        tasks.create(1, task("", &[2, 2, 3], &["a"], 0));
        tasks.create(2, task("", &[], &[], 0));
        tasks.create(3, task("", &[], &[], 0));
        assert_eq!(open(&tasks), (2, 1));
        tasks.create(4, task("a", &[], &[], 0));
        tasks.create(5, task("a", &[], &[], 0));
        for (id, status, expected) in [
            (2, Status::Completed, (3, 1)),
            (3, Status::Completed, (2, 1)),
            (4, Status::Completed, (1, 1)),
            (5, Status::Deleted, (1, 0)),
            (1, Status::Claimed, (0, 0)),
            (1, Status::Pending, (1, 0)),
        ] {
            tasks.set_status(id, status);
            assert_eq!(open(&tasks), expected, "after {id} became {status:?}");
        }
        assert_eq!(tasks.counts().total, 4);
        assert_eq!(tasks.counts().done, 3);
        tasks.create(6, task("a", &[], &[], 0));
        assert_eq!(open(&tasks), (1, 1), "a new member holds up who waits for its group");
    }

    #[test]
    fn a_deleted_task_is_waited_for_in_vain() {
        let mut tasks = Tasks::default();
        tasks.create(1, task("", &[], &[], 0));
        tasks.create(2, task("", &[1], &[], 0));
        tasks.set_status(1, Status::Deleted);
        assert_eq!(open(&tasks), (0, 1));
    }

    #[test]
    fn the_longest_path_leads_through_groups_and_against_the_order_of_ids() {
        let mut tasks = Tasks::default();
        tasks.create(1, task("", &[2], &[], 1));
        tasks.create(2, task("", &[3], &[], 10));
        tasks.create(3, task("", &[4], &[], 100));
        tasks.create(4, task("", &[], &["base"], 1_000));
        tasks.create(5, task("base", &[], &[], 10_000));
        tasks.create(6, task("base", &[5], &[], 100_000));
        tasks.create(7, task("", &[], &[], 90_000));
        tasks.create(8, task("", &[], &["nobody"], 1));
        assert_eq!(tasks.path(|_| true), (111_111, 111_111));
        tasks.set_status(5, Status::Completed);
        assert_eq!(tasks.path(|task| task.status() == Status::Completed), (10_000, 111_111));
    }

    #[test]
    fn a_red_gate_before_a_green_one_is_remembered() {
        let said = |runs: &[bool]| runs.iter().fold(Gated::Never, |gated, run| gated.then(*run));
        assert_eq!(said(&[]), Gated::Never);
        assert_eq!(said(&[true, true]), Gated::Green);
        assert_eq!(said(&[false, false]), Gated::Red);
        assert_eq!(said(&[true, false, true, false]), Gated::RedGreen);
    }
}
