//! Which tasks can be taken now, kept so that nobody ever has to look at all of them.
//!
//! Tasks that are pending with every dependency met lie in *lanes*. A lane holds the
//! tasks that the same teammates may take and that need the same files, best first.
//! A lane is closed while some task in progress holds files that meet its own.
//! Per *pool* (team, role, assignee) the heads of the open lanes are sorted, so the
//! best task for a teammate is the least of the few heads of its pools.
//!
//! Why lanes and not tasks: a thousand tasks that all want `src/main.rs` are closed
//! and opened as one. Everything here is derived from the tasks: it is not part of
//! a snapshot, and the simulator compares it with a fresh build.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use shipmate_model::event::TaskId;
use shipmate_model::files::{FileSet, Pattern};
use shipmate_model::name::Name;

/// Sooner first: lower priority number, longer path behind it, lower id.
pub(crate) type Rank = (i32, Reverse<u64>, TaskId);

/// Who may take a task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pool {
    pub(crate) team: Name,
    pub(crate) role: Option<Name>,
    pub(crate) assignee: Option<Name>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LaneKey {
    pub(crate) pool: Pool,
    pub(crate) files: FileSet,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Lane {
    tasks: BTreeSet<Rank>,
    closed_by: BTreeSet<TaskId>,
}

/// What some are about to take: of each lane the best, up to one.
///
/// A mark for each lane and no set of tasks: with thousands of teammates, each would have to pass over
/// what all before it take.
#[derive(Debug, Default)]
pub(crate) struct Taken<'a> {
    lanes: BTreeMap<&'a LaneKey, Rank>,
    files: Vec<&'a FileSet>,
}

impl<'a> Taken<'a> {
    /// The one that [`Ready::another`] found.
    pub(crate) fn add(&mut self, (key, rank): (&'a LaneKey, Rank)) {
        if self.lanes.insert(key, rank).is_none() && !key.files.is_empty() {
            self.files.push(&key.files);
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ready {
    lanes: BTreeMap<LaneKey, Lane>,
    /// Heads of the open lanes.
    heads: BTreeMap<Pool, BTreeMap<Rank, LaneKey>>,
    /// Lanes by the literal prefix of each of their patterns.
    lanes_at: BTreeMap<String, BTreeSet<LaneKey>>,
    /// Files of tasks in progress, and the same by literal prefix.
    held: BTreeMap<TaskId, FileSet>,
    held_at: BTreeMap<String, BTreeSet<TaskId>>,
    /// The lanes each holder closes.
    closes: BTreeMap<TaskId, BTreeSet<LaneKey>>,
    /// Pending tasks, takeable or not, by the literal prefix of each of their patterns.
    wanted_at: BTreeMap<String, BTreeSet<TaskId>>,
}

impl Ready {
    /// A task has become takeable.
    pub(crate) fn add(&mut self, key: LaneKey, rank: Rank) {
        if !self.lanes.contains_key(&key) {
            self.open_lane(&key);
        }
        let lane = self.lanes.get_mut(&key).expect("the lane was opened above");
        let head = lane.tasks.first().copied();
        lane.tasks.insert(rank);
        if lane.closed_by.is_empty() && head.is_none_or(|head| rank < head) {
            let heads = self.heads.entry(key.pool.clone()).or_default();
            if let Some(head) = head {
                heads.remove(&head);
            }
            heads.insert(rank, key);
        }
    }

    /// A task is no longer takeable: claimed, blocked again, changed or deleted.
    pub(crate) fn remove(&mut self, key: &LaneKey, rank: Rank) {
        let lane = self.lanes.get_mut(key).expect("a takeable task lies in its lane");
        let head = lane.tasks.first().copied();
        assert!(lane.tasks.remove(&rank), "a takeable task lies in its lane under its rank");
        let next = lane.tasks.first().copied();
        if lane.closed_by.is_empty() && head == Some(rank) {
            let heads = self.heads.get_mut(&key.pool).expect("an open lane has a head");
            heads.remove(&rank);
            if let Some(next) = next {
                heads.insert(next, key.clone());
            } else if heads.is_empty() {
                self.heads.remove(&key.pool);
            }
        }
        if next.is_none() {
            self.drop_lane(key);
        }
    }

    fn open_lane(&mut self, key: &LaneKey) {
        let closed_by: BTreeSet<TaskId> = self.holders(&key.files).collect();
        for holder in &closed_by {
            self.closes.entry(*holder).or_default().insert(key.clone());
        }
        for pattern in key.files.iter() {
            let at = pattern.literal_prefix().to_owned();
            self.lanes_at.entry(at).or_default().insert(key.clone());
        }
        self.lanes.insert(key.clone(), Lane { tasks: BTreeSet::new(), closed_by });
    }

    fn drop_lane(&mut self, key: &LaneKey) {
        let lane = self.lanes.remove(key).expect("only a lane that is there is dropped");
        for holder in lane.closed_by {
            remove_from(&mut self.closes, &holder, key);
        }
        for pattern in key.files.iter() {
            remove_from(&mut self.lanes_at, pattern.literal_prefix(), key);
        }
    }

    /// A task in progress takes its files.
    pub(crate) fn hold(&mut self, task: TaskId, files: &FileSet) {
        if files.is_empty() {
            return;
        }
        for pattern in files.iter() {
            let at = pattern.literal_prefix().to_owned();
            self.held_at.entry(at).or_default().insert(task);
        }
        self.held.insert(task, files.clone());
        let mut met: BTreeSet<LaneKey> = BTreeSet::new();
        for pattern in files.iter() {
            for key in near(&self.lanes_at, pattern.literal_prefix()) {
                if !met.contains(key) && key.files.overlaps(files) {
                    met.insert(key.clone());
                }
            }
        }
        for key in &met {
            let lane = self.lanes.get_mut(key).expect("an indexed lane exists");
            if lane.closed_by.is_empty() {
                let head = *lane.tasks.first().expect("a lane is never empty");
                remove_key(&mut self.heads, &key.pool, &head);
            }
            lane.closed_by.insert(task);
        }
        if !met.is_empty() {
            self.closes.insert(task, met);
        }
    }

    /// A task in progress gives its files free.
    pub(crate) fn free(&mut self, task: TaskId) {
        let Some(files) = self.held.remove(&task) else { return };
        for pattern in files.iter() {
            remove_from(&mut self.held_at, pattern.literal_prefix(), &task);
        }
        for key in self.closes.remove(&task).unwrap_or_default() {
            let lane = self.lanes.get_mut(&key).expect("a closed lane exists");
            lane.closed_by.remove(&task);
            if lane.closed_by.is_empty() {
                let head = *lane.tasks.first().expect("a lane is never empty");
                self.heads.entry(key.pool.clone()).or_default().insert(head, key);
            }
        }
    }

    /// The tasks in progress whose files meet these.
    pub(crate) fn holders<'a>(&'a self, files: &'a FileSet) -> impl Iterator<Item = TaskId> + 'a {
        let mut found: BTreeSet<TaskId> = BTreeSet::new();
        for pattern in files.iter() {
            for task in near(&self.held_at, pattern.literal_prefix()) {
                if !found.contains(task) && self.held[task].overlaps(files) {
                    found.insert(*task);
                }
            }
        }
        found.into_iter()
    }

    /// A pending task would like these files.
    pub(crate) fn want(&mut self, task: TaskId, files: &FileSet) {
        for pattern in files.iter() {
            let at = pattern.literal_prefix().to_owned();
            self.wanted_at.entry(at).or_default().insert(task);
        }
    }

    /// It is no longer pending, or its files are others.
    pub(crate) fn unwant(&mut self, task: TaskId, files: &FileSet) {
        for pattern in files.iter() {
            remove_from(&mut self.wanted_at, pattern.literal_prefix(), &task);
        }
    }

    /// The pending tasks that may want what a pattern covers; one with several patterns may
    /// come several times.
    pub(crate) fn wanting<'a>(&'a self, pattern: &'a Pattern) -> impl Iterator<Item = TaskId> + 'a {
        near(&self.wanted_at, pattern.literal_prefix()).copied()
    }

    /// The pending tasks that want any files.
    pub(crate) fn all_wanting(&self) -> impl Iterator<Item = TaskId> {
        self.wanted_at.values().flatten().copied()
    }

    /// The best task of these pools whose files are allowed.
    pub(crate) fn best(
        &self,
        pools: &[Pool],
        allowed: impl Fn(&FileSet) -> bool,
    ) -> Option<TaskId> {
        let fits = |(_, key): &(&Rank, &LaneKey)| allowed(&key.files);
        let heads = pools.iter().filter_map(|pool| self.heads.get(pool)?.iter().find(fits));
        heads.map(|(rank, _)| *rank).min().map(|(_, _, task)| task)
    }

    /// Some task of these pools whose files are allowed and that nobody is about to take.
    pub(crate) fn another(
        &self,
        pools: &[Pool],
        taken: &Taken<'_>,
        allowed: impl Fn(&FileSet) -> bool,
    ) -> Option<(&LaneKey, Rank)> {
        let free = |key: &'_ LaneKey| {
            let tasks = &self.lanes[key].tasks;
            match taken.lanes.get(key) {
                None => tasks.first().copied(),
                Some(last) => {
                    let later = (std::ops::Bound::Excluded(*last), std::ops::Bound::Unbounded);
                    tasks.range(later).next().copied()
                }
            }
        };
        let fits = |key: &&LaneKey| {
            allowed(&key.files) && !taken.files.iter().any(|files| files.overlaps(&key.files))
        };
        let open = pools.iter().filter_map(|pool| self.heads.get(pool)).flat_map(BTreeMap::values);
        open.filter(fits).find_map(|key| Some((key, free(key)?)))
    }

    /// All that could be taken from these pools now, best first, at most `max`.
    pub(crate) fn available(
        &self,
        pools: &[Pool],
        max: usize,
        allowed: impl Fn(&FileSet) -> bool,
    ) -> Vec<TaskId> {
        // Walks the sorted lanes together; a lane gives up its head, then its next.
        let mut front: BTreeMap<Rank, &LaneKey> = BTreeMap::new();
        for pool in pools {
            let heads = self.heads.get(pool).into_iter().flatten();
            let fits = heads.filter(|(_, key)| allowed(&key.files));
            front.extend(fits.map(|(rank, key)| (*rank, key)));
        }
        let mut found = Vec::new();
        while found.len() < max {
            let Some((rank, key)) = front.pop_first() else { break };
            found.push(rank.2);
            let later = (std::ops::Bound::Excluded(rank), std::ops::Bound::Unbounded);
            if let Some(next) = self.lanes[key].tasks.range(later).next() {
                front.insert(*next, key);
            }
        }
        found
    }

    /// Every pool that has something to take.
    pub(crate) fn open_pools(&self) -> impl Iterator<Item = &Pool> {
        self.heads.keys()
    }
}

/// The entries at, above and below a place in the tree.
fn near<'a, T: Ord>(
    index: &'a BTreeMap<String, BTreeSet<T>>,
    prefix: &'a str,
) -> impl Iterator<Item = &'a T> + 'a {
    let mut above: Vec<&str> = vec![""];
    above.extend(prefix.match_indices('/').map(|(at, _)| &prefix[..at]));
    let above = above.into_iter().filter(move |p| *p != prefix).filter_map(|p| index.get(p));
    let exactly = index.get(prefix).into_iter();
    let folder = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
    let below = index
        .range(folder.clone()..)
        .take_while(move |(at, _)| at.starts_with(&folder))
        .filter(move |(at, _)| at.as_str() != prefix)
        .map(|(_, set)| set);
    above.chain(exactly).chain(below).flatten()
}

fn remove_from<K, Q: Ord + ?Sized, T: Ord>(index: &mut BTreeMap<K, BTreeSet<T>>, at: &Q, item: &T)
where
    K: Ord + std::borrow::Borrow<Q>,
{
    if let Some(set) = index.get_mut(at) {
        set.remove(item);
        if set.is_empty() {
            index.remove(at);
        }
    }
}

fn remove_key(heads: &mut BTreeMap<Pool, BTreeMap<Rank, LaneKey>>, pool: &Pool, rank: &Rank) {
    let lanes = heads.get_mut(pool).expect("an open lane has a head");
    lanes.remove(rank);
    if lanes.is_empty() {
        heads.remove(pool);
    }
}
