//! A lead's plan in the core's words. Nothing is refused here: what is wrong with a plan is told
//! all at once, by whoever weighs it.

use shipmate_model::event::Mode;
use shipmate_model::{Draft, DraftTask, DraftTeammate};
use shipmate_protocol::verbs;

use crate::scene::mode;

pub(crate) fn draft(work: &verbs::PlannedWork) -> Draft {
    let mut problems = work.problems.clone();
    let task = |task: &verbs::TaskNew| DraftTask {
        key: task.alias.clone().unwrap_or_default(),
        subject: task.subject.clone(),
        description: task.description.clone(),
        files: task.files.clone(),
        blocked_by: task.blocked_by.clone(),
        role: task.role.clone(),
        assignee: task.assignee.clone(),
        priority: task.priority,
        duration_ms: task.duration_ms,
        no_change: task.no_change,
    };
    let teammate = |add: &verbs::TeammateAdd| DraftTeammate {
        name: add.name.clone(),
        role: add.role.clone(),
        agent: add.agent.clone(),
        model: add.model.clone(),
        command: add.command.clone(),
        scope: add.scope.clone(),
        mode: match add.mode.as_deref().map(mode) {
            None => Mode::Normal,
            Some(Ok(mode)) => mode,
            Some(Err(refused)) => {
                problems.push(format!("teammate {}: {}", add.name, refused.one_line()));
                Mode::Normal
            }
        },
        hears: add.hears,
        place: add.place.clone(),
        definition: add.definition.clone(),
        fallback: add.fallback_choice.clone(),
    };
    let tasks = work.tasks.iter().map(task).collect();
    let teammates = work.teammates.iter().map(teammate).collect();
    Draft { tasks, teammates, single: work.single.clone(), problems }
}
