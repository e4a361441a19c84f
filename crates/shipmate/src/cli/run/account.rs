//! What the records of a run come to: the view while it lasts and the report at its end.
//!
//! Everything is folded from the log, so a run that was detached from, or whose coordinator
//! died, is told the same way as one that was watched from its first record on.

mod mates;
mod rest;
mod sums;
mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use shipmate_protocol::view::PauseView;

use super::led::Led;
use super::phases::Phases;
use super::progress::{Event, EventKind, Row, RunView, Waiting};
use super::report::{GateTally, Spent};
use super::tasks::{Status, TaskLine, Tasks};

/// Why a life is given up whose supervisor says nothing, in records that have no word for it yet.
const SILENT: &str = "its supervisor did not answer in time";
/// How long it has where the team's record does not say.
const ANSWER_MS: u64 = 60_000;
/// Why one-shot agents take over.
const BROKEN: &str = "teammates disappeared one after the other";

/// Lines of a gate's output that the report shows.
const GATE_LINES: usize = 8;

/// One run, folded from its records.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// Of the last record that was taken in.
    pub(crate) position: u64,
    pub(crate) began_ms: u64,
    pub(crate) now_ms: u64,
    pub(crate) tasks: Tasks,
    pub(crate) mates: BTreeMap<String, MateLine>,
    pub(crate) gates: GateTally,
    pub(crate) disappeared: usize,
    pub(crate) deviations: Vec<Deviation>,
    /// Work is merged, so that a completion without a commit means that nothing changed.
    has_trees: bool,
    /// The gate is tried where the team begins, and nobody is started before that.
    tries_gate: bool,
    /// Why the team waits, if it does.
    pub(crate) paused: Option<Pause>,
    /// Questions and plans that wait for an answer.
    pub(crate) waiting: BTreeMap<u64, Waiting>,
    /// Of a run that began with a goal.
    pub(crate) led: Led,
    /// Of a run by a playbook.
    pub(crate) phases: Phases,
    /// Somebody has deleted the team.
    pub(crate) is_gone: bool,
    answer_ms: u64,
    /// Teams in which one-shot agents have taken over.
    open_breakers: BTreeSet<String>,
    /// Requests to stop, with who was asked and the seconds it has.
    asked: BTreeMap<u64, (String, u64)>,
    /// What agents have used.
    pub(crate) spent: Spent,
    /// The last lines of a gate that is red where the team began.
    pub(crate) gate_output: String,
    /// This command is ending the team: that nobody begins any more is its own doing.
    pub(crate) is_stopping: bool,
    /// Whether nobody who is there can take what is on the board, as far as that was asked since the
    /// last record.
    pub(crate) nobody_takes: Option<bool>,
}

/// Something that went otherwise than planned.
#[derive(Debug, Clone)]
pub(crate) struct Deviation {
    pub(crate) text: String,
    /// The task it is about; none if it is about teammates or the team.
    pub(crate) task: Option<u32>,
}

#[derive(Debug, Clone)]
pub(crate) struct Pause {
    pub(crate) reason: String,
    pub(crate) by: PausedBy,
    /// The record that says so.
    n: u64,
    team: String,
    /// The runtime asks a person to let something begin.
    is_question: bool,
    /// The teammate whose words the reason is.
    who: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PausedBy {
    /// Somebody, who may let it go on.
    Somebody,
    /// The runtime itself: it found that it cannot go on.
    Runtime,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct MateLine {
    pub(crate) running: bool,
    word: &'static str,
    since_ms: u64,
    done: usize,
    busy_ms: u64,
    lives: u32,
    /// It has no budget, and takes nothing until it has one.
    spent: bool,
    /// Somebody paused it, and it takes nothing until it may go on.
    paused: bool,
    /// Somebody's own session, which ends when they like.
    by_hand: bool,
    /// Tasks that it works on.
    held: BTreeSet<u32>,
}

pub(super) fn text<'a>(fields: &'a Value, key: &str) -> &'a str {
    fields.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn number(fields: &Value, key: &str) -> u64 {
    fields.get(key).and_then(Value::as_u64).unwrap_or_default()
}

/// `alpha/ana@2` as people say it: a member of the run's own team by its name alone, one of a team
/// below with that team, because names repeat there.
fn who(root: Option<&str>, fields: &Value, key: &str) -> String {
    name_of(root, text(fields, key))
}

pub(super) fn name_of(root: Option<&str>, life: &str) -> String {
    let name = life.split('@').next().unwrap_or(life);
    match name.split_once('/') {
        Some((team, bare)) if root.is_none_or(|root| root == team) => bare.to_owned(),
        _ => name.to_owned(),
    }
}

/// What a pause is, by its record.
fn pause(record: &Value, fields: &Value) -> Option<PauseView> {
    let (n, at, by) = (number(record, "n"), number(record, "at"), text(record, "by"));
    Some(PauseView::of_record(n, at, by, fields.as_object()?))
}

pub(super) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

impl Account {
    /// Takes in one record; gives what a person should hear of it.
    pub(crate) fn take(&mut self, record: &Value) -> Option<Event> {
        self.position = number(record, "n").max(self.position);
        let at_ms = number(record, "at");
        if self.began_ms == 0 {
            self.began_ms = at_ms;
        }
        self.now_ms = at_ms;
        self.nobody_takes = None;
        let (event, fields) = record.get("event")?.as_object()?.iter().next()?;
        let before = self.done();
        let told = match event.split_once('.')?.0 {
            "task" => self.task(event, fields, at_ms),
            "teammate" => self.teammate(event, fields, record),
            "team" => self.team(event, fields, record),
            "phase" => self.phase(event, fields),
            "message" if event == "message.sent" => self.message(fields, text(record, "by")),
            _ => self.other(event, fields, number(record, "n")),
        };
        let (kind, text) = told?;
        let done = self.done();
        let tally = (done != before).then_some((done, self.tasks.counts().total));
        Some(Event { at_ms, kind, text, tally })
    }

    /// Where the work of a team of this name is.
    pub(crate) fn branch(&self, team: &str) -> Option<String> {
        self.has_trees.then(|| format!("shipmate/{team}"))
    }

    pub(crate) fn deviates(&mut self, task: Option<u32>, text: &str) {
        self.deviations.push(Deviation { text: text.to_owned(), task });
    }

    fn task(&mut self, event: &str, fields: &Value, at: u64) -> Option<(EventKind, String)> {
        let id = number(fields, "task") as u32;
        if event == "task.created" {
            self.create(id, fields);
            return None;
        }
        let root = self.phases.root().map(str::to_owned);
        let task = self.tasks.get_mut(id)?;
        let name = format!("task {id} ({})", task.subject);
        let owner = task.owner.clone();
        let reason = text(fields, "reason");
        let why = first_line(reason);
        let step = |text: String| Some((EventKind::Step, text));
        let health = |text: String| Some((EventKind::Health, text));
        match event {
            "task.claimed" => {
                let owner = who(root.as_deref(), fields, "by");
                (task.owner, task.claimed_ms) = (owner.clone(), at);
                task.why.clear();
                self.set_task(id, Status::Claimed);
                self.set_mate(&owner, "works", at);
                step(format!("{owner} takes {name}"))
            }
            "task.submitted" => {
                let busy = at.saturating_sub(task.claimed_ms);
                self.set_task(id, Status::Submitted);
                self.mates.entry(owner.clone()).or_default().busy_ms += busy;
                self.set_mate(&owner, "idle", at);
                step(format!("{owner} hands in {name}"))
            }
            "task.completed" => {
                task.took_ms = Some(at.saturating_sub(task.claimed_ms));
                task.commit = fields.get("commit").and_then(Value::as_str).map(str::to_owned);
                let nothing = self.has_trees && task.commit.is_none();
                self.set_task(id, Status::Completed);
                self.mates.entry(owner.clone()).or_default().done += 1;
                if nothing {
                    self.deviates(Some(id), &format!("{name} changed nothing"));
                    return step(format!("{name} completed ({owner}), without any change"));
                }
                step(format!("{name} completed ({owner})"))
            }
            "task.returned" => {
                task.why = reason.to_owned();
                self.set_task(id, Status::Claimed);
                health(format!("{name} came back to {owner}: {why}"))
            }
            "task.released" => {
                task.why = reason.to_owned();
                self.set_task(id, Status::Pending);
                self.set_mate(&owner, "idle", at);
                health(format!("{name} is free again: {why}"))
            }
            "task.failed" => {
                task.why = reason.to_owned();
                self.set_task(id, Status::Failed);
                let told = format!("{name} failed: {why}");
                self.deviates(Some(id), &told);
                health(told)
            }
            "task.reverted" => {
                task.why = reason.to_owned();
                self.set_task(id, Status::Failed);
                let told = format!("{name} was taken back: {why}");
                self.deviates(Some(id), &told);
                health(told)
            }
            "task.retried" => {
                self.set_task(id, Status::Pending);
                step(format!("{name} is tried again"))
            }
            "task.deleted" => {
                self.set_task(id, Status::Deleted);
                None
            }
            "task.scope_left_out" => {
                let files = fields.get("files").and_then(Value::as_array).into_iter().flatten();
                let files: Vec<&str> = files.filter_map(Value::as_str).collect();
                let told = format!("{name} is merged without {}", files.join(", "));
                self.deviates(Some(id), &told);
                health(told)
            }
            "task.work_set_aside" => {
                let told = format!("work on {name} was set aside: {}", text(fields, "work"));
                self.deviates(Some(id), &told);
                health(told)
            }
            _ => None,
        }
    }

    fn set_task(&mut self, id: u32, status: Status) {
        self.tasks.set_status(id, status);
        let Some(mate) = self.tasks.get(id).and_then(|task| self.mates.get_mut(&task.owner)) else {
            return;
        };
        match status {
            Status::Claimed => mate.held.insert(id),
            _ => mate.held.remove(&id),
        };
    }

    fn create(&mut self, id: u32, fields: &Value) {
        let Some(spec) = fields.get("spec") else { return };
        let needs = spec.get("blocked_by").and_then(Value::as_array).cloned().unwrap_or_default();
        let task = |need: &Value| need.get("task").and_then(Value::as_u64).map(|id| id as u32);
        let group = |need: &Value| Some(need.get("group")?.as_str()?.to_owned());
        let mut line = TaskLine::default();
        line.subject = text(spec, "subject").to_owned();
        line.group = spec.get("group").and_then(Value::as_str).map(str::to_owned);
        line.needs = needs.iter().filter_map(task).collect();
        line.needs_groups = needs.iter().filter_map(group).collect();
        line.planned_ms = spec.get("duration_ms").and_then(Value::as_u64);
        self.tasks.create(id, line);
    }

    fn team(&mut self, event: &str, fields: &Value, record: &Value) -> Option<(EventKind, String)> {
        match event {
            "team.created" => {
                self.has_trees |= fields.pointer("/setup/trees").is_some();
                let gate = fields.pointer("/setup/gate").and_then(Value::as_array);
                let red = fields.pointer("/setup/red_base").and_then(Value::as_bool) == Some(true);
                self.tries_gate |=
                    self.has_trees && gate.is_some_and(|gate| !gate.is_empty()) && !red;
                let answer_ms = fields.pointer("/setup/answer_ms").and_then(Value::as_u64);
                self.answer_ms = answer_ms.unwrap_or(ANSWER_MS);
                self.phases.created(fields);
                None
            }
            "team.paused" => {
                let pause = pause(record, fields)?;
                if self.is_stopping && pause.by == "person" {
                    return None;
                }
                let team = text(fields, "team").to_owned();
                // Those below are paused with it, for the same reason.
                let same =
                    |other: &Pause| other.team != team && other.reason == text(fields, "reason");
                if self.paused.as_ref().is_some_and(same) {
                    return None;
                }
                let who = pause.teammate(self.phases.root().unwrap_or(&team)).map(str::to_owned);
                let reason = text(fields, "reason").to_owned();
                // Somebody has to see all of it to say yes.
                let is_question = pause.is_approval();
                let shown = if is_question { reason.as_str() } else { first_line(&reason) };
                let told = match &who {
                    Some(who) => format!("{who} has paused the team: {shown}"),
                    None => format!("the team waits: {shown}"),
                };
                let by = match pause.by == "runtime" && !is_question {
                    true => PausedBy::Runtime,
                    false => PausedBy::Somebody,
                };
                if by == PausedBy::Runtime {
                    self.deviates(None, first_line(&told));
                }
                let n = pause.id;
                self.paused = Some(Pause { reason, by, n, team, is_question, who });
                Some((EventKind::Health, told))
            }
            "team.continued" => {
                // Those below go on with it, without a word of their own.
                self.paused.take()?;
                Some((EventKind::Step, "the team goes on".to_owned()))
            }
            "team.deleted" => {
                let team = text(fields, "team");
                self.is_gone |= self.phases.root().is_none_or(|root| root == team);
                self.is_gone.then(|| (EventKind::Step, "the team was deleted".to_owned()))
            }
            _ => None,
        }
    }

    fn phase(&mut self, event: &str, fields: &Value) -> Option<(EventKind, String)> {
        let (kind, told) = self.phases.take(event, fields)?;
        // To wait for what others make is the course of a playbook; the report tells what is left.
        if kind != EventKind::Step && event != "phase.waits" {
            self.deviates(None, first_line(&told));
        }
        Some((kind, told))
    }

    fn message(&mut self, fields: &Value, by: &str) -> Option<(EventKind, String)> {
        // Whoever leads by a playbook is not always told that the work is done.
        if self.phases.over().is_some() {
            self.led.is_done = true;
        }
        let root = self.phases.root();
        let to = fields["to"].as_array().into_iter().flatten();
        let member = |to: &Value| to["member"].as_str().map(|member| name_of(root, member));
        let members: Vec<String> = to.filter_map(member).collect();
        self.led.message(fields, &name_of(root, by), &members)
    }

    fn other(&mut self, event: &str, fields: &Value, n: u64) -> Option<(EventKind, String)> {
        match event {
            "gate.ran" => {
                self.tries_gate = false;
                self.gate(fields)
            }
            "breaker.opened" => {
                let team = text(fields, "team");
                self.open_breakers.insert(team.to_owned());
                let told = format!("{BROKEN}: switching from teammate to task for {team}");
                self.deviates(None, &format!("[FALLBACK] {told}"));
                Some((EventKind::Fallback, told))
            }
            "breaker.closed" => {
                self.open_breakers.remove(text(fields, "team"));
                Some((EventKind::Health, "teammates can be started again".to_owned()))
            }
            "question.asked" => {
                let (mut waits, told) = waits::question(n, fields);
                waits.who = who(self.phases.root(), fields, "who");
                self.waiting.insert(n, waits);
                Some((EventKind::Health, told))
            }
            "plan.submitted" => {
                let who = who(self.phases.root(), fields, "who");
                // A lead has one plan: the last. It is shown as a whole.
                let (is_leads, before) = self.led.submitted(n, &who, fields);
                before.map(|before| self.waiting.remove(&before));
                let told = waits::plan_told(n, &who, fields);
                self.waiting.insert(n, Waiting { who, ..waits::plan(n) });
                (!is_leads).then_some((EventKind::Health, told))
            }
            "question.answered" => self.waiting.remove(&number(fields, "question")).and(None),
            "question.withdrawn" => {
                let question = number(fields, "question");
                self.waiting.remove(&question)?;
                let why = first_line(text(fields, "reason"));
                Some((EventKind::Step, format!("question {question} needs no answer: {why}")))
            }
            "plan.withdrawn" => {
                let plan = number(fields, "plan");
                self.led.others.remove(&plan);
                self.waiting.remove(&plan)?;
                let why = first_line(text(fields, "reason"));
                Some((EventKind::Step, format!("plan {plan} needs no answer: {why}")))
            }
            "usage.recorded" => {
                self.spent.add(fields.get("usage").unwrap_or(&Value::Null));
                None
            }
            "plan.approved" | "plan.rejected" => {
                let plan = number(fields, "plan");
                self.waiting.remove(&plan);
                let approved = event == "plan.approved";
                let lead = self.led.decided(plan, approved)?;
                self.set_mate(&lead, if approved { "leads" } else { "plans" }, self.now_ms);
                let why = first_line(text(fields, "feedback"));
                Some((
                    EventKind::Step,
                    match approved {
                        true => format!("plan {plan} is approved"),
                        false => format!("plan {plan} is rejected: {why}; {lead} revises it"),
                    },
                ))
            }
            "hook.noted" => {
                let told = format!("hook {}: {}", text(fields, "hook"), text(fields, "note"));
                self.deviates(None, &told);
                Some((EventKind::Health, told))
            }
            "shutdown.requested" => {
                let name = who(self.phases.root(), fields, "who");
                self.asked.insert(n, (name, number(fields, "deadline_ms") / 1000));
                None
            }
            "shutdown.answered" => self.asked.remove(&number(fields, "shutdown")).and(None),
            "shutdown.timed_out" => {
                let (name, seconds) = self.asked.remove(&number(fields, "shutdown"))?;
                let told = format!("[SHUTDOWN] Timeout: {name} did not respond within {seconds}s.");
                self.deviates(None, &told);
                Some((EventKind::Health, told))
            }
            _ => None,
        }
    }

    fn gate(&mut self, fields: &Value) -> Option<(EventKind, String)> {
        let passed = fields.get("passed").and_then(Value::as_bool) == Some(true);
        let ids = fields.get("tasks").and_then(Value::as_array).into_iter().flatten();
        let ids: Vec<u32> = ids.filter_map(Value::as_u64).map(|id| id as u32).collect();
        for id in &ids {
            if let Some(task) = self.tasks.get_mut(*id) {
                task.gated = task.gated.then(passed);
            }
        }
        self.gates.runs += 1;
        if passed {
            self.gate_output.clear();
            self.gates.green += 1;
            return None;
        }
        self.gates.red += 1;
        if ids.is_empty() {
            let lines: Vec<&str> = text(fields, "output").lines().collect();
            self.gate_output = lines[lines.len().saturating_sub(GATE_LINES)..].join("\n");
        }
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let of =
            if ids.is_empty() { "the base".to_owned() } else { format!("task {}", ids.join(", ")) };
        Some((EventKind::Health, format!("the gate is red on {of}")))
    }

    pub(crate) fn done(&self) -> usize {
        self.tasks.counts().done
    }

    pub(crate) fn view(&self, title: &str, team: &str, now_ms: u64, events: Vec<Event>) -> RunView {
        let mut held: BTreeMap<&str, (u32, String)> = BTreeMap::new();
        for (id, task) in self.tasks.iter().filter(|(_, task)| task.status() == Status::Claimed) {
            held.entry(&task.owner).or_insert_with(|| (id, task.subject.clone()));
        }
        let rows = self.mates.iter().map(|(name, mate)| Row {
            name: name.clone(),
            state_word: mate.word.to_owned(),
            task: held.get(name.as_str()).cloned(),
            since: Duration::from_millis(now_ms.saturating_sub(mate.since_ms)),
            last_words: String::new(),
            tasks_done: mate.done,
        });
        RunView {
            title: title.to_owned(),
            team: team.to_owned(),
            here: String::new(),
            phase: self.phases.now(),
            phases: Vec::new(),
            tasks: self.tasks.counts(),
            teammates: rows.collect(),
            critical_path: self.tasks.path(|task| task.status() == Status::Completed),
            gate: None,
            stopping: self.is_stopping.then(|| self.left_to_stop()),
            waiting: if self.is_stopping { Vec::new() } else { self.decisions() },
            link: None,
            events,
        }
    }
}

#[cfg(test)]
mod tests;
