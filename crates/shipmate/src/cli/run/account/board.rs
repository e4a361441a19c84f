//! What the records say about tasks: who works on each, and what became of it.

use shipmate_model::Address;
use shipmate_model::event::TaskId;

use super::super::progress::EventText;
use super::super::tasks::{Status, TaskLine};
use super::{Account, step};

impl Account {
    /// A task, and how it is told of.
    pub(super) fn task(&mut self, id: TaskId) -> Option<(&mut TaskLine, String)> {
        let task = self.tasks.get_mut(id)?;
        let name = format!("task {id} ({})", task.subject);
        Some((task, name))
    }

    pub(super) fn set_task(&mut self, id: u32, status: Status) {
        self.tasks.set_status(id, status);
        let Some(mate) = self.tasks.get(id).and_then(|task| self.mates.get_mut(&task.owner)) else {
            return;
        };
        match status {
            Status::Claimed => mate.held.insert(id),
            _ => mate.held.remove(&id),
        };
    }

    pub(super) fn task_claimed(&mut self, id: TaskId, by: &Address) -> EventText {
        let (owner, at) = (self.name(by), self.now_ms);
        let (task, name) = self.task(id)?;
        (task.owner, task.claimed_ms) = (owner.clone(), at);
        task.why.clear();
        self.set_task(id, Status::Claimed);
        self.set_mate(&owner, "works");
        step(format!("{owner} takes {name}"))
    }

    pub(super) fn task_submitted(&mut self, id: TaskId) -> EventText {
        let at = self.now_ms;
        let (task, name) = self.task(id)?;
        let (owner, busy_ms) = (task.owner.clone(), at.saturating_sub(task.claimed_ms));
        self.set_task(id, Status::Submitted);
        self.set_mate(&owner, "idle").busy_ms += busy_ms;
        step(format!("{owner} hands in {name}"))
    }

    pub(super) fn task_completed(&mut self, id: TaskId, commit: Option<&String>) -> EventText {
        let at = self.now_ms;
        let (task, name) = self.task(id)?;
        let owner = task.owner.clone();
        task.took_ms = Some(at.saturating_sub(task.claimed_ms));
        task.commit = commit.cloned();
        self.set_task(id, Status::Completed);
        self.mates.entry(owner.clone()).or_default().done += 1;
        if self.has_trees && commit.is_none() {
            self.add_deviation(Some(id), &format!("{name} changed nothing"));
            return step(format!("{name} completed ({owner}), without any change"));
        }
        step(format!("{name} completed ({owner})"))
    }

    /// Keeps why it is not done; gives how it is told of, and who had it.
    pub(super) fn set_back(&mut self, id: u32, to: Status, why: &str) -> Option<(String, String)> {
        let (task, name) = self.task(id)?;
        task.why = why.to_owned();
        let owner = task.owner.clone();
        self.set_task(id, to);
        Some((name, owner))
    }
}
