//! The end of a claim: submitted, completed, returned, failed, released.

use shipmate_model::event::{Event, ReleaseCause, Supervision, TaskId, Token, Verification};
use shipmate_model::handoff::Handoff;
use shipmate_model::limits::{SUBJECT_BYTES_MAX, TEXT_BYTES_MAX};
use shipmate_model::name::{Actor, Name, TeammateRef};
use shipmate_model::refusal::Refusal;
use shipmate_model::setup::GateRun;

use crate::account;
use crate::mail;
use crate::plan_mode;
use crate::size::check_texts;
use crate::state::{Claim, HandedOver, Stage, State, Status, Task, Teammate};
use crate::task::{end_attempt, failure, graph, late, require_claim, require_holder, retask};

/// What a holder hands in with its work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work<'a> {
    pub(crate) commit: Option<&'a String>,
    pub(crate) result: &'a str,
    pub(crate) handoff: Option<&'a Handoff>,
}

impl Work<'_> {
    fn check(&self) -> Result<(), Refusal> {
        if let Some(handoff) = self.handoff {
            handoff.check()?;
        }
        let commit = self.commit.map_or("", String::as_str);
        check_texts(&[
            ("the result", self.result, TEXT_BYTES_MAX),
            ("the commit", commit, SUBJECT_BYTES_MAX),
        ])
    }

    fn submitted(&self, task: TaskId, token: Token) -> Event {
        let (commit, result) = (self.commit.cloned(), self.result.to_owned());
        let handoff = self.handoff.filter(|handoff| !handoff.is_empty()).cloned().map(Box::new);
        Event::TaskSubmitted { task, token, commit, result, handoff }
    }

    fn completed(&self, task: TaskId, token: Token) -> Event {
        let (commit, result) = (self.commit.cloned(), self.result.to_owned());
        Event::TaskCompleted { task, token, commit, result }
    }
}

/// Hands in the work. Without a gate the submission is the completion.
pub(crate) fn decide_submit(
    state: &State,
    by: &Actor,
    id: TaskId,
    token: Token,
    work: Work<'_>,
) -> Result<Vec<Event>, Refusal> {
    let task = state.require_task(id)?;
    let claim = require_holder(state, by, task, token, "submit a task")?;
    if matches!(claim.stage, Stage::Submitted { .. }) {
        return Err(Refusal::AlreadySubmitted { task: id });
    }
    work.check()?;
    plan_mode::require_approved(state, &claim.by.address)?;
    let mut events = vec![work.submitted(id, token)];
    if state.teams[&task.team].verification == Verification::None {
        events.push(work.completed(id, token));
    }
    Ok(events)
}

/// Completes a task: the runtime after its gates, the holder where there is no
/// gate, or a person who decides it.
pub(crate) fn decide_complete(
    state: &State,
    by: &Actor,
    id: TaskId,
    token: Option<Token>,
    work: Work<'_>,
) -> Result<Vec<Event>, Refusal> {
    let task = state.require_task(id)?;
    let Some(claim) = task.claim() else {
        let status = task.status_word();
        return Err(match token {
            Some(token) => Refusal::StaleClaim { task: id, token, now: None, status },
            None => Refusal::NotInProgress { task: id, status },
        });
    };
    let token = token.unwrap_or(claim.token);
    require_claim(task, token)?;
    work.check()?;
    match by {
        Actor::Person => {}
        Actor::Runtime if matches!(claim.stage, Stage::Submitted { .. }) => {}
        Actor::Outside => {
            return Err(Refusal::NotTheirs { by: by.clone(), what: "complete a task" });
        }
        Actor::Runtime => return Err(Refusal::NotSubmitted { task: id }),
        Actor::Teammate(_) => {
            require_holder(state, by, task, token, "complete a task")?;
            if state.teams[&task.team].verification == Verification::Gate {
                let team = task.team.clone();
                return Err(Refusal::GateCompletes { task: id, team, who: by.clone() });
            }
            plan_mode::require_approved(state, &claim.by.address)?;
        }
    }
    Ok(vec![work.completed(id, token)])
}

/// A gate or merge said no. The task keeps its files and goes back to whoever
/// submitted it; when that life has ended or the retries are used up, it does not.
pub(crate) fn decide_return(
    state: &State,
    by: &Actor,
    id: TaskId,
    token: Token,
    reason: &str,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "return a task")?;
    let task = state.require_task(id)?;
    let claim = require_claim(task, token)?;
    if !matches!(claim.stage, Stage::Submitted { .. }) {
        return Err(Refusal::NotSubmitted { task: id });
    }
    let holder_is_there = is_holder_there(state, claim);
    let counted = same_failures(state, task, reason);
    if let Some((count, _)) = counted.filter(|(count, most)| count >= most) {
        return Ok(not_again(state, task, token, reason, count));
    }
    if !holder_is_there || task.retries >= task.spec.retries_max {
        return Ok(end_attempt(state, task, ReleaseCause::Failed, reason));
    }
    let mut events =
        vec![Event::TaskReturned { task: id, token, reason: reason.to_owned(), unchanged: false }];
    let again = match counted {
        Some((count, most)) if count > 1 => {
            format!(" with the same failure, {count} of {most} times")
        }
        _ => String::new(),
    };
    events.extend(tell_holder(state, task, claim, &format!("{again}: {reason}")));
    Ok(events)
}

/// A supervisor hands the task out again with the reason: as a message too it would be said twice.
pub(crate) fn tell_holder(state: &State, task: &Task, claim: &Claim, how: &str) -> Option<Event> {
    let who = &claim.by.address;
    let is_told = state.teammates[who].supervision == Supervision::Supervised;
    let text = format!("task {} ({}) came back{how}", task.id, task.spec.subject);
    (!is_told).then(|| mail::notice(state, who, text)).flatten()
}

/// Whoever handed it in can take it up again. A one-shot agent has had its only claim.
pub(crate) fn is_holder_there(state: &State, claim: &Claim) -> bool {
    let takes_it_up = |mate: &Teammate| mate.supervision != Supervision::OneShot;
    state.require_current(&claim.by).is_ok_and(takes_it_up)
}

/// How often in a row it has come back for this reason, and how often it may, where that counts.
fn same_failures(state: &State, task: &Task, reason: &str) -> Option<(u32, u32)> {
    let playbook = state.teams[&task.team].setup.playbook.as_ref()?;
    let most = playbook.counted.same_failure_max?;
    Some((failures_like(task, reason), most))
}

fn failures_like(task: &Task, reason: &str) -> u32 {
    let same = task.last_failure.as_ref().is_some_and(|last| failure::is_same(last, reason));
    if same { task.same_failures + 1 } else { 1 }
}

/// Whoever tried so often will not find it: the lead has to see it.
fn not_again(state: &State, task: &Task, token: Token, reason: &str, count: u32) -> Vec<Event> {
    let (id, subject) = (task.id, &task.spec.subject);
    let by = task.claim().map(|claim| claim.by.address.to_string()).unwrap_or_default();
    let text = format!(
        "task {id} ({subject}) came back to {by} {count} times in a row with the same failure; do \
         not mark it completed. Retry it with other instructions, give it to another or do it \
         yourself. The failure:\n{reason}"
    );
    let mut events = vec![Event::TaskFailed { task: id, token, reason: reason.to_owned() }];
    events.extend(mail::tell_lead(state, &task.team, text));
    let text = format!(
        "task {id} ({subject}) came back {count} times in a row with the same failure: the lead \
         decides about it. Leave it as it is"
    );
    let claim = task.claim().expect("what came back is held");
    events.extend(mail::control_notice(state, &claim.by, text));
    events
}

/// A gate ran: for the record.
pub(crate) fn decide_gate(state: &State, by: &Actor, run: &GateRun) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "report a gate")?;
    state.require_team(&run.team)?;
    check_texts(&[("the output", &run.output, TEXT_BYTES_MAX)])?;
    Ok(vec![Event::GateRan(run.clone())])
}

pub(crate) fn decide_hook(
    state: &State,
    by: &Actor,
    team: &Name,
    hook: &str,
    note: &str,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "report a hook")?;
    state.require_team(team)?;
    check_texts(&[("the note", note, TEXT_BYTES_MAX), ("the hook", hook, SUBJECT_BYTES_MAX)])?;
    let (team, hook, note) = (team.clone(), hook.to_owned(), note.to_owned());
    Ok(vec![Event::HookNoted { team, hook, note }])
}

/// The attempt failed: another may try, up to the limit.
pub(crate) fn decide_fail(
    state: &State,
    by: &Actor,
    id: TaskId,
    token: Token,
    reason: &str,
) -> Result<Vec<Event>, Refusal> {
    let task = state.require_task(id)?;
    require_holder(state, by, task, token, "fail a task")?;
    check_texts(&[("the reason", reason, TEXT_BYTES_MAX)])?;
    Ok(end_attempt(state, task, ReleaseCause::Failed, reason))
}

/// Gives a task back without blame: the holder, or a lead or person for it.
pub(crate) fn decide_release(
    state: &State,
    by: &Actor,
    id: TaskId,
    token: Option<Token>,
    reason: &str,
) -> Result<Vec<Event>, Refusal> {
    let task = state.require_task(id)?;
    let Some(claim) = task.claim() else {
        return Err(Refusal::NotInProgress { task: id, status: task.status_word() });
    };
    check_texts(&[("the reason", reason, TEXT_BYTES_MAX)])?;
    let token = token.unwrap_or(claim.token);
    require_claim(task, token)?;
    if *by == Actor::Teammate(claim.by.clone()) {
        require_holder(state, by, task, token, "release a task")?;
        return Ok(end_attempt(state, task, ReleaseCause::GivenBack, reason));
    }
    state.require_manager(by, &task.team, "release another's task")?;
    let mut events = end_attempt(state, task, ReleaseCause::Reassigned, reason);
    let text = format!("task {id} ({}) was taken from you: {reason}", task.spec.subject);
    events.extend(mail::control_notice(state, &claim.by, text));
    Ok(events)
}

pub(crate) fn apply_submitted(
    state: &mut State,
    at: u64,
    id: TaskId,
    token: Token,
    commit: &Option<String>,
    result: &str,
) {
    let holder = state.task(id).and_then(|task| task.claim()).map(|claim| claim.by.clone());
    let holder = holder.expect("what is submitted was claimed");
    if let Some(commit) = commit {
        late::apply_handed_in(state.task_mut(id), token, commit);
    }
    state.teammate_mut(&holder.address).barren = 0;
    account::apply_settled(state, &holder.address);
    set_stage(
        state,
        at,
        id,
        Stage::Submitted { commit: commit.clone(), result: result.to_owned() },
    );
}

/// What came with this claim's work before stays where no more is said; an earlier claim's does not:
/// it is about work that is not this one.
pub(crate) fn apply_handed_over(
    state: &mut State,
    id: TaskId,
    token: Token,
    handoff: Option<&Handoff>,
) {
    let task = state.task_mut(id);
    let by = task.claim().map(|claim| claim.by.clone()).expect("what is submitted was claimed");
    match handoff {
        Some(handoff) => {
            let handoff = handoff.clone();
            task.handoff = Some(Box::new(HandedOver { token, by, handoff }));
        }
        None => task.handoff = task.handoff.take().filter(|before| before.token == token),
    }
}

pub(crate) fn apply_returned(
    state: &mut State,
    at: u64,
    id: TaskId,
    reason: &str,
    unchanged: bool,
) {
    set_stage(state, at, id, Stage::Returned { reason: reason.to_owned() });
    let task = state.task_mut(id);
    // The lease begins again with the new word to the holder.
    if let Status::InProgress(claim) = &mut task.status {
        claim.renewal += 1;
    }
    task.retries += 1;
    task.unchanged |= unchanged;
    note_failure(task, &Actor::Runtime, reason);
}

/// Whose words a reason is, where it is a teammate's.
pub(super) fn teammate(by: &Actor) -> Option<TeammateRef> {
    match by {
        Actor::Teammate(who) => Some(who.clone()),
        Actor::Person | Actor::Runtime | Actor::Outside => None,
    }
}

fn note_failure(task: &mut Task, by: &Actor, reason: &str) {
    task.failure_by = teammate(by);
    task.same_failures = failures_like(task, reason);
    task.last_failure = Some(reason.to_owned());
}

fn set_stage(state: &mut State, at: u64, id: TaskId, stage: Stage) {
    retask(state, id, |task| {
        task.changed_at = at;
        match &mut task.status {
            Status::InProgress(claim) => claim.stage = stage,
            _ => unreachable!("only a task in progress has a stage"),
        }
    });
}

pub(crate) fn apply_completed(
    state: &mut State,
    at: u64,
    id: TaskId,
    commit: &Option<String>,
    result: &str,
) {
    retask(state, id, |task| {
        let by = task.claim().map(|claim| claim.by.clone());
        let (commit, result) = (commit.clone(), result.to_owned());
        task.status = Status::Completed { by, commit, result };
        task.changed_at = at;
    });
    graph::unblock_dependents(state, id);
    if let Some(group) = state.task_mut(id).spec.group.clone() {
        graph::regroup(state, &group, |group| group.completed += 1);
    }
}

pub(crate) fn apply_released(
    state: &mut State,
    at: u64,
    by: &Actor,
    id: TaskId,
    cause: ReleaseCause,
    reason: &str,
) {
    if cause == ReleaseCause::GivenBack {
        account::apply_given_back(state, id);
    }
    retask(state, id, |task| {
        task.status = Status::Pending;
        task.changed_at = at;
        if cause.costs_a_retry() {
            task.retries += 1;
            note_failure(task, by, reason);
            // A holder that is gone has handed in nothing that could fail as before.
            if cause != ReleaseCause::Failed {
                task.same_failures = 0;
            }
        }
        task.unchanged |= cause == ReleaseCause::Unchanged;
    });
}

pub(crate) fn apply_failed(state: &mut State, at: u64, by: &Actor, id: TaskId, reason: &str) {
    retask(state, id, |task| {
        task.status = Status::Failed { reason: reason.to_owned() };
        note_failure(task, by, reason);
        task.changed_at = at;
    });
}
