//! Tasks in the account of the log.

use shipmate_model::TaskId;
use shipmate_model::event::{Event, Record, ReleaseCause, RoleChange, Seat, TaskChanges};

use super::{Hold, Model, StageFacts, StatusFacts, TaskFacts};
use crate::simulation::vocabulary;

impl Model {
    pub(super) fn apply_to_board(&mut self, record: &Record) {
        match &record.event {
            Event::TaskCreated { task, team, spec } => {
                if let Some(group) = &spec.group {
                    self.groups.entry(group.clone()).or_default().insert(*task);
                }
                self.tasks.push(TaskFacts {
                    id: *task,
                    team: team.clone(),
                    created_by: record.by.clone(),
                    alias: spec.alias.clone(),
                    group: spec.group.clone(),
                    blocked_by: spec.blocked_by.iter().cloned().collect(),
                    paths: vocabulary::paths(&spec.files),
                    patterns: vocabulary::patterns(&spec.files),
                    granted: 0,
                    asks: None,
                    role: spec.role.clone(),
                    assignee: spec.assignee.clone(),
                    priority: spec.priority,
                    retries: 0,
                    unchanged: false,
                    retries_max: spec.retries_max,
                    status: StatusFacts::Pending,
                    completions: 0,
                    set_aside: 0,
                    told: Default::default(),
                    last_token: 0,
                });
            }
            Event::TaskUpdated { task, changes } => self.update(*task, changes),
            Event::TaskClaimed { task, by, lease_ms } => {
                let hold = Hold {
                    by: by.clone(),
                    token: record.n,
                    lease_ms: *lease_ms,
                    renewal: 0,
                    since: record.n,
                    stage: StageFacts::Claimed,
                };
                let mate = self.mate_mut(&by.address);
                (mate.claims, mate.stalls) = (mate.claims + 1, 0);
                // A plan is for one task: the first that is claimed with it, where it names none.
                let is_planned = *mate.planned.get_or_insert(*task) == *task;
                mate.plan_approved &= is_planned || mate.seat == Seat::Lead;
                let facts = self.task_mut(*task);
                facts.status = StatusFacts::Held(hold);
                facts.last_token = record.n;
                // What an earlier attempt asked is of no use to this one.
                if let Some(asked) = facts.asks.take()
                    && let Some(question) = self.questions.get_mut(&asked)
                {
                    question.open = false;
                }
            }
            Event::TaskRenewed { task, renewal, .. } => {
                let hold = self.hold_mut(*task);
                hold.renewal = *renewal;
                hold.since = record.n;
            }
            Event::TaskSubmitted { task, commit, .. } => {
                self.task_mut(*task).told.extend(commit.clone());
                self.hold_mut(*task).stage = StageFacts::Submitted;
            }
            Event::TaskReturned { task, unchanged, .. } => {
                // The lease begins again with the word to the holder.
                let hold = self.hold_mut(*task);
                hold.stage = StageFacts::Returned;
                hold.renewal += 1;
                hold.since = record.n;
                let facts = self.task_mut(*task);
                facts.retries += 1;
                facts.unchanged |= *unchanged;
            }
            Event::TaskCompleted { task, .. } => {
                let facts = self.task_mut(*task);
                facts.status = StatusFacts::Completed;
                facts.completions += 1;
            }
            Event::TaskReleased { task, cause, .. } => {
                let blamed = super::is_blamed(*cause);
                let facts = self.task_mut(*task);
                facts.status = StatusFacts::Pending;
                facts.retries += u32::from(blamed);
                facts.unchanged |= *cause == ReleaseCause::Unchanged;
            }
            Event::TaskFailed { task, .. } => self.task_mut(*task).status = StatusFacts::Failed,
            Event::TaskReverted { task, .. } => {
                // Whoever does it again completes it for the first time.
                let facts = self.task_mut(*task);
                (facts.status, facts.completions) = (StatusFacts::Failed, 0);
            }
            Event::TaskRetried { task } => {
                let facts = self.task_mut(*task);
                facts.status = StatusFacts::Pending;
                (facts.retries, facts.unchanged) = (0, false);
            }
            Event::TaskAssigned { task, to } => self.task_mut(*task).assignee = to.clone(),
            Event::TaskDeleted { task } => self.task_mut(*task).status = StatusFacts::Deleted,
            Event::TaskWorkSetAside { task, commit, .. } => {
                let facts = self.task_mut(*task);
                facts.set_aside += 1;
                facts.told.extend(commit.clone());
            }
            Event::TaskScopeGranted { task, files } => {
                self.task_mut(*task).granted |= vocabulary::paths(files);
            }
            _ => {}
        }
    }

    fn update(&mut self, task: TaskId, changes: &TaskChanges) {
        let facts = self.task_mut(task);
        for on in &changes.remove_blocked_by {
            facts.blocked_by.remove(on);
        }
        facts.blocked_by.extend(changes.add_blocked_by.iter().cloned());
        facts.priority = changes.priority.unwrap_or(facts.priority);
        if let Some(files) = &changes.files {
            facts.paths = vocabulary::paths(files);
            facts.patterns = vocabulary::patterns(files);
        }
        match &changes.role {
            Some(RoleChange::Any) => facts.role = None,
            Some(RoleChange::Only(role)) => facts.role = Some(role.clone()),
            None => {}
        }
    }

    fn hold_mut(&mut self, task: TaskId) -> &mut Hold {
        match &mut self.task_mut(task).status {
            StatusFacts::Held(hold) => hold,
            _ => unreachable!("checked before: the task is held"),
        }
    }
}
