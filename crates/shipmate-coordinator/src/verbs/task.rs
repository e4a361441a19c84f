//! Tasks: what there are, how they are made and changed, and the way of a claim from taking to
//! handing in.

use std::collections::BTreeMap;

use shipmate_core::state::{State, Task};
use shipmate_model::command::NewTask;
use shipmate_model::event::{RoleChange, TaskSpec};
use shipmate_model::limits::{PRIORITY_DEFAULT, RETRIES_DEFAULT};
use shipmate_model::{Act, Actor, Alias, Name, Refusal, event};
use shipmate_playbook::handoff;
use shipmate_protocol::Refused;
use shipmate_protocol::verbs::{
    TaskAssign, TaskChanges, TaskClaim, TaskComplete, TaskCreate, TaskDelete, TaskFail, TaskFilter,
    TaskNew, TaskNext, TaskRelease, TaskRenew, TaskRetry, TaskSetAside, TaskShow, TaskSubmit,
    TaskSubmitNext, TaskUpdate, Tasks,
};
use shipmate_protocol::view::{TaskRow, TaskStatus, TaskView};

use super::{Beside, Decides, Looks};
use crate::hooks::{HookEvent, Payload};
use crate::scene::{Scene, bad, files, name, optional, refusal};
use crate::views;

impl Looks for Tasks {
    fn look(&self, scene: &Scene<'_>, _: &Beside<'_>) -> Result<Vec<TaskRow>, Refused> {
        Ok(rows(scene, &self.filter))
    }
}

fn rows(scene: &Scene<'_>, filter: &TaskFilter) -> Vec<TaskRow> {
    let state = scene.state;
    let limit = filter.limit.unwrap_or(usize::MAX);
    if filter.available {
        let all = state.tasks().len();
        // Of a team below others the best few may all be another team's.
        let is_below = state.teams.get(scene.team).is_some_and(|team| team.parent.is_some());
        let (ids, team) = match scene.actor {
            Actor::Teammate(who) => {
                (shipmate_core::available_for(state, who, limit.min(all)), None)
            }
            _ if is_below => (shipmate_core::available(state, all), Some(scene.team)),
            _ => (shipmate_core::available(state, limit.min(all)), None),
        };
        let tasks = ids.into_iter().filter_map(|id| state.task(id));
        let is_own = |task: &&Task| team.is_none_or(|team| is_within(state, &task.team, team));
        let own = tasks.filter(is_own).take(limit);
        return own.map(|task| views::row(state, task)).collect();
    }
    let search = filter.search.as_ref().map(|text| text.to_lowercase());
    let wanted = |task: &&Task| {
        let shown = task.shown();
        let status = match filter.status.is_empty() {
            true => shown != TaskStatus::Deleted,
            false => filter.status.iter().any(|status| status == shown.word()),
        };
        let group = filter.group.as_deref();
        status
            && is_within(state, &task.team, scene.team)
            && group.is_none_or(|group| task.spec.group.as_ref().map(Name::as_str) == Some(group))
            && search.as_ref().is_none_or(|text| task.spec.subject.to_lowercase().contains(text))
    };
    let tasks = state.tasks().iter().skip(filter.after as usize).filter(wanted);
    let rows = tasks.map(|task| views::row(state, task));
    let owned = rows.filter(|row| {
        let owner = filter.owner.as_deref();
        owner.is_none_or(|owner| row.owner.as_deref().is_some_and(|by| is_owner(by, owner)))
    });
    owned.take(limit).collect()
}

/// The team itself or one above it.
fn is_within(state: &State, team: &Name, above: &Name) -> bool {
    let mut at = Some(team);
    while let Some(here) = at {
        if here == above {
            return true;
        }
        at = state.teams.get(here).and_then(|team| team.parent.as_ref());
    }
    false
}

/// `alpha/ana@2` is `ana`, `alpha/ana` and itself.
fn is_owner(by: &str, owner: &str) -> bool {
    let address = by.split('@').next().unwrap_or(by);
    by == owner || address == owner || address.rsplit('/').next() == Some(owner)
}

impl Looks for TaskShow {
    fn look(&self, scene: &Scene<'_>, _: &Beside<'_>) -> Result<TaskView, Refused> {
        let task = scene.state.task(scene.task(&self.task)?).expect("a resolved task exists");
        Ok(views::task(scene.state, task))
    }
}

impl Decides for TaskCreate {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        let tasks = &self.tasks;
        let named = tasks.first().and_then(|task| task.team.as_deref());
        if tasks.iter().any(|task| task.team.as_deref() != named) {
            let remedy = "make the tasks of each team with a request of their own";
            return Err(bad("the tasks are of several teams".to_owned(), remedy));
        }
        match named {
            Some(team) => create(&Scene { team: &name(team)?, ..*scene }, tasks),
            None => create(scene, tasks),
        }
    }

    fn hook(&self) -> Option<HookEvent> {
        Some(HookEvent::TaskCreated)
    }

    fn payloads(&self, state: &State, of: Payload) -> Vec<Payload> {
        let words = self.tasks.iter().map(|task| (&task.subject, &task.description));
        of_new_tasks(state, &of, words)
    }
}

/// What a hook is told of tasks that are about to be made, each with the number it would get.
pub(super) fn of_new_tasks<'a>(
    state: &State,
    of: &Payload,
    tasks: impl Iterator<Item = (&'a String, &'a String)>,
) -> Vec<Payload> {
    let numbered = (state.tasks().len() + 1..).zip(tasks);
    let told = numbered.map(|(number, (subject, description))| Payload {
        task_id: Some(number.to_string()),
        task_subject: Some(subject.clone()),
        task_description: Some(description.clone()),
        ..of.clone()
    });
    told.collect()
}

fn create(scene: &Scene<'_>, tasks: &[TaskNew]) -> Result<Act, Refused> {
    let mut fresh: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, task) in tasks.iter().enumerate() {
        if let Some(alias) = &task.alias {
            fresh.entry(alias).or_insert(index);
        }
    }
    let new: Result<Vec<NewTask>, Refused> =
        tasks.iter().map(|task| new_task(scene, task, &fresh)).collect();
    Ok(Act::CreateTasks { team: scene.team.clone(), tasks: new? })
}

fn new_task(
    scene: &Scene<'_>,
    task: &TaskNew,
    fresh: &BTreeMap<&str, usize>,
) -> Result<NewTask, Refused> {
    let mut blocked_by = Vec::new();
    let mut blocked_by_new = Vec::new();
    for text in &task.blocked_by {
        match fresh.get(text.as_str()) {
            Some(index) => blocked_by_new.push(*index),
            None => blocked_by.push(scene.dependency(text)?),
        }
    }
    let alias = task.alias.as_ref().map(|text| text.parse::<Alias>()).transpose();
    let spec = TaskSpec {
        subject: task.subject.clone(),
        description: task.description.clone(),
        active_form: task.active_form.clone(),
        alias: alias.map_err(|e| refusal(&Refusal::BadName(e)))?,
        group: optional(task.group.as_ref())?,
        blocked_by,
        files: files(&task.files)?,
        role: optional(task.role.as_ref())?,
        assignee: optional(task.assignee.as_ref())?,
        priority: task.priority.unwrap_or(PRIORITY_DEFAULT),
        duration_ms: task.duration_ms,
        retries_max: task.retries_max.unwrap_or(RETRIES_DEFAULT),
        metadata: task.metadata.clone(),
        gate: None,
        no_change: task.no_change,
    };
    Ok(NewTask { spec, blocked_by_new })
}

impl Decides for TaskUpdate {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::UpdateTask {
            task: scene.task(&self.task)?,
            changes: changes(scene, &self.changes)?,
        })
    }
}

fn changes(scene: &Scene<'_>, changes: &TaskChanges) -> Result<event::TaskChanges, Refused> {
    Ok(event::TaskChanges {
        subject: changes.subject.clone(),
        description: changes.description.clone(),
        active_form: changes.active_form.clone(),
        priority: changes.priority,
        duration_ms: changes.duration_ms,
        role: match changes.role.as_deref() {
            None => None,
            Some("") => Some(RoleChange::Any),
            Some(role) => Some(RoleChange::Only(name(role)?)),
        },
        files: changes.files.as_ref().map(|patterns| files(patterns)).transpose()?,
        add_blocked_by: scene.dependencies(&changes.add_blocked_by)?,
        remove_blocked_by: scene.dependencies(&changes.remove_blocked_by)?,
        metadata: changes.metadata.clone(),
    })
}

impl Decides for TaskClaim {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::ClaimTask { task: scene.task(&self.task)?, lease_ms: self.lease_ms })
    }
}

impl Decides for TaskNext {
    fn act(&self, _: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::ClaimNext { lease_ms: self.lease_ms })
    }

    fn waits(&self) -> bool {
        self.wait
    }
}

impl Decides for TaskRenew {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::RenewClaim { task: scene.task(&self.task)?, token: self.token })
    }
}

impl Decides for TaskSubmit {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        check_result(scene, &self.result)?;
        Ok(Act::SubmitTask {
            task: scene.task(&self.task)?,
            token: self.token,
            commit: self.commit.clone(),
            result: self.result.clone(),
            handoff: self.handoff.clone(),
        })
    }

    fn lacks_commit(&self) -> bool {
        self.commit.is_none()
    }

    fn hands_in(&self) -> Option<(&str, u64, &str)> {
        Some((&self.task, self.token, self.commit.as_deref()?))
    }
}

impl Decides for TaskSubmitNext {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        let TaskSubmitNext { task, token, commit, result, handoff, .. } = self.clone();
        Decides::act(&TaskSubmit { task, token, commit, result, handoff }, scene)
    }

    fn then(&self, _: &Scene<'_>) -> Option<Act> {
        Some(Act::ClaimNext { lease_ms: self.lease_ms })
    }

    fn lacks_commit(&self) -> bool {
        self.commit.is_none()
    }

    fn hands_in(&self) -> Option<(&str, u64, &str)> {
        Some((&self.task, self.token, self.commit.as_deref()?))
    }
}

/// A result that calls itself a handoff is held against its kind, as a message is: whoever has
/// nobody to write to hands over with its task.
fn check_result(scene: &Scene<'_>, result: &str) -> Result<(), Refused> {
    let team = scene.state.teams.get(scene.team);
    match team.and_then(|team| team.setup.playbook.as_deref()) {
        Some(playbook) => handoff::check_result(playbook, result),
        None => Ok(()),
    }
}

impl Decides for TaskComplete {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        check_result(scene, &self.result)?;
        Ok(Act::CompleteTask {
            task: scene.task(&self.task)?,
            token: self.token,
            commit: self.commit.clone(),
            result: self.result.clone(),
        })
    }
}

impl Decides for TaskFail {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        let reason = self.reason.clone();
        Ok(Act::FailTask { task: scene.task(&self.task)?, token: self.token, reason })
    }
}

impl Decides for TaskRelease {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        let reason = self.reason.clone();
        Ok(Act::ReleaseTask { task: scene.task(&self.task)?, token: self.token, reason })
    }
}

impl Decides for TaskAssign {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::AssignTask { task: scene.task(&self.task)?, to: optional(self.to.as_ref())? })
    }
}

impl Decides for TaskRetry {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::RetryTask { task: scene.task(&self.task)? })
    }
}

impl Decides for TaskDelete {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::DeleteTask { task: scene.task(&self.task)? })
    }
}

impl Decides for TaskSetAside {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        let (task, token) = (scene.task(&self.task)?, self.token);
        let (work, commit, host) = (self.work.clone(), self.commit.clone(), scene.here.cloned());
        Ok(Act::SetAsideWork { task, token, work, commit, host })
    }

    fn sets_aside(&self) -> Option<(&str, u64, &str, &str)> {
        Some((&self.task, self.token, &self.work, self.commit.as_deref()?))
    }
}
