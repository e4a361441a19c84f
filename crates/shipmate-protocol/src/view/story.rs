//! What the records of a log come to for a screen: messages, claims, lives, costs, gates.
//!
//! A fold: taking the same records in any portions gives the same story. Records are read as data
//! without a fixed shape, so an event of a newer release is a line of the log and nothing more.
//! What would grow without end is bounded; the log itself keeps everything.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::Deserialize;
use serde_json::Value;

use super::words::{self, Fields};
use super::{
    CostRow, Decided, DecidedRow, Delivery, GateMark, GateRow, LifeRow, LogLine, MessageRow, Span,
    SpanPart,
};

/// Messages that are kept; older ones are in the log.
const MESSAGES_MAX: usize = 20_000;
const LINES_MAX: usize = 1_000;
/// A longer body is cut; `shipmate message trace` has all of it.
const BODY_CHARS_MAX: usize = 4_000;
/// Points of the time axis; beyond that every second one is dropped.
const MOMENTS_MAX: usize = 2_000;

type Cost = (String, String, Option<u32>);

/// A record as far as the story needs it.
#[derive(Debug, Deserialize)]
struct Record {
    n: u64,
    at: u64,
    by: String,
    event: Fields,
}

#[derive(Debug, Default)]
pub struct Story {
    root: String,
    /// The last record that was taken.
    pub position: u64,
    messages: BTreeMap<u64, MessageRow>,
    spans: BTreeMap<u64, Span>,
    /// The task that each plan and question is about.
    asked: BTreeMap<u64, u32>,
    /// The claim that each task is under.
    claimed: BTreeMap<u32, u64>,
    lives: BTreeMap<(String, u32), LifeRow>,
    /// What is behind each teammate, and whether it leads.
    models: BTreeMap<String, (String, bool)>,
    costs: BTreeMap<Cost, CostRow>,
    gates: BTreeMap<u64, GateRow>,
    gates_of: BTreeMap<u32, Vec<u64>>,
    steps: BTreeMap<u32, Vec<LogLine>>,
    lines: VecDeque<LogLine>,
    decided: Decided,
    moments: Vec<(u64, u64)>,
    /// One of so many records is a moment.
    stride: u64,
}

/// What records have changed, by key.
#[derive(Debug, Default)]
pub struct Touched {
    pub tasks: BTreeSet<u32>,
    pub messages: BTreeSet<u64>,
    pub spans: BTreeSet<u64>,
    pub lives: BTreeSet<(String, u32)>,
    pub costs: BTreeSet<Cost>,
    pub lines: Vec<LogLine>,
    pub decided: Vec<DecidedRow>,
}

impl Story {
    pub fn new(root: &str) -> Story {
        Story { root: root.to_owned(), stride: 1, ..Story::default() }
    }

    /// Takes in one record; one that was taken before, or that is none, changes nothing.
    pub fn take(&mut self, record: &str, touched: &mut Touched) {
        let Ok(record) = serde_json::from_str::<Record>(record) else { return };
        if record.n <= self.position {
            return;
        }
        self.position = record.n;
        self.moment(record.n, record.at);
        let (event, text) = words::describe(&record.event, &self.root);
        let by = record.by.clone();
        let line = LogLine { n: record.n, at: record.at, by, event, text };
        let none = Fields::new();
        let fields = record.event.values().next().and_then(Value::as_object).unwrap_or(&none);
        match line.event.split_once('.').map_or("", |(about, _)| about) {
            "task" => self.task(&line, fields, touched),
            "teammate" => self.teammate(&line, fields, touched),
            "message" => self.message(&line, fields, touched),
            "gate" => self.gate(&line, fields, touched),
            "usage" => self.usage(&line, fields, touched),
            _ => {}
        }
        self.decision(&line, fields, touched);
        let decided = self.decided.take((line.n, line.at, &line.by), &line.event, fields);
        touched.decided.extend(decided);
        self.step(&line, fields, touched);
        self.lines.push_back(line.clone());
        if self.lines.len() > LINES_MAX {
            self.lines.pop_front();
        }
        touched.lines.push(line);
    }

    /// What is decided about a plan or question changes the task that it is about.
    fn decision(&mut self, line: &LogLine, fields: &Fields, touched: &mut Touched) {
        if matches!(line.event.as_str(), "plan.submitted" | "question.asked") {
            let task = number(fields, "task").and_then(|id| u32::try_from(id).ok());
            self.asked.extend(task.map(|task| (line.n, task)));
        }
        let about = number(fields, "plan").or_else(|| number(fields, "question"));
        touched.tasks.extend(about.and_then(|id| self.asked.get(&id)));
    }

    /// The time axis, thinned as it grows.
    fn moment(&mut self, n: u64, at: u64) {
        if n.is_multiple_of(self.stride) || self.moments.is_empty() {
            self.moments.push((n, at));
        }
        if self.moments.len() > MOMENTS_MAX {
            self.stride *= 2;
            let stride = self.stride;
            let first = self.moments[0];
            self.moments.retain(|(n, _)| n.is_multiple_of(stride));
            if self.moments.first() != Some(&first) {
                self.moments.insert(0, first);
            }
        }
    }

    /// Whatever names a task is a step of its story.
    fn step(&mut self, line: &LogLine, fields: &Fields, touched: &mut Touched) {
        let one = fields.get("task").and_then(Value::as_u64);
        let many = fields.get("tasks").and_then(Value::as_array).into_iter().flatten();
        let ids = one.into_iter().chain(many.filter_map(Value::as_u64));
        for id in ids.filter_map(|id| u32::try_from(id).ok()) {
            touched.tasks.insert(id);
            if !line.event.starts_with("usage.") {
                self.steps.entry(id).or_default().push(line.clone());
            }
        }
    }

    fn task(&mut self, line: &LogLine, fields: &Fields, touched: &mut Touched) {
        let Some(task) = number(fields, "task").and_then(|id| u32::try_from(id).ok()) else {
            return;
        };
        let at = line.at;
        if line.event == "task.claimed" {
            // What came back from a gate is claimed anew, with a token of its own.
            self.end_span(self.claimed.get(&task).copied(), at, Some("returned"), touched);
            let (who, epoch) = life(text(fields, "by"));
            let parts = vec![part("works", at)];
            let span = Span { id: line.n, who, epoch, task, began: at, parts, ..Span::default() };
            self.spans.insert(line.n, span);
            self.claimed.insert(task, line.n);
            touched.spans.insert(line.n);
            return;
        }
        let next = match line.event.as_str() {
            "task.submitted" => Some("gate"),
            "task.returned" => Some("returned"),
            _ => None,
        };
        let end = match line.event.as_str() {
            "task.completed" => Some("completed"),
            "task.deleted" => Some("released"),
            "task.failed" => Some("failed"),
            "task.released" => match text(fields, "cause") {
                "holder_gone" | "host_gone" => Some("gone"),
                _ => Some("released"),
            },
            _ => None,
        };
        if next.is_none() && end.is_none() {
            return;
        }
        let token = number(fields, "token").or_else(|| self.claimed.get(&task).copied());
        self.end_span(token, at, end, touched);
        if end.is_some() {
            self.claimed.remove(&task);
        }
        if let Some(span) = token.and_then(|token| self.spans.get_mut(&token)) {
            span.parts.extend(next.map(|kind| part(kind, at)));
        }
    }

    /// Ends what a claim was about last, and with an end the claim itself.
    fn end_span(&mut self, token: Option<u64>, at: u64, end: Option<&str>, touched: &mut Touched) {
        let Some(span) = token.and_then(|token| self.spans.get_mut(&token)) else { return };
        if let Some(last) = span.parts.last_mut().filter(|last| last.to.is_none()) {
            last.to = Some(at);
        }
        if let Some(end) = end {
            (span.ended, span.end) = (Some(at), Some(end.to_owned()));
        }
        touched.spans.insert(span.id);
    }

    fn teammate(&mut self, line: &LogLine, fields: &Fields, touched: &mut Touched) {
        let (who, epoch) = life(text(fields, "who"));
        let key = (who.clone(), epoch);
        match line.event.as_str() {
            "teammate.added" => {
                let profile = fields.get("profile");
                let of = |key: &str| profile?.get(key)?.as_str().filter(|word| !word.is_empty());
                let model = of("model").or_else(|| of("agent")).unwrap_or("command");
                let leads = of("seat") == Some("lead");
                self.models.insert(who, (model.to_owned(), leads));
            }
            "teammate.started" => {
                let life = LifeRow { who, epoch, began: line.at, ..LifeRow::default() };
                self.lives.insert(key.clone(), life);
                touched.lives.insert(key);
            }
            "teammate.stopped" | "teammate.disappeared" => {
                let Some(life) = self.lives.get_mut(&key) else { return };
                life.ended = Some(line.at);
                let detail = match fields.get("outcome") {
                    Some(outcome) => words::outcome_words(outcome),
                    None => text(fields, "reason").to_owned(),
                };
                let word = line.event.trim_start_matches("teammate.").to_owned();
                (life.end, life.detail) = (Some(word), detail);
                touched.lives.insert(key);
            }
            _ => {}
        }
    }

    fn message(&mut self, line: &LogLine, fields: &Fields, touched: &mut Touched) {
        if line.event == "message.sent" {
            let row = self.sent(line, fields);
            self.messages.insert(line.n, row);
            touched.messages.insert(line.n);
            if self.messages.len() > MESSAGES_MAX {
                self.messages.pop_first();
            }
            return;
        }
        let state = line.event.trim_start_matches("message.");
        let to = fields.get("to").map(recipient).unwrap_or_default();
        let ids = fields.get("messages").and_then(Value::as_array).into_iter().flatten();
        for id in ids.filter_map(Value::as_u64) {
            let Some(row) = self.messages.get_mut(&id) else { continue };
            for delivery in row.to.iter_mut().filter(|delivery| delivery.to == to) {
                delivery.state = state.to_owned();
                delivery.at = line.at;
                delivery.detail = text(fields, "reason").to_owned();
            }
            touched.messages.insert(id);
        }
    }

    fn sent(&self, line: &LogLine, fields: &Fields) -> MessageRow {
        let kind = match fields.get("kind") {
            Some(Value::String(kind)) => kind.clone(),
            Some(other) => other.get("handoff").and_then(Value::as_str).unwrap_or("?").to_owned(),
            None => "message".to_owned(),
        };
        // A teammate may call a handoff what it likes; only the kinds themselves are the runtime's.
        let said = fields.get("kind").and_then(Value::as_str).unwrap_or_default();
        let by_runtime = matches!(said, "notice" | "work_done" | "bounce");
        let body = text(fields, "body");
        let cut = body.char_indices().nth(BODY_CHARS_MAX).map(|(at, _)| at);
        let reply_to = number(fields, "reply_to");
        let first = reply_to.map(|id| self.messages.get(&id).map_or(id, |row| row.thread));
        let to = fields.get("to").and_then(Value::as_array).into_iter().flatten();
        let delivery = |to: &Value| Delivery {
            to: recipient(to),
            state: "queued".to_owned(),
            at: line.at,
            detail: String::new(),
        };
        MessageRow {
            id: line.n,
            from: if by_runtime { "runtime".to_owned() } else { line.by.clone() },
            kind,
            body: body[..cut.unwrap_or(body.len())].to_owned(),
            cut: cut.is_some(),
            reply_to,
            thread: first.unwrap_or(line.n),
            sent_at: line.at,
            to: to.map(delivery).collect(),
        }
    }

    fn gate(&mut self, line: &LogLine, fields: &Fields, touched: &mut Touched) {
        let Ok(mut row) = serde_json::from_value::<GateRow>(Value::Object(fields.clone())) else {
            return;
        };
        (row.n, row.at) = (line.n, line.at);
        for task in &row.tasks {
            self.gates_of.entry(*task).or_default().push(line.n);
            touched.tasks.insert(*task);
        }
        self.gates.insert(line.n, row);
    }

    fn usage(&mut self, line: &LogLine, fields: &Fields, touched: &mut Touched) {
        if line.event != "usage.recorded" {
            return;
        }
        let (who, _) = life(text(fields, "who"));
        let (model, lead) = self.models.get(&who).cloned().unwrap_or_default();
        let task = number(fields, "task").and_then(|id| u32::try_from(id).ok());
        let key = (who.clone(), model.clone(), task);
        let row = self.costs.entry(key.clone()).or_insert_with(|| CostRow {
            who,
            model,
            task,
            lead,
            ..CostRow::default()
        });
        let used = |name: &str| {
            let used = fields.get("usage").and_then(|usage| usage.get(name));
            used.and_then(Value::as_u64).unwrap_or(0)
        };
        row.tokens_in = row.tokens_in.saturating_add(used("tokens_in"));
        row.tokens_out = row.tokens_out.saturating_add(used("tokens_out"));
        row.tokens_cached = row.tokens_cached.saturating_add(used("tokens_cached"));
        row.cost_micros = row.cost_micros.saturating_add(used("cost_micros"));
        row.calls += 1;
        touched.costs.insert(key);
    }

    /// The latest decisions, oldest first.
    pub fn decided(&self, max: usize) -> Vec<DecidedRow> {
        self.decided.rows(max)
    }

    /// The latest messages before this one, oldest first.
    pub fn messages(&self, before: u64, max: usize) -> Vec<MessageRow> {
        let mut rows: Vec<MessageRow> =
            self.messages.range(..before).rev().take(max).map(|(_, row)| row.clone()).collect();
        rows.reverse();
        rows
    }

    pub fn message_rows(&self, ids: &BTreeSet<u64>) -> Vec<MessageRow> {
        ids.iter().filter_map(|id| self.messages.get(id).cloned()).collect()
    }

    /// Messages that name a task as people do (`task 7`, `#7`) or lie in a conversation that does.
    pub fn messages_about(&self, task: u32) -> Vec<MessageRow> {
        let names = |row: &&MessageRow| {
            let marks = [format!("task {task}"), format!("#{task}")];
            marks.iter().any(|mark| is_named(&row.body, mark))
        };
        let threads: BTreeSet<u64> =
            self.messages.values().filter(names).map(|row| row.thread).collect();
        let about = self.messages.values().filter(|row| threads.contains(&row.thread));
        about.cloned().collect()
    }

    pub fn spans(&self) -> Vec<Span> {
        self.spans.values().cloned().collect()
    }

    pub fn span_rows(&self, ids: &BTreeSet<u64>) -> Vec<Span> {
        ids.iter().filter_map(|id| self.spans.get(id).cloned()).collect()
    }

    pub fn spans_of(&self, task: u32) -> Vec<Span> {
        self.spans.values().filter(|span| span.task == task).cloned().collect()
    }

    pub fn lives(&self) -> Vec<LifeRow> {
        self.lives.values().cloned().collect()
    }

    pub fn life_rows(&self, keys: &BTreeSet<(String, u32)>) -> Vec<LifeRow> {
        keys.iter().filter_map(|key| self.lives.get(key).cloned()).collect()
    }

    pub fn costs(&self) -> Vec<CostRow> {
        self.costs.values().cloned().collect()
    }

    pub fn cost_rows(&self, keys: &BTreeSet<Cost>) -> Vec<CostRow> {
        keys.iter().filter_map(|key| self.costs.get(key).cloned()).collect()
    }

    pub fn costs_of(&self, task: u32) -> Vec<CostRow> {
        self.costs.values().filter(|row| row.task == Some(task)).cloned().collect()
    }

    pub fn gates_of(&self, task: u32) -> Vec<GateRow> {
        let runs = self.gates_of.get(&task).into_iter().flatten();
        runs.filter_map(|n| self.gates.get(n).cloned()).collect()
    }

    /// The gates of one task in short.
    pub fn gate_mark(&self, task: u32) -> Option<GateMark> {
        let runs = self.gates_of.get(&task)?;
        let last = self.gates.get(runs.last()?)?;
        let red = runs.iter().filter(|n| self.gates.get(n).is_some_and(|run| !run.passed)).count();
        Some(GateMark {
            passed: last.passed,
            at: last.at,
            runs: u32::try_from(runs.len()).unwrap_or(u32::MAX),
            red: u32::try_from(red).unwrap_or(u32::MAX),
        })
    }

    pub fn steps_of(&self, task: u32) -> Vec<LogLine> {
        self.steps.get(&task).cloned().unwrap_or_default()
    }

    /// The last lines of the log, oldest first.
    pub fn lines(&self, max: usize) -> Vec<LogLine> {
        self.lines.iter().skip(self.lines.len().saturating_sub(max)).cloned().collect()
    }

    /// Records with their times, evenly thinned; the first and the last are always in.
    pub fn moments(&self) -> Vec<(u64, u64)> {
        let mut moments = self.moments.clone();
        if let Some(last) = self.lines.back()
            && moments.last().is_none_or(|(n, _)| *n != last.n)
        {
            moments.push((last.n, last.at));
        }
        moments
    }
}

fn part(kind: &str, from: u64) -> SpanPart {
    SpanPart { kind: kind.to_owned(), from, to: None }
}

/// `alpha/ana@2` as the teammate and its life.
fn life(who: &str) -> (String, u32) {
    match who.split_once('@') {
        Some((who, epoch)) => (who.to_owned(), epoch.parse().unwrap_or(0)),
        None => (who.to_owned(), 0),
    }
}

fn recipient(to: &Value) -> String {
    let member = to.get("member").and_then(Value::as_str);
    member.or_else(|| to.as_str()).unwrap_or_default().to_owned()
}

fn text<'a>(fields: &'a Fields, key: &str) -> &'a str {
    fields.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn number(fields: &Fields, key: &str) -> Option<u64> {
    fields.get(key).and_then(Value::as_u64)
}

/// The mark, and no longer number that only begins with it.
fn is_named(text: &str, mark: &str) -> bool {
    let follows = |at: usize| text[at + mark.len()..].chars().next();
    text.match_indices(mark).any(|(at, _)| follows(at).is_none_or(|c| !c.is_ascii_digit()))
}

#[cfg(test)]
mod tests;
