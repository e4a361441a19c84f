//! What the records of a run come to: the view while it lasts and the report at its end.
//!
//! Everything is folded from the log, so a run that was detached from, or whose coordinator
//! died, is told the same way as one that was watched from its first record on.

mod board;
mod mates;
mod rest;
mod sums;
mod waits;

use std::collections::{BTreeMap, BTreeSet};

use shipmate_model::account::{Caps, Moved};
use shipmate_model::event::{MessageKind, Recipient};
use shipmate_model::pause::Pause;
use shipmate_model::setup::{GateRun, SET_UP, SET_UP_FAILS, Trees, Tried};
use shipmate_model::usage::Budget;
use shipmate_model::{Actor, Address, Event, Name, Record};

use super::led::Led;
use super::phases::Phases;
use super::progress::{self, EventKind, EventText, Row, RunView, Waiting};
use super::report::{GateTally, Outcome, Printed};
use super::spent::Spent;
use super::tasks::{Status, TaskLine, Tasks};
use crate::cli::screen::first_line;

/// Why one-shot agents take over.
const BROKEN: &str = "teammates disappeared one after the other";

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
    /// A gate or a set-up is tried where the team begins, and nobody is started before that.
    tries_gate: bool,
    has_gate: bool,
    /// Why the team waits, if it does.
    pub(crate) paused: Option<TeamPause>,
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
    open_breakers: BTreeSet<Name>,
    /// Requests to stop, with who was asked and the seconds it has.
    shutdowns: BTreeMap<u64, (String, u64)>,
    /// By what is red where the team began.
    pub(crate) printed: Printed,
    /// This command is ending the team, with this outcome: that nobody begins any more is its own
    /// doing. It is over when nobody runs and nothing is at the gate.
    pub(crate) stopping: Option<Outcome>,
    /// Whether nobody who is there can take what is on the board, as far as that was asked since the
    /// last record.
    pub(crate) nobody_takes: Option<bool>,
    /// Accounts whose providers refuse, with until when.
    refused: BTreeMap<Name, u64>,
    /// Those of whose windows the team may use no more, as the coordinator said when nothing went on: the
    /// caps, what a task takes and a person's word are its to weigh.
    full: BTreeMap<Name, FullAccount>,
    /// Those that have windows instead of a price, by their logins.
    subscriptions: BTreeSet<Name>,
    /// Since when they are, and how long they were before that.
    parked_at: BTreeMap<Name, u64>,
    parked_ms: BTreeMap<Name, u64>,
    /// How much of their windows was used.
    moved: BTreeMap<Name, Moved>,
    /// What each team may use.
    budgets: BTreeMap<Name, Budget>,
    /// How much of their windows may be used, and whether work goes on by itself.
    caps: Option<Caps>,
}

/// Something that went otherwise than planned.
#[derive(Debug, Clone)]
pub(crate) struct Deviation {
    pub(crate) text: String,
    /// The task it is about; none if it is about teammates or the team.
    pub(crate) task: Option<u32>,
}

/// Why a team of the run waits.
#[derive(Debug, Clone)]
pub(crate) struct TeamPause {
    pub(crate) pause: Pause,
    team: Name,
    /// The teammate whose words the reason is.
    who: Option<String>,
}

impl TeamPause {
    /// The runtime found that it cannot go on. It may also only ask, and somebody else may let it
    /// go on.
    pub(crate) fn is_halt(&self) -> bool {
        self.pause.by == Actor::Runtime && self.pause.approval().is_none()
    }
}

/// An account of whose windows the team may use no more.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FullAccount {
    /// When its window is reset.
    until: u64,
    /// A lead asks nothing with it either; before that it only takes no task.
    closed: bool,
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
    /// What it may use itself.
    budget: Budget,
    /// Somebody paused it, and it takes nothing until it may go on.
    paused: bool,
    /// What its agent asks its model with.
    account: Option<Name>,
    /// Somebody's own session, which ends when they like.
    by_hand: bool,
    /// Tasks that it works on.
    held: BTreeSet<u32>,
    /// What it used, by the account that it had.
    used: BTreeMap<Option<Name>, Spent>,
}

fn step(text: String) -> EventText {
    Some((EventKind::Step, text))
}

fn health(text: String) -> EventText {
    Some((EventKind::Health, text))
}

impl Account {
    /// Takes in one record; gives what a person should hear of it.
    pub(crate) fn take(&mut self, record: &Record) -> Option<progress::Event> {
        self.position = record.n.max(self.position);
        let at_ms = record.at;
        if self.began_ms == 0 {
            self.began_ms = at_ms;
        }
        self.now_ms = at_ms;
        self.nobody_takes = None;
        let before = self.done();
        let (kind, text) = self.apply(record)?;
        let done = self.done();
        let tally = (done != before).then_some((done, self.tasks.counts().total));
        Some(progress::Event { at_ms, kind, text, tally })
    }

    /// Passes over a record that only a newer release can read.
    pub(crate) fn skip(&mut self) {
        self.position += 1;
        self.nobody_takes = None;
    }

    /// As people say it: a member of the run's own team by its name alone, one of a team below with
    /// that team, because names repeat there.
    fn name(&self, who: &Address) -> String {
        match self.phases.root().is_none_or(|root| *root == who.team) {
            true => who.name.to_string(),
            false => who.to_string(),
        }
    }

    /// Where the work of a team of this name is.
    pub(crate) fn branch(&self, team: &str) -> Option<String> {
        self.has_trees.then(|| format!("shipmate/{team}"))
    }

    pub(crate) fn add_deviation(&mut self, task: Option<u32>, text: &str) {
        self.deviations.push(Deviation { text: text.to_owned(), task });
    }

    /// A deviation that is told at once.
    fn tell_deviation(&mut self, task: Option<u32>, text: String) -> EventText {
        self.add_deviation(task, &text);
        health(text)
    }

    /// Every event has its place here, so that nothing new is passed over by mistake.
    fn apply(&mut self, record: &Record) -> EventText {
        let n = record.n;
        match &record.event {
            Event::TeamCreated { team, setup, .. } => {
                self.has_trees |= setup.trees.is_some();
                let is_tried =
                    |trees: &Trees| !setup.gate.is_empty() || trees.preparation.is_set_up();
                self.tries_gate |= !setup.red_base && setup.trees.as_ref().is_some_and(is_tried);
                self.has_gate |= !setup.gate.is_empty();
                self.answer_ms = setup.answer_ms;
                // Those of the team that all others are below.
                self.caps = self.caps.or(Some(setup.caps));
                self.phases.created(team, setup.playbook.as_deref());
                let sets_up =
                    setup.trees.as_ref().is_some_and(|trees| trees.preparation.is_set_up());
                let text = "the tree of the gate is set up before anybody is started";
                (self.tries_gate && sets_up).then(|| (EventKind::Step, text.to_owned()))
            }
            Event::TeamPaused { team, reason, .. } => self.team_paused(record, team, reason),
            Event::TeamContinued { .. } => {
                // Those below go on with it, without a word of their own.
                self.paused.take()?;
                step("the team goes on".to_owned())
            }
            Event::TeamDeleted { team } => {
                self.is_gone |= self.phases.root().is_none_or(|root| root == team);
                self.is_gone.then(|| (EventKind::Step, "the team was deleted".to_owned()))
            }
            Event::TeammateAdded { who, profile } => {
                let name = self.name(who);
                self.led.added(&name, profile);
                self.set_mate(&name, "waits");
                let definition =
                    profile.definition.as_ref().filter(|one| !one.unheld.is_empty())?;
                let (from, unheld) = (&definition.source, definition.unheld.join("; "));
                self.tell_deviation(None, format!("{name} is made from {from}: {unheld}"))
            }
            Event::TeammateStarted { who, supervision, .. } => {
                self.mate_started(&who.address, *supervision)
            }
            Event::TeammateDisappeared { who, reason, loss, .. } => {
                self.mate_disappeared(&self.name(&who.address), reason, *loss)
            }
            Event::TeammateStopped { who, outcome } => {
                self.mate_stopped(&self.name(&who.address), outcome)
            }
            Event::TeammatePaused { who, reason, .. } => self.mate_paused(record, who, reason),
            Event::TeammateContinued { who } => self.mate_continued(&self.name(who)),
            Event::TeammateStalled { who, step: 0 } => {
                health(format!("{} moves again", self.name(&who.address)))
            }
            Event::TeammateStalled { who, step: n } => {
                health(format!("{} makes no progress (warning {n})", self.name(&who.address)))
            }
            Event::TaskCreated { task, spec, .. } => {
                self.tasks.create(*task, TaskLine::of(spec));
                None
            }
            Event::TaskClaimed { task, by, .. } => self.task_claimed(*task, &by.address),
            Event::TaskSubmitted { task, .. } => self.task_submitted(*task),
            Event::TaskCompleted { task, commit, .. } => {
                self.task_completed(*task, commit.as_ref())
            }
            Event::TaskReturned { task, reason, .. } => {
                let (name, owner) = self.set_back(*task, Status::Claimed, reason)?;
                health(format!("{name} came back to {owner}: {}", first_line(reason)))
            }
            Event::TaskReleased { task, reason, .. } => {
                let (name, owner) = self.set_back(*task, Status::Pending, reason)?;
                self.is_free(&owner);
                health(format!("{name} is free again: {}", first_line(reason)))
            }
            Event::TaskFailed { task, reason, .. } => {
                let (name, _) = self.set_back(*task, Status::Failed, reason)?;
                self.tell_deviation(Some(*task), format!("{name} failed: {}", first_line(reason)))
            }
            Event::TaskReverted { task, reason, .. } => {
                let (name, _) = self.set_back(*task, Status::Failed, reason)?;
                let text = format!("{name} was taken back: {}", first_line(reason));
                self.tell_deviation(Some(*task), text)
            }
            Event::TaskRetried { task } => {
                let (_, name) = self.task(*task)?;
                self.set_task(*task, Status::Pending);
                step(format!("{name} is tried again"))
            }
            Event::TaskDeleted { task } => {
                self.set_task(*task, Status::Deleted);
                None
            }
            Event::TaskScopeLeftOut { task, files } => {
                let (_, name) = self.task(*task)?;
                let files: Vec<&str> = files.iter().map(|file| file.as_str()).collect();
                let text = format!("{name} is merged without {}", files.join(", "));
                self.tell_deviation(Some(*task), text)
            }
            Event::TaskWorkSetAside { task, work, .. } => {
                let (_, name) = self.task(*task)?;
                self.tell_deviation(Some(*task), format!("work on {name} was set aside: {work}"))
            }
            Event::GateRan(run) => self.gate_ran(run),
            Event::HookNoted { hook, note, .. } if hook == SET_UP => {
                health(match self.tries_gate && self.has_gate {
                    true => format!("{note}; the gate is tried before anybody is started"),
                    false => note.clone(),
                })
            }
            Event::HookNoted { hook, note, .. } => {
                self.tell_deviation(None, format!("hook {hook}: {note}"))
            }
            Event::MessageSent { to, kind, body, .. } => self.message(&record.by, to, kind, body),
            Event::PlanSubmitted { who, task, body, work } => {
                let who = self.name(&who.address);
                // A lead has one plan: the last. It is shown as a whole.
                let is_leads = work.is_some() || self.led.seat() == Some(who.as_str());
                let before = self.led.submitted(n, is_leads);
                before.map(|before| self.waiting.remove(&before));
                let text = waits::describe_plan(n, &who, *task, body);
                self.waiting.insert(n, Waiting { who, ..waits::plan(n) });
                (!is_leads).then_some((EventKind::Health, text))
            }
            Event::PlanApproved { plan } => {
                self.waiting.remove(plan);
                let lead = self.led.decided(*plan, true)?;
                self.set_mate(&lead, "leads");
                step(format!("plan {plan} is approved"))
            }
            Event::PlanRejected { plan, feedback, .. } => {
                self.waiting.remove(plan);
                let lead = self.led.decided(*plan, false)?;
                self.set_mate(&lead, "plans");
                let why = first_line(feedback);
                step(format!("plan {plan} is rejected: {why}; {lead} revises it"))
            }
            Event::PlanWithdrawn { plan, reason } => {
                self.led.others.remove(plan);
                self.waiting.remove(plan)?;
                step(format!("plan {plan} needs no answer: {}", first_line(reason)))
            }
            Event::QuestionAsked { who, kind, text, options, task, .. } => {
                let (mut waits, text) = waits::question(n, *kind, text, options, *task);
                waits.who = self.name(&who.address);
                self.waiting.insert(n, waits);
                health(text)
            }
            Event::QuestionAnswered { question, .. } => self.waiting.remove(question).and(None),
            Event::QuestionWithdrawn { question, reason } => {
                self.waiting.remove(question)?;
                step(format!("question {question} needs no answer: {}", first_line(reason)))
            }
            Event::ShutdownRequested { who, deadline_ms, .. } => {
                self.shutdowns.insert(n, (self.name(&who.address), deadline_ms / 1000));
                None
            }
            Event::ShutdownAnswered { shutdown, .. } => self.shutdowns.remove(shutdown).and(None),
            Event::ShutdownTimedOut { shutdown } => {
                let (name, seconds) = self.shutdowns.remove(shutdown)?;
                let text = format!("[SHUTDOWN] Timeout: {name} did not respond within {seconds}s.");
                self.tell_deviation(None, text)
            }
            // To wait for what others make is the course of a playbook; the report tells what is left.
            Event::PhaseWaits { .. } => self.phases.take(&record.event),
            Event::PhaseBegan { .. } | Event::PhaseLeftToLead { .. } | Event::PhaseEnded { .. } => {
                let (kind, text) = self.phases.take(&record.event)?;
                if kind != EventKind::Step {
                    self.add_deviation(None, first_line(&text));
                }
                Some((kind, text))
            }
            Event::BreakerOpened { team } => {
                self.open_breakers.insert(team.clone());
                let text = format!("{BROKEN}: switching from teammate to task for {team}");
                self.add_deviation(None, &format!("[FALLBACK] {text}"));
                Some((EventKind::Fallback, text))
            }
            Event::BreakerClosed { team } => {
                self.open_breakers.remove(team);
                health("teammates can be started again".to_owned())
            }
            Event::TeamBudgetSet { team, budget } => {
                self.budgets.insert(team.clone(), *budget);
                None
            }
            Event::TeammateBudgetSet { who, budget } => {
                let name = self.name(who);
                self.mates.entry(name).or_default().budget = *budget;
                None
            }
            Event::TeammateAccount { who, account, subscription } => {
                if *subscription {
                    self.subscriptions.insert(account.clone());
                }
                let name = self.name(who);
                self.mates.entry(name).or_default().account = Some(account.clone());
                None
            }
            Event::AccountParked { account, until, reason, .. } => {
                self.account_parked(account, *until, reason)
            }
            Event::AccountResumed { account } => self.account_resumed(account),
            Event::AccountTold { account, windows } => {
                self.account_told(&record.by, account, windows)
            }
            Event::UsageRecorded { who, usage, .. } => {
                self.mate_used(&self.name(&who.address), usage);
                None
            }
            Event::TeamDeletionRequested { .. }
            | Event::TeamChanged { .. }
            | Event::TeammateIdle { .. }
            | Event::TeammateModeChanged { .. }
            | Event::TeammatePlaced { .. }
            | Event::TeammateAgentChanged { .. }
            | Event::TeammateFellOver { .. }
            | Event::TeammateSession { .. }
            | Event::TeammateRemoved { .. }
            | Event::TaskUpdated { .. }
            | Event::TaskRenewed { .. }
            | Event::TaskAssigned { .. }
            | Event::TaskScopeGranted { .. }
            | Event::NoteAdded { .. }
            | Event::NoteRemoved { .. }
            | Event::MessageOffered { .. }
            | Event::MessageInjected { .. }
            | Event::MessageAcknowledged { .. }
            | Event::MessageExpired { .. }
            | Event::MessageBounced { .. }
            | Event::EscalationRaised { .. }
            | Event::EscalationResolved { .. }
            | Event::BreakerHalfOpened { .. }
            | Event::BreakerStrikeForgiven { .. }
            | Event::HostJoined { .. }
            | Event::HostDraining { .. }
            | Event::HostLeft { .. }
            | Event::HostLost { .. }
            | Event::HomeMoved { .. }
            | Event::BranchMoved { .. }
            | Event::UsageReserved { .. } => None,
        }
    }

    fn team_paused(&mut self, record: &Record, team: &Name, reason: &str) -> EventText {
        if self.stopping.is_some() && record.by == Actor::Person {
            return None;
        }
        // Those below are paused with it, for the same reason.
        let same = |other: &TeamPause| other.team != *team && other.pause.reason == reason;
        if self.paused.as_ref().is_some_and(same) {
            return None;
        }
        // Somebody has to see all of it to say yes.
        let pause = Pause::of_record(record)?;
        let shown = if pause.approval().is_some() { reason } else { first_line(reason) };
        let who = match &record.by {
            Actor::Teammate(who) => Some(self.name(&who.address)),
            Actor::Person | Actor::Runtime | Actor::Outside => None,
        };
        let text = match &who {
            Some(who) => format!("{who} has paused the team: {shown}"),
            None => format!("the team waits: {shown}"),
        };
        let paused = TeamPause { pause, team: team.clone(), who };
        if paused.is_halt() {
            self.add_deviation(None, first_line(&text));
        }
        self.paused = Some(paused);
        health(text)
    }

    fn message(
        &mut self,
        by: &Actor,
        to: &[Recipient],
        kind: &MessageKind,
        body: &str,
    ) -> EventText {
        // Whoever leads by a playbook is not always told that the work is done.
        self.led.is_done |= self.phases.over().is_some();
        if *kind == MessageKind::WorkDone {
            let leads = |to: &Recipient| match to {
                Recipient::Member(who) => self.led.leads(&self.name(who)),
                Recipient::Person => false,
            };
            self.led.is_done |= to.iter().any(leads);
            return None;
        }
        let from = match by {
            Actor::Teammate(who) => self.name(&who.address),
            Actor::Outside => by.to_string(),
            Actor::Person | Actor::Runtime => return None,
        };
        match to.contains(&Recipient::Person) {
            true => self.led.describe_message(&from, kind, body),
            false => None,
        }
    }

    fn gate_ran(&mut self, run: &GateRun) -> EventText {
        self.tries_gate = false;
        for id in &run.tasks {
            if let Some(task) = self.tasks.get_mut(*id) {
                task.gated = task.gated.then(run.passed);
            }
        }
        let ids: Vec<String> = run.tasks.iter().map(ToString::to_string).collect();
        if run.tried == Tried::SetUp {
            if run.passed {
                self.printed = Printed::default();
                return None;
            }
            if run.tasks.is_empty() {
                self.printed = Printed { by: "set-up", text: run.output.clone() };
                return health(SET_UP_FAILS.to_owned());
            }
            return health(format!("{SET_UP_FAILS} with task {}", ids.join(", ")));
        }
        self.gates.runs += 1;
        if run.passed {
            self.printed = Printed::default();
            self.gates.green += 1;
            return None;
        }
        self.gates.red += 1;
        if run.tasks.is_empty() {
            self.printed = Printed { by: "gate", text: run.output.clone() };
            return health("the gate is red on the base".to_owned());
        }
        health(format!("the gate is red on task {}", ids.join(", ")))
    }

    /// The runtime has stopped the team, and says why.
    pub(crate) fn halt(&self) -> Option<&Pause> {
        self.paused.as_ref().filter(|paused| paused.is_halt()).map(|paused| &paused.pause)
    }

    pub(crate) fn done(&self) -> usize {
        self.tasks.counts().done
    }

    pub(crate) fn view(
        &self,
        title: &str,
        team: &str,
        now_ms: u64,
        events: Vec<progress::Event>,
    ) -> RunView {
        let held = |name: &String, id: &u32| {
            let task = self.tasks.get(*id).filter(|task| task.owner == *name)?;
            Some((*id, task.subject.clone()))
        };
        let rows = self.mates.iter().map(|(name, mate)| Row {
            name: name.clone(),
            state_word: mate.word,
            task: mate.held.iter().find_map(|id| held(name, id)),
            since_ms: now_ms.saturating_sub(mate.since_ms),
            last_words: String::new(),
            tasks_done: mate.done,
        });
        RunView {
            title: title.to_owned(),
            team: team.to_owned(),
            phase: self.phases.now(),
            tasks: self.tasks.counts(),
            teammates: rows.collect(),
            critical_path: self.tasks.path(|task| task.status() == Status::Completed),
            stopping: self.stopping.map(|_| self.left_to_stop()),
            waiting: if self.stopping.is_some() { Vec::new() } else { self.decisions() },
            events,
            ..RunView::default()
        }
    }
}

#[cfg(test)]
mod tests;
