//! Phases: how a team goes through its playbook.
//!
//! A phase waits until what it needs is there, begins with its people and tasks in one append,
//! and ends when its tasks are settled and the runtime has looked at its gate and artifacts.
//! Only one is under way in a team, so whatever is open on its board belongs to it. What the
//! runtime finds in files is reported; every step from it is decided here.

pub(crate) mod alone;
pub(crate) mod approval;
mod begin;
mod settled;
mod trouble;

use shipmate_model::command::PhaseVerdict;
use shipmate_model::event::Event;
use shipmate_model::limits::{SUBJECT_BYTES_MAX, TEXT_BYTES_MAX};
use shipmate_model::name::{Actor, Name, Position};
use shipmate_model::phase::PhaseEnd;
use shipmate_model::playbook::{Phase, Playbook, Trouble};
use shipmate_model::refusal::Refusal;

use crate::shutdown::{self, PHASE_COMPLETE};
use crate::size::check_texts;
use crate::state::{Course, Past, Standing, State, Status, Team};
use trouble::{At, dismiss};

pub(crate) use begin::decide_begin;
pub(crate) use settled::is_settled;
pub use settled::{failed, no_plan};

const TIMEOUT: &str = "timeout";
const ERROR: &str = "error";
/// Most that is said about the end of a phase.
pub const END_BYTES_MAX: usize = TEXT_BYTES_MAX / 2;

fn require_course<'a>(
    state: &'a State,
    team: &Name,
    phase: &Name,
    round: u32,
) -> Result<(&'a Team, &'a Playbook, &'a Phase, &'a Course), Refusal> {
    let found = state.require_active_team(team)?;
    let stale = || Refusal::OtherPhase { team: team.clone(), phase: phase.clone() };
    let (playbook, now, course) = found.phase_now().ok_or_else(stale)?;
    if course.phase != *phase || course.round != round || course.is_over() {
        return Err(stale());
    }
    Ok((found, playbook, now, course))
}

pub(crate) fn decide_hold(
    state: &State,
    by: &Actor,
    team: &Name,
    phase: &Name,
    missing: &[String],
    outside: bool,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "say what a phase waits for")?;
    let found = state.require_active_team(team)?;
    let Some((_, _, course)) = found.phase_now() else { return Ok(Vec::new()) };
    for text in missing {
        check_texts(&[("what is missing", text, SUBJECT_BYTES_MAX)])?;
    }
    let runs = matches!(course.standing, Standing::Running { .. });
    match course.awaits() {
        // What a running phase waits for has come only when its work begins.
        Some(_) if runs && missing.is_empty() => Ok(Vec::new()),
        Some(told) if course.phase == *phase && told != missing => {
            let (team, phase, missing) = (team.clone(), phase.clone(), missing.to_vec());
            Ok(vec![Event::PhaseWaits { team, phase, missing, outside }])
        }
        _ => Ok(Vec::new()),
    }
}

/// A phase is over: the runtime has looked, or a person leaves out one that may be left out.
pub(crate) fn decide_end(
    state: &State,
    by: &Actor,
    name: &Name,
    phase: &Name,
    round: u32,
    verdict: &PhaseVerdict,
) -> Result<Vec<Event>, Refusal> {
    let (team, _, now, course) = require_course(state, name, phase, round)?;
    let waits = matches!(course.standing, Standing::Waiting { .. });
    match (by, verdict) {
        (Actor::Runtime, _) => {}
        (Actor::Person, PhaseVerdict::Skip { .. }) if now.optional && waits => {}
        _ => return Err(Refusal::PhaseNeeded { team: name.clone(), phase: phase.clone() }),
    }
    let (PhaseVerdict::Done { note: text }
    | PhaseVerdict::Skip { reason: text }
    | PhaseVerdict::Failed { reason: text }) = verdict;
    check_texts(&[("the word about the phase", text, END_BYTES_MAX)])?;
    let end = match verdict {
        PhaseVerdict::Done { note } => PhaseEnd::Done { note: note.clone() },
        PhaseVerdict::Skip { reason } => PhaseEnd::Skipped { reason: reason.clone() },
        PhaseVerdict::Failed { reason } => {
            // What could not even begin has come to nothing that the team could go on with.
            let rule = match &now.failed {
                Trouble::GoOn | Trouble::Lead if waits => &Trouble::Stop,
                rule => rule,
            };
            return Ok(At { state, name, team, now, course }.trouble(rule, ERROR, reason));
        }
    };
    let mut events = vec![ended(name, course, end)];
    if now.dismiss && !shutdown::is_in_turn(team) {
        events.extend(dismiss(state, name, team, PHASE_COMPLETE, events.len()));
    }
    Ok(events)
}

fn ended(team: &Name, course: &Course, end: PhaseEnd) -> Event {
    let (phase, round) = (course.phase.clone(), course.round);
    Event::PhaseEnded { team: team.clone(), phase, round, end }
}

/// The time of a phase is over.
pub(crate) fn decide_expire(
    state: &State,
    by: &Actor,
    name: &Name,
    began: Position,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "end a phase's time")?;
    let team = state.require_active_team(name)?;
    let Some((_, now, course)) = team.phase_now() else { return Ok(Vec::new()) };
    let runs = |at: &Position, lead: &Option<Position>| *at == began && lead.is_none();
    match &course.standing {
        Standing::Running { began, left_to_lead, .. } if runs(began, left_to_lead) => {
            let seconds = now.deadline_ms.unwrap_or_default() / 1000;
            let reason = format!("the time of phase {}, {seconds} s, is over", now.name);
            Ok(At { state, name, team, now, course }.trouble(&now.late, TIMEOUT, &reason))
        }
        _ => Ok(Vec::new()),
    }
}

/// Everybody but the lead goes, one after the other, where the phase sends them and the playbook
/// wants it so.
fn send_in_turn(state: &mut State, name: &Name, sends: impl Fn(&Phase) -> bool) {
    let team = &state.teams[name];
    let now = team.phase_now().is_some_and(|(_, now, _)| sends(now));
    if !now || !shutdown::is_in_turn(team) {
        return;
    }
    let lead = team.lead.clone();
    let others = state
        .members_of(name)
        .filter(|(who, mate)| mate.is_running() && lead.as_ref() != Some(&who.name));
    for who in others.map(|(who, _)| who.clone()).collect::<Vec<_>>() {
        state.teammate_mut(&who).leaving = true;
    }
}

fn course_mut<'a>(state: &'a mut State, team: &Name) -> &'a mut Course {
    let course = state.team_mut(team).course.as_mut();
    course.expect("a phase is of a team with a playbook")
}

pub(crate) fn apply_waits(state: &mut State, team: &Name, phase: &Name, missing: &[String]) {
    let course = course_mut(state, team);
    assert_eq!(course.phase, *phase, "only the phase that a team is at waits");
    match &mut course.standing {
        Standing::Running { awaits, .. } => *awaits = missing.to_vec(),
        standing => *standing = Standing::Waiting { missing: missing.to_vec() },
    }
}

pub(crate) fn apply_began(
    state: &mut State,
    (began, began_at): (Position, u64),
    team: &Name,
    phase: &Name,
    round: u32,
) {
    send_in_turn(state, team, |now| now.alone);
    let failed = state
        .tasks()
        .iter()
        .filter(|task| matches!(task.status, Status::Failed { .. }))
        .filter(|task| state.works_for(&task.team, team));
    let failed_before = failed.map(|task| task.id).collect();
    let course = course_mut(state, team);
    course.rounds.insert(phase.clone(), round);
    let left_to_lead = course.alone.is_some().then_some(began);
    let awaits = Vec::new();
    course.standing = Standing::Running { began, began_at, failed_before, left_to_lead, awaits };
}

pub(crate) fn apply_left_to_lead(
    state: &mut State,
    at: Position,
    team: &Name,
    for_good: Option<&String>,
) {
    let course = course_mut(state, team);
    course.alone = course.alone.take().or(for_good.cloned());
    if let Standing::Running { left_to_lead, .. } = &mut course.standing {
        *left_to_lead = Some(at);
    }
}

pub(crate) fn apply_ended(
    state: &mut State,
    ended_at: u64,
    name: &Name,
    phase: &Name,
    round: u32,
    end: &PhaseEnd,
) {
    if matches!(end, PhaseEnd::Done { .. } | PhaseEnd::Skipped { .. }) {
        send_in_turn(state, name, |now| now.dismiss);
    }
    let team = state.team_mut(name);
    let playbook = team.setup.playbook.as_ref().expect("a phase is of a playbook");
    let course = team.course.as_mut().expect("a phase is of a team with a playbook");
    let began_at = match &course.standing {
        Standing::Running { began_at, .. } => Some(*began_at),
        _ => None,
    };
    let (phase_name, end_now) = (phase.clone(), end.clone());
    course.past.push(Past { phase: phase_name, round, end: end_now, began_at, ended_at });
    let next = match end {
        PhaseEnd::Failed { .. } => None,
        PhaseEnd::Back { to, .. } => Some(to),
        _ => {
            let mut all = playbook.course().map(|phase| &phase.name);
            all.find(|name| *name == phase);
            all.next()
        }
    };
    match next {
        None => course.standing = Standing::Over,
        Some(next) => {
            course.round = course.rounds.get(next).copied().unwrap_or_default() + 1;
            course.phase = next.clone();
            course.standing = Standing::Waiting { missing: Vec::new() };
        }
    }
}
