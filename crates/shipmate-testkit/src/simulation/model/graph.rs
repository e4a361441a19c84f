//! Dependencies, files and hands in the account of the log, each by looking at everything.

use std::collections::BTreeSet;

use shipmate_model::command::NewTask;
use shipmate_model::event::{Budget, Dependency, Supervision, Usage};
use shipmate_model::{Name, TaskId, TeammateRef};

use super::{Hold, Model, Phase, StageFacts, StatusFacts, TaskFacts};

impl Model {
    pub(crate) fn is_met(&self, on: &Dependency) -> bool {
        match on {
            Dependency::Task(id) => {
                self.task(*id).is_some_and(|task| task.status == StatusFacts::Completed)
            }
            Dependency::Group(group) => {
                let members = self.groups.get(group).into_iter().flatten();
                let left: Vec<&StatusFacts> = members
                    .filter_map(|id| self.task(*id))
                    .map(|task| &task.status)
                    .filter(|status| **status != StatusFacts::Deleted)
                    .collect();
                !left.is_empty() && left.iter().all(|status| **status == StatusFacts::Completed)
            }
        }
    }

    pub(crate) fn unmet(&self, task: &TaskFacts) -> Vec<Dependency> {
        task.blocked_by.iter().filter(|on| !self.is_met(on)).cloned().collect()
    }

    pub(crate) fn held(&self) -> impl Iterator<Item = (&TaskFacts, &Hold)> {
        self.tasks.iter().filter_map(|task| match &task.status {
            StatusFacts::Held(hold) => Some((task, hold)),
            _ => None,
        })
    }

    /// Another task in progress whose files, or what was granted beyond them, meet this one's.
    pub(crate) fn file_rival(&self, task: &TaskFacts) -> Option<TaskId> {
        let keeps = |other: &TaskFacts| match other.paths {
            0 => 0,
            own => own | other.granted,
        };
        let rivals = self.held().filter(|(other, _)| other.id != task.id);
        rivals.filter(|(other, _)| keeps(other) & task.paths != 0).map(|(other, _)| other.id).next()
    }

    /// The same by files alone: what is granted may lie in another's, files never do.
    pub(crate) fn twin_of_files(&self, task: &TaskFacts) -> Option<TaskId> {
        let rivals = self.held().filter(|(other, _)| other.id != task.id);
        rivals.filter(|(other, _)| other.paths & task.paths != 0).map(|(other, _)| other.id).next()
    }

    /// Each of the task's patterns lies in one of the scope's.
    pub(crate) fn in_scope(&self, who: &TeammateRef, task: &TaskFacts) -> bool {
        let scope = &self.mates[&who.address].scope;
        let within = |pattern: &u64| scope.iter().any(|part| pattern & !part == 0);
        scope.is_empty() || task.patterns.iter().all(within)
    }

    /// Tasks of this life that fill its hands: claimed and not yet handed in.
    pub(crate) fn in_hand(&self, who: &TeammateRef) -> usize {
        let own = self.held().filter(|(_, hold)| hold.by.address == who.address);
        own.filter(|(_, hold)| hold.stage == StageFacts::Claimed).count()
    }

    /// May this life take one more task at all?
    pub(crate) fn has_free_hands(&self, who: &TeammateRef) -> bool {
        let Some(mate) = self.mates.get(&who.address) else { return false };
        self.is_current(who)
            && self.teams[&who.address.team].phase == Phase::Active
            && !self.teams[&who.address.team].paused
            && !(mate.supervision == Supervision::OneShot && mate.claims > 0)
            && !mate.paused
            && mate.shutdown.is_none()
            && self.in_hand(who) < mate.tasks_max as usize
            && self.has_budget(who, &Usage::default())
            && self.may_ask(&who.address)
    }

    /// May a life with free hands take this task now?
    pub(crate) fn may_take(&self, who: &TeammateRef, task: &TaskFacts) -> bool {
        let (mate, all) = (&self.mates[&who.address], self.takes_all(&who.address));
        task.status == StatusFacts::Pending
            && task.team == who.address.team
            && self.unmet(task).is_empty()
            && (all || task.role.is_none() || task.role == mate.role)
            && (all || task.assignee.as_ref().is_none_or(|name| *name == who.address.name))
            && self.file_rival(task).is_none()
            && self.in_scope(who, task)
    }

    pub(crate) fn has_budget(&self, who: &TeammateRef, more: &Usage) -> bool {
        let mate = &self.mates[&who.address];
        let teams = self.above(&who.address.team);
        let teams = teams.iter().map(|team| &self.teams[team]);
        let teams = teams.map(|team| (team.budget, team.used.plus(&team.reserved)));
        let own = (mate.budget, mate.used.plus(&mate.reserved));
        std::iter::once(own).chain(teams).all(|(budget, used)| has_room(budget, &used, more))
    }

    /// What a node of the dependency graph waits for, once these tasks are added.
    fn waits_for(&self, node: &Dependency, new: &NewEdges<'_>) -> Vec<Dependency> {
        match node {
            Dependency::Task(id) => {
                let known = self.task(*id);
                if known.is_some_and(|task| task.status == StatusFacts::Completed) {
                    return Vec::new();
                }
                let mut on: Vec<Dependency> =
                    known.map_or_else(Vec::new, |task| task.blocked_by.iter().cloned().collect());
                on.extend(new.of(*id));
                on
            }
            Dependency::Group(group) => {
                let known = self.groups.get(group).into_iter().flatten().copied();
                known.chain(new.members(group)).map(Dependency::Task).collect()
            }
        }
    }

    /// Would these edges let a task wait for itself?
    pub(crate) fn closes_a_circle(&self, new: &NewEdges<'_>) -> bool {
        new.starts().into_iter().any(|start| {
            let mut seen: BTreeSet<Dependency> = BTreeSet::new();
            let mut next = self.waits_for(&Dependency::Task(start), new);
            while let Some(node) = next.pop() {
                if node == Dependency::Task(start) {
                    return true;
                }
                if seen.insert(node.clone()) {
                    next.extend(self.waits_for(&node, new));
                }
            }
            false
        })
    }
}

fn has_room(budget: Budget, used: &Usage, more: &Usage) -> bool {
    let after = used.plus(more);
    let next_step = *more == Usage::default();
    let fits = |max: Option<u64>, used: u64, after: u64| {
        max.is_none_or(|max| if next_step { used < max } else { after <= max })
    };
    fits(budget.tokens_max, used.tokens(), after.tokens())
        && fits(budget.cost_micros_max, used.cost_micros, after.cost_micros)
}

/// Edges that a command would add.
#[derive(Debug)]
pub(crate) enum NewEdges<'a> {
    Tasks { first: TaskId, tasks: &'a [NewTask] },
    Blockers { task: TaskId, added: &'a [Dependency] },
}

impl NewEdges<'_> {
    fn of(&self, id: TaskId) -> Vec<Dependency> {
        match self {
            NewEdges::Tasks { first, tasks } => {
                let index = id.checked_sub(*first).map(|index| index as usize);
                let Some(new) = index.and_then(|index| tasks.get(index)) else { return Vec::new() };
                let fresh = new.blocked_by_new.iter().map(|n| Dependency::Task(first + *n as u32));
                new.spec.blocked_by.iter().cloned().chain(fresh).collect()
            }
            NewEdges::Blockers { task, added } if *task == id => added.to_vec(),
            NewEdges::Blockers { .. } => Vec::new(),
        }
    }

    fn members(&self, group: &Name) -> Vec<TaskId> {
        match self {
            NewEdges::Tasks { first, tasks } => (*first..)
                .zip(tasks.iter())
                .filter(|(_, new)| new.spec.group.as_ref() == Some(group))
                .map(|(id, _)| id)
                .collect(),
            NewEdges::Blockers { .. } => Vec::new(),
        }
    }

    fn starts(&self) -> Vec<TaskId> {
        match self {
            NewEdges::Tasks { first, tasks } => (*first..*first + tasks.len() as u32).collect(),
            NewEdges::Blockers { task, .. } => vec![*task],
        }
    }
}
