//! What the records of a log come to for a screen: messages, claims, lives, costs, gates.
//!
//! A fold: taking the same records in any portions gives the same story. An event of a newer release
//! is a line of the log and nothing more. What would grow without end is bounded; the log itself keeps
//! everything.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::view::DeliveryState;
use shipmate_model::event::{MessageKind, Recipient, ReleaseCause, Seat, Usage};
use shipmate_model::setup::{GateRun, Tried};
use shipmate_model::usage::Unpriced;
use shipmate_model::{Event, Record, TaskId, TeammateRef};

use super::words;
use super::{
    CostRow, Decided, DecidedRow, Delivery, Delta, GateMark, GateRow, LifeEnd, LifeRow, LogLine,
    MessageRow, Span, SpanEnd, SpanKind, SpanPart,
};

/// Messages that are kept; older ones are in the log.
const MESSAGES_MAX: usize = 20_000;
const LINES_MAX: usize = 1_000;
/// A longer body is cut; `shipmate message trace` has all of it.
const BODY_CHARS_MAX: usize = 4_000;
/// Points of the time axis; beyond that every second one is dropped.
const MOMENTS_MAX: usize = 2_000;

/// Who used it, of which model, for which task, with which account.
type Cost = (String, String, Option<u32>, Option<String>);

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
    /// The account that each teammate asks with.
    accounts: BTreeMap<String, String>,
    costs: BTreeMap<Cost, CostRow>,
    unpriced: BTreeMap<Cost, Unpriced>,
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
        let typed = serde_json::from_str::<Record>(record).ok();
        let line = match &typed {
            Some(record) => Some(words::line_of(record, &self.root)),
            None => words::line(record, &self.root),
        };
        let Some(line) = line.filter(|line| line.n > self.position) else { return };
        self.position = line.n;
        self.moment(line.n, line.at);
        if let Some(record) = &typed {
            self.fold(record, &line, touched);
        }
        self.lines.push_back(line.clone());
        if self.lines.len() > LINES_MAX {
            self.lines.pop_front();
        }
        touched.lines.push(line);
    }

    fn fold(&mut self, record: &Record, line: &LogLine, touched: &mut Touched) {
        let (n, at) = (record.n, record.at);
        match &record.event {
            Event::TaskClaimed { task, by, .. } => self.claim(n, at, *task, by, touched),
            Event::TaskSubmitted { token, .. } => self.go_on(*token, SpanKind::Gate, at, touched),
            Event::TaskReturned { token, .. } => {
                self.go_on(*token, SpanKind::Returned, at, touched)
            }
            Event::TaskCompleted { task, token, .. } => {
                self.end(*task, Some(*token), SpanEnd::Completed, at, touched);
            }
            Event::TaskFailed { task, token, .. } => {
                self.end(*task, Some(*token), SpanEnd::Failed, at, touched);
            }
            Event::TaskReleased { task, token, cause, .. } => {
                let gone = matches!(cause, ReleaseCause::HolderGone | ReleaseCause::HostGone);
                let end = if gone { SpanEnd::Gone } else { SpanEnd::Released };
                self.end(*task, Some(*token), end, at, touched);
            }
            Event::TaskDeleted { task } => self.end(*task, None, SpanEnd::Released, at, touched),
            Event::TeammateAdded { who, profile } => {
                let named = [&profile.model, &profile.agent];
                let named = named.into_iter().find(|word| !word.is_empty());
                let model = named.map_or("command", String::as_str).to_owned();
                self.models.insert(who.to_string(), (model, profile.seat == Seat::Lead));
            }
            Event::TeammateStarted { who, .. } => {
                let key = key(who);
                let (who, epoch) = key.clone();
                let life = LifeRow { who, epoch, began: at, ..LifeRow::default() };
                for (_, unpriced) in self.unpriced.iter_mut().filter(|((of, ..), _)| *of == key.0) {
                    unpriced.settle();
                }
                self.lives.insert(key.clone(), life);
                touched.lives.insert(key);
            }
            Event::TeammateFellOver { who, choice, .. }
            | Event::TeammateAgentChanged { who, choice } => {
                let (model, _) = self.models.entry(who.to_string()).or_default();
                let named = if choice.model.is_empty() { choice.name() } else { &choice.model };
                named.clone_into(model);
            }
            Event::TeammateSession { who, model, .. } if !model.is_empty() => {
                self.models.entry(who.address.to_string()).or_default().0.clone_from(model);
            }
            Event::TeammateAccount { who, account, .. } => {
                self.accounts.insert(who.to_string(), account.to_string());
            }
            Event::TeammateStopped { who, outcome } => {
                self.end_life(who, LifeEnd::Stopped, outcome.to_string(), at, touched);
            }
            Event::TeammateDisappeared { who, reason, .. } => {
                self.end_life(who, LifeEnd::Disappeared, reason.clone(), at, touched);
            }
            Event::MessageSent { to, kind, body, reply_to, .. } => {
                let row = self.sent(line, to, kind, body, *reply_to);
                self.messages.insert(n, row);
                touched.messages.insert(n);
                if self.messages.len() > MESSAGES_MAX {
                    self.messages.pop_first();
                }
            }
            Event::MessageOffered { to, messages } => {
                self.deliver(to, messages, DeliveryState::Offered, "", at, touched);
            }
            Event::MessageInjected { to, messages, .. } => {
                self.deliver(to, messages, DeliveryState::Injected, "", at, touched);
            }
            Event::MessageAcknowledged { to, messages } => {
                self.deliver(to, messages, DeliveryState::Acknowledged, "", at, touched);
            }
            Event::MessageExpired { to, messages, reason } => {
                self.deliver(to, messages, DeliveryState::Expired, reason, at, touched);
            }
            Event::MessageBounced { to, messages, reason } => {
                self.deliver(to, messages, DeliveryState::Bounced, reason, at, touched);
            }
            Event::GateRan(run) => self.gate(n, at, run),
            Event::UsageRecorded { who, usage, task, .. } => {
                self.usage(who, usage, *task, touched);
            }
            Event::PlanSubmitted { task, .. } | Event::QuestionAsked { task, .. } => {
                self.asked.extend(task.map(|task| (n, task)));
            }
            _ => {}
        }
        // What is decided about a plan or question changes the task that it is about.
        touched.tasks.extend(decided_of(&record.event).and_then(|id| self.asked.get(&id)));
        touched.decided.extend(self.decided.take(record));
        // Whatever names a task is a step of its story.
        for task in record.event.tasks() {
            touched.tasks.insert(*task);
            if !matches!(record.event, Event::UsageRecorded { .. }) {
                self.steps.entry(*task).or_default().push(line.clone());
            }
        }
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

    fn claim(&mut self, n: u64, at: u64, task: u32, by: &TeammateRef, touched: &mut Touched) {
        // What came back from a gate is claimed anew, with a token of its own.
        self.end_span(self.claimed.get(&task).copied(), at, Some(SpanEnd::Returned), touched);
        let ((who, epoch), parts) = (key(by), vec![part(SpanKind::Works, at)]);
        let span = Span { id: n, who, epoch, task, began: at, parts, ..Span::default() };
        self.spans.insert(n, span);
        self.claimed.insert(task, n);
        touched.spans.insert(n);
    }

    /// What a claim is about from here on.
    fn go_on(&mut self, token: u64, next: SpanKind, at: u64, touched: &mut Touched) {
        self.end_span(Some(token), at, None, touched);
        if let Some(span) = self.spans.get_mut(&token) {
            span.parts.push(part(next, at));
        }
    }

    fn end(&mut self, task: u32, token: Option<u64>, end: SpanEnd, at: u64, touched: &mut Touched) {
        let claimed = self.claimed.remove(&task);
        self.end_span(token.or(claimed), at, Some(end), touched);
    }

    /// Ends what a claim was about last, and with an end the claim itself.
    fn end_span(
        &mut self,
        token: Option<u64>,
        at: u64,
        end: Option<SpanEnd>,
        touched: &mut Touched,
    ) {
        let Some(span) = token.and_then(|token| self.spans.get_mut(&token)) else { return };
        if let Some(last) = span.parts.last_mut().filter(|last| last.to.is_none()) {
            last.to = Some(at);
        }
        if let Some(end) = end {
            (span.ended, span.end) = (Some(at), Some(end));
        }
        touched.spans.insert(span.id);
    }

    fn end_life(
        &mut self,
        who: &TeammateRef,
        end: LifeEnd,
        detail: String,
        at: u64,
        touched: &mut Touched,
    ) {
        let key = key(who);
        let Some(life) = self.lives.get_mut(&key) else { return };
        (life.ended, life.end, life.detail) = (Some(at), Some(end), detail);
        touched.lives.insert(key);
    }

    fn deliver(
        &mut self,
        to: &Recipient,
        messages: &[u64],
        state: DeliveryState,
        detail: &str,
        at: u64,
        touched: &mut Touched,
    ) {
        let to = to.to_string();
        for id in messages {
            let Some(row) = self.messages.get_mut(id) else { continue };
            for delivery in row.to.iter_mut().filter(|delivery| delivery.to == to) {
                (delivery.state, delivery.at) = (state, at);
                delivery.detail = detail.to_owned();
            }
            touched.messages.insert(*id);
        }
    }

    fn sent(
        &self,
        line: &LogLine,
        to: &[Recipient],
        kind: &MessageKind,
        body: &str,
        reply_to: Option<u64>,
    ) -> MessageRow {
        let cut = body.char_indices().nth(BODY_CHARS_MAX).map(|(at, _)| at);
        let first = reply_to.map(|id| self.messages.get(&id).map_or(id, |row| row.thread));
        let delivery = |to: &Recipient| Delivery {
            to: to.to_string(),
            state: DeliveryState::Queued,
            at: line.at,
            detail: String::new(),
        };
        MessageRow {
            id: line.n,
            from: if kind.is_by_runtime() { "runtime".to_owned() } else { line.by.clone() },
            kind: kind.word().to_owned(),
            body: body[..cut.unwrap_or(body.len())].to_owned(),
            cut: cut.is_some(),
            reply_to,
            thread: first.unwrap_or(line.n),
            sent_at: line.at,
            to: to.iter().map(delivery).collect(),
        }
    }

    fn gate(&mut self, n: u64, at: u64, run: &GateRun) {
        // There is no gate that could have passed.
        if run.passed && run.tried == Tried::SetUp {
            return;
        }
        for task in &run.tasks {
            self.gates_of.entry(*task).or_default().push(n);
        }
        let GateRun { team, tasks, commit, passed, took_ms, output, .. } = run.clone();
        let team = team.to_string();
        self.gates.insert(n, GateRow { n, at, team, tasks, commit, passed, took_ms, output });
    }

    fn usage(
        &mut self,
        who: &TeammateRef,
        used: &Usage,
        task: Option<TaskId>,
        touched: &mut Touched,
    ) {
        // What was set aside is given back by a record that tells nothing.
        if *used == Usage::default() {
            return;
        }
        let who = who.address.to_string();
        let (model, lead) = self.models.get(&who).cloned().unwrap_or_default();
        let account = self.accounts.get(&who).cloned();
        // A cost is that of all that its account was asked for before, whatever the task was.
        if used.cost_micros > 0 {
            self.price(&who, &account, used, touched);
        }
        let key = (who.clone(), model.clone(), task, account.clone());
        let row = self.costs.entry(key.clone()).or_insert_with(|| CostRow {
            who,
            model,
            task,
            account,
            lead,
            ..CostRow::default()
        });
        row.tokens_in = row.tokens_in.saturating_add(used.tokens_in);
        row.tokens_out = row.tokens_out.saturating_add(used.tokens_out);
        row.tokens_cached = row.tokens_cached.saturating_add(used.tokens_cached);
        row.cost_micros = row.cost_micros.saturating_add(used.cost_micros);
        row.tokens_estimated = row.tokens_estimated.saturating_add(used.tokens_estimated);
        let unpriced = self.unpriced.entry(key.clone()).or_default();
        unpriced.add(used);
        row.tokens_unpriced = unpriced.tokens;
        // Some programs tell tokens with each request, and in the end what all of them cost.
        row.calls += u32::from(used.tokens() > 0);
        touched.costs.insert(key);
    }

    fn price(&mut self, who: &str, account: &Option<String>, used: &Usage, touched: &mut Touched) {
        let open = self.unpriced.iter_mut().filter(|(key, _)| key.0 == who && key.3 == *account);
        for (key, unpriced) in open {
            let before = unpriced.tokens;
            unpriced.add(used);
            if let Some(row) = self.costs.get_mut(key).filter(|_| unpriced.tokens != before) {
                row.tokens_unpriced = unpriced.tokens;
                touched.costs.insert(key.clone());
            }
        }
    }

    /// What records have changed, as it is now.
    pub fn delta(&self, touched: &Touched) -> Delta {
        Delta {
            messages: rows(&self.messages, &touched.messages),
            spans: rows(&self.spans, &touched.spans),
            lives: rows(&self.lives, &touched.lives),
            costs: rows(&self.costs, &touched.costs),
            lines: touched.lines.clone(),
            decided: touched.decided.clone(),
            ..Delta::default()
        }
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

    pub fn spans_of(&self, task: u32) -> Vec<Span> {
        self.spans.values().filter(|span| span.task == task).cloned().collect()
    }

    pub fn lives(&self) -> Vec<LifeRow> {
        self.lives.values().cloned().collect()
    }

    pub fn costs(&self) -> Vec<CostRow> {
        self.costs.values().cloned().collect()
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

fn rows<K: Ord, V: Clone>(all: &BTreeMap<K, V>, keys: &BTreeSet<K>) -> Vec<V> {
    keys.iter().filter_map(|key| all.get(key).cloned()).collect()
}

fn part(kind: SpanKind, from: u64) -> SpanPart {
    SpanPart { kind, from, to: None }
}

/// A life by its teammate and epoch.
fn key(who: &TeammateRef) -> (String, u32) {
    (who.address.to_string(), who.epoch)
}

/// The plan or question that an event decides, or takes back.
fn decided_of(event: &Event) -> Option<u64> {
    match event {
        Event::PlanApproved { plan }
        | Event::PlanRejected { plan, .. }
        | Event::PlanWithdrawn { plan, .. } => Some(*plan),
        Event::QuestionAnswered { question, .. } | Event::QuestionWithdrawn { question, .. } => {
            Some(*question)
        }
        _ => None,
    }
}

/// The mark, and no longer number that only begins with it.
fn is_named(text: &str, mark: &str) -> bool {
    let follows = |at: usize| text[at + mark.len()..].chars().next();
    text.match_indices(mark).any(|(at, _)| follows(at).is_none_or(|c| !c.is_ascii_digit()))
}

#[cfg(test)]
mod tests;
