//! Phases come in their order, one at a time, and no more often than their playbook lets them.

use shipmate_core::State;
use shipmate_core::state::Standing;
use shipmate_model::Actor;
use shipmate_model::event::{Event, Record};
use shipmate_model::pause::PauseCause;
use shipmate_model::phase::PhaseEnd;
use shipmate_model::playbook::Trouble;

use super::{Check, hold};
use crate::simulation::model::{CourseFacts, Model, StandingFacts};

/// What is recorded of a phase is about the one that the team is in or waits for.
pub(super) fn phases_come_in_their_order(model: &Model, record: &Record) -> Check {
    let (team, phase, round) = match &record.event {
        Event::PhaseWaits { team, phase, .. } | Event::PhaseLeftToLead { team, phase, .. } => {
            (team, phase, None)
        }
        Event::PhaseBegan { team, phase, round, .. }
        | Event::PhaseEnded { team, phase, round, .. } => (team, phase, Some(*round)),
        _ => return Ok(()),
    };
    let Some(course) = model.course(team) else {
        return hold("phases", false, || format!("{team} has no playbook and {:?}", record.event));
    };
    let told = || format!("{:?} in {team}, which is at {course:?}", record.event);
    hold("phases", course.is_at(phase, round.unwrap_or(course.round())), told)?;
    let waits = course.standing == StandingFacts::Waiting;
    let runs = matches!(course.standing, StandingFacts::Running(_));
    match &record.event {
        Event::PhaseWaits { .. } | Event::PhaseBegan { .. } => hold("phases", waits, told),
        Event::PhaseLeftToLead { .. } => {
            hold("phases", runs && model.teams[team].lead.is_some(), told)
        }
        _ => Ok(()),
    }
}

/// The question whether a phase may begin is the runtime's, about the phase that a team waits for,
/// and no teammate answers it.
pub(super) fn only_the_runtime_asks_and_only_a_person_answers(
    model: &Model,
    record: &Record,
) -> Check {
    let is_teammate = matches!(record.by, Actor::Teammate(_));
    let right = match &record.event {
        Event::TeamPaused { team, cause: Some(PauseCause::Approval { phase }), .. } => {
            let waits = |course: &CourseFacts| {
                course.standing == StandingFacts::Waiting && course.phase() == phase
            };
            record.by == Actor::Runtime && model.course(team).is_some_and(waits)
        }
        Event::TeamPaused { cause, .. } => match cause {
            Some(PauseCause::Asked) => record.by != Actor::Runtime,
            Some(_) => record.by == Actor::Runtime,
            None => false,
        },
        Event::TeamContinued { team } => !(is_teammate && model.teams[team].asks.is_some()),
        Event::TeammatePaused { who, cause: Some(PauseCause::Budget), .. } => {
            matches!(&record.by, Actor::Teammate(me) if me.address == *who)
        }
        _ => true,
    };
    hold("approval", right, || format!("{:?} by {}", record.event, record.by))
}

/// A phase is gone back to only so often as its playbook says, so every run comes to its end.
pub(super) fn nobody_goes_round_for_ever(state: &State, record: &Record) -> Check {
    let Event::PhaseEnded { team, phase, end: PhaseEnd::Back { to, .. }, .. } = &record.event
    else {
        return Ok(());
    };
    let playbook = state.teams[team].setup.playbook.as_ref().expect("a phase is of a playbook");
    let found = playbook.phases.iter().find(|found| found.name == *phase);
    let rounds = found.into_iter().flat_map(|found| [&found.failed, &found.late]);
    let most = rounds.filter_map(|rule| match rule {
        Trouble::Back { to: named, rounds, .. } if named == to => Some(*rounds),
        _ => None,
    });
    let most = most.max().unwrap_or(0);
    let course = state.teams[team].course.as_ref().expect("a phase is of a course");
    let back = |past: &&shipmate_core::state::Past| {
        past.phase == *phase && matches!(&past.end, PhaseEnd::Back { to: there, .. } if there == to)
    };
    let been = course.past.iter().filter(back).count();
    hold("phases", been < most as usize, || {
        format!("{team} went back from {phase} to {to} {been} times already and may {most} times")
    })
}

pub(super) fn each_team_is_where_the_log_says(model: &Model, state: &State) -> Check {
    for (name, team) in &state.teams {
        let facts = model.course(name);
        let same = match (&team.course, facts) {
            (None, None) => true,
            (Some(course), Some(facts)) => {
                let standing = match course.standing {
                    Standing::Waiting { .. } => StandingFacts::Waiting,
                    Standing::Running { began, left_to_lead: None, .. } => {
                        StandingFacts::Running(began)
                    }
                    Standing::Running { left_to_lead: Some(at), .. } => {
                        StandingFacts::LeftToLead(at)
                    }
                    Standing::Over => StandingFacts::Over,
                };
                standing == facts.standing
                    && course.approved == model.teams[name].approved
                    && course.rounds == facts.begun
                    && (course.is_over() || facts.is_at(&course.phase, course.round))
            }
            _ => false,
        };
        hold("replay", same, || {
            format!("{name} is at {:?}, and the log says {facts:?}", team.course)
        })?;
    }
    Ok(())
}
