//! The board and the members as files: a file for each task in two forms (`tasks`, `claims`), and
//! the team itself (`team`).

use serde_json::{Value, json};
use shipmate_core::state::{Life, Status, Task};
use shipmate_model::event::Dependency;

use super::moment::iso;
use super::{Files, Sight};

/// Every task that there is; a deleted one has no file.
fn tasks<'a>(sight: &'a Sight<'_>) -> impl Iterator<Item = &'a Task> {
    let own = sight.state.tasks().iter().filter(|task| task.team == *sight.team);
    own.filter(|task| task.status != Status::Deleted)
}

fn owner(task: &Task) -> String {
    match &task.status {
        Status::InProgress(claim) => claim.by.address.name.to_string(),
        Status::Completed { by: Some(by), .. } => by.address.name.to_string(),
        _ => String::new(),
    }
}

/// `{path}/task_1.json`: what is done no longer blocks.
pub(super) fn by_owner(sight: &Sight<'_>) -> Result<Files, String> {
    let is_open = |id: &u32| {
        let task = sight.state.task(*id);
        task.is_some_and(|task| !matches!(task.status, Status::Completed { .. }))
    };
    let made = tasks(sight).map(|task| {
        let blocked_by: Vec<String> = task
            .spec
            .blocked_by
            .iter()
            .filter_map(|on| match on {
                Dependency::Task(id) => is_open(id).then(|| id.to_string()),
                Dependency::Group(name) => {
                    let done = sight.state.groups.get(name).is_some_and(|group| group.is_done());
                    (!done).then(|| format!("group:{name}"))
                }
            })
            .collect();
        let blocks: Vec<String> = task.dependents.iter().map(ToString::to_string).collect();
        let active = match task.spec.active_form.as_str() {
            "" => format!("Working on: {}", task.spec.subject),
            own => own.to_owned(),
        };
        let text = json!({
            "id": task.id.to_string(),
            "subject": task.spec.subject,
            "description": task.spec.description,
            "status": task.status_word(),
            "active_form": active,
            "owner": owner(task),
            "blocks": blocks,
            "blocked_by": blocked_by,
        });
        (format!("{}/task_{}.json", sight.path, task.id), format!("{text:#}\n"))
    });
    Ok(made.collect())
}

/// `{path}/task-001.json`, in the words pending, claimed, done and failed.
pub(super) fn by_claim(sight: &Sight<'_>) -> Result<Files, String> {
    let made = tasks(sight).map(|task| {
        let id = format!("task-{:03}", task.id);
        let (status, completed_at) = match &task.status {
            Status::Pending | Status::Deleted => ("pending", String::new()),
            Status::InProgress(_) => ("claimed", String::new()),
            Status::Completed { .. } => ("done", iso(task.changed_at)),
            Status::Failed { .. } => ("failed", String::new()),
        };
        let text = json!({
            "id": id,
            "subject": task.spec.subject,
            "description": task.spec.description,
            "status": status,
            "claimed_by": owner(task),
            "created_at": iso(task.created_at),
            "completed_at": completed_at,
        });
        (format!("{}/{id}.json", sight.path), format!("{text:#}\n"))
    });
    Ok(made.collect())
}

/// Name, members and when it was made, in one file.
pub(super) fn team(sight: &Sight<'_>) -> Result<Files, String> {
    let Some(team) = sight.state.teams.get(sight.team) else { return Ok(Files::new()) };
    let members = sight.state.members_of(sight.team).map(|(who, mate)| {
        let agent = if mate.profile.agent.is_empty() { "command" } else { &mate.profile.agent };
        let state = match mate.life {
            Life::Added => "added",
            Life::Running if mate.idle.is_some() => "idle",
            Life::Running => "active",
            Life::Disappeared { .. } | Life::Stopped { .. } | Life::Removed => "stopped",
        };
        json!({
            "name": who.name.as_str(),
            "agentId": format!("{who}@{}", mate.epoch),
            "agentType": agent,
            "state": state,
        })
    });
    let members: Vec<Value> = members.collect();
    let created = iso(team.created_at);
    let text = json!({ "name": sight.team.as_str(), "members": members, "created": created });
    Ok(vec![(sight.path.to_owned(), format!("{text:#}\n"))])
}
