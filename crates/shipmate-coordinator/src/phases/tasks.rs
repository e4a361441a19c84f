//! The tasks of a phase, made from its templates and the pieces of work that were read.
//!
//! The template called `task` is the piece of work itself: it keeps the piece's handle, its group
//! and what it waits for. Others are work about a piece, such as the tests for it, and are known
//! as `HANDLE:TEMPLATE`.

use std::collections::BTreeMap;

use shipmate_core::State;
use shipmate_core::state::Standing;
use shipmate_core::state::{Status, Task};
use shipmate_model::Name;
use shipmate_model::command::{Again, NewTask};
use shipmate_model::event::{Dependency, TaskChanges, TaskSpec};
use shipmate_model::files::{FileSet, Pattern};
use shipmate_model::limits::{PRIORITY_DEFAULT, RETRIES_DEFAULT};
use shipmate_model::playbook::{Each, RoundRule, TaskTemplate};
use shipmate_playbook::complexity;
use shipmate_playbook::fill::{Values, fill};
use shipmate_playbook::work::{Item, TASK, Work, is_piece};
use shipmate_process::beginning;

use super::stage::Stage;

/// Some of its templates are for this round.
pub(super) fn are_due(stage: &Stage) -> bool {
    stage.phase.tasks.iter().any(|template| fits(stage, template))
}

fn fits(stage: &Stage, template: &TaskTemplate) -> bool {
    match template.round {
        None => true,
        Some(RoundRule::First) => stage.course.round == 1,
        Some(RoundRule::Later) => stage.course.round > 1,
    }
}

/// One task to be, with what it is made from.
struct Made<'a> {
    template: &'a TaskTemplate,
    item: Option<&'a Item>,
    group: Option<&'a str>,
}

/// What a phase begins with.
#[derive(Debug, Default)]
pub(super) struct Begins {
    pub(super) tasks: Vec<NewTask>,
    /// Pieces that failed before.
    pub(super) again: Vec<Again>,
}

/// `again` says which pieces that failed are tried again; without it, all are. What is on the
/// board of a phase that runs is left as it is.
pub(super) fn make(
    state: &State,
    stage: &Stage,
    work: &Work,
    again: Option<&[String]>,
) -> Result<Begins, String> {
    let mut made = Vec::new();
    let mut failed = Vec::new();
    let runs = matches!(stage.course.standing, Standing::Running { .. });
    for template in &stage.phase.tasks {
        if !fits(stage, template) || (runs && template.each == Each::Once) {
            continue;
        }
        match template.each {
            Each::Once => made.push(Made { template, item: None, group: None }),
            Each::Group => {
                let groups = work.groups.keys().map(|group| group.as_str());
                made.extend(groups.map(|group| Made { template, item: None, group: Some(group) }));
            }
            Each::Item => {
                let having =
                    |item: &&Item| template.having.as_ref().is_none_or(|key| item.has(key));
                let heavy = |item: &&Item| {
                    template
                        .weight
                        .as_ref()
                        .is_none_or(|weight| complexity::fits(weight, item, work))
                };
                // Work about a piece that was done in this run comes after it.
                let is_ours = |item: &&Item| on_board(state, &item.id).is_some();
                let done = work.done.iter().filter(|item| !is_piece(template) && is_ours(item));
                for item in work.items.iter().chain(done).filter(having).filter(heavy) {
                    let one = Made { template, item: Some(item), group: item.group.as_deref() };
                    let there = on_board(state, &one.handle(stage)).filter(|_| one.is_piece());
                    match there.and_then(|id| state.task(id)) {
                        None => made.push(one),
                        Some(task) if matches!(task.status, Status::Failed { .. }) => {
                            if again.is_none_or(|listed| listed.contains(&item.id)) {
                                failed.push((task, one));
                            }
                        }
                        // Done, or still open from an earlier round.
                        Some(_) => {}
                    }
                }
            }
        }
    }
    if runs {
        made.retain(|one| on_board(state, &one.handle(stage)).is_none());
        failed.clear();
    }
    let handles: BTreeMap<String, usize> =
        made.iter().enumerate().map(|(at, one)| (one.handle(stage), at)).collect();
    let tasks = made.iter().map(|one| one.task(state, stage, work, &handles));
    let tasks = tasks.collect::<Result<Vec<NewTask>, String>>()?;
    let again = failed
        .into_iter()
        .map(|(task, one)| Ok(changed(task, one.task(state, stage, work, &handles)?)));
    Ok(Begins { tasks, again: again.collect::<Result<Vec<Again>, String>>()? })
}

/// What of a task that failed is other now: the work may have been cut anew.
fn changed(task: &Task, now: NewTask) -> Again {
    let (before, spec) = (&task.spec, now.spec);
    let gone = before.blocked_by.iter().filter(|on| !spec.blocked_by.contains(on));
    let changes = TaskChanges {
        subject: (before.subject != spec.subject).then_some(spec.subject),
        description: (before.description != spec.description).then_some(spec.description),
        files: (before.files != spec.files).then_some(spec.files),
        remove_blocked_by: gone.cloned().collect(),
        add_blocked_by: {
            let new = spec.blocked_by.into_iter().filter(|on| !before.blocked_by.contains(on));
            new.collect()
        },
        ..TaskChanges::default()
    };
    Again { task: task.id, changes, blocked_by_new: now.blocked_by_new }
}

impl Made<'_> {
    fn is_piece(&self) -> bool {
        self.item.is_some() && is_piece(self.template)
    }

    /// How it is known on the board: unique in the tree of teams.
    fn handle(&self, stage: &Stage) -> String {
        let about = self
            .item
            .map(|item| item.id.as_str())
            .or(self.group)
            .unwrap_or(stage.phase.name.as_str());
        let mut handle = match stage.playbook.department.as_ref() {
            Some(department) => format!("{department}/{about}"),
            None => about.to_owned(),
        };
        if !self.is_piece() {
            handle.push_str(&format!(":{}", self.template.id));
        }
        match stage.course.round {
            round if round > 1 && !self.is_piece() => format!("{handle}.{round}"),
            _ => handle,
        }
    }

    fn values(&self, stage: &Stage, work: &Work) -> Values {
        let group = self.group.and_then(|group| work.groups.get(group)).cloned();
        let mut own = group.unwrap_or_default();
        own.extend(self.item.map(Item::values).unwrap_or_default());
        // A value of the playbook may name one of the piece; what the piece says is as it is.
        let mut values: Values =
            stage.values.iter().map(|(key, value)| (key.clone(), fill(value, &own))).collect();
        values.extend(own);
        values
    }

    fn task(
        &self,
        state: &State,
        stage: &Stage,
        work: &Work,
        handles: &BTreeMap<String, usize>,
    ) -> Result<NewTask, String> {
        let template = self.template;
        let values = self.values(stage, work);
        let lead = || {
            let lead = state.teams.get(&stage.team).and_then(|team| team.lead.clone());
            lead.or_else(|| {
                let (name, role) = stage.playbook.lead()?;
                stage.called(name, role).parse().ok()
            })
        };
        let files = match (&template.files, self.item) {
            (Some(files), _) => files.iter().flat_map(|file| listed(file, &values)).collect(),
            (None, Some(item)) => item.files.clone(),
            (None, None) => Vec::new(),
        };
        let own = self.item.filter(|_| self.is_piece());
        let mut blocked_by = Vec::new();
        let mut blocked_by_new = Vec::new();
        for need in own.into_iter().flat_map(|item| &item.needs) {
            match need.strip_prefix("group:") {
                Some(group) => blocked_by.push(Dependency::Group(group_name(stage, group)?)),
                None => {
                    let handle = match stage.playbook.department.as_ref() {
                        Some(department) => format!("{department}/{need}"),
                        None => need.clone(),
                    };
                    match handles.get(&handle) {
                        Some(at) => blocked_by_new.push(*at),
                        None => blocked_by.extend(on_board(state, &handle).map(Dependency::Task)),
                    }
                }
            }
        }
        for need in &template.needs {
            // Of the same piece where both are about one; else all of that template.
            let others = handles.iter().filter(|(handle, _)| self.waits_for(stage, need, handle));
            blocked_by_new.extend(others.map(|(_, at)| *at));
            let first = began_with(stage, need).filter(|handle| !handles.contains_key(handle));
            let first = first.and_then(|handle| on_board(state, &handle));
            blocked_by.extend(first.map(Dependency::Task));
        }
        let role =
            template.role.clone().or_else(|| own.and_then(|item| item.role.as_ref()?.parse().ok()));
        let is_leads = template.lead || stage.course.alone.is_some();
        let assignee = match stage.playbook.role(role.as_ref()) {
            Some(own) if !own.named.is_empty() && !is_leads => {
                let name = fill(&own.named, &values);
                Some(name.parse().map_err(|e| format!("{e}"))?)
            }
            _ => own.and_then(|item| item.assignee.as_ref()?.parse().ok()),
        };
        // A lead that leads takes up nothing that somebody once began.
        let assignee = assignee.filter(|name| lead().as_ref() != Some(name));
        let spec = TaskSpec {
            subject: line(&fill(&template.subject, &values)),
            description: fill(&template.description, &values),
            active_form: String::new(),
            alias: Some(self.handle(stage).parse().map_err(|e| format!("{e}"))?),
            group: own
                .and_then(|item| item.group.as_ref())
                .map(|g| group_name(stage, g))
                .transpose()?,
            blocked_by,
            files: patterns(&files)?,
            role: if is_leads { None } else { role },
            assignee: if is_leads { lead() } else { assignee },
            priority: own.and_then(|item| item.priority).unwrap_or(PRIORITY_DEFAULT),
            duration_ms: own.and_then(|item| item.duration_ms),
            retries_max: template.retries_max.unwrap_or(RETRIES_DEFAULT),
            metadata: self.item.map(Item::notes).unwrap_or_default(),
            gate: template.gate.clone(),
            no_change: template.no_change,
        };
        Ok(NewTask { spec, blocked_by_new })
    }

    fn waits_for(&self, stage: &Stage, need: &Name, handle: &str) -> bool {
        let template = stage.phase.tasks.iter().find(|template| template.id == *need);
        let Some(template) = template else { return false };
        let same = Made { template, item: self.item, group: self.group };
        match (self.template.each, template.each) {
            (Each::Item, Each::Item) => same.handle(stage) == handle,
            (_, Each::Item) if need.as_str() == TASK => !handle.contains(':'),
            (_, Each::Item | Each::Group) => {
                let (end, later) = (format!(":{need}"), format!(":{need}.{}", stage.course.round));
                handle.ends_with(&end) || handle.ends_with(&later)
            }
            (_, Each::Once) => Made { template, item: None, group: None }.handle(stage) == handle,
        }
    }
}

/// A path; or several, where a value that is all of it names them.
fn listed(file: &str, values: &Values) -> Vec<String> {
    let filled = fill(file, values);
    let is_value = file.starts_with('{') && file.find('}') == Some(file.len() - 1);
    if !is_value {
        return vec![filled];
    }
    let parts = filled.split(", ").map(str::trim).filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

/// The one task of a template that the phase, where it runs, began with.
fn began_with(stage: &Stage, need: &Name) -> Option<String> {
    let once = |own: &&TaskTemplate| own.id == *need && own.each == Each::Once;
    let template = stage.phase.tasks.iter().find(once)?;
    Some(Made { template, item: None, group: None }.handle(stage))
}

fn on_board(state: &State, handle: &str) -> Option<u32> {
    state.by_alias(&handle.parse().ok()?)
}

fn group_name(stage: &Stage, group: &str) -> Result<Name, String> {
    let name = match stage.playbook.department.as_ref() {
        Some(department) => format!("{department}-{group}"),
        None => group.to_owned(),
    };
    name.parse().map_err(|e| format!("{e}"))
}

fn patterns(files: &[String]) -> Result<FileSet, String> {
    let parsed: Result<Vec<Pattern>, _> = files.iter().map(|file| file.parse()).collect();
    parsed.map(FileSet::new).map_err(|e| format!("{e}"))
}

/// A subject is one line, and not a long one.
fn line(text: &str) -> String {
    const CHARS_MAX: usize = 120;
    beginning(text.trim().lines().next().unwrap_or_default(), CHARS_MAX)
}
