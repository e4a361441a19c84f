//! Playbooks, and what becomes of their phases.

use serde_json::{Value, json};
use shipmate_core::State;
use shipmate_core::state::Standing;
use shipmate_core::state::{Status, Task};
use shipmate_model::command::{Again, BeginPhase, PhaseVerdict};
use shipmate_model::event::{Profile, TaskChanges};
use shipmate_model::playbook::Playbook;
use shipmate_model::profile::StartRule;
use shipmate_model::{Act, Name, TaskId};

use super::{Chooser, task};
use crate::Random;
use crate::simulation::vocabulary::{MATES, ROLES, pick_name};

pub(crate) const PHASES: [&str; 3] = ["plan", "build", "ship"];

/// A few phases, now and then with routes and levels. `lead` says whether what is left of a phase
/// may be left to a lead.
pub(crate) fn playbook(random: &mut Random, lead: bool) -> Playbook {
    let many = 1 + random.index(PHASES.len());
    let phases: Vec<Value> = (0..many).map(|at| phase(random, at, lead)).collect();
    let routes = match lead && random.chance(300) {
        true => json!([
            { "from": ["dev"], "to": ["qa"], "kinds": ["message", "review"] },
            { "from": ["qa"], "to": ["dev", "ops"], "kinds": [], "across": random.chance(500) },
            { "from": [], "to": [], "person": true, "kinds": ["message"] },
        ]),
        false => json!([]),
    };
    let mut book = json!({
        "name": "simulated",
        "roles": {},
        "phases": phases,
        "routes": routes,
        "order": if random.chance(300) { "number" } else { "path" },
    });
    if lead && random.chance(600) {
        book["escalation"] = json!({
            "levels": ROLES,
            "level_ms": random.between(5_000, 60_000),
            "round_trips_max": random.below(3),
        });
    }
    serde_json::from_value(book).expect("the simulated playbooks are playbooks")
}

fn phase(random: &mut Random, at: usize, lead: bool) -> Value {
    json!({
        "name": PHASES[at],
        "optional": random.chance(300),
        "lead_mode": (lead && random.chance(200)).then_some("delegate"),
        "lead_plans": lead && random.chance(150),
        "deadline_ms": random.chance(300).then(|| random.between(5_000, 200_000)),
        "late": trouble(random, at, lead),
        "failed": trouble(random, at, lead),
        "dismiss": random.chance(200),
        "alone": lead && random.chance(100),
    })
}

fn trouble(random: &mut Random, at: usize, lead: bool) -> Value {
    match random.below(8) {
        0 => json!("stop"),
        1 => json!("go_on"),
        2 | 3 if lead => json!("lead"),
        4 if lead => json!("halt"),
        _ => {
            let to = PHASES[random.index(at + 1)];
            json!({ "back": { "to": to, "rounds": random.below(3) } })
        }
    }
}

/// A team with a playbook, and the phase it is at; now and then not quite so.
fn at(c: &mut Chooser<'_>) -> Option<(Name, Name, u32)> {
    let teams = c.state.teams.iter().filter(|(_, team)| team.course.is_some());
    let teams: Vec<Name> = teams.map(|(team, _)| team.clone()).collect();
    let team = c.random.pick(&teams)?.clone();
    let course = c.state.teams[&team].course.as_ref()?;
    let (mut phase, mut round) = (course.phase.clone(), course.round);
    if c.random.chance(c.stale) {
        phase = pick_name(c.random, &PHASES);
    }
    if c.random.chance(c.stale) {
        round += 1;
    }
    Some((team, phase, round))
}

pub(super) fn begin(c: &mut Chooser<'_>) -> Option<Act> {
    let (team, phase, round) = at(c)?;
    let tasks = match task::create(c) {
        Some(Act::CreateTasks { tasks, .. }) if c.random.chance(800) => tasks,
        _ => Vec::new(),
    };
    let (teammates, again, notes, alone) = (joining(c.random), again(c, &team), Vec::new(), None);
    let awaits = Vec::new();
    let begin = BeginPhase { team, phase, round, teammates, tasks, again, notes, alone, awaits };
    Some(Act::BeginPhase(begin))
}

/// Failed tasks of a team that are tried again.
fn again(c: &mut Chooser<'_>, team: &Name) -> Vec<Again> {
    let failed = |task: &&Task| task.team == *team && matches!(task.status, Status::Failed { .. });
    let failed: Vec<TaskId> = c.state.tasks().iter().filter(failed).map(|task| task.id).collect();
    let again = |task| Again { task, changes: TaskChanges::default(), blocked_by_new: Vec::new() };
    failed.into_iter().filter(|_| c.random.chance(700)).map(again).collect()
}

/// Who joins with a phase: members, never a second lead.
fn joining(random: &mut Random) -> Vec<(Name, Profile)> {
    let many = random.index(3);
    let mut found: Vec<(Name, Profile)> = Vec::new();
    for _ in 0..many {
        let own = pick_name(random, &MATES);
        let profile = Profile {
            role: random.chance(500).then(|| pick_name(random, &ROLES)),
            agent: "simulated".to_owned(),
            tasks_max: 1,
            start: StartRule::WhenNeeded,
            one_shot: random.chance(100),
            ..Profile::default()
        };
        if !found.iter().any(|(name, _)| *name == own) {
            found.push((own, profile));
        }
    }
    found
}

pub(super) fn ask_approval(c: &mut Chooser<'_>) -> Option<Act> {
    let (team, phase, _) = at(c)?;
    Some(Act::AskApproval { team, text: question(&phase), phase })
}

/// How the runtime asks about a phase. A lead may pause its team with the same words.
pub(super) fn question(phase: &Name) -> String {
    format!("approval: phase {phase} begins when you say so")
}

/// A yes to what a team is paused for: its question, an old one, or none at all.
pub(super) fn approve(c: &mut Chooser<'_>) -> Option<Act> {
    let paused = c.state.teams.iter().filter_map(|(team, now)| Some((team, now.paused.as_ref()?)));
    let asked: Vec<_> =
        paused.map(|(team, pause)| (team.clone(), pause.n, pause.approval().is_some())).collect();
    let open: Vec<_> = asked.iter().filter(|(_, _, asks)| *asks).collect();
    let (team, n, _) = match c.random.pick(&open) {
        Some(one) if !c.random.chance(200) => (*one).clone(),
        _ => c.random.pick(&asked)?.clone(),
    };
    let old = c.random.chance(c.stale);
    Some(Act::ApprovePhase { team, question: if old { n.saturating_sub(1) } else { n } })
}

pub(super) fn hold(c: &mut Chooser<'_>) -> Option<Act> {
    let (team, phase, _) = at(c)?;
    let missing = vec![["docs/plan.md", "docs/api.md"][c.random.index(2)].to_owned()];
    Some(Act::HoldPhase { team, phase, missing, outside: false })
}

pub(super) fn end(c: &mut Chooser<'_>) -> Option<Act> {
    let (team, phase, round) = at(c)?;
    let runs =
        |course: &shipmate_core::state::Course| matches!(course.standing, Standing::Running { .. });
    let runs = c.state.teams[&team].course.as_ref().is_some_and(runs);
    let reason = c.text("phase");
    let verdict = match c.random.below(4) {
        0 => PhaseVerdict::Failed { reason },
        1 if runs => PhaseVerdict::Done { note: reason },
        _ => PhaseVerdict::Skip { reason },
    };
    Some(Act::EndPhase { team, phase, round, verdict })
}

/// Only what changes nothing or must be refused: that time is over is said by a timer.
pub(super) fn expire(c: &mut Chooser<'_>) -> Option<Act> {
    Some(Act::ExpirePhase { team: c.team(), began: 0 })
}

/// What the runtime finds when it looks whether the next phase can begin.
pub(crate) fn enter(c: &mut Chooser<'_>, team: &Name) -> Option<Act> {
    match c.random.below(10) {
        0 => hold(c),
        1 => end(c),
        _ => {
            let begun = begin(c)?;
            Some(at_team(c.state, team, begun))
        }
    }
}

/// The same act about the phase that this team is at.
fn at_team(state: &State, team: &Name, act: Act) -> Act {
    let course = state.teams[team].course.as_ref();
    match (act, course) {
        (Act::BeginPhase(begin), Some(course)) => Act::BeginPhase(BeginPhase {
            team: team.clone(),
            phase: course.phase.clone(),
            round: course.round,
            ..begin
        }),
        (act, _) => act,
    }
}

/// What the runtime finds at the end of a phase.
pub(crate) fn leave(random: &mut Random, state: &State, team: &Name) -> Option<Act> {
    let course = state.teams[team].course.as_ref()?;
    let verdict = match random.below(10) {
        0..3 => PhaseVerdict::Failed { reason: "red".to_owned() },
        _ => PhaseVerdict::Done { note: String::new() },
    };
    let (team, phase, round) = (team.clone(), course.phase.clone(), course.round);
    Some(Act::EndPhase { team, phase, round, verdict })
}
