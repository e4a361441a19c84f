//! The tasks of a run: how each stands, what they wait for, and the longest path through them.
//!
//! A record costs as much as the task it is about has edges, and a count costs nothing: a plan may
//! have a hundred thousand tasks, and every record of it passes here. Whether a task waits is a
//! number that is kept, never looked up among the others.

use std::collections::{BTreeMap, HashMap};

use super::progress::TaskCounts;

#[derive(Debug, Default, Clone)]
pub(crate) struct TaskLine {
    pub(crate) subject: String,
    pub(crate) group: Option<String>,
    pub(crate) owner: String,
    pub(crate) needs: Vec<u32>,
    pub(crate) needs_groups: Vec<String>,
    pub(crate) planned_ms: Option<u64>,
    pub(crate) claimed_ms: u64,
    pub(crate) took_ms: Option<u64>,
    pub(crate) commit: Option<String>,
    pub(crate) why: String,
    pub(crate) gated: Gated,
    status: Status,
    /// Of `needs` and `needs_groups`, those that are not completed.
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

#[derive(Debug, Default)]
struct Group {
    members: usize,
    /// Members that are neither completed nor deleted.
    left: usize,
    dependents: Vec<u32>,
}

#[derive(Debug, Default)]
pub(crate) struct Tasks {
    lines: BTreeMap<u32, TaskLine>,
    counts: TaskCounts,
    dependents: HashMap<u32, Vec<u32>>,
    groups: HashMap<String, Group>,
    /// How often a task was looked at: what a record costs.
    #[cfg(test)]
    pub(crate) looks: std::cell::Cell<u64>,
}

/// A step of the longest path. A group is a step of its own, so that a plan that waits for another
/// is one edge and not as many as both have tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Step<'a> {
    Task(u32),
    Group(&'a str),
}

impl Tasks {
    fn look(&self) {
        #[cfg(test)]
        self.looks.set(self.looks.get() + 1);
    }

    pub(crate) fn get(&self, id: u32) -> Option<&TaskLine> {
        self.look();
        self.lines.get(&id)
    }

    /// For everything but its status, which others count on.
    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut TaskLine> {
        self.look();
        self.lines.get_mut(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &TaskLine)> {
        self.lines.iter().inspect(|_| self.look()).map(|(id, task)| (*id, task))
    }

    pub(crate) fn counts(&self) -> TaskCounts {
        self.counts
    }

    pub(crate) fn create(&mut self, id: u32, mut task: TaskLine) {
        task.needs.sort_unstable();
        task.needs.dedup();
        task.needs_groups.sort_unstable();
        task.needs_groups.dedup();
        for need in &task.needs {
            self.dependents.entry(*need).or_default().push(id);
            task.unmet += usize::from(!self.is_completed(*need));
        }
        for need in &task.needs_groups {
            let group = self.groups.entry(need.clone()).or_default();
            group.dependents.push(id);
            task.unmet += usize::from(group.left > 0);
        }
        self.counts.total += 1;
        if let Some(count) = task.place(&mut self.counts) {
            *count += 1;
        }
        let group = task.group.clone();
        self.lines.insert(id, task);
        if let Some(name) = group {
            self.groups.entry(name.clone()).or_default().members += 1;
            self.regroup(&name, Change::Opened);
        }
    }

    pub(crate) fn set_status(&mut self, id: u32, status: Status) {
        let Some(task) = self.lines.get(&id) else { return };
        let (was, group) = (task.status, task.group.clone());
        self.recount(id, |task| task.status = status);
        if was == status {
            return;
        }
        let is = [was, status].map(|status| status == Status::Completed);
        if is[0] != is[1] {
            let change = if is[1] { Change::Settled } else { Change::Opened };
            let dependents = self.dependents.remove(&id).unwrap_or_default();
            self.tell(&dependents, change);
            self.dependents.insert(id, dependents);
        }
        let is = [was, status].map(Status::is_settled);
        if let Some(name) = group.filter(|_| is[0] != is[1]) {
            self.regroup(&name, if is[1] { Change::Settled } else { Change::Opened });
        }
        match (was, status) {
            (_, Status::Deleted) => self.counts.total -= 1,
            (Status::Deleted, _) => self.counts.total += 1,
            _ => {}
        }
    }

    pub(crate) fn is_completed(&self, id: u32) -> bool {
        self.look();
        self.lines.get(&id).is_some_and(|task| task.status == Status::Completed)
    }

    pub(crate) fn is_group_open(&self, name: &str) -> bool {
        self.groups.get(name).is_some_and(|group| group.left > 0)
    }

    /// One member of a group has become settled or open.
    fn regroup(&mut self, name: &str, change: Change) {
        let group = self.groups.get_mut(name).expect("a group is there since its first member");
        match change {
            Change::Opened => group.left += 1,
            Change::Settled => group.left -= 1,
        }
        let turned = match change {
            Change::Opened => group.left == 1,
            Change::Settled => group.left == 0,
        };
        if !turned {
            return;
        }
        let dependents = std::mem::take(&mut group.dependents);
        self.tell(&dependents, change);
        if let Some(group) = self.groups.get_mut(name) {
            group.dependents = dependents;
        }
    }

    fn tell(&mut self, dependents: &[u32], change: Change) {
        for id in dependents {
            self.recount(*id, |task| match change {
                Change::Opened => task.unmet += 1,
                Change::Settled => task.unmet -= 1,
            });
        }
    }

    /// Changes what decides in which count a task is.
    fn recount(&mut self, id: u32, change: impl FnOnce(&mut TaskLine)) {
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
        let mut waits: HashMap<Step<'_>, usize> = HashMap::new();
        for (id, task) in &self.lines {
            let tasks = task.needs.iter().filter(|need| self.lines.contains_key(need)).count();
            let filled = |name: &&String| self.groups.get(*name).is_some_and(|g| g.members > 0);
            waits.insert(Step::Task(*id), tasks + task.needs_groups.iter().filter(filled).count());
        }
        let filled = self.groups.iter().filter(|(_, group)| group.members > 0);
        waits.extend(filled.map(|(name, group)| (Step::Group(name), group.members)));
        let ready = waits.iter().filter(|(_, count)| **count == 0);
        let mut ready: Vec<Step<'_>> = ready.map(|(step, _)| *step).collect();
        let mut before: HashMap<Step<'_>, (u64, u64)> = HashMap::new();
        let mut longest = (0, 0);
        while let Some(step) = ready.pop() {
            let (mut all, mut part) = before.remove(&step).unwrap_or_default();
            if let Step::Task(id) = step {
                let task = &self.lines[&id];
                let own = task.took_ms.or(task.planned_ms).unwrap_or(unknown_ms);
                let own = if task.status == Status::Deleted { 0 } else { own };
                all += own;
                part += if counted(task) { own } else { 0 };
                longest = longest.max((all, part));
            }
            for next in self.after(step) {
                let reached = before.entry(next).or_default();
                *reached = (*reached).max((all, part));
                let left = waits.get_mut(&next).expect("every step has its count");
                *left -= 1;
                if *left == 0 {
                    ready.push(next);
                }
            }
        }
        (longest.1, longest.0)
    }

    fn after<'a>(&'a self, step: Step<'a>) -> impl Iterator<Item = Step<'a>> {
        let (dependents, group) = match step {
            Step::Task(id) => (self.dependents.get(&id), self.lines[&id].group.as_deref()),
            Step::Group(name) => (self.groups.get(name).map(|group| &group.dependents), None),
        };
        let tasks = dependents.into_iter().flatten().map(|id| Step::Task(*id));
        tasks.chain(group.map(Step::Group))
    }
}

/// What has become of something that others wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Opened,
    Settled,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(group: &str, needs: &[u32], needs_groups: &[&str], planned_ms: u64) -> TaskLine {
        TaskLine {
            group: Some(group.to_owned()).filter(|name| !name.is_empty()),
            needs: needs.to_vec(),
            needs_groups: needs_groups.iter().map(|name| (*name).to_owned()).collect(),
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
