//! Trouble in a phase: what becomes of the team when it fails or is late.
//!
//! Whatever the rule says, what is done stays done, and somebody is told.

use std::collections::BTreeMap;

use shipmate_model::event::{Event, MessageKind, Mode, Recipient, TaskId, TaskSpec};
use shipmate_model::files::FileSet;
use shipmate_model::limits::{PRIORITY_DEFAULT, RETRIES_DEFAULT};
use shipmate_model::name::{Address, Alias, Name};
use shipmate_model::pause::PauseCause;
use shipmate_model::phase::PhaseEnd;
use shipmate_model::playbook::{Cap, Phase, Trouble};

use super::ended;
use crate::escalation;
use crate::mail;
use crate::shutdown;
use crate::state::{Course, Standing, State, Status, Task, Team, TeamPhase};

/// Most that an escalation names; the board tells the rest.
const EVIDENCE_MAX: usize = 20;

/// A phase of a team as it stands.
pub(super) struct At<'a> {
    pub(super) state: &'a State,
    pub(super) name: &'a Name,
    pub(super) team: &'a Team,
    pub(super) now: &'a Phase,
    pub(super) course: &'a Course,
}

impl At<'_> {
    /// What becomes of a phase that failed or is late.
    pub(super) fn trouble(&self, rule: &Trouble, word: &str, reason: &str) -> Vec<Event> {
        let At { state, name, team, now, course } = *self;
        let owned = reason.to_owned();
        // What never began can be neither gone back from nor left to anybody.
        let runs = matches!(course.standing, Standing::Running { .. });
        let lead =
            team.lead.as_ref().map(|lead| Address { team: name.clone(), name: lead.clone() });
        match (rule, lead) {
            (Trouble::GoOn, _) => {
                let told = mail::tell_lead(state, name, format!("phase {}: {reason}", now.name));
                let end = ended(name, course, PhaseEnd::Passed { reason: owned });
                [end].into_iter().chain(told).collect()
            }
            (Trouble::Lead, Some(lead)) if runs && !course.is_left_to_lead() => {
                self.leave_to_lead(&lead, word, reason, None)
            }
            (Trouble::Back { to, rounds, .. }, _)
                if runs && course.backs(&now.name, to) < *rounds =>
            {
                let text = format!("phase {} goes back to {to}: {reason}", now.name);
                let told = mail::tell_lead(state, name, text);
                let end = ended(name, course, PhaseEnd::Back { to: to.clone(), reason: owned });
                [end].into_iter().chain(told).collect()
            }
            (Trouble::Back { then, .. }, _) if !matches!(**then, Trouble::Back { .. }) => {
                self.trouble(then, word, reason)
            }
            (Trouble::Halt, _) => {
                let mut events = self.stop(word, reason);
                let text = format!("{name} stops everything in phase {}: {reason}", now.name);
                let active = |(_, team): &(&Name, &Team)| {
                    team.phase == TeamPhase::Active && team.paused.is_none()
                };
                let others = state.teams.iter().filter(active).map(|(team, _)| team.clone());
                events.extend(others.map(|team| {
                    let cause = Some(PauseCause::Halt { team: name.clone() });
                    Event::TeamPaused { team, reason: text.clone(), cause }
                }));
                let kind = MessageKind::Notice;
                events.extend(mail::to_one(state, Recipient::Person, kind, text, None));
                events
            }
            _ => {
                let mut events = self.stop(word, reason);
                let text = format!("{name} stops in phase {}: {reason}", now.name);
                let above = team.parent.as_ref().unwrap_or(name);
                events.extend(mail::tell_lead(state, above, text));
                events
            }
        }
    }

    fn stop(&self, word: &str, reason: &str) -> Vec<Event> {
        let end = PhaseEnd::Failed { reason: reason.to_owned() };
        let mut events = vec![ended(self.name, self.course, end)];
        let why = format!("{word}: {reason}");
        events.extend(dismiss_all(self.state, self.name, self.team, &why, events.len()));
        let (text, before) = (format!("phase {} failed: {reason}", self.now.name), events.len());
        let evidence = self.evidence();
        events.extend(escalation::of_failure(self.state, self.name, &text, &evidence, before));
        events
    }

    /// What failed, and where the work on it lies.
    fn evidence(&self) -> Vec<String> {
        let own = |task: &&Task| self.state.works_for(&task.team, self.name);
        let failed = self.state.tasks().iter().filter(own);
        let mut found = Vec::new();
        for task in failed {
            let Status::Failed { reason } = &task.status else { continue };
            let first = reason.lines().next().unwrap_or_default();
            found.push(format!("task {} ({}) failed: {first}", task.id, task.spec.subject));
            let kept = task.set_aside.iter();
            found.extend(kept.map(|kept| format!("work of {} is kept: {kept}", kept.who)));
        }
        found.truncate(EVIDENCE_MAX);
        found
    }

    /// Everybody else is asked to stop; the lead gets its hands free and whatever is left. Where
    /// no task is left, the trouble itself becomes one.
    ///
    /// With a cap this is for good, and the others have the cap's time.
    pub(super) fn leave_to_lead(
        &self,
        lead: &Address,
        word: &str,
        reason: &str,
        cap: Option<&Cap>,
    ) -> Vec<Event> {
        let At { state, name, team, now, course } = *self;
        let (phase, owned, for_good) = (now.name.clone(), reason.to_owned(), cap.is_some());
        let left = Event::PhaseLeftToLead { team: name.clone(), phase, reason: owned, for_good };
        let mut events = vec![left];
        if state.teammates[lead].profile.mode != Mode::Normal {
            events.push(Event::TeammateModeChanged { who: lead.clone(), mode: Mode::Normal });
        }
        let failed =
            state.tasks().iter().filter(|task| matches!(task.status, Status::Failed { .. }));
        let is_there = |task: &&Task| state.teams[&task.team].phase == TeamPhase::Active;
        let failed = failed.filter(|task| state.works_for(&task.team, name)).filter(is_there);
        let before = events.len();
        events.extend(failed.map(|task| Event::TaskRetried { task: task.id }));
        let is_idle = state.counts_for(name).open() == 0;
        if is_idle && events.len() == before && cap.is_none() {
            events.push(settle(state, name, now, course, lead, reason));
        }
        let why = format!("{word}: {reason}");
        let ms = cap.map_or(team.setup.shutdown_ms, |cap| cap.shutdown_ms);
        events.extend(dismiss_within(state, name, team, &why, ms, events.len()));
        let text =
            format!("{reason}. What is left of phase {} is yours; what is done stays", now.name);
        events.extend(mail::notice(state, lead, text));
        events
    }
}

/// The lead's task: settle what the phase could not.
fn settle(
    state: &State,
    team: &Name,
    now: &Phase,
    course: &Course,
    lead: &Address,
    reason: &str,
) -> Event {
    let alias = format!("{team}/{}:settle.{}", now.name, course.round);
    let alias = alias.parse::<Alias>().ok().filter(|alias| state.by_alias(alias).is_none());
    let spec = TaskSpec {
        subject: format!("Settle phase {}", now.name),
        description: reason.to_owned(),
        active_form: String::new(),
        alias,
        group: None,
        blocked_by: Vec::new(),
        files: FileSet::default(),
        role: None,
        assignee: Some(lead.name.clone()),
        priority: PRIORITY_DEFAULT,
        duration_ms: None,
        retries_max: RETRIES_DEFAULT,
        metadata: BTreeMap::new(),
        gate: now.tasks.first().and_then(|task| task.gate.clone()),
        no_change: true,
    };
    Event::TaskCreated { task: state.tasks().len() as TaskId + 1, team: team.clone(), spec }
}

pub(super) fn dismiss(
    state: &State,
    name: &Name,
    team: &Team,
    reason: &str,
    before: usize,
) -> Vec<Event> {
    dismiss_within(state, name, team, reason, team.setup.shutdown_ms, before)
}

fn dismiss_within(
    state: &State,
    name: &Name,
    team: &Team,
    reason: &str,
    deadline_ms: u64,
    before: usize,
) -> Vec<Event> {
    let mut events = Vec::new();
    let further = state.further_teams(name).flat_map(|(below, _)| state.members_of(below));
    let own = state.members_of(name);
    let own = own.filter(|(who, _)| team.lead.as_ref() != Some(&who.name));
    let others =
        own.chain(further).filter(|(_, mate)| mate.is_running() && mate.shutdown.is_none());
    for (who, mate) in others {
        let id = state.position + 1 + (before + events.len()) as u64;
        events.extend(shutdown::ask(state, who, mate, reason, deadline_ms, id));
    }
    events
}

fn dismiss_all(state: &State, name: &Name, team: &Team, reason: &str, before: usize) -> Vec<Event> {
    let mut events = dismiss(state, name, team, reason, before);
    let lead = team.lead.as_ref().map(|lead| Address { team: name.clone(), name: lead.clone() });
    let mate = lead.as_ref().and_then(|lead| state.member(lead));
    if let (Some(who), Some(mate)) = (&lead, mate)
        && mate.is_running()
        && mate.shutdown.is_none()
    {
        let id = state.position + 1 + (before + events.len()) as u64;
        events.extend(shutdown::ask(state, who, mate, reason, team.setup.shutdown_ms, id));
    }
    events
}
