//! A phase that a person lets begin.
//!
//! The runtime asks and a person answers; the question is a pause of the team with a cause of its
//! own, and its record is its name. An answer that names another question changes nothing: what was
//! shown and what is decided are the same.

use shipmate_model::event::Event;
use shipmate_model::limits::TEXT_BYTES_MAX;
use shipmate_model::name::{Actor, Name, Position};
use shipmate_model::pause::{Pause, PauseCause};
use shipmate_model::refusal::Refusal;

use crate::size::check_texts;
use crate::state::{Standing, State};
use crate::team;

/// Asks a person to let the phase begin that a team waits for.
pub(crate) fn decide_ask(
    state: &State,
    by: &Actor,
    name: &Name,
    phase: &Name,
    text: &str,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "ask a person to let a phase begin")?;
    let team = state.require_active_team(name)?;
    check_texts(&[("the question", text, TEXT_BYTES_MAX)])?;
    let course = team.course.as_ref().filter(|course| {
        course.phase == *phase && matches!(course.standing, Standing::Waiting { .. })
    });
    if course.is_none() {
        return Err(Refusal::OtherPhase { team: name.clone(), phase: phase.clone() });
    }
    if team.paused.is_some() {
        return Ok(Vec::new());
    }
    let cause = Some(PauseCause::Approval { phase: phase.clone() });
    Ok(vec![Event::TeamPaused { team: name.clone(), reason: text.to_owned(), cause }])
}

/// The yes to the question that is named, and to no other.
pub(crate) fn decide_approve(
    state: &State,
    by: &Actor,
    name: &Name,
    question: Position,
) -> Result<Vec<Event>, Refusal> {
    let team = state.require_active_team(name)?;
    let asks = |pause: &&Pause| pause.n == question && pause.approval().is_some();
    if team.paused.as_ref().filter(asks).is_none() {
        return Err(Refusal::ApprovalPast { team: name.clone(), question });
    }
    team::decide_continue(state, by, name)
}

/// A team goes on. Where its person was asked about the phase it waits for, that was the yes.
pub(crate) fn apply_continued(state: &mut State, team: &Name) {
    let team = state.team_mut(team);
    let (paused, course) = (team.paused.take(), team.course.as_mut());
    if let (Some(pause), Some(course)) = (paused, course)
        && pause.approval() == Some(&course.phase)
    {
        course.approved = Some(course.phase.clone());
    }
}
