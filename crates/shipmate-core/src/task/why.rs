//! Why a task cannot be taken now, as facts a screen or a model can show.

use shipmate_model::event::TaskId;
use shipmate_model::name::{Name, TeammateRef};

use crate::state::{State, Status, Task};
use crate::task::graph;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// What is not completed yet, in words: `3`, `4 (failed)`, `group auth (1 of 3 completed)`.
    Blocked {
        on: Vec<String>,
    },
    FilesHeld {
        task: TaskId,
        by: TeammateRef,
    },
    Role(Name),
    Assigned(Name),
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Obstacle::Blocked { on } => write!(f, "blocked by {}", on.join(", ")),
            Obstacle::FilesHeld { task, by } => {
                write!(f, "files held by {} (task {task})", by.address.name)
            }
            Obstacle::Role(role) => write!(f, "role {role}"),
            Obstacle::Assigned(name) => write!(f, "assigned to {name}"),
        }
    }
}

/// What stands in the way of a pending task; nothing, if anybody may take it.
pub fn obstacles(state: &State, task: &Task) -> Vec<Obstacle> {
    let mut found = Vec::new();
    if task.status != Status::Pending {
        return found;
    }
    if !task.is_unblocked() {
        found.push(Obstacle::Blocked { on: graph::open_blockers(state, task) });
    }
    for holder in state.ready.holders(&task.spec.files) {
        let claim = state.task(holder).and_then(Task::claim).expect("a holder holds");
        found.push(Obstacle::FilesHeld { task: holder, by: claim.by.clone() });
    }
    found.extend(task.spec.role.clone().map(Obstacle::Role));
    found.extend(task.spec.assignee.clone().map(Obstacle::Assigned));
    found
}
