//! How a phase begins: with its people, tasks and departments, in one append. Work that waits for
//! what others bring comes later, while the phase runs, in an append of its own.

use shipmate_model::command::BeginPhase;
use shipmate_model::event::{Event, MessageKind, Mode, Profile, Recipient, Seat, Verification};
use shipmate_model::files::FileSet;
use shipmate_model::limits::{SUBJECT_BYTES_MAX, TEXT_BYTES_MAX};
use shipmate_model::name::{Actor, Address, Name};
use shipmate_model::playbook::{Department, Playbook};
use shipmate_model::refusal::Refusal;

use crate::mail;
use crate::phase::trouble::dismiss;
use crate::phase::{alone, require_course};
use crate::shutdown::{self, PHASE_COMPLETE};
use crate::size::{check_texts, require_room_for_team};
use crate::state::{Course, Standing, State, Team, TeamPhase};
use crate::task::change;
use crate::task::create::created;
use crate::teammate;

/// Begins a phase: who joins, what is to be done and which departments there are, in one append.
pub(crate) fn decide_begin(
    state: &State,
    by: &Actor,
    cmd: &BeginPhase,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "begin a phase")?;
    let (team, playbook, phase, course) = require_course(state, &cmd.team, &cmd.phase, cmd.round)?;
    if course.awaits().is_none() || team.paused.is_some() {
        return Err(Refusal::OtherPhase { team: cmd.team.clone(), phase: cmd.phase.clone() });
    }
    for text in &cmd.awaits {
        check_texts(&[("what it waits for", text, SUBJECT_BYTES_MAX)])?;
    }
    if let Standing::Running { .. } = course.standing {
        return more(state, by, cmd, course);
    }
    let (name, round) = (cmd.phase.clone(), cmd.round);
    for note in &cmd.notes {
        check_texts(&[("a note about the phase", note, TEXT_BYTES_MAX / 4)])?;
    }
    let (of, notes) = (cmd.team.clone(), cmd.notes.clone());
    // New tasks first: what is tried again may wait for them. The phase counts what failed
    // before it, and what is tried again has not.
    let first = state.tasks.len() as u32 + 1;
    let again = change::again(state, &cmd.team, &cmd.again, first, &cmd.tasks)?;
    let retried: Vec<Event> = again.iter().filter(|e| is_retried(e)).cloned().collect();
    let mut events: Vec<Event> = alone::decided(course, cmd).into_iter().collect();
    let is_alone = course.alone.is_some() || !events.is_empty();
    events.extend(retried);
    events.push(Event::PhaseBegan { team: of, phase: name, round, notes });
    if phase.departments {
        for own in &playbook.departments {
            if !is_there(state, &cmd.team, own)? {
                events.push(department(&cmd.team, team, playbook, own));
            }
        }
    }
    if phase.alone && !shutdown::is_in_turn(team) {
        events.extend(dismiss(state, &cmd.team, team, PHASE_COMPLETE, events.len()));
    }
    let joining = join(state, by, cmd, &mut events)?;
    let lead =
        team.lead.as_ref().map(|name| Address { team: cmd.team.clone(), name: name.clone() });
    let lead_mode = if is_alone { Some(Mode::Normal) } else { phase.lead_mode };
    if let (Some(mode), Some(who)) = (lead_mode, &lead)
        && state.teammates[who].profile.mode != mode
    {
        events.push(Event::TeammateModeChanged { who: who.clone(), mode });
    }
    if !cmd.tasks.is_empty() {
        events.extend(created(state, &cmd.team, &cmd.tasks, &joining)?);
    }
    events.extend(again.into_iter().filter(|event| !is_retried(event)));
    if phase.lead_plans {
        let joins = |(name, profile): &&(Name, Profile)| {
            profile.seat == Seat::Lead && joining.contains(&name)
        };
        let joined = cmd.teammates.iter().find(joins);
        let joined = joined.map(|(name, _)| Address { team: cmd.team.clone(), name: name.clone() });
        if let Some(who) = lead.or(joined) {
            let goal = playbook.values.get("goal").cloned().unwrap_or_default();
            let stopped = state.member(&who).is_some_and(|lead| !lead.can_receive());
            let (to, kind, body) = match stopped {
                false => (Recipient::Member(who), MessageKind::Message, goal),
                true => {
                    let text = format!(
                        "phase {} is {who}'s, which has stopped: start it again and tell it the goal",
                        cmd.phase
                    );
                    (Recipient::Person, MessageKind::Notice, text)
                }
            };
            events.extend(mail::to_one(state, to, kind, body, None));
        }
    }
    events.extend((!cmd.awaits.is_empty()).then(|| awaiting(cmd)));
    Ok(events)
}

/// Work that a running phase waited for can be done now.
fn more(
    state: &State,
    by: &Actor,
    cmd: &BeginPhase,
    course: &Course,
) -> Result<Vec<Event>, Refusal> {
    let mut events = Vec::new();
    let joining = join(state, by, cmd, &mut events)?;
    if !cmd.tasks.is_empty() {
        events.extend(created(state, &cmd.team, &cmd.tasks, &joining)?);
    }
    let told = course.awaits().is_some_and(|awaits| awaits == cmd.awaits);
    events.extend((!told).then(|| awaiting(cmd)));
    Ok(events)
}

fn awaiting(cmd: &BeginPhase) -> Event {
    let (team, phase, missing) = (cmd.team.clone(), cmd.phase.clone(), cmd.awaits.clone());
    Event::PhaseWaits { team, phase, missing, outside: true }
}

/// Those of the command who are no members yet.
fn join<'a>(
    state: &State,
    by: &Actor,
    cmd: &'a BeginPhase,
    events: &mut Vec<Event>,
) -> Result<Vec<&'a Name>, Refusal> {
    let mut joining = Vec::new();
    for (name, profile) in &cmd.teammates {
        let who = Address { team: cmd.team.clone(), name: name.clone() };
        if state.member(&who).is_none() {
            events.extend(teammate::decide_add(state, by, &who, profile)?);
            joining.push(name);
        }
    }
    Ok(joining)
}

/// A phase that begins again finds its departments; another team of that name is in the way.
fn is_there(state: &State, parent: &Name, own: &Department) -> Result<bool, Refusal> {
    let Some(found) = state.teams.get(&own.team) else {
        return require_room_for_team(state).map(|()| false);
    };
    let playbook = found.setup.playbook.as_ref();
    let is_own = playbook.is_some_and(|playbook| playbook.department.as_ref() == Some(&own.name));
    match found.phase {
        _ if is_own && found.parent.as_ref() == Some(parent) => Ok(true),
        TeamPhase::Deleted => Err(Refusal::TeamGone { team: own.team.clone() }),
        _ => Err(Refusal::TeamExists { team: own.team.clone() }),
    }
}

fn is_retried(event: &Event) -> bool {
    matches!(event, Event::TaskRetried { .. })
}

/// A department works as its parent does, on the same branch, and leaves alone what is not its own.
fn department(parent: &Name, above: &Team, playbook: &Playbook, own: &Department) -> Event {
    let mut setup = above.setup.clone();
    let protected = setup.protected.iter().chain(own.denies.iter()).cloned().collect();
    setup.protected = FileSet::new(protected);
    if let Some(trees) = &mut setup.trees {
        trees.branch = Some(trees.branch.clone().unwrap_or_else(|| parent.clone()));
    }
    setup.playbook = Some(Box::new(playbook.of_department(own)));
    Event::TeamCreated {
        team: own.team.clone(),
        parent: Some(parent.clone()),
        description: own.description.clone(),
        verification: Verification::Gate,
        setup,
    }
}
