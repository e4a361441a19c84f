//! What a run comes to at its end: tasks, commits, teammates, and how fast it could have been.

use shipmate_model::event::Dependency;

use super::super::report::{Commit, NotDone, TaskTally, TeammateTally};
use super::super::tasks::{Status, TaskLine};
use super::{Account, first_line};

impl Account {
    /// What no team of this size could have beaten, from how long tasks really took.
    pub(crate) fn bound_ms(&self) -> u64 {
        let work: u64 = self.tasks.iter().filter_map(|(_, task)| task.took_ms).sum();
        let hands = self.mates.values().filter(|mate| mate.lives > 0).count().max(1) as u64;
        self.tasks.path(|_| true).1.max(work / hands)
    }

    pub(crate) fn tally(&self) -> TaskTally {
        let open = self.tasks.iter().filter_map(|(id, task)| {
            let (status, why) = match task.status() {
                Status::Completed | Status::Deleted => return None,
                Status::Failed => ("failed", first_line(&task.why).to_owned()),
                Status::Claimed => ("in_progress", format!("with {}", task.owner)),
                Status::Submitted => ("in_progress", self.handed_in(id, task)),
                Status::Pending if task.is_unblocked() => ("pending", free(task)),
                Status::Pending => ("pending", self.blocked_by(task)),
            };
            let (subject, status) = (task.subject.clone(), status.to_owned());
            Some(NotDone { id, subject, status, why })
        });
        let counts = self.tasks.counts();
        TaskTally { total: counts.total, completed: counts.done, not_done: open.collect() }
    }

    /// What keeps work that was handed in from landing.
    fn handed_in(&self, id: u32, task: &TaskLine) -> String {
        let asks = self.waiting.values().find(|waits| waits.task == Some(id));
        let why = match (asks, self.halt()) {
            (Some(waits), _) => format!("waits for the answer to question {}", waits.id),
            (None, Some(pause)) => first_line(&pause.reason).to_owned(),
            (None, None) => "waits for the gate".to_owned(),
        };
        format!("handed in by {}; {why}", task.owner)
    }

    fn blocked_by(&self, task: &TaskLine) -> String {
        let open = task.needs.iter().filter(|need| self.tasks.is_open(need));
        let on = open.map(|need| match need {
            Dependency::Task(id) => id.to_string(),
            Dependency::Group(_) => need.to_string(),
        });
        let on: Vec<String> = on.collect();
        format!("waits for {}", on.join(", "))
    }

    pub(crate) fn commits(&self) -> Vec<Commit> {
        let landed = self
            .tasks
            .iter()
            .filter_map(|(id, task)| Some(Commit { task: id, hash: task.commit.clone()? }));
        landed.collect()
    }

    pub(crate) fn teammates(&self) -> Vec<TeammateTally> {
        let tallies = self.mates.iter().filter(|(_, mate)| mate.lives > 0).map(|(name, mate)| {
            let (name, tasks_done, busy_ms) = (name.clone(), mate.done, mate.busy_ms);
            TeammateTally { name, tasks_done, busy_ms, restarts: mate.lives.saturating_sub(1) }
        });
        tallies.collect()
    }
}

/// Why nobody works on a task that could be taken.
fn free(task: &TaskLine) -> String {
    match (task.owner.as_str(), first_line(&task.why)) {
        ("", _) => "nobody took it".to_owned(),
        (owner, "") => format!("{owner} had taken it"),
        (owner, why) => format!("{owner} had taken it: {why}"),
    }
}
