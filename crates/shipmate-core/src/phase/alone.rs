//! When there is no team any more, or never was one: the lead does what is left.
//!
//! There are two ways to it. The work is too little for a team, which is known before the first
//! phase begins; or the time of the team is over. Both hold for every phase to come, and whatever
//! has landed stays.
//!
//! A team without a playbook has a time too: when it is over, everybody is asked to stop.

use shipmate_model::command::BeginPhase;
use shipmate_model::event::Event;
use shipmate_model::name::{Actor, Address, Name};
use shipmate_model::pause::PauseCause;
use shipmate_model::playbook::Cap;
use shipmate_model::refusal::Refusal;

use crate::mail;
use crate::phase::TIMEOUT;
use crate::phase::trouble::At;
use crate::shutdown;
use crate::state::{Course, Standing, State, Status, Task, Team};

/// How many tasks are named before they are only counted.
const NAMED_MAX: usize = 10;

/// The runtime has found that the work is for one.
pub(super) fn decided(course: &Course, cmd: &BeginPhase) -> Option<Event> {
    let reason = cmd.alone.clone().filter(|_| course.alone.is_none())?;
    let (team, phase) = (cmd.team.clone(), cmd.phase.clone());
    Some(Event::PhaseLeftToLead { team, phase, reason, for_good: true })
}

/// The cap whose time runs now.
pub(crate) fn running_cap(team: &Team) -> Option<&Cap> {
    let (playbook, _, course) = team.phase_now()?;
    let cap = playbook.cap.as_ref()?;
    let began = match &cap.from {
        Some(from) => course.rounds.contains_key(from),
        None => !course.rounds.is_empty(),
    };
    let is_open = course.standing != Standing::Over && course.alone.is_none();
    (began && is_open && team.paused.is_none() && team.lead.is_some()).then_some(cap)
}

/// The time of the team is over: everybody but the lead is asked to stop, all at once.
pub(crate) fn expire(state: &State, name: &Name, team: &Team, cap: &Cap) -> Vec<Event> {
    let Some(((_, now, course), lead)) = team.phase_now().zip(team.lead.clone()) else {
        return Vec::new();
    };
    let lead = Address { team: name.clone(), name: lead };
    let reason = format!("the team's time of {} s is over{}", cap.ms / 1000, open(state, name));
    let at = At { state, name, team, now, course };
    at.leave_to_lead(&lead, TIMEOUT, &reason, Some(cap))
}

/// What is not done yet, in words.
fn open(state: &State, team: &Name) -> String {
    let is_open = |task: &&Task| {
        matches!(task.status, Status::Pending | Status::InProgress(_))
            && state.works_for(&task.team, team)
    };
    let open: Vec<String> = state
        .tasks()
        .iter()
        .filter(is_open)
        .map(|task| format!("task {} ({})", task.id, task.spec.subject))
        .collect();
    let more = open.len().saturating_sub(NAMED_MAX);
    let named = open.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
    match (open.len(), more) {
        (0, _) => String::new(),
        (_, 0) => format!("; not done: {named}"),
        (_, more) => format!("; not done: {named} and {more} more"),
    }
}

/// The team's time is over: no new work, and everybody is asked to stop.
pub(crate) fn decide_expire(state: &State, by: &Actor, team: &Name) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "end a team's time")?;
    let found = state.require_active_team(team)?;
    if let Some(cap) = running_cap(found) {
        return Ok(expire(state, team, found, cap));
    }
    let Some(timeout_ms) = found.setup.timeout_ms.filter(|_| found.paused.is_none()) else {
        return Ok(Vec::new());
    };
    let reason = format!("the team's time of {} s is over", timeout_ms / 1000);
    let (name, cause) = (team.clone(), Some(PauseCause::TimeOver));
    let mut events = vec![Event::TeamPaused { team: name, reason: reason.clone(), cause }];
    for (address, mate) in state.members_of(team).filter(|(_, mate)| mate.is_running()) {
        let id = state.position + 1 + events.len() as u64;
        let ms = found.setup.shutdown_ms;
        events.extend(shutdown::ask(state, address, mate, &reason, ms, id));
    }
    events.extend(mail::tell_lead(state, team, reason));
    Ok(events)
}
