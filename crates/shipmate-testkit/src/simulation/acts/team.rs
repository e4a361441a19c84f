//! Acts about teams and teammates.

use shipmate_core::state::Life;
use shipmate_model::command::{CreateTeam, StartTeammate, Urgency};
use shipmate_model::event::{
    AgentChoice, Budget, Mode, Outcome, Profile, Seat, Supervision, TeamChanges, Verification,
};
use shipmate_model::files::FileSet;
use shipmate_model::profile::{Loss, StartRule};
use shipmate_model::setup::{Setup, TreeMode, Trees};
use shipmate_model::{Act, Address, Name};

use super::{Chooser, phase};
use crate::simulation::vocabulary::{self, MATES, ROLES, TEAMS, pick_name};

pub(super) fn create_team(c: &mut Chooser<'_>) -> Option<Act> {
    if c.state.teams.len() >= 3 && !c.random.chance(100) {
        return None;
    }
    let parent =
        if c.state.teams.is_empty() || c.random.chance(50) { None } else { Some(c.team()) };
    let team = pick_name(c.random, &TEAMS);
    let verification = if c.random.chance(400) { Verification::Gate } else { Verification::None };
    let lead = c.random.chance(700).then(|| pick_name(c.random, &MATES));
    let description = c.text("team");
    let setup = Box::new(setup(c));
    Some(Act::CreateTeam(CreateTeam { team, parent, description, verification, lead, setup }))
}

fn setup(c: &mut Chooser<'_>) -> Setup {
    if c.random.chance(300) {
        return Setup::default();
    }
    Setup {
        stall_ms: [0, 5_000, 60_000][c.random.index(3)],
        answer_ms: c.random.between(1_000, 60_000),
        shutdown_ms: c.random.below(30_000),
        timeout_ms: c.random.chance(100).then(|| c.random.between(20_000, 200_000)),
        trees: c.random.chance(500).then(|| Trees {
            mode: TreeMode::Own,
            base: "5eed".to_owned(),
            branch: None,
            preparation: Default::default(),
        }),
        playbook: c.random.chance(400).then(|| Box::new(phase::playbook(c.random, true))),
        ..Setup::default()
    }
}

pub(super) fn pause_team(c: &mut Chooser<'_>) -> Option<Act> {
    let team = c.team();
    let course = c.state.teams.get(&team).and_then(|team| team.course.as_ref());
    // Words that look like the runtime's question are words.
    let forged = course.map(|course| phase::question(&course.phase));
    let reason = match forged {
        Some(forged) if c.random.chance(500) => forged,
        _ => c.text("pause"),
    };
    Some(Act::PauseTeam { team, reason })
}

pub(super) fn continue_team(c: &mut Chooser<'_>) -> Option<Act> {
    let paused = c.state.teams.iter().filter(|(_, team)| team.paused.is_some());
    let paused: Vec<Name> = paused.map(|(name, _)| name.clone()).collect();
    let team = if c.random.chance(800) { c.random.pick(&paused)?.clone() } else { c.team() };
    Some(Act::ContinueTeam { team })
}

pub(super) fn change_team(c: &mut Chooser<'_>) -> Option<Act> {
    let gate = c.random.chance(500).then(|| vec![c.text("make")]);
    let model = c.random.chance(300).then(|| c.text("model"));
    let changes = TeamChanges { gate, model, ..TeamChanges::default() };
    let command = ["", "agent --fast", "agent --new"][c.random.index(3)].to_owned();
    let choice = AgentChoice { agent: "simulated".to_owned(), command, ..AgentChoice::default() };
    let agents = if c.random.chance(500) { vec![(c.mate(), choice)] } else { Vec::new() };
    Some(Act::ChangeTeam { team: c.team(), changes, agents })
}

/// Only what changes nothing or must be refused: that time is over is said by a timer.
pub(super) fn expire_team(c: &mut Chooser<'_>) -> Option<Act> {
    let team = c.team();
    let timed = c.state.teams.get(&team).is_some_and(|team| team.setup.timeout_ms.is_some());
    (!timed || c.me().is_some()).then_some(Act::ExpireTeam { team })
}

pub(super) fn delete_team(c: &mut Chooser<'_>) -> Option<Act> {
    let team = c.team();
    // Without the root a run is over.
    if c.state.root.as_ref() == Some(&team) && !c.random.chance(25) {
        return None;
    }
    let ms = c.random.below(30_000);
    let urgency = if c.random.chance(400) { Urgency::Now } else { Urgency::Deadline { ms } };
    Some(Act::DeleteTeam { team, reason: c.text("because"), urgency })
}

fn budget(c: &mut Chooser<'_>) -> Budget {
    let mut limit = |most: u64| (!c.random.chance(500)).then(|| c.random.below(most));
    Budget { tokens_max: limit(20_000), cost_micros_max: limit(20_000), window_max: None }
}

pub(super) fn set_team_budget(c: &mut Chooser<'_>) -> Option<Act> {
    Some(Act::SetTeamBudget { team: c.team(), budget: budget(c) })
}

pub(super) fn set_teammate_budget(c: &mut Chooser<'_>) -> Option<Act> {
    Some(Act::SetTeammateBudget { who: c.mate(), budget: budget(c) })
}

fn mode(c: &mut Chooser<'_>) -> Mode {
    match c.random.below(6) {
        0 => Mode::Plan,
        1 => Mode::Delegate,
        2 => Mode::ReadOnly,
        _ => Mode::Normal,
    }
}

pub(super) fn add_teammate(c: &mut Chooser<'_>) -> Option<Act> {
    let who = Address { team: c.team(), name: pick_name(c.random, &MATES) };
    if c.state.teammates.len() >= 12 && !c.state.teammates.contains_key(&who) {
        return None;
    }
    let profile = Profile {
        seat: if c.random.chance(120) { Seat::Lead } else { Seat::Member },
        role: c.random.chance(500).then(|| pick_name(c.random, &ROLES)),
        agent: "simulated".to_owned(),
        model: String::new(),
        scope: match c.random.chance(300) {
            true => vocabulary::pick_files(c.random),
            false => FileSet::default(),
        },
        mode: mode(c),
        tasks_max: 1 + c.random.below(3) as u32,
        command: ["", "", "agent --fast", "agent --slow"][c.random.index(4)].to_owned(),
        start: match c.random.chance(400) {
            true => StartRule::WhenNeeded,
            false => StartRule::ByHand,
        },
        hears: false,
        one_shot: false,
        place: super::host::place(c),
        definition: None,
        fallback: c.random.chance(500).then(|| {
            let agent = "simulated-too".to_owned();
            Box::new(AgentChoice { agent, ..AgentChoice::default() })
        }),
    };
    Some(Act::AddTeammate { who, profile })
}

pub(super) fn start_teammate(c: &mut Chooser<'_>) -> Option<Act> {
    let idle: Vec<Address> = c
        .state
        .teammates
        .iter()
        .filter(|(_, mate)| !mate.is_running() && mate.life != Life::Removed)
        .map(|(who, _)| who.clone())
        .collect();
    let who = if c.random.chance(900) { c.random.pick(&idle)?.clone() } else { c.mate() };
    let supervision = match c.random.below(20) {
        0..10 => Supervision::Supervised,
        10..17 => Supervision::None,
        _ => Supervision::OneShot,
    };
    let token_hash = c.text("hash");
    let at = c.random.chance(300).then(|| super::host::host(c));
    Some(Act::StartTeammate(StartTeammate { who, token_hash, supervision, at }))
}

pub(super) fn remove_teammate(c: &mut Chooser<'_>) -> Option<Act> {
    Some(Act::RemoveTeammate { who: c.mate() })
}

pub(super) fn pause(c: &mut Chooser<'_>) -> Option<Act> {
    let (spent, reason) = (c.random.chance(300), c.text("pause"));
    Some(Act::PauseTeammate { who: c.mate(), reason, spent })
}

pub(super) fn carry_on(c: &mut Chooser<'_>) -> Option<Act> {
    let paused = c.state.teammates.iter().filter(|(_, mate)| mate.paused.is_some());
    let paused: Vec<Address> = paused.map(|(who, _)| who.clone()).collect();
    let who = if c.random.chance(800) { c.random.pick(&paused)?.clone() } else { c.mate() };
    Some(Act::ContinueTeammate { who })
}

pub(super) fn set_mode(c: &mut Chooser<'_>) -> Option<Act> {
    Some(Act::SetTeammateMode { who: c.mate(), mode: mode(c) })
}

pub(super) fn place(c: &mut Chooser<'_>) -> Option<Act> {
    Some(Act::PlaceTeammate { who: c.mate(), place: super::host::place(c) })
}

pub(super) fn report_idle(c: &mut Chooser<'_>) -> Option<Act> {
    Some(Act::ReportIdle { reason: format!("waits for {}", c.random.below(2)) })
}

pub(super) fn report_disappeared(c: &mut Chooser<'_>) -> Option<Act> {
    let loss = match c.random.below(5) {
        3 => Loss::Silent,
        0 => Loss::Host,
        1 => Loss::Broken,
        2 => Loss::Unable,
        _ => Loss::Died,
    };
    Some(Act::ReportDisappeared { who: c.life(), reason: c.text("gone"), loss })
}

pub(super) fn report_stalled(c: &mut Chooser<'_>) -> Option<Act> {
    Some(Act::ReportStalled { who: c.life(), step: c.random.below(4) as u32 })
}

pub(super) fn report_session(c: &mut Chooser<'_>) -> Option<Act> {
    Some(Act::ReportSession {
        session: format!("s-{}", c.random.below(3)),
        fence: if c.random.below(2) == 0 { String::new() } else { "full".to_owned() },
        model: if c.random.below(2) == 0 { String::new() } else { "m-1".to_owned() },
    })
}

pub(super) fn report_stopped(c: &mut Chooser<'_>) -> Option<Act> {
    let who = c.life();
    let outcome = match c.random.below(4) {
        0 => Outcome::Error { reason: c.text("error") },
        1 => Outcome::InProgress { pending: vec![c.text("left")] },
        2 => Outcome::TimedOut,
        _ => Outcome::Clean,
    };
    Some(Act::ReportStopped { who, outcome })
}
