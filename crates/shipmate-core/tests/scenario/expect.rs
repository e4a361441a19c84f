//! `expect` lines: what must be true of the state or of what the world owes it.

use shipmate_core::state::{BreakerPhase, Life, Stage, State, TeamPhase};
use shipmate_core::{Effect, Wanted, available, available_for, obstacles, outstanding, untaken};
use shipmate_model::event::{Outcome, Supervision, TaskId};
use shipmate_model::pause::Pause;

use crate::play::{World, matches_text};

pub(crate) fn check(world: &World, rest: &str, line: &str) {
    let (what, expected) = match rest.split_once(':') {
        Some((what, expected)) => (what.trim(), Some(expected.trim())),
        None => (rest, None),
    };
    let (is, expected) = match (what.split_whitespace().collect::<Vec<_>>().as_slice(), expected) {
        (["inbox", whose], Some(expected)) => (inbox(world, whose), expected.to_owned()),
        (["senders", whose], Some(expected)) => (senders(world, whose), expected.to_owned()),
        (["replies", whose], Some(expected)) => (replies(world, whose), expected.to_owned()),
        (["untaken", whose], Some(expected)) => (not_taken(world, whose), expected.to_owned()),
        (["session", who], Some(expected)) => {
            let who = world.address(who).expect("a name");
            (world.state().teammates[&who].session.clone(), expected.to_owned())
        }
        (["agent", who], Some(expected)) => {
            let who = world.address(who).expect("a name");
            let profile = &world.state().teammates[&who].profile;
            let parts = [&profile.agent, &profile.command, &profile.model];
            let parts = parts.into_iter().filter(|part| !part.is_empty()).cloned();
            (or_nothing(parts.collect(), " "), expected.to_owned())
        }
        (["setup", team], Some(expected)) => {
            let setup = &world.state().teams[&team.parse().expect("a team")].setup;
            let base = setup.trees.as_ref().map(|trees| trees.base.clone()).unwrap_or_default();
            let (gate, agent, model) = (setup.gate.join(","), &setup.agent, &setup.model);
            (format!("gate {gate} agent {agent} model {model} base {base}"), expected.to_owned())
        }
        (["granted", id], Some(expected)) => {
            let granted = &world.state().task(number(id)).expect("a task").granted;
            (
                or_nothing(granted.iter().map(|p| p.as_str().to_owned()).collect(), ", "),
                expected.to_owned(),
            )
        }
        (["left", "out", id], Some(expected)) => {
            let left_out = &world.state().task(number(id)).expect("a task").left_out;
            (
                or_nothing(left_out.iter().map(|p| p.as_str().to_owned()).collect(), ", "),
                expected.to_owned(),
            )
        }
        (["paused", team], Some(expected)) => {
            let team = &world.state().teams[&team.parse().expect("a team")];
            let pause = team.paused.as_ref().map(|pause| pause.reason.clone());
            (pause.unwrap_or_else(|| "no".to_owned()), expected.to_owned())
        }
        (["pause", team], Some(expected)) => {
            let team = &world.state().teams[&team.parse().expect("a team")];
            (pause(team.paused.as_ref()), expected.to_owned())
        }
        (["pause", "of", who], Some(expected)) => {
            let mate = &world.state().teammates[&world.address(who).expect("a teammate")];
            (pause(mate.paused.as_ref()), expected.to_owned())
        }
        (["deviations", team], Some(expected)) => {
            let own = world.state().deviations.iter().filter(|one| one.team.as_str() == *team);
            (or_nothing(own.map(|one| one.text.clone()).collect(), "; "), expected.to_owned())
        }
        (["phase", team], Some(expected)) => {
            (crate::playbooks::standing(world, team), expected.to_owned())
        }
        (["protected", team], Some(expected)) => {
            let setup = &world.state().teams[&team.parse().expect("a team")].setup;
            let paths = setup.protected.iter().map(|path| path.as_str().to_owned());
            (or_nothing(paths.collect(), ", "), expected.to_owned())
        }
        (["branch", team], Some(expected)) => {
            let name = team.parse().expect("a team");
            (world.state().teams[&name].setup.branch(&name).to_string(), expected.to_owned())
        }
        (["failed", "in", team], Some(expected)) => {
            let found = shipmate_core::phase::failed(world.state(), &team.parse().expect("a team"));
            (ids(&found.iter().map(|task| task.id).collect::<Vec<_>>()), expected.to_owned())
        }
        (["approved", team], Some(expected)) => {
            let course = &world.state().teams[&team.parse().expect("a team")].course;
            let approved = course.as_ref().and_then(|course| course.approved.as_ref());
            (
                or_nothing(approved.map(ToString::to_string).into_iter().collect(), ""),
                expected.to_owned(),
            )
        }
        (["no-plan", team], Some(expected)) => {
            let why = shipmate_core::phase::no_plan(world.state(), &team.parse().expect("a team"));
            (or_nothing(why.into_iter().collect(), ""), expected.to_owned())
        }
        (["escalations"], Some(expected)) => (escalations(world), expected.to_owned()),
        (["past", team], Some(expected)) => {
            (crate::playbooks::past(world, team), expected.to_owned())
        }
        (["behind", who], Some(expected)) => (behind(world, who), expected.to_owned()),
        (["place", who], Some(expected)) => (place(world, who), expected.to_owned()),
        (["host", name, words @ ..], None) => (host(world, name), words.join(" ")),
        (["due"], Some(expected)) => (due(world), expected.to_owned()),
        (["effects"], Some(expected)) => (effects(world), expected.to_owned()),
        (["wake"], Some(expected)) => (wake(world), expected.to_owned()),
        (["idle", who], Some(expected)) => (idle(world, who), expected.to_owned()),
        (["counts", team], Some(expected)) => (counts(world.state(), team), expected.to_owned()),
        (["available"], Some(expected)) => {
            (ids(&available(world.state(), 100)), expected.to_owned())
        }
        (["available", "for", who], Some(expected)) => {
            (ids(&available_for(world.state(), &world.life(who), 100)), expected.to_owned())
        }
        (["obstacles", id], Some(expected)) => (hindrance(world, id), expected.to_owned()),
        (["team", team, phase @ ..], None) => (team_phase(world, team), phase.join(" ")),
        (["breaker", team, phase @ ..], None) => (breaker(world, team), phase.join(" ")),
        (["teammate", who, life @ ..], None) => (life_of(world, who), life.join(" ")),
        ([id, "blocked", "by", on @ ..], None) => {
            (hindrance(world, id), format!("blocked by {}", on.join(" ")))
        }
        (["failure", id], Some(expected)) => {
            let task = world.state().task(number(id)).expect("a task");
            (task.last_failure.clone().unwrap_or_default(), expected.to_owned())
        }
        ([id, "failure", text @ ..], None) => {
            let task = world.state().task(number(id)).expect("a task");
            (task.last_failure.clone().unwrap_or_default(), text.join(" "))
        }
        ([id, status @ ..], None) => (status_of(world, id), status.join(" ")),
        _ => panic!("cannot read this expectation: {line}"),
    };
    assert!(matches_text(&expected, &is), "\n  {line}\n  is: {is}\n");
}

fn pause(pause: Option<&Pause>) -> String {
    pause.map_or("no".to_owned(), |pause| format!("{} by {}", pause.kind(), pause.by))
}

fn number(text: &str) -> TaskId {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no task"))
}

fn or_nothing(parts: Vec<String>, between: &str) -> String {
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(between) }
}

fn ids(tasks: &[TaskId]) -> String {
    or_nothing(tasks.iter().map(ToString::to_string).collect(), ", ")
}

/// `in_progress by ana submitted`, `completed by bo`, `pending`.
fn status_of(world: &World, id: &str) -> String {
    use shipmate_core::state::Status;
    let task = world.state().task(number(id)).expect("a task");
    let word = task.status_word();
    match &task.status {
        Status::InProgress(claim) => {
            let stage = match claim.stage {
                Stage::Claimed => "",
                Stage::Submitted { .. } => " submitted",
                Stage::Returned { .. } => " returned",
            };
            format!("{word} by {}{stage}", claim.by.address.name)
        }
        Status::Completed { by: Some(by), .. } => format!("{word} by {}", by.address.name),
        Status::Failed { reason } => format!("{word} {reason}"),
        _ => word.to_owned(),
    }
}

fn hindrance(world: &World, id: &str) -> String {
    let task = world.state().task(number(id)).expect("a task");
    let found = obstacles(world.state(), task);
    or_nothing(found.iter().map(ToString::to_string).collect(), "; ")
}

fn inbox(world: &World, whose: &str) -> String {
    let messages = world.inbox(whose);
    let bodies = messages.iter().map(|id| world.state().messages[id].body.replace('\n', "; "));
    or_nothing(bodies.collect(), " | ")
}

/// What the teammate's supervisor was not handed yet.
fn not_taken(world: &World, whose: &str) -> String {
    let found = untaken(world.state(), &world.address(whose).expect("a name"), 100);
    let bodies = found.iter().map(|id| world.state().messages[id].body.clone());
    or_nothing(bodies.collect(), " | ")
}

/// Who the inbox says its messages are from, and of which kind they are.
fn senders(world: &World, whose: &str) -> String {
    let messages = world.inbox(whose);
    let from = messages.iter().map(|id| {
        let message = &world.state().messages[id];
        let kind = serde_json::to_value(&message.kind).expect("a kind is JSON");
        format!("{} from {}", kind.to_string().replace('"', ""), message.from)
    });
    or_nothing(from.collect(), " | ")
}

/// Which message each of the inbox answers, by its label.
fn replies(world: &World, whose: &str) -> String {
    let messages = world.inbox(whose);
    let answered = messages.iter().map(|id| {
        let answered = world.state().messages[id].reply_to;
        let label = world.labels.iter().find(|(_, id)| Some(**id) == answered);
        label.map_or("nothing", |(label, _)| label.as_str())
    });
    or_nothing(answered.map(str::to_owned).collect(), " | ")
}

fn idle(world: &World, who: &str) -> String {
    let mate = &world.state().teammates[&world.address(who).expect("a name")];
    mate.idle.clone().unwrap_or_else(|| "busy".to_owned())
}

/// Whose trouble lies with whom.
fn escalations(world: &World) -> String {
    let words = world.state().escalations.values().map(|raised| {
        let state = if raised.open { "with" } else { "settled by" };
        format!("{} {state} {}", raised.from.name, raised.to)
    });
    or_nothing(words.collect(), " | ")
}

fn counts(state: &State, team: &str) -> String {
    let counts = state.teams[&team.parse().expect("a team")].counts;
    let words = [
        (counts.pending, "pending"),
        (counts.in_progress, "in_progress"),
        (counts.completed, "completed"),
        (counts.failed, "failed"),
        (counts.deleted, "deleted"),
    ];
    let words = words.iter().filter(|(count, _)| *count > 0);
    or_nothing(words.map(|(count, word)| format!("{count} {word}")).collect(), ", ")
}

fn team_phase(world: &World, team: &str) -> String {
    match world.state().teams[&team.parse().expect("a team")].phase {
        TeamPhase::Active => "active",
        TeamPhase::Ending => "ending",
        TeamPhase::Deleted if world.state().is_over() => "deleted and all is over",
        TeamPhase::Deleted => "deleted",
    }
    .to_owned()
}

fn breaker(world: &World, team: &str) -> String {
    let breaker = &world.state().teams[&team.parse().expect("a team")].breaker;
    match (&breaker.phase, breaker.strikes.len()) {
        (BreakerPhase::Closed, 0) => "closed".to_owned(),
        (BreakerPhase::Closed, strikes) => format!("closed with {strikes} strikes"),
        (BreakerPhase::Open { .. }, _) => "open".to_owned(),
        (BreakerPhase::HalfOpen { probe: None, .. }, _) => "half open".to_owned(),
        (BreakerPhase::HalfOpen { probe: Some(who), .. }, _) => {
            format!("half open with {} as probe", who.address.name)
        }
    }
}

fn life_of(world: &World, who: &str) -> String {
    let mate = &world.state().teammates[&world.address(who).expect("a name")];
    let life = match &mate.life {
        Life::Added => return "added".to_owned(),
        Life::Running => "running",
        Life::Disappeared { .. } => "disappeared",
        Life::Stopped { outcome } => {
            let how = match outcome {
                Outcome::Clean => "clean".to_owned(),
                Outcome::InProgress { pending } => format!("with {} left", pending.join(", ")),
                Outcome::Error { reason } => format!("in error ({reason})"),
                Outcome::TimedOut => "out of time".to_owned(),
                Outcome::Forced => "by force".to_owned(),
            };
            return format!("stopped {how} @{}", mate.epoch);
        }
        Life::Removed => "removed",
    };
    format!("{life} @{}", mate.epoch)
}

fn due(world: &World) -> String {
    let owed = outstanding(world.state(), &world.observed, world.now_ms);
    let acts = owed.due.iter().map(|act| crate::play::first_word(&format!("{act:?}")));
    or_nothing(acts.collect(), ", ")
}

/// How long until the next timer ends.
fn wake(world: &World) -> String {
    let owed = outstanding(world.state(), &world.observed, world.now_ms);
    owed.wake_at_ms.map_or("never".to_owned(), |at| format!("{}ms", at - world.now_ms))
}

fn behind(world: &World, who: &str) -> String {
    let mate = &world.state().teammates[&world.address(who).expect("a teammate")];
    match &mate.fallen {
        Some(fallen) => format!("{} for {}", mate.profile.agent, fallen.choice.agent),
        None => mate.profile.agent.clone(),
    }
}

fn place(world: &World, who: &str) -> String {
    let mate = &world.state().teammates[&world.address(who).expect("a teammate")];
    or_nothing(mate.host.iter().map(ToString::to_string).collect(), "")
}

fn host(world: &World, name: &str) -> String {
    let (state, name) = (world.state(), name.parse().expect("a host"));
    let home = if state.home.as_ref() == Some(&name) { " home" } else { "" };
    let lives = shipmate_core::lives_on(state, &name).count();
    format!("{}{home} with {lives}", state.hosts[&name].state.word())
}

fn effects(world: &World) -> String {
    let owed = outstanding(world.state(), &world.observed, world.now_ms);
    let effects = owed.effects.iter().map(|effect| match effect {
        Effect::EndProcess { who } => format!("end {who}"),
        Effect::Verify { task, .. } => format!("verify {task}"),
        Effect::TryGate { team } => format!("try the gate of {team}"),
        Effect::EnterPhase { team } => format!("enter {team}"),
        Effect::LeavePhase { team } => format!("leave {team}"),
        Effect::Spawn { who } => format!("spawn {who}"),
        Effect::Start(Wanted { who, supervision }) => match supervision {
            Supervision::OneShot => format!("start {who} one-shot"),
            _ => format!("start {who}"),
        },
    });
    or_nothing(effects.collect(), " | ")
}
