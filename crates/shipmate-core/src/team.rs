//! Teams: a tree in one log. Deleting one ends everybody in it first.

use shipmate_model::command::{CreateTeam, Urgency};
use shipmate_model::event::{
    AgentChoice, Event, MessageKind, Mode, Outcome, Profile, Recipient, Record, Seat, TeamChanges,
};
use shipmate_model::limits::TEXT_BYTES_MAX;
use shipmate_model::name::{Actor, Address, Name};
use shipmate_model::pause::PauseCause;
use shipmate_model::refusal::Refusal;
use shipmate_model::setup::Setup;

use crate::breaker;
use crate::ending::{gone, subtree};
use crate::life;
use crate::mail;
use crate::pause;
use crate::shutdown;
use crate::size::{check_choice, check_setup, check_texts, require_room_for_team};
use crate::staff;
use crate::state::{
    Decision, Plan, Question, State, Team, TeamPhase, Teammate, current, ends_by_process,
};
use crate::usage;

pub(crate) fn decide_create(
    state: &State,
    by: &Actor,
    cmd: &CreateTeam,
) -> Result<Vec<Event>, Refusal> {
    match state.teams.get(&cmd.team).map(|team| team.phase) {
        Some(TeamPhase::Deleted) => return Err(Refusal::TeamGone { team: cmd.team.clone() }),
        Some(TeamPhase::Ending) => return Err(Refusal::TeamEnding { team: cmd.team.clone() }),
        Some(TeamPhase::Active) => return Err(Refusal::TeamExists { team: cmd.team.clone() }),
        None => {}
    }
    match (&cmd.parent, &state.root) {
        (Some(parent), _) => {
            state.require_active_team(parent)?;
            state.require_manager(by, parent, "create a team below it")?;
            let playbook = state.teams[parent].setup.playbook.as_ref();
            if playbook.is_some_and(|playbook| !playbook.departments.is_empty()) {
                let what = "create a team: the playbook says which departments there are";
                return Err(Refusal::NotTheirs { by: by.clone(), what });
            }
        }
        (None, Some(root)) => return Err(Refusal::SecondRoot { root: root.clone() }),
        (None, None) => {}
    }
    require_room_for_team(state)?;
    check_texts(&[("the description", &cmd.description, TEXT_BYTES_MAX)])?;
    check_setup(&cmd.setup)?;
    // What is below works as its parent does; nobody in a team may choose other gates. Only the
    // phases of a playbook are its parent's alone.
    let setup = match &cmd.parent {
        Some(parent) if matches!(by, Actor::Teammate(_)) || cmd.setup.is_default() => {
            let above = &state.teams[parent].setup;
            let mut setup = Setup { playbook: None, ..Setup::clone(above) };
            // What a lead's further team does comes to where the lead's own work does, and so does
            // what is below a team with phases, which are not over before it is done.
            let in_phases = state.lineage(parent).any(|above| above.setup.playbook.is_some());
            let joins = in_phases || matches!(by, Actor::Teammate(_));
            if let Some(trees) = setup.trees.as_mut().filter(|_| joins) {
                trees.branch = Some(above.branch(parent).clone());
            }
            Box::new(setup)
        }
        _ => cmd.setup.clone(),
    };
    let verification = match &cmd.parent {
        Some(parent) if matches!(by, Actor::Teammate(_)) => {
            cmd.verification.max(state.teams[parent].verification)
        }
        _ => cmd.verification,
    };
    let mut events = vec![Event::TeamCreated {
        team: cmd.team.clone(),
        parent: cmd.parent.clone(),
        description: cmd.description.clone(),
        verification,
        setup,
    }];
    if let Some(lead) = &cmd.lead {
        events.push(Event::TeammateAdded {
            who: Address { team: cmd.team.clone(), name: lead.clone() },
            profile: Profile { seat: Seat::Lead, tasks_max: 1, ..Profile::default() },
        });
    }
    Ok(events)
}

pub(crate) fn apply_created(state: &mut State, name: &Name, team: Team) {
    if team.parent.is_none() {
        state.root = Some(name.clone());
    }
    state.teams.insert(name.clone(), team);
}

/// Stops new work: nobody starts and nobody claims until it is continued.
pub(crate) fn decide_pause(
    state: &State,
    by: &Actor,
    team: &Name,
    reason: &str,
) -> Result<Vec<Event>, Refusal> {
    let found = state.require_active_team(team)?;
    state.require_manager(by, team, "pause the team")?;
    check_texts(&[("the reason", reason, TEXT_BYTES_MAX)])?;
    if found.paused.is_some() {
        return Ok(Vec::new());
    }
    let paused = |team: &Name| {
        let cause = Some(PauseCause::of(by));
        Event::TeamPaused { team: team.clone(), reason: reason.to_owned(), cause }
    };
    let further = state.further_teams(team).filter(|(_, found)| found.paused.is_none());
    Ok([paused(team)].into_iter().chain(further.map(|(name, _)| paused(name))).collect())
}

pub(crate) fn apply_paused(
    state: &mut State,
    record: &Record,
    team: &Name,
    reason: &str,
    cause: Option<&PauseCause>,
) {
    let team = state.team_mut(team);
    let phase = team.course.as_ref().map(|course| &course.phase);
    let old = || pause::of_old_record(&record.by, reason, phase);
    let cause = cause.cloned().unwrap_or_else(old);
    team.paused = Some(pause::of_record(record, cause, reason));
}

pub(crate) fn decide_continue(
    state: &State,
    by: &Actor,
    team: &Name,
) -> Result<Vec<Event>, Refusal> {
    let found = state.require_active_team(team)?;
    state.require_manager(by, team, "let the team continue")?;
    let asks = found.paused.as_ref().is_some_and(|pause| pause.approval().is_some());
    let is_lead = matches!(by, Actor::Teammate(_));
    if asks && is_lead {
        let what = "let a phase begin that a person is asked about";
        return Err(Refusal::NotTheirs { by: by.clone(), what });
    }
    let mut events = Vec::new();
    if found.paused.is_some() || (!is_lead && staff::is_held_back(state, team)) {
        events.push(Event::TeamContinued { team: team.clone() });
    }
    // What was paused with it goes on with it.
    let reason = |team: &Team| team.paused.as_ref().map(|pause| pause.reason.clone());
    let with_it = |below: &Team| below.paused.is_some() && reason(below) == reason(found);
    let further = state.further_teams(team).filter(|(_, below)| with_it(below));
    events.extend(further.map(|(name, _)| Event::TeamContinued { team: name.clone() }));
    if !is_lead {
        events.extend(breaker::close_breaker(state, team));
        let members = state.members_of(team);
        events.extend(members.flat_map(|(who, mate)| usage::tries_again(state, who, mate)));
        events.extend(ask_again(state, team, found));
    }
    Ok(events)
}

/// The goal once more, where whoever was asked for a plan has none and nothing to go on with.
fn ask_again(state: &State, name: &Name, team: &Team) -> Option<Event> {
    let (goal, lead) = (team.goal.clone()?, team.lead.clone()?);
    let lead = Address { team: name.clone(), name: lead };
    let mate = state.member(&lead).filter(|mate| is_asked_for_plan(mate))?;
    let plans = |plan: &Plan| plan.who.address == lead && plan.decision == Decision::Open;
    let asks = |question: &Question| question.who.address == lead && question.is_open();
    let waits = state.plans.values().any(plans) || state.questions.values().any(asks);
    if waits || staff::has_word(state, team, mate) {
        return None;
    }
    mail::to_one(state, Recipient::Member(lead), MessageKind::Message, goal, None)
}

/// Its work begins with a plan that somebody asks it for.
fn is_asked_for_plan(mate: &Teammate) -> bool {
    mate.is_lead() && mate.profile.mode == Mode::Plan && mate.profile.hears
}

/// The first that a person tells such a lead is what the team is for.
pub(crate) fn apply_word(
    state: &mut State,
    from: &Actor,
    kind: &MessageKind,
    to: &[Recipient],
    body: &str,
) {
    let ([Recipient::Member(who)], Actor::Person, MessageKind::Message) = (to, from, kind) else {
        return;
    };
    let asked = state.teammates.get(who).is_some_and(is_asked_for_plan);
    let team = state.team_mut(&who.team);
    if asked && team.plan.is_empty() && team.goal.is_none() {
        team.goal = Some(body.to_owned());
    }
}

/// Changes how a team that exists works. What is verified next, and whoever is started next, is
/// by the new ways.
pub(crate) fn decide_change(
    state: &State,
    by: &Actor,
    team: &Name,
    changes: &TeamChanges,
    agents: &[(Address, AgentChoice)],
) -> Result<Vec<Event>, Refusal> {
    let found = state.require_active_team(team)?;
    if matches!(by, Actor::Teammate(_)) {
        // The model of whom it brings in is the lead's to choose; gates, where work begins and
        // commands that run are not.
        let model = changes.model.clone();
        if *changes != (TeamChanges { model, ..TeamChanges::default() }) || !agents.is_empty() {
            return Err(Refusal::NotTheirs { by: by.clone(), what: "change how the team works" });
        }
        state.require_manager(by, team, "change what its teammates work with")?;
    }
    let mut setup = Setup::clone(&found.setup);
    changes.apply(&mut setup);
    check_setup(&setup)?;
    let mut events = Vec::new();
    if setup != *found.setup {
        events.push(Event::TeamChanged { team: team.clone(), changes: changes.clone() });
    }
    for (who, choice) in agents {
        let mate = state.require_member(who)?;
        check_choice(choice)?;
        if AgentChoice::of(&mate.profile) != *choice {
            let (who, choice) = (who.clone(), choice.clone());
            events.push(Event::TeammateAgentChanged { who, choice });
        }
    }
    Ok(events)
}

/// Ends a team and every team below it.
///
/// Everybody who runs is asked to stop and has until the deadline; the team is gone
/// when the last of them is. With nobody running it is gone at once. Never a
/// silent refusal and never a leak: what does not answer is ended by the runtime.
pub(crate) fn decide_delete(
    state: &State,
    by: &Actor,
    team: &Name,
    reason: &str,
    urgency: Urgency,
) -> Result<Vec<Event>, Refusal> {
    let found = state.require_team(team)?;
    state.require_manager(by, team, "delete the team")?;
    check_texts(&[("the reason", reason, TEXT_BYTES_MAX)])?;
    let mut events = Vec::new();
    let ending = subtree(state, team);
    if found.phase == TeamPhase::Active {
        let fresh = ending.iter().filter(|team| state.teams[team].phase == TeamPhase::Active);
        events.extend(fresh.map(|team| Event::TeamDeletionRequested { team: (*team).clone() }));
    } else if urgency != Urgency::Now {
        return Err(Refusal::TeamEnding { team: team.clone() });
    }
    let mut left = 0;
    for name in &ending {
        for (address, mate) in state.members_of(name).filter(|(_, mate)| mate.is_running()) {
            let id = state.position + 1 + events.len() as u64;
            match urgency {
                Urgency::Now if !ends_by_process(mate) => {
                    let who = current(address, mate);
                    events.extend(life::end_life(state, &who, mate, Outcome::Forced));
                }
                Urgency::Now => {
                    left += 1;
                    events.extend(shutdown::ask(state, address, mate, reason, 0, id));
                }
                Urgency::Deadline { ms } => {
                    left += 1;
                    events.extend(shutdown::ask(state, address, mate, reason, ms, id));
                }
            }
        }
    }
    if left == 0 {
        events.extend(ending.iter().rev().flat_map(|team| gone(state, team, None, &ending)));
    }
    Ok(events)
}
