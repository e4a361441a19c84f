//! What the records of a run come to: the view while it lasts and the report at its end.
//!
//! Everything is folded from the log, so a run that was detached from, or whose coordinator
//! died, is told the same way as one that was watched from its first record on.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::progress::{Event, EventKind, Row, RunView, TaskCounts};
use super::report::{Commit, GateTally, NotDone, TaskTally, TeammateTally};

/// One run, folded from its records.
#[derive(Debug, Default)]
pub(crate) struct Account {
    pub(crate) began_ms: u64,
    pub(crate) now_ms: u64,
    pub(crate) tasks: BTreeMap<u32, TaskLine>,
    pub(crate) mates: BTreeMap<String, MateLine>,
    pub(crate) gates: GateTally,
    /// A gate was red and a later one green.
    pub(crate) red_then_green: bool,
    pub(crate) deviations: Vec<String>,
    /// Why the team waits, if it does.
    pub(crate) paused: Option<String>,
    /// Questions and plans that wait for an answer.
    pub(crate) waiting: BTreeMap<u64, String>,
    /// A team of more than one: names are shown without it otherwise.
    root: String,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct TaskLine {
    pub(crate) subject: String,
    pub(crate) group: Option<String>,
    pub(crate) status: Status,
    owner: String,
    needs: Vec<u32>,
    needs_groups: Vec<String>,
    planned_ms: Option<u64>,
    claimed_ms: u64,
    took_ms: Option<u64>,
    pub(crate) commit: Option<String>,
    why: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    #[default]
    Pending,
    Claimed,
    Submitted,
    Completed,
    Failed,
    Deleted,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct MateLine {
    pub(crate) running: bool,
    word: &'static str,
    since_ms: u64,
    done: usize,
    busy_ms: u64,
    lives: u32,
}

fn text<'a>(fields: &'a Value, key: &str) -> &'a str {
    fields.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn number(fields: &Value, key: &str) -> u64 {
    fields.get(key).and_then(Value::as_u64).unwrap_or_default()
}

/// `alpha/ana@2` as people say it.
fn who(fields: &Value, key: &str) -> String {
    let name = text(fields, key);
    let name = name.rsplit('/').next().unwrap_or(name);
    name.split('@').next().unwrap_or(name).to_owned()
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

impl Account {
    /// Takes in one record; gives what a person should hear of it.
    pub(crate) fn take(&mut self, record: &Value) -> Option<Event> {
        let at_ms = number(record, "at");
        if self.began_ms == 0 {
            self.began_ms = at_ms;
        }
        self.now_ms = at_ms;
        let (event, fields) = record.get("event")?.as_object()?.iter().next()?;
        let before = self.done();
        let told = match event.split_once('.')?.0 {
            "task" => self.task(event, fields, at_ms),
            "teammate" => self.teammate(event, fields, at_ms),
            _ => self.other(event, fields, number(record, "n")),
        };
        let (kind, text) = told?;
        let done = self.done();
        let tally = (done != before).then_some((done, self.total()));
        Some(Event { at_ms, kind, text, tally })
    }

    fn task(&mut self, event: &str, fields: &Value, at: u64) -> Option<(EventKind, String)> {
        let id = number(fields, "task") as u32;
        if event == "task.created" {
            self.create(id, fields);
            return None;
        }
        let task = self.tasks.get_mut(&id)?;
        let name = format!("task {id} ({})", task.subject);
        let owner = task.owner.clone();
        let step = |text: String| Some((EventKind::Step, text));
        match event {
            "task.claimed" => {
                task.owner = who(fields, "by");
                (task.status, task.claimed_ms) = (Status::Claimed, at);
                let owner = task.owner.clone();
                self.set_mate(&owner, "works", at);
                step(format!("{owner} takes {name}"))
            }
            "task.submitted" => {
                task.status = Status::Submitted;
                let busy = at.saturating_sub(task.claimed_ms);
                self.mates.entry(owner.clone()).or_default().busy_ms += busy;
                self.set_mate(&owner, "idle", at);
                step(format!("{owner} hands in {name}"))
            }
            "task.completed" => {
                task.status = Status::Completed;
                task.took_ms = Some(at.saturating_sub(task.claimed_ms));
                task.commit = fields.get("commit").and_then(Value::as_str).map(str::to_owned);
                self.mates.entry(owner.clone()).or_default().done += 1;
                step(format!("{name} completed ({owner})"))
            }
            "task.returned" => {
                (task.status, task.why) = (Status::Claimed, text(fields, "reason").to_owned());
                let why = first_line(text(fields, "reason")).to_owned();
                Some((EventKind::Health, format!("{name} came back to {owner}: {why}")))
            }
            "task.released" => {
                task.status = Status::Pending;
                task.why = text(fields, "reason").to_owned();
                let why = first_line(text(fields, "reason")).to_owned();
                self.set_mate(&owner, "idle", at);
                Some((EventKind::Health, format!("{name} is free again: {why}")))
            }
            "task.failed" => {
                (task.status, task.why) = (Status::Failed, text(fields, "reason").to_owned());
                let why = first_line(text(fields, "reason")).to_owned();
                let told = format!("{name} failed: {why}");
                self.deviations.push(told.clone());
                Some((EventKind::Health, told))
            }
            "task.retried" => {
                task.status = Status::Pending;
                step(format!("{name} is tried again"))
            }
            "task.deleted" => {
                task.status = Status::Deleted;
                None
            }
            "task.work_set_aside" => {
                let work = text(fields, "work");
                let told = format!("work on {name} was set aside: {work}");
                self.deviations.push(told.clone());
                Some((EventKind::Health, told))
            }
            _ => None,
        }
    }

    fn create(&mut self, id: u32, fields: &Value) {
        let Some(spec) = fields.get("spec") else { return };
        let needs = spec.get("blocked_by").and_then(Value::as_array).cloned().unwrap_or_default();
        let task = |need: &Value| need.get("task").and_then(Value::as_u64).map(|id| id as u32);
        let group = |need: &Value| Some(need.get("group")?.as_str()?.to_owned());
        let line = TaskLine {
            subject: text(spec, "subject").to_owned(),
            group: spec.get("group").and_then(Value::as_str).map(str::to_owned),
            needs: needs.iter().filter_map(task).collect(),
            needs_groups: needs.iter().filter_map(group).collect(),
            planned_ms: spec.get("duration_ms").and_then(Value::as_u64),
            ..TaskLine::default()
        };
        self.tasks.insert(id, line);
    }

    fn set_mate(&mut self, name: &str, word: &'static str, at: u64) {
        let mate = self.mates.entry(name.to_owned()).or_default();
        (mate.word, mate.since_ms) = (word, at);
    }

    fn teammate(&mut self, event: &str, fields: &Value, at: u64) -> Option<(EventKind, String)> {
        let name = who(fields, "who");
        let health = |text: String| Some((EventKind::Health, text));
        match event {
            "teammate.added" => {
                self.set_mate(&name, "waits", at);
                None
            }
            "teammate.started" => {
                let one_shot = text(fields, "supervision") == "one_shot";
                self.set_mate(&name, "idle", at);
                let mate = self.mates.get_mut(&name)?;
                mate.running = true;
                mate.lives += 1;
                let lives = mate.lives;
                match (one_shot, lives) {
                    (true, _) => {
                        let text = format!("{name} runs as a one-shot agent");
                        Some((EventKind::Fallback, text))
                    }
                    (false, 1) => Some((EventKind::Step, format!("{name} starts"))),
                    (false, n) => health(format!("{name} starts again, life {n}")),
                }
            }
            "teammate.disappeared" => {
                self.set_mate(&name, "gone", at);
                self.mates.get_mut(&name)?.running = false;
                let told = format!("{name} disappeared: {}", first_line(text(fields, "reason")));
                self.deviations.push(told.clone());
                health(told)
            }
            "teammate.stopped" => {
                self.set_mate(&name, "stopped", at);
                self.mates.get_mut(&name)?.running = false;
                if fields.get("outcome").and_then(Value::as_str) == Some("clean") {
                    return None;
                }
                let how = fields.get("outcome").map(Value::to_string).unwrap_or_default();
                let told = format!("{name} did not stop cleanly: {how}");
                self.deviations.push(told.clone());
                health(told)
            }
            "teammate.stalled" => match number(fields, "step") {
                0 => health(format!("{name} moves again")),
                n => health(format!("{name} makes no progress ({n}. time)")),
            },
            _ => None,
        }
    }

    fn other(&mut self, event: &str, fields: &Value, n: u64) -> Option<(EventKind, String)> {
        match event {
            "team.created" => {
                if self.root.is_empty() {
                    self.root = text(fields, "team").to_owned();
                }
                None
            }
            "team.paused" => {
                let reason = text(fields, "reason").to_owned();
                self.paused = Some(reason.clone());
                Some((EventKind::Health, format!("the team waits: {reason}")))
            }
            "team.continued" => {
                self.paused = None;
                Some((EventKind::Step, "the team goes on".to_owned()))
            }
            "gate.ran" => self.gate(fields),
            "breaker.opened" => {
                let told = "teammates disappeared one after the other; each task gets a one-shot \
                            agent until one answers again";
                self.deviations.push(format!("[FALLBACK] {told}"));
                Some((EventKind::Fallback, told.to_owned()))
            }
            "breaker.closed" => {
                Some((EventKind::Health, "teammates can be started again".to_owned()))
            }
            "question.asked" => {
                let told = format!("question {n}: {}", text(fields, "text"));
                self.waiting.insert(n, format!("{told} (shipmate answer {n} …)"));
                Some((EventKind::Health, told))
            }
            "plan.submitted" => {
                self.waiting.insert(n, format!("plan {n} (shipmate plan approve {n})"));
                None
            }
            "question.answered" => self.waiting.remove(&number(fields, "question")).and(None),
            "plan.approved" | "plan.rejected" => {
                self.waiting.remove(&number(fields, "plan")).and(None)
            }
            "hook.noted" => {
                let told = format!("hook {}: {}", text(fields, "hook"), text(fields, "note"));
                self.deviations.push(told.clone());
                Some((EventKind::Health, told))
            }
            "shutdown.timed_out" => {
                self.deviations.push("a teammate did not answer its shutdown in time".to_owned());
                None
            }
            _ => None,
        }
    }

    fn gate(&mut self, fields: &Value) -> Option<(EventKind, String)> {
        let ids = fields.get("tasks").and_then(Value::as_array).cloned().unwrap_or_default();
        let ids: Vec<String> = ids.iter().map(Value::to_string).collect();
        self.gates.runs += 1;
        if fields.get("passed").and_then(Value::as_bool) == Some(true) {
            self.gates.green += 1;
            self.red_then_green |= self.gates.red > 0;
            return None;
        }
        self.gates.red += 1;
        let of =
            if ids.is_empty() { "the base".to_owned() } else { format!("task {}", ids.join(", ")) };
        Some((EventKind::Health, format!("the gate is red on {of}")))
    }

    pub(crate) fn total(&self) -> usize {
        self.tasks.values().filter(|task| task.status != Status::Deleted).count()
    }

    pub(crate) fn done(&self) -> usize {
        self.tasks.values().filter(|task| task.status == Status::Completed).count()
    }

    fn is_unblocked(&self, task: &TaskLine) -> bool {
        let done = |id: &u32| self.tasks.get(id).is_some_and(|t| t.status == Status::Completed);
        let group_done = |group: &String| {
            let mut members = self.tasks.values().filter(|task| task.group.as_ref() == Some(group));
            members.all(|task| matches!(task.status, Status::Completed | Status::Deleted))
        };
        task.needs.iter().all(done) && task.needs_groups.iter().all(group_done)
    }

    pub(crate) fn counts(&self) -> TaskCounts {
        let mut counts = TaskCounts { total: self.total(), ..TaskCounts::default() };
        for task in self.tasks.values() {
            match task.status {
                Status::Completed => counts.done += 1,
                Status::Claimed => counts.in_progress += 1,
                Status::Submitted => counts.submitted += 1,
                Status::Failed => counts.failed += 1,
                Status::Deleted => {}
                Status::Pending if self.is_unblocked(task) => counts.available += 1,
                Status::Pending => counts.blocked += 1,
            }
        }
        counts
    }

    /// Every task is completed and nobody runs any more.
    pub(crate) fn is_over(&self) -> bool {
        let counts = self.counts();
        counts.total > 0
            && counts.done == counts.total
            && !self.mates.values().any(|mate| mate.running)
    }

    /// Nothing is being done and nothing can be, unless somebody decides something.
    pub(crate) fn is_stuck(&self) -> bool {
        let counts = self.counts();
        let nothing_on = counts.in_progress == 0 && counts.submitted == 0;
        let nobody = !self.mates.values().any(|mate| mate.running);
        nothing_on
            && counts.done < counts.total
            && (counts.available == 0 || nobody || self.paused.is_some())
    }

    pub(crate) fn view(&self, title: &str, team: &str, now_ms: u64, events: Vec<Event>) -> RunView {
        let of = |name: &String| {
            let held = self
                .tasks
                .iter()
                .find(|(_, task)| task.status == Status::Claimed && task.owner == *name);
            held.map(|(id, task)| (*id, task.subject.clone()))
        };
        let rows = self.mates.iter().map(|(name, mate)| Row {
            name: name.clone(),
            state_word: mate.word.to_owned(),
            task: of(name),
            since: Duration::from_millis(now_ms.saturating_sub(mate.since_ms)),
            last_words: String::new(),
            tasks_done: mate.done,
        });
        let mut waiting: Vec<String> = self.paused.iter().cloned().collect();
        waiting.extend(self.waiting.values().cloned());
        RunView {
            title: title.to_owned(),
            team: team.to_owned(),
            tasks: self.counts(),
            teammates: rows.collect(),
            critical_path: self.path(|task| task.status == Status::Completed),
            gate: None,
            waiting,
            events,
        }
    }

    /// The longest path in milliseconds: the part of it that `counted`, and all of it. A
    /// task counts as long as it took; while it is not done, as planned or as the others did.
    pub(crate) fn path(&self, counted: impl Fn(&TaskLine) -> bool) -> (u64, u64) {
        let took: Vec<u64> = self.tasks.values().filter_map(|task| task.took_ms).collect();
        let unknown_ms = took.iter().sum::<u64>() / (took.len() as u64).max(1);
        let mut longest: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        // Ids come after what they need wherever a plan was created in order; where not, a
        // second pass settles it, and deeper knots are shown a little short.
        for _ in 0..2 {
            for (id, task) in &self.tasks {
                let own = task.took_ms.or(task.planned_ms).unwrap_or(unknown_ms);
                let done = if counted(task) { own } else { 0 };
                let before = task.needs.iter().filter_map(|need| longest.get(need));
                let (all, part) = before.copied().max().unwrap_or_default();
                longest.insert(*id, (all + own, part + done));
            }
        }
        let (all, part) = longest.values().copied().max().unwrap_or_default();
        (part, all)
    }

    /// What no team of this size could have beaten, from how long tasks really took.
    pub(crate) fn bound_ms(&self) -> u64 {
        let work: u64 = self.tasks.values().filter_map(|task| task.took_ms).sum();
        let hands = self.mates.values().filter(|mate| mate.lives > 0).count().max(1) as u64;
        self.path(|_| true).1.max(work / hands)
    }

    pub(crate) fn tally(&self) -> TaskTally {
        let open = self.tasks.iter().filter_map(|(id, task)| {
            let (status, why) = match task.status {
                Status::Completed | Status::Deleted => return None,
                Status::Failed => ("failed", first_line(&task.why).to_owned()),
                Status::Claimed | Status::Submitted => {
                    ("in_progress", format!("with {}", task.owner))
                }
                Status::Pending if self.is_unblocked(task) => {
                    ("pending", "nobody took it".to_owned())
                }
                Status::Pending => ("pending", self.blocked_by(task)),
            };
            let (subject, status) = (task.subject.clone(), status.to_owned());
            Some(NotDone { id: *id, subject, status, why })
        });
        TaskTally { total: self.total(), completed: self.done(), not_done: open.collect() }
    }

    fn blocked_by(&self, task: &TaskLine) -> String {
        let open = |id: &&u32| self.tasks.get(id).is_none_or(|t| t.status != Status::Completed);
        let mut on: Vec<String> = task.needs.iter().filter(open).map(ToString::to_string).collect();
        on.extend(task.needs_groups.iter().map(|group| format!("group {group}")));
        format!("waits for {}", on.join(", "))
    }

    pub(crate) fn commits(&self) -> Vec<Commit> {
        let landed = self
            .tasks
            .iter()
            .filter_map(|(id, task)| Some(Commit { task: *id, hash: task.commit.clone()? }));
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
